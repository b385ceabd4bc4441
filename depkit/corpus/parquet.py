r"""Sentences as Parquet files and as Arrow batches, one row per sentence; this needs pyarrow.

The columns are named as in the collection of Universal Dependencies on the Hugging Face hub:

| column | type | content |
|---|---|---|
| sent_id, text | string | the values of these comments, null if there are none |
| comments | list of strings | all comment lines, with `#` and without line ends |
| tokens, lemmas, upos, xpos, feats, deprel, deps, misc | list of strings | the cells of the words |
| head | list of int32 | 0 for the root, null for `_` |
| mwt | list of structs | multiword ranges: id, form, feats, misc |
| empty_nodes | list of structs | empty nodes, with all ten columns of CoNLL-U |
| arc_prob, label_prob | list of float64 | ArcProb and LabelProb of MISC, null if there are none |
| original | string | the lines of the sentence, if the columns above do not determine them |

On the hub, HEAD is text; here it is a number, so that it can be compared. In its older versions,
UPOS is a number, and FEATS, DEPS and MISC are printed Python dictionaries; here all cells are the
text of CoNLL-U, so that nothing is lost. The last three columns are not on the hub. `original` is
for sentences with \r\n, a byte order mark, blank lines in unusual positions, HEAD with leading
zeros, or unusual ranges.

Only `tokens` is required for reading. A missing list or a null in a list is read as `_`, and
without `comments`, sent_id and text become comments. Other columns are ignored, also `arc_prob` and
`label_prob`, which repeat MISC.
"""

import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import numpy as np

from depkit.corpus.formats import CONLLU
from depkit.corpus.parquet_pages import check_metadata, check_row_group
from depkit.corpus.probabilities import ARC_PROB, LABEL_PROB
from depkit.corpus.reader import parse_block
from depkit.corpus.sentence import Sentence, as_iterable
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.files.limits import OBJECT, max_sentence, too_large
from depkit.files.storage import file_size

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Schema
    from pyarrow.parquet import ParquetFile

