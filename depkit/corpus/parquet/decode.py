"""From the columns of a batch, which `schema` explains, to the lines of sentences in CoNLL-U."""

from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.formats import CONLLU
from depkit.corpus.parquet.arrow import raise_row_error
from depkit.corpus.parquet.schema import LISTS

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch


def decode(batch: "RecordBatch", file: str, row: int) -> list[list[str]]:
    """Return the lines of the sentences that the columns describe; `original` is not read.

    row: the number of the first row, for errors.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = batch.schema.names
    lengths = pc.fill_null(batch["tokens"].value_lengths(), 0).to_numpy()
    if not lengths.all():
        raise_row_error(file, row + int(lengths.argmin()), "there are no tokens")
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], lengths)
    cells = [pa.array(ids).cast(pa.string())]
    for name in LISTS:
        if name not in names or pa.types.is_null(batch[name].type):
            cells.append(pa.array(["_"] * len(ids)))
            continue
        values = _flatten(batch[name], lengths, file=file, row=row, name=name)
        if name == "tokens" and values.null_count:
            word = values.is_null().index(True).as_py()
            index = int(np.searchsorted(offsets, word, side="right")) - 1
            message = f"token {word - offsets[index] + 1} is null"
            raise_row_error(file, row + index, message)
        cells.append(values.cast(pa.string()).fill_null("_"))
    joined = pc.binary_join_element_wise(*cells, "\t")
    lines = pc.binary_join_element_wise(joined, "\n", "").to_numpy(zero_copy_only=False).tolist()
    lists = {
        name: _decode_texts(batch[name]).to_pylist() if name in names else [None] * len(batch)
        for name in ("sent_id", "text", "comments", "mwt", "empty_nodes")
    }
    blocks = []
    for index in range(len(batch)):
        record: dict[str, Any] = {name: column[index] for name, column in lists.items()}
        words = lines[offsets[index] : offsets[index + 1]]
        for name in ("empty_nodes", "mwt"):
            if record[name] and None in record[name]:
                raise_row_error(file, row + index, f"there is a null in {name}")
        if record["mwt"] or record["empty_nodes"]:
            words = _insert_extras(words, record["mwt"] or [], record["empty_nodes"] or [])
        comments = record["comments"]
        if comments is None:
            values = [(name, record[name]) for name in ("sent_id", "text") if record[name]]
            comments = [f"# {name} = {value}" for name, value in values]
        if not all(comment and comment[0] == "#" for comment in comments):
            raise_row_error(file, row + index, "an entry of comments does not begin with #")
        blocks.append([*[f"{comment}\n" for comment in comments], *words, "\n"])
    return blocks


def _decode_texts(column: "Array") -> "Array":
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
        raise_row_error(file, row + index, message)
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
