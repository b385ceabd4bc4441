"""Loading of pretrained transformers.

Weights are read from safetensors only, and no code that comes with a model is run (`safe_files`).
The library transformers takes seconds to import, so it is imported where it is needed.
"""

import hashlib
import inspect
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import safe_open

from depkit.corpus.io import PathLike
from depkit.files.atomic import atomic_directory, temporary_directory
from depkit.files.errors import first_line
from depkit.files.hub import silence_hub
from depkit.nn.limit import find_not_finite, limit_size
from depkit.parsers.inputs.safe_files import (
    CONFIGURATION_FILES,
    TOKENIZER_FILES,
    TOKENIZER_JSON,
    TransformerError,
    check_weight_names,
    copy_safe_files,
)
from depkit.parsers.inputs.tokenizer_json import check_tokenizer

_WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"  # lists the files if the weights are in several files
_SIZES = ("num_hidden_layers", "hidden_size", "vocab_size")
_MAX_PIECES = 512  # for a transformer whose files set no limit


@dataclass
class Transformer:
    """A pretrained encoder with its tokenizer."""

    body: Any  # the model in float32, in evaluation mode, without a pooler
    tokenizer: Any  # a fast tokenizer of transformers
    name: str  # the directory or the name on the hub
    revision: str  # the hub's commit hash, "" for a directory
    digest: str  # 16 hexadecimal digits of all files, "" if the weights come from a parser's model
    layers: int  # the number of hidden states, including the embeddings
    width: int  # the size of a hidden state
    max_pieces: int  # the maximum number of pieces in its input, special pieces included


def load_transformer(name: str, revision: str = "", depth: int = 0) -> Transformer:
    """Load a transformer from a directory or, by its name, from the hub.

    Args:
        name: The directory or the name.
        revision: A branch, tag or commit of the hub.
        depth: How many layers to load, the first ones; 0 loads all.

    Raises:
        TransformerError: If it cannot be loaded.
    """
    with _silence_libraries():
        folder, commit = _find_folder(name, revision)
    weights = _weight_files(folder, name)
    index = [_INDEX] if weights != [folder / _WEIGHTS] else []
    with _safe_copy(folder, name, [*index, *(path.name for path in weights)]) as copy:
        config = _read_config(copy, name)
        if depth > config.num_hidden_layers:
            raise TransformerError(
                f"{name}: the transformer has {config.num_hidden_layers} layers, so"
                f" inputs.context.depth cannot be {depth}"
            )
        config.num_hidden_layers = depth or config.num_hidden_layers
        tokenizer = _read_tokenizer(copy, name, config)
        body = _read_body(copy, name, config, weights)
    file_names = ["config.json", *TOKENIZER_FILES, *CONFIGURATION_FILES]
    files = [*weights, *(folder / file_name for file_name in file_names)]
    return _make_transformer(body, tokenizer, name=name, revision=commit, digest=_digest(files))


def save_description(transformer: Transformer, directory: PathLike) -> None:
    """Save everything but the weights: config.json and the tokenizer's files.

    The directory appears under its name when all files are written. Raises OSError.
    """
    with _silence_libraries(), atomic_directory(directory) as temporary:
        try:
            transformer.body.config.save_pretrained(temporary)
            transformer.tokenizer.save_pretrained(temporary)
        except OSError:
            raise
        except Exception as error:  # the tokenizers library raises plain Exception
            raise OSError(f"{directory}: cannot be written: {error}") from None


def from_description(
    directory: PathLike, shapes: Mapping[str, Sequence[int]] | None = None
) -> Transformer:
    """Make a transformer with random weights from the files that `save_description` wrote.

    shapes: the shapes of weights that are read later; a transformer that is far larger is refused.
    Raises TransformerError.
    """
    from transformers import AutoModel

    name = str(directory)
    with _safe_copy(Path(directory), name) as copy:
        config = _read_config(copy, name)
        tokenizer = _read_tokenizer(copy, name, config)
        limit = nullcontext() if shapes is None else limit_size(shapes)
        with _wrap_errors(name, "config.json does not describe a transformer"), limit:
            body = AutoModel.from_config(config, trust_remote_code=False, attn_implementation=None)
    return _make_transformer(body, tokenizer, name="", revision="", digest="")


def with_random_layers(transformer: Transformer) -> Transformer:
    """Return a transformer of which only the embeddings of word pieces are not random."""
    from transformers import AutoModel

    with _silence_libraries():
        body = AutoModel.from_config(transformer.body.config, trust_remote_code=False)
    weights = transformer.body.get_input_embeddings().weight.detach()
    body.get_input_embeddings().weight.data.copy_(weights)
    return replace(
        transformer,
        body=_make_transformer(body, transformer.tokenizer, name="", revision="", digest="").body,
    )


