"""A model directory loads to the same parser; errors name the file and what is wrong with it."""

import json
import math
import os
import time
import tomllib
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import depkit
from depkit.corpus.brackets import read_sentences
from depkit.nn.settings import BiLSTM
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.config import Inputs
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.families import FAMILIES, make_parser_config
from depkit.parsers.graph.config import BiaffineConfig, Decoder
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.transformer import load_transformer, save_description
from depkit.parsers.loading import load
from depkit.parsers.model_directory import (
    CONFIG,
    ENSEMBLE,
    FORMAT_VERSION,
    TOKENIZER,
    VOCABULARY,
    WEIGHTS,
    ModelError,
    read_config,
)
from depkit.parsers.settings import ConfigError, parse_toml, to_toml
from depkit.parsers.tagger.config import TaggerConfig
from depkit.parsers.text import tokenizer_file
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import SPACE, Tokenizer
from depkit.parsers.text.tokenizer_file import read_tokenizer, read_tokenizer_notes, write_tokenizer
from depkit.parsers.torch_loading import load_model_transformer
from tests.parsers.depth_family import DepthFamily
from tests.parsers.inputs.small_transformers import save_bert
from tests.parsers.small_parsers import build_parser, make_parser, save_parser, texts


@pytest.fixture
def directory(tiny, tmp_path):
    return save_parser(make_parser(tiny), tmp_path / "model")


def test_a_loaded_parser_parses_the_same(directory, tiny):
    parser = make_parser(tiny)
    loaded = depkit.load(directory, device="cpu", precision="float32")
    assert loaded.config == parser.config
    assert texts(loaded.parse(tiny)) == texts(parser.parse(tiny))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_tokenizer_has_the_precision_of_its_parser(directory, precision):
    table = Table([*SPECIAL, SPACE])
    network = TokenizerNetwork(len(table), 2, 2, dilations=(1,))
    tokenizer = Tokenizer(table, MultiwordTable(), False, TorchEngine(network, torch.device("cpu")))
    write_tokenizer(directory, tokenizer, {})
    loaded = load(directory, "cpu", str(precision).removeprefix("torch."))
    assert loaded.tokenizer.engine.precision == loaded.precision == precision


def test_a_model_directory_contains_toml_json_and_safetensors(directory):
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        [CONFIG, VOCABULARY, WEIGHTS]
    )
    json.loads((directory / VOCABULARY).read_text("utf-8"))
    load_file(directory / WEIGHTS)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_a_missing_or_damaged_file_is_named(directory, name):
    (directory / name).write_bytes(b"\x00garbage = [")
    with pytest.raises(ModelError, match=name):
        load(directory, "cpu")
    (directory / name).unlink()
    with pytest.raises(ModelError, match=f"has no {name}"):
        load(directory, "cpu")


def test_characters_of_a_vocabulary_can_be_escaped(directory):
    tables = json.loads((directory / VOCABULARY).read_text("utf-8"))
    tables["words"][-2:] = ["\N{GRINNING FACE}", "\\ud83d"]
    (directory / VOCABULARY).write_text(json.dumps(tables))
    assert load(directory, "cpu").vocabulary.words.symbols == tables["words"]


def write_other_weights(path):
    save_file(load_file(path) | {"arc.weight": torch.zeros(2, 2)}, path)


def write_number(number, dtype=torch.float32):
    """Return a function that sets one number among the weights in a file."""

    def write(path):
        weights = {name: weight.to(dtype) for name, weight in load_file(path).items()}
        max(weights.values(), key=torch.numel).view(-1)[1] = number
        with safe_open(path, framework="pt") as file:
            save_file(weights, path, file.metadata())

    return write


def write_half_a_character(path):
    tables = json.loads(path.read_text("utf-8"))
    tables["words"][-1] = "\ud83d"
    path.write_text(json.dumps(tables))


def write_newer_version(path):
    text = path.read_text("utf-8")
    path.write_text(text.replace(f"version = {FORMAT_VERSION}", "version = 999"), "utf-8")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (VOCABULARY, lambda path: path.write_text('{"words": []}'), "not a vocabulary"),
        (VOCABULARY, lambda path: path.write_text("{}"), "not a vocabulary: it has no table 'wo"),
        (VOCABULARY, lambda path: path.write_text("[]"), "not a vocabulary: it is not an object"),
        (VOCABULARY, lambda path: path.write_text("3"), "not a vocabulary"),
        (VOCABULARY, write_half_a_character, r"json is not a vocabulary: '\\ud83d' is half of a"),
        (WEIGHTS, write_other_weights, "does not have the weights of this model"),
        (WEIGHTS, write_number(math.nan), r"safetensors is damaged: the tensor '.+' has a NaN or"),
        (WEIGHTS, write_number(-math.inf, torch.float16), "has a NaN or an infinite number"),
        (WEIGHTS, write_number(1e300, torch.float64), "has a NaN or an infinite number"),
        (CONFIG, write_newer_version, "format_version is 999"),
    ],
)
def test_a_file_of_another_kind_or_version_is_rejected(directory, name, change, message):
    change(directory / name)
    with pytest.raises(ModelError, match=message):
        load(directory, "cpu")


