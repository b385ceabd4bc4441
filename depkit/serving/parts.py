"""Parts of the files of a job, for several machines or processes, and markers of finished files."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields

from depkit.corpus.blocks import Part, Position, Shard, find_blocks, make_part
from depkit.corpus.formats import PARQUET
from depkit.files.atomic import atomic
from depkit.files.digest import digest_files
from depkit.files.storage import file_size, file_version, is_url
from depkit.files.streams import open_bytes
from depkit.parsers.model_directory import find_model, model_files
from depkit.parsers.text.reading import TEXT_INPUTS
from depkit.serving.job import Job
from depkit.serving.plan import Plan
from depkit.version import __version__

TASK_BLOCKS = 4  # the number of blocks in a task
# The fields of a job that are not among the options in the record of a finished file: the record
# describes the files and the models of that file by themselves, and the other fields say how the
# work is divided, which does not change the results. New fields of a job are recorded.
_NOT_RECORDED = {
    "files", "models", "tokenizer", "elmo", "also_read", "output", "output_dir", "threads",
    "workers", "distribute", "address", "skip_done",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A part of a file, which one worker annotates.

    index: the index of the file in the job; size: the size of the part in bytes; is_first: whether
    it is the first part of the file that the job annotates, by which the file is judged.
    """

    index: int
    part: Part
    size: int
    is_first: bool = True


def find_blocks_of_file(plan: Plan, index: int) -> list[Position]:
    """Return the positions of the blocks of a file that can be divided."""
    file = plan.files[index]
    kind = file.kind if file.kind in (*TEXT_INPUTS, PARQUET.name) else "rows"
    return find_blocks(file.path, plan.job.encoding, kind)


def divide(plan: Plan, indices: Iterable[int]) -> Iterator[Task]:
    """Divide files, or the plan's shard of each file, into tasks.

    A file is read only when its first task is requested. indices: the indices of the files.
    """
    for index in indices:
        blocks = find_blocks_of_file(plan, index)
        ends = [*(block.byte for block in blocks), file_size(plan.files[index].path)]
        first, stop = (plan.shard or Shard(1, 1)).limits(len(blocks))
        if first == stop:  # A shard without blocks is an empty part at the beginning of the file.
            yield Task(index, Part(blocks[0], blocks[0]), 0)
        for start in range(first, stop, TASK_BLOCKS):
            end = min(start + TASK_BLOCKS, stop)
            part, size = make_part(blocks, start, end), ends[end] - ends[start]
            yield Task(index, part, size, is_first=start == first)


def find_part(plan: Plan, index: int) -> Part | None:
    """Return the part of a file that belongs to the plan's shard; None for the whole file."""
    if not plan.shard:
        return None
    blocks = find_blocks_of_file(plan, index)
    # A shard without blocks is an empty part at the beginning of the file.
    return plan.shard.select(blocks) or Part(blocks[0], blocks[0])


class FinishedFiles:
    """Which output files of a job are finished, for `skip_done`.

    A finished file has a marker, a file next to it that records how it was made: the input, the
    models, the options and the output. It is no longer valid if another command writes the output.

    Make this object before the models are loaded and the files are opened: it records their state
    at that moment, so that a file that changes during the job is annotated again by the next run.
    """

    def __init__(self, plan: Plan) -> None:
        self.files = plan.files
        self.descriptions: list[dict[str, object] | None] = [None] * len(plan.files)
        if plan.job.skip_done:
            self.descriptions = _describe_inputs(plan)

    def is_done(self, index: int) -> bool:
        """Return whether the file is to be skipped, as the same job has finished it already."""
        description, output = self.descriptions[index], self.files[index].output
        if description is None:
            return False
        try:
            with open_bytes(_marker(output)) as binary:
                return json.load(binary) == description | _describe_output(output)
        except (OSError, ValueError):
            return False

    def mark_done(self, index: int) -> None:
        """Write the marker of an output file that is complete."""
        description, output = self.descriptions[index], self.files[index].output
        if description is not None:
            with atomic(_marker(output)) as temporary:
                text = json.dumps(description | _describe_output(output), indent=1)
                temporary.write_text(text + "\n", "utf-8")


def _marker(path: str) -> str:
    return f"{path}.done"


def _describe_inputs(plan: Plan) -> list[dict[str, object] | None]:
    """Describe how each output file is made: from what input, by which models and options.

    The result is None for an input that cannot be found; the error is raised when it is read.
    """
    job, options = plan.job, _describe_options(plan.job)
    tokenizers = (job.tokenizer,) if job.tokenizer else ()
    models = {os.fspath(model) for file in plan.files for model in (*file.models, *tokenizers)}
    digests = {model: digest_files(model_files(find_model(model))) for model in models}
    descriptions: list[dict[str, object] | None] = []
    for file in plan.files:
        try:
            size, version = _find_version(file.path)
            features = [_find_version(name) for name in (file.elmo,) if name]
        except (OSError, ValueError):  # ValueError: the URL of an unknown kind of store
            descriptions.append(None)
            continue
        descriptions.append({
            "depkit": __version__,
            "file": file.path if is_url(file.path) else os.path.abspath(file.path),
            "size": size, "modified": version,
            "models": [digests[os.fspath(model)] for model in (*file.models, *tokenizers)],
            "options": options, "features": features,
        })  # fmt: skip
    return descriptions


def _describe_options(job: Job) -> dict[str, object]:
    options = {
        setting.name: getattr(job, setting.name)
        for setting in fields(job)
        if setting.name not in _NOT_RECORDED
    }
    # What JSON changes, such as tuples, is changed here, because it is compared with a file.
    result: dict[str, object] = json.loads(json.dumps(options, default=asdict))
    return result


def _describe_output(path: str) -> dict[str, object]:
    return {"output": _find_version(path)}


def _find_version(path: str) -> list[int | str]:
    return [file_size(path), file_version(path)]
