"""Reading input files: CoNLL formats, bracketed trees, running text, or text in lines."""

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from depkit.corpus.blocks import Part, Position, open_part
from depkit.corpus.detection import (
    begins_with_row,
    begins_with_tree,
    describe_foreign_format,
    sniff_format,
)
from depkit.corpus.formats import (
    CONLLU,
    INPUT_FORMATS,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
)
from depkit.corpus.io import PathLike, read_stream
from depkit.corpus.parquet.files import is_parquet, read_parquet
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import (
    ParagraphCounter,
    Segmenter,
    decode_chunks,
    read_text,
    split_at_spaces,
    split_by_rule,
)  # fmt: skip
from depkit.files.arrival import make_arrival_test
from depkit.files.errors import FormatError
from depkit.files.storage import is_rereadable
from depkit.files.streams import STDIN, open_bytes, read_on_arrival, read_opening
from depkit.parsers.text.tokenizer import Tokenizer

TEXT_INPUTS = ("text", "lines", "tokens")
INPUTS = (*TEXT_INPUTS, *INPUT_FORMATS)


def read_input(
    source: PathLike,
    tokenizer: Tokenizer | None,
    input: str | None = None,
    encoding: str = "utf-8",
    *,
    counter: ParagraphCounter | None = None,
    part: Part | None = None,
    segment: Segmenter | None = None,
    stream: BinaryIO | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file, or of stdin (`-`), as they are read.

    Args:
        source: The path of the file.
        tokenizer: The tokenizer for running text.
        input: "text" (paragraphs between blank lines), "lines" (one sentence per line), "tokens"
            (one sentence per line, with spaces between tokens), a CoNLL format, "ptb" (bracketed
            trees) or "parquet". None detects the format by the name or the content of the file;
            any other file is text.
        encoding: The encoding of the file.
        counter: A counter for the `# sent_id` of text; the numbering continues from it.
        part: The part of the file to read, None for all of it; then `input` must be given. The
            counter must have the number of paragraphs before it.
        segment: The function that splits text into sentences and tokens; by default, it depends on
            `input` and is that of the tokenizer for running text.
        stream: The bytes of the file, if it is open already, as for `open_bytes`.

    Raises:
        FormatError: The file is not valid.
        ValueError: There is no such input, or no tokenizer for running text.
    """
    if input not in (None, *INPUTS):
        raise ValueError(f"there is no input {input!r}; it can be {', '.join(INPUTS)}")
    path = os.fspath(source)
    start = part.start if part else Position()
    with open_bytes(path, stream) as binary:
        if part and input == PARQUET.name:
            stop = part.end.paragraph if part.end else None
            yield from read_parquet(
                binary, path, strict=True, first=start.paragraph, stop=stop, line=start.line
            )
            return
        if part:
            binary = open_part(binary, part)
        is_known = input is not None or format_from_filename(path)
        if input is None:
            input, format, binary = _detect(path, binary, encoding)
        else:
            format = INPUT_FORMATS.get(input)
        if format or input is None:
            try:
                yield from read_stream(
                    binary,
                    format,
                    encoding,
                    path,
                    strict=True,
                    line=start.line,
                    character=start.character,
                )
            except FormatError as error:
                if is_known:
                    raise
                message = f"{error.message}; if this file is text, set `input` to text"
                raise FormatError(error.file, error.line, error.sent_id, message) from None
            return
        name = "" if path == "-" else _clean_name(os.path.basename(path))
        has_arrived = make_arrival_test(binary)
        text = decode_chunks(read_on_arrival(binary, has_arrived), encoding, path)
        segment = segment or choose_segment(input, tokenizer, path)
        # A pipe may be slow, so its sentences are not delayed.
        by_block = is_rereadable(path)
        yield from read_text(
            text, segment, by_line=input != "text", name=name, counter=counter, file=path,
            character=start.character, by_block=by_block, keep_spaces=input == "tokens",
        )  # fmt: skip


def detect_input(path: str, encoding: str = "utf-8") -> str:
    """Return the kind of input of a file, one of INPUTS. Raises OSError, and as `open_bytes`."""
    with open_bytes(path) as binary:
        input, format, _ = _detect(path, binary, encoding)
    return input or (format.name if format else CONLLU.name)


def _detect(
    path: str, binary: BinaryIO, encoding: str
) -> tuple[str | None, Format | None, BinaryIO]:
    """Detect the kind of input of a file.

    Returns "text" or None, the format of a file of trees if it is known, and a stream of all bytes.
    """
    if is_parquet(binary):
        return None, PARQUET, binary
    opening, binary = read_opening(binary, encoding)
    format = format_from_filename(path) or _sniff_format(opening, path)
    if not format and begins_with_tree("".join(opening)):
        format = PTB
    # A damaged table is read as a CoNLL file, so that its errors are reported.
    is_text = not (format or begins_with_row(opening) or describe_foreign_format(opening))
    return "text" if is_text else None, format, binary


def _sniff_format(opening: Sequence[str], path: str) -> Format | None:
    try:
        return sniff_format(opening)
    except ValueError as error:
        raise FormatError(path, 1, "", str(error)) from None


def choose_segment(input: str, tokenizer: Tokenizer | None, path: str) -> Segmenter:
    """Choose the function that splits input into sentences and tokens; see `read_input`."""
    if input == "tokens":
        return split_at_spaces
    if input == "lines":
        return tokenizer.segment_lines if tokenizer else split_by_rule
    if not tokenizer:
        raise ValueError(
            f"{STDIN if path == '-' else path} is running text, but the model has no tokenizer; set"
            " `input` to lines or tokens, or give a CoNLL file"
        )
    return tokenizer.segment


def _clean_name(name: str) -> str:
    """Convert the name of a file for a comment: to one line that is valid in UTF-8."""
    return " ".join(name.encode(errors="replace").decode().split())