def test_a_vocabulary_without_the_treebank_of_the_settings_is_of_another_model(directory, tiny):
    """Then the user is not told to leave out an option that was not given."""
    path = directory / CONFIG
    text = path.read_text("utf-8")
    path.write_text(text.replace('treebank_name = ""', 'treebank_name = "ewt"'), "utf-8")
    with pytest.raises(ModelError, match=r"json does not belong .*: the model does not know .*ewt"):
        load(directory, "cpu")


def edit_config(**settings):
    """Return a function that sets settings (`section_name=value`) in a config.toml."""

    def edit(path):
        tables = tomllib.loads(path.read_text("utf-8"))
        for name, value in settings.items():
            section, _, key = name.partition("_")
            tables[section][key] = value
        path.write_text(to_toml(tables), "utf-8")

    return edit


def edit_vocabulary(table, *symbols, column=""):
    """Return a function that adds symbols to a table or a column of a vocabulary."""

    def edit(path):
        data = json.loads(path.read_text("utf-8"))
        (data[table][column] if column else data[table]).extend(symbols)
        path.write_text(json.dumps(data), "utf-8")

    return edit


def replace_text(text):
    return lambda path: path.write_text(text, "utf-8")


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (CONFIG, edit_config(encoder_size=2**24), "a tensor of size .* is too large"),
        (CONFIG, edit_config(encoder_size=10**9), "encoder.size is too large; it takes 16777216"),
        (CONFIG, edit_config(encoder_layers=2**63 - 1), "encoder.layers is too large"),
        (CONFIG, edit_config(encoder_layers=2**20), "too many layers"),
        (CONFIG, edit_config(encoder_size=9), r"'encoder.* has the shape \[32, \d+\], not"),
        (
            CONFIG,
            edit_config(scorer_predict=["upos", "xpos"]),
            f"{VOCABULARY} has no table of xpos",
        ),
        (CONFIG, replace_text("a = " + "[" * 100_000), "nested too deeply"),
        (CONFIG, replace_text("a." * 100_000 + "a = 1"), "a key of too many parts"),
        (CONFIG, replace_text('"a" . ' * 100_000 + "a = 1"), "a key of too many parts"),
        (CONFIG, replace_text(f"a = {'9' * 10_000}"), f"{CONFIG}: Exceeds the limit"),
        (CONFIG, replace_text("#" * 2_000_000), "more than 1,048,576 bytes"),
        (CONFIG, make_pipe, "not a regular file"),
        (VOCABULARY, make_pipe, "not a regular file"),
        (
            VOCABULARY,
            replace_text("[" * 1_000_000),
            "vocabulary: .* nested too deeply",
        ),
        (VOCABULARY, edit_vocabulary("words", 3), "not a list of strings"),
        (VOCABULARY, edit_vocabulary("words", ["a"]), "not a list of strings"),
        (VOCABULARY, edit_vocabulary("words", "a"), "'inputs.word.weight' has the shape"),
        (VOCABULARY, edit_vocabulary("columns", None, column="deprel"), "not a list of strings"),
        (VOCABULARY, edit_vocabulary("columns", "a\tb", column="deprel"), "a tab or a line end"),
        (VOCABULARY, edit_vocabulary("columns", "a\nb", column="upos"), "a tab or a line end"),
        (WEIGHTS, make_pipe, f"no {WEIGHTS}"),
        (WEIGHTS, lambda path: path.write_bytes(b"\xff" * 100), f"{WEIGHTS} is damaged"),
        (
            WEIGHTS,
            lambda path: save_file(dict(list(load_file(path).items())[1:]), path),
            "there is no tensor",
        ),
    ],
)
def test_hostile_files_are_refused_at_once(directory, name, change, message):
    change(directory / name)
    with pytest.raises(ModelError, match=message):
        load(directory, "cpu")


@pytest.mark.parametrize("kind", ["bilstm", "selfatt", "factored", "stacked"])
@pytest.mark.parametrize("setting", ["layers", "size", "heads", "convolution", "lstm_layers"])
@pytest.mark.parametrize("value", [7, 2**20, 2**24])
def test_no_encoder_is_larger_than_its_weights(tiny, tmp_path, kind, setting, value):
    directory = save_parser(make_parser(tiny, encoder=kind), tmp_path)
    config, _ = read_config(directory)
    if hasattr(config.encoder, setting):
        edit_config(**{f"encoder_{setting}": value})(directory / CONFIG)
        with pytest.raises(ModelError, match=str(directory)):
            load(directory, "cpu")


