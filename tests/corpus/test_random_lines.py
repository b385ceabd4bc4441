"""Random input gives sentences or FormatError, and never loses a byte."""

import io

from hypothesis import example, given, settings
from hypothesis import strategies as st

from depkit.corpus.errors import FormatError
from depkit.corpus.files import write
from depkit.corpus.formats import FORMATS
from depkit.corpus.reader import read_lines
from depkit.corpus.token_list import from_token_list, to_token_list

# Cells that matter to a reader, in rows that are nearly right, among lines that are not.
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
    """A sentence, valid but for what chance has changed."""
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
KNOWN = st.sampled_from([None, *FORMATS.values()])


def lines(text):
    return io.StringIO(text, newline="\n")


@settings(max_examples=250, deadline=None)
@given(TEXTS, KNOWN)
@example("\ufeff\n# c\n", None)
@example("\ufeff\ufeff1\ta\n", None)
@example("\n\ufeff", None)
@example("1\ta\n\n\ufeff", None)
@example("\r", None)
@example("# \udcff\n\t", None)
def test_nothing_but_format_errors_and_no_byte_lost(text, format):
    tolerated = list(read_lines(lines(text), format, strict=False))
    if tolerated:
        assert "".join(map(str, tolerated)) == text
    else:
        assert not text.removeprefix("\ufeff").strip()
    problems = [str(sentence.problem) for sentence in tolerated if sentence.problem]
    good = []
    try:
        good.extend(read_lines(lines(text), format))
    except FormatError as error:
        assert str(error) == problems[0]
        assert 1 <= error.line <= text.count("\n") + 1
    else:
        assert not problems
        assert list(map(str, good)) == list(map(str, tolerated))


@settings(max_examples=120, deadline=None)
@given(st.lists(tables(), min_size=1, max_size=3).map("\n".join), KNOWN)
def test_what_strict_reading_accepts_can_be_changed_and_read_again(text, format):
    for sentence in read_lines(lines(text), format, strict=False):
        if sentence.problem:
            continue
        size = len(sentence)
        changed = sentence.with_tree([(i + 1) % (size + 1) for i in range(size)], ["x y"] * size)
        target = io.StringIO(newline="")
        write([changed, changed], target)
        for again in read_lines(lines(target.getvalue()), sentence.format):
            assert (again.form, again.head, again.deprel) == (
                sentence.form,
                changed.head,
                ["x y"] * size,
            )
        back = from_token_list(to_token_list(sentence), sentence.format.name)
        assert (back.form, back.head, back.feats) == (sentence.form, sentence.head, sentence.feats)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode(errors="surrogateescape")))
def test_random_bytes_are_copied_whatever_they_are(data):
    def text():
        return io.TextIOWrapper(io.BytesIO(data), "utf-8", errors="surrogateescape", newline="\n")

    copy = "".join(map(str, read_lines(text(), strict=False)))
    assert copy.encode(errors="surrogateescape") == data or not copy
    try:
        list(read_lines(text()))
    except FormatError as error:
        str(error).encode()  # every message can be printed
