"""Copies of a transformer's directory with only what is safe to read.

transformers opens whatever it finds in a directory, and much that a configuration names: pickled
weights, adapters, code, and kernels from the hub. It therefore never sees the directory itself, but
a copy that has weights in safetensors, the tokenizer, and configurations without such names.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from depkit.parsers.inputs.tokenizer_json import check_tokenizer

TOKENIZER_JSON = "tokenizer.json"
TOKENIZER_FILES = (
    TOKENIZER_JSON, "vocab.txt", "vocab.json", "merges.txt",
    "sentencepiece.bpe.model", "spiece.model", "tokenizer.model",
)  # fmt: skip
CONFIGURATION_FILES = (
    "config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
)  # fmt: skip
# Settings that name code, kernels or files, or how weights are quantized. depkit decides these.
_UNSAFE_SETTING = re.compile(
    r"auto_map|_?name_or_path|base_model_name_or_path|transformers_weights|fusion_config"
    r"|trust_remote_code|configuration_files|.*_implementation(_.*)?|use_kernels|kernel_config"
    r"|.*_files?|.*_kwargs|num_labels"
)
# Settings for which transformers makes a list or a table before it compares it with the weights
_COUNT = re.compile(r"(num|n)_.*|.*layers?")
_MAX_COUNT = 1 << 20
_QUANTIZATION = ("quantization_config", "compression_config")
# transformers takes any of its classes for a tokenizer, and lets the class read the directory.
_TOKENIZER_CLASS = re.compile(r"[A-Za-z0-9]*(Tokenizer|TokenizerFast|TokenizersBackend)")


class TransformerError(ValueError):
    """A transformer cannot be loaded or used with these settings; the message is one line."""


def copy_safe_files(
    folder: Path, copy: Path, name: str, *, data: Iterable[str], configurations: Iterable[str]
) -> None:
    """Fill a directory with links to files, and with configurations without unsafe settings.

    Args:
        folder: The directory of the transformer.
        copy: An empty directory.
        name: The name of the transformer, for errors.
        data: The names of files that are linked if they exist.
        configurations: The names of JSON files that are copied if they exist.

    Raises:
        TransformerError: A configuration is damaged, or asks for what depkit does not read.
    """
    for file_name in data:
        if file_name == TOKENIZER_JSON and (folder / file_name).is_file():
            _copy_tokenizer(folder / file_name, copy / file_name, name)
        elif (folder / file_name).is_file():
            (copy / file_name).symlink_to((folder / file_name).resolve())
    for file_name in configurations:
        if (folder / file_name).is_file():
            try:
                text = (folder / file_name).read_text(encoding="utf-8")
                settings = _remove_unsafe(json.loads(text))
                _check_counts(settings)
                if (copy / TOKENIZER_JSON).exists():
                    _remove_version(settings)
                (copy / file_name).write_text(json.dumps(settings), encoding="utf-8")
            except (ValueError, RecursionError) as error:
                raise TransformerError(f"{name}: {file_name} is damaged: {error}") from None
            _check_settings(settings, f"{name}: {file_name}")


def _copy_tokenizer(file: Path, copy: Path, name: str) -> None:
    """Copy a tokenizer.json without truncation and padding, or link to it if it has none."""
    try:
        text = file.read_text(encoding="utf-8")
        checked = check_tokenizer(text)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        message = f"{name}: its tokenizer cannot be read ({file.name}: {error})"
        raise TransformerError(message) from None
    if checked is text:
        copy.symlink_to(file.resolve())
    else:
        copy.write_text(checked, encoding="utf-8")


def _remove_version(settings: Any) -> None:
    """Replace what only some versions of transformers can read beside a tokenizer.json.

    Version 5 writes classes that version 4 does not have, and a list of special tokens where
    version 4 expects a table; a tokenizer.json contains these tokens.
    """
    import transformers

    if not isinstance(settings, dict):
        return
    if isinstance(settings.get("extra_special_tokens"), list):
        del settings["extra_special_tokens"]
    kind = settings.get("tokenizer_class")
    if isinstance(kind, str) and _TOKENIZER_CLASS.fullmatch(kind):
        if not hasattr(transformers, kind):
            settings["tokenizer_class"] = "PreTrainedTokenizerFast"


def check_weight_names(names: Iterable[object], index: str) -> list[str]:
    """Return the sorted names of the files of weights that an index lists.

    index: the name of the index, for errors. Raises TransformerError for a name that is not that of
    a safetensors file in the directory of the index.
    """
    distinct = {str(name) for name in names}
    for name in sorted(distinct):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise TransformerError(
                f"{index} names the file {name!r} of weights; only files of the same directory"
                " whose names end in .safetensors are read, because pickles can run code"
            )
    return sorted(distinct)


def _remove_unsafe(value: Any) -> Any:
    """Remove unsafe settings from nested tables."""
    if isinstance(value, list):
        return [_remove_unsafe(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _remove_unsafe(item)
        for key, item in value.items()
        if not _UNSAFE_SETTING.fullmatch(key)
    }


def _check_counts(value: Any) -> None:
    """Raise ValueError for a number in nested tables that would fill the memory."""
    for key, item in value.items() if isinstance(value, dict) else ():
        if _COUNT.fullmatch(key) and isinstance(item, int | float) and item > _MAX_COUNT:
            raise ValueError(f"{key} is more than {_MAX_COUNT:,}")
        _check_counts(item)


def _check_settings(settings: Any, file: str) -> None:
    """Raise TransformerError for settings that can be neither followed nor ignored."""
    if not isinstance(settings, dict):
        raise TransformerError(f"{file} is damaged: it is not a table of settings")
    for key in _QUANTIZATION:
        if settings.get(key):
            raise TransformerError(
                f"{file} has {key}, but depkit reads only weights that are not quantized; name the"
                " original model"
            )
    kind = settings.get("tokenizer_class")
    if kind is not None and not _TOKENIZER_CLASS.fullmatch(str(kind)):
        raise TransformerError(f"{file}: {kind!r} is no tokenizer of transformers")