def test_a_family_needs_no_code_for_these_checks(tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "depth", DepthFamily())
    config = DepthFamily.config(inputs=Inputs(word=6))
    treebank = list(read_sentences(["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))\n"]))
    directory = save_parser(build_parser(config, treebank), tmp_path)
    load(directory, "cpu")
    edit_config(inputs_word=2**23)(directory / CONFIG)
    with pytest.raises(ModelError, match=r"a tensor of size .* is too large"):
        load(directory, "cpu")


@pytest.mark.parametrize(
    "script",
    [
        '["lower", 0, "", 0]', '["lower", -1, "", 0, ""]', '["lower", 0, 0, 0, 0]', '["whole"]',
        "[", '["keep", 0, "a\\tb", 0, ""]', '["whole", "a\\nb"]', "3", '[["lower"], 0, "", 0, ""]',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_lemma_scripts_of_a_vocabulary_are_checked(tiny, tmp_path, script):
    config = TaggerConfig(Inputs(word=6), BiLSTM(layers=1, size=8), TagScorer(0.33, ["lemma"], 9))
    directory = save_parser(build_parser(config, tiny), tmp_path)
    edit_vocabulary("columns", script, column="lemma")(directory / VOCABULARY)
    with pytest.raises(ModelError, match="is not an edit script"):
        load(directory, "cpu")


def make_ensemble(directory, *members):
    (directory / ENSEMBLE).write_text(
        to_toml({"format_version": FORMAT_VERSION, "members": list(members)}), "utf-8"
    )


def test_an_ensemble_has_distinct_members_that_are_no_ensembles(tiny, tmp_path):
    save_parser(make_parser(tiny), tmp_path / "a")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / CONFIG).touch()
    for members, message in (
        (["a"] * 200, "names the member 'a' twice"),
        (["a", "link"], "names the member 'a' twice"),
        (["a", "loop"], "names a member 'loop', which is an ensemble itself"),
        (["a", "é" * 200], "there is no model 'éé"),
        (["a", "b\0"], "there is no model 'b"),
    ):
        make_ensemble(tmp_path, *members)
        with pytest.raises(ModelError, match=message):
            load(tmp_path, "cpu")


def test_a_tuned_transformer_has_the_sizes_of_the_configuration(tmp_path):
    save_description(load_transformer(str(save_bert(tmp_path / "bert"))), tmp_path / "transformer")
    sizes = {"available": 4, "width": 16}
    context = Context("transformer", tune=True, **sizes)
    shapes = {"weight": (1000, 1000)}
    assert load_model_transformer(tmp_path, context, shapes).layers == 4
    for name in sizes:
        with pytest.raises(ModelError, match="4 layers of 16 numbers, but"):
            load_model_transformer(tmp_path, replace(context, **{name: 5}), shapes)


@pytest.mark.parametrize(
    "damage",
    [
        {"spaces": None}, {"size": 10**9}, {"size": "2"}, {"embedding": 2**63}, {"characters": 3},
        {"characters": [*SPECIAL, SPACE, 5]}, {"whole": {"a": "bc"}}, {"whole": {"a": [1]}},
        {"whole": {"a": []}}, {"endings": {"a": ["b", "c\td"]}}, {"endings": []},
        {"whole": {"the": ["a"] * 20_000}}, {"endings": {"s": ["b", "a" * 100_000]}},
    ],
)  # fmt: skip
def test_a_damaged_tokenizer_is_refused(directory, damage):
    network = TokenizerNetwork(len(SPECIAL) + 1, 2, 2, dilations=(1,))
    table = Table([*SPECIAL, SPACE])
    tokenizer = Tokenizer(table, MultiwordTable(), False, TorchEngine(network, torch.device("cpu")))
    write_tokenizer(directory, tokenizer, {})
    with safe_open(directory / TOKENIZER, framework="pt") as file:
        description = json.loads(file.metadata()["tokenizer"]) | damage
    description = {name: value for name, value in description.items() if value is not None}
    metadata = {"tokenizer": json.dumps(description)}
    save_file(load_file(directory / TOKENIZER), directory / TOKENIZER, metadata)
    with pytest.raises(ModelError, match=TOKENIZER):
        load(directory, "cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda packed: packed[:-12], "too large, or their end is missing"),
        (lambda packed: "0" * 40, "while decompressing"),
        (lambda packed: "\u1234", "ASCII"),
        (lambda packed: tokenizer_file._pack(tokenizer_file._unpack(packed) + " " * 9999), "large"),
        (lambda packed: packed + "0" * 9999, "tables are too large"),
    ],
)
def test_damaged_compressed_tables_are_refused(directory, change, message, monkeypatch):
    monkeypatch.setattr(tokenizer_file, "_MAX_TABLES", 9000)
    table = Table([*SPECIAL, SPACE])
    engine = TorchEngine(TokenizerNetwork(len(table), 2, 2, dilations=(1,)), torch.device("cpu"))
    tokenizer = Tokenizer(table, MultiwordTable({"du": ("de", "le")}), False, engine)
    write_tokenizer(directory, tokenizer, {"a": 1}, "int8")
    path = directory / TOKENIZER
    assert read_tokenizer(directory, torch.device("cpu")).multiwords == tokenizer.multiwords
    assert read_tokenizer_notes(directory) == {"a": 1}
    with safe_open(path, framework="pt") as file:
        ((name, packed),) = file.metadata().items()
    save_file(load_file(path), path, {name: change(packed)})
    with pytest.raises(ModelError, match=rf"{TOKENIZER} is damaged: .*{message}"):
        read_tokenizer(directory, torch.device("cpu"))
    assert read_tokenizer_notes(directory) == {}


