"""A teacher's rows of soft targets: its probabilities and its trees.

`depkit.parsers.columns.soft_targets` describes the rows, one for each word.
"""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.ensemble.teacher import (
    TeacherError,
    apply_rows,
    check_teacher,
    digest_model,
    make_row_function,
    row_columns,
)
from depkit.parsers.columns.soft_targets import MAX_INTEGER, MAX_VALUES, column_slices
from depkit.parsers.config import Inputs
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.ensembles import combine
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.inputs.context import Context
from depkit.parsers.model_directory import write_ensemble
from depkit.parsers.tagger.config import TaggerConfig
from depkit.parsers.tagger.parser import TaggerParser
from tests.parsers.batches import cpu_batch
from tests.parsers.small_parsers import make_random_parser


def split_by_sentence(rows, sentences):
    return np.split(rows, np.cumsum([len(sentence) for sentence in sentences])[:-1])


def compute_distributions(parser, sentence, heads):
    """Compute the distribution of each column, [words, values], in a batch of one sentence."""
    scores = parser.engine.score(cpu_batch(parser.make_preparer()([sentence], []), np.array([0])))
    padded = torch.zeros(scores.arc.shape[:2], dtype=torch.int64)
    padded[0, 1 : len(sentence) + 1] = torch.tensor(heads)
    label = scores.score_labels(padded).softmax(-1)
    root = parser.vocabulary.columns["deprel"].indices["root"]
    for i, head in enumerate(heads, start=1):
        # A word has the label `root` if and only if its head is 0.
        is_root_label = torch.arange(label.shape[-1]) == root
        label[0, i, is_root_label != (head == 0)] = 0
    label /= label.sum(-1, keepdim=True)
    columns = [scores.arc.softmax(-1), label]
    columns += [scores.columns[name].softmax(-1) for name in parser.config.predicted_tags]
    return [column[0, 1 : len(sentence) + 1].detach().numpy() for column in columns]


@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("is_ensemble", [True, False])
def test_rows_contain_the_most_probable_values(gold, is_ensemble, tiny):
    parser = make_random_parser(tiny, 1)
    if is_ensemble:
        parser = combine([parser, make_random_parser(tiny, 2, encoder="selfatt")])
    parsed = list(parser.parse(tiny))
    rows = split_by_sentence(make_row_function(parser, 40)(tiny, gold), tiny)
    for sentence, sentence_rows, tree in zip(tiny, rows, parsed, strict=True):
        heads = sentence.head if gold else tree.head
        assert sentence_rows[:, 0].tolist() == heads
        for i, expected in enumerate(compute_distributions(parser, sentence, heads)):
            indices, probabilities = (
                sentence_rows[:, columns].astype(int) for columns in column_slices(i)
            )
            best = -np.sort(-expected, -1)[:, :MAX_VALUES]
            width = best.shape[1]
            result = probabilities[:, :width] / MAX_INTEGER
            # Probabilities are rounded to multiples of 1 / MAX_INTEGER.
            np.testing.assert_allclose(result, best, atol=0.6 / MAX_INTEGER + 1e-6)
            selected = np.take_along_axis(expected, indices[:, :width], -1)
            mask = probabilities[:, :width] > 0
            np.testing.assert_allclose(selected[mask], best[mask], atol=1e-6)


def test_rows_do_not_depend_on_chunks_and_batches(teacher, tiny):
    expected = make_row_function(teacher)(tiny, False).astype(int)
    for chunk_size, batch_tokens in ((1, None), (5, 20), (24, 50)):
        compute_rows = make_row_function(teacher, batch_tokens)
        starts = range(0, len(tiny), chunk_size)
        chunks = [compute_rows(tiny[start : start + chunk_size], False) for start in starts]
        result = np.concatenate(chunks).astype(int)
        for i in range(len(row_columns(teacher))):
            indices, probabilities = column_slices(i)
            assert abs(result[:, probabilities] - expected[:, probabilities]).max() <= 1
            # Values with tiny probabilities can be in another order.
            likely = expected[:, probabilities] > 100
            assert (result[:, indices] == expected[:, indices])[likely].all()


def test_apply_rows_gives_the_trees_that_the_teacher_predicts(tiny):
    parser = make_random_parser(tiny, 1)
    rows = split_by_sentence(make_row_function(parser)(tiny, False), tiny)
    silver = [apply_rows(*pair, parser) for pair in zip(tiny, rows, strict=True)]
    assert list(map(str, silver)) == list(map(str, parser.predict(tiny)))


def test_words_without_a_valid_gold_head_get_the_head_that_the_teacher_predicts(teacher):
    forms = ["The", "cat", "sleeps", "."]
    broken = new_sentence(forms, {"head": ["1", "_", "0", "3"], "deprel": ["x"] * 4})
    heads = next(teacher.parse([new_sentence(forms)])).head
    assert make_row_function(teacher)([broken], True)[:, 0].tolist() == [heads[0], heads[1], 0, 3]


def test_rows_do_not_depend_on_threads(teacher, tiny):
    rows = make_row_function(teacher, 40)(tiny, False)
    assert np.array_equal(make_row_function(replace(teacher, threads=2), 40)(tiny, False), rows)


def test_check_teacher_rejects_parsers_that_cannot_be_teachers(tiny):
    parser = make_random_parser(tiny, 1)
    check_teacher(parser)
    for inputs, message in (
        (Inputs(tag=8), "reads tags"),
        # On a treebank, such a parser would read the gold trees.
        (Inputs(draft=8), "corrects parses"),
        (Inputs(context=Context(source="elmo")), "ELMo"),
    ):
        wrong = replace(parser, config=replace(parser.config, inputs=inputs))
        for teacher in (wrong, combine([parser, wrong])):
            with pytest.raises(TeacherError, match=message):
                check_teacher(teacher)
    tagger = TaggerParser(TaggerConfig(), parser.vocabulary, parser.engine)
    with pytest.raises(TeacherError, match="of the family tagger"):
        check_teacher(tagger)


def test_a_batch_that_does_not_fit_in_memory_raises_an_error(tiny, monkeypatch):
    no_memory = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    monkeypatch.setattr(BiaffineNetwork, "score", no_memory)
    with pytest.raises(MemoryError, match=r"a sentence of \d+ words does not fit"):
        make_row_function(make_random_parser(tiny, 1))(tiny, False)


def test_the_digest_depends_only_on_what_a_model_computes(tmp_path):
    for name in ("member", "unrelated"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text("format_version = 1")
        (tmp_path / name / "model.safetensors").write_bytes(b"weights")
    write_ensemble(tmp_path, EnsembleConfig(["member"]))
    digest = digest_model(tmp_path)
    assert digest != digest_model(tmp_path / "member")
    for unused in ("log.jsonl", "member/last.safetensors", "unrelated/model.safetensors"):
        (tmp_path / unused).write_text("changed")
    assert digest_model(tmp_path) == digest
    (tmp_path / "member" / "model.safetensors").write_bytes(b"changed")
    assert digest_model(tmp_path) != digest
