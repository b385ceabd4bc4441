"""Static quantisation of a graph: products with constant matrices are computed in eight bits.

The scales of the inputs are fixed, so the result for a sentence does not depend on the other
sentences in the batch. The matrices have seven bits: a sum of two products with an input of eight
bits then fits in sixteen bits, in which CPUs without VNNI instructions add them, and all CPUs get
the same sums.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from depkit.parsers.engine.eight_bits import quantize_columns
from depkit.parsers.engine.stored_weights import (
    NO_WEIGHTS,
    StoredWeights,
    find_integers,
    replace_nodes,
)

_MAX_INPUT = 255
# The ranges of an input that are tried, as shares of the range of its values in calibration
_RANGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
_SAMPLE = 1024  # about so many rows of an input are used to compare ranges
_MIN_SIZE = 16  # the smallest matrix dimension for which it pays

Arrays = Mapping[str, np.ndarray]


def quantize_products(
    model: Any, calibration: Sequence[Arrays], weights: StoredWeights = NO_WEIGHTS
) -> None:
    """Quantize the products of a graph with constant matrices, in place.

    Args:
        model: An onnx.ModelProto.
        calibration: Inputs of the graph; the range of each product's input is determined on them.
        weights: The file of the weights; weights that it stores in eight bits keep these integers.
    """
    import onnx
    from onnx import helper, numpy_helper

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    products = defaultdict(list)  # by their inputs, which are quantized once
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants:
            dims = constants[node.input[1]].dims
            if len(dims) == 2 and min(dims) >= _MIN_SIZE:
                products[node.input[0]].append(node)
    if not products:
        return
    samples = _sample(model, list(products), calibration)
    nodes: dict[str, list[Any]] = {}  # the new nodes, by the output of the product they replace
    replaced = set()
    for name, consumers in products.items():
        matrices = [numpy_helper.to_array(constants[node.input[1]]) for node in consumers]
        scale, zero = choose_range(samples[name], np.concatenate(matrices, axis=1))
        constant = (("scale", np.array(scale, np.float32)), ("zero", np.array(zero, np.uint8)))
        for suffix, value in constant:
            model.graph.initializer.append(numpy_helper.from_array(value, f"{name}.{suffix}"))
        inputs = [f"{name}.{part}" for part in ("quantized", "scale", "zero")]
        quantize = helper.make_node("QuantizeLinear", [name, *inputs[1:]], inputs[:1])
        for node, matrix in zip(consumers, matrices, strict=True):
            weight = node.input[1]
            found = find_integers(matrix, weights.scales)
            integers, scales = found or quantize_columns(matrix)
            for suffix, value in (("quantized", integers), ("scale", scales)):
                model.graph.initializer.append(numpy_helper.from_array(value, f"{weight}.{suffix}"))
            bias = _find_bias(model, node, constants)
            product = helper.make_node(
                "MatMulIntegerToFloat",
                [inputs[0], f"{weight}.quantized", inputs[1], f"{weight}.scale", inputs[2], ""]
                + ([bias[1]] if bias else []),
                [bias[0].output[0] if bias else node.output[0]],
                domain="com.microsoft",
            )
            nodes[node.output[0]] = [*([quantize] if node is consumers[0] else []), product]
            replaced.add(weight)
            if bias:
                replaced.add(bias[0].output[0])
    kept = []
    for node in model.graph.node:
        if node.output[0] not in replaced:
            kept += nodes.get(node.output[0], [node]) if node.op_type == "MatMul" else [node]
    replace_nodes(model, kept)
    initializers = [t for t in model.graph.initializer if t.name not in replaced]
    del model.graph.initializer[:]
    model.graph.initializer.extend(initializers)
    if not any(opset.domain == "com.microsoft" for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.checker.check_model(model, check_custom_domain=False)


def _find_bias(model: Any, product: Any, constants: Mapping[str, Any]) -> tuple[Any, str] | None:
    """Find the node that adds a constant vector to a product, and the name of the vector."""
    output = product.output[0]
    users = [node for node in model.graph.node if output in node.input]
    if len(users) != 1 or users[0].op_type != "Add":
        return None
    (other,) = (name for name in users[0].input if name != output)
    if other in constants and len(constants[other].dims) == 1:
        return users[0], other
    return None


def _sample(
    model: Any, names: Sequence[str], calibration: Sequence[Arrays]
) -> dict[str, np.ndarray]:
    """Run a graph, and return rows of values inside it by name, [rows, size]."""
    import onnx
    import onnxruntime

    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = onnxruntime.InferenceSession(
        probe.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for inputs in calibration:
        for name, value in zip(names, session.run(names, dict(inputs)), strict=True):
            rows[name].append(value.reshape(-1, value.shape[-1]))
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def choose_range(values: np.ndarray, matrix: np.ndarray) -> tuple[float, int]:
    """Choose the range of an input that changes its product with a matrix least.

    Args:
        values: Rows of the input, [rows, size].
        matrix: [size, columns].

    Returns:
        The scale and the zero point of the quantised input.
    """
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    rows = values[:: max(1, len(values) // _SAMPLE)]
    best: tuple[float, float, int] | None = None
    for share in _RANGES:
        scale = max((high - low) * share / _MAX_INPUT, 1e-8)
        zero = int(np.clip(round(-low * share / scale), 0, _MAX_INPUT))
        rounded = (np.clip(np.rint(rows / scale) + zero, 0, _MAX_INPUT) - zero) * scale
        error = float(np.square((rounded - rows) @ matrix).sum())
        if best is None or error < best[0]:
            best = error, scale, zero
    assert best is not None
    return best[1], best[2]
