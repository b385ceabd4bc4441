"""Broken sentences: the errors of a strict reader, and what a lenient reader returns."""

import copy
import pickle

import pytest

from depkit.corpus.formats import CONLL09, CONLLU, CONLLX, FORMATS
from depkit.corpus.io import read
from depkit.corpus.reader import read_lines
from depkit.files.errors import FormatError
from tests.corpus.rows import PREDICATES, RICH, lines, row, row09

# A correct sentence of three lines, which precedes each broken sentence.
GOOD = "# sent_id = good\n" + row(1, "a", 0) + "\n"


def read_error(text, format=CONLLU, prefix=GOOD):
    """Return the error of a strict reader; check that a lenient reader stores it as a `problem`."""
    text = prefix + text
    lenient = list(read_lines(lines(text), format, "f", strict=False))
    assert "".join(map(str, lenient)) == text
    problems = [sentence.problem for sentence in lenient if sentence.problem]
    with pytest.raises(FormatError) as caught:
        list(read_lines(lines(text), format, "f"))
    assert str(problems[0]) == str(caught.value)
    for sentence in lenient:
        assert len(sentence) == len(sentence.rows) == len(sentence.head) == len(sentence.deprel)
        assert all(-1 <= head <= len(sentence) for head in sentence.head)
        assert len(sentence.column("form")) == len(sentence.form)
        assert isinstance(repr(sentence), str) and sentence.location()[0] == "f"
    return caught.value


def with_heads(*column):
    """Return a sentence with these values of HEAD."""
    return "".join(row(i + 1, "a", head) for i, head in enumerate(column)) + "\n"


def with_ids(text):
    """Return a sentence with these values of ID, which are separated by spaces."""
    return "".join(row(id, "a") for id in text.split()) + "\n"


