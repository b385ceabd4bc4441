"""Jack-knifing: folds are exact, and no tagger has seen the sentences that it tags."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.ensemble import jackknife as module
from depkit.ensemble.jackknife import JackknifeJob, accuracies, assign_folds
from depkit.files.errors import DataError
from depkit.nn.settings import BiLSTM
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.config import Inputs
from depkit.parsers.graph.config import BiaffineConfig, Scorer
from depkit.parsers.inputs.context import Context
from depkit.parsers.loading import load
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.config import TaggerConfig
from depkit.parsers.tagger.parser import TaggerParser
from depkit.training.data import resolve_auto
from depkit.training.origin import ResumeError
from depkit.training.recipe import Recipe, Training
from tests.parsers.inputs.small_transformers import save_bert

CPU = torch.device("cpu")


def jackknife(sentences, recipe, folds, work, **fields):
    job = JackknifeJob(train="-", output="-", folds=folds, work=work, quiet=True, **fields)
    return module.jackknife(sentences, recipe, job, CPU)


CONFIG = TaggerConfig(
    Inputs(word=8, word_min_count=1, char=8),
    BiLSTM(layers=1, size=8),
    TagScorer(tag_hidden=16),
)
SMALL = Recipe(CONFIG, training=Training(epochs=1, batch_tokens=60, precision="float32"))


@pytest.mark.parametrize(("count", "folds"), [(4, 2), (10, 10), (23, 5), (24, 3), (1000, 7)])
def test_folds_cover_all_and_are_nearly_equal(count, folds):
    fold_numbers = assign_folds(sentences_of(map(str, range(count))), folds, seed=1)
    sizes = [int((fold_numbers == number).sum()) for number in range(folds)]
    assert sum(sizes) == count == len(fold_numbers)
    assert max(sizes) - min(sizes) <= 1


def sentences_of(texts):
    """Return sentences with these words, which are divided by spaces."""
    return [new_sentence(text.split(), {}) for text in texts]


def test_folds_depend_only_on_the_words_and_the_seed():
    # The digests that sha256sum computes of "1 0" to "1 5" have the order 1, 3, 5, 0, 4, 2.
    assert assign_folds(sentences_of("012345"), 2, seed=1).tolist() == [1, 0, 1, 1, 0, 0]
    assert assign_folds(sentences_of("543210"), 2, seed=1).tolist() == [0, 0, 1, 1, 0, 1]
    many = sentences_of(map(str, range(100)))
    assert assign_folds(many, 2, seed=1).tolist() != assign_folds(many, 2, seed=2).tolist()


def test_sentences_with_the_same_words_are_in_the_same_fold():
    # 0 to 5 in the order above, after the sentences that occur 4 times and twice.
    texts = [
        "can not",
        "0",
        "1",
        "Yes .",
        "2",
        "cannot",
        "3",
        "Yes .",
        "4",
        "5",
        "cannot",
        "cannot",
    ]
    folds = assign_folds(sentences_of(texts), 2, seed=1).tolist()
    assert [folds[i] for i in (0, 5, 10, 11)] == [0] * 4 and folds[3] == folds[7] == 1
    # The second fold has two sentences fewer, so that 1 and 3 are added to it.
    assert [folds[texts.index(text)] for text in "135042"] == [1, 1, 0, 1, 0, 1]
    with pytest.raises(DataError, match=r"different sentences \(2\) for 3 folds"):
        assign_folds(sentences_of(["a"] * 9 + ["b"]), 3, seed=1)


@pytest.mark.parametrize("copies", [2, 300])
def test_no_sentence_is_in_two_parts(copies):
    texts = [f"{i}" for i in range(60)] * copies
    sentences = sentences_of([*texts, *["Yes ."] * 100])
    train, dev = module._split_dev(sentences, range(0, len(sentences), 2), 1)
    words = [{" ".join(sentences[i].form) for i in part} for part in (train, dev)]
    assert sorted(train + dev) == list(range(0, len(sentences), 2))
    assert not words[0] & words[1] and 0 < len(dev) < len(train) / 9
    with pytest.raises(DataError, match=r"the same words, so .* use more folds"):
        module._split_dev(sentences_of(["a"] * 4), range(4), 1)


@pytest.fixture
def trainings(monkeypatch):
    """A function that returns the training and dev sentences of each training so far."""
    train = Mock(wraps=module.train)
    monkeypatch.setattr(module, "train", train)
    return lambda: [(call.args[0].train, call.args[0].dev) for call in train.call_args_list]


def test_a_tagger_has_never_seen_its_fold(tiny, tmp_path, trainings):
    """Each sentence has a different XPOS, so predicted XPOS show what a tagger was trained on."""
    marked = [
        sentence.with_columns({"xpos": [f"T{i}"] * len(sentence)})
        for i, sentence in enumerate(tiny)
    ]
    tagged = jackknife(marked, resolve_auto(SMALL, marked), 3, tmp_path)
    fold_numbers = assign_folds(tiny, 3, seed=1)
    assert [sentence.form for sentence in tagged] == [sentence.form for sentence in tiny]
    assert len(trainings()) == 3
    for number, (train, dev) in enumerate(trainings()):
        assert len(dev) == 1 and len(train) == 15
        ids = {sentence.sent_id for sentence in [*train, *dev]}
        inside = {s.sent_id for s, fold in zip(tiny, fold_numbers, strict=True) if fold == number}
        assert len(ids) == 16 and ids | inside == {sentence.sent_id for sentence in tiny}
        possible = {sentence.xpos[0] for sentence in train}
        for sentence, fold in zip(tagged, fold_numbers, strict=True):
            if fold == number:
                assert set(sentence.xpos) <= possible


def test_with_many_sentences_a_twentieth_is_dev(tiny, tmp_path, trainings):
    many = sentences_of(map(str, range(120)))
    many = [sentence.with_columns({"upos": ["NUM"]}) for sentence in many]
    jackknife(many, resolve_auto(SMALL, many), 2, tmp_path)
    assert [(len(train), len(dev)) for train, dev in trainings()] == [(57, 3), (57, 3)]


def test_four_sentences_are_enough_for_two_folds(tiny, tmp_path, trainings):
    assert len(jackknife(tiny[:4], resolve_auto(SMALL, tiny[:4]), 2, tmp_path)) == 4
    assert [(len(train), len(dev)) for train, dev in trainings()] == [(1, 1), (1, 1)]


def test_a_finished_run_is_not_trained_again(tiny, tmp_path):
    recipe = resolve_auto(SMALL, tiny)
    first = jackknife(tiny, recipe, 2, tmp_path)
    model = tmp_path / "fold-02" / "model.safetensors"
    before = model.stat().st_mtime_ns
    again = jackknife(tiny, recipe, 2, tmp_path, resume=True)
    assert list(map(str, again)) == list(map(str, first)) != list(map(str, tiny))
    assert model.stat().st_mtime_ns == before
    with pytest.raises(ResumeError, match=r"was started with `folds` 2 \(now 3\); resume it"):
        jackknife(tiny, recipe, 3, tmp_path, resume=True)
    jackknife(tiny, recipe, 2, tmp_path)
    assert model.stat().st_mtime_ns != before


def test_the_seed_determines_the_tags(tiny, tmp_path):
    recipe = resolve_auto(SMALL, tiny)
    runs = [
        list(map(str, jackknife(tiny, recipe, 2, tmp_path / name, seed=seed)))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert runs[0] == runs[1] != runs[2]


def test_gold_values_of_a_column_that_one_fold_lacks_are_not_copied(tiny, tmp_path):
    fold_numbers = assign_folds(tiny, 2, seed=1).tolist()
    half = [
        sentence if fold else sentence.with_columns({"feats": ["_"] * len(sentence)})
        for sentence, fold in zip(tiny, fold_numbers, strict=True)
    ]
    tagged = jackknife(half, resolve_auto(SMALL, half), 2, tmp_path)
    for sentence, fold in zip(tagged, fold_numbers, strict=True):
        assert not fold or set(sentence.feats) == {"_"}  # the tagger has seen no other value


def test_accuracies_count_words():
    gold = [
        new_sentence(["a", "b"], {"upos": ["X", "Y"]}),
        new_sentence(["c", "d"], {"upos": ["X", "X"]}),
    ]
    tagged = [gold[0], gold[1].with_columns({"upos": ["X", "Y"], "xpos": ["p", "p"]})]
    assert accuracies(gold, tagged, ["upos", "xpos"]) == {"upos": 75.0, "xpos": 50.0}


def test_accuracies_are_those_of_eval():
    """The order of features has no meaning, and any lemma is correct where the gold lemma is _."""
    gold = new_sentence(["a", "b"], {"lemma": ["a", "_"], "feats": ["Y=1|X=2", "_"]})
    tagged = gold.with_columns({"lemma": ["a", "b"], "feats": ["X=2|Y=1", "Z=1"]})
    assert accuracies([gold], [tagged], ["lemma", "feats"]) == {"lemma": 100.0, "feats": 50.0}


UNTAGGED = Recipe(BiaffineConfig(scorer=Scorer(predict=[])))


@pytest.mark.parametrize(
    ("count", "folds", "recipe", "error", "message"),
    [
        (3, 2, SMALL, DataError, r"tiny\.conllu: too few .* \(3\) for 2 folds, .* at least 4"),
        (9, 10, SMALL, DataError, r"too few different sentences \(9\) for 10 folds"),
        (9, 1, SMALL, ConfigError, "folds is 1"),
        (9, 3, UNTAGGED, ConfigError, "nothing to jack-knife"),
        (9, 3, Recipe(TaggerConfig(Inputs(tag=8))), ConfigError, r"inputs\.tag"),
    ],
)
def test_impossible_jackknifing_is_rejected(
    count, folds, recipe, error, message, tiny, tmp_path, trainings
):
    with pytest.raises(error, match=message):
        jackknife(tiny[:count], recipe, folds, tmp_path / "work")
    assert not trainings() and not (tmp_path / "work").exists()


def test_sentences_are_tagged_with_their_contextual_vectors(tiny, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py", reason="features need the extra depkit-parser[elmo]")
    monkeypatch.setenv("DEPKIT_CACHE", str(tmp_path / "cache"))
    with h5py.File(tmp_path / "elmo.hdf5", "w") as file:
        for i, sentence in enumerate(tiny):
            file[str(i)] = np.full((1, len(sentence), 4), i, dtype=np.float32)
    tag, means = TaggerParser.tag, {}

    def record_and_tag(self, sentences, context, **options):
        vectors = list(context)
        means.update((s.sent_id, v[1:].mean()) for s, v in zip(sentences, vectors, strict=True))
        return tag(self, sentences, context=vectors, **options)

    monkeypatch.setattr(TaggerParser, "tag", record_and_tag)
    elmo = Inputs(word=0, context=Context(source="elmo", top=1, size=4))
    recipe = resolve_auto(replace(SMALL, parser=replace(CONFIG, inputs=elmo)), tiny)
    jackknife(tiny, recipe, 2, tmp_path / "m", elmo=[str(tmp_path / "elmo.hdf5")])
    assert means == {sentence.sent_id: i for i, sentence in enumerate(tiny)}


def test_vectors_need_a_recipe_that_reads_them(tiny, tmp_path):
    with pytest.raises(ConfigError, match=r"inputs\.context\.source=elmo"):
        jackknife(tiny, SMALL, 2, tmp_path, elmo=["x.hdf5"])


def test_frozen_vectors_are_computed_once_for_all_folds(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPKIT_CACHE", str(tmp_path / "cache"))
    model = str(save_bert(tmp_path / "bert"))
    context = Context(source="transformer", model=model, top=2, size=8)
    parser = replace(CONFIG, inputs=Inputs(word=0, context=context))
    recipe = resolve_auto(replace(SMALL, parser=parser), tiny)
    tagged = jackknife(tiny, recipe, 3, tmp_path / "work")
    assert [sentence.form for sentence in tagged] == [sentence.form for sentence in tiny]
    assert len(list((tmp_path / "cache").rglob("*.npy"))) == 1
    # A tagger that tags by itself computes the same vectors.
    tagger = load(tmp_path / "work" / "fold-01", "cpu", "float32")
    indices = np.flatnonzero(assign_folds(tiny, 3, seed=1) == 0)
    tagged_again = tagger.tag([tiny[i] for i in indices])
    assert [sentence.upos for sentence in tagged_again] == [tagged[i].upos for i in indices]
