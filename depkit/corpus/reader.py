"""Read sentences from lines, in every tabular format, in constant memory."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NoReturn

from depkit.corpus.cell_checks import SURROGATE
from depkit.corpus.detection import describe_foreign_format, find_plus_format, sniff_format
from depkit.corpus.formats import CONLLU, CONLLUP, Format
from depkit.corpus.heads import HEAD_NUMBERS, HeadError, parse_heads
from depkit.corpus.sentence import Sentence, find_comment
from depkit.files.encodings import BOM, NAME_ENCODING
from depkit.files.errors import FormatError

_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_CR_END = re.compile(r"\r(?=#|[0-9][0-9.-]*\t|\n?\Z)")  # a CR before a comment, a row, or the end
CR_ENDS = "the lines end with CR instead of LF; convert the file, for example with mac2unix"
ROWS_BLOCK = 1 << 19  # characters of a block of a file, about 12,000 words; see `blocks`
_IDS = tuple(str(number) for number in range(1, 1001))


def read_lines(
    lines: Iterable[str],
    format: Format | None = None,
    file: str = "-",
    strict: bool = True,
    *,
    line: int = 1,
    character: int = 0,
    has_pauses: bool = False,
) -> Iterator[Sentence]:
    r"""Read the sentences of a stream of lines.

    Joining `str(sentence)` of all sentences gives back the input, unless the stream contains no
    words and no comments.

    Args:
        lines: The lines with their line ends (\n or \r\n).
        format: The format; None to recognise it by the first sentence.
        file: The name of the stream, for errors.
        strict: Whether a sentence that breaks the format raises FormatError. Otherwise the
            sentence has all its lines, and the error is its `problem`.
        line: The number of the first line in the file.
        character: The number of characters of the file before it.
        has_pauses: Whether "" among the lines means that the next line has not arrived. A sentence
            before a blank line is then complete; further blank lines belong to the next sentence.

    Raises:
        FormatError: A sentence breaks the format.
    """
    lines = iter(lines)
    first_line = next(filter(None, lines), "")
    # A byte order mark becomes an entry of the block before the first line.
    block = [BOM] * first_line.startswith(BOM)
    start = line
    has_text = False  # whether the block contains more than blank lines
    is_first = True  # whether the block is the first one with more than blank lines
    lines = chain([first_line.removeprefix(BOM)], lines)
    groups: Iterable[tuple[bool | None, Iterable[str]]] = (
        groupby(lines, _is_blank) if has_pauses else groupby(filter(None, lines), str.isspace)
    )
    for is_blank, group in groups:
        if is_blank is None:
            continue
        block += group
        if not is_blank:
            has_text = True
        elif has_text:  # Blank lines belong to the sentence before them.
            if is_first or not format:
                format, is_first = choose_format(block, format, file), False
            yield parse_block(block, format, file, start, strict=strict, character=character)
            has_mark = start == 1 and block[0] == BOM
            start += len(block) - has_mark
            character += sum(map(len, block)) - has_mark
            block, has_text = [], False
    if has_text:
        if is_first or not format:
            format = choose_format(block, format, file)
        yield parse_block(block, format, file, start, strict=strict, character=character)


def _is_blank(line: str) -> bool | None:
    """Return whether a line is blank; None for "", which is a pause and not a line."""
    return line.isspace() if line else None


def choose_format(block: Sequence[str], format: Format | None, file: str) -> Format | None:
    """Return the format of a file by its first sentence, None if it is unknown.

    format: the format that is given or known by the file's name. It is changed only between CoNLL-U
    and CoNLL-U Plus. Raises FormatError for a format that depkit does not read.
    """
    try:
        if format in (CONLLU, CONLLUP):
            return find_plus_format(block) or format
        format = format or sniff_format(block)
    except ValueError as error:
        raise FormatError(file, 1, "", str(error)) from None
    if not format and (name := describe_foreign_format(block)):
        raise FormatError(file, 1, "", f"the file is in {name}, which depkit does not read")
    return format


class _Problem(Exception):
    """A line that breaks the format; `index` is its index in the block."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def parse_block(
    block: Sequence[str],
    format: Format | None,
    file: str,
    start: int,
    *,
    strict: bool,
    character: int = 0,
) -> Sentence:
    """Make a sentence from a block of lines.

    Args:
        block: The lines.
        format: Their format, None if it was not recognised.
        file: The name of the file.
        start: The number of the first line.
        strict: Whether a broken sentence raises FormatError; otherwise it has a `problem`.
        character: The number of characters before the lines.
    """
    begin = int(start == 1 and block[0] == BOM)  # index of the first line, after a byte order mark
    try:
        first, end = _find_rows(block, begin)
        if format is None:
            cells = block[first].split("\t")
            problem = "the line has no number before tab-separated columns"
            if cells[0][:1].isdigit() and len(cells) > 1:
                problem = f"the line has {len(cells)} columns, not 10, and not 14 or more"
                if len(cells) > len(CONLLU.columns):
                    problem = f"its {len(cells)} columns are not those of CoNLL-09"
            message = f"the file is neither CoNLL-U, CoNLL-X nor CoNLL-09: {problem}"
            raise _Problem(first, message)
        rows, columns = _read_columns(block, first, end, format)
        try:
            head = parse_heads(columns["head"])
        except HeadError as error:
            raise _Problem(rows[error.word], str(error)) from None
        sentence = Sentence(format, block, rows, columns, head=head, file=file, line=start)
    except _Problem as problem:
        line = start + problem.index - begin
        sent_id = find_comment(block, "sent_id").encode(errors="replace").decode()
        format_error = FormatError(file, line, sent_id, str(problem))
        if len(_CR_END.findall(block[problem.index])) > 1:
            format_error = FormatError(file, line, "", CR_ENDS)
        if strict:
            raise format_error from None
        sentence = _recover_sentence(
            block, begin, format=format or CONLLU, file=file, start=start, problem=format_error
        )
    sentence.block = character // ROWS_BLOCK
    return sentence


