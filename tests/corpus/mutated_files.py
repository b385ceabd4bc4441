"""Valid files with random changes; hypothesis makes the same cases every time."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.corpus.rows import PREDICATES, RICH, row

CONLLX = row(1, "ab", 2, "x") + row(2, "café", 0, "y") + "\n" + row(1, "c d", 0, "z") + "\n"
GOOD = [text.encode() for text in (RICH, CONLLX, PREDICATES, "\ufeff" + RICH + PREDICATES)]
STRINGS = [
    "\0", "\r", "\n", "\r\n", "\n\n", "\t", " ", "\x0b", "\x0c", "\x1a", "\x1b[31m", "\x85",
    "\u2028", "\ufeff", "\ufffe", "\U0010ffff", "#", "# ", "_", "-", "1-", "1.", "1.1", "1-2",
    "0", "-1", "01", "9" * 30, "9" * 5000, "1e9", "٣", "²", "a" * 70000,
]  # fmt: skip
BYTES = [*(text.encode() for text in STRINGS), b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc3", b"\x80"]
reproducible = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def flip_byte(draw, data):
    index = draw(st.integers(0, max(len(data) - 1, 0)))
    return data[:index] + bytes([draw(st.integers(0, 255))]) + data[index + 1 :]


def insert_bytes(draw, data):
    index = draw(st.integers(0, len(data)))
    return data[:index] + draw(st.sampled_from(BYTES)) + data[index:]


def cut_bytes(draw, data):
    start, size = draw(st.integers(0, len(data))), draw(st.integers(0, 60))
    return data[:start] + data[start + size :]


def move_line(draw, data):
    """Move or copy a line to another position."""
    lines = data.splitlines(keepends=True) or [b""]
    line = draw(st.sampled_from(lines))
    if draw(st.booleans()):
        lines.remove(line)
    lines.insert(draw(st.integers(0, len(lines))), line)
    return b"".join(lines)


def change_column(draw, data):
    """Remove, double or replace a cell, or remove its column from all rows."""
    lines = [line.split(b"\t") for line in data.split(b"\n")]
    row = draw(st.sampled_from(lines))
    index = draw(st.integers(0, len(row) - 1))
    change = draw(st.sampled_from(["remove", "double", "replace", "remove column"]))
    if change == "remove column":
        lines = [cells[:index] + cells[index + 1 :] for cells in lines]
    else:
        new = {"remove": [], "double": [row[index]] * 2, "replace": [draw(st.sampled_from(BYTES))]}
        row[index : index + 1] = new[change]
    return b"\n".join(b"\t".join(cells) for cells in lines)


def change_line_ends(draw, data):
    return data.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"\n\n", b"\n\r", b""])))


MUTATIONS = [flip_byte, insert_bytes, cut_bytes, move_line, change_column, change_line_ends]


@st.composite
def mutated_files(draw, good=GOOD):
    """Draw a valid file and apply one to four mutations."""
    data = draw(st.sampled_from(good))
    for mutation in draw(st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=4)):
        data = mutation(draw, data)
    return data
