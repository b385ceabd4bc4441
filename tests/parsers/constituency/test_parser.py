"""Constituency parsers learn a small treebank, resume, combine, and write Penn words."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from depkit.corpus.io import read
from depkit.corpus.penn import penn_quotes
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.parsers.constituency.config import ConstituencyConfig
from depkit.parsers.constituency.decoding import find_best_labels
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.loading import load
from depkit.parsers.settings import ConfigError, from_dict
from tests.conftest import TREES
from tests.parsers.batches import cpu_batch
from tests.parsers.constituency.small_recipes import ENCODERS, INPUTS, make_recipe
from tests.training.small_runs import (
    Killed,
    kill_training_at,
    run,
    run_until,
    same_weights,
    weights,
)


@pytest.fixture(scope="module")
def sentences():
    return list(read(TREES))


@pytest.fixture(scope="module")
def models(sentences, tmp_path_factory):
    """Models that have learned the small treebank, without its 26th and 25th sentence."""
    directories = []
    for kind, train in (("rotary", sentences[:-1]), ("bilstm", sentences)):
        directories.append(tmp_path_factory.mktemp("models") / kind)
        run_until(95.0, make_recipe(kind, epochs=60), train, directories[-1])
    return [load(directory, "cpu", "float32", threads=1) for directory in directories]


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_encoder_fits_a_small_treebank(kind, sentences, tmp_path):
    recipe = make_recipe(kind, epochs=80, patience=80)
    assert run_until(100.0, recipe, sentences, tmp_path / "model") == 100.0
    parser = load(tmp_path / "model", "cpu", threads=1)
    blank = [new_sentence(sentence.form) for sentence in sentences]
    scores = get_family(parser.config).evaluate(parser.config, sentences, parser.parse(blank))
    assert scores["LF1"] == scores["EM"] == 100.0


def make_resumable_recipe(kind):
    """Return a recipe with dropout, and a checkpoint after every update."""
    recipe = make_recipe(kind)
    return replace(recipe, parser=replace(recipe.parser, inputs=replace(INPUTS, dropout=0.3)))


@pytest.fixture(scope="module")
def uninterrupted(sentences, tmp_path_factory):
    directory = tmp_path_factory.mktemp("whole")
    run(make_resumable_recipe("bilstm"), sentences, directory)
    return directory


@pytest.mark.parametrize("moment", [1, 4, 8])
def test_a_resumed_run_gives_the_model_of_an_uninterrupted_run(
    moment, sentences, tmp_path, uninterrupted
):
    recipe = make_resumable_recipe("bilstm")
    with kill_training_at(moment), pytest.raises(Killed):
        run(recipe, sentences, tmp_path)
    run(recipe, sentences, tmp_path, resume=True)
    assert same_weights(weights(uninterrupted), weights(tmp_path))


def test_trees_are_the_same_in_batches_of_every_size(models, sentences):
    blank = [new_sentence(sentence.form) for sentence in sentences]
    for parser in models:
        texts = [
            [str(sentence.constituents) for sentence in parser.parse(blank, batch_tokens=size)]
            for size in (1, 50, 5000)
        ]
        assert texts[0] == texts[1] == texts[2]


def test_an_ensemble_decodes_the_mean_scores_of_all_spans(models, sentences):
    ensemble = combine(models)
    sentence = new_sentence(sentences[-1].form)
    (parsed,) = ensemble.parse([sentence])
    table = ensemble.vocabulary.columns["constituents"]
    n = len(sentence)
    total = np.zeros((n + 1, n + 1, len(table)))
    for member in models:
        batch = cpu_batch(member.make_preparer()([sentence], []), np.array([0]))
        score_spans = member.engine.score(batch).score_spans
        names = member.vocabulary.columns["constituents"].symbols
        for start in range(n):
            for end in range(start + 1, n + 1):
                with torch.no_grad():
                    scores = score_spans(*torch.tensor([[0], [start], [end]]))[0].numpy()
                by_name = dict(zip(names, scores, strict=True))
                row = [by_name.get(name, scores.min()) for name in table.symbols]
                total[start, end] += np.array(row) / len(models)
    batch = cpu_batch(ensemble.make_preparer()([sentence], []), np.array([0]))
    with torch.no_grad():
        scores, labels = find_best_labels(ensemble.engine.score(batch).best_labels, np.array([n]))
    for start in range(n):
        for end in range(start + 1, n + 1):
            best = total[start, end].max()
            if (start, end) != (0, n):
                best = max(best, 0.0)
            assert scores[0, start, end] == pytest.approx(best, abs=1e-4)
            label = labels[0, start, end]
            assert (total[start, end, label - 1] if label else 0) == pytest.approx(best, abs=1e-4)
    assert parsed.constituents is not None


def test_a_sentence_of_too_many_words_is_an_error(models):
    with pytest.raises(FormatError, match=r"4,001 words is too long.* at most 4,000 words"):
        list(models[0].parse([new_sentence(["a"] * 4001)]))


def test_words_of_text_are_read_and_written_the_penn_way(models):
    parser = models[0]
    row = "{}\t{}\t_\t_\t_\t_\t_\t_\t_\t{}"
    words = [('"', "SpaceAfter=No"), ("Ah", "_"), ("(", "SpaceAfter=No"), ("1/2", "SpaceAfter=No"),
             (")", "SpaceAfter=No"), ('"', "_")]  # fmt: skip
    lines = [row.format(i, word, misc) for i, (word, misc) in enumerate(words, start=1)]
    (sentence,) = read([f"{line}\n" for line in [*lines, ""]])
    (parsed,) = parser.parse([sentence])
    leaves = [leaf.word for leaf in parsed.constituents.leaves()]
    assert leaves == ["``", "Ah", "-LRB-", r"1\/2", "-RRB-", "''"]
    assert parsed.form == [word for word, _ in words]
    penn = new_sentence(["``", "Ah", "-LRB-", "1/2", "-RRB-", "''"])
    (expected,) = parser.parse([penn])
    assert str(parsed.constituents) == str(expected.constituents)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('" a b "', "`` a b ''"),
        ("' a b '", "' a b '"),
        ("“ a ‘ b ’ ”", "`` a ` b ' ''"),
        ('a_" b "_c', "a_'' b ``_c"),
        ('"_a_" ("_b_")', "``_a_'' (``_b_'')"),
        ("the '_a_' b", "the `_a_' b"),
        ("dogs_' b", "dogs_' b"),
    ],
)
def test_quotation_marks_open_and_close(text, expected):
    """`_` joins two words without a space; brackets are words of their own."""

    def split(joined):
        joined = joined.replace("(", "(_").replace(")", "_)")
        parts = [part for word in joined.split() for part in word.replace("_", "_ ").split()]
        return [part.rstrip("_") for part in parts], [not part.endswith("_") for part in parts]

    forms, spaces = split(text)
    assert penn_quotes(forms, spaces) == split(expected)[0]


def test_tags_are_those_of_the_model_or_else_of_the_input(sentences, tmp_path):
    run(make_recipe(predict=()), sentences, tmp_path / "model")
    parser = load(tmp_path / "model", "cpu", threads=1)
    (parsed,) = parser.parse([sentences[0]])
    assert [leaf.name for leaf in parsed.constituents.leaves()] == sentences[0].xpos
    with pytest.raises(FormatError, match="no tags, which a tree needs"):
        next(parser.parse([new_sentence(["a", "cat"])]))
    with pytest.raises(ConfigError, match="predicts no tags"):
        next(parser.parse([sentences[0]], "predict"))


def test_the_end_of_the_sentence_is_needed(sentences):
    recipe = make_recipe()
    parser = replace(recipe.parser, inputs=replace(INPUTS, stop=False))
    with pytest.raises(ConfigError, match=r"set inputs\.stop=true"):
        from_dict(ConstituencyConfig, asdict(parser))
