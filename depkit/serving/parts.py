"""Parts of the files of a job, for several machines or processes, and markers of finished files."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from depkit.corpus.blocks import Part, Position, Shard, find_blocks, make_part
from depkit.corpus.formats import PARQUET, PTB
from depkit.corpus.io import PathLike
from depkit.files.atomic import atomic
from depkit.files.digest import digest_files
from depkit.files.storage import file_size, file_version, is_rereadable, is_url
from depkit.files.streams import open_bytes
from depkit.parsers.model_directory import find_model, model_files
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import TEXT_INPUTS, detect_input
from depkit.version import __version__

if TYPE_CHECKING:
    from depkit.serving.job import Job


TASK_BLOCKS = 4  # the number of blocks in a task


@dataclass(frozen=True)
class Task:
    """A part of a file, which one worker annotates.

    index: the index of the file in the job; size: the size of the part in bytes.
    """

    index: int
    part: Part
    size: int


def parse_shard(text: str) -> Shard:
    """Parse the option --shard. Raises ConfigError for a text that is not I/N."""
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise ConfigError(f"--shard: {error}") from None


def find_kind(job: "Job", index: int) -> str:
    """Return the input format of a job's file: --input, or else detected by name or content."""
    return job.input or detect_input(job.files[index], job.encoding)


def check_divisible(job: "Job", index: int) -> str:
    """Return the input format of a job's file. Raises ConfigError if it cannot be divided."""
    file = job.files[index]
    kind = reason = ""
    if not is_rereadable(file):
        os.stat(file)  # raises an error if there is no such file
        reason = "it is not a regular file"
    elif file.lower().endswith((".gz", ".xz")):
        reason = "it is compressed; decompress it first"
    if not reason:
        kind = find_kind(job, index)
        if kind == PTB.name:
            reason = "it has bracketed trees; convert it with depkit convert, or split it yourself"
        elif job.format == "json" and kind not in TEXT_INPUTS:
            reason = "--format json needs the whole file for its offsets; choose another format"
        elif job.features:
            reason = "a file of --features has the vectors of a whole file"
        elif job.out_of_fold:
            reason = "--out-of-fold needs all of its sentences"
    if reason:
        raise ConfigError(f"{file} cannot be divided: {reason}")
    return kind


def find_blocks_of_file(job: "Job", index: int) -> list[Position]:
    """Return the positions of the blocks of a job's file.

    Raises ConfigError if the file cannot be divided.
    """
    kind = check_divisible(job, index)
    kind = kind if kind in (*TEXT_INPUTS, PARQUET.name) else "rows"
    return find_blocks(job.files[index], job.encoding, kind)


def divide(job: "Job", indices: Iterable[int]) -> Iterator[Task]:
    """Divide files of a job, or the job's shard of each file, into tasks.

    A file is read only when its first task is requested.

    indices: the indices of the files.

    Raises ConfigError if a file cannot be divided.
    """
    for index in indices:
        blocks = find_blocks_of_file(job, index)
        ends = [*(block.byte for block in blocks), file_size(job.files[index])]
        first, stop = parse_shard(job.shard or "1/1").limits(len(blocks))
        if first == stop:  # A shard without blocks is an empty part at the beginning of the file.
            yield Task(index, Part(blocks[0], blocks[0]), 0)
        for start in range(first, stop, TASK_BLOCKS):
            end = min(start + TASK_BLOCKS, stop)
            yield Task(index, make_part(blocks, start, end), ends[end] - ends[start])


def find_part(job: "Job", index: int) -> Part | None:
    """Return the part of a job's file that belongs to its shard; None for the whole file."""
    if not job.shard:
        return None
    blocks = find_blocks_of_file(job, index)
    part = parse_shard(job.shard).select(blocks)
    # A shard without blocks is an empty part at the beginning of the file.
    return part or Part(blocks[0], blocks[0])


def is_done(job: "Job", index: int, path: PathLike) -> bool:
    """Return whether the same job has already finished an output file; see `mark_done`."""
    try:
        with open_bytes(_marker(path)) as binary:
            return json.load(binary) == _describe(job, index, path)
    except (OSError, ValueError):
        return False


def mark_done(job: "Job", index: int, path: PathLike) -> None:
    """Record how an output file was made in a file next to it, for --skip-done.

    The file describes the output file, too, so it is void if another command writes that file.
    """
    if job.skip_done:
        with atomic(_marker(path)) as temporary:
            text = json.dumps(_describe(job, index, path), indent=1)
            temporary.write_text(text + "\n", "utf-8")


def _marker(path: PathLike) -> str:
    return f"{os.fspath(path)}.done"


def _describe(job: "Job", index: int, path: PathLike) -> dict[str, object]:
    """Describe an output file and how it was made: the input, the models and the options."""
    file, features = job.files[index], job.features[index : index + 1]
    options = {
        "action": job.action, "tags": job.tags, **job.options, "mean": job.mean,
        "input": job.input, "format": job.format, "settings": list(job.settings),
        "encoding": job.encoding, "dependencies": job.dependencies, "shard": job.shard,
        "batch_tokens": job.batch_tokens,
    }  # fmt: skip
    models = [*job.models, *([job.tokenizer] if job.tokenizer else [])]
    digests = [_digest_model(os.fspath(model)) for model in models]
    return {
        "depkit": __version__, "file": file if is_url(file) else os.path.abspath(file),
        "size": file_size(file), "modified": file_version(file), "models": digests,
        "options": options, "output": [file_size(path), file_version(path)],
        "features": [[file_size(name), file_version(name)] for name in features],
    }  # fmt: skip


@cache
def _digest_model(model: str) -> str:
    return digest_files(model_files(find_model(model)))
