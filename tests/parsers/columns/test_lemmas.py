"""Lemmas that whole parsers predict, and the lemma dictionaries that parsers learn."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from depkit import load, write
from depkit.corpus.sentence import new_sentence
from depkit.parsers.columns.edit_scripts import edit_script
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary
from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.columns.tagging import Tagging
from depkit.parsers.ensembles import combine
from depkit.parsers.inputs.tables import Table
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.settings import ConfigError
from depkit.training.origin import ResumeError
from depkit.training.sources import load_sources
from tests.training.small_runs import CPU, NO_DROPOUT, small_recipe
from tests.training.small_runs import run as train

EMPTY = Vocabulary({"words": Table([]), "characters": Table([])}, {"lemma": Table([])})
EVERYDAY = Path(__file__).parents[2] / "data" / "everyday_lemmas.txt"


def test_the_bundled_model_knows_the_lemmas_of_everyday_sentences(tmp_path):
    words = [
        [word.partition("/")[::2] for word in line.split()]
        for line in EVERYDAY.read_text(encoding="utf-8").splitlines()
    ]
    text = tmp_path / "in.txt"
    text.write_text("\n".join(" ".join(form for form, _ in line) for line in words))
    parser = load()
    sentences = parser.parse(parser.read(text, input="tokens"))
    wrong = [
        f"{form}: {lemma}"
        for line, sentence in zip(words, sentences, strict=True)
        for (form, expected), lemma in zip(line, sentence.lemma, strict=True)
        if lemma != (expected or form.lower())
    ]
    # A wrong tag can lead to a wrong lemma: "the dog bit (noun) the postman", "lake" (proper noun).
    assert len(words) == 60 and len(wrong) <= 2, wrong


def test_unknown_words_get_the_best_scripts_and_tags_of_the_network(tiny):
    vocabulary = EMPTY.with_lemmas(tiny[:2])
    known = vocabulary.lemmas
    sentences = list(tiny)
    shape = len(sentences), 1 + max(map(len, sentences))
    scores = {"lemma": torch.randn(*shape, 7), "upos": torch.randn(*shape, 2)}
    unknown = Tagging(vocabulary, ["lemma", "upos"]).unknown_words(sentences)
    best = ColumnScores(scores).fetch_best(unknown).wait()
    assert (best["upos"] == scores["upos"].argmax(-1).numpy()).all()
    words = [
        (row, word)
        for row, sentence in enumerate(sentences)
        for word, is_known in enumerate(known.contains(sentence.form), start=1)
        if not is_known
    ]
    assert words and unknown.T.tolist() == list(map(list, words))
    for name, size in (("lemma", 4), ("upos", 2)):
        logs = scores[name].log_softmax(-1).numpy()
        indices, best_logs = best[f"{name}_best"], best[f"{name}_score"]
        assert indices.shape == best_logs.shape == (len(words), size)
        for place, word in enumerate(words):
            expected = np.argsort(-logs[word])[:size]
            assert indices[place].tolist() == expected.tolist()
            assert best_logs[place] == pytest.approx(logs[word][expected])


def train_tagger(recipe, sentences, directory):
    recipe, sources = load_sources(recipe, sentences, sentences, CPU)
    train(recipe, sentences, directory, sources=sources)
    return load(directory, device="cpu", precision="float32")


def test_a_model_has_the_lemmas_of_its_treebank_and_lexicon(tiny, tmp_path):
    lexicon = tmp_path / "lexicon.conllu"
    words = new_sentence(["geese"], {"upos": ["NOUN"], "xpos": ["NNS"], "lemma": ["goose"]})
    write([words.with_tree([0], ["root"])], lexicon)
    recipe = small_recipe(
        epochs=1, predict=("upos", "lemma"), inputs=replace(NO_DROPOUT, lexicon=str(lexicon))
    )
    parser = train_tagger(recipe, tiny, tmp_path / "model")
    expected = EMPTY.with_lemmas([*tiny, words])
    assert parser.vocabulary.lemmas == expected.lemmas
    assert parser.tagging.lemmatizer.look_up(["geese"], [("NOUN", "_", "_")]) == ["goose"]
    # A run can be resumed only with the same lexicon.
    write([words.with_tree([0], ["dep"])], lexicon)
    recipe, sources = load_sources(recipe, tiny, tiny, CPU)
    with pytest.raises(ResumeError, match="lexicon"):
        train(recipe, tiny, tmp_path / "model", sources=sources, resume=True)


def test_the_lemma_of_a_word_depends_on_its_tags(tiny, tmp_path):
    parser = train_tagger(small_recipe(epochs=1, predict=("lemma",)), tiny, tmp_path)
    verb = new_sentence(["walks"], {"upos": ["VERB"]})
    scripts = [edit_script("walks", lemma) for lemma in ("walk", "walks")]
    tags = [("VERB", "_", "_"), ("NOUN", "_", "_")]
    dictionary = LemmaDictionary(tags, scripts, {"walks": [0, 0, 1, 1, 1, 1]})
    parser = replace(parser, vocabulary=replace(parser.vocabulary, lemmas=dictionary))
    noun = verb.with_columns({"upos": ["NOUN"]})
    assert [sentence.lemma for sentence in parser.tag([verb, noun])] == [["walk"], ["walks"]]


def test_a_dictionary_without_forms_leaves_lemmas_to_the_network(tiny, tmp_path):
    parser = train_tagger(small_recipe(epochs=1, predict=("lemma",)), tiny, tmp_path)
    data = parser.vocabulary.lemmas.to_json() | {"forms": {}}
    dictionary = LemmaDictionary.from_json(json.loads(json.dumps(data)))
    parser = replace(parser, vocabulary=replace(parser.vocabulary, lemmas=dictionary))
    tagged = list(parser.tag(tiny))
    assert all(lemma for sentence in tagged for lemma in sentence.lemma)
    assert not any(dictionary.contains(tiny[0].form))
    assert dictionary.look_up("dogs", ("NOUN", "_", "_")) is None


def test_an_ensemble_merges_the_lemma_dictionaries_of_its_members(tiny, tmp_path):
    halves = [tiny[::2], tiny[1::2]]
    members = [
        train_tagger(small_recipe(epochs=1, predict=("lemma",)), half, tmp_path / str(number))
        for number, half in enumerate(halves)
    ]
    merged = combine(members).vocabulary.lemmas
    assert merged == EMPTY.with_lemmas(tiny).lemmas
    assert combine(members).tagging.lemmatizer.dictionary == merged


def test_a_lexicon_without_lemmas_is_rejected(tiny, tmp_path):
    lexicon = tmp_path / "lexicon.conllu"
    write([sentence.with_columns({"lemma": ["_"] * len(sentence)}) for sentence in tiny], lexicon)
    recipe = small_recipe(inputs=replace(NO_DROPOUT, lexicon=str(lexicon)))
    with pytest.raises(ConfigError, match=r"lexicon.conllu: no word there has a lemma"):
        load_sources(recipe, tiny, tiny, CPU)
