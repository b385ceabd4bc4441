"""Parsing and tagging of files, as `depkit parse` and `depkit tag` do."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from depkit.corpus.formats import PARQUET
from depkit.corpus.parquet.arrow import import_pyarrow
from depkit.corpus.sentence import Sentence
from depkit.files.progress import ProgressBars, total_file_size
from depkit.files.streams import watch_reading
from depkit.parsers.base import Parser
from depkit.serving.job import Job, Totals
from depkit.serving.parts import FinishedFiles, find_part
from depkit.serving.plan import resolve
from depkit.serving.ray_actors import import_ray
from depkit.serving.run import Run
from depkit.serving.workers import annotate_with_workers


def annotate_files(
    job: Job,
    note: Callable[[str], None] = lambda text: None,
    bars: ProgressBars | None = None,
) -> Totals:
    """Read files, parse or tag their sentences, and write the results.

    Args:
        job: The files, models and options.
        note: Called with each message to the user, for example on columns that the output format
            cannot represent.
        bars: Shows the progress.

    Raises:
        ConfigError: For options that exclude each other, output files that would overwrite the
            input, or options that the model does not have. Reading, parsing and writing may raise
            further exceptions.
    """
    plan = resolve(job)
    for text in plan.notes:
        note(text)
    if plan.job.format == PARQUET.name:
        import_pyarrow()
    if job.distribute == "ray":
        import_ray(job.address)
    bars = bars or ProgressBars(quiet=True)
    if job.has_workers:
        return annotate_with_workers(plan, note, bars)
    finished = FinishedFiles(plan)
    run = Run.start(plan, note)
    began = time.monotonic()
    with _show_progress(bars, run.parsers.values(), job) as count_read:
        run.count_read = count_read
        if job.output_dir:
            for index, file in enumerate(plan.files):
                if not finished.is_done(index):
                    run.write([index], file.output, find_part(plan, index))
                    finished.mark_done(index)
        else:
            run.write(range(len(job.files)), job.output)
    run.totals.seconds = time.monotonic() - began
    run.finish()
    return run.totals


@contextmanager
def _show_progress(
    bars: ProgressBars, parsers: Iterable[Parser], job: Job
) -> Iterator[Callable[[Iterable[Sentence]], Iterable[Sentence]]]:
    """Show in a progress bar how much of the job's input the models have parsed.

    The context manager returns a function that must be applied to the stream of input sentences, to
    count their words. As files are read far ahead of the model, the progress is the number of bytes
    that have been read, times the proportion of their words that have been parsed.
    """
    if not bars.is_interactive:
        yield lambda sentences: sentences
        return
    began, total, lock = time.monotonic(), total_file_size(job.files), Lock()
    read_totals, parsed_totals = Totals(), Totals()
    bytes_read = 0

    def count_bytes(count: int) -> None:
        nonlocal bytes_read
        bytes_read += count

    def count_read(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            read_totals.words += len(sentence)
            yield sentence

    def count_parsed(batch: Sequence[Sentence]) -> None:
        # A batch may be padded with copies of a sentence.
        distinct = {id(sentence): sentence for sentence in batch}.values()
        with lock:  # batches are computed on several threads
            parsed_totals.sentences += len(distinct)
            parsed_totals.words += sum(map(len, distinct))
            if bars.is_due():
                speed = parsed_totals.words / (time.monotonic() - began)
                text = f"{speed:,.0f} words/s  {parsed_totals.sentences:,} sentences"
                update_bar(bytes_read * parsed_totals.words / read_totals.words, total, text)

    with bars.bar("parsing" if job.action == "parse" else "tagging") as update_bar:
        for parser in parsers:
            parser.on_batch_computed = count_parsed
        with watch_reading(count_bytes):
            yield count_read