def test_a_tokenizer_with_a_nan_is_refused(directory):
    network = TokenizerNetwork(len(SPECIAL) + 1, 2, 2, dilations=(1,))
    table = Table([*SPECIAL, SPACE])
    tokenizer = Tokenizer(table, MultiwordTable(), False, TorchEngine(network, torch.device("cpu")))
    write_tokenizer(directory, tokenizer, {})
    write_number(math.nan)(directory / TOKENIZER)
    with pytest.raises(ModelError, match=rf"{TOKENIZER} is damaged: the tensor '.+' has a NaN"):
        load(directory, "cpu")


def test_an_integer_that_cannot_be_printed_is_an_error(directory):
    (directory / CONFIG).write_text(f"format_version = 1\nfamily = 0x{'f' * 5000}")
    with pytest.raises(ModelError, match=r"config.toml: Exceeds the limit \(4300 digits\)"):
        load(directory, "cpu")


def test_a_model_without_a_rule_for_the_root_is_refused(directory):
    edit_config(decoder_root="auto")(directory / CONFIG)
    with pytest.raises(ModelError, match=r"config\.toml: decoder\.root is missing or auto"):
        load(directory, "cpu")


def test_long_keys_are_found_in_time_and_usual_values_are_not():
    assert parse_toml('a.b = "a.b.c.d.e.f.g.h.i.j/../../x.conllu"\nc = [1.5, 2.5]')
    start = time.process_time()
    for text in ("a" * 1_000_000, "a " * 500_000, '"' * 1_000_000, "a. " * 300_000, ". " * 500_000):
        with pytest.raises(ConfigError):
            parse_toml(text)
    assert time.process_time() - start < 5


def test_a_configuration_written_as_toml_is_read_unchanged():
    decoder = Decoder(root_label='a "quoted" \\ label\twith a tab')
    config = BiaffineConfig(Inputs(word=7, part_dropout=0.0), decoder=decoder)
    assert make_parser_config(tomllib.loads(to_toml(config))) == config


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"inputs": {"wrod": 3}}, "there is no setting 'inputs.wrod'; did you mean inputs.word?"),
        (
            {"decoder": {"strategy": 3}},
            "there is no setting 'decoder.strategy'; choose from algorithm, root",
        ),
        ({"encoder": {"kind": "gru"}}, "it can be bilstm, selfatt"),
        ({"encoder": {"layers": "three"}}, "takes a value of type int"),
        ({"encoder": {"layers": True}}, "takes a value of type int"),
        ({"scorer": {"predict": "upos"}}, "takes a list"),
        ({"scorer": {"predict": ["form"]}}, "it can be lemma, upos, xpos, feats, deps"),
        ({"encoder": {"kind": "selfatt", "heads": 0}}, "takes 1 or more"),
        ({"inputs": {"word": -1}}, "takes 0 or more"),
        ({"inputs": {"part_dropout": 1}}, "from 0 to less than 1"),
        ({"scorer": {"dropout": float("nan")}}, "from 0 to less than 1"),
        ({"scorer": 3}, "is a table"),
        ({"family": ["tagger"]}, "family is ..tagger..; it can be"),
        ({"family": "graph"}, "family is 'graph'; it can be biaffine, constituency"),
    ],
)
def test_errors_name_the_invalid_setting(tables, message):
    with pytest.raises(ConfigError, match=message) as error:
        make_parser_config(tables)
    assert "\n" not in str(error.value)
