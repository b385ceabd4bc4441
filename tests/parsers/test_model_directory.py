"""A model directory loads to the same parser; what is wrong with one is said."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import depkit
from depkit.parsers.config import ConfigError, Decoder, Inputs, ParserConfig, from_dict, to_toml
from depkit.parsers.inputs.vocabulary import SPECIAL, Table
from depkit.parsers.model_directory import (
    CONFIG,
    FORMAT_VERSION,
    VOCABULARY,
    WEIGHTS,
    ModelError,
    load,
    write_description,
    write_tokenizer,
    write_weights,
)
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.tokenizer import SPACE, Tokenizer, TokenizerNetwork
from tests.parsers.test_base import make


@pytest.fixture
def saved(tiny, tmp_path):
    parser = make(tiny)
    write_description(tmp_path, parser.config, parser.vocabulary)
    write_weights(tmp_path, parser.network)
    return parser, tmp_path


def test_a_loaded_parser_parses_the_same(saved, tiny):
    parser, directory = saved
    expected = [str(sentence) for sentence in parser.parse(tiny)]
    loaded = depkit.load(directory, device="cpu", precision="float32")
    assert loaded.config == parser.config
    assert [str(sentence) for sentence in loaded.parse(tiny)] == expected


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_tokenizer_computes_as_its_parser_does(saved, precision):
    _, directory = saved
    table = Table([*SPECIAL, SPACE])
    network = TokenizerNetwork(len(table), 2, 2)
    tokenizer = Tokenizer(table, MultiwordTable(), False, network, torch.device("cpu"))
    write_tokenizer(directory, tokenizer, {})
    loaded = load(directory, "cpu", str(precision).removeprefix("torch."))
    assert loaded.tokenizer.precision == loaded.precision == precision


def test_nothing_is_pickled(saved):
    _, directory = saved
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        [CONFIG, VOCABULARY, WEIGHTS]
    )
    json.loads((directory / VOCABULARY).read_text("utf-8"))
    load_file(directory / WEIGHTS)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_a_missing_file_is_named(saved, name):
    _, directory = saved
    (directory / name).unlink()
    with pytest.raises(ModelError, match=f"has no {name}"):
        load(directory, "cpu")


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_a_damaged_file_is_named(saved, name):
    _, directory = saved
    (directory / name).write_bytes(b"\x00garbage = [")
    with pytest.raises(ModelError, match=name):
        load(directory, "cpu")


@pytest.mark.parametrize("text", ['{"words": []}', "[]", "3"])
def test_a_vocabulary_that_is_none_is_refused(saved, text):
    _, directory = saved
    (directory / VOCABULARY).write_text(text)
    with pytest.raises(ModelError, match="not a vocabulary"):
        load(directory, "cpu")


def test_weights_of_another_shape_are_refused(saved):
    _, directory = saved
    weights = load_file(directory / WEIGHTS)
    weights["arc.weight"] = torch.zeros(2, 2)
    save_file(weights, directory / WEIGHTS)
    with pytest.raises(ModelError, match="not the weights of this model"):
        load(directory, "cpu")


def test_another_version_is_refused(saved):
    _, directory = saved
    config = (directory / CONFIG).read_text("utf-8")
    newer = config.replace(f"format_version = {FORMAT_VERSION}", "format_version = 999")
    (directory / CONFIG).write_text(newer, "utf-8")
    with pytest.raises(ModelError, match="format_version is 999"):
        load(directory, "cpu")


def test_configuration_survives_toml():
    import tomllib

    odd = Decoder(root_label='a "quoted" \\ label\twith a tab')
    config = ParserConfig(inputs=Inputs(word=7, part_dropout=0.0), decoder=odd)
    assert from_dict(ParserConfig, tomllib.loads(to_toml(config))) == config


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"inputs": {"wrod": 3}}, "no setting 'inputs.wrod'; here there are word"),
        ({"encoder": {"kind": "gru"}}, "it can be bilstm, selfatt"),
        ({"encoder": {"layers": "three"}}, "takes a value of type int"),
        ({"encoder": {"layers": True}}, "takes a value of type int"),
        ({"scorer": {"predict": "upos"}}, "takes a list"),
        ({"scorer": {"predict": ["form"]}}, "it can be lemma, upos, xpos, feats"),
        ({"encoder": {"heads": 0}}, "takes 1 or more"),
        ({"inputs": {"word": -1}}, "takes 0 or more"),
        ({"inputs": {"part_dropout": 1}}, "from 0 to less than 1"),
        ({"scorer": {"dropout": float("nan")}}, "from 0 to less than 1"),
        ({"scorer": 3}, "is a table"),
    ],
)
def test_mistaken_settings_are_named(tables, message):
    with pytest.raises(ConfigError, match=message):
        from_dict(ParserConfig, tables)
