"""The tables of vectors in a graph: stored as in the model's file of weights, or referred to."""

import json
from pathlib import Path
from typing import Any

import numpy as np


def compress_tables(model: Any, weights: Path | None) -> None:
    """Store the tables of a graph in 16 bits, or refer to those in a file of weights, in place.

    A table is a constant whose rows are looked up. Its numbers do not change: a table that cannot
    be stored exactly in 16 bits stays as it is.

    Args:
        model: An onnx.ModelProto.
        weights: A file of safetensors in the directory of the graph; None for no references.
    """
    from onnx import TensorProto, helper, numpy_helper

    stored = read_positions(weights) if weights else {}
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
        half = array.astype(np.float16)
        if not np.array_equal(half.astype(np.float32), array):
            continue
        tensor.CopyFrom(numpy_helper.from_array(half, tensor.name))
        name = tensor.name.removeprefix("network.")
        if name in stored and weights:
            kind, shape, start, size = stored[name]
            if kind == "F16" and shape == list(array.shape):
                tensor.ClearField("raw_data")
                tensor.data_location = TensorProto.EXTERNAL
                for key, value in (
                    ("location", weights.name), ("offset", start), ("length", size)
                ):  # fmt: skip
                    tensor.external_data.add(key=key, value=str(value))
        output = node.output[0]
        node.output[0] = f"{output}.half"
        nodes.append(helper.make_node("Cast", [node.output[0]], [output], to=TensorProto.FLOAT))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]


def read_positions(path: Path) -> dict[str, tuple[str, list[int], int, int]]:
    """Read where the tensors of a file of safetensors are.

    Returns for each name the type, the shape, the position of the first byte, and the number of
    bytes.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    return {
        name: (
            entry["dtype"], entry["shape"],
            8 + size + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
        )
        for name, entry in header.items()
        if name != "__metadata__"
    }  # fmt: skip
