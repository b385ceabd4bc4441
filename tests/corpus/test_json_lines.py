"""Trees as JSON: all columns, and the places of words in the text."""

import json

from depkit.corpus.json_lines import json_lines
from depkit.corpus.reader import read_lines
from depkit.corpus.text import read_text, split_at_spaces
from tests.corpus.rows import PREDICATES, RICH, row


def records(sentences):
    return [json.loads(line) for line in json_lines(sentences)]


def test_all_columns_of_a_word():
    first, second = records(read_lines(RICH.splitlines(keepends=True)))
    assert first["words"][0] == {
        "id": 1, "form": "Vamos", "lemma": "ir", "upos": "VERB", "xpos": None,
        "feats": "Mood=Imp|Number=Plur", "head": 0, "deprel": "root", "start": 0, "end": 7,
    }  # fmt: skip
    assert first["multiword"] == [
        {"first": 1, "last": 2, "form": "Vámonos", "start": 0, "end": 7},
        {"first": 3, "last": 4, "form": "al", "start": 8, "end": 10},
    ]
    assert (first["sent_id"], first["newdoc"], "newpar" in first) == ("mill-1", True, False)
    assert (second["text"], second["start"], "multiword" in second) == ("pan y 20 000", 19, False)


def test_places_in_raw_text():
    text = " One  two.\n\nThree\tüber\n\n\n🙂 five "
    sentences = records(read_text([text[:3], text[3:]], split_at_spaces, lines=True))
    for sentence in sentences:
        assert sentence["text"] == text[sentence["start"] : sentence["end"]]
        for word in sentence["words"]:
            assert word["form"] == text[word["start"] : word["end"]]
    assert len(sentences) == 3 and sentences[0]["words"][0]["head"] is None


def test_pieces_of_a_token_have_places_of_their_own():
    lines = "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\t_\t_\t_\t0\troot\t_\t_\n"
    lines += "2\tn't\t_\t_\t_\t_\t1\tadvmod\t_\t_\n\n"
    (record,) = records(read_lines(lines.splitlines(keepends=True)))
    assert [(word["start"], word["end"]) for word in record["words"]] == [(0, 2), (2, 5)]


def test_a_new_document_begins_at_nought():
    texts = [read_text(["a b\n"], split_at_spaces, True, name) for name in ("one", "two")]
    found = records(sentence for text in texts for sentence in text)
    assert [(record["newdoc"], record["start"]) for record in found] == [("one", 0), ("two", 0)]


def test_formats_without_misc():
    (record,) = records(read_lines(PREDICATES.splitlines(keepends=True)))
    assert (record["sent_id"], record["text"]) == (None, "Cats see dogs bark")


def test_the_text_is_what_stands_between_the_places():
    rows = (row(1, "the", 2, "det"), row(2, "cat", 0, "root"))
    spaces = ("SpacesAfter=\\s", "SpacesBefore=\\n")
    lines = [line[:-2] + misc + "\n" for line, misc in zip(rows, spaces, strict=True)]
    (record,) = records(read_lines([*lines, "\n"]))
    assert record["text"] == "the \ncat" and record["end"] - record["start"] == 8
