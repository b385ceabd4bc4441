"""A model directory loads to the same parser; errors name the file and what is wrong with it."""

import json
import tomllib
from dataclasses import asdict, astuple

import pytest
import torch
from safetensors.torch import load_file, save_file

import depkit
from depkit.parsers.config import (
    BiaffineConfig,
    BiLSTM,
    Calibration,
    Decoder,
    Factored,
    Inputs,
    NoEncoder,
    Scorer,
    SelfAttention,
    TaggerConfig,
    TagScorer,
)
from depkit.parsers.families import make_parser_config
from depkit.parsers.inputs.vocabulary import SPECIAL, Table
from depkit.parsers.model_directory import (
    CONFIG,
    FORMAT_VERSION,
    VOCABULARY,
    WEIGHTS,
    ModelError,
    load,
    read_config,
    write_tokenizer,
)
from depkit.parsers.settings import ConfigError, to_toml
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.tokenizer import SPACE, Tokenizer, TokenizerNetwork
from tests.parsers.test_base import build_parser, make_parser, save_parser, texts


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
    network = TokenizerNetwork(len(table), 2, 2)
    tokenizer = Tokenizer(table, MultiwordTable(), False, network, torch.device("cpu"))
    write_tokenizer(directory, tokenizer, {})
    loaded = load(directory, "cpu", str(precision).removeprefix("torch."))
    assert loaded.tokenizer.precision == loaded.precision == precision


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
        (VOCABULARY, lambda path: path.write_text("[]"), "not a vocabulary"),
        (VOCABULARY, lambda path: path.write_text("3"), "not a vocabulary"),
        (VOCABULARY, write_half_a_character, r"json is not a vocabulary: '\\ud83d' is half of a"),
        (WEIGHTS, write_other_weights, "does not have the weights of this model"),
        (CONFIG, write_newer_version, "format_version is 999"),
    ],
)
def test_a_file_of_another_kind_or_version_is_rejected(directory, name, change, message):
    change(directory / name)
    with pytest.raises(ModelError, match=message):
        load(directory, "cpu")


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
        ({"scorer": {"predict": ["form"]}}, "it can be lemma, upos, xpos, feats"),
        ({"encoder": {"kind": "selfatt", "heads": 0}}, "takes 1 or more"),
        ({"inputs": {"word": -1}}, "takes 0 or more"),
        ({"inputs": {"part_dropout": 1}}, "from 0 to less than 1"),
        ({"scorer": {"dropout": float("nan")}}, "from 0 to less than 1"),
        ({"scorer": 3}, "is a table"),
        ({"family": ["tagger"]}, "family is ..tagger..; it can be"),
        ({"family": "graph"}, "family is 'graph'; it can be biaffine, tagger$"),
        ({"family": "biaffine", "scorer": {"tree": False}}, "scorer.tree is False, but family is"),
        ({"family": "tagger", "scorer": {"tree": True}}, "scorer.tree is True, but family is"),
    ],
)
def test_errors_name_the_invalid_setting(tables, message):
    with pytest.raises(ConfigError, match=message) as error:
        make_parser_config(tables)
    assert "\n" not in str(error.value)


# The section [encoder] as it was written for every kind before there were families
OLD_ENCODER = {
    "kind": "bilstm", "layers": 1, "size": 8, "dropout": 0.33, "recurrent_dropout": 0.25,
    "heads": 2, "head_size": 4, "feedforward": 8, "attention_dropout": 0.1,
    "feedforward_dropout": 0.1, "residual_dropout": 0.2, "positions": "learned",
    "norm_first": True, "window": 0, "relaxed": False, "attend": ["content"],
}  # fmt: skip
ATTENTION = {
    "layers": 1, "size": 8, "heads": 2, "head_size": 4, "feedforward": 8, "positions": "learned",
    "norm_first": True,
}  # fmt: skip
ENCODERS = [
    BiLSTM(layers=1, size=8, recurrent_dropout=0.25),
    SelfAttention(**ATTENTION),
    Factored(**ATTENTION, attend=["content"]),
    NoEncoder(),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.kind)
@pytest.mark.parametrize("tree", [True, None, False])
def test_old_models_without_a_family_in_their_config_are_loaded(tiny, tmp_path, encoder, tree):
    scorer = TagScorer(0.33, ["upos"], 9)
    config = TaggerConfig(Inputs(word=6), encoder, scorer)
    decoder, calibration = Decoder(root="single"), Calibration(arc=2.0)
    if tree is not False:
        scorer = Scorer(*astuple(scorer), arc=7, label=5)
        config = BiaffineConfig(Inputs(word=6), encoder, scorer, decoder, calibration)
    parser = build_parser(config, tiny)
    save_parser(parser, tmp_path)
    old_scorer = {"tree": tree, "arc": 7, "label": 5} | asdict(scorer)
    if tree is None:
        del old_scorer["tree"]
    tables = {
        "about": "old", "format_version": 1, "inputs": {"word": 6},
        "encoder": OLD_ENCODER | {"kind": encoder.kind}, "scorer": old_scorer,
        "decoder": asdict(decoder), "calibration": asdict(calibration),
        "training": {"select": "LAS" if tree else "tags"},
    }  # fmt: skip
    (tmp_path / CONFIG).write_text(to_toml(tables), "utf-8")
    loaded = load(tmp_path, "cpu", "float32")
    assert type(loaded) is type(parser) and loaded.config == config
    assert read_config(tmp_path) == (config, tables)
    assert texts(loaded.predict(tiny)) == texts(parser.predict(tiny))
