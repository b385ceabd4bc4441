"""Reading sentences from lines: every format, line-preserving, in constant memory."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NoReturn

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLLU, Format, sniff
from depkit.corpus.sentence import BOM, HEADS, HeadError, Sentence, find_comment, parse_heads

_SPAN = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBERS = tuple(str(number) for number in range(1, 1001))


def read_lines(
    lines: Iterable[str], format: Format | None = None, file: str = "-", strict: bool = True
) -> Iterator[Sentence]:
    r"""The sentences of a stream of lines, each line with its terminator (\n or \r\n).

    format: sniffed from the first sentence if None. strict: a sentence that breaks the
    format raises FormatError; otherwise it is yielded with its `problem` set (its lines
    are still whole). Joining `str(sentence)` of all sentences gives back the input, but
    for a stream without a single word or comment.
    """
    lines = iter(lines)
    opening = next(lines, "")
    block = [BOM] * opening.startswith(BOM)  # a fragment of its own: line 1 reads as it is meant
    start = 1
    filled = False  # there is more than blank lines in the block
    lines = filter(None, chain([opening.removeprefix(BOM)], lines))
    for blank, some in groupby(lines, str.isspace):
        block += some
        if not blank:
            filled = True
        elif filled:  # all blank lines up to the next sentence are part of this one
            format = format or sniff(block)
            yield _sentence(block, format, file, start, strict)
            start += len(block) - (start == 1 and block[0] == BOM)
            block, filled = [], False
    if filled:
        yield _sentence(block, format or sniff(block), file, start, strict)


class _Problem(Exception):
    """place: the offending line's index in its block."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def _sentence(
    block: list[str], format: Format | None, file: str, start: int, strict: bool
) -> Sentence:
    """A block of lines as a sentence; start: the line number of its first.

    Raises FormatError for a broken one if strict, else sets its `problem`.
    """
    begin = int(start == 1 and block[0] == BOM)  # lines begin here
    try:
        first, end = _table(block, begin)
        if format is None:
            cells = block[first].split("\t")
            found = "no number in front of tab-separated columns"
            if cells[0][:1].isdigit() and len(cells) > 1:
                found = f"{len(cells)} columns, not 10, or 14 and more"
            raise _Problem(first, f"neither CoNLL-U, CoNLL-X nor CoNLL-09: {found}")
        rows, columns = _columns(block, first, end, format)
        try:
            head = parse_heads(columns["head"])
        except HeadError as wrong:
            raise _Problem(rows[wrong.word], str(wrong)) from None
        return Sentence(format, block, rows, columns, head, file, start)
    except _Problem as problem:
        line = start + problem.place - begin
        sent_id = find_comment(block, "sent_id").encode(errors="replace").decode()
        error = FormatError(file, line, sent_id, str(problem))
        if strict:
            raise error from None
        return _tolerated(block, begin, format or CONLLU, file, start, error)


def _table(block: list[str], begin: int) -> tuple[int, int]:
    """Where the rows of a block begin and end, everything around them checked."""
    text = "".join(block)
    if not text.isascii():
        _check_characters(text, block)
    if text.count("\n") + (text[-1] != "\n") != len(block) - begin:
        whole = [line.find("\n") == len(line) - 1 for line in block[begin:]]
        message = r"not one line ending in \n; lines are read with their terminators"
        raise _Problem(begin + whole.index(False), message)
    first = begin
    while first < len(block) and (block[first][0] == "#" or block[first] in ("\n", "\r\n")):
        first += 1
    if first == len(block):
        place = next(place for place, line in enumerate(block) if line[0] == "#")
        raise _Problem(place, "comments without a word; remove them or add the sentence")
    end = len(block)
    while block[end - 1] in ("\n", "\r\n"):
        end -= 1
    for place in (first, end - 1):
        if block[place].isspace():
            raise _Problem(place, "white space on a line of its own; a blank line is empty")
    return first, end


def _check_characters(text: str, block: list[str]) -> None:
    """Undecodable bytes were smuggled through as surrogates; name the first."""
    try:
        text.encode()
    except UnicodeEncodeError:
        for place, line in enumerate(block):
            if found := SURROGATE.search(line):
                raise _Problem(place, undecoded(line, found.start())) from None


def undecoded(line: str, index: int) -> str:
    """What to say of a surrogate in a line."""
    number, where = ord(line[index]), position(line, index)
    if 0xDC80 <= number <= 0xDCFF:  # what Python's surrogateescape makes of a byte
        advice = "name the file's encoding, for example --encoding latin-1"
        return f"byte 0x{number - 0xDC00:02X} {where} cannot be decoded; {advice}"
    return f"U+{number:04X} {where} is half a surrogate pair, not a character"