# (broken sentence, number of the wrong line in it, regular expression for a part of the message)
BROKEN = {
    "too few columns": (row(1) + "2\ta\t_\n\n", 2, "3 columns instead of 10 of conllu"),
    "too many columns": (row(1) + row(2)[:-1] + "\tx\n\n", 2, "11 columns instead of 10"),
    "nine columns in all rows": ("1\ta\t_\t_\t_\t_\t0\tx\t_\n\n", 1, "9 columns instead of 10"),
    "nine and eleven columns": (row(1)[:-3] + "\n" + row(2)[:-1] + "\t_\n\n", 1, "9 columns"),
    "spaces for tabs": ("1 a _ _ _ _ 0 root _ _\n\n", 1, "1 column instead.*separated by tabs"),
    "no id": (row("_") + "\n", 1, "the id is '_', but word, range or empty node 1 is"),
    "empty id": (row("") + "\n", 1, "id is ''"),
    "an id with a space": (row("1 ") + "\n", 1, "id is '1 '"),
    "an id with a zero": (row("01") + "\n", 1, "id is '01'"),
    "unicode digits": (row("١") + "\n", 1, "id is '١'"),
    "ids from zero": (with_ids("0 1"), 1, "id is '0', but .* 1 is expected"),
    "duplicate id": (with_ids("1 2 2 3"), 3, "id is '2', but .* 3 is expected"),
    "skipped id": (with_ids("1 3"), 2, "id is '3', but .* 2 is expected"),
    "overlapping ranges": (with_ids("1-2 1 2-3 2 3"), 3, "range 2-3 overlaps .* ends with 2;"),
    "nested ranges": (with_ids("1-3 1-2 1 2 3"), 2, "range 1-2 overlaps .* ends with 3;"),
    "range twice": (with_ids("1-2 1-2 1 2"), 2, "range 1-2 overlaps .* ends with 2;"),
    "range after its words": (with_ids("1 2 1-2"), 3, "range 1-2 is before word 3; move it"),
    "range too early": (with_ids("2-3 1 2 3"), 1, "range 2-3 is before word 1; move it"),
    "backward range": (with_ids("2-1 1 2"), 1, "the range 2-1 ends before it begins"),
    "dangling range": (with_ids("1 2-4 2 3"), 2, "range 2-4 reaches beyond the last word, 3"),
    "endless range": (with_ids("1-" + "9" * 5000 + " 1"), 1, "id is '1-999"),
    "empty node too late": (with_ids("1 2 1.1"), 3, "the empty node has ID 1.1 instead of 2.1;"),
    "empty node skipped": (with_ids("1 1.2"), 2, "the empty node has ID 1.2 instead of 1.1;"),
    "empty node zero": (with_ids("1.0 1"), 1, "id is '1.0'"),
    "endless empty node": (with_ids("1 1." + "9" * 5000), 2, "id is '1.999"),
    "only a range": (with_ids("1-1"), 1, "the sentence has no words, only ranges"),
    "only an empty node": (with_ids("0.1"), 1, "has no words"),
    "head is a letter": (with_heads(0, "x"), 2, "HEAD is 'x'"),
    "empty head": (with_heads(""), 1, "HEAD is ''"),
    "negative head": (with_heads(0, -1), 2, "HEAD is '-1', not a word's number .1 to 2., 0 or _"),
    "head too large": (with_heads(0, 1, 4), 3, "HEAD is '4', not a word's number .1 to 3."),
    "head with 5000 digits": (with_heads("9" * 5000), 1, "HEAD is '99999"),
    "head is a fraction": (with_heads("1.5"), 1, "HEAD is '1.5'"),
    "head with a space": (with_heads("1 "), 1, "HEAD is '1 '"),
    "head is an Arabic digit": (with_heads(0, "١"), 2, "HEAD is '١'"),
    "head is a superscript": (with_heads(0, "²"), 2, "HEAD is '²'"),
    "no form": (row(1) + row(2, "") + "\n", 2, "no FORM"),
    "only comments": ("# a\n# b\n\n" + GOOD, 1, "comments, but no words"),
    "comments at the end": ("# a", 1, "comments, but no words"),
    "a comment among the words": (row(1) + "# c\n" + row(2) + "\n", 2, "a comment after the first"),
    "a comment after the words": (row(1) + "# c\n\n", 2, "a comment after the first word"),
    "spaces for a blank line": (row(1) + "  \n" + row(1) + "\n", 2, "only white space"),
    "tabs for a blank line": (row(1) + "\n\t\t\n" + row(1) + "\n", 3, "only white space"),
    "spaces after a comment": ("# c\n \n" + row(1) + "\n", 2, "only white space"),
    "spaces at the end": (row(1) + "\n ", 3, "only white space"),
    "a form feed on a line": (row(1) + "\x0c\n", 2, "only white space"),
    "a carriage return on a line": (row(1) + "\r\r\n" + row(1), 2, "only white space"),
    "CR at line ends": (
        row(1, end="\r") + row(2, end="\r") + "\r",
        1,
        "the lines end with CR inst",
    ),
    "a CR in a cell": (row(1).replace("_", "a\r2\tb", 1), 1, "column"),
    "a wrong ID after a range": (row("1-3") + row(1) + row(2) + row("x"), 4, "id is 'x'"),
    "CR after comments": ("# sent_id = a\r" + row(1, end="\r") + "\r", 1, r"^f:\d: the lines end"),
    "binary garbage": ("\x7fELF\x02\x01\x01\x00\x00\x00\n\x00\x01\n\n", 1, "1 column instead"),
    "a word before garbage": (row(1) + "\x00\n", 2, "1 column instead"),
    "a byte order mark in the middle": ("\ufeff" + row(1) + "\n", 1, "id is '.ufeff1'"),
    "a byte order mark before a comment": ("\ufeff# c\n" + row(1) + "\n", 1, "1 column"),
    "a long line": ("x" * 1_000_000 + "\n\n", 1, "1 column"),
    "a long id": (row("y" * 1_000_000) + "\n", 1, "id is 'yyy"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_sentences_are_reported_with_their_line(name):
    text, line, message = BROKEN[name]
    error = read_error(text)
    assert (error.file, error.line, error.sent_id) == ("f", 3 + line, "")
    with pytest.raises(FormatError, match=message):
        raise error
    assert len(str(error)) < 300


def test_the_message_names_file_line_and_sentence():
    error = read_error("# sent_id = mill 7\n# text = a\n" + with_heads(0, 5))
    assert str(error).startswith("f:7: mill 7: HEAD is '5', not a word's number")
    assert str(FormatError("f", 3, "a\rb", "gone")) == r"f:3: 'a\rb': gone"
    assert str(FormatError("f", 0, "", "gone")) == "f: gone"
    assert str(FormatError("f", 3, "", "gone")) == "f:3: gone"


def test_errors_can_be_pickled_and_copied():
    error = FormatError("f", 3, "s", "gone")
    for duplicate in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(duplicate), duplicate.line, duplicate.sent_id) == (str(error), 3, "s")


def test_lines_are_counted_with_a_byte_order_mark_and_carriage_returns():
    text = ("\ufeff" + GOOD + "# c\n" + with_heads(0, 9)).replace("\n", "\r\n")
    assert read_error(text, prefix="").line == 6
    assert read_error("\ufeff" + with_heads(0, 9), prefix="").line == 2
    assert read_error("\n\n\n" + with_heads(0, 9), prefix="").line == 5


def test_only_conllu_has_ranges_and_empty_nodes():
    for format in (CONLLX, FORMATS["conllx"]):
        error = read_error(with_ids("1-2 1 2"), format)
        assert "the id is '1-2', but word 1 is expected" in str(error)
        error = read_error(with_ids("1 1.1"), format)
        assert "the id is '1.1', but word 2 is expected" in str(error)


def test_rows_of_conll09_must_be_equally_wide():
    message = "every row has 14 columns and one more for each predicate"
    for text, line in (
        (PREDICATES.replace("\tA0\t_\n", "\tA0\t_\t_\n"), 2),
        (PREDICATES.replace("bark.01\t_\t_\n", "bark.01\t_\n"), 4),
        (row09(1, "a", 0, "b", "_"), 1),
    ):
        error = read_error(PREDICATES + text, CONLL09, prefix="")
        assert error.line == PREDICATES.count("\n") + line and message in str(error)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "# text = caf\udce9\n" + with_heads(0),
            1,
            "byte 0xE9 in column 1, character 13 of the line",
        ),
        (row(1) + row(2, "ma\udcf1ana") + "\n", 2, "byte 0xF1 in column 2, character 5"),
        (row(1) + "\udcff\udcfe\n", 2, "byte 0xFF in column 1, character 1"),
    ],
)
def test_errors_about_undecodable_bytes_suggest_an_encoding(text, line, message):
    error = read_error("# sent_id = s\n" + text)
    assert error.line == 4 + line and message in str(error)
    assert str(error).endswith("name the file's encoding, for example latin-1, with `encoding`")


