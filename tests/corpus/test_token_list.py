"""Sentences as token lists of the `conllu` package, compared with those that the package reads."""

import conllu
import pytest

from depkit.corpus.token_list import from_token_list, to_token_list
from depkit.files.errors import FormatError
from tests.corpus.rows import PREDICATES, RICH, parse, row


def round_trip(sentence, format="conllu"):
    return str(from_token_list(to_token_list(sentence), format))


def test_token_lists_equal_those_of_the_conllu_package():
    for sentence in parse(RICH):
        theirs = conllu.parse(str(sentence))[0]
        ours = to_token_list(sentence)
        assert list(ours) == list(theirs)
        assert {key: ours.metadata[key] for key in theirs.metadata} == theirs.metadata
    assert ours[0]["id"] == (0, ".", 1) and ours[0]["misc"] == {"CopyOf": "3"}
    assert ours[1]["deps"] == [("obj", (0, ".", 1))]
    assert ours.to_tree().token["form"] == "pan y"


def test_sentences_survive_a_round_trip():
    first, second = parse(RICH)
    assert round_trip(second) == str(second)
    assert round_trip(first) == str(first).replace("# note = first\n", "")
    assert from_token_list(to_token_list(first)).location() == ("TokenList", 6, "mill-1")


CELLS = {  # by column
    1: ["two  blanks ", "#"],
    2: ["None"],
    4: ["_|_"],
    5: ["A=1|A=2", "A|B|C=1", "b=2|a=1", "A=1|", "|", "=", "a=", "_=_"],
    6: ["_", "01"],
    7: ["a:b"],
    8: ["1:a:b|0:c", "1", "0.1:a|1.2:b:c"],
    9: ["a=b=c", "Gloss=to=go|SpaceAfter=No", "a= b ", "_=", "Ref"],
}


@pytest.mark.parametrize(
    ("column", "value"), [(column, value) for column in CELLS for value in CELLS[column]]
)
def test_any_cell_survives_a_round_trip(column, value):
    cells = row(1, "w", 0, "root").rstrip("\n").split("\t")
    cells[column] = value
    text = "\t".join(cells) + "\n\n"
    assert round_trip(*parse(text)) == text


SAME = ["# a = b = c\n", "# newpar\n# newdoc id = 3\n", "# a remark\n", "# key =\n", "# = value\n"]
CHANGED = {
    "#a=b\n": "# a = b\n",
    "# a  =  b  \n": "# a = b\n",
    "# a = 1\n# b = 1\n# a = 2\n": "# a = 2\n# b = 1\n",
}


@pytest.mark.parametrize("comments", [*SAME, "#\n", *CHANGED])
def test_comments_survive_except_repeated_keys_and_white_space(comments):
    expected = CHANGED.get(comments, comments)
    assert round_trip(*parse(comments + row(1) + "\n")) == expected + row(1) + "\n"


def test_carriage_returns_and_byte_order_marks_are_lost():
    text = "\ufeff" + row(1).replace("\n", "\r\n") + "\r\n\r\n"
    assert round_trip(*parse(text)) == row(1) + "\n"


def test_predicates_of_conll09_survive_a_round_trip():
    (sentence,) = parse(PREDICATES, "conll09")
    tokens = to_token_list(sentence)
    assert tokens[2]["apred1"] == "A1" and tokens[2]["head"] == 2
    assert str(from_token_list(tokens, "conll09")) == PREDICATES
    wide = PREDICATES.replace("\t_\n", "\t_" * 10 + "\tA9\n").replace("\tA0\n", "\tA0" * 11 + "\n")
    assert round_trip(*parse(wide, "conll09"), "conll09") == wide


def test_token_lists_made_by_hand_are_converted():
    tokens = conllu.TokenList(
        [
            {"id": 1, "form": "a", "upostag": "N", "feats": {}, "deps": [], "misc": ""},
            {"id": 2, "form": "b", "head": 1, "deprel": None},
        ]
    )
    sentence = from_token_list(tokens)
    assert str(sentence) == "1\ta\t_\tN" + "\t_" * 6 + "\n" + "2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n"
    assert from_token_list(tokens, "conllx").format.name == "conllx"


@pytest.mark.parametrize(
    "change",
    [
        {"id": 2},
        {"head": 7},
        {"head": "x"},
        {"form": None, "id": None},
        {"form": "a\tb"},
        {"misc": {"a": "b\nc"}},
        {"form": "a\n2\tb"},
    ],
)
def test_tokens_that_make_no_valid_sentence_are_rejected(change):
    with pytest.raises(FormatError, match="TokenList:1: "):
        from_token_list(conllu.TokenList([{"id": 1, "form": "a"} | change]))


@pytest.mark.parametrize(
    ("tokens", "metadata", "message"),
    [
        ([], {}, "not a sentence"),
        ([], {"a": "b"}, "comments, but no words"),
        ([{"id": 1, "form": "a"}], {"a": "b\n1\tc"}, "TokenList:1: this is not one line"),
    ],
)
def test_empty_token_lists_are_rejected(tokens, metadata, message):
    with pytest.raises(FormatError if metadata else ValueError, match=message):
        from_token_list(conllu.TokenList(tokens, conllu.Metadata(metadata)))
    with pytest.raises(ValueError, match="no format 'xml'"):
        from_token_list(conllu.TokenList([{"id": 1, "form": "a"}]), "xml")


def test_a_broken_sentence_is_rejected():
    (sentence,) = parse("broken\n", strict=False)
    with pytest.raises(FormatError, match="1 column instead of 10"):
        to_token_list(sentence)


def test_columns_of_conllu_plus_have_their_names():
    cells = ["1", "a", "_", "X", "_", "_", "0", "root", "_", "_", "B-LOC", "1:VID"]
    names = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC NER PARSEME:MWE"
    row = "\t".join(cells) + "\n\n"
    text = f"# global.columns = {names}\n{row}"
    first, second = parse(text + row, "conllup")
    token = to_token_list(first)[0]
    assert list(token.items())[10:] == [("ner", "B-LOC"), ("parseme:mwe", "1:VID")]
    assert [*to_token_list(second)[0]][10:] == ["column11", "column12"]
    assert round_trip(first, "conllup") + round_trip(second, "conllup") == text + row
