"""Model directories: loading a parser, and reading and writing its files. Nothing is pickled.

A model directory has these files:

- config.toml: the settings, such as the name of a frozen transformer
- vocab.json: the vocabulary
- model.safetensors: the weights
- README.md: the model card
- tokenizer.safetensors: the tokenizer, if the training treebank has running text
- transformer/: the configuration and the tokenizer of a tuned transformer

The directory of an ensemble has ensemble.toml, the directories of its members, and the tokenizer.
"""

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
from depkit.nn.initial import skip_initialisation
from depkit.nn.quantized import can_quantize, quantize
from depkit.parsers.base import Parser
from depkit.parsers.config import (
    Calibration,
    Context,
    EnsembleConfig,
    ParserConfig,
    apply_test_time_settings,
)
from depkit.parsers.device import best_precision, find_device, resolve_precision
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family, make_parser_config, parser_fields
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
    """A model directory is missing, incomplete, damaged, or of another version."""


def bundled_models() -> list[str]:
    """Return the names of the models that come with depkit."""
    return sorted(path.parent.name for path in BUNDLED.glob(f"*/{CONFIG}"))


def find_model(name: PathLike) -> Path:
    """Find the model directory with a path, or the bundled model with a name.

    Raises ModelError if there is neither.
    """
    path = Path(name)
    if path.is_dir():
        return path
    if str(name) in bundled_models():
        return BUNDLED / str(name)
    bundled = ", ".join(bundled_models()) or "none"
    raise ModelError(
        f"there is no model {str(name)!r}: no directory has this name; the bundled models are"
        f" {bundled}"
    )


def model_files(directory: Path) -> list[Path]:
    """Return the files that belong to a model, including those of an ensemble's members."""
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
    """Load a parser from a model directory, or a bundled model by name.

    Args:
        model: The path of the directory, or the name of a bundled model.
        device: "cpu", "cuda", "cuda:1", "mps" and so on, or "auto", see `device.find_device`.
        precision: "float32", "bfloat16", "int8" (only for a BiLSTM on a CPU) or "auto": bfloat16 if
            the device computes in it natively, else int8 if the model can be quantized, else
            float32.
        threads: The number of threads on a CPU; None does not change the number that torch uses.
        settings: Settings KEY=VALUE, see `config.apply_test_time_settings`.

    Raises:
        ModelError: A file is missing or damaged, or files do not belong together.
        TransformerError: The description of a tuned transformer is missing or damaged.
        ConfigError: There is no such device or setting.
        ValueError: There is no such precision, or the model cannot be quantized.
    """
    path = find_model(model)
    if (path / ENSEMBLE).is_file():
        return _load_ensemble(path, device, precision, threads, settings)
    config, _ = read_config(path)
    config = apply_test_time_settings(config, settings or [])
    vocabulary = read_vocabulary(path)
    check_treebank(config.inputs.treebank_name, vocabulary)
    transformer = load_model_transformer(path, config.inputs.context)
    with skip_initialisation():
        network = get_family(config).network(config, vocabulary, transformer)
    load_weights(network, path / WEIGHTS)
    torch_device = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    network.to(torch_device).eval()
    is_cpu = torch_device.type == "cpu"
    can_be_int8 = is_cpu and config.encoder.kind == "bilstm" and can_quantize()
    if precision == "auto" and can_be_int8 and best_precision(torch_device) == torch.float32:
        precision = "int8"
    if precision == "int8":
        if not can_be_int8:
            raise ValueError(
                "precision int8 needs a model with a BiLSTM encoder, a CPU as the device, and a"
                " version of torch with int8 kernels for x86; choose another precision"
            )
        for part in network.prediction_parts():
            quantize(part)
        precision = "float32"  # of the modules that are not quantized
    dtype = resolve_precision(precision, torch_device)
    if is_cpu:
        network.convert_product_weights(dtype)
    return get_family(config).parser(
        config, vocabulary, network, torch_device, dtype, threads or torch.get_num_threads(),
        read_tokenizer(path, torch_device, dtype),
    )  # fmt: skip


def _load_ensemble(
    path: Path,
    device: str,
    precision: str,
    threads: int | None,
    settings: Sequence[str] | None,
) -> Parser:
    """Load an ensemble; the arguments and errors are those of `load`."""
    config = read_ensemble(path)
    members = [load(path / name, device, precision, threads, settings) for name in config.members]
    try:
        parser = combine(members, config.mean, config.calibration)
    except CombinationError as error:
        raise ModelError(f"{path}: {error}") from None
    tokenizer = read_tokenizer(path, parser.device, parser.precision)
    return replace(parser, tokenizer=tokenizer or parser.tokenizer)


