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
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from depkit.corpus.io import PathLike
from depkit.corpus.patterns import PATTERNS
from depkit.files.atomic import atomic
from depkit.nn.initial import skip_initialisation
from depkit.nn.limit import find_difference, find_not_finite, limit_size
from depkit.nn.quantized import can_quantize, quantize
from depkit.parsers.base import Parser
from depkit.parsers.config import (
    Context,
    ParserConfig,
    apply_test_time_settings,
)
from depkit.parsers.engine.device import best_precision, find_device, resolve_precision
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.ensembles import combine
from depkit.parsers.families import (
    get_family,
    make_parser_config,
    parser_fields,
    update_tables,
)
from depkit.parsers.family import CombinationError
from depkit.parsers.graph.config import Calibration
from depkit.parsers.inputs.tables import Table, check_symbols
from depkit.parsers.inputs.transformer import (
    Transformer,
    TransformerError,
    from_description,
    load_transformer,
    save_description,
)  # fmt: skip
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.settings import ConfigError, from_dict, parse_toml, to_toml
from depkit.parsers.text.multiword import (
    MAX_CHARACTERS,
    MAX_WORDS,
    MultiwordTable,
    is_short,
)
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import SPACE, Tokenizer

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = "config.toml", "vocab.json", "model.safetensors", "README.md"
TOKENIZER = "tokenizer.safetensors"
TRANSFORMER = "transformer"
# The beginnings of names of weights in older models, and what they are now
RENAMED = {"inputs.char_projection.": "inputs.char.projection."}
ENSEMBLE = "ensemble.toml"
BUNDLED = Path(__file__).parent.parent / "models"
DEFAULT = "en-ewt"
_MAX_VOCABULARY = 1 << 28  # bytes
_MAX_CONFIG = 1 << 20

N = TypeVar("N", bound=nn.Module)
Shapes = Mapping[str, Sequence[int]]


class ModelError(ValueError):
    """A model directory is missing, incomplete, damaged, or of another version."""


def bundled_models() -> list[str]:
    """Return the names of the models that come with depkit."""
    return sorted(path.parent.name for path in BUNDLED.glob(f"*/{CONFIG}"))


def find_model(name: PathLike) -> Path:
    """Find the bundled model with a name, or the model directory with a path.

    A directory in the current one that has the name of a bundled model must be named ./NAME: the
    default is always the bundled model. Raises ModelError if there is neither.
    """
    path = Path(name)
    if os.fspath(name) in bundled_models():
        return BUNDLED / path
    if path.is_dir():
        return path
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
        precision: "float32", "bfloat16", "int8" (only on a CPU, and not for every encoder) or
            "auto": bfloat16 if the device computes in it natively, else int8 if the model can be
            quantized, else float32.
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
    family = get_family(config)
    if missing := set(family.columns(config)) - set(vocabulary.columns):
        raise ModelError(f"{path / VOCABULARY} has no table of {', '.join(sorted(missing))}")
    shapes = read_shapes(path / WEIGHTS)
    transformer = load_model_transformer(path, config.inputs.context, shapes)
    network = make_network(
        path / WEIGHTS, shapes, lambda: family.network(config, vocabulary, transformer)
    )
    torch_device = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    network.to(torch_device).eval()
    is_cpu = torch_device.type == "cpu"
    obstacle = config.encoder.int8_obstacle
    has_int8 = is_cpu and not obstacle and can_quantize()
    if precision == "auto" and has_int8 and best_precision(torch_device) == torch.float32:
        precision = "int8"
    if precision == "int8":
        if not has_int8:
            advice = (
                f"a model without {obstacle}"
                if obstacle
                else ("a CPU as the device, and a version of torch with int8 kernels for x86")
            )
            raise ValueError(f"precision int8 needs {advice}; choose another precision")
        for part in network.quantized_parts():
            quantize(part)
        precision = "float32"  # of the modules that are not quantized
    dtype = resolve_precision(precision, torch_device)
    if is_cpu:
        network.convert_product_weights(dtype)
    engine = TorchEngine(network, torch_device, dtype)
    tokenizer = read_tokenizer(path, torch_device, dtype)
    return family.parser(config, vocabulary, engine, threads or torch.get_num_threads(), tokenizer)


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
        tables = parse_toml(_read_text(directory, ENSEMBLE, _MAX_CONFIG))
        _check_version(path, tables)
        tables.pop("format_version")
        config = from_dict(EnsembleConfig, tables)
    except (ConfigError, TypeError) as error:
        raise ModelError(f"{path}: {error}") from None
    if not config.members:
        raise ModelError(f"{path} names no members")
    directories: dict[Path, str] = {}
    for name in config.members:
        is_name = Path(name).name == name != ".." and len(name.encode()) < 256
        if not is_name or not (directory / name / CONFIG).is_file():
            raise ModelError(
                f"{path} names a member {name!r}, but there is no model {name!r} in its directory"
            )
        if (directory / name / ENSEMBLE).exists():
            raise ModelError(f"{path} names a member {name!r}, which is an ensemble itself")
        member = (directory / name).resolve()
        if member in directories:
            raise ModelError(f"{path} names the member {directories[member]!r} twice")
        directories[member] = name
    return config


