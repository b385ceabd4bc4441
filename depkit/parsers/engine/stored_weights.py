"""Make exported graphs smaller.

Their constants become references to the model's file of weights, or are stored with as few bits as
in that file.

The numbers do not change. A graph whose constants are in the file is smaller by their size, and
reads them from the file when it is loaded.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from depkit.parsers.engine.eight_bits import ROWS, SCALE, find_packed

_MIN_SHARED = 1024  # bytes; a smaller constant is copied


@dataclass(frozen=True)
class StoredWeights:
    """The content of a file of weights.

    content: its bytes; b"" if a graph must not refer to it.
    tensors: its tensors by name.
    """

    name: str
    content: bytes
    tensors: dict[str, np.ndarray]

    @property
    def scales(self) -> list[np.ndarray]:
        """The scales of all matrices with a scale for each column."""
        packed = find_packed(list(self.tensors))
        return [self.tensors[name + SCALE] for name, kind in packed.items() if kind != ROWS]

    def table(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the integers, [rows, size], and the scales, [rows], of a table in eight bits."""
        if name + ROWS not in self.tensors:
            return None
        return self.tensors[name + ROWS], self.tensors[name + SCALE]


NO_WEIGHTS = StoredWeights("", b"", {})


def read_stored_weights(path: Path) -> StoredWeights:
    """Read a file of weights, to which graphs in its directory refer."""
    content = path.read_bytes()
    return StoredWeights(path.name, content, load(content))


def share_weights(model: Any, weights: StoredWeights) -> Any:
    """Store the constants of a graph as in the file of weights, and refer to those there.

    model: an onnx.ModelProto in the directory of the file, which is changed and returned.
    """
    compress_tables(model, weights)
    compress_matrices(model, weights)
    compress_integers(model)
    refer_to_weights(model, weights)
    return model


def compress_tables(model: Any, weights: StoredWeights) -> None:
    """Store the tables of a graph as in the file of weights, or in 16 bits, in place.

    A table is a constant whose rows are looked up. Its numbers do not change: a table that is not
    in eight bits in the file, and cannot be stored exactly in 16 bits, stays as it is.

    model: an onnx.ModelProto.
    """
    from onnx import TensorProto, helper, numpy_helper

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        tensor = constants.get(node.input[0]) if node.op_type == "Gather" else None
        if tensor is None or len(tensor.dims) != 2 or tensor.data_type != TensorProto.FLOAT:
            continue
        if sum(tensor.name in other.input for other in model.graph.node) > 1:
            continue  # Its other users would read numbers of another type.
        array = numpy_helper.to_array(tensor)
        output, name = node.output[0], tensor.name
        stored, half = weights.table(name.removeprefix("network.")), array.astype(np.float16)
        if stored and np.array_equal(stored[0] * stored[1][:, None], array):
            integers, scales = stored
            scale = numpy_helper.from_array(scales[:, None], f"{name}.scale")
            model.graph.initializer.append(scale)
            tensor.CopyFrom(numpy_helper.from_array(integers, name))
            node.output[0] = f"{output}.integers"
            cast, factor = f"{output}.cast", f"{output}.row_scale"
            nodes += [
                helper.make_node("Cast", [node.output[0]], [cast], to=TensorProto.FLOAT),
                helper.make_node("Gather", [scale.name, node.input[1]], [factor]),
                helper.make_node("Mul", [cast, factor], [output]),
            ]
        elif np.array_equal(half.astype(np.float32), array):
            tensor.CopyFrom(numpy_helper.from_array(half, name))
            node.output[0] = f"{output}.half"
            nodes.append(helper.make_node("Cast", [node.output[0]], [output], to=TensorProto.FLOAT))
    replace_nodes(model, nodes)


def compress_matrices(model: Any, weights: StoredWeights) -> None:
    """Store the matrices of products in eight bits if they are so in the file, in place.

    model: an onnx.ModelProto. The products are computed with the same numbers in float32.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes = []
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        name = node.input[1] if node.op_type == "MatMul" else ""
        tensor = constants.pop(name, None)
        if tensor is not None and tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2:
            found = find_integers(numpy_helper.to_array(tensor), weights.scales)
            if found:
                tensor.CopyFrom(numpy_helper.from_array(found[0], f"{name}.integers"))
                model.graph.initializer.append(numpy_helper.from_array(found[1], f"{name}.scale"))
                cast, scale = f"{name}.cast", f"{name}.scale"
                nodes += [
                    helper.make_node("Cast", [tensor.name], [cast], to=TensorProto.FLOAT),
                    helper.make_node("Mul", [cast, scale], [name]),
                ]
        nodes.append(node)
    replace_nodes(model, nodes)


def compress_integers(model: Any) -> None:
    """Store large constants of 64-bit integers in fewer bits, and equal ones once, in place.

    model: an onnx.ModelProto. ONNX Runtime converts the integers back when it loads the graph.
    """
    from onnx import TensorProto, helper, numpy_helper

    kept, casts = [], []
    stored: dict[tuple[tuple[int, ...], bytes], str] = {}  # names by shape and content
    for tensor in model.graph.initializer:
        kept.append(tensor)
        if tensor.data_type != TensorProto.INT64 or len(tensor.raw_data) < _MIN_SHARED:
            continue
        array = numpy_helper.to_array(tensor)
        small = array.astype(np.min_scalar_type(array.max()))
        if array.min() < 0 or small.dtype.itemsize == array.dtype.itemsize:
            continue
        key = (tuple(tensor.dims), tensor.raw_data)
        name = stored.setdefault(key, f"{tensor.name}.small")
        kept.pop()
        if name == f"{tensor.name}.small":
            kept.append(numpy_helper.from_array(small, name))
        casts.append(helper.make_node("Cast", [name], [tensor.name], to=TensorProto.INT64))
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    replace_nodes(model, [*casts, *model.graph.node])


def find_integers(
    matrix: np.ndarray, scales: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the integers and scales whose product is a matrix; None if there are none.

    Args:
        matrix: [rows, columns].
        scales: Arrays of scales of columns, [columns]; those of other sizes are not tried.
    """
    for scale in scales:
        if scale.shape == matrix.shape[1:]:
            integers = np.rint(matrix / scale)
            if np.abs(integers).max() <= 127 and np.array_equal(
                integers.astype(np.int8) * scale, matrix
            ):
                return integers.astype(np.int8), scale
    return None


def refer_to_weights(model: Any, weights: StoredWeights) -> None:
    """Refer to the file of weights for each constant whose bytes are there, in place.

    model: an onnx.ModelProto that is stored in the directory of the file.
    """
    from onnx import TensorProto

    for tensor in model.graph.initializer:
        size = len(tensor.raw_data)
        if size < _MIN_SHARED or (start := weights.content.find(tensor.raw_data)) < 0:
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", weights.name), ("offset", start), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))


def replace_nodes(model: Any, nodes: list[Any]) -> None:
    """Replace all nodes of a graph, in place."""
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]
