"""Weights in eight bits: they are read as the numbers they stand for, and graphs refer to them."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper
from safetensors.numpy import load_file, save_file
from torch import nn

from depkit.__main__ import main
from depkit.corpus.io import read
from depkit.nn.attributes import AttributeLinear
from depkit.parsers.config import Inputs
from depkit.parsers.engine.eight_bits import COLUMNS, ROWS, TRANSPOSED, pack, unpack, unpack_shapes
from depkit.parsers.engine.stored_weights import compress_integers, find_integers
from depkit.parsers.engine.weights import make_network, read_shapes, save_network, write_weights
from depkit.parsers.export import make_graphs
from depkit.parsers.loading import load
from depkit.parsers.model_directory import (
    ModelError,
    find_graphs,
    read_vocabulary,
    write_vocabulary,
)
from depkit.parsers.text.tokenizer_file import load_tokenizer, write_tokenizer
from depkit.parsers.torch_loading import load_on_torch
from tests.parsers.small_parsers import make_random_parser, save_parser, texts

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(("kind", "largest"), [(ROWS, 127), (COLUMNS, 63), (TRANSPOSED, 63)])
def test_a_weight_is_within_half_a_step_of_what_is_read(kind, largest):
    matrix = np.random.default_rng(1).normal(size=(20, 30)).astype(np.float32)
    matrix[3], matrix[:, 5] = 0, 0
    tensors = pack("x", matrix, kind)
    assert tensors["x" + kind].dtype == np.int8
    assert np.abs(tensors["x" + kind]).max() == largest
    weights = unpack(tensors | {"y": matrix})
    assert set(weights) == {"x", "y"} and weights["y"] is matrix
    axis = 0 if kind == COLUMNS else 1
    step = np.abs(matrix).max(axis, keepdims=True) / largest
    assert (np.abs(weights["x"] - matrix) <= step * 0.5001).all()
    assert np.array_equal(unpack(pack("x", weights["x"], kind))["x"], weights["x"])
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    assert {name: tuple(s) for name, s in unpack_shapes(shapes).items()} == {"x": (20, 30)}
    if kind != ROWS:
        part = weights["x"] if kind == COLUMNS else weights["x"].T
        for rows in (part, part[:7]):
            integers, scale = find_integers(rows, [np.ones(4), tensors["x.scale"]])
            assert np.array_equal(integers * scale, rows)
        assert find_integers(part + 1e-3, [tensors["x.scale"]]) is None


def test_a_network_is_read_as_it_was_written(tmp_path):
    network = nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 20), nn.Linear(20, 3))
    path = tmp_path / "x.safetensors"
    save_network(path, network, {}, "int8")
    stored = load_file(path)
    assert {name: array.dtype.name for name, array in stored.items()} == {
        "0.weight.rows": "int8", "0.weight.scale": "float32",
        "1.weight.transposed": "int8", "1.weight.scale": "float32", "1.bias": "float16",
        "2.weight": "float16", "2.bias": "float16",
    }  # fmt: skip

    def make():
        return nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 20), nn.Linear(20, 3))

    copy = make_network(path, read_shapes(path), make)
    for name, weight in unpack(stored).items():
        assert torch.equal(copy.state_dict()[name], torch.from_numpy(weight.astype(np.float32)))
    save_file(stored | {"1.weight.scale": np.ones(3, np.float32)}, path)
    with pytest.raises(ModelError, match=r"1\.weight\.scale"):
        make_network(path, read_shapes(path), make)


def test_weights_of_attributes_are_stored_with_those_of_the_values(tmp_path):
    torch.manual_seed(0)
    values = [["A=1", "B=1"], ["A=1"], ["B=1"], ["A=2", "B=1"]]
    layer = AttributeLinear(20, values)
    nn.init.normal_(layer.weight)
    path, x = tmp_path / "model.safetensors", torch.randn(3, 20)
    save_network(path, nn.Sequential(layer), {}, "int8")
    assert sorted(load_file(path)) == ["0.bias", "0.folded.scale", "0.folded.transposed"]
    copy = make_network(path, read_shapes(path), lambda: nn.Sequential(AttributeLinear(20, values)))
    expected = layer.folded_weight()
    steps = expected.abs().amax(1, keepdim=True) / 63  # with seven bits for each value
    assert ((copy[0].folded_weight() - expected).abs() <= 0.501 * steps).all()
    save_network(path, copy, {}, "int8")  # nothing is rounded a second time
    again = make_network(
        path, read_shapes(path), lambda: nn.Sequential(AttributeLinear(20, values))
    )
    assert torch.equal(again(x), copy(x))
    with pytest.raises(ModelError, match=r"0\.weight"):
        make_network(path, read_shapes(path), lambda: nn.Sequential(AttributeLinear(21, values)))


def test_large_constants_of_integers_are_stored_in_few_bits():
    table = np.arange(3000, dtype=np.int64)
    constants = {"a": table, "b": table.copy(), "c": table * 10**8, "d": table[:5], "e": -table}
    total = [f"{name}.total" for name in constants]
    graph = helper.make_graph(
        [helper.make_node("ReduceSum", [x], [f"{x}.total"], keepdims=0) for x in constants]
        + [helper.make_node("Sum", [f"{y}.float" for y in total], ["sum"])],
        "graph", [], [helper.make_tensor_value_info("sum", onnx.TensorProto.DOUBLE, [])],
        [numpy_helper.from_array(x, name) for name, x in constants.items()],
    )  # fmt: skip
    for name in reversed(total):
        cast = helper.make_node("Cast", [name], [f"{name}.float"], to=onnx.TensorProto.DOUBLE)
        graph.node.insert(5, cast)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    before, size = run_graph(model), model.ByteSize()
    compress_integers(model)
    assert run_graph(model) == before == sum(float(x.sum()) for x in constants.values())
    # "a" and "b" are stored once, in 16 bits; "c" and "e" as they were
    assert size - model.ByteSize() == pytest.approx(2 * 8 * 3000 - 2 * 3000, abs=200)


def test_constants_of_equal_content_and_different_shapes_keep_their_shapes():
    table = np.arange(3000, dtype=np.int64)
    graph = helper.make_graph(
        [helper.make_node("Shape", ["b"], ["shape"]), helper.make_node("Size", ["a"], ["size"])],
        "graph", [], [helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [2])],
        [numpy_helper.from_array(table, "a"), numpy_helper.from_array(table[None], "b")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    compress_integers(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {})[0].tolist() == [1, 3000]


def run_graph(model):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return float(session.run(None, {})[0])


@pytest.mark.parametrize(
    "encoder", ["selfatt", pytest.param("bilstm", marks=pytest.mark.exhaustive)]
)
def test_graphs_refer_to_weights_in_eight_bits(tiny, tmp_path, encoder):
    parser = make_random_parser(tiny, 1, inputs=Inputs(word=96, affix=32), encoder=encoder)
    save_parser(parser, tmp_path)
    write_weights(tmp_path, parser.network, "int8")
    parser = load_on_torch(tmp_path, "cpu", "float32")
    graphs = [make_graphs(parser, tiny, directory) for directory in (tmp_path, None)]
    results = []
    for each in graphs:
        for name, graph in each.items():
            (tmp_path / name).write_bytes(graph.SerializeToString())
        results.append(texts(load(tmp_path, engine="onnx").predict(tiny)))
    assert results[0] == results[1]
    shared, copied = (
        {
            name: sum(len(tensor.raw_data) for tensor in graph.graph.initializer)
            for name, graph in each.items()
        }
        for each in graphs
    )
    assert copied["words.onnx"] > 2 * shared["words.onnx"]
    table = {t.name: t for t in graphs[0]["words.onnx"].graph.initializer}[
        "network.inputs.word.weight"
    ]
    assert table.data_location == onnx.TensorProto.EXTERNAL
    assert table.data_type == onnx.TensorProto.INT8


def test_the_tokenizer_in_eight_bits_reads_the_same_text(tmp_path):
    parser = load_on_torch("en-ewt", "cpu", "float32")
    write_tokenizer(tmp_path, parser.tokenizer, {}, "int8")
    (tmp_path / "config.toml").write_text("")
    text = "Dr. Smith (aged 40) didn't see it. It was late, wasn't it?"
    tokenizer = load_tokenizer(tmp_path, torch.device("cpu"))
    assert tokenizer.segment([text]) == parser.tokenizer.segment([text])


def test_a_packed_vocabulary_is_read_as_the_other(tiny, tmp_path):
    vocabulary = make_random_parser(tiny, 1).vocabulary
    write_vocabulary(tmp_path, vocabulary, packed=True)
    assert read_vocabulary(tmp_path).to_json() == vocabulary.to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.json.gz"]
    content = (tmp_path / "vocab.json.gz").read_bytes()
    for damaged in (content[:-20], b"no archive", content[:30] + b"xxxx" + content[34:], b""):
        (tmp_path / "vocab.json.gz").write_bytes(damaged)
        with pytest.raises(ModelError, match=r"vocab\.json\.gz"):
            read_vocabulary(tmp_path)
    write_vocabulary(tmp_path, vocabulary)
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.json"]
    assert read_vocabulary(tmp_path).to_json() == vocabulary.to_json()


@pytest.mark.slow
def test_training_stores_eight_bits_and_exports(tmp_path, monkeypatch, capsys):
    treebank = str(DATA / "tiny.conllu")
    sizes = {}
    for storage, engines in (("float32", ["torch"]), ("int8", ["onnx", "torch"])):
        monkeypatch.setenv("DEPKIT_ENGINE", engines[0].replace("onnx", "auto"))  # for the export
        directory = tmp_path / storage
        arguments = (
            f"train {treebank} --dev {treebank} --epochs 1 --threads 1 -q"
            f" --set encoder.layers=1 --set training.storage={storage} -o {directory}"
        )
        monkeypatch.setattr(sys, "argv", ["depkit", *arguments.split()])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, capsys.readouterr().err
        sizes[storage] = sum(path.stat().st_size for path in directory.glob("*.safetensors"))
        assert bool(find_graphs(directory)) == ("onnx" in engines)
        for engine in engines:
            assert list(load(directory, engine=engine).parse(read(treebank)))
    assert sizes["int8"] < 0.35 * sizes["float32"]
