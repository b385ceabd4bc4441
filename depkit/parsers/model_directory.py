"""Model directories: finding them, and reading and writing their files. Nothing is pickled.

A model directory has these files:

- config.toml: the settings, such as the name of a frozen transformer
- vocab.json, or vocab.json.gz if the weights are stored in eight bits: the vocabulary
- model.safetensors: the weights
- README.md: the model card
- tokenizer.safetensors: the tokenizer, if the training treebank has running text
- words.onnx, scores.onnx, labels.onnx, tokenizer.onnx: exported graphs, see `engine.export`
- transformer/: the configuration and the tokenizer of a tuned transformer

The directory of an ensemble has ensemble.toml, the directories of its members, and the tokenizer.
A directory can also be on the Hugging Face hub, which gives it further files, such as a licence.
"""

import dataclasses
import glob
import gzip
import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depkit.corpus.io import PathLike
from depkit.files.atomic import atomic
from depkit.files.hub import PREFIX, HubError, download, is_on_hub, parse_name
from depkit.parsers.config import ParserConfig, apply_test_time_settings
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.families import get_family, make_parser_config, parser_fields
from depkit.parsers.inputs.safe_files import CONFIGURATION_FILES, TOKENIZER_FILES
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.model_card import CARD, read_card_facts
from depkit.parsers.settings import ConfigError, from_dict, parse_toml, to_toml

if TYPE_CHECKING:
    from depkit.parsers.inputs.transformer import Transformer

FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS = "config.toml", "vocab.json", "model.safetensors"
PACKED_VOCABULARY = "vocab.json.gz"
TOKENIZER = "tokenizer.safetensors"
TRANSFORMER = "transformer"
ENSEMBLE = "ensemble.toml"
GRAPHS = ("words", "scores", "labels", "deps")  # the names of the exported graphs of a parser
TOKENIZER_GRAPH = "tokenizer.onnx"
BUNDLED = Path(__file__).parent.parent / "models"
DEFAULT = "en-ewt"
AUTO = "auto"  # instead of a name: a bundled model for the language of the text
ALIASES = {"en": "en-ewt"}  # other names of bundled models
# The files that belong to a model, other than those of an ensemble's members
_FILES = (
    CONFIG, VOCABULARY, PACKED_VOCABULARY, WEIGHTS, CARD, TOKENIZER, ENSEMBLE,
    *(f"{TRANSFORMER}/{name}" for name in sorted((*CONFIGURATION_FILES, *TOKENIZER_FILES))),
    *(f"{name}.onnx" for name in GRAPHS), TOKENIZER_GRAPH,
)  # fmt: skip
_MAX_VOCABULARY = 1 << 28  # bytes
_MAX_CONFIG = 1 << 20


class ModelError(ValueError):
    """A model directory is missing, incomplete, damaged, or of another version."""


def bundled_models() -> list[str]:
    """Return the names of the models that come with depkit."""
    return sorted(path.parent.name for path in BUNDLED.glob(f"*/{CONFIG}"))


def find_model(name: PathLike) -> Path:
    """Find the bundled model with a name, or the model directory with a path.

    A directory in the current one that has the name of a bundled model must be named ./NAME, or by
    a `pathlib.Path`: a string is always the name of the bundled model. A model of the Hugging Face
    hub, hf:USER/NAME@REVISION, is downloaded, once in a process. Raises ModelError if there is no
    such model.
    """
    if is_on_hub(name):
        return _find_on_hub(os.fspath(name))
    if name == AUTO:
        raise ModelError(
            "the model auto needs a text, by whose language depkit parse and depkit tag choose a"
            " bundled model; name a model here (depkit.choose_model finds it for a text)"
        )
    if not os.fspath(name):
        raise ModelError("the name of the model is empty")
    path = Path(name)
    bundled_name = ALIASES.get(os.fspath(name), os.fspath(name))
    if not isinstance(name, Path) and bundled_name in bundled_models():
        return BUNDLED / bundled_name
    if path.is_dir():
        return path
    bundled = ", ".join(bundled_models()) or "none"
    similar = " or ".join(_find_similar_models(str(name)))
    raise ModelError(
        f"there is no model {str(name)!r}: no directory has this name"
        + f"; did you mean {similar}?" * bool(similar)
        + f"{' The' if similar else '; the'} bundled models are {bundled}"
    )