def _make_transformer(
    body: Any, tokenizer: Any, *, name: str, revision: str, digest: str
) -> Transformer:
    # A model class that can be built without a pooler also runs without one.
    if "add_pooling_layer" in inspect.signature(type(body).__init__).parameters:
        body.pooler = None
    config = body.config
    config.use_cache = False  # a decoder would return keys and values that are not needed
    config._name_or_path = ""  # the local path must not be saved
    return Transformer(
        body.float().eval(), tokenizer, name, revision, digest,
        config.num_hidden_layers + 1, config.hidden_size, _max_pieces(body, tokenizer),
    )  # fmt: skip


def _max_pieces(body: Any, tokenizer: Any) -> int:
    """Return the lower of the limits of the position embeddings and of the tokenizer."""
    positions = getattr(body.config, "max_position_embeddings", None) or 0
    for name, module in body.named_modules():
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            positions -= padding + 1  # models like RoBERTa begin with the position behind padding
    limits = [limit for limit in (tokenizer.model_max_length, positions) if 0 < limit < 1e9]
    return int(min(limits, default=_MAX_PIECES))  # a huge number or -1 means that there is no limit


def _find_folder(name: str, revision: str) -> tuple[Path, str]:
    """Find a transformer's directory and commit; download its files if necessary."""
    path = Path(name).expanduser()
    if path.is_dir():
        if revision:
            raise TransformerError(
                f"{name} is a directory, so it has no revision {revision!r}; leave the revision out"
            )
        return path, ""
    if path.exists():
        raise TransformerError(f"{name} is a file; name the directory that contains config.json")
    if name.startswith((".", "/", "~")):
        raise TransformerError(f"{name}: there is no such directory")
    from huggingface_hub import constants, snapshot_download

    weights = [_WEIGHTS, "model-*-of-*.safetensors", _INDEX]
    patterns = [*weights, *TOKENIZER_FILES, *CONFIGURATION_FILES]
    try:
        # Offline, some versions ask the hub nevertheless if the revision is a commit.
        downloaded = snapshot_download(
            name, revision=revision or None, allow_patterns=patterns,
            local_files_only=constants.HF_HUB_OFFLINE,
        )  # fmt: skip
        folder = Path(downloaded)
    except Exception as error:  # the hub, the network and the disk raise unrelated errors
        if constants.HF_HUB_OFFLINE:
            raise TransformerError(
                f"{name}: there is no such directory, no such model was downloaded before, and"
                " HF_HUB_OFFLINE forbids downloading it from the hub; unset that variable, or name"
                " a directory"
            ) from error
        raise TransformerError(
            f"{name}: there is no such directory, and downloading it from the hub failed:"
            f" {_describe(error)}"
        ) from error
    return folder, folder.name


def _weight_files(folder: Path, name: str) -> list[Path]:
    """Return the safetensors files of a transformer. Raises TransformerError if there are none."""
    if not (folder / "config.json").is_file():
        raise TransformerError(
            f"{name}: there is no config.json; save the transformer there with transformers'"
            " save_pretrained"
        )
    if (folder / _WEIGHTS).is_file():
        return [folder / _WEIGHTS]
    if (folder / _INDEX).is_file():
        with _wrap_errors(name, f"{_INDEX} is damaged"):
            index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
            listed = list(index["weight_map"].values())
        return [folder / file_name for file_name in check_weight_names(listed, f"{name}: {_INDEX}")]
    raise TransformerError(
        f"{name}: there is no {_WEIGHTS}; weights in another format are not read because pickles"
        " can run code; convert them with transformers' save_pretrained"
    )