def test_a_lone_surrogate_is_not_reported_as_a_byte():
    error = read_error(row(1, "\ud83e") + "\n")
    assert "U+D83E in column 2, character 3 of the line, is a lone surrogate" in str(error)


@pytest.mark.parametrize(
    "source",
    [
        (row(1) + row(2)).splitlines(),
        RICH.splitlines(),
        RICH.split("\n"),
        [row(1) + row(2), "\n"],
        [RICH],
        ["# c\n" + row(1), row(2), "\n"],
        row(1, "a\x85b").splitlines(keepends=True) + ["\n"],
    ],
)
def test_a_source_of_incomplete_lines_is_rejected(source):
    with pytest.raises(FormatError, match="not one line ending in"):
        list(read(source, "conllu"))
    assert "".join(map(str, read(source, "conllu", strict=False))) == "".join(source)


def test_a_lenient_reader_returns_all_readable_cells():
    text = "# sent_id = s\n" + row(1, "a", 0, "root") + "2\tb\n" + "# c\n" + row(3, "c", 9, "x")
    first, broken, last = read((GOOD + text + "\n" + GOOD).splitlines(True), strict=False)
    assert first.problem is None and last.problem is None
    assert (broken.form, broken.head) == (["a", "b", "c"], [0, -1, -1])
    assert broken.deprel == ["root", "_", "x"] and broken.upos == ["X", "_", "X"]
    assert broken.column("misc") == ["_", "_", "_"] and broken.location(2)[1] == 8
    assert "2 columns instead of 10" in str(broken.problem) and broken.problem.line == 6
    (ends_in_spaces,) = read([row(1, "a", 0), " \n"], strict=False)
    assert ends_in_spaces.form == ["a"] and ends_in_spaces.problem is not None
    (has_range,) = read(with_ids("1-2 1 2 2").splitlines(True), "conllu", strict=False)
    assert len(has_range) == 3


def test_a_lenient_reader_sniffs_until_it_recognises_the_format():
    garbage, sentence = read(["what?\n", "\n", *PREDICATES.splitlines(True)], strict=False)
    assert "neither CoNLL-U, CoNLL-X nor CoNLL-09" in str(garbage.problem)
    assert sentence.format == CONLL09 and sentence.problem is None
