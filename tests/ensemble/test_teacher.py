"""A teacher's rows are its own probabilities, and its trees those that it parses."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.ensemble import teacher as module
from depkit.ensemble.teacher import TeacherError, check_teacher, digest_of_model, make_teach
from depkit.parsers.config import Context, EnsembleConfig, Inputs, TaggerConfig
from depkit.parsers.ensembles import combine
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.soft_targets import LARGEST, MOST, places
from depkit.parsers.model_directory import write_ensemble
from depkit.parsers.tagger.parser import TaggerParser
from tests.parsers.graph.test_ensemble import other


def split(rows, sentences):
    return np.split(rows, np.cumsum([len(sentence) for sentence in sentences])[:-1])


def brute_force(parser, sentence, heads):
    """The distributions of a sentence's words, by the scores of it alone."""
    scores = parser.score(parser.preparer()([sentence], []).batch(np.array([0])))
    padded = torch.zeros(scores.arc.shape[:2], dtype=torch.int64)
    padded[0, 1 : len(sentence) + 1] = torch.tensor(heads)
    label = scores.label_at(padded).softmax(-1)
    root = parser.vocabulary.columns["deprel"].numbers["root"]
    for i, head in enumerate(heads, start=1):
        label[0, i, [n for n in range(label.shape[-1]) if (n == root) != (head == 0)]] = 0
    label /= label.sum(-1, keepdim=True)
    found = [scores.arc.softmax(-1), label]
    found += [scores.columns[name].softmax(-1) for name in parser.config.predicted_tags]
    return [each[0, 1 : len(sentence) + 1].detach().numpy() for each in found]


@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_rows_hold_the_most_probable_values(gold, several, tiny):
    parser = other(tiny, 1)
    if several:
        parser = combine([parser, other(tiny, 2, encoder="selfatt")])
    parsed = list(parser.parse(tiny))
    rows = split(make_teach(parser, 40)(tiny, gold), tiny)
    for sentence, mine, own in zip(tiny, rows, parsed, strict=True):
        heads = sentence.head if gold else own.head
        assert mine[:, 0].tolist() == heads
        for i, expected in enumerate(brute_force(parser, sentence, heads)):
            numbers, probabilities = (mine[:, part].astype(int) for part in places(i))
            best = -np.sort(-expected, -1)[:, :MOST]
            width = best.shape[1]
            found = probabilities[:, :width] / LARGEST
            np.testing.assert_allclose(found, best, atol=0.6 / LARGEST + 1e-6)
            chosen = np.take_along_axis(expected, numbers[:, :width], -1)
            kept = probabilities[:, :width] > 0
            np.testing.assert_allclose(chosen[kept], best[kept], atol=1e-6)


def test_how_text_is_cut_changes_nothing(teacher, tiny):
    whole = make_teach(teacher)(tiny, False).astype(int)
    for size, tokens in ((1, None), (5, 20), (24, 50)):
        teach = make_teach(teacher, tokens)
        parts = [teach(tiny[i : i + size], False) for i in range(0, len(tiny), size)]
        cut = np.concatenate(parts).astype(int)
        for i in range(len(module.columns_of(teacher))):
            numbers, probabilities = places(i)
            assert abs(cut[:, probabilities] - whole[:, probabilities]).max() <= 1
            likely = whole[:, probabilities] > 100  # those of nearly nothing can change places
            assert (cut[:, numbers] == whole[:, numbers])[likely].all()


def test_the_trees_are_those_that_it_parses(tiny):
    parser = other(tiny, 1)
    rows = split(make_teach(parser)(tiny, False), tiny)
    silver = [module.as_parsed(*pair, parser) for pair in zip(tiny, rows, strict=True)]
    assert list(map(str, silver)) == list(map(str, parser.predict(tiny)))


def test_a_word_without_head_or_with_itself_has_the_teachers(teacher):
    forms = ["The", "cat", "sleeps", "."]
    broken = new_sentence(forms, {"head": ["1", "_", "0", "3"], "deprel": ["x"] * 4})
    own = next(teacher.parse([new_sentence(forms)])).head
    assert make_teach(teacher)([broken], True)[:, 0].tolist() == [own[0], own[1], 0, 3]


def test_threads_change_nothing(teacher, tiny):
    one = make_teach(teacher, 40)(tiny, False)
    assert np.array_equal(make_teach(replace(teacher, threads=2), 40)(tiny, False), one)


def test_who_cannot_teach(tiny):
    parser = other(tiny, 1)
    check_teacher(parser)
    for inputs, told in (
        (Inputs(tag=8), "reads tags"),
        (Inputs(context=Context(source="elmo")), "ELMo"),
    ):
        wrong = replace(parser, config=replace(parser.config, inputs=inputs))
        for each in (wrong, combine([parser, wrong])):
            with pytest.raises(TeacherError, match=told):
                check_teacher(each)
    tagger = TaggerParser(TaggerConfig(), parser.vocabulary, parser.network, parser.device)
    with pytest.raises(TeacherError, match="of the family tagger"):
        check_teacher(tagger)


def test_a_batch_that_does_not_fit_is_told(tiny, monkeypatch):
    no_memory = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    monkeypatch.setattr(GraphParser, "score", no_memory)
    with pytest.raises(MemoryError, match=r"a sentence of \d+ words does not fit"):
        make_teach(other(tiny, 1))(tiny, False)


def test_a_model_is_told_by_what_it_computes(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text("format_version = 1")
        (tmp_path / name / "model.safetensors").write_bytes(b"weights")
    write_ensemble(tmp_path, EnsembleConfig(["one"]))
    digest = digest_of_model(tmp_path)
    assert digest != digest_of_model(tmp_path / "one")
    for elsewhere in ("log.jsonl", "one/last.safetensors", "other/model.safetensors"):
        (tmp_path / elsewhere).write_text("another")
    assert digest_of_model(tmp_path) == digest
    (tmp_path / "one" / "model.safetensors").write_bytes(b"others")
    assert digest_of_model(tmp_path) != digest
