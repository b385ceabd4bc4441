import csv
import io
from xml.etree import ElementTree

import pytest

from depkit.score.table import csv_table, html_table, latex_table, markdown_table, text_table

HEADER = ["system", "UAS"]
ROWS = [["a_b|c&.conllu", "9.50"], ["d", "100.00"]]


def test_text_tables_are_aligned() -> None:
    assert text_table(HEADER, ROWS, "note") == (
        "system            UAS\na_b|c&.conllu    9.50\nd              100.00\nnote"
    )


def test_markdown_tables_escape_bars() -> None:
    assert markdown_table(HEADER, ROWS, "no|te").splitlines() == [
        "| system | UAS |",
        "| :-- | --: |",
        "| a_b\\|c&.conllu | 9.50 |",
        "| d | 100.00 |",
        "",
        "    no|te",
    ]


def test_wide_letters_take_two_columns_of_a_text_table() -> None:
    lines = text_table(["bin", "n"], [["漢字", "1"], ["abc", "10"], ["e\u0301", "2"]]).splitlines()
    assert lines == ["bin    n", "漢字   1", "abc   10", "e\u0301      2"]


def test_latex_tables_escape_special_characters() -> None:
    lines = latex_table(HEADER, ROWS, "note").splitlines()
    assert lines[0] == "% note"
    assert lines[1] == r"\begin{tabular}{lr}"
    assert r"a\_b$|$c\&.conllu & 9.50 \\" in lines
    assert r"x\textasciitilde{}\textbackslash{} & 1 \\" in latex_table(HEADER, [["x~\\", "1"]], "")
    rows = latex_table(HEADER, [["[x]", "1"], ["*", "2"]]).splitlines()
    assert rows[-4:-2] == [r"{[}x] & 1 \\", r"{*} & 2 \\"]


def test_html_tables_are_well_formed() -> None:
    page = ElementTree.fromstring(f"<div>{html_table(HEADER, ROWS, 'a<b')}</div>")
    assert [[cell.text for cell in row] for row in page.iter("tr")] == [HEADER, *ROWS]
    assert [cell.get("style", "")[12:] for cell in page.iter("td")] == ["left", "right"] * 2
    assert page.findtext("p/small") == "a<b"


def test_csv_tables_are_quoted() -> None:
    table = csv_table(HEADER, [['a,"b', "1"]])
    assert list(csv.reader(io.StringIO(table))) == [HEADER, ['a,"b', "1"]]


def test_csv_tables_have_no_formulas() -> None:
    armed = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\r-A1", " =1", "-", "-LRB-", "－A1", "'=1"]
    harmless = ["", "-0.25", "+3", "-1e-05", "-inf", "a=1", "a\r=1", "3-6", "'a"]
    table = csv_table(["=system", "value"], [[cell, cell] for cell in armed + harmless])
    cells = [row[0] for row in csv.reader(io.StringIO(table, newline=""))]
    assert cells == ["'=system", *(f"'{cell}" for cell in armed), *harmless]


def test_markdown_cells_contain_no_html():
    table = markdown_table(["<b>", "x"], [["<script>&lt;", "1"]], title="<i>")
    assert "<" not in table and "&amp;lt;" in table


@pytest.mark.parametrize("cell", ["a;=1+1", "a\t@x", 'a;"=1', "a; +1", "a;'+1", ";\t=1"])
def test_a_formula_after_another_delimiter_is_disarmed(cell):
    assert cell[:2] + "'" + cell[2:].replace('"', '""') in csv_table(["x"], [[cell]])