def _find_rows(block: Sequence[str], begin: int) -> tuple[int, int]:
    """Return the start and end of the rows in a block, without comments and blank lines.

    Raises _Problem if a character cannot be decoded, an entry of the block is not one line, there
    are comments but no words, or a line contains only white space but is not empty.
    """
    text = "".join(block)
    if not text.isascii():
        _check_characters(text, block)
    # Every entry must be one line; only the last may have no line end.
    if text.count("\n") + (text[-1] != "\n") != len(block) - begin:
        is_line = [line.find("\n") == len(line) - 1 for line in block[begin:]]
        message = r"this is not one line ending in \n; keep the line ends when you split a text"
        raise _Problem(begin + is_line.index(False), message)
    first = begin
    while first < len(block) and (block[first][0] == "#" or block[first] in ("\n", "\r\n")):
        first += 1
    if first == len(block):
        index = next(index for index, line in enumerate(block) if line[0] == "#")
        message = "there are comments, but no words; remove the comments or add the words"
        raise _Problem(index, message)
    end = len(block)
    while block[end - 1] in ("\n", "\r\n"):
        end -= 1
    for index in (first, end - 1):
        if block[index].isspace():
            message = "the line contains only white space; a blank line must be empty"
            raise _Problem(index, message)
    return first, end


def _check_characters(text: str, block: Sequence[str]) -> None:
    """Raise _Problem at the first surrogate, which represents an undecodable byte."""
    try:
        text.encode()
    except UnicodeEncodeError:
        for index, line in enumerate(block):
            if match := SURROGATE.search(line):
                raise _Problem(index, describe_undecodable(line, match.start())) from None


def describe_undecodable(line: str, index: int) -> str:
    """Return a message about the surrogate at an index of a line."""
    code_point, position = ord(line[index]), describe_position(line, index)
    if 0xDC80 <= code_point <= 0xDCFF:  # made from a byte by Python's error handler surrogateescape
        return f"byte 0x{code_point - 0xDC00:02X} {position} cannot be decoded; {NAME_ENCODING}"
    return f"U+{code_point:04X} {position} is a lone surrogate, not a character"


def describe_position(line: str, index: int) -> str:
    """Describe the position of a character of a line, as part of a message."""
    return f"in column {line.count(chr(9), 0, index) + 1}, character {index + 1} of the line,"


def _read_columns(
    block: Sequence[str], first: int, end: int, format: Format
) -> tuple[Sequence[int], dict[str, tuple[str, ...]]]:
    """Return the indices of the words' rows in a block, and the columns of the words by name."""
    fields = [line.rstrip("\r\n").split("\t") for line in block[first:end]]
    width = len(format.columns)
    if format.has_further_columns:
        width = max(width, len(fields[0]))
        # A file whose lines end in \r would otherwise be read as one row.
        if any("\r" in cell for cell in fields[0]):
            raise _Problem(first, r"there is a \r within the line; lines end in \n or \r\n")
    if set(map(len, fields)) != {width}:
        _raise_width_problem(fields, first, width, format)
    table = list(zip(*fields, strict=True))
    columns = {name: table[index] for name, index in format.attribute_columns.items()}
    rows: Sequence[int] = range(first, end)
    if table[0] != _consecutive_ids(len(fields)):
        words = _find_words(table[0], first, format)
        columns = {name: tuple([column[row] for row in words]) for name, column in columns.items()}
        rows = [first + row for row in words]
    if "" in columns["form"]:
        message = "the word has no FORM; write _ if it is unknown"
        raise _Problem(rows[columns["form"].index("")], message)
    return rows, columns