# The first bytes of every Parquet file: the magic number PAR1 and the first byte of a header. A
# text can also begin with PAR1, but not with this control character after it.
MAGIC = b"PAR1\x15"
# The names of the columns FORM, LEMMA, ... of CoNLL-U.
_LISTS = ("tokens", "lemmas", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_RANGE_FIELDS = ("id", "form", "feats", "misc")
_PROBABILITIES = {"arc_prob": ARC_PROB, "label_prob": LABEL_PROB}
# A batch, which is a row group of a file, ends at these numbers of sentences or characters.
_BATCH_SENTENCES = 2000
_BATCH_CHARACTERS = 1 << 22
BLOCK_ROWS = 500  # rows of a block of a file, about 12,000 words; see `blocks`
_COPY = 1 << 20  # bytes copied at a time
_MAX_REPETITION = 1000  # how many times as large as its file the text of all rows can be
_MAX_PACKING = 100  # how many times as large as its archive a Parquet file can be


def to_batches(sentences: Sentence | Iterable[Sentence]) -> "Iterator[RecordBatch]":
    """Convert sentences in CoNLL-U to Arrow batches of limited size, one batch at a time.

    The columns are explained at the top of this module. A byte order mark is kept only before the
    first sentence.

    Raises:
        FormatError: A sentence is in another format, is broken, or contains lone surrogates.
        ValueError: pyarrow is not installed.
    """
    import_pyarrow()
    block: list[Sentence] = []
    size = 0
    for number, sentence in enumerate(as_iterable(sentences)):
        if number and sentence.lines[0] == BOM:
            sentence = parse_block(
                sentence.lines[1:], CONLLU, sentence.file, sentence.line, strict=True
            )
        block.append(sentence)
        size += sum(map(len, sentence.lines))
        if len(block) == _BATCH_SENTENCES or size >= _BATCH_CHARACTERS:
            yield _make_batch(block)
            block, size = [], 0
    if block:
        yield _make_batch(block)


def from_batches(
    batches: "Iterable[RecordBatch]", file: str = "-", strict: bool = True
) -> Iterator[Sentence]:
    """Convert Arrow batches to sentences in CoNLL-U.

    The `line` of a sentence is its line number in a CoNLL-U file of all these sentences.

    Args:
        batches: Batches with the columns that are explained at the top of this module.
        file: The name of their source, for errors.
        strict: Whether a row that is not a valid sentence raises FormatError; see
            `reader.read_lines`. A row without lists of equal lengths always does.

    Raises:
        FormatError: A column has a wrong type, a row is not a sentence, or a sentence is too large,
            see `limits`.
        ValueError: pyarrow is not installed.
    """
    return _parse_batches(batches, file, strict=strict)


def _parse_batches(
    batches: "Iterable[RecordBatch]",
    file: str,
    *,
    strict: bool,
    first: int = 0,
    line: int = 1,
    limit: int | None = None,
) -> Iterator[Sentence]:
    """Yield what `from_batches` yields; first, line: as for `read_parquet`; limit: of all bytes."""
    blocks = _convert_batches(batches, file, first + 1, limit)
    for row, block in enumerate(blocks, start=first + 1):
        sentence = _parse_row(block, file, row, line=line, strict=strict)
        sentence.block = (row - 1) // BLOCK_ROWS
        yield sentence
        line += _count_lines(block)


def _count_lines(block: list[str]) -> int:
    return len(block) - (block[0] == BOM)


def _convert_batches(
    batches: "Iterable[RecordBatch]", file: str, row: int, limit: int | None = None
) -> Iterator[list[str]]:
    """Yield the lines of each row in CoNLL-U.

    row: the number of the first row; limit: the most bytes that all rows may have.
    """
    import_pyarrow()
    size = 0
    for batch in batches:
        _check_types(batch.schema, file)
        with _arrow_errors(file, f"row {row} or a row after it is damaged"):
            batch.validate(full=True)
        for part, part_size in _divide(batch, file, row):
            size += part_size
            if limit and size > limit:
                message = f"the rows up to here have more than {limit:,} bytes, {_MAX_REPETITION}"
                _raise_row_error(file, row, f"{message} times the size of the file")
            blocks = _make_blocks(part, file, row)
            if "original" in part.schema.names and part["original"].null_count < len(part):
                _restore_originals(blocks, part["original"].to_pylist(), file, row)
            yield from blocks
            row += len(part)


def write_parquet(sentences: Sentence | Iterable[Sentence], binary: BinaryIO) -> int:
    """Write sentences in CoNLL-U to a binary stream as a Parquet file, and return their number.

    Raises the errors of `to_batches`.
    """
    import_pyarrow()
    from pyarrow.parquet import ParquetWriter

    count = 0
    with ParquetWriter(
        binary, _make_schema(), compression="zstd", write_page_checksum=True
    ) as writer:
        for batch in to_batches(sentences):
            writer.write_batch(batch)
            count += len(batch)
    return count


def find_block_lines(binary: BinaryIO, file: str) -> list[int]:
    """Return the line number of the first row of each block of a Parquet file.

    An empty file has one block. Lines are counted as in `from_batches`. Raises the errors of
    `read_parquet`.
    """
    lines = [1]
    line = 1
    blocks = _convert_batches(_read_batches(binary, file), file, 1, _limit_rows(binary))
    for row, block in enumerate(blocks):
        if row and not row % BLOCK_ROWS:
            lines.append(line)
        line += _count_lines(block)
    return lines


def read_parquet(
    binary: BinaryIO,
    file: str = "-",
    *,
    strict: bool = True,
    first: int = 0,
    stop: int | None = None,
    line: int = 1,
) -> Iterator[Sentence]:
    """Read the sentences of a Parquet file, a few hundred at a time.

    A stream that cannot seek, such as a pipe, is first copied to a temporary file, because the
    metadata of a Parquet file are at its end.

    Args:
        binary: The stream, which is not closed.
        file: The name of the stream, for errors.
        strict: As for `from_batches`.
        first: The index of the first row to read.
        stop: The index of the row after the last row to read; None to read to the end of the file.
        line: The line number of the first row, as in `from_batches`.

    Raises:
        FormatError: The file is not a Parquet file or is damaged; and the errors of `from_batches`.
        ValueError: pyarrow is not installed.
    """
    import_pyarrow()
    with ExitStack() as stack:
        if not (isinstance(binary, io.BufferedReader) and binary.seekable()):
            copy = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))
            _copy_limited(binary, copy, file)
            binary = copy
        batches = _read_batches(binary, file, first, stop)
        yield from _parse_batches(
            batches, file, strict=strict, first=first, line=line, limit=_limit_rows(binary)
        )


