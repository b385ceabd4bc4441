"""Comparison of the outputs of two runs, in which only times may differ."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

_CACHES = ("home", "tmp/torchinductor_", "tmp/ray")
_TIMES = re.compile(r'"(seconds|left|words_per_second)": [^,}\s]+|\b\d+(:\d\d)+\b')


def read_outputs(folder: Path) -> dict[str, Any]:
    """Return the contents of all files by their names, without times; None for a directory.

    The caches of other libraries, in the home directory and of TorchInductor, and Ray's logs are
    left out.
    """
    outputs = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not name.startswith(_CACHES):
            outputs[name] = None if path.is_dir() else _read(path)
    return outputs


def _read(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        try:
            size = int.from_bytes(data[:8], "little")
            header = json.loads(data[8 : 8 + size])
        except ValueError:
            return data
        header.pop("__metadata__", None)  # contains the times of a checkpoint
        return header, data[8 + size :]
    if path.suffix in (".json", ".jsonl", ".md"):
        return _TIMES.sub("", data.decode("utf-8", "replace"))
    return data


def find_differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a description of each file that differs between two results of `read_outputs`."""
    return [
        *(f"{name} is missing" for name in expected.keys() - found.keys()),
        *(f"{name} is left over" for name in found.keys() - expected.keys()),
        *(f"{name} differs" for name in expected.keys() & found.keys()
          if expected[name] != found[name]),
    ]  # fmt: skip


def find_incomplete(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the names of files that a failed run has left incomplete under their final names.

    A file is complete if the undisturbed run has written the same content, or, for the files of an
    unfinished training, if it can be read. Logs and standard output may end anywhere.
    """
    return [
        f"{name} is incomplete"
        for name, content in found.items()
        if content is not None
        and name != "stdout"
        and not name.endswith(".jsonl")
        and not any(part.startswith(".") for part in name.split("/"))
        and content != expected.get(name)
        and not _can_be_read(name, content)
    ]


def _can_be_read(name: str, content: Any) -> bool:
    try:
        if name.endswith(".safetensors"):
            header, data = content
            return len(data) == max(entry["data_offsets"][1] for entry in header.values())
        if name.endswith(".json"):  # Without its times, the text may be invalid JSON.
            return content.rstrip().endswith(("}", "]"))
        if name.endswith(".toml"):
            return bool(tomllib.loads(content.decode()))
    except (ValueError, LookupError, TypeError):
        return False
    return False
