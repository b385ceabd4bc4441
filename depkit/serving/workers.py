"""Several workers annotate the blocks of files at the same time, see `corpus.blocks`."""

import time
from collections.abc import Callable
from itertools import groupby

from depkit.convert.formats import ConversionReport
from depkit.corpus.formats import PARQUET
from depkit.files.isolation import safe_search_path
from depkit.files.progress import ProgressBars, total_file_size
from depkit.files.streams import open_output
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import TEXT_INPUTS
from depkit.serving.job import Job, Totals, get_output_paths
from depkit.serving.parts import check_divisible, divide, is_done, mark_done, parse_shard
from depkit.serving.processes import start_processes
from depkit.serving.ray_actors import start_actors


def annotate_with_workers(job: Job, note: Callable[[str], None], bars: ProgressBars) -> Totals:
    """Do what `files.annotate_files` does, with the workers of the job's engine.

    The output is the same as that of one process.
    """
    option = "--engine ray" if job.engine == "ray" else "--workers"
    if job.format == PARQUET.name:
        raise ConfigError(f"{option} cannot write Parquet; use --shard, which writes several files")
    if len(job.files) > 1 and not job.output_dir:
        raise ConfigError(f"{option} with several files needs --output-dir")
    kinds = [check_divisible(job, index) for index in range(len(job.files))]
    totals, report = Totals(), ConversionReport()
    notes: dict[str, None] = {}
    with (
        safe_search_path(),
        start_actors(job, note) if job.engine == "ray" else start_processes(job) as pool,
        bars.bar("parsing" if job.action == "parse" else "tagging") as show,
    ):
        began = time.monotonic()  # a worker has loaded its models
        paths = get_output_paths(job, pool.output_format)
        indices = [
            index
            for index, path in enumerate(paths)
            if not (job.skip_done and is_done(job, index, path))
        ]
        done = 0  # bytes
        total = total_file_size([job.files[index] for index in indices])
        if total and job.shard:
            total //= parse_shard(job.shard).total
        results = pool.annotate(divide(job, indices))
        for index, results_of_file in groupby(results, lambda result: result.task.index):
            is_text = kinds[index] in TEXT_INPUTS or pool.output_format == "json"
            with open_output(paths[index], "utf-8" if is_text else job.encoding) as stream:
                for result in results_of_file:
                    stream.write(result.text)
                    totals.sentences += result.totals.sentences
                    totals.words += result.totals.words
                    report.add(result.report)
                    notes |= dict.fromkeys(result.notes)
                    done += result.task.size
                    speed = totals.words / (time.monotonic() - began)
                    show(done, total, f"{speed:,.0f} words/s")
            mark_done(job, index, paths[index])
    notes |= dict.fromkeys(report.notes(pool.output_format or ""))
    for text in notes:
        note(text)
    totals.seconds = time.monotonic() - began
    return totals
