"""Checks of the comments of CoNLL-U: sent_id, and the text against the words."""

from collections.abc import Iterator

from depkit.treebank.findings import Problem, quoted
from depkit.treebank.table import Table

Token = tuple[int, str, bool]

ONCE = ("sent_id", "text", "newdoc", "newpar")  # in a sentence at most


def comment_problems(table: Table, joined: bool = False) -> Iterator[Problem]:
    """What is wrong with the comments of a CoNLL-U sentence.

    joined: whether no space follows the sentence before.
    """
    first = table.places[0]
    found: dict[str, tuple[int, str]] = {}
    for place in range(table.begin, first):
        key, value = parsed(table.sentence.lines[place])
        if key not in ONCE:
            continue
        if key in found:
            what = f"a second comment {key} in the sentence; is a blank line missing before it?"
            yield Problem(place, "comment-again", what)
            continue
        found[key] = place, value
        if joined and key in ("newdoc", "newpar"):
            what = f"{key}, but the sentence before ends in SpaceAfter=No; remove that there"
            yield Problem(place, "space-after", what)
            joined = False
    yield from _sent_id(table, found)
    if "text" not in found:
        yield Problem(first, "no-text", "no comment # text = ...; the text is the words joined")
    else:
        yield from _text(table, *found["text"])


def parsed(line: str) -> tuple[str, str]:
    """The key of a comment and its value, white space at the end of it included."""
    key, _, value = line[1:].partition("=")
    name = key.strip()
    if name not in ONCE:  # newdoc and newpar need no value: `# newdoc`, `# newpar id = 1`
        name = name.partition(" ")[0]
    return name, value.rstrip("\r\n").lstrip()


def _sent_id(table: Table, found: dict[str, tuple[int, str]]) -> Iterator[Problem]:
    if "sent_id" not in found:
        what = "no comment # sent_id = ...; number the sentences"
        yield Problem(table.places[0], "no-sent-id", what)
        return
    place, value = found["sent_id"]
    if not value.strip():
        yield Problem(place, "sent-id", "sent_id without a value; write # sent_id = NAME")
    elif len(value.split()) > 1:
        what = f"sent_id {quoted(value)} has white space inside; ids have none"
        yield Problem(place, "sent-id", what)
    elif "/" in value:
        what = f"sent_id {quoted(value)} has a slash, which UD keeps for the language; replace it"
        yield Problem(place, "sent-id", what)
    if not table.sentence.lines[place].startswith("# sent_id"):
        what = "not '# sent_id = NAME', with one space after #"
        yield Problem(place, "sent-id", f"{quoted(table.sentence.lines[place].rstrip())} is {what}")


def ends_joined(table: Table) -> bool:
    """Whether the last token of a sentence has SpaceAfter=No."""
    if table.sentence.problem or not table.words:
        return False
    last = table.words[-1]
    last = next((row for row, rows in table.spans.items() if last in rows), last)
    return "SpaceAfter=No" in table.cells[last][table.format.index("misc")].split("|")


def _text(table: Table, place: int, text: str) -> Iterator[Problem]:
    if text != text.rstrip():
        yield Problem(place, "text-space", "# text ends with white space; remove it")
        text = text.rstrip()
    if not table.sentence.problem and text != _joined(tokens := _tokens(table)):
        yield from _mismatches(table, tokens, place, text)


def _tokens(table: Table) -> list[Token]:
    """Row, form, and whether a space follows, of each range, and of each word that is in none."""
    form, misc = table.column("form"), table.column("misc")
    tokens = [
        (row, form[row], cell == "_" or "SpaceAfter=No" not in cell.split("|"))
        for row, cell in enumerate(misc)
    ]
    if not table.ranges and not table.empties:
        return tokens
    apart = {*table.empties, *(row for rows in table.spans.values() for row in rows)}
    return [token for token in tokens if token[0] not in apart]


def _joined(tokens: list[Token]) -> str:
    return "".join([form + " " if spaced else form for _, form, spaced in tokens]).rstrip(" ")


def _mismatches(table: Table, tokens: list[Token], place: int, text: str) -> Iterator[Problem]:
    """Where the text and the words part: every space, and the first word."""
    position, code = 0, "text-mismatch"
    before = None  # the row of the token before, if a space should follow it, but does not
    for row, form, spaced in tokens:
        if before is not None:
            what = "no space follows in # text; add SpaceAfter=No, or mend the text"
            yield Problem(table.places[before], code, what)
        if not text.startswith(form, position):
            there = text[position : position + 30]
            what = f"goes on {quoted(there)}, not" if there else "ends before"
            yield Problem(table.places[row], code, f"# text {what} {quoted(form)}")
            return
        position += len(form)
        rest = text[position:].lstrip()
        follows = len(rest) < len(text) - position  # any white space is as good as one space
        if follows and not spaced:
            what = "SpaceAfter=No, but a space follows in # text; remove one of the two"
            yield Problem(table.places[row], code, what)
        before = row if spaced and not follows and position < len(text) else None
        position = len(text) - len(rest)
    if position < len(text):
        what = f"# text goes on {quoted(text[position:])} after the last word"
        yield Problem(place, code, what)
