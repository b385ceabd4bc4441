"""Conversion between sentences and Arrow batches, with the column `original` where it is needed."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from depkit.corpus.formats import CONLLU
from depkit.corpus.parquet.arrow import arrow_errors, import_pyarrow, raise_row_error
from depkit.corpus.parquet.decode import decode
from depkit.corpus.parquet.encode import encode
from depkit.corpus.parquet.limits import BATCH_CHARACTERS, BATCH_SENTENCES, MAX_REPETITION, divide
from depkit.corpus.parquet.schema import check_types
from depkit.corpus.reader import parse_block
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError

if TYPE_CHECKING:
    from pyarrow import RecordBatch

BLOCK_ROWS = 500  # rows of a block of a file, about 12,000 words; see `blocks`


def to_batches(sentences: Sentence | Iterable[Sentence]) -> "Iterator[RecordBatch]":
    """Convert sentences in CoNLL-U to Arrow batches of limited size, one batch at a time.

    The columns are explained in `schema`. A byte order mark is kept only before the first sentence.

    Raises:
        FormatError: A sentence is in another format, is broken, or contains lone surrogates.
        ValueError: pyarrow is not installed.
    """
    import_pyarrow()
    block: list[Sentence] = []
    size = 0
    for number, sentence in enumerate(each_sentence(sentences)):
        if number and sentence.lines[0] == BOM:
            sentence = parse_block(
                sentence.lines[1:], CONLLU, sentence.file, sentence.line, strict=True
            )
        block.append(sentence)
        size += sum(map(len, sentence.lines))
        if len(block) == BATCH_SENTENCES or size >= BATCH_CHARACTERS:
            yield _make_batch(block)
            block, size = [], 0
    if block:
        yield _make_batch(block)


def _make_batch(sentences: Sequence[Sentence]) -> "RecordBatch":
    """Make a batch of sentences, with `original` where the columns do not give the same lines."""
    for sentence in sentences:
        if sentence.problem:
            raise sentence.problem
        if sentence.format != CONLLU:
            message = f"Parquet has the columns of CoNLL-U, but this is {sentence.format.name}"
            advice = "convert it with depkit convert --to parquet"
            raise FormatError(*sentence.location(), f"{message}; {advice}")
        try:
            str(sentence).encode()
        except UnicodeEncodeError:
            message = "the sentence has a lone surrogate, which is not a character; remove it"
            raise FormatError(*sentence.location(), message) from None
    batch = encode(sentences)
    blocks = decode(batch, "-", 1)
    originals = [
        None if block == sentence.lines else str(sentence)
        for block, sentence in zip(blocks, sentences, strict=True)
    ]
    index = batch.schema.get_field_index("original")
    return batch.set_column(index, batch.schema.field(index), import_pyarrow().array(
        originals, batch.schema.field(index).type
    ))  # fmt: skip


def from_batches(
    batches: "Iterable[RecordBatch]", file: str = "-", strict: bool = True
) -> Iterator[Sentence]:
    """Convert Arrow batches to sentences in CoNLL-U.

    The `line` of a sentence is its line number in a CoNLL-U file of all these sentences.

    Args:
        batches: Batches with the columns that are explained in `schema`.
        file: The name of their source, for errors.
        strict: Whether a row that is not a valid sentence raises FormatError; see
            `reader.read_lines`. A row without lists of equal lengths always does.

    Raises:
        FormatError: A column has a wrong type, a row is not a sentence, or a sentence is too large,
            see `depkit.files.limits`.
        ValueError: pyarrow is not installed.
    """
    return parse_batches(batches, file, strict=strict)


def parse_batches(
    batches: "Iterable[RecordBatch]",
    file: str,
    *,
    strict: bool,
    first: int = 0,
    line: int = 1,
    limit: int | None = None,
) -> Iterator[Sentence]:
    """Yield what `from_batches` yields; first, line: as for `read_parquet`; limit: of all bytes."""
    blocks = convert_batches(batches, file, first + 1, limit)
    for row, block in enumerate(blocks, start=first + 1):
        sentence = _parse_row(block, file, row, line=line, strict=strict)
        sentence.block = (row - 1) // BLOCK_ROWS
        yield sentence
        line += count_lines(block)


def count_lines(block: list[str]) -> int:
    """Return how many lines of a file the lines of a sentence are."""
    return len(block) - (block[0] == BOM)


def convert_batches(
    batches: "Iterable[RecordBatch]", file: str, row: int, limit: int | None = None
) -> Iterator[list[str]]:
    """Yield the lines of each row in CoNLL-U.

    row: the number of the first row; limit: the most bytes that all rows may have.
    """
    import_pyarrow()
    size = 0
    for batch in batches:
        check_types(batch.schema, file)
        with arrow_errors(file, f"row {row} or a row after it is damaged"):
            batch.validate(full=True)
        for part, part_size in divide(batch, file, row):
            size += part_size
            if limit and size > limit:
                message = f"the rows up to here have more than {limit:,} bytes, {MAX_REPETITION}"
                raise_row_error(file, row, f"{message} times the size of the file")
            blocks = decode(part, file, row)
            if "original" in part.schema.names and part["original"].null_count < len(part):
                _restore_originals(blocks, part["original"].to_pylist(), file, row)
            yield from blocks
            row += len(part)


def _restore_originals(
    blocks: list[list[str]], originals: Sequence[str | None], file: str, row: int
) -> None:
    """Replace blocks by those of the column `original`; both must have the same content."""
    indices, sentences = [], []
    for index, original in enumerate(originals):
        if original is not None:
            block = list(io.StringIO(original.removeprefix(BOM), newline="\n"))
            block = [BOM] * (original.startswith(BOM) and row + index == 1) + block
            if not "".join(block).strip(BOM + "\r\n"):
                raise_row_error(file, row + index, "original contains no sentence")
            indices.append(index)
            sentences.append(_parse_row(block, file, row + index, line=1, strict=True))
    for index, sentence, block in zip(
        indices, sentences, decode(encode(sentences), file, row), strict=True
    ):
        if block != blocks[index]:
            message = "original differs from the other columns; set it to null if they have changed"
            raise_row_error(file, row + index, message)
        blocks[index] = list(sentence.lines)


def _parse_row(block: list[str], file: str, row: int, *, line: int, strict: bool) -> Sentence:
    """Parse the lines of a sentence; line: the number of the first one."""
    if not strict:
        return parse_block(block, CONLLU, file, line, strict=strict)
    try:
        return parse_block(block, CONLLU, file, line, strict=strict)
    except FormatError as error:
        raise FormatError(file, 0, error.sent_id, f"row {row}: {error.message}") from None