def _find_similar_models(name: str) -> list[str]:
    """Return the bundled models whose name or language is similar to an unknown name.

    For example, pt for `PT`, `pt_BR`, `Portuguese` and `portugese`.
    """
    from difflib import get_close_matches

    models: dict[str, list[str]] = {}  # by language and by name, in lower case
    for model in bundled_models():
        language = str(read_card_facts(BUNDLED / model).get("language_name", "")).lower()
        for key in {model, language, *language.split()} - {""}:
            models.setdefault(key, []).append(model)
    models |= {alias: [model] for alias, model in ALIASES.items()}
    models |= {"no": ["nb", "nn"], "norsk": ["nb", "nn"], "deutsch": ["de"]}
    wanted = name.lower()
    similar = get_close_matches(wanted, models, 1, 0.8) if len(wanted) > 2 else []
    for key in (wanted, *similar, re.sub("[-_][a-z]{2}$|[-_](gsd|ewt|pud)$", "", wanted)):
        if key in models:
            return [model for model in models[key] if model in bundled_models()]
    return []


@cache
def _find_on_hub(name: str) -> Path:
    """Download the files of a model of the hub, and no others; see `find_model`."""
    try:
        repository, revision = parse_name(name)
        directory = download(repository, revision, _FILES)
        if (directory / ENSEMBLE).is_file():
            members = map(glob.escape, _parse_ensemble(directory).members)
            patterns = [f"{member}/{file}" for member in members for file in _FILES]
            download(repository, directory.name, patterns)
    except HubError as error:
        raise ModelError(str(error)) from error
    if not (directory / CONFIG).is_file() and not (directory / ENSEMBLE).is_file():
        raise ModelError(f"{name}: there is no model of depkit in the repository: no {CONFIG}")
    return directory


def pin_model(name: PathLike) -> PathLike:
    """Return the name of the commit of a model of the hub, so that all processes read the same.

    Other names are returned as they are. Raises ModelError if there is no such model on the hub.
    """
    if not is_on_hub(name):
        return name
    commit = find_model(name).name
    return f"{PREFIX}{parse_name(name)[0]}@{commit}"


def model_files(directory: Path) -> list[Path]:
    """Return the files that belong to a model, including those of an ensemble's members."""
    files = [directory / name for name in _FILES]
    if (directory / ENSEMBLE).is_file():
        members = read_ensemble(directory).members
        files += chain.from_iterable(model_files(directory / name) for name in members)
    return [path for path in files if path.is_file()]


def find_graphs(directory: Path) -> dict[str, Path]:
    """Return the files of a parser's exported graphs by name."""
    paths = {name: directory / f"{name}.onnx" for name in GRAPHS}
    return {name: path for name, path in paths.items() if path.is_file()}


def find_missing_graph(directory: Path) -> str:
    """Return the path in the directory of an exported graph that a model lacks, "" if it has all.

    An ensemble needs the graphs of its members. Raises ModelError if a configuration is damaged.
    """
    if (directory / TOKENIZER).is_file() and not (directory / TOKENIZER_GRAPH).is_file():
        return TOKENIZER_GRAPH
    if (directory / ENSEMBLE).is_file():
        for member in read_ensemble(directory).members:
            if missing := find_missing_graph(directory / member):
                return f"{member}/{missing}"
        return ""
    config, _ = read_config(directory)
    names = ("words", "scores", *get_family(config).label_graphs(config))
    return next((f"{name}.onnx" for name in names if name not in find_graphs(directory)), "")


def check_weights(directory: Path) -> None:
    """Check the size and the header of a model's file of weights, or raise ModelError."""
    from safetensors import SafetensorError, safe_open

    path = directory / WEIGHTS
    if not path.is_file():
        raise ModelError(f"{directory} is not a model: it has no {WEIGHTS}")
    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise ModelError(f"{path} is damaged: {error}") from None


def remove_graphs(directory: Path) -> None:
    """Remove the exported graphs of a model whose weights change."""
    for name in (*(f"{graph}.onnx" for graph in GRAPHS), TOKENIZER_GRAPH):
        (directory / name).unlink(missing_ok=True)


def _parse_ensemble(directory: Path) -> EnsembleConfig:
    """Read ensemble.toml as `read_ensemble` does, but without looking for the members."""
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
    return config


def read_ensemble(directory: Path) -> EnsembleConfig:
    """Read ensemble.toml. Raises ModelError if it is damaged or of another version."""
    config, path = _parse_ensemble(directory), directory / ENSEMBLE
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


def read_config(directory: Path) -> tuple[ParserConfig, dict]:
    """Read config.toml: the configuration of the parser, and all tables of the file."""
    text = _read_text(directory, CONFIG, _MAX_CONFIG)
    try:
        tables = parse_toml(text)
        _check_version(directory / CONFIG, tables)
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


def read_vocabulary(directory: Path) -> Vocabulary:
    """Read the vocabulary of a model. Raises ModelError if it is missing or damaged."""
    name = VOCABULARY
    if (directory / PACKED_VOCABULARY).exists() and not (directory / VOCABULARY).exists():
        name = PACKED_VOCABULARY
    try:
        return Vocabulary.from_json(parse_json(_read_text(directory, name, _MAX_VOCABULARY)))
    except ModelError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"{directory / name} is not a vocabulary: {error}") from None


