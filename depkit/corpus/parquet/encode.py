"""From sentences to the columns of a batch, which `schema` explains."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.formats import CONLLU
from depkit.corpus.parquet.schema import LISTS, PROBABILITIES, RANGE_FIELDS, make_schema
from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch


def encode(sentences: Sequence[Sentence]) -> "RecordBatch":
    """Make a batch of valid sentences; its column `original` is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = len(CONLLU.columns)
    rows = [sentence.lines[row].rstrip("\r\n") for sentence in sentences for row in sentence.rows]
    cells = pc.split_pattern(pa.array(rows, pa.string()), "\t").flatten()
    offsets = pa.array(accumulate(map(len, sentences), initial=0), pa.int32())
    schema = make_schema()
    values: dict[str, Any] = {
        name: cells.take(pa.array(np.arange(index, len(cells), width)))
        for index, name in enumerate(LISTS, start=1)
    }
    heads = values["head"]
    values["head"] = pc.if_else(pc.equal(heads, "_"), None, heads).cast(pa.int32())
    columns = {
        name: pa.ListArray.from_arrays(offsets, column, type=schema.field(name).type)
        for name, column in values.items()
    }
    for name, key in PROBABILITIES.items():
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
    first_row = sentence.first_row
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
                ranges.append({name: row[name] for name in RANGE_FIELDS})
            else:
                nodes.append(row)
    return comments, ranges, nodes
