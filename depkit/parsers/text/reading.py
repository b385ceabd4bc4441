"""Input by name or content: the CoNLL formats, running text, lines, words between spaces."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, named_format, open_bytes, read_opening, read_stream
from depkit.corpus.formats import FORMATS, by_name, sniff
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import (
    Numbers,
    Segment,
    decoded,
    read_text,
    split_at_spaces,
    split_by_rule,
)  # fmt: skip
from depkit.parsers.text.tokenizer import Tokenizer

INPUTS = ("text", "lines", "tokens", *FORMATS)
CHUNK = 1 << 16


def read_input(
    source: PathLike,
    tokenizer: Tokenizer | None,
    input: str | None = None,
    encoding: str = "utf-8",
    numbers: Numbers | None = None,
) -> Iterator[Sentence]:
    """The sentences of a file, or of stdin (`-`), read as they come.

    input: "text" (paragraphs between blank lines), "lines" (one sentence a line), "tokens" (the
    same, tokens between spaces) or a CoNLL format; None for a CoNLL format if name or content
    say so, else text. numbers: where to go on with `# sent_id` in text.
    Raises FormatError; ValueError for text without a tokenizer, and for another input.
    """
    if input not in (None, *INPUTS):
        raise ValueError(f"no input {input!r}; there are {', '.join(INPUTS)}")
    path = os.fspath(source)
    with open_bytes(path) as binary:
        if input is None:
            opening, binary = read_opening(binary, encoding)
            format = by_name(path) or sniff(opening)
            input = "text" if not format and not _is_table(opening) else None
        else:
            format = named_format(input) if input in FORMATS else None
        if format or input is None:
            try:
                yield from read_stream(binary, format, encoding, path)
            except FormatError as error:
                if format:
                    raise
                message = f"{error.message}; if this is text, use --input text"
                raise FormatError(error.file, error.line, error.sent_id, message) from None
            return
        name = "" if path == "-" else _id(os.path.basename(path))
        text = decoded(_chunks(binary), encoding, path)
        segment = find_segment(input, tokenizer, path)
        yield from read_text(text, segment, input != "text", name, numbers, path)


def find_segment(input: str, tokenizer: Tokenizer | None, path: str) -> Segment:
    """What makes tokens and sentences of text, lines or tokens; see `read_input`."""
    if input == "tokens":
        return split_at_spaces
    if input == "lines":
        return tokenizer.segment_lines if tokenizer else split_by_rule
    if not tokenizer:
        raise ValueError(
            f"{path}: running text, but the model has no tokenizer, as its treebank had no text;"
            " use --input lines, --input tokens or a CoNLL file"
        )
    return tokenizer.segment


def _id(name: str) -> str:
    """A file's name as it can stand in a comment, on one line and in UTF-8."""
    return " ".join(name.encode(errors="replace").decode().split())


def _is_table(opening: Iterable[str]) -> bool:
    """Whether this is no text but a broken CoNLL file, which the reader is to report."""
    first = next((line for line in opening if line.strip() and not line.startswith("#")), "")
    return bool(re.match(r"(0\.1|1(-[0-9]+)?)(\t|( +\S+){7})", first))


def _chunks(binary: BinaryIO) -> Iterator[bytes]:
    """What there is, without waiting for more."""
    while chunk := binary.read1(CHUNK):  # type: ignore[attr-defined]
        yield chunk