def write_ensemble(directory: Path, config: EnsembleConfig) -> None:
    """Write ensemble.toml, atomically. The members must have been written before."""
    tables = {"format_version": FORMAT_VERSION} | dataclasses.asdict(config)
    write_text(directory, ENSEMBLE, to_toml(tables))


def load_model_transformer(directory: Path, context: Context, shapes: Shapes) -> Transformer | None:
    """Load the transformer that a model reads; None if it reads none.

    shapes: the shapes of the model's weights, which limit the size of a tuned transformer.

    Raises ModelError if a frozen transformer cannot be loaded or is not the one that the model was
    trained with, and TransformerError if the description of a tuned transformer is damaged.
    """
    if context.source != "transformer":
        return None
    if context.tune:  # its weights are among those of the model
        transformer = from_description(directory / TRANSFORMER, shapes)
        if (transformer.layers, transformer.width) != (context.available, context.width):
            raise ModelError(
                f"{directory / TRANSFORMER} has {transformer.layers} layers of {transformer.width}"
                f" numbers, but {CONFIG} says {context.available} layers of {context.width}"
            )
        return transformer
    try:
        transformer = load_transformer(context.model, context.revision, context.depth)
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
    text = _read_text(directory, CONFIG, _MAX_CONFIG)
    try:
        tables = parse_toml(text)
        _check_version(directory / CONFIG, tables)
        update_tables(tables)
        fields = parser_fields()
        config = make_parser_config({k: v for k, v in tables.items() if k in fields})
        get_family(config).check_resolved(config)
        return config, tables
    except ConfigError as error:
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
    table = vocabulary.tables.get("treebanks")
    known = table.symbols if table else []
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
        return Vocabulary.from_json(_parse_json(_read_text(directory, VOCABULARY, _MAX_VOCABULARY)))
    except ModelError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"{directory / VOCABULARY} is not a vocabulary: {error}") from None


def _parse_json(text: str) -> Any:
    """Parse JSON. Raises ValueError if it is invalid, or has half of a surrogate pair."""
    try:
        data = json.loads(text)
        if r"\u" in text:  # Without an escape, a text in UTF-8 has no surrogates.
            json.dumps(data, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise ValueError(f"{half} is half of a surrogate pair, not a character") from None
    return data


def _read_text(directory: Path, name: str, max_size: int) -> str:
    """Read a text file of at most `max_size` bytes. Raises ModelError if there is none."""
    path = directory / name
    try:
        if path.exists() and not path.is_file():
            raise ModelError(f"{path} is not a regular file")  # Reading a pipe could take forever.
        if path.stat().st_size > max_size:
            raise ModelError(f"{path} is damaged: it has more than {max_size:,} bytes")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if any(directory.glob("fold-*")):
            raise ModelError(
                f"{directory} is an ensemble whose training is not finished; run the command that"
                " started the training again to finish it"
            ) from None
        raise ModelError(f"{directory} is not a model: it has no {name}") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{directory / name} is damaged: {error}") from None


def read_shapes(path: Path) -> Shapes:
    """Read the shapes of the tensors in a file of weights, by name; only its header is read.

    Raises ModelError if the file is missing or damaged.
    """
    if not path.is_file():
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}")
    try:
        with safe_open(path, framework="pt") as file:
            return {_rename(name): file.get_slice(name).get_shape() for name in file.keys()}
    except SafetensorError as error:
        raise ModelError(f"{path} is damaged: {error}") from None


def _rename(weight: str) -> str:
    """Return the present name of a weight in a file."""
    for old, new in RENAMED.items():
        weight = new + weight.removeprefix(old) if weight.startswith(old) else weight
    return weight


