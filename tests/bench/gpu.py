r"""Measure training and parsing on a GPU, with one command and within a given time.

python -m tests.bench gpu --treebank TRAIN --dev DEV [--transformer DIRECTORY] [--minutes 9]

This is made for a machine that is available only for minutes. Copy these to it: the checkout, both
treebanks (.conllu.gz is read as well), a transformer's directory (such as all-MiniLM-L6-v2) and, to
run `depkit parse` as a process, typer with its dependencies on PYTHONPATH. Then run

    python -m tests.bench gpu --treebank train.conllu.gz --dev dev.conllu.gz \
        --transformer minilm --minutes 9 --output "$OUT/gpu.md"

and copy gpu.md back. This file is written after every row, so that it contains the rows measured so
far if the command is interrupted. Rows are measured in another process, which is stopped if a row
takes too long, and restarted after every failure; the note of a row without figures has the reason.
The first rows, of two minutes in nine, say whether every family trains and parses, how fast in
bfloat16 and in float32, and how long the GPU waits for the host. With --device cpu --minutes 1,
everything that does not need CUDA can be tried on a few sentences; with --device pretend --minutes
2, also what does, on the pretend GPU of the tests. Its times mean nothing; the notes of the first
rows have the numbers of kernels, copies and waits of an update and of a batch of parsing.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from depkit.files.atomic import atomic
from tests.bench.measure import ROOT, BenchError, describe_machine, with_path

FINAL_SECONDS = 3.0  # time reserved for writing the report
# A row may take twice its share of the time and this time, which a restart of the process takes.
EXTRA_SECONDS = 15.0
RESTART_STATUS = 75  # exit status of a process that another process is to continue
RECIPES = ("bilstm", "selfatt", "finetune")
# Recipes of all families
FAMILIES = (*RECIPES, "tagger", "refine", "g2g-sent", "g2g-state", "kk2018-small")
TOKENS = (5000, 1000, 20000)
COLUMNS = ("words/s", "sentences/s", "peak MB", "GPU idle", "LAS")

Figures = dict[str, Any]  # figures by COLUMNS, "note", and "text" to print below the table


class PlannedRow(NamedTuple):
    """A row to be measured by a function of gpu_rows.py, in a share of the time."""

    group: str
    name: str
    seconds: float  # the share, as the time of the row if there is enough time for all rows
    function: str
    arguments: tuple[Any, ...] = ()


def plan_rows() -> list[PlannedRow]:
    """Return all rows, the most important first."""
    rows = plan_first_rows()
    for recipe in RECIPES:
        for precision, tokens in product(("bfloat16", "tf32", "float32"), TOKENS):
            name = f"{recipe}, {precision}, batches of {tokens}"
            row = PlannedRow("train", name, 4, "train", (recipe, precision, tokens))
            rows += [row] if row not in rows else []
        for tokens in (4000, 64000):
            name = f"{recipe}, untrained, batches of {tokens}"
            rows.append(PlannedRow("parse", name, 4, "parse_untrained", (recipe, tokens)))
    rows.append(PlannedRow("parse", "batches of 64000", 10, "parse", (64000,)))
    rows.append(PlannedRow("parse", "a process, including start-up", 40, "parse_as_a_process"))
    for recipe in ("bilstm", "finetune"):
        rows.append(PlannedRow("profile", f"training {recipe}", 10, "profile_training", (recipe,)))
    for name in ("SuPar trains", "SuPar parses", "depkit trains the same"):
        rows.append(PlannedRow("supar", name, 20, "supar", (name,)))
    for precision in ("float32", "bfloat16"):
        rows.append(
            PlannedRow("train", f"bilstm's LAS, {precision}", 40, "dev_score", (precision,))
        )
    # A graph cannot have the waits of transformers.
    for recipe, tokens in product(("bilstm", "selfatt"), TOKENS):
        name = f"{recipe}, CUDA graph, a batch of {tokens}"
        rows.append(PlannedRow("train", name, 6, "train_graphed", (recipe, tokens)))
    parts = [*(("encoder", tokens) for tokens in TOKENS), ("network", TOKENS[0])]
    for recipe, (part, tokens) in product(reversed(RECIPES), parts):
        name, seconds = f"{recipe}, compiled {part}, batches of {tokens}", 5
        seconds += 35 * (tokens == TOKENS[0])  # more for the first, which compiles
        rows.append(PlannedRow("train", name, seconds, "train_compiled", (recipe, part, tokens)))
    return rows


def plan_first_rows() -> list[PlannedRow]:
    """Return the rows of the first two minutes, which answer the questions that matter most.

    Does every family train and parse? How fast are training and parsing, in bfloat16 and in
    float32? How long does the GPU wait for the host?
    """
    rows = [PlannedRow("family", recipe, 5, "family", (recipe,)) for recipe in FAMILIES]
    for recipe, precision in product(("selfatt", "bilstm"), ("bfloat16", "float32")):
        name = f"{recipe}, {precision}, batches of {TOKENS[0]}"
        rows.append(PlannedRow("train", name, 4, "train", (recipe, precision, TOKENS[0])))
    rows.append(PlannedRow("profile", "training selfatt", 10, "profile_training", ("selfatt",)))
    rows.append(PlannedRow("profile", "parsing", 10, "profile_parsing"))
    for tokens in (4000, 16000):
        rows.append(PlannedRow("parse", f"batches of {tokens}", 10, "parse", (tokens,)))
    rows.append(PlannedRow("parse", "without the network", 8, "parse_without_network"))
    return rows


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench gpu", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add(
        "--treebank",
        metavar="FILE",
        type=Path,
        required=True,
        help="treebank to train on and to parse",
    )
    add("--dev", metavar="FILE", type=Path, required=True, help="treebank to score on")
    add("--model", default="en-ewt", help="model for parsing: name or directory")
    add("--transformer", metavar="DIR", default="", help="transformer for the recipe finetune")
    add("--supar", metavar="PYTHON", default="", help="Python with SuPar 1.1.4")
    add("--device", default="cuda", help="cuda, or cpu or pretend to try it")
    add("--minutes", type=float, default=9.0, help="total time; default: 9")
    add("--output", metavar="FILE", type=Path, default=Path("gpu.md"), help="a table in Markdown")
    add(
        "--set", metavar="RECIPE:KEY=VALUE", action="append", default=[], help="setting of a recipe"
    )
    add("--only", metavar="REGEX", default="", help="measure only rows whose group and name match")
    add("--first-row", type=int, help=argparse.SUPPRESS)  # index of the first row of this process
    add("--end", type=float, help=argparse.SUPPRESS)  # of the measurements, as time.monotonic()
    arguments = parser.parse_args(argv)
    for file in (arguments.treebank, arguments.dev):
        if not file.is_file():
            parser.error(f"{file} does not exist")
    return arguments


def main(argv: Sequence[str]) -> None:
    arguments = parse_arguments(argv)
    planned_rows = [
        row for row in plan_rows() if re.search(arguments.only, f"{row.group} {row.name}")
    ]
    if arguments.first_row is not None:
        with arguments.output.open("a", encoding="utf-8") as stream:
            for figures in measure(planned_rows[arguments.first_row :], arguments, arguments.end):
                stream.write(json.dumps(figures) + "\n")
                stream.flush()
        os._exit(RESTART_STATUS)  # without waiting for threads and compilers, which may hang
    # Exit normally if terminated, so that the other process is stopped as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end = time.monotonic() + 60 * arguments.minutes - FINAL_SECONDS
    report = Report(arguments.output, header(arguments))
    for row, figures in zip(
        planned_rows, measure_in_processes(planned_rows, argv, end), strict=True
    ):
        report.add(row, figures)
    report.finish()


def compute_share(planned_rows: Sequence[PlannedRow], end: float) -> float:
    """Return the seconds that the first of the remaining rows may take."""
    remaining = max(0.0, end - time.monotonic())
    return remaining * planned_rows[0].seconds / sum(row.seconds for row in planned_rows)


def measure(
    planned_rows: Sequence[PlannedRow], arguments: argparse.Namespace, end: float
) -> Iterator[Figures | None]:
    """Yield None when the data is prepared, then the figures of each row.

    Ends after an unexpected failure, which may have left this process in a bad state.
    """
    functions = import_module("tests.bench.gpu_rows")
    pretend_gpu = import_module("tests.pretend_gpu").pretend_gpu
    with pretend_gpu() if arguments.device == "pretend" else nullcontext():
        setup = functions.Setup(arguments)
        setup.prepare_data()
        yield None
        for index, row in enumerate(planned_rows):
            if (
                arguments.device == "pretend"  # its treebank is one batch
                and index
                and differ_only_in_batch_size(planned_rows[index - 1], row)
            ):
                yield {"note": "as the row before"}
                continue
            row_end = time.monotonic() + compute_share(planned_rows[index:], end)
            try:
                yield getattr(functions, row.function)(setup, *row.arguments, row_end)
            except BenchError as error:
                yield {"note": str(error)}
            except Exception as error:
                lines = filter(None, map(str.strip, str(error).splitlines()[:4]))
                yield {"note": f"{type(error).__name__}: {' '.join(lines)}"}
                return


def measure_in_processes(
    planned_rows: Sequence[PlannedRow], argv: Sequence[str], end: float
) -> Iterator[Figures]:
    """Measure rows in other processes, one after the other, and yield the figures of all rows.

    A process that fails or takes too long is replaced by a new one.
    """
    num_done = 0
    while num_done < len(planned_rows) and time.monotonic() < end:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            rows, log = Path(folder, "rows"), Path(folder, "log")
            rows.touch()
            command = [
                sys.executable,
                "-m",
                "tests.bench",
                "gpu",
                *argv,
                "--first-row",
                str(num_done),
            ]
            with log.open("wb") as stream:
                process = subprocess.Popen(
                    [*command, "--end", str(end), "--output", rows], stdout=stream, stderr=stream,
                    env=os.environ | with_path(ROOT) | {"TMPDIR": folder},
                    start_new_session=True,
                )  # fmt: skip
            num_lines, is_late, has_ended = 0, False, False
            limit = (time.monotonic() + end) / 2  # for preparing the data, which all rows need
            try:
                while num_done < len(planned_rows) and not is_late and not has_ended:
                    time.sleep(0.05)
                    is_late = time.monotonic() > limit
                    has_ended = process.poll() is not None
                    for line in rows.read_text("utf-8").split("\n")[num_lines:-1]:
                        figures = json.loads(line)
                        if figures is not None:
                            yield figures
                            num_done += 1
                        num_lines, is_late = num_lines + 1, False
                        row_share = (
                            compute_share(planned_rows[num_done:], end)
                            if num_done < len(planned_rows)
                            else 0.0
                        )
                        limit = min(end, time.monotonic() + EXTRA_SECONDS + 2 * row_share)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if num_done < len(planned_rows) and (is_late or process.returncode != RESTART_STATUS):
                lines = log.read_text("utf-8", "replace").strip().splitlines() or ["no output"]
                reason = "stopped, because it took too long" if num_lines else "not ready in time"
                yield {"note": reason if is_late else f"died: {lines[-1]}"}
                num_done += 1
                for previous, row in pairwise(planned_rows[num_done - 1 :]):
                    if not differ_only_in_batch_size(previous, row):
                        break
                    yield {"note": "as the row before"}
                    num_done += 1
    for _ in planned_rows[num_done:]:
        yield {"note": "there was no time left"}


def differ_only_in_batch_size(first: PlannedRow, second: PlannedRow) -> bool:
    """Return whether rows differ only in batch size, so that both fail for the same reason."""
    return first.function == second.function and first.arguments[:-1] == second.arguments[:-1] != ()


class Report:
    """A table in Markdown with texts below it; the file is written after every row."""

    def __init__(self, path: Path, header: str) -> None:
        self.path = path
        self.lines = [header, "", _line("group", "name", *COLUMNS, "note"), _line(*["---"] * 8)]
        self.texts: list[str] = []
        print("\n".join(self.lines), flush=True)

    def add(self, row: PlannedRow, figures: Figures) -> None:
        cells = (f"{figures[name]:,.5g}" if name in figures else "" for name in COLUMNS)
        note = figures.get("note", "").replace("|", "/")
        note = note if len(note) < 300 else f"{note[:140]} ... {note[-140:]}"
        self.lines.append(_line(row.group, row.name, *cells, note))
        print(self.lines[-1], flush=True)
        if "text" in figures:
            self.texts.append(f"\n{row.group}: {row.name}\n\n{figures['text']}")
        with atomic(self.path) as temporary:
            temporary.write_text("\n".join(self.lines + self.texts) + "\n", "utf-8")

    def finish(self) -> None:
        print("\n".join(self.texts))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def header(arguments: argparse.Namespace) -> str:
    """Describe the machine, the software, the time and the arguments, as far as they are known."""
    gpu = "name,compute_cap,memory.total,driver_version"
    commands = {
        "commit": ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        gpu: ["nvidia-smi", f"--query-gpu={gpu}", "--format=csv,noheader"],
    }
    facts = {"date": time.strftime("%Y-%m-%d %H:%M"), "CPUs": str(os.cpu_count())}
    with suppress(Exception):
        facts |= describe_machine()
    for name, command in commands.items():
        with suppress(OSError, subprocess.SubprocessError):
            result = subprocess.run(command, capture_output=True, text=True, timeout=20)
            facts[name] = result.stdout.strip()
    facts["arguments"] = " ".join(f"{key}={value}" for key, value in vars(arguments).items())
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)