def parse_json(text: str) -> Any:
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
    """Read a text file of at most `max_size` bytes; .gz is unpacked.

    Raises ModelError if there is none.
    """
    path = directory / name
    try:
        if path.exists() and not path.is_file():
            raise ModelError(f"{path} is not a regular file")  # Reading a pipe could take forever.
        opener: Any = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as file:
            content: bytes = file.read(max_size + 1)
        if len(content) > max_size:
            raise ModelError(f"{path} is damaged: it has more than {max_size:,} bytes")
        return content.decode()
    except FileNotFoundError:
        if any(directory.glob("fold-*")):
            raise ModelError(
                f"{directory} is an ensemble whose training is not finished; run the command that"
                " started the training again to finish it"
            ) from None
        missing = f"{VOCABULARY} or {PACKED_VOCABULARY}" if name == VOCABULARY else name
        raise ModelError(f"{directory} is not a model: it has no {missing}") from None
    except (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ModelError(f"{directory / name} is damaged: {error}") from None


def write_text(directory: Path, name: str, text: str) -> None:
    """Write a small file of a model directory atomically."""
    with atomic(directory / name) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_description(
    directory: Path,
    tables: dict[str, Any],
    vocabulary: Vocabulary,
    transformer: "Transformer | None" = None,
) -> None:
    """Write config.toml, the vocabulary and the description of a tuned transformer.

    tables: the configuration of the parser and of its training.
    """
    write_config(directory, tables)  # first, as a sign that the directory is depkit's
    if transformer and tables["inputs"]["context"]["tune"]:
        from depkit.parsers.inputs.transformer import save_description  # which imports torch

        save_description(transformer, directory / TRANSFORMER)
    is_packed = tables.get("training", {}).get("storage") == "int8"
    write_vocabulary(directory, vocabulary, is_packed)


def write_vocabulary(directory: Path, vocabulary: Vocabulary, packed: bool = False) -> None:
    """Write vocab.json, with one line for each table, or vocab.json.gz."""
    tables = (
        f"{json.dumps(name)}: {json.dumps(table, ensure_ascii=False)}"
        for name, table in vocabulary.to_json().items()
    )
    content = ("{\n" + ",\n".join(tables) + "\n}\n").encode()
    name, other = (VOCABULARY, PACKED_VOCABULARY)[:: -1 if packed else 1]
    with atomic(directory / name) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0) if packed else content)
    (directory / other).unlink(missing_ok=True)


def write_config(directory: Path, tables: dict[str, Any]) -> None:
    """Write config.toml; `tables` has all its settings except format_version."""
    write_text(directory, CONFIG, to_toml({"format_version": FORMAT_VERSION} | tables))


def write_calibration(directory: Path, calibration: dict[str, Any]) -> None:
    """Write the result of `Family.calibrate` into config.toml, or into that of an ensemble."""
    if (directory / ENSEMBLE).is_file():
        write_ensemble(directory, replace(read_ensemble(directory), calibration=calibration))
        return
    _, tables = read_config(directory)
    write_config(directory, tables | {"calibration": calibration})


def read_parser(directory: Path, settings: Sequence[str]) -> tuple[Any, Vocabulary]:
    """Read the configuration of a parser, with some settings changed, and its vocabulary.

    settings: as for `config.apply_test_time_settings`.

    Raises ModelError if a file is missing or damaged, or if the two do not belong together, and
    ConfigError if a setting cannot be changed or names a treebank that the model does not know.
    """
    config, _ = read_config(directory)
    vocabulary = read_vocabulary(directory)
    _check_columns(directory, config, vocabulary)
    try:
        _check_treebank(config, vocabulary)
    except ConfigError as error:
        path = directory / VOCABULARY
        raise ModelError(f"{path} does not belong to the model: {error}") from None
    config = apply_test_time_settings(config, settings)
    _check_treebank(config, vocabulary)
    return config, vocabulary


def _check_columns(path: Path, config: ParserConfig, vocabulary: Vocabulary) -> None:
    """Raise ModelError if a vocabulary lacks the table of a column that the parser predicts."""
    if missing := set(get_family(config).columns(config)) - set(vocabulary.columns):
        raise ModelError(f"{path / VOCABULARY} has no table of {', '.join(sorted(missing))}")


def _check_treebank(config: ParserConfig, vocabulary: Vocabulary) -> None:
    """Raise ConfigError if a model does not know the treebank that its settings name."""
    name = config.inputs.treebank_name
    table = vocabulary.tables.get("treebanks")
    known = table.symbols if table else []
    if name and name not in known:
        advice = (
            f"those that it was trained on are {', '.join(known)}"
            if known
            else "it was trained without vectors of treebanks (inputs.treebank)"
        )
        raise ConfigError(f"the model does not know the treebank {name!r}; {advice}")
