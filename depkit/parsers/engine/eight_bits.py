"""Weights that a file stores in eight bits, with a scale for each row or each column.

Such a weight NAME is two tensors in the file: NAME.scale in float32, and its integers, int8, whose
name says how they are stored:

- NAME.rows: integers * scale[:, None], for tables of vectors
- NAME.columns: integers * scale, for matrices with which vectors are multiplied on their right
- NAME.transposed: (integers * scale).T, the same for the weights of linear layers

The scales of columns are those with which `static_quantisation` computes, so that the graphs of the
model refer to these integers instead of having a copy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ROWS, COLUMNS, TRANSPOSED = ".rows", ".columns", ".transposed"
SCALE = ".scale"
MAX_ROW = 127
MAX_COLUMN = 63  # seven bits, see `static_quantisation`


def quantize_columns(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a matrix to integers; each column has its own scale.

    matrix: [rows, columns]. Returns int8 [rows, columns], and the scales, [columns].
    """
    scales = np.maximum(np.abs(matrix).max(0) / MAX_COLUMN, 1e-12).astype(np.float32)
    return np.rint(matrix / scales).astype(np.int8), scales


def quantize_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a matrix to integers; each row has its own scale.

    matrix: [rows, columns]. Returns int8 [rows, columns], and the scales, [rows].
    """
    scales = np.maximum(np.abs(matrix).max(1) / MAX_ROW, 1e-12).astype(np.float32)
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


def pack(name: str, matrix: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    """Quantise a weight; return the two tensors to store by name.

    kind: ROWS, COLUMNS or TRANSPOSED.
    """
    if kind == ROWS:
        integers, scale = quantize_rows(matrix)
    else:
        integers, scale = quantize_columns(matrix.T if kind == TRANSPOSED else matrix)
    return {name + kind: integers, name + SCALE: scale}


def find_packed(names: Sequence[str]) -> dict[str, str]:
    """Find the weights that are stored in eight bits: for each, the kind by the weight's name."""
    kinds = (ROWS, COLUMNS, TRANSPOSED)
    return {
        name.removesuffix(kind): kind
        for name in names
        for kind in kinds
        if name.endswith(kind) and name.removesuffix(kind) + SCALE in names
    }


def unpack(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of a file in float32, or as they are if they are not in eight bits.

    tensors: the arrays of numpy or the tensors of torch in the file. Raises ValueError if the
    number of scales is not that of the rows or columns.
    """
    packed = find_packed(list(tensors))
    weights = {}
    for name, kind in packed.items():
        integers, scale = tensors[name + kind], tensors[name + SCALE]
        if tuple(scale.shape) != tuple(integers.shape[:1] if kind == ROWS else integers.shape[1:]):
            raise ValueError(f"the tensors {name + kind!r} and {name + SCALE!r} do not fit")
        matrix = integers * (scale[:, None] if kind == ROWS else scale)
        weights[name] = matrix.T if kind == TRANSPOSED else matrix
    parts = {name + suffix for name, kind in packed.items() for suffix in (kind, SCALE)}
    return weights | {name: tensor for name, tensor in tensors.items() if name not in parts}


def unpack_shapes(shapes: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Return the shapes of the weights of a file, from the shapes of its tensors."""
    packed = find_packed(list(shapes))
    parts = {name + suffix for name, kind in packed.items() for suffix in (kind, SCALE)}
    unpacked = {
        name: shapes[name + kind][:: -1 if kind == TRANSPOSED else 1]
        for name, kind in packed.items()
    }
    return unpacked | {name: shape for name, shape in shapes.items() if name not in parts}