def _limit_rows(binary: BinaryIO) -> int:
    """Return the most bytes of text of a file, in which a text that is repeated is stored once."""
    return _MAX_REPETITION * (binary.seek(0, 2) + (max_sentence() >> 6))


def _copy_limited(binary: BinaryIO, copy: BinaryIO, file: str) -> None:
    """Copy a stream to a file. Raises FormatError if an archive is far smaller than its content.

    The pages of a Parquet file are compressed themselves, so that packing gains little.
    """
    limit = None
    if file.lower().endswith((".gz", ".xz")):
        limit = max_sentence() + _MAX_PACKING * file_size(file)
    size = 0
    while chunk := binary.read(_COPY):
        size += len(chunk)
        if limit is not None and size > limit:
            message = f"the archive is unpacked to more than {limit:,} bytes, {_MAX_PACKING} times"
            raise FormatError(file, 0, "", f"{message} its size; unpack it first, and check it")
        copy.write(chunk)
    copy.seek(0)


def is_parquet(binary: BinaryIO) -> bool:
    """Return whether the next bytes of a stream begin a Parquet file, without consuming them."""
    peek = getattr(binary, "peek", None)
    return bool(peek and peek(len(MAGIC))[: len(MAGIC)] == MAGIC)


def import_pyarrow() -> Any:
    """Return the module pyarrow. Raises ValueError if it is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise ValueError("Parquet needs pyarrow: pip install 'depkit-parser[parquet]'") from None
    return pyarrow


def _make_schema() -> "Schema":
    import pyarrow as pa

    strings = pa.list_(pa.string())
    types = {"sent_id": pa.string(), "text": pa.string(), "comments": strings}
    types |= {name: pa.list_(pa.int32()) if name == "head" else strings for name in _LISTS}
    for name, fields in (("mwt", _RANGE_FIELDS), ("empty_nodes", CONLLU.columns)):
        types[name] = pa.list_(pa.struct([(field, pa.string()) for field in fields]))
    types |= {name: pa.list_(pa.float64()) for name in _PROBABILITIES}
    types["original"] = pa.string()
    return pa.schema(list(types.items()))


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
    batch = _encode(sentences)
    blocks = _make_blocks(batch, "-", 1)
    originals = [
        None if block == sentence.lines else str(sentence)
        for block, sentence in zip(blocks, sentences, strict=True)
    ]
    index = batch.schema.get_field_index("original")
    return batch.set_column(index, batch.schema.field(index), import_pyarrow().array(
        originals, batch.schema.field(index).type
    ))  # fmt: skip


def _encode(sentences: Sequence[Sentence]) -> "RecordBatch":
    """Make a batch of valid sentences; its column `original` is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = len(CONLLU.columns)
    rows = [sentence.lines[row].rstrip("\r\n") for sentence in sentences for row in sentence.rows]
    cells = pc.split_pattern(pa.array(rows, pa.string()), "\t").flatten()
    offsets = pa.array(accumulate(map(len, sentences), initial=0), pa.int32())
    schema = _make_schema()
    values: dict[str, Any] = {
        name: cells.take(pa.array(np.arange(index, len(cells), width)))
        for index, name in enumerate(_LISTS, start=1)
    }
    heads = values["head"]
    values["head"] = pc.if_else(pc.equal(heads, "_"), None, heads).cast(pa.int32())
    columns = {
        name: pa.ListArray.from_arrays(offsets, column, type=schema.field(name).type)
        for name, column in values.items()
    }
    for name, key in _PROBABILITIES.items():
        columns[name] = _extract_probabilities(values["misc"], offsets, key)
    extras = [_split_extras(sentence) for sentence in sentences]
    lists = {
        "sent_id": [sentence.sent_id or None for sentence in sentences],
        "text": [sentence.text or None for sentence in sentences],
        "comments": [comments for comments, _, _ in extras],
        "mwt": [ranges for _, ranges, _ in extras],
        "empty_nodes": [nodes for _, _, nodes in extras],
        "original": [None] * len(sentences),
    }
    columns |= {name: pa.array(lists[name], schema.field(name).type) for name in lists}
    return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def _extract_probabilities(misc: "Array", offsets: "Array", key: str) -> "Array":
    """Return the lists of the numbers of a key in MISC, null for sentences without any."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = rf"(?:^|\|){key}=(?P<number>[0-9]+(?:\.[0-9]+)?)(?:\||$)"
    size = len(offsets) - 1
    if not pc.any(pc.match_substring(misc, f"{key}=")).as_py():
        return pa.nulls(size, pa.list_(pa.float64()))
    numbers = pc.struct_field(pc.extract_regex(misc, pattern), 0).cast(pa.float64())
    is_number = numbers.is_valid().to_numpy(zero_copy_only=False)
    has_numbers = np.logical_or.reduceat(is_number, offsets.to_numpy()[:-1])
    return pa.ListArray.from_arrays(offsets, numbers, mask=pa.array(~has_numbers))


def _split_extras(sentence: Sentence) -> tuple[list[str], list[dict], list[dict]]:
    """Return a sentence's comments, multiword ranges and empty nodes."""
    lines, rows = sentence.lines, sentence.rows
    first_row = next(index for index, line in enumerate(lines) if line[:1].isdigit())
    comments = [line.rstrip("\r\n") for line in lines[:first_row] if line.startswith("#")]
    ranges, nodes = [], []
    if rows[-1] - first_row >= len(rows) or lines[rows[-1] + 1 :] != ["\n"]:
        words = set(rows)
        for index in range(first_row, len(lines)):
            if index in words or lines[index].isspace():
                continue
            cells = lines[index].rstrip("\r\n").split("\t")
            row = dict(zip(CONLLU.columns, cells, strict=True))
            if "-" in row["id"]:
                ranges.append({name: row[name] for name in _RANGE_FIELDS})
            else:
                nodes.append(row)
    return comments, ranges, nodes


