"""Pretrained transformers: loading one, and the hidden layers that words' vectors come from.

Weights are read from safetensors only, and no code that comes with a model is run.
transformers takes seconds to import, so only the functions that need it do.
"""

import hashlib
import inspect
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from depkit.corpus.files import PathLike, atomic_directory
from depkit.parsers.inputs.pieces import PieceBatch

_WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"  # of weights in several files
_TOKENIZER = (
    "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt",
    "sentencepiece.bpe.model", "spiece.model", "tokenizer.model",
)  # fmt: skip
_OTHERS = (
    "config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
)  # fmt: skip
_LONGEST = 512  # pieces, for a transformer that sets no limit itself

Layers = Literal["single", "average", "mix"]


class TransformerError(ValueError):
    """A transformer cannot be loaded or used as asked; the message is one line."""


@dataclass
class Transformer:
    """A pretrained encoder with its tokenizer.

    body: in evaluation mode, float32, without a pooler. tokenizer: a fast one. revision: the
    hub's commit hash, "" for a directory. digest: 16 hex digits that tell its weights,
    configuration and vocabulary from others, "" where the weights come from elsewhere.
    layers: hidden states it gives, the embeddings among them, each `width` wide.
    longest: pieces it can read at once, special ones included.
    """

    body: Any
    tokenizer: Any
    name: str
    revision: str
    digest: str
    layers: int
    width: int
    longest: int


def load_transformer(name: str, revision: str = "") -> Transformer:
    """A transformer from a directory or, by name, from the hub.

    revision: a branch, tag or commit of the hub. Raises TransformerError.
    """
    with _quiet():
        folder, commit = _find_folder(name, revision)
        weights = _weight_files(folder, name)
        config = _read_config(folder, name)
        tokenizer = _read_tokenizer(folder, name, config)
        body = _read_body(folder, name, config)
    names = ["config.json", *_TOKENIZER, *_OTHERS]
    files = [*weights, *(folder / each for each in names)]
    return _describe(body, tokenizer, name, commit, _digest(files))


def save_description(transformer: Transformer, directory: PathLike) -> None:
    """Everything but the weights: config.json and the tokenizer's files, in a directory that
    appears whole. Raises OSError."""
    with _quiet(), atomic_directory(directory) as beside:
        try:
            transformer.body.config.save_pretrained(beside)
            transformer.tokenizer.save_pretrained(beside)
        except OSError:
            raise
        except Exception as error:  # the tokenizer's library has one kind for all
            raise OSError(f"{directory}: cannot be written: {error}") from None


def from_description(directory: PathLike) -> Transformer:
    """A transformer with random weights, from what `save_description` wrote.

    Raises TransformerError.
    """
    from transformers import AutoModel

    folder, name = Path(directory), str(directory)
    with _quiet():
        config = _read_config(folder, name)
        tokenizer = _read_tokenizer(folder, name, config)
        config._attn_implementation_autoset = False  # saved by 4.48, which then chose the slowest
        with _told(name, "config.json describes no transformer"):
            body = AutoModel.from_config(config, trust_remote_code=False)
    return _describe(body, tokenizer, "", "", "")


def hidden_layers(transformer: Transformer, batch: PieceBatch, layers: Layers, top: int) -> Tensor:
    """The chosen hidden states, [windows, width, kept layers, features].

    layers: "single" keeps the top-th from the top (1 is the last), "average" the mean of the
    `top` topmost, "mix" these as they are; for both, 0 is all of them.
    Raises TransformerError if there are not so many.
    """
    check_layers(layers, top, transformer.layers)
    states = transformer.body(
        batch.ids, attention_mask=batch.mask, output_hidden_states=True, return_dict=True
    ).hidden_states
    if layers == "single":
        return states[-top].unsqueeze(-2)
    kept = states[-top:]
    if layers == "mix":
        return torch.stack(kept, dim=-2)
    total = kept[0]
    for state in kept[1:]:
        total = total + state
    return (total / len(kept)).unsqueeze(-2)


def checkpoint_layers(body: Any) -> None:
    """Have a transformer compute its layers again in the backward pass, rather than keep them."""
    old = "gradient_checkpointing_enable"  # its name before transformers 5
    enable = getattr(body, "activation_checkpointing_enable", None) or getattr(body, old)
    enable({"use_reentrant": False})


def check_layers(layers: Layers, top: int, number: int) -> None:
    """Raises TransformerError unless a transformer of so many layers can give these."""
    least = 1 if layers == "single" else 0
    if not least <= top <= number:
        raise TransformerError(
            f"the transformer has {number} layers, its embeddings among them: for"
            f" {layers!r}, top can be {least} to {number}, not {top}"
        )


def _describe(body: Any, tokenizer: Any, name: str, revision: str, digest: str) -> Transformer:
    # a model that may be built without a pooler runs without one
    if "add_pooling_layer" in inspect.signature(type(body).__init__).parameters:
        body.pooler = None
    config = body.config
    config.use_cache = False  # a decoder would keep keys and values that nobody asks for
    config._name_or_path = ""  # where it was here is nothing to save
    return Transformer(
        body.float().eval(), tokenizer, name, revision, digest,
        config.num_hidden_layers + 1, config.hidden_size, _longest(body, tokenizer),
    )  # fmt: skip


