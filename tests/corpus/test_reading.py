"""Reading gives the columns of the words and preserves every byte."""

import io
import random

import pytest

from depkit.corpus.formats import CONLL09, CONLLU, CONLLX, FORMATS
from depkit.corpus.io import read, write
from depkit.corpus.reader import read_lines
from tests.corpus.rows import PREDICATES, RICH, lines, row, row09

ATTRIBUTES = ("form", "lemma", "upos", "xpos", "feats", "deprel")


def sentences(text, format=CONLLU, **options):
    return list(read_lines(lines(text), format, "made.conllu", **options))


def test_columns_contain_only_words():
    first, second = sentences(RICH)
    rows = [line.split("\t") for line in RICH.partition("\n\n")[0].split("\n")]
    words = [cells for cells in rows if cells[0].isdigit()]
    for name, values in zip(CONLLU.columns, zip(*words, strict=True), strict=True):
        assert first.column(name) == list(values)
        if name in ATTRIBUTES:
            assert getattr(first, name) == list(values)
    assert first.head == [0, 1, 5, 5, 1, 1]
    assert len(first) == 6 and first.problem is None
    assert second.form == ["pan y", "20 000"]  # empty nodes, even before word 1, are not words
    assert second.head == [0, 1]


def test_comments_have_keys_and_locations_have_lines():
    first, second = sentences(RICH)
    assert (first.sent_id, first.text) == ("mill-1", "Vámonos al molino.")
    assert first.comment("note") == "first"
    assert first.comment("newdoc") == first.comment("speaker") == second.text == ""
    assert first.location() == ("made.conllu", 7, "mill-1")
    assert first.location(2) == ("made.conllu", 10, "mill-1")
    assert second.location(1) == ("made.conllu", 20, "mill-2")
    assert (first.line, second.line) == (1, 15)
    assert "mill-2: pan y" in repr(second)


