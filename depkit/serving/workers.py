"""Local processes that annotate the blocks of files at the same time, see `corpus.blocks`."""

import io
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing.queues import Queue

from depkit.convert.formats import ConversionReport
from depkit.corpus.blocks import Part, make_part
from depkit.corpus.files import open_output
from depkit.corpus.formats import FORMATS, PARQUET
from depkit.drawing.progress import ProgressBars
from depkit.parsers.device import find_devices
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import TEXT_INPUTS
from depkit.serving.job import Job, Totals, get_output_paths
from depkit.serving.parts import (
    find_blocks_of_file,
    find_kind,
    is_done,
    mark_done,
    parse_shard,
)
from depkit.serving.run import Run

TASK_BLOCKS = 4  # the number of blocks in a task
_run: Run | None = None  # the job of this process, if it is a worker


@dataclass(frozen=True)
class Result:
    """The result of a task: the output, the counts, and notes to the user."""

    text: str
    totals: Totals
    report: ConversionReport
    notes: list[str]


def annotate_with_workers(job: Job, note: Callable[[str], None], bars: ProgressBars) -> Totals:
    """Do what `files.annotate_files` does, with several processes.

    The output is the same as that of one process.
    """
    if job.format == PARQUET.name:
        raise ConfigError("--workers cannot write Parquet; use --shard, which writes several files")
    if len(job.files) > 1 and not job.output_dir:
        raise ConfigError("--workers with several files needs --output-dir")
    tasks = [_divide(job, index) for index in range(len(job.files))]
    totals, report = Totals(), ConversionReport()
    notes: dict[str, None] = {}
    context = multiprocessing.get_context("spawn")
    devices: Queue[str] = context.Queue()
    names = [str(device) for device in find_devices(job.device)]
    for number in range(job.workers):
        devices.put(names[number % len(names)])
    threads = job.threads or max(1, (os.cpu_count() or 1) // job.workers)
    worker_job = replace(job, threads=threads, workers=1, shard="", skip_done=False)
    total, done = sum(map(len, tasks)), 0
    pool = ProcessPoolExecutor(job.workers, context, _start_worker, (worker_job, devices))
    try:
        with bars.bar("parsing" if job.action == "parse" else "tagging") as show:
            output_format = pool.submit(_get_output_format).result()
            began = time.monotonic()  # a process has loaded the models
            for index, path in enumerate(get_output_paths(job, output_format)):
                if job.skip_done and is_done(job, index, path):
                    continue
                is_text = find_kind(job, index) in TEXT_INPUTS or output_format == "json"
                with open_output(path, "utf-8" if is_text else job.encoding) as stream:
                    for result in _run_tasks(pool, index, tasks[index], 2 * job.workers):
                        stream.write(result.text)
                        totals.sentences += result.totals.sentences
                        totals.words += result.totals.words
                        report.add(result.report)
                        notes |= dict.fromkeys(result.notes)
                        done += 1
                        speed = totals.words / (time.monotonic() - began)
                        show(done, total, f"{speed:,.0f} words/s")
                mark_done(job, index, path)
    except BrokenProcessPool:
        raise OSError(
            "a worker process was killed, perhaps because memory ran out; use fewer --workers"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
    if output_format in FORMATS:
        notes |= dict.fromkeys(report.notes(output_format))
    for text in notes:
        note(text)
    totals.seconds = time.monotonic() - began
    return totals


def _divide(job: Job, index: int) -> list[Part]:
    """Divide a file, or the job's shard of it, into one part for each task."""
    blocks = find_blocks_of_file(job, index)
    first, stop = 0, len(blocks)
    if job.shard:
        first, stop = parse_shard(job.shard).limits(len(blocks))
    return [
        make_part(blocks, start, min(start + TASK_BLOCKS, stop))
        for start in range(first, stop, TASK_BLOCKS)
    ]


def _run_tasks(
    pool: ProcessPoolExecutor, index: int, parts: Sequence[Part], ahead: int
) -> Iterator[Result]:
    """Yield the results of tasks in order; at most `ahead` of them are submitted in advance."""
    futures: deque[Future[Result]] = deque()
    for part in parts:
        futures.append(pool.submit(_annotate_part, index, part))
        if len(futures) > ahead:
            yield futures.popleft().result()
    while futures:
        yield futures.popleft().result()


def _start_worker(job: Job, devices: "Queue[str]") -> None:
    """Load the models in a new process."""
    global _run
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _run = Run.start(replace(job, device=devices.get()), lambda text: None)


def _get_output_format() -> str | None:
    assert _run is not None
    return _run.output_format


def _annotate_part(index: int, part: Part) -> Result:
    assert _run is not None
    notes: list[str] = []
    _run.note, _run.totals, _run.report = notes.append, Totals(), ConversionReport()
    stream = io.StringIO()
    _run.write([index], stream, part)
    return Result(stream.getvalue(), _run.totals, _run.report, notes)
