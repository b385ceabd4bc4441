"""Training data: checks before training, the dev split, and settings resolved from the data."""

import pytest

from depkit.corpus.io import read, write
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import DataError, FormatError
from depkit.parsers.config import Inputs
from depkit.parsers.graph.config import BiaffineConfig, Calibration, Decoder
from depkit.parsers.inputs.context import Context
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.config import TaggerConfig
from depkit.parsers.transition.config import TransitionConfig
from depkit.training.data import (
    digests,
    findings,
    read_sentences,
    resolve_auto,
    split_dev,
)
from depkit.training.origin import make_origin, weight_settings
from depkit.training.recipe import Recipe, Training
from tests.conftest import TINY


def tree(words, heads, deprels=None):
    deprels = deprels or ["root" if head == 0 else "x" for head in heads]
    return new_sentence(words.split()).with_tree(heads, deprels)


ONE_ROOT = tree("a b", [2, 0])
TWO_ROOTS = tree("c d", [0, 0])
CYCLE = tree("e f g", [2, 1, 0])


def resolve_recipe(sentences, **training):
    return resolve_auto(Recipe(BiaffineConfig(), training=Training(**training)), sentences)


@pytest.mark.parametrize(
    ("sentences", "root", "label"),
    [
        (None, "single", "root"),
        ([ONE_ROOT, TWO_ROOTS], "multi", "root"),
        ([tree("a b", [2, 0], ["x", "x"])], "single", ""),
        ([tree("a b c", [0, 1, 1], ["p", "x", "x"])], "single", "p"),
    ],
)
def test_the_root_mode_and_label_are_resolved_from_the_trees(sentences, root, label, tiny):
    for config in (BiaffineConfig(), TransitionConfig()):
        decoder = resolve_auto(Recipe(config), sentences or tiny).parser.decoder
        assert (decoder.root, decoder.root_label) == (root, label)


def test_empty_columns_are_not_predicted(tiny):
    assert resolve_recipe(tiny).parser.scorer.predict == ["upos", "xpos", "feats", "lemma"]
    assert resolve_recipe([ONE_ROOT]).parser.scorer.predict == []
    with pytest.raises(DataError, match="no tags to learn: UPOS, XPOS, FEATS, LEMMA are all _"):
        resolve_auto(Recipe(TaggerConfig()), [ONE_ROOT])


def test_the_first_metric_of_a_family_selects_the_epoch(tiny):
    assert resolve_recipe(tiny).training.select == "LAS"
    assert resolve_recipe(tiny, select="UAS").training.select == "UAS"
    assert resolve_auto(Recipe(TaggerConfig()), tiny).training.select == "tags"


SINGLE_ROOT = BiaffineConfig(decoder=Decoder(root="single"))


def test_findings_have_counts():
    lines = findings(SINGLE_ROOT, [ONE_ROOT, TWO_ROOTS, CYCLE], [ONE_ROOT])
    assert "train: 1 of 3 trees have a cycle" in lines
    assert "train: 1 of 3 sentences have several roots" in lines
    assert "train: the parser nevertheless predicts a single root (decoder.root=single)" in lines
    assert "dev has only one sentence" in lines
    assert "dev: every sentence is also in train" in lines
    lines = findings(BiaffineConfig(), [ONE_ROOT], [tree("c d", [0, 1], ["root", "new"]), ONE_ROOT])
    assert "dev: 1 relation never seen in train: new (1)" in lines
    assert "dev: 1 of 2 sentences are also in train" in lines


def test_a_file_that_is_given_twice_is_named():
    sentences = list(read(TINY))
    lines = findings(BiaffineConfig(), [*sentences, *read(TINY)], sentences[:2])
    assert f"train: {TINY} is given more than once; its sentences count each time" in lines
    lines = findings(BiaffineConfig(), sentences, sentences[:2])
    in_memory = findings(BiaffineConfig(), [ONE_ROOT, ONE_ROOT], [ONE_ROOT])
    assert not any("more than once" in line for line in [*lines, *in_memory])


def test_a_treebank_of_dev_that_is_not_in_train_is_reported(tiny):
    sentences = [sentence.with_columns({}) for sentence in tiny[:3]]
    for sentence, name in zip(sentences, ["a-train", "b-train", "web-dev"], strict=True):
        sentence.file = f"{name}.conllu"
    config = BiaffineConfig(inputs=Inputs(word=4, treebank=2))

    def notes(config, train, dev):
        return [line for line in findings(config, train, dev) if "treebank" in line]

    (note,) = notes(config, sentences[:2], sentences[2:])
    assert note.startswith("dev: 'web' is not among the treebanks of train, which are 'a', 'b'; a")
    assert notes(config, sentences[:2], sentences[1:2]) == []
    assert notes(config, sentences[:1], sentences[2:]) == []  # There is no other treebank.
    assert notes(BiaffineConfig(), sentences[:2], sentences[2:]) == []


def test_findings_for_a_tagger_ignore_trees():
    lines = findings(TaggerConfig(), [ONE_ROOT, TWO_ROOTS, CYCLE], [CYCLE])
    assert lines == ["dev has only one sentence", "dev: every sentence is also in train"]


def test_good_data_gives_no_finding(tiny):
    assert findings(SINGLE_ROOT, tiny[2:], tiny[:2]) == []


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "empty.conllu").touch()
    with pytest.raises(DataError, match=r"empty\.conllu: the file has no sentences"):
        read_sentences(BiaffineConfig(), tmp_path / "empty.conllu")