def _make_blocks(batch: "RecordBatch", file: str, row: int) -> list[list[str]]:
    """Return the lines of the sentences that the columns describe; `original` is not read.

    row: the number of the first row, for errors.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = batch.schema.names
    lengths = pc.fill_null(batch["tokens"].value_lengths(), 0).to_numpy()
    if not lengths.all():
        _raise_row_error(file, row + int(lengths.argmin()), "there are no tokens")
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], lengths)
    cells = [pa.array(ids).cast(pa.string())]
    for name in _LISTS:
        if name not in names or pa.types.is_null(batch[name].type):
            cells.append(pa.array(["_"] * len(ids)))
            continue
        values = _flatten(batch[name], lengths, file=file, row=row, name=name)
        if name == "tokens" and values.null_count:
            word = values.is_null().index(True).as_py()
            index = int(np.searchsorted(offsets, word, side="right")) - 1
            message = f"token {word - offsets[index] + 1} is null"
            _raise_row_error(file, row + index, message)
        cells.append(values.cast(pa.string()).fill_null("_"))
    joined = pc.binary_join_element_wise(*cells, "\t")
    lines = pc.binary_join_element_wise(joined, "\n", "").to_numpy(zero_copy_only=False).tolist()
    lists = {
        name: _decode(batch[name]).to_pylist() if name in names else [None] * len(batch)
        for name in ("sent_id", "text", "comments", "mwt", "empty_nodes")
    }
    blocks = []
    for index in range(len(batch)):
        record: dict[str, Any] = {name: column[index] for name, column in lists.items()}
        words = lines[offsets[index] : offsets[index + 1]]
        for name in ("empty_nodes", "mwt"):
            if record[name] and None in record[name]:
                _raise_row_error(file, row + index, f"there is a null in {name}")
        if record["mwt"] or record["empty_nodes"]:
            words = _insert_extras(words, record["mwt"] or [], record["empty_nodes"] or [])
        comments = record["comments"]
        if comments is None:
            values = [(name, record[name]) for name in ("sent_id", "text") if record[name]]
            comments = [f"# {name} = {value}" for name, value in values]
        if not all(comment and comment[0] == "#" for comment in comments):
            _raise_row_error(file, row + index, "an entry of comments does not begin with #")
        blocks.append([*[f"{comment}\n" for comment in comments], *words, "\n"])
    return blocks


def _decode(column: "Array") -> "Array":
    """Replace indices of a dictionary by its texts, which become Python objects far faster."""
    import pyarrow as pa

    def decoded(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return kind.value_type
        if pa.types.is_list(kind):
            return pa.list_(decoded(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, decoded(field.type)) for field in kind])
        return kind

    return column.cast(decoded(column.type))


def _flatten(column: "Array", lengths: np.ndarray, *, file: str, row: int, name: str) -> "Array":
    """Return the values of a column of lists; a null list is replaced by one null for each word.

    Raises FormatError if the length of any other list is not the number of tokens.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = pc.fill_null(column.value_lengths(), -1).to_numpy()
    different = (sizes != lengths) & (sizes >= 0)
    if different.any():
        index = int(different.argmax())
        message = f"{name} has {sizes[index]} values, but there are {lengths[index]} tokens"
        _raise_row_error(file, row + index, message)
    if column.null_count:
        pairs = zip(column.to_pylist(), lengths, strict=True)
        column = pa.array([[None] * n if x is None else x for x, n in pairs], column.type)
    return column.flatten()


