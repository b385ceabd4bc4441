"""What is wrong with training data is said before training starts."""

import pytest

from depkit.corpus.errors import FormatError
from depkit.corpus.files import write
from depkit.corpus.sentence import new_sentence
from depkit.parsers.config import ConfigError, Decoder
from depkit.training.data import (
    DataError,
    findings,
    fingerprint,
    read_treebanks,
    settle,
    split,
)
from depkit.training.recipe import Recipe, Training


def tree(words, heads, deprels=None):
    deprels = deprels or ["root" if head == 0 else "x" for head in heads]
    return new_sentence(
        words.split(), {"head": [str(head) for head in heads], "deprel": list(deprels)}
    )


ONE = tree("a b", [2, 0])
TWO = tree("c d", [0, 0])
CYCLE = tree("e f g", [2, 1, 0])


def test_roots_and_their_label_follow_the_trees(tiny):
    assert settle(Recipe(), tiny).decoder == Decoder(root="single", root_label="root")
    several = settle(Recipe(), [ONE, TWO]).decoder
    assert (several.root, several.root_label) == ("multi", "root")
    shared_label = settle(Recipe(), [tree("a b", [2, 0], ["x", "x"])]).decoder
    assert (shared_label.root, shared_label.root_label) == ("single", "")
    other = settle(Recipe(), [tree("a b c", [0, 1, 1], ["p", "x", "x"])]).decoder
    assert other.root_label == "p"


def test_columns_that_are_not_there_are_not_predicted(tiny):
    assert settle(Recipe(), tiny).scorer.predict == ["upos", "xpos", "feats", "lemma"]
    assert settle(Recipe(), [ONE]).scorer.predict == []


def test_findings_have_counts():
    told = findings([ONE, TWO, CYCLE], [ONE], Decoder(root="single"))
    assert "train: 1 of 3 trees have a cycle" in told
    assert "train: 1 of 3 sentences have several roots" in told
    assert "dev has one sentence only" in told
    assert "dev: every sentence also stands in train" in told
    told = findings([ONE], [tree("c d", [0, 1], ["root", "new"]), ONE], Decoder())
    assert "dev: 1 relation never seen in train: new (1)" in told
    assert "dev: 1 of 2 sentences also stand in train" in told


def test_good_data_gives_no_finding(tiny):
    assert findings(tiny[2:], tiny[:2], Decoder(root="single")) == []


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "empty.conllu").write_text("")
    with pytest.raises(DataError, match=r"empty\.conllu: no sentences"):
        read_treebanks([str(tmp_path / "empty.conllu")])


def test_words_without_a_head_are_an_error(tmp_path):
    write([ONE, new_sentence(["x"])], tmp_path / "raw.conllu")
    with pytest.raises(FormatError, match=r"raw\.conllu:4: a word without HEAD"):
        read_treebanks([str(tmp_path / "raw.conllu")])


def test_dev_split_is_a_share_and_spread(tiny):
    train, dev = split(tiny, 0.25)
    assert len(dev) == 6 and len(train) == 18
    assert [tiny.index(sentence) for sentence in dev] == [3, 7, 11, 15, 19, 23]
    for share in (0.0, 1.0, 0.001):
        with pytest.raises((ConfigError, DataError), match="dev-split"):
            split(tiny, share)


def test_fingerprint_leaves_out_when_to_stop(tiny):
    def key(**training):
        return fingerprint(Recipe(training=Training(**training)), tiny, tiny)

    assert key(patience=3) == key(patience=9, save_every=1.0)
    assert key(epochs=3, schedule="constant") == key(epochs=4, schedule="constant")
    assert key(epochs=3, schedule="linear") != key(epochs=4, schedule="linear")
    assert key(rate=0.1) != key(rate=0.2)


def test_a_small_treebank_is_read_in_smaller_batches(tiny):
    tokens = sum(len(sentence) + 1 for sentence in tiny)

    def size(**training):
        recipe = Recipe(training=Training(epochs=100, batch_tokens=1000, **training))
        return settle(recipe, tiny).training.batch_tokens

    assert size() == 1000
    assert size(updates=50) == min(1000, tokens * 2)
    assert size(updates=60) == tokens * 100 // 60
    assert size(updates=20, accumulate=3) == tokens * 100 // 60
    assert size(updates=10**6) == 150


def test_fingerprint_tells_data_and_recipe_apart(tiny):
    first = fingerprint(Recipe(), tiny, tiny[:2])
    assert first == fingerprint(Recipe(), list(tiny), tiny[:2])
    assert first != fingerprint(Recipe(), tiny[1:], tiny[:2])
    assert first != fingerprint(Recipe(), tiny[:-2], tiny[-2:] + tiny[:2])
    assert first != fingerprint(settle(Recipe(), tiny), tiny, tiny[:2])
