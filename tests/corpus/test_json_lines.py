"""Trees as JSON: all columns, and the offsets of words in the text."""

import json

from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.text import read_text, split_at_spaces
from tests.corpus.rows import PREDICATES, RICH, parse, row


def records(sentences):
    return [json.loads(line) for line in to_json_lines(sentences)]


def test_words_have_all_columns():
    first, second = records(parse(RICH))
    assert first["words"][0] == {
        "id": 1, "form": "Vamos", "lemma": "ir", "upos": "VERB", "xpos": None,
        "feats": "Mood=Imp|Number=Plur", "head": 0, "deprel": "root", "start": 0, "end": 7,
        "deps": [{"head": 0, "deprel": "root"}],
    }  # fmt: skip
    assert first["multiword"] == [
        {"first": 1, "last": 2, "form": "Vámonos", "start": 0, "end": 7},
        {"first": 3, "last": 4, "form": "al", "start": 8, "end": 10},
    ]
    assert (first["sent_id"], first["newdoc"], "newpar" in first) == ("mill-1", True, False)
    assert (second["text"], second["start"], "multiword" in second) == ("pan y 20 000", 19, False)


def test_offsets_are_those_in_the_raw_text():
    text = " One  two.\n\nThree\tüber\n\n\n🙂 five "
    sentences = records(read_text([text[:3], text[3:]], split_at_spaces, by_line=True))
    for sentence in sentences:
        assert sentence["text"] == text[sentence["start"] : sentence["end"]]
        for word in sentence["words"]:
            assert word["form"] == text[word["start"] : word["end"]]
    assert len(sentences) == 3 and sentences[0]["words"][0]["head"] is None


def test_words_of_a_multiword_token_have_their_own_offsets():
    rows = row("1-2", "don't") + row(1, "do", 0, "root") + row(2, "n't", 1, "advmod")
    (record,) = records(parse(rows))
    assert [(word["start"], word["end"]) for word in record["words"]] == [(0, 2), (2, 5)]


def test_offsets_of_a_new_document_begin_at_zero():
    texts = [
        read_text(["a b\n"], split_at_spaces, by_line=True, name=name) for name in ("one", "two")
    ]
    results = records(sentence for text in texts for sentence in text)
    assert [(record["newdoc"], record["start"]) for record in results] == [("one", 0), ("two", 0)]


def test_text_of_formats_without_misc_has_spaces_between_words():
    (record,) = records(parse(PREDICATES, None))
    assert (record["sent_id"], record["text"]) == (None, "Cats see dogs bark")


def test_offsets_count_the_white_space_in_misc():
    # row(...)[:-2] omits the empty MISC and the line end.
    rows = row(1, "the", 2, "det")[:-2] + "SpacesAfter=\\s\n"
    rows += row(2, "cat", 0, "root")[:-2] + "SpacesBefore=\\n\n"
    (record,) = records(parse(rows))
    assert record["text"] == "the \ncat"
    assert record["end"] - record["start"] == len(record["text"])
