"""A model on disk: config.toml, vocab.json, model.safetensors, README.md; where the treebank
has a text, tokenizer.safetensors; where a transformer was trained, too, the description of it
in transformer/. One that was not is named in config.toml. Nothing is pickled.

An ensemble's directory has ensemble.toml, its members' directories, and the tokenizer of all."""

import dataclasses
import json
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from depkit.corpus.files import PathLike, atomic
from depkit.nn.initial import no_initial_weights
from depkit.nn.quantized import can_quantize, quantize
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration, Context, EnsembleConfig, ParserConfig, at_test_time
from depkit.parsers.device import best_precision, find_device, named_precision
from depkit.parsers.ensembles import combine
from depkit.parsers.families import family_of, parser_config, parser_fields
from depkit.parsers.family import CombinationError
from depkit.parsers.inputs.transformer import (
    Transformer,
    TransformerError,
    from_description,
    load_transformer,
    save_description,
)  # fmt: skip
from depkit.parsers.inputs.vocabulary import Table, Vocabulary
from depkit.parsers.settings import ConfigError, from_dict, to_toml
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.tokenizer import SPACE, Tokenizer, TokenizerNetwork

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = "config.toml", "vocab.json", "model.safetensors", "README.md"
TOKENIZER = "tokenizer.safetensors"
TRANSFORMER = "transformer"
ENSEMBLE = "ensemble.toml"
BUNDLED = Path(__file__).parent.parent / "models"
DEFAULT = "en-ewt"


class ModelError(ValueError):
    """A model directory that is not there, not whole, or of another version."""


def bundled_models() -> list[str]:
    """The names of the models that come with depkit."""
    return sorted(path.parent.name for path in BUNDLED.glob(f"*/{CONFIG}"))


def find_model(name: PathLike) -> Path:
    """The model directory of that path, or the bundled model of that name.

    Raises ModelError if there is neither.
    """
    path = Path(name)
    if path.is_dir():
        return path
    if str(name) in bundled_models():
        return BUNDLED / str(name)
    bundled = ", ".join(bundled_models()) or "none"
    raise ModelError(f"no model {str(name)!r}: no such directory; bundled models: {bundled}")


def model_files(directory: Path) -> list[Path]:
    """The files that a model is made of, an ensemble's members' too; others may stand beside."""
    files = [directory / name for name in (CONFIG, VOCABULARY, WEIGHTS, CARD, TOKENIZER, ENSEMBLE)]
    files += sorted((directory / TRANSFORMER).glob("*"))
    if (directory / ENSEMBLE).is_file():
        members = read_ensemble(directory).members
        files += chain.from_iterable(model_files(directory / name) for name in members)
    return [path for path in files if path.is_file()]


def load(
    model: PathLike = DEFAULT,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    settings: Sequence[str] | None = None,
) -> Parser:
    """The parser in a model directory, or the bundled one of that name, ready to parse.

    device: "auto", "cpu", "cuda", "cuda:1", "mps"; precision: "float32", "bfloat16", "int8" (a
    BiLSTM on a CPU), "auto" (bfloat16 where the device computes in it, else int8 where that
    works); threads: on the CPU, None for torch's own. settings: see
    `config.at_test_time`.
    Raises ModelError saying what is missing or does not fit.
    """
    path = find_model(model)
    if (path / ENSEMBLE).is_file():
        return _load_ensemble(path, device, precision, threads, settings)
    config, _ = read_config(path)
    config = at_test_time(config, settings or [])
    vocabulary = read_vocabulary(path)
    transformer = find_transformer(path, config.inputs.context)
    with no_initial_weights():
        network = family_of(config).network(config, vocabulary, transformer)
    put_weights(network, path / WEIGHTS)
    place = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    network.to(place).eval()
    works = place.type == "cpu" and config.encoder.kind == "bilstm" and can_quantize()
    if precision == "auto" and works and best_precision(place) == torch.float32:
        precision = "int8"
    if precision == "int8":
        if not works:
            raise ValueError(
                "int8 is for parsers with a BiLSTM, on CPUs whose torch has x86 kernels"
            )
        for part in network.prediction_parts():
            quantize(part)
        precision = "float32"  # of all the rest
    dtype = named_precision(precision, place)
    if place.type == "cpu":
        network.keep_products_in(dtype)
    return family_of(config).parser(
        config, vocabulary, network, place, dtype, threads or torch.get_num_threads(),
        read_tokenizer(path, place, dtype),
    )  # fmt: skip


