import csv
import io

from depkit.score.table import csv_table, latex_table, markdown_table, text_table

HEADER = ["system", "UAS"]
ROWS = [["a_b|c&.conllu", "9.50"], ["d", "100.00"]]


def test_text_is_aligned() -> None:
    assert text_table(HEADER, ROWS, "note") == (
        "system            UAS\na_b|c&.conllu    9.50\nd              100.00\nnote"
    )


def test_markdown_escapes_bars() -> None:
    assert markdown_table(HEADER, ROWS, "no|te").splitlines() == [
        "| system | UAS |",
        "| :-- | --: |",
        "| a_b\\|c&.conllu | 9.50 |",
        "| d | 100.00 |",
        "",
        "    no|te",
    ]


def test_latex_escapes_specials() -> None:
    lines = latex_table(HEADER, ROWS, "note").splitlines()
    assert lines[0] == "% note"
    assert lines[1] == r"\begin{tabular}{lr}"
    assert r"a\_b$|$c\&.conllu & 9.50 \\" in lines
    assert r"x\textasciitilde{}\textbackslash{} & 1 \\" in latex_table(HEADER, [["x~\\", "1"]], "")


def test_csv_reads_back() -> None:
    table = csv_table(HEADER, [['a,"b', "1"]])
    assert list(csv.reader(io.StringIO(table))) == [HEADER, ['a,"b', "1"]]