def _longest(body: Any, tokenizer: Any) -> int:
    positions = getattr(body.config, "max_position_embeddings", None) or 0
    for name, module in body.named_modules():
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            positions -= padding + 1  # RoBERTa's kin count positions from there on
    limits = [each for each in (tokenizer.model_max_length, positions) if 0 < each < 1e9]
    return min(limits, default=_LONGEST)  # "no limit" is a huge number, or -1


def _find_folder(name: str, revision: str) -> tuple[Path, str]:
    """The directory of a transformer's files, downloaded if need be, and its commit."""
    path = Path(name).expanduser()
    if path.is_dir():
        if revision:
            raise TransformerError(f"{name} is a directory: it has no revision {revision!r}")
        return path, ""
    if path.exists():
        raise TransformerError(f"{name} is a file: name the directory that config.json is in")
    if name.startswith((".", "/", "~")):
        raise TransformerError(f"{name}: no such directory")
    from huggingface_hub import constants, snapshot_download

    parts = [_WEIGHTS, "model-*-of-*.safetensors", _INDEX, *_TOKENIZER, *_OTHERS]
    try:
        folder = Path(snapshot_download(name, revision=revision or None, allow_patterns=parts))
    except Exception as error:  # the hub, the network and the disk each have their own
        if constants.HF_HUB_OFFLINE:
            raise TransformerError(
                f"{name}: no such directory, nor downloaded before, and HF_HUB_OFFLINE forbids"
                " asking the hub: unset it, or give a directory"
            ) from error
        raise TransformerError(
            f"{name}: no such directory, and the hub does not give it: {_line(error)}"
        ) from error
    return folder, folder.name


def _weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files of a transformer. Raises TransformerError if there are none."""
    if not (folder / "config.json").is_file():
        raise TransformerError(
            f"{name}: no config.json, so no transformer as transformers saves it"
        )
    if (folder / _WEIGHTS).is_file():
        return [folder / _WEIGHTS]
    if (folder / _INDEX).is_file():
        with _told(name, f"{_INDEX} is damaged"):
            index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
            return [folder / each for each in sorted(set(index["weight_map"].values()))]
    raise TransformerError(
        f"{name}: no {_WEIGHTS}; weights in another format are not read, as pickles can run"
        " code: convert them with transformers' save_pretrained"
    )


def _read_config(folder: Path, name: str) -> Any:
    """Its configuration. Raises TransformerError if it is not a text encoder's."""
    import transformers

    with _told(name, "config.json is missing or damaged"):
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    if kind not in transformers.CONFIG_MAPPING:
        raise TransformerError(
            f"{name}: transformers {transformers.__version__} knows no model type {kind!r};"
            " another version may (code that comes with a model is not run)"
        )
    with _told(name, "config.json cannot be read"):
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if config.is_encoder_decoder:
        raise TransformerError(f"{name}: {kind} is an encoder-decoder; an encoder is needed")
    if not all(
        hasattr(config, each) for each in ("num_hidden_layers", "hidden_size", "vocab_size")
    ):
        raise TransformerError(f"{name}: {kind} is not an encoder of text")
    return config


def _read_tokenizer(folder: Path, name: str, config: Any) -> Any:
    """Its tokenizer. Raises TransformerError if that is not a fast one with a vocabulary."""
    from transformers import AutoTokenizer

    with _told(name, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise TransformerError(f"{name}: no fast tokenizer (tokenizer.json), and none can be made")
    numbers = set(tokenizer.get_vocab().values())
    if numbers <= set(tokenizer.all_special_ids):
        raise TransformerError(f"{name}: no tokenizer.json, or no vocabulary in it")
    if max(numbers) >= config.vocab_size:
        raise TransformerError(
            f"{name}: the tokenizer's pieces go to number {max(numbers)}, the transformer's to"
            f" {config.vocab_size - 1}: they do not belong together"
        )
    return tokenizer


def _read_body(folder: Path, name: str, config: Any) -> Any:
    """The model with its weights. Raises TransformerError if any but a pooler's are missing."""
    from transformers import AutoModel

    with _told(name, "its weights are damaged, or not those of its config.json"):
        body, report = AutoModel.from_pretrained(
            folder, config=config, use_safetensors=True, trust_remote_code=False,
            output_loading_info=True,
        )  # fmt: skip
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise TransformerError(
            f"{name}: {len(missing)} of the encoder's weights are missing, {missing[0]} first"
        )
    return body


def _digest(files: list[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        if path.is_file():
            whole.update(f"{path.name}\n".encode())
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:16]


@contextmanager
def _told(name: str, what: str) -> Iterator[None]:
    """Turns any error of a library into a TransformerError saying what is wrong."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # transformers raises a dozen unrelated ones
        raise TransformerError(f"{name}: {what} ({_line(error)})") from error


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers and the hub from writing anything but errors, and no bars."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )
    from transformers.utils import logging as library

    loggers = [logging.getLogger(each) for each in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    bars, hub_bars = library.is_progress_bar_enabled(), not are_progress_bars_disabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    library.disable_progress_bar()
    disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            library.enable_progress_bar()
        if hub_bars:
            enable_progress_bars()
