"""A model on disk: config.toml, vocab.json, model.safetensors, README.md. Nothing is pickled."""

import dataclasses
import json
import tomllib
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from depkit.corpus.files import PathLike, atomic
from depkit.parsers.biaffine import BiaffineNetwork
from depkit.parsers.config import ConfigError, ParserConfig, from_dict, to_toml
from depkit.parsers.parser import Parser, best_precision, find_device
from depkit.parsers.vocabulary import Vocabulary

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = "config.toml", "vocab.json", "model.safetensors", "README.md"


class ModelError(ValueError):
    """A model directory that is not there, not whole, or of another version."""


def load(
    directory: PathLike, device: str = "auto", precision: str = "auto", threads: int | None = None
) -> Parser:
    """The parser in a model directory, ready to parse.

    device: "auto", "cpu", "cuda", "cuda:1", "mps"; precision: "auto" (bfloat16 where the
    device computes in it), "float32", "bfloat16"; threads: on the CPU, None for torch's own.
    Raises ModelError saying what is missing or does not fit.
    """
    path = Path(directory)
    config, _ = read_config(path)
    vocabulary = read_vocabulary(path)
    network = BiaffineNetwork(config, vocabulary)
    put_weights(network, path / WEIGHTS)
    place = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    return Parser(
        config, vocabulary, network.to(place).eval(), place, named_precision(precision, place),
        threads or torch.get_num_threads(),
    )  # fmt: skip


def named_precision(name: str, device: torch.device) -> torch.dtype:
    """The dtype of "auto", "float32" or "bfloat16" on a device. Raises ValueError for others."""
    if name == "auto":
        return best_precision(device)
    if name not in ("float32", "bfloat16"):
        raise ValueError(f"no precision {name!r}; it can be auto, float32 or bfloat16")
    return torch.float32 if name == "float32" else torch.bfloat16


def read_config(directory: Path) -> tuple[ParserConfig, dict]:
    """The parser's part of a model's config.toml, and all of it as tables."""
    text = _text(directory, CONFIG)
    try:
        tables = tomllib.loads(text)
        version = tables.get("format_version")
        if version != FORMAT_VERSION:
            raise ModelError(
                f"{directory / CONFIG}: format_version is {version}, this depkit reads"
                f" {FORMAT_VERSION}; use the depkit that wrote it"
            )
        known = [field.name for field in dataclasses.fields(ParserConfig)]
        return from_dict(ParserConfig, {k: v for k, v in tables.items() if k in known}), tables
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise ModelError(f"{directory / CONFIG}: {error}") from None


def read_vocabulary(directory: Path) -> Vocabulary:
    """A model's vocabulary."""
    try:
        return Vocabulary.from_json(json.loads(_text(directory, VOCABULARY)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{directory / VOCABULARY}: not a vocabulary: {error}") from None


def _text(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelError(f"{directory} is not a model: it has no {name}") from None


def put_weights(network: BiaffineNetwork, path: Path) -> None:
    """Load weights into a network of the same shape. Raises ModelError if they do not fit."""
    if not path.is_file():
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}")
    try:
        network.load_state_dict(load_file(path))
    except SafetensorError as error:
        raise ModelError(f"{path}: damaged: {error}") from None
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ModelError(f"{path}: not the weights of this model: {reason}") from None


def write_text(directory: Path, name: str, text: str) -> None:
    """Write a small file of a model directory; it appears whole or not at all."""
    with atomic(directory / name) as beside:
        beside.write_text(text, encoding="utf-8")


def write_description(directory: Path, recipe: object, vocabulary: Vocabulary) -> None:
    """config.toml and vocab.json; what `recipe` holds beyond the parser goes along."""
    version = f"format_version = {FORMAT_VERSION}\n"
    write_text(directory, CONFIG, version + to_toml(recipe))
    json_text = json.dumps(vocabulary.to_json(), ensure_ascii=False, indent=0)
    write_text(directory, VOCABULARY, json_text)


def write_weights(directory: Path, network: BiaffineNetwork) -> None:
    """model.safetensors, atomically."""
    with atomic(directory / WEIGHTS) as beside:
        save_file({k: v.contiguous() for k, v in network.state_dict().items()}, beside)