def _load_ensemble(
    path: Path,
    device: str,
    precision: str,
    threads: int | None,
    settings: Sequence[str] | None,
) -> Parser:
    """As `load`, the parser that an ensemble's directory describes."""
    config = read_ensemble(path)
    members = [load(path / name, device, precision, threads, settings) for name in config.members]
    try:
        parser = combine(members, config.mean, config.calibration)
    except CombinationError as error:
        raise ModelError(f"{path}: {error}") from None
    tokenizer = read_tokenizer(path, parser.device, parser.precision)
    return replace(parser, tokenizer=tokenizer or parser.tokenizer)


def read_ensemble(directory: Path) -> EnsembleConfig:
    """What ensemble.toml says. Raises ModelError if it is damaged or of another version."""
    path = directory / ENSEMBLE
    try:
        tables = tomllib.loads(_text(directory, ENSEMBLE))
        _check_version(path, tables)
        tables.pop("format_version")
        config = from_dict(EnsembleConfig, tables)
    except (tomllib.TOMLDecodeError, ConfigError, TypeError) as error:
        raise ModelError(f"{path}: {error}") from None
    if not config.members:
        raise ModelError(f"{path}: it names no members")
    for name in config.members:
        if Path(name).name != name or name == ".." or not (directory / name / CONFIG).is_file():
            raise ModelError(f"{path}: there is no model {name!r} beside it")
    return config


def write_ensemble(directory: Path, config: EnsembleConfig) -> None:
    """ensemble.toml, atomically; the members stand in their directories already."""
    tables = {"format_version": FORMAT_VERSION} | dataclasses.asdict(config)
    write_text(directory, ENSEMBLE, to_toml(tables))


def find_transformer(directory: Path, context: Context) -> Transformer | None:
    """The transformer that a model reads, if it reads one.

    Raises ModelError if it cannot be had, or is not the one it was; TransformerError for a damaged
    description.
    """
    if context.source != "transformer":
        return None
    if context.tune:  # its weights are the model's
        return from_description(directory / TRANSFORMER)
    try:
        transformer = load_transformer(context.model, context.revision)
    except TransformerError as error:
        raise ModelError(
            f"{directory} reads a transformer: {error}; if it is elsewhere now,"
            " --set inputs.context.model=DIRECTORY"
        ) from None
    if transformer.digest != context.digest:
        raise ModelError(
            f"{directory}: {context.model} is not the transformer that this model was trained with"
            f" (digest {transformer.digest}, not {context.digest})"
        )
    return transformer


def read_config(directory: Path) -> tuple[ParserConfig, dict]:
    """The parser's part of a model's config.toml, and all of it as tables."""
    text = _text(directory, CONFIG)
    try:
        tables = tomllib.loads(text)
        _check_version(directory / CONFIG, tables)
        known = parser_fields()
        return parser_config({k: v for k, v in tables.items() if k in known}), tables
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise ModelError(f"{directory / CONFIG}: {error}") from None


def _check_version(path: Path, tables: dict[str, Any]) -> None:
    version = tables.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: format_version is {version}, this depkit reads {FORMAT_VERSION}; use the"
            " depkit that wrote it"
        )


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
        if any(directory.glob("fold-*")):
            raise ModelError(
                f"{directory} is an ensemble that is not through; the command that began it goes on"
            ) from None
        raise ModelError(f"{directory} is not a model: it has no {name}") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{directory / name}: damaged: {error}") from None


def put_weights(network: nn.Module, path: Path) -> None:
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


def write_description(
    directory: Path,
    tables: dict[str, Any],
    vocabulary: Vocabulary,
    transformer: Transformer | None = None,
) -> None:
    """config.toml, vocab.json and, where one is trained, what the transformer is.

    tables: the parser's configuration, and how it is trained.
    """
    if transformer and tables["inputs"]["context"]["tune"]:
        save_description(transformer, directory / TRANSFORMER)
    write_config(directory, tables)
    write_vocabulary(directory, vocabulary)