def _insert_extras(words: list[str], ranges: list[dict], nodes: list[dict]) -> list[str]:
    """Insert the lines of empty nodes and ranges among the lines of words.

    An empty node follows its word, and a range precedes its first word. One with an invalid id is
    put at the end, where the reader reports it.
    """
    extras: dict[int, list[str]] = {}
    for row, separator, shift in [(x, ".", 0) for x in nodes] + [(x, "-", 1) for x in ranges]:
        cells = [row.get(name) or "_" for name in CONLLU.columns]
        number = cells[0].partition(separator)[0]
        position = len(words)
        if number.isascii() and number.isdigit() and len(number) < 10:
            position = max(0, min(int(number) - shift, position))
        extras.setdefault(position, []).append("\t".join(cells) + "\n")
    lines = extras.get(0, [])
    for number, word in enumerate(words, start=1):
        lines.append(word)
        lines += extras.get(number, [])
    return lines


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
                _raise_row_error(file, row + index, "original contains no sentence")
            indices.append(index)
            sentences.append(_parse_row(block, file, row + index, line=1, strict=True))
    for index, sentence, block in zip(
        indices, sentences, _make_blocks(_encode(sentences), file, row), strict=True
    ):
        if block != blocks[index]:
            message = "original differs from the other columns; set it to null if they have changed"
            _raise_row_error(file, row + index, message)
        blocks[index] = list(sentence.lines)