def test_words_without_a_head_are_an_error(tmp_path):
    write([ONE_ROOT, new_sentence(["x"])], tmp_path / "raw.conllu")
    with pytest.raises(FormatError, match=r"raw\.conllu:4: the word has no HEAD"):
        read_sentences(BiaffineConfig(), tmp_path / "raw.conllu")
    assert len(read_sentences(TaggerConfig(), tmp_path / "raw.conllu")) == 2


def test_dev_split_spreads_dev_over_the_treebank(tiny):
    train, dev = split_dev(tiny, 0.25)
    assert len(dev) == 6 and len(train) == 18
    assert [tiny.index(sentence) for sentence in dev] == [3, 7, 11, 15, 19, 23]
    for fraction in (0.0, 1.0, 0.001):
        with pytest.raises((ConfigError, DataError), match="dev_split"):
            split_dev(tiny, fraction)


def test_a_small_treebank_has_smaller_batches(tiny):
    """Batches become smaller until 100 epochs have the required number of updates."""
    tokens = sum(len(sentence) + 1 for sentence in tiny)

    def resolved_batch_tokens(**training):
        return resolve_recipe(tiny, epochs=100, batch_tokens=1000, **training).training.batch_tokens

    assert resolved_batch_tokens() == 1000  # no number of updates is required
    assert resolved_batch_tokens(updates=50) == min(1000, tokens * 100 // 50)
    assert resolved_batch_tokens(updates=60) == tokens * 100 // 60
    # 20 updates of three batches each need 60 batches.
    assert resolved_batch_tokens(updates=20, accumulate=3) == tokens * 100 // 60
    assert resolved_batch_tokens(updates=10**6) == 150  # the minimum


def test_large_treebanks_have_fewer_epochs_and_small_ones_smaller_batches(tiny):
    """Without a number of epochs, it follows from the size of the treebank."""
    words = sum(map(len, tiny))
    sizes = [200_000 // words, 800_000 // words, 10_000_000 // words]
    trainings = [resolve_recipe(tiny * size, epochs=0).training for size in sizes]
    assert [training.epochs for training in trainings] == [90, 45, 13]
    small = resolve_recipe(tiny, epochs=0, updates=2000).training
    assert (small.epochs, small.batch_tokens) == (90, 150)


@pytest.mark.parametrize(
    ("seed", "training_settings", "parser_settings", "train_slice", "expected"),
    [
        (1, {}, {}, slice(None), ""),
        (1, {"patience": 9, "storage": "float16", "epochs": 4}, {}, slice(None), ""),
        (1, {}, {"calibration": Calibration(arc=2.0)}, slice(None), ""),
        (2, {}, {}, slice(None), "`seed` 1 (now 2)"),
        (1, {"rate": 0.1}, {}, slice(None), "training.rate=0.002 (now 0.1)"),
        (1, {}, {"decoder": SINGLE_ROOT.decoder}, slice(None), "decoder.root=auto (now single)"),
        (1, {}, {}, slice(1, None), "other training sentences"),
        (
            2, {"rate": 0.1, "decay": 0.5, "clip": 1.0, "select": "UAS"}, {}, slice(None),
            "`seed` 1 (now 2), training.rate=0.002 (now 0.1), training.clip=5.0 (now 1.0), 2 more"
            " settings that differ",
        ),
    ],
)  # fmt: skip
def test_origins_differ_if_seed_settings_or_data_differ(
    seed, training_settings, parser_settings, train_slice, expected, tiny
):
    def origin(recipe, train, seed):
        return make_origin(seed, weight_settings(recipe), digests(train, tiny[:2]))

    first = origin(Recipe(BiaffineConfig()), tiny, 1)
    recipe = Recipe(BiaffineConfig(**parser_settings), training=Training(**training_settings))
    assert first.describe_difference(origin(recipe, tiny[train_slice], seed)) == expected


def test_transformers_are_the_same_if_their_contents_are():
    def origin(source="transformer", **context):
        inputs = Inputs(context=Context(source=source, **context))
        return make_origin(1, weight_settings(Recipe(BiaffineConfig(inputs))), {})

    run = origin(model="me/bert", revision="0123abc", digest="d1", available=4, width=16)
    moved = origin(model="/moved", digest="d1", available=4, width=16)
    other = origin(model="/moved", digest="d2", available=13, width=384)
    assert run.describe_difference(moved) == ""
    assert run.describe_difference(other) == "another transformer"
    none = "inputs.context.source=transformer (now none)"
    assert run.describe_difference(origin("none")) == none


def test_only_names_of_options_become_names_of_arguments():
    runs = [
        make_origin(1, {"inputs": {"lexicon": "", "model": f"a--{x}"}}, {"another --init": x})
        for x in ("b", "c")
    ]
    expected = "inputs.model=a--b (now a--c), another `init`"
    assert runs[0].describe_difference(runs[1]) == expected


def test_data_that_only_one_of_two_runs_has_are_named():
    data = {"another --init": "b", "other names of treebanks": "c"}
    without, run = make_origin(1, {}, {}), make_origin(1, {}, data)
    assert without.describe_difference(run) == "no `init`, no names of treebanks"
    assert run.describe_difference(without) == "`init` (now none), names of treebanks (now none)"