def read_ensemble(directory: Path) -> EnsembleConfig:
    """Read ensemble.toml. Raises ModelError if it is damaged or of another version."""
    path = directory / ENSEMBLE
    try:
        tables = tomllib.loads(_read_text(directory, ENSEMBLE))
        _check_version(path, tables)
        tables.pop("format_version")
        config = from_dict(EnsembleConfig, tables)
    except (tomllib.TOMLDecodeError, ConfigError, TypeError) as error:
        raise ModelError(f"{path}: {error}") from None
    if not config.members:
        raise ModelError(f"{path} names no members")
    for name in config.members:
        if Path(name).name != name or name == ".." or not (directory / name / CONFIG).is_file():
            raise ModelError(
                f"{path} names a member {name!r}, but there is no model {name!r} in its directory"
            )
    return config


def write_ensemble(directory: Path, config: EnsembleConfig) -> None:
    """Write ensemble.toml, atomically. The members must have been written before."""
    tables = {"format_version": FORMAT_VERSION} | dataclasses.asdict(config)
    write_text(directory, ENSEMBLE, to_toml(tables))


def load_model_transformer(directory: Path, context: Context) -> Transformer | None:
    """Load the transformer that a model reads; None if it reads none.

    Raises ModelError if a frozen transformer cannot be loaded or is not the one that the model was
    trained with, and TransformerError if the description of a tuned transformer is damaged.
    """
    if context.source != "transformer":
        return None
    if context.tune:  # its weights are among those of the model
        return from_description(directory / TRANSFORMER)
    try:
        transformer = load_transformer(context.model, context.revision)
    except TransformerError as error:
        raise ModelError(
            f"the model {directory} needs a transformer, which cannot be loaded: {error}; if the"
            " transformer is in another directory now, use --set inputs.context.model=DIRECTORY"
        ) from None
    if transformer.digest != context.digest:
        raise ModelError(
            f"{directory}: {context.model} is not the transformer that this model was trained with"
            f" (its digest is {transformer.digest}, not {context.digest})"
        )
    return transformer


def read_config(directory: Path) -> tuple[ParserConfig, dict]:
    """Read config.toml: the configuration of the parser, and all tables of the file."""
    text = _read_text(directory, CONFIG)
    try:
        tables = tomllib.loads(text)
        _check_version(directory / CONFIG, tables)
        fields = parser_fields()
        return make_parser_config({k: v for k, v in tables.items() if k in fields}), tables
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise ModelError(f"{directory / CONFIG}: {error}") from None


def _check_version(path: Path, tables: dict[str, Any]) -> None:
    version = tables.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: format_version is {version}, but this version of depkit reads only"
            f" {FORMAT_VERSION}; use the version of depkit that wrote the file"
        )


def check_treebank(name: str, vocabulary: Vocabulary) -> None:
    """Raise ConfigError if a model does not know a treebank of this name; "" is no name."""
    known = vocabulary.treebanks.symbols if vocabulary.treebanks else []
    if name and name not in known:
        advice = (
            f"those that it was trained on are {', '.join(known)}"
            if known
            else "it was trained without vectors of treebanks (inputs.treebank)"
        )
        raise ConfigError(f"the model does not know the treebank {name!r}; {advice}")


