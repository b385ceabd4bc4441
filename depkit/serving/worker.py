"""A worker: a process that has its own copy of the models and annotates parts of files."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from depkit.convert.formats import ConversionReport
from depkit.serving.job import Totals
from depkit.serving.parts import Task
from depkit.serving.plan import Plan
from depkit.serving.run import Run


@dataclass(frozen=True)
class Result:
    """The result of a task: the output, the counts, and notes to the user."""

    task: Task
    text: str
    totals: Totals
    report: ConversionReport
    notes: list[str]


class Worker:
    """The plan of a job with the loaded models; the errors are those of `files.annotate_files`."""

    def __init__(self, plan: Plan) -> None:
        self.notes: list[str] = []
        self.run = Run.start(plan, lambda text: self.notes.append(text))

    def annotate(self, task: Task) -> Result:
        """Annotate a part of a file; the errors are those of `files.annotate_files`."""
        self.run.totals, self.run.report = Totals(), ConversionReport()
        stream = io.StringIO()
        self.run.checks_input = task.is_first
        self.run.write([task.index], stream, task.part)
        for check in self.run.input_checks.values():
            check.judge()
        notes, self.notes = self.notes, []
        return Result(task, stream.getvalue(), self.run.totals, self.run.report, notes)


# Yields the results of tasks in the order of the tasks. A limited number of tasks is in progress at
# the same time.
Annotate = Callable[[Iterable[Task]], Iterator[Result]]
