"""Checks of CoNLL-U comments: sent_id, newdoc and others, and text, compared with the words."""

import re
from collections.abc import Iterator

from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import Table

Token = tuple[int, str, bool]  # row, form, whether a space must follow

# Comments that may occur only once per sentence.
ONCE = ("sent_id", "text", "newdoc", "newpar", "parallel_id")

_PARALLEL_ID = re.compile("[a-z]+/[-0-9a-z]+(/(alt[1-9][0-9]*|(alt[1-9][0-9]*)?part[1-9][0-9]*))?")


def check_comments(table: Table, follows_directly: bool = False) -> Iterator[Problem]:
    """Check the comments of a CoNLL-U sentence.

    `follows_directly` means that the previous sentence ends in SpaceAfter=No.
    """
    first_row = table.line_indices[0]
    comments: dict[str, tuple[int, str]] = {}
    for index in range(table.start, first_row):
        key, value = parse_comment(table.sentence.lines[index])
        if key not in ONCE:
            continue
        if key in comments:
            message = f"the sentence has a second comment {key}; is a blank line missing before it?"
            yield Problem(index, "comment-again", message)
            continue
        comments[key] = index, value
        if follows_directly and key in ("newdoc", "newpar"):
            unit = {"newdoc": "document", "newpar": "paragraph"}[key]
            problem = f"a new {unit} begins here, but the sentence before it ends in SpaceAfter=No"
            yield Problem(index, "space-after", f"{problem}; remove SpaceAfter=No there")
            follows_directly = False
    yield from _check_sent_id(table, comments)
    if "parallel_id" in comments:
        index, value = comments["parallel_id"]
        if not _PARALLEL_ID.fullmatch(value):
            problem = (
                f"parallel_id {quote(value)} is not of the form corpus/sentence, as in pud/n-2;"
            )
            advice = "only a-z, in sentence also 0-9 and -, and then /alt1, /part2 or /alt1part2"
            yield Problem(index, "parallel-id", f"{problem} {advice}")
    if "text" not in comments:
        message = "the sentence has no comment # text = ...; add it, with the text of the sentence"
        yield Problem(first_row, "no-text", message)
    else:
        yield from _check_text(table, *comments["text"])


def parse_comment(line: str) -> tuple[str, str]:
    """Return the key and the value of a comment; white space at the end of the value remains."""
    key, _, value = line[1:].partition("=")
    name = key.strip()
    word = name.partition(" ")[0]  # `# newdoc`, `# newpar id = 1` and `# sent_id a-1` without =
    return word if word in ONCE and word != "text" else name, value.rstrip("\r\n").lstrip()


def _check_sent_id(table: Table, comments: dict[str, tuple[int, str]]) -> Iterator[Problem]:
    if "sent_id" not in comments:
        message = "the sentence has no comment # sent_id = ...; add it, for example with a number"
        yield Problem(table.line_indices[0], "no-sent-id", message)
        return
    index, value = comments["sent_id"]
    if not value.strip():
        yield Problem(index, "sent-id", "sent_id has no value; write # sent_id = NAME")
    elif value.split() != [value]:
        message = f"sent_id {quote(value)} contains white space; remove or replace it"
        yield Problem(index, "sent-id", message)
    elif "/" in value:
        message = f"sent_id {quote(value)} contains a slash, which UD reserves; replace it"
        yield Problem(index, "sent-id", message)


def ends_without_space(table: Table) -> bool:
    """Return whether the last token of a sentence has SpaceAfter=No."""
    if table.sentence.problem or not table.words:
        return False
    last = table.words[-1]
    last = next((row for row, words in table.range_words.items() if last in words), last)
    return "SpaceAfter=No" in table.cells[last][table.format.index("misc")].split("|")


def _check_text(table: Table, index: int, text: str) -> Iterator[Problem]:
    if text != text.rstrip():
        yield Problem(index, "text-space", "# text ends with white space; remove it")
        text = text.rstrip()
    if not table.sentence.problem and text != _join_tokens(tokens := _surface_tokens(table)):
        yield from _find_mismatches(table, tokens, index, text)


def _surface_tokens(table: Table) -> list[Token]:
    """Return a token for each range and for each word outside all ranges."""
    form, misc = table.column("form"), table.column("misc")
    tokens = [
        (row, form[row], cell == "_" or "SpaceAfter=No" not in cell.split("|"))
        for row, cell in enumerate(misc)
    ]
    if not table.ranges and not table.empties:
        return tokens
    inside = (row for words in table.range_words.values() for row in words)
    excluded = {*table.empties, *inside}
    return [token for token in tokens if token[0] not in excluded]


def _join_tokens(tokens: list[Token]) -> str:
    forms = [form + " " if needs_space else form for _, form, needs_space in tokens]
    return "".join(forms).rstrip(" ")


def _find_mismatches(table: Table, tokens: list[Token], index: int, text: str) -> Iterator[Problem]:
    """Compare the text with the tokens: report every wrong space, and the first wrong token."""
    position, code = 0, "text-mismatch"
    unspaced = None  # the row of the previous token if it lacks the space that should follow it
    for row, form, needs_space in tokens:
        if unspaced is not None:
            message = "no space follows this token in # text; add SpaceAfter=No, or correct # text"
            yield Problem(table.line_indices[unspaced], code, message)
        if not text.startswith(form, position):
            rest = text[position : position + 30]
            problem = f"continues with {quote(rest)}, not with" if rest else "ends before"
            message = f"# text {problem} {quote(form)}; correct # text or the words"
            yield Problem(table.line_indices[row], code, message)
            return
        position += len(form)
        rest = text[position:].lstrip()
        has_space = len(rest) < len(text) - position  # any white space counts as one space
        if has_space and not needs_space:
            message = "SpaceAfter=No is set, but a space follows in # text; remove one of the two"
            yield Problem(table.line_indices[row], code, message)
        unspaced = row if needs_space and not has_space and position < len(text) else None
        position = len(text) - len(rest)
    if position < len(text):
        problem = f"# text continues with {quote(text[position:])} after the last word"
        yield Problem(index, code, f"{problem}; correct # text or the words")