@contextmanager
def _safe_copy(folder: Path, name: str, weights: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a copy of a transformer's directory without what could run code, see `safe_files`.

    While the block runs, transformers writes no messages and downloads nothing. weights: the names
    of the files of weights. Raises TransformerError.
    """
    with temporary_directory() as copy, _silence_libraries(), _stay_offline():
        copy_safe_files(
            folder,
            copy,
            name,
            data=[*weights, *TOKENIZER_FILES],
            configurations=CONFIGURATION_FILES,
        )
        yield copy


def _read_config(folder: Path, name: str) -> Any:
    """Read the configuration. Raises TransformerError if it is not of a text encoder."""
    import transformers

    with _wrap_errors(name, "config.json is missing or damaged"):
        kind = str(json.loads((folder / "config.json").read_text("utf-8"))["model_type"])
    if kind not in transformers.CONFIG_MAPPING:
        raise TransformerError(
            f"{name}: transformers {transformers.__version__} knows no model type {kind!r}; try"
            " another version of transformers (code that comes with a model is not run)"
        )
    with _wrap_errors(name, "config.json cannot be read"):
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if config.is_encoder_decoder:
        raise TransformerError(
            f"{name}: {kind} is an encoder-decoder, but depkit needs an encoder; name another model"
        )
    if not all(hasattr(config, field) for field in _SIZES):
        raise TransformerError(f"{name}: {kind} is not an encoder of text; name another model")
    for field in _SIZES:
        size = getattr(config, field)
        if type(size) is not int or size < 1:
            raise TransformerError(
                f"{name}: {field} in config.json is {size!r}, not an integer above 0"
            )
    heads = getattr(config, "num_attention_heads", 1)
    if isinstance(heads, int) and heads < 1:
        raise TransformerError(f"{name}: num_attention_heads in config.json is {heads}")
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int | None):
        raise TransformerError(
            f"{name}: max_position_embeddings in config.json is {positions!r}, not an integer"
        )
    return config


def _read_tokenizer(folder: Path, name: str, config: Any) -> Any:
    """Read the tokenizer. Raises TransformerError if it is not fast or has no vocabulary."""
    from transformers import AutoTokenizer

    with _wrap_errors(name, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise TransformerError(
            f"{name}: there is no fast tokenizer (tokenizer.json), and transformers cannot make one"
        )
    length = tokenizer.model_max_length
    is_number = isinstance(length, int | float) and not isinstance(length, bool)
    if not is_number or (0 < length < 1e9 and length != int(length)):
        raise TransformerError(
            f"{name}: model_max_length in tokenizer_config.json is {length!r},"
            " not a number of pieces"
        )
    with _wrap_errors(name, "its tokenizer cannot be read"):
        if not (folder / TOKENIZER_JSON).exists():
            check_tokenizer(tokenizer.backend_tokenizer.to_str())
        ids, special_ids = set(tokenizer.get_vocab().values()), set(tokenizer.all_special_ids)
        used = set(tokenizer.backend_tokenizer.encode("a", add_special_tokens=True).ids)
        used |= {tokenizer.pad_token_id or 0, tokenizer.unk_token_id or 0}
    if ids <= special_ids:
        raise TransformerError(f"{name}: there is no tokenizer.json, or it has no vocabulary")
    if max(ids | used) >= config.vocab_size:
        raise TransformerError(
            f"{name}: the tokenizer has pieces up to number {max(ids | used)}, the transformer only"
            f" up to {config.vocab_size - 1}, so they do not belong together"
        )
    return tokenizer


def _read_body(folder: Path, name: str, config: Any, weights: Sequence[Path]) -> Any:
    """Read the model in float32.

    Raises TransformerError if weights other than a pooler's are missing, or if any are not finite.
    """
    from transformers import AutoModel

    shapes: dict[str, Sequence[int]] = {}
    with _wrap_errors(name, "its weights are damaged, or not those of its config.json"):
        for path in weights:
            with safe_open(path, framework="pt") as file:
                shapes |= {key: file.get_slice(key).get_shape() for key in file.keys()}
        with limit_size(shapes):
            body, report = AutoModel.from_pretrained(
                folder, config=config, use_safetensors=True, trust_remote_code=False,
                attn_implementation=None, output_loading_info=True,
            )  # fmt: skip
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise TransformerError(
            f"{name}: {len(missing)} of the encoder's weights are missing, for example {missing[0]}"
        )
    body = body.float()
    if problem := find_not_finite(dict(body.named_parameters())):
        raise TransformerError(f"{name}: its weights are damaged: {problem}")
    return body


def _digest(files: list[Path]) -> str:
    """Compute a digest of the names and contents of those files that exist."""
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            digest.update(f"{path.name}\n".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


@contextmanager
def _wrap_errors(name: str, message: str) -> Iterator[None]:
    """Convert any error of a library to a TransformerError with this message."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # transformers raises a dozen unrelated errors
        raise TransformerError(f"{name}: {message} ({_describe(error)})") from error
    except BaseException as error:
        # The library tokenizers is written in Rust, whose panics are no subclass of Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise TransformerError(f"{name}: {message} ({_describe(error)})") from error


def _describe(error: BaseException) -> str:
    """Return the name of an error's class and the first line of its message."""
    name, line = type(error).__name__, first_line(error)
    return line if line == name else f"{name}: {line}"


@contextmanager
def _stay_offline() -> Iterator[None]:
    """Forbid huggingface_hub to download anything, whatever a configuration asks for."""
    from huggingface_hub import constants

    was_offline, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = was_offline


@contextmanager
def _silence_libraries() -> Iterator[None]:
    """Keep transformers and the hub from showing progress bars and messages other than errors."""
    from transformers.utils import logging as library

    logger = logging.getLogger("transformers")
    level, had_bars = logger.level, library.is_progress_bar_enabled()
    logger.setLevel(logging.ERROR)
    library.disable_progress_bar()
    try:
        with silence_hub():
            yield
    finally:
        logger.setLevel(level)
        if had_bars:
            library.enable_progress_bar()
