"""Checks of a sentence's rows: their columns, IDs, and the cells as such."""

import re
from collections.abc import Iterator

from depkit.treebank.findings import Problem, quoted
from depkit.treebank.table import EMPTY, RANGE, WORD, Table

SPACED = ("form", "lemma", "plemma", "misc")  # the columns that may have spaces inside

_SPACE = re.compile(r"[^\S\t\r\n]")
_OUTER_SPACE = re.compile(r"\s|.*\s\Z", re.DOTALL)
_DOUBLE_SPACE = re.compile(r"\s\s")


def row_problems(table: Table) -> Iterator[Problem]:
    """What is wrong with the rows; columns and IDs of whole sentences are known to be right."""
    if table.sentence.problem:
        yield from _columns(table)
        yield from _ids(table)
        for row, cells in enumerate(table.raw):
            if row not in table.ragged and not cells[1]:
                what = "no FORM; every word has one, if only _"
                yield Problem(table.places[row], "no-form", what)
    lines = table.sentence.lines
    rows = "".join([lines[place] for place in table.places])
    if any(end in rows for end in ("\t\t", "\t\n", "\t\r")) or rows.endswith("\t"):
        yield from _empty_cells(table)
    if " " in rows or not table.plain:
        yield from _spaces(table)
    if table.ranges or table.empties:
        yield from _without_analysis(table)
        yield from _odd_places(table)
    if table.format.repeats:
        yield from _predicates(table)


def _columns(table: Table) -> Iterator[Problem]:
    for row in sorted(table.ragged):
        size = len(table.raw[row])
        found = f"{size} column{'s' * (size > 1)} instead of {table.width} of {table.format.name}"
        if size == 1:
            advice = f"no tab in {quoted(table.raw[row][0])}; columns are separated by tabs"
        elif table.format.repeats:
            advice = "every row has 14 columns, and one more for each predicate of the sentence"
        else:
            advice = "look for a tab that is missing or one too many"
        yield Problem(table.places[row], "columns", f"{found}; {advice}")


def _ids(table: Table) -> Iterator[Problem]:
    """Words are numbered 1, 2, 3; a wrong number is said once, and counting goes on from it."""
    last = covered = empty = words = 0  # the last: word, word of a range, empty node here
    end = max(table.known)
    for row, cells in enumerate(table.cells):
        place, text = table.places[row], cells[0]
        if match := WORD.fullmatch(text):
            words += 1
            if int(text) not in (last + 1, words):  # neither by the row before nor by count
                advice = "is a row missing, or was one put in?"
                if text == "1":
                    advice = "is a blank line missing before it?"
                yield Problem(place, "id", f"ID {text} where {last + 1} should stand; {advice}")
                covered = 0
            last, empty = int(text), 0
        elif table.format.spans and (match := RANGE.fullmatch(text)):
            if what := _wrong_range(int(match[1]), int(match[2]), last, covered, end):
                yield Problem(place, "range", f"the range {text} {what}")
            covered = max(covered, int(match[2]))
        elif table.format.spans and (match := EMPTY.fullmatch(text)):
            if (int(match[1]), int(match[2])) != (last, empty + 1):
                what = f"the empty node {text} where {last}.{empty + 1} could stand"
                yield Problem(place, "empty-node", f"{what}; number it after the word before it")
            empty = int(match[2])
        else:
            last, empty, words = last + 1, 0, words + 1
            if row not in table.ragged:
                yield Problem(place, "id", f"ID is {quoted(text)}, not a word's number, {last}")


def _wrong_range(begin: int, stop: int, last: int, covered: int, end: int) -> str:
    """What is wrong with a range after word `last`, of a sentence that ends at word `end`."""
    if stop < begin:
        return "ends before it begins"
    if stop > end:
        return f"reaches beyond the last word, {end}"
    if begin != last + 1:
        return f"stands before word {last + 1}; put it before its own first word"
    if begin <= covered:
        return f"overlaps with the one that reaches to {covered}; a word is in one range at most"
    return ""


def _empty_cells(table: Table) -> Iterator[Problem]:
    for row, cells in enumerate(table.raw):
        for index, cell in enumerate(cells[2:], start=2):
            if not cell:
                what = f"{_name(table, index)} is empty; write _ for nothing"
                yield Problem(table.places[row], "empty-cell", what)


def _name(table: Table, index: int) -> str:
    """A column as messages call it."""
    columns = table.format.columns
    return columns[index].upper() if index < len(columns) else f"column {index + 1}"


def _spaces(table: Table) -> Iterator[Problem]:
    ranges = set(table.ranges)
    allowed = {i for i, name in enumerate(table.format.columns) if name in SPACED}
    for row, cells in enumerate(table.raw):
        if row in table.ragged or not _SPACE.search(table.sentence.lines[table.places[row]]):
            continue
        for index, cell in enumerate(cells):
            inside = index in allowed and not (row in ranges and index == 1)
            if what := _wrong_space(cell, inside):
                yield Problem(table.places[row], "white-space", f"{_name(table, index)} {what}")


def _wrong_space(cell: str, inside: bool) -> str:
    if not _SPACE.search(cell):
        return ""
    if _OUTER_SPACE.match(cell):
        return f"{quoted(cell)} begins or ends with white space; remove it"
    if not inside:
        return f"{quoted(cell)} has white space inside; only words and MISC may"
    return f"{quoted(cell)} has white space twice" if _DOUBLE_SPACE.search(cell) else ""


def _without_analysis(table: Table) -> Iterator[Problem]:
    """Ranges have a form only, empty nodes no place in the basic tree."""
    columns = table.format.columns
    for row in table.ranges:
        filled = [
            name.upper()
            for name, cell in zip(columns[2:-1], table.cells[row][2:], strict=False)
            if cell not in ("_", "") and (name, cell) != ("feats", "Typo=Yes")
        ]
        if filled:
            what = f"a range with {', '.join(filled)}; give them to its words instead"
            yield Problem(table.places[row], "range-cells", what)
    head, deprel = table.format.index("head"), table.format.index("deprel")
    for row in table.empties:
        cells = table.cells[row]
        if not {cells[head], cells[deprel]} <= {"_", ""}:
            what = f"an empty node with HEAD {quoted(cells[head])}, DEPREL {quoted(cells[deprel])}"
            yield Problem(table.places[row], "empty-node-cells", f"{what}; it has DEPS only")


def _odd_places(table: Table) -> Iterator[Problem]:
    """Ranges and empty nodes whose numbers the readers take, but UD does not."""
    for row in table.ranges:
        text = table.cells[row][0]
        first, last = text.split("-")
        if int(first) == int(last):
            what = f"the range {text} is of one word; it has two or more, or is no range"
            yield Problem(table.places[row], "range-of-one", what)
    if not table.ranges:
        return
    ranges, empties = set(table.ranges), set(table.empties)
    for row in table.empties:
        before = row - 1
        while before in empties:
            before -= 1
        if before in ranges:
            text, other = table.cells[row][0], table.cells[before][0]
            what = f"the empty node {text} between the range {other} and its first word"
            yield Problem(table.places[row], "empty-node-place", f"{what}; put it before the range")


def _predicates(table: Table) -> Iterator[Problem]:
    predicates = table.column("fillpred").count("Y")
    arguments = table.width - len(table.format.columns)
    if predicates != arguments and not table.ragged:
        what = f"{arguments} APRED columns for {predicates} predicates (FILLPRED Y)"
        yield Problem(table.places[0], "predicates", f"{what}; each has one")
