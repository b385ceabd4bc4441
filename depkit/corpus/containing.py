"""Reading of those sentences of a file that contain given texts, without parsing the others."""

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from depkit.corpus.detection import begins_with_bracket
from depkit.corpus.formats import (
    INPUT_FORMATS,
    NON_TABULAR,
    Format,
    format_from_filename,
    get_format,
)
from depkit.corpus.io import read_stream
from depkit.corpus.parquet.files import is_parquet
from depkit.corpus.reader import choose_format, read_lines
from depkit.corpus.sentence import Sentence
from depkit.files.encodings import BOM, check_encoding
from depkit.files.limits import max_sentence, too_large
from depkit.files.streams import open_bytes

_CHUNK = 1 << 20  # bytes
_BLANK_LINE = re.compile(rb"\n\r?\n")
# The encodings in which a text has the same bytes everywhere, and ASCII is ASCII
_STATELESS = ("utf-8", "ascii", "iso8859", "cp125")


def read_containing(
    path: str, texts: Sequence[Sequence[str]], format: str | None = None, encoding: str = "utf-8"
) -> Iterator[Sentence]:
    r"""Read the sentences of a file whose lines contain at least one text of each list.

    Further sentences may be yielded. Those that are not yielded are not checked, except for the
    first one, by which the format is recognised. Of Parquet files, bracketed trees and files in
    some encodings, all sentences are yielded.

    Args:
        path: The file; `-` is stdin, .gz and .xz are unpacked.
        texts: The lists of texts, which may include tabs, such as `\tNOUN\t`. The texts of the
            first list should be the rarest.
        format: As for `io.read`.
        encoding: The text encoding.

    Raises:
        FormatError, OSError, ValueError: As `io.read`.
    """
    chosen = get_format(format, INPUT_FORMATS) if format else format_from_filename(path)
    with open_bytes(path) as binary:
        is_tabular = chosen not in NON_TABULAR.values() and not is_parquet(binary)
        is_simple = codecs.lookup(encoding).name.startswith(_STATELESS)
        if not (texts and is_tabular and is_simple) or encoding.lower().endswith("sig"):
            yield from read_stream(binary, chosen, encoding, path)
            return
        opening: bytes = binary.peek(1024)  # type: ignore[attr-defined]
        check_encoding(opening, encoding, path)
        if not chosen and begins_with_bracket(opening.decode(encoding, "replace")):
            yield from read_stream(binary, chosen, encoding, path)
            return
        yield from _Reader(path, texts, chosen, encoding=encoding).read(binary)


class _Reader:
    """A reader of the sentences of one stream; the arguments are those of `read_containing`."""

    def __init__(
        self, path: str, texts: Sequence[Sequence[str]], format: Format | None, *, encoding: str
    ) -> None:
        self.path = path
        self.format = format
        self.encoding = encoding
        self.texts = [[_encode(text, encoding) for text in alternatives] for alternatives in texts]
        self.texts = [[text for text in group if text] for group in self.texts]
        self.line = 1  # the number of the first line of what has not been counted yet

    def read(self, binary: BinaryIO) -> Iterator[Sentence]:
        """Yield the sentences."""
        rest, is_first = b"", True
        while chunk := binary.read(_CHUNK):
            chunk = rest + chunk
            # A line end more may follow, which belongs to the sentence before it.
            end = _last_end(chunk.rstrip(b"\r\n"))
            if end:
                yield from self._read_chunk(chunk[:end], is_first)
                is_first = False
            rest = chunk[end:]
            if len(rest) > max_sentence():
                raise too_large(self.path, self.line, "sentence")
        if rest:
            yield from self._read_chunk(rest, is_first)

    def _read_chunk(self, chunk: bytes, is_first: bool) -> Iterator[Sentence]:
        """Yield the sentences of a chunk of whole sentences."""
        counted = 0
        position = 0
        if is_first:  # The format is recognised by the first sentence, whatever it contains.
            content = len(chunk) - len(chunk.lstrip(b"\xef\xbb\xbf \t\r\n"))
            end = _next_end(chunk, content)
            lines = self._lines(chunk[:end])
            yield from self._parse(lines, True)
            self.line += chunk.count(b"\n", 0, end)
            counted = position = end
        for begin, end in self._candidates(chunk, position):
            self.line += chunk.count(b"\n", counted, begin)
            yield from self._parse(self._lines(chunk[begin:end]), False)
            self.line += chunk.count(b"\n", begin, end)
            counted = end
        self.line += chunk.count(b"\n", counted)

    def _candidates(self, chunk: bytes, position: int) -> Iterator[tuple[int, int]]:
        """Yield the begin and the end of every sentence that contains the texts."""
        first, others = self.texts[0], self.texts[1:]
        hits = [chunk.find(text, position) for text in first]
        while True:
            hits = [
                chunk.find(text, position) if 0 <= hit < position else hit
                for text, hit in zip(first, hits, strict=True)
            ]
            hit = min((hit for hit in hits if hit >= 0), default=-1)
            if hit < 0:
                return
            begin, end = _last_end(chunk, position, hit) or position, _next_end(chunk, hit)
            sentence = chunk[begin:end]
            if all(any(text in sentence for text in group) for group in others):
                yield begin, end
            position = end

    def _lines(self, data: bytes) -> list[str]:
        lines = data.decode(self.encoding, "surrogateescape").split("\n")
        last = lines.pop()
        return [line + "\n" for line in lines] + [last] * bool(last)

    def _parse(self, lines: list[str], is_first: bool) -> Iterator[Sentence]:
        if is_first and (rows := list(filter(str.strip, lines))):
            rows[0] = rows[0].removeprefix(BOM)
            self.format = choose_format(rows, self.format, self.path)
        yield from read_lines(lines, self.format, self.path, line=self.line)


def _encode(text: str, encoding: str) -> bytes:
    """Encode a text; b"" if the encoding has not all of its characters."""
    try:
        return text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:
        return b""


def _last_end(chunk: bytes, begin: int = 0, end: int | None = None) -> int:
    """Return the end of the last blank line between two positions; 0 if there is none."""
    stop = len(chunk) if end is None else end
    return max(
        start + len(blank) if (start := chunk.rfind(blank, begin, stop)) >= 0 else 0
        for blank in (b"\n\n", b"\n\r\n")
    )


def _next_end(chunk: bytes, position: int) -> int:
    """Return the end of the blank lines after a position; the end of the chunk if none follow."""
    match = _BLANK_LINE.search(chunk, position)
    end = match.end() if match else len(chunk)
    while chunk.startswith((b"\n", b"\r\n"), end):
        end = chunk.index(b"\n", end) + 1
    return end