ONE, TWO = row(1, "a", 0, "root"), row(2, "b", 1, "dep")
TEXTS = {
    "one word": ONE + "\n",
    "two sentences": ONE + "\n" + ONE + TWO + "\n",
    "rich": RICH,
    "repeated comments": "# a = 1\n# a = 1\n#\n# a = 2\n" + ONE + "\n",
    "several blank lines": ONE + "\n\n\n" + ONE + "\n\n",
    "leading blank lines": "\n\n" + ONE + "\n" + ONE + "\n",
    "byte order mark": "\ufeff# c\n" + ONE + "\n" + ONE + "\n",
    "byte order mark, blank lines": "\ufeff\n\n" + ONE + "\n",
    "carriage returns": RICH.replace("\n", "\r\n"),
    "carriage returns, leading": "\r\n" + ONE.replace("\n", "\r\n") + "\r\n",
    "mixed line ends": ONE + TWO.replace("\n", "\r\n") + "\n\r\n" + ONE + "\r\n",
    "white space in fields": row(1, " a  b ", 0, " root ") + "\n",
    "a lone carriage return in a field": row(1, "a\rb", 0, "root") + "\n",
    "a second carriage return at the end": row(1, "a", 0, "root", end="\r\r\n") + "\n",
    "separators of other standards": row(1, "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", 0) + "\n",
    "a null character": row(1, "a\x00b", 0) + "\n",
    "an emoji, a combining mark": row(1, "🦊e\u0301", 0) + "\n",
    "a long line": row(1, "x" * 1_000_000, 0) + "\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_sentences_are_written_byte_for_byte_as_read(name):
    text = TEXTS[name]
    read_sentences = sentences(text)
    assert "".join(map(str, read_sentences)) == text
    copy = io.StringIO(newline="")
    assert write(read_sentences, copy) == len(read_sentences)
    assert copy.getvalue() == text
    assert all(sentence.form[0] for sentence in read_sentences)


def test_line_separators_of_other_standards_stay_inside_their_form():
    (sentence,) = sentences(TEXTS["separators of other standards"])
    assert sentence.form == ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"]


@pytest.mark.parametrize("tail", ["", "\n", "\r\n"])
def test_missing_line_ends_are_added_before_another_sentence(tail):
    newline = tail or "\n"
    text = row(1, "a", 0, end=newline) + row(2, "b", 1, end=tail)
    (sentence,) = sentences(text)
    assert str(sentence) == text
    copy = io.StringIO(newline="")
    write([sentence, sentence], copy)
    complete = row(1, "a", 0, end=newline) + row(2, "b", 1, end=newline) + newline
    assert copy.getvalue() == complete * 2
    assert sentence.form == ["a", "b"]


def test_a_byte_order_mark_stays_at_the_beginning_only():
    (first,), (second,) = sentences("\ufeff" + ONE + "\n"), sentences("\ufeff" + ONE)
    copy = io.StringIO(newline="")
    write([first, second], copy)
    assert copy.getvalue() == "\ufeff" + (ONE + "\n") * 2
    assert first.location() == ("made.conllu", 1, "")


@pytest.mark.parametrize("text", ["", "\n", "\n\r\n\n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_file_without_a_word_has_no_sentences(text, strict):
    assert sentences(text, None, strict=strict) == []


@pytest.mark.parametrize("heads", [[2, 1], [1, 2], [0, 0], ["_", "_"], [0, "_"]])
def test_cycles_and_several_roots_are_not_errors(heads):
    (sentence,) = sentences("".join(row(i + 1, "a", head) for i, head in enumerate(heads)))
    assert sentence.head == [-1 if head == "_" else head for head in heads]


@pytest.mark.parametrize(
    "ids",
    ["1-1 1", "1-2 1 2 3-4 3 4", "1 2-3 2 2.1 3", "0.1 0.2 1-2 1 1.1 2 2.1", "1-3 1 2 3", "1 1.1"],
)
def test_ranges_and_empty_nodes_at_valid_positions_are_read(ids):
    text = "".join(row(id, id) for id in ids.split())
    (sentence,) = sentences(text + "\n")
    assert sentence.form == [id for id in ids.split() if id.isdigit()]
    assert sentence.column("id") == sentence.form


def test_predicates_of_conll09_are_read():
    (sentence,) = sentences(PREDICATES, CONLL09)
    assert (sentence.head, sentence.deprel) == ([2, 0, 2, 3], ["SBJ", "ROOT", "OBJ", "OPRD"])
    assert sentence.column("pred") == ["_", "see.01", "_", "bark.01"]
    assert sentence.upos == ["_"] * 4 and str(sentence) == PREDICATES
    plain, more = sentences(row09(1, "a", 0, "b") + "\n" + PREDICATES, CONLL09)
    assert len(plain) == 1 and len(more) == 4  # Sentences may have different numbers of columns.


def test_conllx_names_its_tags_as_conllu_does():
    text = "1\tKatuak\tkatu\tIZE\tARR\tABS|MG\t2\tncsubj\t_\t_\n"
    text += "2\tda\tizan\tADT\tADT\t_\t0\tROOT\t_\t_\n\n"
    (sentence,) = sentences(text, CONLLX)
    assert (sentence.upos, sentence.xpos) == (["IZE", "ADT"], ["ARR", "ADT"])
    assert sentence.column("phead") == ["_", "_"]
    with pytest.raises(KeyError, match="conllx has no column 'deps'"):
        sentence.column("deps")


def test_a_sentence_of_ten_thousand_words_is_read():
    text = "".join(row(i, "w", i - 1) for i in range(1, 10_001)) + "\n"
    (sentence,) = sentences(text)
    assert len(sentence) == 10_000 and sentence.head == list(range(10_000))
    with_range = "1-2\t" + text.partition("\t")[2].partition("\n")[0] + "\n" + text
    (sentence,) = sentences(with_range)
    assert len(sentence) == 10_000 and str(sentence) == with_range


def test_reading_is_lazy_and_one_sentence_ahead_at_most():
    consumed = 0

    def source():
        nonlocal consumed
        for line in (ONE, "\n", ONE, "\n", ONE, "\n"):
            consumed += 1
            yield line

    stream = read(source(), "conllu")
    assert consumed == 0
    next(stream)
    assert consumed == 3  # the line after the blank line ends the sentence


def test_any_iterable_of_lines_is_a_source():
    for source in (RICH.splitlines(keepends=True), iter([ONE, "\n"]), lines(RICH), {ONE: 1}):
        assert list(read(source))


@pytest.mark.parametrize("format", FORMATS)
def test_random_rows_of_every_format_are_read(format):
    width = len(FORMATS[format].columns)
    generator = random.Random(format)
    for _ in range(50):
        size = generator.randint(1, 12)
        table = [["_"] * width for _ in range(size)]
        for i, cells in enumerate(table):
            cells[0], cells[1] = str(i + 1), generator.choice(["a", "b c", "#", "-", "0", "_"])
            cells[FORMATS[format].index("head")] = str(generator.randint(0, size))
        text = "".join("\t".join(cells) + "\n" for cells in table) + "\n"
        (sentence,) = sentences(text, FORMATS[format])
        for name in FORMATS[format].columns:
            expected = [cells[FORMATS[format].index(name)] for cells in table]
            assert sentence.column(name) == expected
            if name in ATTRIBUTES:
                assert getattr(sentence, name) == expected


def test_a_sentence_is_complete_at_a_pause_after_its_blank_line():
    row = "1\ta" + "\t_" * 8 + "\n"
    given = ["", "\ufeff\n", "", row, "", "\n", "", "\n", "# c\n", row, "\n", "\n", "", "", row]
    read = []

    def lines():
        for line in given:
            read.append(line)
            yield line

    sentences = [(str(sentence), sentence.line, len(read)) for sentence in read_lines(
        lines(), has_pauses=True)]  # fmt: skip
    assert sentences == [
        (f"\ufeff\n{row}\n", 1, 7), (f"\n# c\n{row}\n\n", 4, 13), (row, 9, len(given))
    ]  # fmt: skip
    assert "".join(text for text, _, _ in sentences) == "".join(given)
