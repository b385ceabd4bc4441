"""Exported graphs give the results of torch, whatever the batch, and need no torch."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import onnx
import pytest
import torch

from depkit.corpus.io import read
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.nn import means
from depkit.nn import trees as torch_trees
from depkit.nn.settings import BiLSTM
from depkit.parsers import export
from depkit.parsers.columns.arrays import ColumnArrays, best_probabilities, log_softmax
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.columns.mean_arrays import align_values, log_mean
from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.config import Inputs
from depkit.parsers.engine import onnx_engine
from depkit.parsers.engine.eight_bits import quantize_columns
from depkit.parsers.engine.export import make_graph
from depkit.parsers.engine.onnx_engine import Graphs, OnnxEngine
from depkit.parsers.engine.static_quantisation import choose_range
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.ensembles import combine
from depkit.parsers.export import export_model, make_graphs, random_sentences
from depkit.parsers.families import get_family
from depkit.parsers.family import CombinationError
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.loading import load
from depkit.parsers.model_directory import (
    BUNDLED,
    TOKENIZER,
    ModelError,
    bundled_models,
    write_ensemble,
)
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.config import TaggerConfig
from depkit.trees.best_heads import are_crossing, are_trees, best_heads
from tests.parsers.constituency import small_recipes
from tests.parsers.small_parsers import (
    build_parser,
    make_parser,
    make_random_parser,
    randomise_weights,
    save_parser,
    texts,
)
from tests.parsers.transition.small_recipes import make_config
from tests.pretend_gpu import WHY_NOT, pretend_gpu

TYPES = {"I8": "INT8", "F16": "FLOAT16", "F32": "FLOAT"}  # in safetensors and in ONNX
DATA = Path(__file__).parents[2] / "data"


def on_graphs(parser, directory, quantize=False, sentences=None):
    """Return a parser that runs the graphs of another one."""
    family = get_family(parser.config)
    sentences = sentences or random_sentences(parser.vocabulary)
    with patch("torch.export.export", wraps=torch.export.export) as traced:
        files = make_graphs(parser, sentences, quantize=quantize)
    # If the exporter cannot trace a network in its first way, it tries a second one, which takes
    # seconds. The first way fails at len(tensor), which is constant in it; tensor.shape[0] is not.
    assert traced.call_count == len(files)
    names = ("words", "scores", *family.label_graphs(parser.config))
    assert list(files) == [f"{name}.onnx" for name in names]
    for name, graph in files.items():
        (directory / name).write_bytes(graph.SerializeToString())
    graphs = Graphs({path.stem: path for path in directory.glob("*.onnx")})
    parts = used_parts(parser.config.inputs)
    network = family.array_network(graphs)
    engine = OnnxEngine(network, all(part.depends_on_form for part in parts))
    return replace(parser, engine=engine)


def make(kind, tiny):
    """Return a parser with random weights, and sentences for it."""
    if kind == "constituency":
        treebank = list(read(DATA / "trees.mrg"))
        return randomise_weights(build_parser(small_recipes.make_recipe().parser, treebank), 1), (
            treebank
        )
    inputs = Inputs(word=6, char=4, affix=5)
    if kind == "tags":  # which do not depend on the form alone
        inputs, kind = Inputs(word=6, tag=3, treebank=2, stop=True), "selfatt"
    if kind == "treebank":  # one, which all words are read as
        inputs, kind = Inputs(word=6, treebank=2, treebank_name="x"), "selfatt"
    return make_random_parser(tiny, 1, inputs=inputs, encoder=kind), tiny


@pytest.mark.parametrize(
    "kind",
    [
        "selfatt",
        "bilstm",
        "treebank",
        pytest.param("tags", marks=pytest.mark.slow),
        pytest.param("factored", marks=pytest.mark.slow),
        pytest.param("constituency", marks=pytest.mark.slow),
    ],
)
def test_graphs_give_the_results_of_torch(kind, tiny, tmp_path):
    parser, sentences = make(kind, tiny)
    other = on_graphs(parser, tmp_path)
    assert other.engine.reads_forms_only == (kind != "tags")
    expected = texts(parser.predict(sentences))
    assert texts(other.predict(sentences)) == expected
    assert texts(other.predict(sentences, None))[::-1] == texts(other.predict(sentences[::-1]))
    for probabilities in ("local", "marginal") if other.trees == "dependencies" else ():
        values = [
            [
                float(value)
                for sentence in each.parse(sentences, probabilities=probabilities)
                for misc in sentence.column("misc")
                for value in re.findall(r"Prob=([\d.]+)", misc)
            ]
            for each in (parser, other)
        ]
        assert values[0] == pytest.approx(values[1], abs=2e-4) and values[0]


def test_graphs_from_sentences_of_different_lengths_compute_batches(tiny, tmp_path):
    parser, _ = make("bilstm", tiny)
    other = on_graphs(parser, tmp_path, sentences=[tiny[0], tiny[1]])
    assert len(tiny[0]) != len(tiny[1])
    three = [tiny[0]] * 3
    assert texts(other.predict(three)) == texts(parser.predict(three))


@pytest.mark.parametrize(
    "kind",
    [
        "biaffine",
        pytest.param("tagger", marks=pytest.mark.slow),
        pytest.param("constituency", marks=pytest.mark.slow),
    ],
)
def test_ensembles_of_graphs_give_the_results_of_torch(kind, tiny, tmp_path, monkeypatch):
    """The second member knows fewer labels, in another order."""
    if kind == "constituency":
        config, sentences = small_recipes.make_recipe().parser, list(read(DATA / "trees.mrg"))
    elif kind == "tagger":
        scorer = TagScorer(predict=["upos", "feats"], tag_hidden=9)
        config, sentences = TaggerConfig(Inputs(word=6), BiLSTM(size=8), scorer), tiny
    else:
        config, sentences = make_parser(tiny, inputs=Inputs(word=6)).config, tiny
    parsers = [
        randomise_weights(build_parser(config, sentences[: len(sentences) // parts]), parts)
        for parts in (1, 2)
    ]
    for number, parser in enumerate(parsers):
        save_parser(parser, tmp_path / f"member-{number}")
    write_ensemble(tmp_path, EnsembleConfig(["member-0", "member-1"]))
    with patch.object(export, "make_graphs", partial(make_graphs, quantize=False)):
        paths = export_model(tmp_path, sentences)
    assert {path.parent.name for path in paths} == {"member-0", "member-1"}
    for mean in ("arithmetic", "geometric"):
        torch_ensemble = combine([load(tmp_path, "cpu", "float32", engine="torch")], mean)
        ensemble = combine([load(tmp_path, engine="onnx")], mean)
        assert ensemble.torch_device is None and ensemble.mean == mean
        assert texts(ensemble.predict(sentences)) == texts(torch_ensemble.predict(sentences))
        if ensemble.trees == "dependencies":
            trees = [list(parser.parse(sentences, best=3)) for parser in (ensemble, torch_ensemble)]
            assert [(t.head, t.deprel) for t in trees[0]] == [(t.head, t.deprel) for t in trees[1]]
    with pytest.raises(CombinationError, match="different engines"):
        combine([ensemble.members[0], torch_ensemble.members[1]])
    (tmp_path / "member-1" / "scores.onnx").unlink()
    with pytest.raises(ConfigError, match=r"lacks the exported graph member-1/scores\.onnx"):
        load(tmp_path, engine="onnx")
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    assert load(tmp_path).torch_device is not None
    shutil.copy(BUNDLED / "fr" / TOKENIZER, tmp_path)  # the tokenizer of the ensemble itself
    with pytest.raises(ConfigError, match=r"lacks the exported graph tokenizer\.onnx"):
        load(tmp_path, engine="onnx")
    assert load(tmp_path).torch_device is not None


def test_a_model_that_cannot_be_exported_is_not_advised_to_be(tiny, tmp_path):
    config = make_config("sentence-graph")
    config = get_family(config).resolve_auto(config, tiny)
    for name in ("model", "ensemble/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        save_parser(build_parser(config, tiny), tmp_path / name)
    save_parser(make_parser(tiny), tmp_path / "ensemble" / "a")
    write_ensemble(tmp_path / "ensemble", EnsembleConfig(["a", "b"]))
    reason = "models of the family transition cannot be exported"
    with pytest.raises(ConfigError, match=f"the engine onnx: {reason}"):
        load(tmp_path / "model", engine="onnx")
    with pytest.raises(ConfigError, match=f"the engine onnx: b: {reason}"):
        load(tmp_path / "ensemble", engine="onnx")


def test_means_of_arrays_are_those_of_tensors():
    generator = np.random.default_rng(1)
    scores = generator.normal(0, 40, (3, 2, 5, 7)).astype(np.float32)
    scores[:, :, 1, 2:] = -np.inf
    indices = generator.permutation(9)[:7]
    for mean in ("arithmetic", "geometric"):
        expected = means.log_mean(map(torch.from_numpy, scores), mean).numpy()
        np.testing.assert_allclose(log_mean(scores, mean), expected, rtol=1e-5, atol=1e-5)
    expected = means.align_values(torch.from_numpy(scores[0]), torch.from_numpy(indices), 9)
    np.testing.assert_allclose(align_values(scores[0], indices, 9), expected, rtol=1e-5, atol=1e-5)


def test_padding_does_not_change_probabilities():
    generator = np.random.default_rng(1)
    for length in (3, 10, 30, 150):
        scores = generator.normal(0, 5, (2, 2, length, length)).astype(np.float32)
        for padding in (1, 8, 30):
            padded = np.pad(scores, [(0, 0)] * 3 + [(0, padding)], constant_values=-np.inf)
            result = log_softmax(padded, is_padded=True)[..., :length]
            assert (result == log_softmax(scores, is_padded=True)).all()
            np.testing.assert_allclose(result, log_softmax(scores), rtol=1e-5, atol=1e-5)
            for mean in ("arithmetic", "geometric"):
                result = log_mean(padded, mean, is_padded=True)[..., :length]
                assert (result == log_mean(scores, mean, is_padded=True)).all()


@pytest.fixture(scope="module")
def bundled():
    return load("en-ewt", engine="onnx", threads=1)


@pytest.fixture(scope="module")
def two_engines(tiny, tmp_path_factory):
    """A parser with random weights on torch, and its graphs."""
    parser = make_random_parser(tiny, 1, inputs=Inputs(word=6, char=4))
    return parser, on_graphs(parser, tmp_path_factory.mktemp("graphs"))


@pytest.mark.parametrize(
    "options",
    [{"best": 4}, {"algorithm": "mbr"}, {"heads": "keep", "probabilities": "marginal"}],
    ids=str,
)
def test_decoding_on_the_host_gives_the_results_of_torch(options, tiny, two_engines):
    partial = [
        sentence.with_tree([*sentence.head[:2], *[-1] * (len(sentence) - 2)], sentence.deprel)
        for sentence in tiny
        if len(sentence) > 2
    ]
    results = [list(parser.parse(partial, **options)) for parser in two_engines]
    for expected, result in zip(*results, strict=True):
        assert (result.head, result.deprel) == (expected.head, expected.deprel)
        if "best" in options:
            probabilities = [float(tree.comment("prob")) for tree in (expected, result)]
            assert probabilities[0] == pytest.approx(probabilities[1], rel=2e-3)


def test_results_do_not_depend_on_the_batch(bundled, tiny):
    sentences = [*tiny, *(new_sentence(s.form[:n]) for n in (1, 3, 5) for s in tiny)]
    expected = texts(bundled.parse(sentences, "predict", probabilities="local"))

    def parse(parser, sentences, **options):
        return texts(parser.parse(sentences, "predict", probabilities="local", **options))

    assert parse(bundled, sentences, batch_tokens=40) == expected
    assert parse(bundled, sentences[::-1])[::-1] == expected
    assert [parse(bundled, [sentence])[0] for sentence in sentences] == expected
    assert parse(replace(bundled, threads=3), sentences) == expected


def test_scores_of_a_batch_of_different_lengths_equal_those_of_single_sentences(bundled, tiny):
    prepared = bundled.make_preparer()(tiny, [])
    together = bundled.network.run(prepared.batch(np.arange(len(tiny))))
    longest = max(map(len, tiny)) + 1
    assert together["arc"].shape[1] == longest and min(map(len, tiny)) + 1 < longest
    for row, sentence in enumerate(tiny):
        length = len(sentence) + 1
        for name, scores in bundled.network.run(prepared.batch(np.array([row]))).items():
            joined = together[name][row]
            assert (joined[:length, : scores.shape[2]] == scores[0]).all(), name
            assert not joined[length:].any()
        assert (together["arc"][row, :length, length:] == -np.inf).all()


def test_the_vectors_of_words_serve_later_calls(bundled, tiny, monkeypatch):
    list(bundled.parse(tiny))
    run, names = bundled.network.graphs.run, []
    monkeypatch.setattr(
        bundled.network.graphs, "run", lambda *args: names.append(args[0]) or run(*args)
    )
    list(bundled.parse([*tiny, tiny[0]]))
    assert "scores" in names and "words" not in names
    list(bundled.parse([new_sentence(["neverseenbefore"])]))
    assert "words" in names


def test_eight_bits_change_few_results(bundled, tiny):
    exact = load("en-ewt", "cpu", "float32", engine="torch")
    sentences = [new_sentence(sentence.form) for sentence in tiny]
    results = [
        [
            value
            for sentence in parser.parse(sentences)
            for value in zip(sentence.head, sentence.deprel, sentence.upos, strict=True)
        ]
        for parser in (bundled, exact)
    ]
    same = sum(a == b for a, b in zip(*results, strict=True))
    assert same >= 0.97 * len(results[0])


def test_the_table_of_forms_is_emptied_when_it_is_full(bundled, tiny, monkeypatch):
    expected = texts(bundled.parse(tiny))
    monkeypatch.setattr(onnx_engine, "MAX_FORMS", 5)
    monkeypatch.setattr(onnx_engine, "FORMS_AT_ONCE", 3)
    prepare = bundled.make_preparer()
    results = []
    for sentence in tiny:
        batch = prepare([sentence], []).batch(np.array([0]))
        results += texts(bundled.parse_batch(batch, [sentence], "missing"))
    assert results == expected


def test_longer_sentences_are_left_to_torch(bundled, tiny, monkeypatch):
    monkeypatch.setattr(onnx_engine, "MAX_WORDS", 6)
    with pytest.raises(FormatError, match=r"at most 6 words \(with the engine torch, more\)"):
        list(bundled.parse(tiny))


def test_best_heads_of_arrays_equal_those_of_tensors():
    random = np.random.default_rng(1)
    lengths = np.array([3, 2, 4, 5, 5])
    for _ in range(40):
        scores = random.integers(-3, 4, (5, 5, 5)).astype(np.float32)
        scores[random.random(scores.shape) < 0.3] = -np.inf
        scores[0, 2, 2] = random.choice([0, np.nan, np.inf])
        for algorithm, single in product(("mst", "eisner", "argmax"), (True, False)):
            heads, decoded = best_heads(scores, lengths, algorithm, single)
            expected = torch_trees.best_heads(
                torch.from_numpy(scores), torch.from_numpy(lengths), algorithm, single
            )
            assert heads.tolist() == expected[0].tolist()
            assert decoded.tolist() == expected[1].tolist()


def test_trees_and_crossing_arcs_of_all_small_head_vectors():
    heads = np.array([[0, *rest] for rest in product(range(5), repeat=4)])
    lengths = np.full(len(heads), 5)
    tensors = torch.from_numpy(heads), torch.from_numpy(lengths)
    for single in (True, False):
        expected = torch_trees.are_trees(*tensors, single).tolist()
        assert are_trees(heads, lengths, single).tolist() == expected
    assert are_crossing(heads, lengths).tolist() == torch_trees.are_crossing(*tensors).tolist()


def test_best_values_of_columns_equal_those_of_tensors():
    random = np.random.default_rng(2)
    logits = {name: random.normal(size=(2, 4, 7)).astype(np.float32) for name in ("upos", "lemma")}
    unknown = np.array([[0, 1, 1], [2, 1, 3]])
    for words in (None, unknown):
        found = ColumnArrays(logits).best(words)
        expected = ColumnScores({k: torch.from_numpy(v) for k, v in logits.items()}).best(words)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name].numpy(), rtol=1e-5)
    indices, values = best_probabilities(logits["upos"][0].copy(), 7)
    assert (np.diff(values) <= 0).all() and (np.sort(indices) == np.arange(7)).all()
    expected = np.take_along_axis(log_softmax(logits["upos"][0]), indices, 1)
    np.testing.assert_array_equal(values, expected)


def test_quantised_columns_are_close_and_fit_in_sixteen_bits():
    matrix = np.random.default_rng(3).normal(size=(20, 6)).astype(np.float32)
    integers, scales = quantize_columns(matrix)
    assert (np.abs(integers * scales - matrix) <= 0.5001 * scales).all()
    assert 2 * 255 * int(np.abs(integers.astype(int)).max()) < 2**15


def test_the_range_of_an_input_leaves_out_rare_large_values():
    random = np.random.default_rng(4)
    values = random.normal(size=(4000, 8)).astype(np.float32)
    matrix = random.normal(size=(8, 5)).astype(np.float32)
    scale, zero = choose_range(values, matrix)
    restored = (np.clip(np.rint(values / scale) + zero, 0, 255) - zero) * scale
    full = (values.max() - values.min()) / 255
    assert np.abs(restored - values).mean() < full and scale <= full * 1.0001
    assert (0.0 / scale + zero) == zero  # 0 has an exact representation
    assert choose_range(np.zeros((3, 2), np.float32), matrix[:2])[0] > 0


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], input="The cat sat on a mat.\n", text=True,
        capture_output=True, env=os.environ | {"DEPKIT_ENGINE": "auto"} | environment, check=False,
    )  # fmt: skip


def test_parsing_text_imports_neither_torch_nor_other_large_packages():
    code = (
        "import sys; sys.argv = ['depkit', 'parse', '--device', 'cpu']\n"
        "import depkit.__main__ as m\n"
        "try: m.main()\n"
        "except SystemExit: pass\n"
        "large = {'torch', 'numba', 'rich', 'transformers', 'scipy', 'pyarrow', 'onnx'}\n"
        "print(sorted(large & set(sys.modules)), file=sys.stderr)"
    )
    result = run(code)
    assert result.stderr.splitlines()[-1] == "[]", result.stderr
    assert "\tcat\tcat\tNOUN\t" in result.stdout


def test_text_is_parsed_where_torch_cannot_be_imported():
    code = (
        "import sys; sys.modules['torch'] = None; sys.argv = ['depkit', 'parse']\n"
        "import depkit.__main__ as m; m.main()"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert "\tmat\tmat\tNOUN\t" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "onnx", "precision": "float32"}, "int8 only, not in float32"),
        ({"engine": "onnx", "device": "cuda"}, "the CPU only, not on cuda"),
        ({"engine": "onnx", "settings": ["encoder.window=3"]}, "encoder.window=3 changes the"),
        ({"engine": "tensorflow"}, "there is no engine 'tensorflow'"),
        ({"precision": "int4"}, "there is no precision 'int4'"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load("en-ewt", **arguments)


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_onnx_runtime_is_preferred_to_a_gpu_unless_an_option_needs_torch(monkeypatch):
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    with pretend_gpu():
        assert isinstance(load("en-ewt").engine, OnnxEngine)
        for options in ({"device": "cuda"}, {"precision": "float32"}, {"engine": "torch"}):
            assert load("en-ewt", **options).torch_device.type == "cuda"


def test_the_environment_chooses_the_engine(monkeypatch):
    monkeypatch.setenv("DEPKIT_ENGINE", "onnx")
    assert isinstance(load().engine, OnnxEngine)
    monkeypatch.setenv("DEPKIT_ENGINE", "torch")
    assert not isinstance(load().engine, OnnxEngine)
    monkeypatch.setenv("DEPKIT_ENGINE", "tpu")
    with pytest.raises(ConfigError, match="from DEPKIT_ENGINE"):
        load()


@pytest.mark.slow
def test_a_model_is_exported_and_damaged_graphs_are_refused(tiny, tmp_path):
    parser = make_random_parser(tiny, 1, encoder="selfatt")
    directory = save_parser(parser, tmp_path / "model")
    with pytest.raises(ConfigError, match=r"lacks the exported graph words\.onnx"):
        load(directory, engine="onnx")
    paths = export_model(directory, tiny)
    assert {path.name for path in paths} == {"words.onnx", "scores.onnx", "labels.onnx"}
    assert texts(load(directory, engine="onnx").parse(tiny))
    (directory / "scores.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"run by ONNX Runtime: scores\.onnx belongs"):
        load(directory, engine="onnx")


def test_graphs_name_no_files_of_the_machine_that_exported_them():
    network = torch.nn.Linear(3, 2)
    graph = make_graph(
        network, lambda arrays: {"y": network(arrays["x"])}, {"x": torch.ones(2, 3)}, {"x": ("n",)}
    )
    graphs = [graph.SerializeToString()]
    graphs += [path.read_bytes() for path in (BUNDLED / "en-ewt").glob("*.onnx")]
    assert len(graphs) == 5
    assert not any(b".py" in graph or b"site-packages" in graph for graph in graphs)


def tensor_starts(path):
    """Return the types of the tensors of a file of weights by their first bytes."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return {
        8 + size + entry["data_offsets"][0]: entry["dtype"]
        for key, entry in json.loads(content[8 : 8 + size]).items()
        if key != "__metadata__"
    }


@pytest.mark.parametrize("name", bundled_models())
def test_the_graphs_of_a_bundled_model_belong_to_its_weights(name):
    """A graph refers to the first byte of a tensor, so tensors must not move in their file."""
    starts = {path.name: tensor_starts(path) for path in (BUNDLED / name).glob("*.safetensors")}
    for path in (BUNDLED / name).glob("*.onnx"):
        model = onnx.load(path, load_external_data=False)
        for tensor in model.graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                entries = {entry.key: entry.value for entry in tensor.external_data}
                type_name = onnx.TensorProto.DataType.Name(tensor.data_type)
                assert TYPES[starts[entries["location"]][int(entries["offset"])]] == type_name
    assert {"words.onnx", "scores.onnx", "tokenizer.onnx"} <= {
        path.name for path in (BUNDLED / name).iterdir()
    }