def _parse_row(block: list[str], file: str, row: int, *, line: int, strict: bool) -> Sentence:
    """Parse the lines of a sentence; line: the number of the first one."""
    if not strict:
        return parse_block(block, CONLLU, file, line, strict=strict)
    try:
        return parse_block(block, CONLLU, file, line, strict=strict)
    except FormatError as error:
        raise FormatError(file, 0, error.sent_id, f"row {row}: {error.message}") from None


def _raise_row_error(file: str, row: int, message: str) -> NoReturn:
    raise FormatError(file, 0, "", f"row {row}: {message}")


def _check_types(schema: "Schema", file: str) -> None:
    """Raise FormatError if there are no tokens, or a column that is read has a wrong type."""
    import pyarrow as pa
    from pyarrow import types

    def is_text(type: Any) -> bool:
        if types.is_dictionary(type):
            type = type.value_type
        return types.is_string(type) or types.is_large_string(type) or types.is_null(type)

    def is_list(type: Any) -> bool:
        return types.is_list(type) or types.is_large_list(type)

    if schema.names.count("tokens") != 1 or types.is_null(schema.field("tokens").type):
        message = "the file has no column tokens, so it has no sentences"
        raise FormatError(file, 0, "", message)
    for name, expected in zip(_make_schema().names, _make_schema().types, strict=True):
        if name not in schema.names or name in _PROBABILITIES:
            continue
        if schema.names.count(name) > 1:
            raise FormatError(file, 0, "", f"there are two columns {name}")
        actual = schema.field(name).type
        value = actual.value_type if is_list(actual) else pa.null()
        if types.is_null(actual):
            is_correct = True
        elif types.is_string(expected):
            is_correct = is_text(actual)
        elif name in ("mwt", "empty_nodes"):
            is_correct = types.is_struct(value) and all(is_text(field.type) for field in value)
        else:
            is_entry = is_text(value) or (name == "head" and types.is_integer(value))
            is_correct = is_list(actual) and is_entry
        if not is_correct:
            found = " ".join(str(actual).split())[:80]
            raise FormatError(file, 0, "", f"the column {name} is {found} instead of {expected}")


def _divide(batch: "RecordBatch", file: str, row: int) -> "Iterator[tuple[RecordBatch, int]]":
    """Divide a batch into batches that have at most the size of a sentence, and their sizes.

    row: the number of the first row. Raises FormatError if a row exceeds the limit of a sentence.
    """
    limit = max_sentence()
    sizes = np.zeros(len(batch), np.int64)
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        sizes += _measure(values, 1 if name in _LISTS[1:] else OBJECT)
    if sizes.max(initial=0) > limit:
        message = too_large(file, 0, "sentence").message
        _raise_row_error(file, row + int(np.argmax(sizes > limit)), message)
    ends = sizes.cumsum()
    start = 0
    while start < len(batch):
        end = int(np.searchsorted(ends, ends[start] - sizes[start] + limit, side="right"))
        yield batch[start:end], int(sizes[start:end].sum())
        start = end


