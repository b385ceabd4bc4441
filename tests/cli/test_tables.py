"""Tables fit the width of a terminal and mark the best system there; elsewhere they are plain."""

import io
import re
import sys

import pytest

from depkit.cli.analysis_tables import list_table
from depkit.cli.tables import Table, best_cells, best_systems, render_facts, render_table
from depkit.files.terminal import cell_width
from depkit.score.table import text_table
from tests.drawing.terminal import Terminal

COLUMNS = ["metric", "system", "score", "95% from", "A's errors right in B"]
ROWS = [
    ["UAS", "baseline", "93.69", "93.00", "1.00"],
    ["UAS", "another-name-that-is-long", "95.13", "94.40", "-"],
    ["LAS", "baseline", "91.34", "90.46", "2.00"],
    ["LAS", "another-name-that-is-long", "9.16", "9.00", "3.00"],
]
BEST = best_systems(COLUMNS, ROWS, {"score"})
TABLE = Table("a title", COLUMNS, ROWS, "a note", BEST)


def use_terminal(monkeypatch, width=100):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("columns", "rows", "scores", "best"),
    [
        (COLUMNS, ROWS, {"score"}, {(1, 2), (2, 2)}),
        (["system", "UAS"], [["a", "9.50"], ["b", "10.00"], ["c", "10.00"]], ["UAS"],
         {(1, 1), (2, 1)}),
        (["system", "UAS"], [["a", "9.50"], ["b", "9.50"]], ["UAS"], set()),
        (["system", "UAS"], [["a", "9.50"], ["b", "-"]], ["UAS"], set()),
        (["system", "UAS"], [["a", "9.50"]], ["UAS"], set()),
        (["metric", "score"], [["UAS", "9.50"], ["LAS", "8.50"]], ["score"], set()),
    ],
)  # fmt: skip
def test_the_best_of_several_systems_have_the_highest_score(columns, rows, scores, best):
    assert best_systems(columns, rows, scores) == best


def test_the_best_cell_can_be_the_lowest():
    assert best_cells([["1.5", "0.5"]], [[(0, 0), (0, 1)]], min) == {(0, 1)}


def test_without_a_terminal_tables_are_plain(monkeypatch):
    assert render_table(TABLE) == text_table(COLUMNS, ROWS, "a note", "a title")
    facts = [("a", "b"), ("label", "text")]
    assert render_facts(facts) == "a      b\nlabel  text"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "\x1b" not in render_table(TABLE) + render_facts(facts)


def test_markdown_and_latex_are_plain_on_a_terminal(monkeypatch):
    use_terminal(monkeypatch)
    assert render_table(TABLE) != text_table(COLUMNS, ROWS, "a note", "a title")
    assert "\x1b" not in render_table(TABLE, "markdown") + render_table(TABLE, "latex")


@pytest.mark.parametrize("no_color", [False, True])
def test_the_best_systems_are_bold_with_and_without_colours(no_color, monkeypatch):
    use_terminal(monkeypatch)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    drawn = render_table(TABLE)
    style = "1" if no_color else "1;32"
    assert re.findall(rf"\x1b\[{style}m(\d[^\x1b]*)\x1b", drawn) == ["95.13", "91.34"]


@pytest.mark.parametrize("width", [100, 60, 40, 30])
def test_numbers_are_not_cut_at_any_width(width, monkeypatch):
    use_terminal(monkeypatch, width)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", render_table(TABLE)).splitlines()
    assert max(map(len, lines)) <= width
    assert (lines[0].strip(), lines[-1]) == ("a title", "a note")
    cells = [cell for line in lines for cell in line.split()]
    numbers = [cell for row in ROWS for cell in row[2:] if cell != "-"]
    assert sorted(number for number in cells if number in numbers) == sorted(numbers)


def test_facts_are_wrapped_beside_their_labels(monkeypatch):
    use_terminal(monkeypatch, 40)
    monkeypatch.setenv("NO_COLOR", "1")
    text = re.sub(r"\x1b\[[0-9;]*m", "", render_facts([("label", "word " * 20), ("b", "c[/red]")]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 40 and len(lines) == 5
    assert [line[:7].strip() for line in lines] == ["label", "", "", "", "b"]


@pytest.mark.parametrize("width", [None, 100])
def test_texts_of_sentences_fit_into_the_width(width, monkeypatch):
    if width:
        use_terminal(monkeypatch, width)
    records = [
        {"errors": i, "place": f"gold.conllu:{i}", "system": "a", "text": text * 50}
        for i, text in enumerate(("漢字", "word "))
    ]
    table = list_table("title", ("errors", "place", "text"), records)
    # The width, less those of the other columns and of the spaces between columns
    assert [cell_width(row[2]) for row in table.rows] == [(width or 80) - 6 - 13 - 4] * 2
    assert all(row[2].endswith("…") for row in table.rows)