def _consecutive_ids(size: int) -> tuple[str, ...]:
    """Return the ids "1", "2", ... of a sentence with `size` words."""
    if size <= len(_IDS):
        return _IDS[:size]
    return tuple(str(number) for number in range(1, size + 1))


def _raise_width_problem(
    fields: list[list[str]], first: int, width: int, format: Format
) -> NoReturn:
    row, cells = next((i, cells) for i, cells in enumerate(fields) if len(cells) != width)
    if cells[0].startswith("#"):
        message = "there is a comment after the first word; comments must precede the words"
        raise _Problem(first + row, message)
    if format.has_argument_columns:
        hint = f"every row has {len(format.columns)} columns and one more for each predicate"
    elif len(cells) == 1:
        hint = "are the columns separated by tabs?"
    else:
        hint = "columns are separated by single tabs"
    size = f"{len(cells)} column" + "s" * (len(cells) > 1)
    message = f"the line has {size} instead of {width} of {format.name}; {hint}"
    raise _Problem(first + row, message)


def _find_words(ids: Sequence[str], first: int, format: Format) -> list[int]:
    """Find the rows of words among ranges and empty nodes. Raises _Problem at an unexpected id."""
    words: list[int] = []
    expected_ids = _consecutive_ids(len(ids))
    covered = 0  # the last word of the latest range
    num_empty = 0  # the number of empty nodes after the latest word
    size = sum("-" not in text and "." not in text for text in ids)  # the number of words' rows
    for row, text in enumerate(ids):
        if text == expected_ids[len(words)]:
            words.append(row)
            num_empty = 0
            continue
        if format.has_ranges and (match := _RANGE.fullmatch(text)):
            begin, last = int(match[1]), int(match[2])
            # If there are no words at all, the error after the loop says so.
            problem = describe_range_fault(
                begin, last, previous=len(words), covered=covered, end=size or last
            )
            if not problem:
                covered = last
                continue
            message = f"the range {text} {problem}"
        elif format.has_ranges and (match := _EMPTY.fullmatch(text)):
            if (int(match[1]), int(match[2])) == (len(words), num_empty + 1):
                num_empty += 1
                continue
            message = describe_empty_node_fault(text, f"{len(words)}.{num_empty + 1}")
        else:
            kind = "word, range or empty node" if format.has_ranges else "word"
            message = f"the id is {text[:40]!r}, but {kind} {len(words) + 1} is expected here"
        raise _Problem(first + row, message)
    if not words:
        raise _Problem(first, "the sentence has no words, only ranges or empty nodes")
    return words


def describe_range_fault(first: int, last: int, *, previous: int, covered: int, end: int) -> str:
    """Describe what is wrong with a multiword range; "" if it is valid.

    Args:
        first: The ID of the range's first word.
        last: The ID of its last word.
        previous: The ID of the word before the range's row.
        covered: The last ID that an earlier range covers.
        end: The last ID of the sentence.
    """
    if last < first:
        return "ends before it begins"
    if last > end:
        return f"reaches beyond the last word, {end}"
    if first != previous + 1:
        return f"is before word {previous + 1}; move it before its first word"
    if first <= covered:
        return f"overlaps with the range that ends with {covered}; a word can be in one range only"
    return ""


def describe_empty_node_fault(text: str, expected: str) -> str:
    """Return a message about an empty node with the wrong ID `text`."""
    problem = f"the empty node has ID {text} instead of {expected}"
    return f"{problem}; empty nodes have the number of the word before them, and count from 1"


def _recover_sentence(
    block: Sequence[str], begin: int, *, format: Format, file: str, start: int, problem: FormatError
) -> Sentence:
    """Make a sentence from broken lines, with its `problem`.

    Every line except comments, ranges and empty nodes becomes a word; missing columns become `_`.
    """
    rows, table = [], []
    for index, line in enumerate(block[begin:], start=begin):
        if line.isspace() or line[0] == "#":
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not (format.has_ranges and (_RANGE.fullmatch(cells[0]) or _EMPTY.fullmatch(cells[0]))):
            rows.append(index)
            table.append(cells + ["_"] * (len(format.columns) - len(cells)))
    columns = {
        name: [cells[index] for cells in table] for name, index in format.attribute_columns.items()
    }
    head = [HEAD_NUMBERS[cells[format.index("head")]] for cells in table]
    head = [number if number <= len(head) else -1 for number in head]
    return Sentence(format, block, rows, columns, head=head, file=file, line=start, problem=problem)
