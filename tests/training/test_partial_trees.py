"""Training on trees in which words have no head."""

from dataclasses import replace

import numpy as np
import pytest

from depkit.cli.main import run as run_command
from depkit.corpus.io import read, write
from depkit.files.errors import FormatError
from depkit.parsers.graph.config import BiaffineConfig, Scorer
from depkit.parsers.loading import load
from depkit.parsers.root import find_root_label
from depkit.training.data import findings, read_sentences, resolve_auto
from tests.conftest import TINY
from tests.training.small_runs import run, small_recipe


def hide(sentences, share, seed=1):
    """Return sentences without a share of their heads and relations."""
    rng = np.random.default_rng(seed)
    result = []
    for sentence in sentences:
        hidden = rng.random(len(sentence)) < share
        heads = np.where(hidden, -1, sentence.head).tolist()
        pairs = zip(sentence.deprel, hidden, strict=True)
        result.append(sentence.with_tree(heads, ["_" if x else deprel for deprel, x in pairs]))
    return result


def partial_recipe(partial, **training):
    recipe = small_recipe(**training)
    scorer = replace(recipe.parser.scorer, partial=partial)
    return replace(recipe, parser=replace(recipe.parser, scorer=scorer))


@pytest.mark.parametrize("partial", ["ignore", "marginal"])
def test_a_parser_learns_the_annotated_arcs(partial, tiny, tmp_path):
    sentences = hide(tiny, 0.4)
    recipe = partial_recipe(partial, epochs=60)
    assert resolve_auto(recipe, sentences).parser.decoder.root == "single"
    run(recipe, sentences, tmp_path / "model", dev=tiny)
    parser = load(str(tmp_path / "model"), "cpu")
    assert "_" not in parser.vocabulary.columns["deprel"].indices
    right = total = 0
    for before, after in zip(sentences, parser.parse(sentences), strict=True):
        for gold, predicted in zip(before.head, after.head, strict=True):
            right += gold == predicted
            total += gold >= 0
    assert right > 0.9 * total


def test_partial_trees_are_refused_unless_they_are_asked_for(tiny, tmp_path, capfd):
    write(hide(tiny, 0.5), tmp_path / "train.conllu")
    with pytest.raises(FormatError, match="the word has no HEAD"):
        read_sentences(BiaffineConfig(), tmp_path / "train.conllu")
    command = ["train", str(tmp_path / "train.conllu"), "-o", str(tmp_path / "out"), "--dev"]
    assert run_command([*command, str(TINY), "--recipe", "small", "-q"]) == 1
    assert "train.conllu" in capfd.readouterr().err
    # The dev sentences must have trees.
    asked = ["--set", "scorer.partial=marginal", "--recipe", "small", "-q"]
    assert run_command([*command, str(tmp_path / "train.conllu"), *asked]) == 1
    assert "the word has no HEAD; training and dev data" in capfd.readouterr().err


def test_findings_and_the_root_label_leave_out_words_without_a_head(tiny):
    sentences = hide(tiny, 0.5)
    config = BiaffineConfig(scorer=Scorer(partial="ignore"))
    config = resolve_auto(replace(small_recipe(), parser=config), sentences).parser
    lines = findings(config, sentences, tiny)
    partial = sum(-1 in sentence.head for sentence in sentences)
    assert f"train: {partial} of {len(tiny)} trees are partial" in lines
    assert find_root_label(sentences) == "root"
    assert read(TINY)
