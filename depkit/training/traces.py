"""Recognises output directories of training runs, so that depkit writes into no other directory."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from safetensors import SafetensorError, safe_open

from depkit.files.lock import LOCK
from depkit.parsers.model_directory import CONFIG, ENSEMBLE, WEIGHTS
from depkit.parsers.text.tokenizer_file import PACKED_TABLES, TABLES
from depkit.training.checkpoint import FINISHED, has_run
from depkit.training.origin import ResumeError

# The directories of the models of a run with several seeds or folds, and temporary ones
_MEMBER = re.compile(r"(seed|fold)-\d+(-.+)?")
_TEMPORARY = re.compile(r"\..+\.\d+\.part")
# Metadata of checkpoints, tokenizers and targets of a teacher
_METADATA = {"state", TABLES, PACKED_TABLES, "key"}


def check_resumable(directory: Path, members: Literal["", "seed", "fold"] = "") -> None:
    """Check that training may continue in a directory.

    Args:
        directory: The directory, which need not exist.
        members: If a run has several models, how the names of their directories begin.

    Raises:
        ResumeError: If there are files, but no run of depkit of this kind.
    """
    if not _is_resumable(directory):
        raise ResumeError(
            f"{directory} is not empty, and what is there is not of a training by depkit; name"
            " another directory"
        )
    found = {match[1] for path in directory.glob("*-*") if (match := _MEMBER.fullmatch(path.name))}
    if found - {members} or (not members and (directory / ENSEMBLE).exists()):
        raise ResumeError(f"{directory} has other parsers than this one; name another directory")
    if members and (has_run(directory) or ((directory / WEIGHTS).exists() and not found)):
        raise ResumeError(f"{directory} is the model of a single parser; name another directory")


def _is_resumable(directory: Path) -> bool:
    """Whether a directory is missing, empty, or what a run has left when it was interrupted."""
    entries = list(directory.iterdir()) if directory.exists() else []
    entries = [
        path for path in entries if path.name != LOCK and not _TEMPORARY.fullmatch(path.name)
    ]
    are_members = all(
        _MEMBER.fullmatch(path.name) and path.is_dir() and _is_resumable(path) for path in entries
    )
    return are_members or any(_find_traces(directory))


def _find_traces(directory: Path) -> Iterator[bool]:
    """Yield for each file of a run whether it is in the directory and written by depkit."""
    for name in (CONFIG, ENSEMBLE):
        yield "format_version" in _read(directory / name)
    yield "origin" in _read(directory / FINISHED)
    for path in directory.glob("*.safetensors"):
        try:
            with safe_open(path, framework="np") as file:
                yield not _METADATA.isdisjoint(file.metadata() or {})
        except (OSError, SafetensorError):
            yield False


def _read(path: Path) -> dict:
    """Read a file of TOML or JSON; return {} if that is impossible."""
    try:
        text = path.read_text("utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
