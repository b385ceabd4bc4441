"""Export of networks as ONNX graphs, which `onnx_engine` runs without torch.

A parser has several graphs, whose arguments and results are named arrays:

- words: from the arrays of inputs to the input vectors of the encoder
- scores: from input vectors to what trees and columns are decoded from
- labels: from what the decoder asks for, such as pairs of words, to the scores of labels
- deps: the same for the labels of enhanced dependencies

In all but the first, and in the graph of the tokenizer, products with constant matrices are
computed in eight bits; see `static_quantisation`. The rest is float32.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import depkit.nn.lstm  # noqa: F401 (it defines the operator depkit::lstm)
from depkit.parsers.engine.static_quantisation import quantize_products
from depkit.parsers.engine.stored_weights import NO_WEIGHTS, StoredWeights
from depkit.parsers.inputs.batching import exact_batches
from depkit.parsers.inputs.dataset import Dataset

BATCH_TOKENS = 1200
_NO_LIMIT = 1 << 40  # bytes
SCORE_AXES = {"vectors": ("batch", "length"), "lengths": ("batch",)}
Tensors = dict[str, Tensor]
Function = Callable[[Tensors], Tensors]
Axes = Mapping[str, Sequence[str]]


class _Function(nn.Module):
    """A function of named tensors as a module, with the weights of a network."""

    def __init__(self, network: nn.Module, function: Function) -> None:
        super().__init__()
        self.network, self.function = network, function
        self.eval()

    def forward(self, arrays: Tensors) -> Tensors:
        return self.function(arrays)


def make_graph(
    network: nn.Module,
    function: Function,
    example: Tensors,
    axes: Axes,
) -> Any:
    """Export a function as an onnx.ModelProto.

    Args:
        network: The network whose weights the function uses.
        function: A function of named tensors with named results.
        example: Its arguments; the dimensions that vary must have two elements or more.
        axes: For each argument, the names of its dimensions whose sizes vary, which come first.
    """
    from onnxscript.optimizer import fold_constants

    module = _Function(network, function)
    dynamic = {
        name: dict.fromkeys(range(len(axes[name])), torch.export.Dim.DYNAMIC) for name in example
    }
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = list(module(example))
        # The exporter logs which packages are not installed, and what it cannot simplify.
        logging.disable(logging.WARNING)
        try:
            program = torch.onnx.export(
                module, kwargs={"arrays": example}, dynamic_shapes={"arrays": dynamic},
                input_names=list(example), output_names=names, dynamo=True, verbose=False,
                custom_translation_table={torch.ops.depkit.lstm.default: _translate_lstm},
            )  # fmt: skip
            assert program is not None
            fold_constants(program.model, input_size_limit=_NO_LIMIT, output_size_limit=_NO_LIMIT)
        finally:
            logging.disable(logging.NOTSET)
    model = program.model_proto
    remove_notes(model)
    _name_dimensions(model, axes)
    return model


def remove_notes(model: Any) -> None:
    """Remove what the exporter notes about the source, such as the paths of files, in place."""
    graph = model.graph
    values = (*graph.node, *graph.initializer, *graph.input, *graph.output, *graph.value_info)
    for part in (model, graph, *model.functions, *values):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")


def _translate_lstm(x: Any, weight: Any, recurrent: Any, bias: Any) -> Any:
    """Translate `nn.lstm.exported_lstm` to operators of ONNX."""
    from onnxscript import opset18

    op: Any = opset18
    size = recurrent.shape[2]
    outputs, _, _ = op.LSTM(
        op.Transpose(x, perm=[1, 0, 2]), weight, recurrent, bias, hidden_size=size
    )
    axis = op.Constant(value_ints=[1])
    return op.Transpose(op.Squeeze(outputs, axis), perm=[1, 0, 2])


def _name_dimensions(model: Any, axes: Axes) -> None:
    """Name the dimensions of a graph's arguments and results whose sizes vary."""
    names: dict[str, str] = {}
    for value in model.graph.input:
        dimensions = value.type.tensor_type.shape.dim
        for dimension, name in zip(dimensions, axes[value.name], strict=False):
            names[dimension.dim_param] = name
            dimension.dim_param = name
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = names.get(dimension.dim_param, dimension.dim_param)


def export_network(
    network: Any, data: Dataset, weights: StoredWeights = NO_WEIGHTS, quantize: bool = True
) -> dict[str, Any]:
    """Export a ParserNetwork as graphs by name, onnx.ModelProtos.

    Args:
        network: The network, which is converted to float32.
        data: Sentences, on which the ranges of the values in the network are determined.
        weights: The network's file; weights that it stores in eight bits keep these integers.
        quantize: Whether products are computed in eight bits.
    """
    network = network.float().eval()
    of_forms = set(data.form_arrays)
    rows = exact_batches(data.sizes, BATCH_TOKENS)
    # The exporter treats a dimension that has the size one as constant.
    rows = [indices for indices in rows if len(indices) > 1] or [np.repeat(x, 2) for x in rows]
    batches = [data.batch(indices) for indices in rows]
    arrays = [
        {name: torch.from_numpy(array) for name, array in batch.arrays.items() if name != "lengths"}
        for batch in batches
    ]
    word_axes = {
        name: ("forms",) if name in of_forms else ("batch", "length") for name in arrays[0]
    }
    graphs = {"words": make_graph(network, network.word_graph, arrays[0], word_axes)}
    with torch.no_grad():
        vectors = [network.word_graph(part)["vectors"] for part in arrays]
        scored = [
            {"vectors": part[:, : batch.sizes.max()], "lengths": torch.from_numpy(batch.sizes)}
            for batch, part in zip(batches, vectors, strict=True)
        ]
        results = [network.score_graph(**part) for part in scored]

    def add(name: str, function: Function, examples: Sequence[Tensors], axes: Axes) -> None:
        graphs[name] = make_graph(network, function, examples[0], axes)
        if quantize:
            calibration = [{key: x.numpy() for key, x in part.items()} for part in examples]
            quantize_products(graphs[name], calibration, weights)

    add("scores", lambda arrays: network.score_graph(**arrays), scored, SCORE_AXES)
    for name, graph in network.label_graphs().items():
        with torch.no_grad():
            examples = [graph.example(part) for part in results]
        add(name, graph.compute, examples, graph.axes)
    return graphs


def export_tokenizer(
    network: Any,
    batches: Iterable[tuple[np.ndarray, np.ndarray]],
    weights: StoredWeights = NO_WEIGHTS,
    quantize: bool = True,
) -> Any:
    """Export a TokenizerNetwork as an onnx.ModelProto.

    Args:
        network: The network.
        batches: Indices of characters, [batch, length], and the length of each row, [batch]; the
            ranges of values are determined on them.
        weights: As for `export_network`.
        quantize: Whether products are computed in eight bits.
    """
    network = network.float().eval()
    example = {"characters": torch.ones(2, 8, dtype=torch.int64), "sizes": torch.tensor([8, 6])}
    axes = {"characters": ("batch", "length"), "sizes": ("batch",)}
    graph = make_graph(
        network, lambda arrays: {"labels": network.label_graph(**arrays)}, example, axes
    )
    if quantize:
        quantize_products(
            graph,
            [{"characters": characters, "sizes": sizes} for characters, sizes in batches],
            weights,
        )
    return graph
