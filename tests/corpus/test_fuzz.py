"""Valid files with random changes, and random files; hypothesis makes the same cases every time.

Readers raise only FormatError. Lenient readers of UTF-8 raise nothing, unless an archive is
damaged, and lose nothing, unless a file has only blank lines.
"""

import gzip
import io
import lzma

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from depkit.corpus.detection import begins_with_bracket
from depkit.corpus.formats import FORMATS
from depkit.corpus.io import read, read_stream, write
from depkit.corpus.reader import CR_ENDS, read_lines
from depkit.corpus.token_list import from_token_list, to_token_list
from depkit.files.errors import FormatError
from tests.corpus.mutated_files import (
    GOOD,
    cut_bytes,
    flip_byte,
    insert_bytes,
    mutated_files,
    reproducible,
)
from tests.corpus.rows import PREDICATES, lines

# Values of ID and HEAD, in rows that are nearly correct, among lines that are not.
CELLS = ["_", "0", "1", "2", "3", "01", "-1", "1-2", "2-3", "0.1", "1.1", "2.1", "٣", "9" * 9, ""]
FORMS = st.sampled_from(["a", "b c", "#", "", "\u2028", "\x85", "\x0c", "\r", "\x00", "\udce9"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r\r\n", "\r", ""])
WIDTHS = st.sampled_from([10, 10, 10, 10, 14, 14, 15, 9, 11, 1])


@st.composite
def rows(draw):
    id, head = draw(st.sampled_from(CELLS)), draw(st.sampled_from(CELLS))
    cells = [id, draw(FORMS), *["_"] * draw(WIDTHS)]
    cells[min(len(cells) - 1, draw(st.sampled_from([6, 6, 6, 8])))] = head
    return "\t".join(cells[: draw(WIDTHS)])


@st.composite
def tables(draw):
    """Draw a sentence that is valid except for random changes."""
    size, width = draw(st.integers(1, 4)), draw(st.sampled_from([10, 14]))
    column = {10: 6, 14: 8}[width]
    table = []
    for number in range(1, size + 1):
        cells = [str(number), draw(FORMS.filter(bool)), *["_"] * (width - 2)]
        cells[column] = draw(st.sampled_from(["_", "0", "1", str(size)]))
        table.append("\t".join(cells))
    for line in draw(st.lists(rows(), max_size=1)):
        table.insert(draw(st.integers(0, size)), line)
    return "\n".join(table) + "\n"


COMMENTS = st.sampled_from(["# sent_id = s1", "#", "# a = b", "#\t\t", "\ufeff# c", "#caf\udce9"])
BLANKS = st.sampled_from(["", "", "", " ", "\t", "\x0c", "\ufeff"])
LINES = st.one_of(
    st.one_of(rows(), COMMENTS, BLANKS, st.text(max_size=8)).flatmap(
        lambda line: ENDS.map(lambda end: line + end)
    ),
    tables(),
    st.just("\n"),
)
TEXTS = st.lists(LINES, max_size=12).map("".join)
OPTIONAL_FORMATS = st.sampled_from([None, *FORMATS.values()])


def check(data, format, encoding="utf-8"):
    """Read bytes with strict and lenient readers; return the sentences of the lenient reader."""
    try:
        lenient = list(read_stream(io.BytesIO(data), format, encoding, "f", strict=False))
    except FormatError as error:
        # Damage can resemble a format that depkit refuses by its name.
        assume("which depkit does not read" not in str(error))
        raise
    for sentence in lenient:
        assert len(sentence) == len(sentence.head) == len(sentence.column("deprel"))
        assert repr(sentence) and sentence.location()[0] == "f"
    if format is None and begins_with_bracket(data.decode(encoding, "surrogateescape")):
        return lenient  # only the strict reader recognises bracketed trees
    problems = [str(sentence.problem) for sentence in lenient if sentence.problem]
    good = []
    try:
        good.extend(read_stream(io.BytesIO(data), format, encoding, "f"))
    except FormatError as error:
        assert str(error) == problems[0]
        assert 1 <= error.line <= data.count(b"\n") + 1
        assert len(str(error).encode()) < 1000 or error.sent_id
        assert "\n" not in str(error)
    else:
        assert not problems
    assert list(map(str, good)) == list(map(str, lenient))[: len(good)]
    return lenient


def assert_lossless(data, sentences):
    """Assert that no byte is lost, unless the data consist of blank lines."""
    text = data.decode(errors="surrogateescape")
    assert "".join(map(str, sentences)) == text or not (sentences or text.strip("\ufeff").strip())


@reproducible
@given(mutated_files(), OPTIONAL_FORMATS)
def test_mutated_files_lose_no_byte(data, format):
    assert_lossless(data, check(data, format))


@reproducible
@given(st.text(max_size=200) | st.text("12#\t\n\r_.-=é\ufeff\x0c ", max_size=100), OPTIONAL_FORMATS)
def test_random_text_loses_no_byte(text, format):
    data = text.encode(errors="surrogatepass")
    assert_lossless(data, check(data, format))


@reproducible
@given(TEXTS, OPTIONAL_FORMATS)
@example("\ufeff\n# c\n", None)
@example("\ufeff\ufeff1\ta\n", None)
@example("\n\ufeff", None)
@example("1\ta\n\n\ufeff", None)
@example("\r", None)
@example("# \udcff\n\t", None)
def test_rows_that_are_nearly_correct_lose_no_byte(text, format):
    data = text.encode(errors="surrogateescape")
    assert_lossless(data, check(data, format))


@settings(reproducible, max_examples=120)
@given(st.lists(tables(), min_size=1, max_size=3).map("\n".join), OPTIONAL_FORMATS)
def test_valid_sentences_can_be_changed_and_read_again(text, format):
    for sentence in read_lines(lines(text), format, strict=False):
        if sentence.problem:
            continue
        size = len(sentence)
        changed = sentence.with_tree([(i + 1) % (size + 1) for i in range(size)], ["x y"] * size)
        target = io.StringIO(newline="")
        write([changed, changed], target)
        for again in read_lines(lines(target.getvalue()), sentence.format):
            assert (again.form, again.head) == (sentence.form, changed.head)
            assert again.deprel == ["x y"] * size
        back = from_token_list(to_token_list(sentence), sentence.format.name)
        assert (back.form, back.head, back.feats) == (sentence.form, sentence.head, sentence.feats)


@reproducible
@given(st.binary(max_size=100), OPTIONAL_FORMATS)
def test_random_bytes_lose_no_byte(data, format):
    assert_lossless(data, check(data, format))


@reproducible
@given(
    mutated_files(),
    st.sampled_from(["utf-16", "utf-8-sig", "latin-1", "cp1252", "euc_jp", "utf-7"]),
)
def test_other_encodings_raise_only_format_errors(data, encoding):
    """A byte that cannot be decoded is a FormatError even at the end of the stream."""
    for strict in (True, False):
        try:
            list(read_stream(io.BytesIO(data), None, encoding, "f", strict=strict))
        except FormatError as error:
            assert str(error).startswith("f:")


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_damaged_archives_raise_only_format_errors(tmp_path, suffix, compress):
    compressed = compress(GOOD[0] * 20)
    path = tmp_path / f"f.conllu.{suffix}"

    @settings(reproducible, max_examples=150)
    @given(st.data())
    def check_damaged(data):
        mutation = data.draw(st.sampled_from([flip_byte, insert_bytes, cut_bytes]))
        path.write_bytes(mutation(data.draw, compressed))
        for strict in (True, False):
            try:
                list(read(path, strict=strict))
            except FormatError as error:
                assert str(error).startswith(f"{path}: the archive is damaged") or error.line

    check_damaged()


def test_long_lines_and_many_columns_are_read_fast():
    """The files have a row of 50,000 columns, or 50,000 rows without an id."""
    for data in (b"1" + b"\t" * 50_000, b"x\n" * 50_000, b"#" * 50_000, b"\r" * 50_000):
        assert len(check(data, None)) <= 1


def test_lines_that_end_only_in_carriage_returns_are_not_a_row():
    """In CoNLL-09, where any number of columns may follow, they could be one wide row."""
    data = PREDICATES.replace("\n", "\r").encode()
    for format in (None, FORMATS["conll09"]):
        (sentence,) = check(data, format)
        assert str(sentence.problem) == f"f:1: {CR_ENDS}"