def write_vocabulary(directory: Path, vocabulary: Vocabulary) -> None:
    """Write vocab.json, with each table on a line of its own."""
    tables = (
        f"{json.dumps(name)}: {json.dumps(table, ensure_ascii=False)}"
        for name, table in vocabulary.to_json().items()
    )
    write_text(directory, VOCABULARY, "{\n" + ",\n".join(tables) + "\n}\n")


def write_config(directory: Path, tables: dict[str, Any]) -> None:
    """config.toml."""
    write_text(directory, CONFIG, to_toml({"format_version": FORMAT_VERSION} | tables))


def write_calibration(directory: Path, calibration: Calibration) -> None:
    """Put temperatures into a model's config.toml, or ensemble.toml; all else in it stays."""
    if (directory / ENSEMBLE).is_file():
        write_ensemble(directory, replace(read_ensemble(directory), calibration=calibration))
        return
    _, tables = read_config(directory)
    write_config(directory, tables | {"calibration": dataclasses.asdict(calibration)})


def write_weights(directory: Path, network: nn.Module, storage: str = "float32") -> None:
    """model.safetensors, atomically; storage: "float32", or "float16" for half the size."""
    _save(directory / WEIGHTS, network, {}, getattr(torch, storage))


def _save(
    path: Path, network: nn.Module, metadata: dict[str, str], dtype: torch.dtype = torch.float32
) -> None:
    weights = {name: each.to(dtype).contiguous() for name, each in network.state_dict().items()}
    with atomic(path) as beside:
        beside.write_bytes(save(weights, metadata))  # save_file's files are for their owner alone


def write_tokenizer(directory: Path, tokenizer: Tokenizer, notes: dict[str, object]) -> None:
    """tokenizer.safetensors, atomically; notes: what else to remember, for `tokenizer_notes`."""
    network = tokenizer.network
    description = {
        "format_version": FORMAT_VERSION,
        "characters": tokenizer.characters.symbols,
        "spaces": tokenizer.spaces,
        "embedding": network.embedding.embedding_dim,
        "size": network.ends.in_features // 2,
        "whole": tokenizer.multiwords.whole,
        "endings": tokenizer.multiwords.endings,
        "notes": notes,
    }
    text = json.dumps(description, ensure_ascii=False)
    _save(directory / TOKENIZER, network, {"tokenizer": text}, torch.float16)


def read_tokenizer(
    directory: Path, device: torch.device, precision: torch.dtype = torch.float32
) -> Tokenizer | None:
    """A model's tokenizer; None if it has none. Raises ModelError if it is damaged."""
    path = directory / TOKENIZER
    if not path.is_file():
        return None
    try:
        description = _description(path)
        if description["format_version"] != FORMAT_VERSION:
            raise ModelError(f"{path}: format_version is not {FORMAT_VERSION}")
        characters = Table(description["characters"])
        with no_initial_weights():
            network = TokenizerNetwork(
                len(characters), description["embedding"], description["size"]
            )
        network.load_state_dict(load_file(path))
        table = MultiwordTable(
            *({key: tuple(words) for key, words in description[name].items()}
              for name in ("whole", "endings"))
        )  # fmt: skip
        if SPACE not in characters.numbers:
            raise ValueError("no characters")
    except ModelError:
        raise
    except (SafetensorError, LookupError, TypeError, AttributeError, RuntimeError, ValueError) as e:
        raise ModelError(f"{path}: damaged: {str(e).splitlines()[0]}") from None
    return Tokenizer(
        characters, table, description["spaces"], network.to(device).eval(), device, precision
    )


def tokenizer_notes(directory: Path) -> dict:
    """What `write_tokenizer` was told to remember; {} if there is no readable tokenizer."""
    try:
        return dict(_description(directory / TOKENIZER)["notes"])
    except (OSError, SafetensorError, LookupError, TypeError, ValueError):
        return {}


def _description(path: Path) -> dict:
    with safe_open(path, framework="pt") as file:
        return dict(json.loads(file.metadata()["tokenizer"]))
