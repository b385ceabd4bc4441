"""Several workers annotate the blocks of files at the same time, see `corpus.blocks`."""

import time
from collections.abc import Callable
from itertools import groupby

from depkit.convert.formats import ConversionReport
from depkit.files.isolation import safe_search_path
from depkit.files.progress import ProgressBars, total_file_size
from depkit.files.streams import open_output
from depkit.parsers.text.reading import TEXT_INPUTS
from depkit.serving.job import Totals
from depkit.serving.parts import FinishedFiles, divide
from depkit.serving.plan import Plan
from depkit.serving.processes import start_processes
from depkit.serving.ray_actors import start_actors


def annotate_with_workers(plan: Plan, note: Callable[[str], None], bars: ProgressBars) -> Totals:
    """Do what `files.annotate_files` does, with the workers that the job asks for.

    The output is the same as that of one process.
    """
    job, files = plan.job, plan.files
    totals, report = Totals(), ConversionReport()
    notes: dict[str, None] = {}
    finished = FinishedFiles(plan)
    with (
        safe_search_path(),
        start_actors(plan, note) if job.distribute == "ray" else start_processes(plan) as annotate,
        bars.bar("parsing" if job.action == "parse" else "tagging") as show,
    ):
        began = time.monotonic()  # a worker has loaded its models
        indices = [index for index in range(len(files)) if not finished.is_done(index)]
        done = 0  # bytes
        total = total_file_size([files[index].path for index in indices])
        if total and plan.shard:
            total //= plan.shard.total
        results = annotate(divide(plan, indices))
        for index, results_of_file in groupby(results, lambda result: result.task.index):
            is_text = files[index].kind in TEXT_INPUTS or plan.format == "json"
            encoding = "utf-8" if is_text else job.encoding
            with open_output(files[index].output, encoding) as stream:
                for result in results_of_file:
                    stream.write(result.text)
                    totals.sentences += result.totals.sentences
                    totals.words += result.totals.words
                    report.add(result.report)
                    notes |= dict.fromkeys(result.notes)
                    done += result.task.size
                    speed = totals.words / (time.monotonic() - began)
                    show(done, total, f"{speed:,.0f} words/s")
            finished.mark_done(index)
    notes |= dict.fromkeys(report.notes(plan.format or ""))
    for text in notes:
        note(text)
    totals.seconds = time.monotonic() - began
    return totals
