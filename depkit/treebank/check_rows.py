"""Checks of the rows of a sentence: number of columns, IDs, empty cells, white space."""

import re
from collections.abc import Iterator

from depkit.corpus.reader import describe_empty_node_fault, describe_range_fault
from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import EMPTY, RANGE, WORD, Table

SPACED = ("form", "lemma", "plemma", "misc")  # the columns whose cells may contain spaces

_SPACE = re.compile(r"[^\S\t\r\n]")
_OUTER_SPACE = re.compile(r"\s|.*\s\Z", re.DOTALL)
_DOUBLE_SPACE = re.compile(r"\s\s")


def check_rows(table: Table) -> Iterator[Problem]:
    """Check the rows; columns and IDs only if the sentence is broken."""
    if table.sentence.problem:
        yield from _check_columns(table)
        yield from _check_ids(table)
        for row, cells in enumerate(table.raw_cells):
            if row not in table.ragged and not cells[1]:
                message = "the word has no FORM; write _ if it is unknown"
                yield Problem(table.line_indices[row], "no-form", message)
    lines = table.sentence.lines
    rows = "".join([lines[index] for index in table.line_indices])
    if any(end in rows for end in ("\t\t", "\t\n", "\t\r")) or rows.endswith("\t"):
        yield from _check_empty_cells(table)
    if " " in rows or not table.is_plain:
        yield from _check_spaces(table)
    if table.ranges or table.empties:
        yield from _check_cells_outside_words(table)
        yield from _check_range_positions(table)
    if table.format.has_argument_columns:
        yield from _check_predicates(table)


def _check_columns(table: Table) -> Iterator[Problem]:
    for row in sorted(table.ragged):
        size = len(table.raw_cells[row])
        columns = f"{size} column{'s' * (size > 1)}"
        problem = f"the row has {columns} instead of the {table.width} of {table.format.name}"
        if size == 1:
            text = quote(table.raw_cells[row][0])
            advice = f"separate the columns by tabs; {text} has no tab"
        elif table.format.has_argument_columns:
            advice = "every row has 14 columns, and one more for each predicate of the sentence"
        else:
            advice = "look for a tab that is missing or superfluous"
        yield Problem(table.line_indices[row], "columns", f"{problem}; {advice}")


def _check_ids(table: Table) -> Iterator[Problem]:
    """Check that words are numbered 1, 2, 3; after a wrong ID, counting continues from it."""
    # The IDs of the latest word, of the last word of the latest range, and of the latest empty node
    # after the word; and the number of words so far.
    last = covered = empty = words = 0
    end = max(table.valid_heads)
    for row, cells in enumerate(table.cells):
        index, text = table.line_indices[row], cells[0]
        if WORD.fullmatch(text):
            words += 1
            # The ID is wrong if it fits neither the row before nor the number of words.
            if int(text) not in (last + 1, words):
                advice = "is a row missing, or was one inserted?"
                if text == "1":
                    advice = "is a blank line missing before it?"
                yield Problem(index, "id", f"ID is {text} instead of {last + 1}; {advice}")
                covered = 0
            last, empty = int(text), 0
        elif table.format.has_ranges and (match := RANGE.fullmatch(text)):
            if problem := describe_range_fault(
                int(match[1]), int(match[2]), previous=last, covered=covered, end=end
            ):
                yield Problem(index, "range", f"the range {text} {problem}")
            covered = max(covered, int(match[2]))
        elif table.format.has_ranges and (match := EMPTY.fullmatch(text)):
            if (int(match[1]), int(match[2])) != (last, empty + 1):
                message = describe_empty_node_fault(text, f"{last}.{empty + 1}")
                yield Problem(index, "empty-node", message)
            empty = int(match[2])
        else:
            last, empty, words = last + 1, 0, words + 1
            if row not in table.ragged:
                message = f"ID is {quote(text)}, but must be the word's number, {last}"
                yield Problem(index, "id", message)


