"""Warnings about text that a model was not trained for."""

import pytest

import depkit
from depkit.corpus.io import read
from depkit.serving.input_warnings import find_input_warnings
from tests.conftest import TINY

ENGLISH = (
    "I have not seen him since last week, but he said that he would be here.",
    "Is there a place where we can eat? The one on the corner is good.",
    "lol thx u r the best!!! gonna b there 2nite",
    "Xanthippe Quarles and Bartholomew Fitzwilliam met Zbigniew Kowalczyk, Giuseppe Bianchi and"
    " Jean-Pierre Dubois in Ouagadougou.",
    "The mitochondrial ribonucleoprotein complexes undergo autocatalytic polyadenylation during"
    " sporulation of Schizosaccharomyces.",
)
FOREIGN = {
    "German": "Gestern haben wir den ganzen Tag im Garten gearbeitet, und am Abend waren alle"
    " müde.",
    "French": "Nous avons passé toute la journée dans le jardin, et le soir tout le monde était"
    " fatigué.",
    "Finnish": "Eilen olimme koko päivän puutarhassa töissä, ja illalla kaikki olivat väsyneitä ja"
    " nälkäisiä.",
    "Spanish": "Ayer trabajamos todo el día en el jardín y por la noche todos estábamos cansados.",
    "Dutch": "Gisteren hebben wij de hele dag in de tuin gewerkt, en 's avonds was iedereen moe.",
}  # sentences of our own


@pytest.fixture(scope="module")
def parser():
    return depkit.load(device="cpu", threads=1)


def warnings(parser, text):
    return list(find_input_warnings(parser, list(parser.tokenize(text))))


@pytest.mark.parametrize("text", [*ENGLISH, " ".join(ENGLISH), "Guten Tag!", "1 2 3", "?"])
def test_text_of_the_language_of_the_model_gets_no_note(text, parser):
    assert warnings(parser, text) == []


@pytest.mark.parametrize("language", FOREIGN)
def test_text_of_another_language_gets_a_note(language, parser):
    (note,) = warnings(parser, FOREIGN[language])
    assert "another language than that of the model" in note and "expect poor" in note


def test_another_script_gets_one_note(parser):
    (note,) = warnings(parser, "Вчера мы весь день работали в саду, и вечером все очень устали.")
    assert "another script" in note


def test_there_is_no_note_for_real_text(parser, shared):
    for folder in ("ud-english-ewt/en_ewt-ud-dev.conllu",):
        sentences = list(read(shared / "data" / folder))
        for start in range(0, len(sentences), 200):
            part = sentences[start : start + 200]
            notes = list(find_input_warnings(parser, part))
            assert not any("language" in note for note in notes)
    assert list(find_input_warnings(parser, list(read(TINY)))) == []