def read_vocabulary(directory: Path) -> Vocabulary:
    """Read the vocabulary of a model. Raises ModelError if it is missing or damaged."""
    try:
        return Vocabulary.from_json(_parse_json(_read_text(directory, VOCABULARY)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{directory / VOCABULARY} is not a vocabulary: {error}") from None


def _parse_json(text: str) -> Any:
    """Parse JSON. Raises ValueError if it is invalid, or has half of a surrogate pair."""
    data = json.loads(text)
    if r"\u" in text:  # Without an escape, a text in UTF-8 has no surrogates.
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise ValueError(f"{half} is half of a surrogate pair, not a character") from None
    return data


def _read_text(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        if any(directory.glob("fold-*")):
            raise ModelError(
                f"{directory} is an ensemble whose training is not finished; run the command that"
                " started the training again to finish it"
            ) from None
        raise ModelError(f"{directory} is not a model: it has no {name}") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{directory / name} is damaged: {error}") from None


def load_weights(network: nn.Module, path: Path) -> None:
    """Load weights from a file into a network.

    Raises ModelError if the file is missing or damaged, or its weights do not match the network.
    """
    if not path.is_file():
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}")
    try:
        network.load_state_dict(load_file(path))
    except SafetensorError as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ModelError(f"{path} does not have the weights of this model: {reason}") from None


def write_text(directory: Path, name: str, text: str) -> None:
    """Write a small file of a model directory atomically."""
    with atomic(directory / name) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_description(
    directory: Path,
    tables: dict[str, Any],
    vocabulary: Vocabulary,
    transformer: Transformer | None = None,
) -> None:
    """Write config.toml, vocab.json and the description of a tuned transformer.

    Args:
        directory: The model directory.
        tables: The configuration of the parser and of its training.
        vocabulary: The vocabulary.
        transformer: The transformer of the parser, if it has one.
    """
    if transformer and tables["inputs"]["context"]["tune"]:
        save_description(transformer, directory / TRANSFORMER)
    write_config(directory, tables)
    write_vocabulary(directory, vocabulary)


def write_vocabulary(directory: Path, vocabulary: Vocabulary) -> None:
    """Write vocab.json, with one line for each table."""
    tables = (
        f"{json.dumps(name)}: {json.dumps(table, ensure_ascii=False)}"
        for name, table in vocabulary.to_json().items()
    )
    write_text(directory, VOCABULARY, "{\n" + ",\n".join(tables) + "\n}\n")


def write_config(directory: Path, tables: dict[str, Any]) -> None:
    """Write config.toml; `tables` has all its settings except format_version."""
    write_text(directory, CONFIG, to_toml({"format_version": FORMAT_VERSION} | tables))


def write_calibration(directory: Path, calibration: Calibration) -> None:
    """Write temperatures into config.toml, or into ensemble.toml; nothing else changes."""
    if (directory / ENSEMBLE).is_file():
        write_ensemble(directory, replace(read_ensemble(directory), calibration=calibration))
        return
    _, tables = read_config(directory)
    write_config(directory, tables | {"calibration": dataclasses.asdict(calibration)})


def write_weights(directory: Path, network: nn.Module, storage: str = "float32") -> None:
    """Write model.safetensors atomically.

    storage: the type of the numbers: "float32", or "float16" for a file of half the size.
    """
    _save(directory / WEIGHTS, network, {}, getattr(torch, storage))


def _save(
    path: Path, network: nn.Module, metadata: dict[str, str], dtype: torch.dtype = torch.float32
) -> None:
    tensors = network.state_dict().items()
    weights = {name: tensor.to(dtype).contiguous() for name, tensor in tensors}
    with atomic(path) as temporary:
        # safetensors.torch.save_file would write a file that only its owner can read.
        temporary.write_bytes(save(weights, metadata))


def write_tokenizer(directory: Path, tokenizer: Tokenizer, notes: dict[str, object]) -> None:
    """Write tokenizer.safetensors atomically.

    notes: any data that JSON can represent, such as dev scores; see `read_tokenizer_notes`.
    """
    network = tokenizer.network
    description = {
        "format_version": FORMAT_VERSION,
        "characters": tokenizer.characters.symbols,
        "spaces": tokenizer.spaces,
        "embedding": network.embedding.embedding_dim,
        "size": network.ends.in_features // 2,
        "whole": tokenizer.multiwords.tokens,
        "endings": tokenizer.multiwords.endings,
        "notes": notes,
    }
    text = json.dumps(description, ensure_ascii=False)
    _save(directory / TOKENIZER, network, {"tokenizer": text}, torch.float16)


def read_tokenizer(
    directory: Path, device: torch.device, precision: torch.dtype = torch.float32
) -> Tokenizer | None:
    """Read the tokenizer of a model; None if it has none. Raises ModelError if it is damaged."""
    path = directory / TOKENIZER
    if not path.is_file():
        return None
    try:
        description = _read_tokenizer_description(path)
        if description["format_version"] != FORMAT_VERSION:
            raise ModelError(
                f"{path}: its format_version is not {FORMAT_VERSION}; use the version of depkit"
                " that wrote the file"
            )
        characters = Table(description["characters"])
        with skip_initialisation():
            network = TokenizerNetwork(
                len(characters), description["embedding"], description["size"]
            )
        network.load_state_dict(load_file(path))
        table = MultiwordTable(
            *({key: tuple(words) for key, words in description[name].items()}
              for name in ("whole", "endings"))
        )  # fmt: skip
        if SPACE not in characters.indices:
            raise ValueError("it has no characters")
    except ModelError:
        raise
    except (SafetensorError, LookupError, TypeError, AttributeError, RuntimeError, ValueError) as e:
        raise ModelError(f"{path} is damaged: {str(e).splitlines()[0]}") from None
    return Tokenizer(
        characters, table, description["spaces"], network.to(device).eval(), device, precision
    )


def read_tokenizer_notes(directory: Path) -> dict:
    """Read the notes that `write_tokenizer` wrote; {} if no tokenizer can be read."""
    try:
        return dict(_read_tokenizer_description(directory / TOKENIZER)["notes"])
    except (OSError, SafetensorError, LookupError, TypeError, ValueError):
        return {}


def _read_tokenizer_description(path: Path) -> dict:
    with safe_open(path, framework="pt") as file:
        return dict(_parse_json(file.metadata()["tokenizer"]))