def _measure(values: "Array", entry: int) -> np.ndarray:
    """Return the number of bytes of each value as text; each entry of a list has `entry` more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        lengths = np.append(_measure(values.dictionary, entry), 0)
        return lengths[pc.fill_null(values.indices, len(lengths) - 1).to_numpy()]
    if pa.types.is_struct(kind):
        return np.sum([_measure(field, entry) for field in values.flatten()], axis=0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.append(0, (_measure(values.flatten(), entry) + entry).cumsum())
        counts = pc.fill_null(values.value_lengths(), 0).to_numpy().cumsum()
        return np.diff(ends[counts], prepend=0)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(pc.binary_length(values), 0).to_numpy()
    return np.zeros(len(values), np.int64)


def _read_batches(
    binary: BinaryIO, file: str, first: int = 0, stop: int | None = None
) -> "Iterator[RecordBatch]":
    """Yield batches of the known columns, in which a text that is repeated is stored once.

    first, stop: As for `read_parquet`.
    """
    check_metadata(binary, file)
    with _arrow_errors(file, "the file is not a Parquet file, or it is damaged"):
        parquet = _open(binary)
        metadata = parquet.metadata
        schema = parquet.schema_arrow
        _check_types(schema, file)
        names = [name for name in _make_schema().names if name not in _PROBABILITIES]
        names = [name for name in names if name in schema.names]
        leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        texts = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
        paths = [leaf.path for leaf in leaves]
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    if len(set(paths)) < len(paths):
        raise FormatError(file, 0, "", "two columns have the same name")
    if sum(group.num_rows for group in groups) != metadata.num_rows:
        raise FormatError(file, 0, "", "the row groups have more or fewer rows than the file")
    stop = metadata.num_rows if stop is None else stop
    end = offset = 0
    for index, group in enumerate(groups):
        start, end = end, end + group.num_rows
        if start >= stop or end <= first:
            continue
        if group.num_columns != metadata.num_columns or group.num_rows < 0:
            raise FormatError(file, 0, "", "a row group has too few or too many columns or rows")
        with _arrow_errors(file, f"row {start + 1} or a row after it cannot be read"):
            columns = {
                path: group.column(number)
                for number, path in enumerate(paths)
                if path.partition(".")[0] in names
            }
            size, offset, indices = check_row_group(
                columns, group.num_rows, binary=binary, file=file, after=offset
            )
            indices = {path: counts for path, counts in indices.items() if path in texts}
            repetitive = _find_repetitive(binary, metadata, index, indices)
            parquet = _open(binary, metadata=metadata, read_dictionary=repetitive)
            rows = 1 + max_sentence() * group.num_rows // max(size, 1)
            batches = parquet.iter_batches(
                min(rows, _BATCH_SENTENCES), [index], names, use_threads=False
            )
        row = start
        while True:
            with _arrow_errors(file, f"row {row + 1} or a row after it cannot be read"):
                batch = next(batches, None)
            if batch is None:
                break
            begin, row = row, row + len(batch)
            if begin < stop and row > first:
                yield batch[max(0, first - begin) : stop - begin]
        if row != end:
            message = f"the file has {row} rows instead of {end}; it is damaged"
            raise FormatError(file, 0, "", message)


def _open(binary: BinaryIO, **options: Any) -> "ParquetFile":
    from pyarrow.parquet import ParquetFile

    return ParquetFile(
        binary, buffer_size=1 << 16, pre_buffer=False, page_checksum_verification=True, **options
    )


def _find_repetitive(
    binary: BinaryIO, metadata: Any, group: int, indices: dict[str, tuple[int, bool]]
) -> list[str]:
    """Return the columns of a row group that must be read with a dictionary of their texts.

    Otherwise, small indices become many copies of a large text. But where a column also has texts
    without indices, pyarrow's dictionary grows with each of them.

    metadata, group, indices: see `check_row_group`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    repetitive = []
    copies = 4 * max_sentence()  # bytes of all copies
    for path, (count, is_complete) in indices.items():
        size = 0
        if not is_complete:
            parquet = _open(binary, metadata=metadata, read_dictionary=[path])
            values = next(parquet.iter_batches(1, [group], [path], use_threads=False)).column(0)
            while not pa.types.is_dictionary(values.type):
                is_struct = pa.types.is_struct(values.type)
                values = values.field(0) if is_struct else values.flatten()
            size = count * (pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
        if is_complete or size > copies:
            repetitive.append(path)
        else:
            copies -= size
    return repetitive


@contextmanager
def _arrow_errors(file: str, message: str) -> Iterator[None]:
    """Turn the errors of Arrow about the content of a file into FormatError."""
    from pyarrow import ArrowException

    try:
        yield
    except FormatError:
        raise
    except (ArrowException, OSError, ValueError, OverflowError, StopIteration) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        reason = " ".join(str(error).split())[:200]
        raise FormatError(file, 0, "", f"{message}: {reason}") from None