def position(line: str, index: int) -> str:
    """Where a character stands in a line, in words."""
    return f"in column {line.count(chr(9), 0, index) + 1}, character {index + 1} of the line,"


def _columns(
    block: list[str], first: int, end: int, format: Format
) -> tuple[Sequence[int], dict[str, list[str]]]:
    """The rows of words, as places in the block, and their columns by name."""
    fields = [line.rstrip("\r\n").split("\t") for line in block[first:end]]
    width = len(format.columns)
    if format.repeats:
        width = max(width, len(fields[0]))
        if any("\r" in cell for cell in fields[0]):  # else the whole file could be a word's row
            raise _Problem(first, r"a \r within the line; lines end in \n or \r\n")
    if set(map(len, fields)) != {width}:
        _find_width(fields, first, width, format)
    table = list(zip(*fields, strict=True))
    columns = {name: list(table[index]) for name, index in format.held.items()}
    rows: Sequence[int] = range(first, end)
    if table[0] != _numbers(len(fields)):
        words = _words(table[0], first, format)
        columns = {name: [column[row] for row in words] for name, column in columns.items()}
        rows = [first + row for row in words]
    if "" in columns["form"]:
        raise _Problem(rows[columns["form"].index("")], "no FORM; every word has one, if only _")
    return rows, columns


def _numbers(size: int) -> tuple[str, ...]:
    """The ids of so many words."""
    if size <= len(_NUMBERS):
        return _NUMBERS[:size]
    return tuple(str(number) for number in range(1, size + 1))


def _find_width(fields: list[list[str]], first: int, width: int, format: Format) -> NoReturn:
    row, cells = next((i, cells) for i, cells in enumerate(fields) if len(cells) != width)
    if cells[0].startswith("#"):
        raise _Problem(first + row, "a comment after the first word; comments stand before it")
    if format.repeats:
        hint = f"every row has {len(format.columns)} columns and one more for each predicate"
    else:
        hint = "are the columns separated by tabs?" if len(cells) == 1 else "see this line"
    found = f"{len(cells)} column" + "s" * (len(cells) > 1)
    raise _Problem(first + row, f"{found} instead of {width} of {format.name}; {hint}")


def _words(ids: Sequence[str], first: int, format: Format) -> list[int]:
    """The rows of syntactic words among ranges and empty nodes, every id in its place."""
    words: list[int] = []
    numbers = _numbers(len(ids))
    covered = empty = 0  # the last word of the open range; the last empty node here
    opened = 0  # the row of that range
    for row, text in enumerate(ids):
        if text == numbers[len(words)]:
            words.append(row)
            empty = 0
            continue
        if format.spans and (match := _SPAN.fullmatch(text)):
            begin, end = int(match[1]), int(match[2])
            if begin == len(words) + 1 and end >= begin and begin > covered:
                covered, opened = end, row
                continue
        elif format.spans and (match := _EMPTY.fullmatch(text)):
            if (int(match[1]), int(match[2])) == (len(words), empty + 1):
                empty += 1
                continue
        kind = "word, range or empty node" if format.spans else "word"
        raise _Problem(first + row, f"id {text[:40]!r} where {kind} {len(words) + 1} should stand")
    if covered > len(words):
        raise _Problem(first + opened, f"a range reaches to word {covered} of {len(words)}")
    if not words:
        raise _Problem(first, "no word, only ranges or empty nodes")
    return words


def _tolerated(
    block: list[str], begin: int, format: Format, file: str, start: int, problem: FormatError
) -> Sentence:
    """A broken sentence with whatever can be read of it.

    Every line but comments, ranges and empty nodes is a word; what a row lacks is `_`.
    """
    rows, table = [], []
    for place, line in enumerate(block[begin:], start=begin):
        if line.isspace() or line[0] == "#":
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not (format.spans and (_SPAN.fullmatch(cells[0]) or _EMPTY.fullmatch(cells[0]))):
            rows.append(place)
            table.append(cells + ["_"] * (len(format.columns) - len(cells)))
    columns = {name: [cells[index] for cells in table] for name, index in format.held.items()}
    head = [HEADS[cells[format.index("head")]] for cells in table]
    head = [number if number <= len(head) else -1 for number in head]
    return Sentence(format, block, rows, columns, head, file, start, problem)
