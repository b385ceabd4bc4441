"""Reading sentences from lines: every format, line-preserving, in constant memory."""

import re
from collections.abc import Iterable, Iterator, Sequence

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLLU, Format, sniff
from depkit.corpus.sentence import Sentence, parse_heads

BOM = "\ufeff"
_SPAN = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")
_NUMBERS = [str(number) for number in range(1, 1001)]


def read_lines(
    lines: Iterable[str], format: Format | None = None, file: str = "-", strict: bool = True
) -> Iterator[Sentence]:
    r"""The sentences of a stream of lines, each line with its terminator (\n or \r\n).

    format: sniffed from the first sentence if None. strict: a sentence that breaks the
    format raises FormatError; otherwise it is yielded with its `problem` set (its lines
    are still whole). Joining `str(sentence)` of all sentences gives back the input, but
    for a stream without a single word.
    """
    block: list[str] = []
    start = number = 1
    complete = False  # the block has ended with a blank line; further blank lines are its own
    for number, line in enumerate(lines, start=1):
        if number == 1 and line.startswith(BOM):
            block.append(BOM)  # a fragment of its own, so that line 1 reads as it is meant
            line = line[1:]
        if line in ("\n", "\r\n", ""):
            complete = any(fragment[0] not in "\r\n" + BOM for fragment in block)
            if line:
                block.append(line)
            continue
        if complete:
            format = format or _sniffed(block, file, start)
            yield _parse(block, format, file, start, strict)
            block, start, complete = [], number, False
        block.append(line)
    if any(fragment[0] not in "\r\n" + BOM for fragment in block):
        yield _parse(block, format or _sniffed(block, file, start), file, start, strict)


def _sniffed(block: Sequence[str], file: str, start: int) -> Format:
    format = sniff(block)
    if format is None:
        raise FormatError(
            file, start, "", "neither CoNLL-U, CoNLL-X nor CoNLL-09: no tab-separated columns"
            " with a number in front",
        )  # fmt: skip
    return format


def _parse(block: list[str], format: Format, file: str, start: int, strict: bool) -> Sentence:
    """A block of lines as a sentence; the well-formed common case is a few list operations."""
    first = 0  # rows of words start here; comments, blank lines and a BOM stand before
    while first < len(block) and block[first][0] in "#\r\n\ufeff":
        first += 1
    last = len(block)
    while last > first and block[last - 1] in ("\n", "\r\n"):
        last -= 1
    fields = [line.rstrip("\r\n").split("\t") for line in block[first:last]]
    try:
        if not fields:
            raise _Problem(first - 1, "comments without a word; remove them or add the sentence")
        columns, rows = _columns(fields, format)
        try:
            "".join(block).encode()
        except UnicodeEncodeError:
            _find_bytes(block, first)
        _check_heads(columns, rows)
        head = parse_heads(columns["head"])
    except _Problem as problem:
        place = first + problem.row
        line = start + place - (block[0] == BOM)
        sent_id = Sentence(format, block, [], {"form": [], "deprel": []}, []).sent_id
        error = FormatError(file, line, sent_id, problem.message)
        if strict:
            raise error from None
        return _tolerated(block, fields, first, format, file, start, error)
    words = range(first, last) if len(rows) == len(fields) else [first + row for row in rows]
    return Sentence(format, block, words, columns, head, file, start)


class _Problem(Exception):
    """row: the offending row, counted from the first row after the comments."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message


def _columns(fields: list[list[str]], format: Format) -> tuple[dict[str, list[str]], Sequence[int]]:
    """Rows of fields as columns by name, words alone; and which rows are words."""
    width = len(format.columns)
    if format.repeats and len(fields[0]) > width:
        width = len(fields[0])
    rows: Sequence[int] = range(len(fields))
    if set(map(len, fields)) != {width}:
        _find_width(fields, width, format)
    table = list(map(list, zip(*fields, strict=True)))
    while len(_NUMBERS) < len(fields):
        _NUMBERS.append(str(len(_NUMBERS) + 1))
    if table[0] != _NUMBERS[: len(fields)]:
        rows = _word_rows(table[0], format)
        table = [[column[row] for row in rows] for column in table]
    return dict(zip(format.columns, table, strict=False)), rows


def _find_width(fields: list[list[str]], width: int, format: Format) -> None:
    for row, values in enumerate(fields):
        if len(values) != width:
            hint = "are the columns separated by tabs?" if len(values) == 1 else "see this line"
            if format.repeats:
                hint = "every row has 14 columns and one more for each predicate"
            raise _Problem(
                row, f"{len(values)} columns instead of {width} of {format.name}; {hint}"
            )


def _word_rows(ids: list[str], format: Format) -> list[int]:
    """The rows of syntactic words among ranges and empty nodes, every id in its place."""
    words: list[int] = []
    covered = empty = 0  # the last word of the open range; the last empty node here
    for row, text in enumerate(ids):
        if text == str(len(words) + 1):
            words.append(row)
            empty = 0
            continue
        if format.spans and (match := _SPAN.fullmatch(text)):
            begin, end = int(match[1]), int(match[2])
            if begin == len(words) + 1 and end >= begin and begin > covered:
                covered = end
                continue
        elif format.spans and (match := _EMPTY.fullmatch(text)):
            if (int(match[1]), int(match[2])) == (len(words), empty + 1):
                empty += 1
                continue
        kind = "word, range or empty node" if format is CONLLU else "word"
        raise _Problem(row, f"id {text!r} where {kind} {len(words) + 1} should stand")
    if covered > len(words):
        raise _Problem(len(ids) - 1, f"a range reaches to word {covered} of {len(words)}")
    if not words:
        raise _Problem(0, "no word, only ranges or empty nodes")
    return words


def _check_heads(columns: dict[str, list[str]], rows: Sequence[int]) -> None:
    """Heads are numbers between 0 and the number of words, or `_`."""
    try:
        head = parse_heads(columns["head"])
        if max(head) <= len(head):
            return
    except ValueError:
        pass
    for row, text in zip(rows, columns["head"], strict=True):
        try:
            (number,) = parse_heads([text])
        except ValueError as error:
            raise _Problem(row, str(error)) from None
        if number > len(rows):
            raise _Problem(row, f"HEAD is {number} in a sentence of {len(rows)} words")


def _find_bytes(block: list[str], first: int) -> None:
    """Undecodable bytes were smuggled through as surrogates; name the first."""
    for place, line in enumerate(block):
        for column, character in enumerate(line, start=1):
            if "\ud800" <= character <= "\udfff":
                raise _Problem(
                    place - first,
                    f"byte 0x{ord(character) & 0xFF:02X} at column {column} is not UTF-8;"
                    " name the file's encoding, for example --encoding latin-1",
                )


def _tolerated(
    block: list[str],
    fields: list[list[str]],
    first: int,
    format: Format,
    file: str,
    start: int,
    problem: FormatError,
) -> Sentence:
    """A broken sentence with whatever can be read of it: short rows filled up with `_`."""
    spans = format.spans
    rows = [i for i, row in enumerate(fields) if not (spans and ("-" in row[0] or "." in row[0]))]
    table = {
        name: [fields[row][i] if i < len(fields[row]) else "_" for row in rows]
        for i, name in enumerate(format.columns)
    }
    head = []
    for text in table["head"]:
        number = int(text) if text.isascii() and text.isdigit() else -1
        head.append(number if number <= len(rows) else -1)
    words = [first + row for row in rows]
    return Sentence(format, block, words, table, head, file, start, problem)