def _check_empty_cells(table: Table) -> Iterator[Problem]:
    for row, cells in enumerate(table.raw_cells):
        for column, cell in enumerate(cells[2:], start=2):
            if not cell:
                message = f"{_column_name(table, column)} is empty; write _ if there is no value"
                yield Problem(table.line_indices[row], "empty-cell", message)


def _column_name(table: Table, column: int) -> str:
    names = table.format.columns
    return names[column].upper() if column < len(names) else f"column {column + 1}"


def _check_spaces(table: Table) -> Iterator[Problem]:
    ranges = set(table.ranges)
    spaced = {i for i, name in enumerate(table.format.columns) if name in SPACED}
    for row, cells in enumerate(table.raw_cells):
        index = table.line_indices[row]
        if row in table.ragged or not _SPACE.search(table.sentence.lines[index]):
            continue
        for column, cell in enumerate(cells):
            is_allowed = column in spaced and not (row in ranges and column == 1)
            if problem := _describe_space_fault(cell, is_allowed):
                yield Problem(index, "white-space", f"{_column_name(table, column)} {problem}")


def _describe_space_fault(cell: str, is_allowed: bool) -> str:
    """Describe what is wrong with white space in a cell; "" if it is allowed."""
    if not _SPACE.search(cell):
        return ""
    if _OUTER_SPACE.match(cell):
        return f"{quote(cell)} begins or ends with white space; remove it"
    if not is_allowed:
        return f"{quote(cell)} contains white space, which only words, lemmas and MISC may have"
    if _DOUBLE_SPACE.search(cell):
        return f"{quote(cell)} contains white space twice in a row; write one space"
    return ""


def _check_cells_outside_words(table: Table) -> Iterator[Problem]:
    """Check that ranges have only a form, and that empty nodes have no HEAD and DEPREL."""
    columns = table.format.columns
    for row in table.ranges:
        filled = [
            name.upper()
            for name, cell in zip(columns[2:-1], table.cells[row][2:], strict=False)
            if cell not in ("_", "") and (name, cell) != ("feats", "Typo=Yes")
        ]
        if filled:
            problem = f"the multiword range has values in {', '.join(filled)}"
            yield Problem(
                table.line_indices[row], "range-cells", f"{problem}; move them to its words"
            )
    head, deprel = table.format.index("head"), table.format.index("deprel")
    for row in table.empties:
        cells = table.cells[row]
        if not {cells[head], cells[deprel]} <= {"_", ""}:
            values = f"HEAD {quote(cells[head])} and DEPREL {quote(cells[deprel])}"
            message = f"the empty node has {values}; write _ there and its heads in DEPS"
            yield Problem(table.line_indices[row], "empty-node-cells", message)


def _check_range_positions(table: Table) -> Iterator[Problem]:
    """Find ranges of one word, and empty nodes between a range and its first word."""
    for row in table.ranges:
        text = table.cells[row][0]
        first, last = text.split("-")
        if int(first) == int(last):
            message = f"the range {text} has one word; remove it, or extend it to more words"
            yield Problem(table.line_indices[row], "range-of-one", message)
    if not table.ranges:
        return
    ranges, empties = set(table.ranges), set(table.empties)
    for row in table.empties:
        previous = row - 1
        while previous in empties:
            previous -= 1
        if previous in ranges:
            text, range_id = table.cells[row][0], table.cells[previous][0]
            problem = f"the empty node {text} is between the range {range_id} and its first word"
            yield Problem(
                table.line_indices[row], "empty-node-place", f"{problem}; move it before the range"
            )


def _check_predicates(table: Table) -> Iterator[Problem]:
    predicates = table.column("fillpred").count("Y")
    arguments = table.width - len(table.format.columns)
    if predicates != arguments and not table.ragged:
        problem = f"the sentence has {arguments} APRED column{'s' * (arguments != 1)}"
        problem += f" for {predicates} predicate{'s' * (predicates != 1)} (words with FILLPRED Y)"
        advice = "there must be one column for each predicate"
        yield Problem(table.line_indices[0], "predicates", f"{problem}; {advice}")