def make_network(path: Path, shapes: Shapes, make: Callable[[], N]) -> N:
    """Make a network with the weights in a file.

    Sizes in a file from elsewhere can be anything. While the network is made, it can therefore not
    become far larger than the weights, and weights are read only if they have the same shapes.

    Args:
        path: The file of weights.
        shapes: The shapes of its tensors.
        make: A function that makes the network with any weights.

    Raises:
        ModelError: The network cannot be made, or the weights do not match it or are not finite.
    """
    problem = f"{path} does not have the weights of this model"
    try:
        with skip_initialisation(), limit_size(shapes):
            network = make()
    except Exception as error:  # torch has no common class for errors about impossible sizes
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{problem}: {reason}") from error
    expected = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    if difference := find_difference(expected, shapes):
        raise ModelError(f"{problem}: {difference}")
    try:
        weights = load_file(path)
        network.load_state_dict({_rename(name): weight for name, weight in weights.items()})
    except (SafetensorError, RuntimeError) as error:
        raise ModelError(f"{path} is damaged: {str(error).splitlines()[-1].strip()}") from None
    if problem := find_not_finite(network.state_dict()):
        raise ModelError(f"{path} is damaged: {problem}")
    return network


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
    write_config(directory, tables)  # first, as a sign that the directory is depkit's
    if transformer and tables["inputs"]["context"]["tune"]:
        save_description(transformer, directory / TRANSFORMER)
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
        "patterns": tokenizer.patterns,
        "embedding": network.embedding.embedding_dim,
        "size": network.ends.in_features // 2,
        "whole": tokenizer.multiwords.tokens,
        "endings": tokenizer.multiwords.endings,
        "before": _sorted(tokenizer.multiwords.before),
        "after": _sorted(tokenizer.multiwords.after),
        "always": _sorted(tokenizer.multiwords.always),
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
        check_symbols(characters.symbols)
        sizes = len(characters), description["embedding"], description["size"]
        network = make_network(path, read_shapes(path), lambda: TokenizerNetwork(*sizes))
        table = MultiwordTable(
            _read_multiwords(description["whole"]),
            _read_multiwords(description["endings"]),
            before=_read_words(description.get("before")),
            after=_read_words(description.get("after")),
            always=_read_words(description.get("always", [])) or frozenset(),
        )
        if SPACE not in characters.indices:
            raise ValueError("it has no characters")
        spaces = bool(description["spaces"])
        patterns = tuple(description.get("patterns", ()))
        if not set(patterns) <= PATTERNS.keys():
            raise ValueError("it has an unknown pattern")
    except ModelError:
        raise
    except (
        SafetensorError, LookupError, TypeError, AttributeError, RuntimeError, ValueError
    ) as error:  # fmt: skip
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{path} is damaged: {reason}") from None
    engine = TorchEngine(network.to(device).eval(), device, precision)
    return Tokenizer(characters, table, spaces, engine, patterns)


def load_tokenizer(model: PathLike, device: torch.device) -> Tokenizer:
    """Load the tokenizer of a model directory, or of a bundled model by name.

    Raises ModelError if there is no such model, or if it has no tokenizer or a damaged one.
    """
    tokenizer = read_tokenizer(find_model(model), device)
    if tokenizer is None:
        raise ModelError(
            f"{model} has no tokenizer, because its treebank had no text; name another model"
        )
    return tokenizer


def _read_multiwords(table: Any) -> dict[str, tuple[str, ...]]:
    """Check and return a table of a tokenizer. Raises ValueError, TypeError or AttributeError."""
    for words in table.values():
        check_symbols(words, in_columns=True)
        if not words:
            raise ValueError("a multiword token has no words")
        if not is_short(tuple(words)):
            raise ValueError(
                f"a multiword token has more than {MAX_WORDS} words or {MAX_CHARACTERS:,}"
                " characters"
            )
    return {token: tuple(words) for token, words in table.items()}


def _sorted(words: frozenset[str] | None) -> list[str] | None:
    return None if words is None else sorted(words)


def _read_words(words: Any) -> frozenset[str] | None:
    """Check and return words of a tokenizer; None if it was written without them."""
    if words is None:
        return None
    check_symbols(words, in_columns=True)
    return frozenset(words)


def read_tokenizer_notes(directory: Path) -> dict:
    """Read the notes that `write_tokenizer` wrote; {} if no tokenizer can be read."""
    try:
        return dict(_read_tokenizer_description(directory / TOKENIZER)["notes"])
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RecursionError):
        return {}


def _read_tokenizer_description(path: Path) -> dict:
    with safe_open(path, framework="pt") as file:
        return dict(_parse_json(file.metadata()["tokenizer"]))
