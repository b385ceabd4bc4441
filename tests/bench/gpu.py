r"""All that is to be known of a GPU, in one command and a given time.

python -m tests.bench gpu --treebank TRAIN --dev DEV [--transformer DIRECTORY] [--minutes 9]

On a machine that is lent for minutes: take along the checkout, both treebanks (.conllu.gz will do),
a transformer's directory (all-MiniLM-L6-v2, say) and, for `depkit parse` as a process, typer with
what it needs, on PYTHONPATH; all in 64 MiB. Run there, with what you took along,

    python -m tests.bench gpu --treebank train.conllu.gz --dev dev.conllu.gz \
        --transformer minilm --minutes 9 --output "$OUT/gpu.md"

and copy gpu.md back. It is written anew after every row, so whoever stops the command has all rows
until then. Rows are measured in a process of its own, which is stopped when one takes too long and
started anew after every failure; why there is no figure stands in the row. Here, on a CPU,
everything but what needs CUDA can be tried on a few sentences with --device cpu --minutes 1.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from depkit.corpus.files import atomic
from tests.bench.measure import ROOT, BenchError, machine, with_path

STOPPING = 3.0  # seconds, at the end
PATIENCE = 15.0  # beyond twice a row's share; stopping it costs as much
GOING_ON = 75  # exit status of a process that is to be followed by another
RECIPES = ("bilstm", "selfatt", "finetune")
TOKENS = (5000, 1000, 20000)
COLUMNS = ("words/s", "sentences/s", "peak MB", "GPU idle", "LAS")

Found = dict[str, Any]  # figures by COLUMNS, a note; a text below the table


class Measure(NamedTuple):
    """A row: a function of gpu_rows.py and its arguments; seconds: that it should have."""

    group: str
    what: str
    seconds: float
    function: str
    arguments: tuple[Any, ...] = ()


def all_measures() -> list[Measure]:
    """All rows, the most important first."""
    rows = []
    for recipe in RECIPES:
        seconds = 12  # for its network is made, too
        for precision, tokens in product(("bfloat16", "tf32", "float32"), TOKENS):
            what = f"{recipe}, {precision}, batches of {tokens}"
            rows.append(Measure("train", what, seconds, "train", (recipe, precision, tokens)))
            seconds = 4
        for tokens in (4000, 64000):
            what = f"{recipe}, untrained, batches of {tokens}"
            rows.append(Measure("parse", what, 4, "parse_untrained", (recipe, tokens)))
    for tokens in (4000, 16000, 64000):
        rows.append(Measure("parse", f"batches of {tokens}", 10, "parse", (tokens,)))
    rows.append(Measure("parse", "without the network", 8, "parse_without_network"))
    rows.append(Measure("parse", "a process, start-up and all", 40, "parse_as_a_process"))
    for recipe in RECIPES:
        rows.append(Measure("profile", f"training {recipe}", 10, "profile_training", (recipe,)))
    rows.append(Measure("profile", "parsing", 10, "profile_parsing"))
    for what in ("SuPar trains", "SuPar parses", "depkit trains the same"):
        rows.append(Measure("supar", what, 20, "supar", (what,)))
    for precision in ("float32", "bfloat16"):
        rows.append(Measure("train", f"bilstm's LAS, {precision}", 40, "dev_score", (precision,)))
    for recipe, tokens in product(RECIPES, TOKENS):
        what = f"{recipe}, CUDA graph, a batch of {tokens}"
        rows.append(Measure("train", what, 6, "train_graphed", (recipe, tokens)))
    parts = [*(("encoder", tokens) for tokens in TOKENS), ("network", TOKENS[0])]
    for recipe, (part, tokens) in product(reversed(RECIPES), parts):
        what, seconds = f"{recipe}, compiled {part}, batches of {tokens}", 5
        seconds += 35 * (tokens == TOKENS[0])  # it is compiled then
        rows.append(Measure("train", what, seconds, "train_compiled", (recipe, part, tokens)))
    return rows


def arguments_of(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench gpu", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--treebank", metavar="FILE", type=Path, required=True, help="to train on and to parse")
    add("--dev", metavar="FILE", type=Path, required=True, help="to be scored on")
    add("--model", default="en-ewt", help="what parses: a name or a directory")
    add("--transformer", metavar="DIR", default="", help="what the recipe finetune tunes")
    add("--supar", metavar="PYTHON", default="", help="the Python that has SuPar 1.1.4")
    add("--device", default="cuda", help="cuda, or cpu to try the command")
    add("--minutes", type=float, default=9.0, help="for everything, 9 if not given")
    add("--output", metavar="FILE", type=Path, default=Path("gpu.md"), help="a table in Markdown")
    add("--set", metavar="RECIPE:KEY=VALUE", action="append", default=[], help="of a recipe")
    add("--only", metavar="TEXT", default="", help="the rows that have this in group or name")
    add("--number", type=int, help=argparse.SUPPRESS)  # of the row that this process begins with
    add("--end", type=float, help=argparse.SUPPRESS)  # of all, in the time of time.monotonic
    arguments = parser.parse_args(given)
    for file in (arguments.treebank, arguments.dev):
        if not file.is_file():
            parser.error(f"{file} is not there")
    return arguments


def main(given: Sequence[str]) -> None:
    arguments = arguments_of(given)
    measures = [row for row in all_measures() if arguments.only in f"{row.group} {row.what}"]
    if arguments.number is not None:
        with arguments.output.open("a", encoding="utf-8") as stream:
            for found in measure(measures[arguments.number :], arguments, arguments.end):
                stream.write(json.dumps(found) + "\n")
                stream.flush()
        os._exit(GOING_ON)  # without the end of threads and compilers, which may hang
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the process is stopped, too
    end = time.monotonic() + 60 * arguments.minutes - STOPPING
    report = Report(arguments.output, header(arguments))
    for row, found in zip(measures, measure_apart(measures, given, end), strict=True):
        report.add(row, found)
    report.finish()


def share(measures: Sequence[Measure], end: float) -> float:
    """The seconds that the first of the rest has."""
    left = max(0.0, end - time.monotonic())
    return left * measures[0].seconds / sum(row.seconds for row in measures)


def measure(
    measures: Sequence[Measure], arguments: argparse.Namespace, end: float
) -> Iterator[Found | None]:
    """None as soon as all is ready, then the rows up to a failure that may have harmed this
    process."""
    functions = import_module("tests.bench.gpu_rows")
    given = functions.Given(arguments)
    given.make_ready()
    yield None
    for number, row in enumerate(measures):
        own_end = time.monotonic() + share(measures[number:], end)
        try:
            yield getattr(functions, row.function)(given, *row.arguments, own_end)
        except BenchError as error:
            yield {"note": str(error)}
        except Exception as error:
            lines = filter(None, map(str.strip, str(error).splitlines()[:4]))
            yield {"note": f"{type(error).__name__}: {' '.join(lines)}"}
            return


def measure_apart(measures: Sequence[Measure], given: Sequence[str], end: float) -> Iterator[Found]:
    """All rows, by other processes, one after the other; whatever happens there, each in time."""
    done = 0
    while done < len(measures) and time.monotonic() < end:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            rows, log = Path(folder, "rows"), Path(folder, "log")
            rows.touch()
            command = [sys.executable, "-m", "tests.bench", "gpu", *given, "--number", str(done)]
            with log.open("wb") as said:
                process = subprocess.Popen(
                    [*command, "--end", str(end), "--output", rows], stdout=said, stderr=said,
                    env=os.environ | with_path(ROOT) | {"TMPDIR": folder},
                    start_new_session=True,
                )  # fmt: skip
            seen, late, over = 0, False, False
            limit = (time.monotonic() + end) / 2  # to make ready, which nobody can do without
            try:
                while done < len(measures) and not late and not over:
                    time.sleep(0.05)
                    late = time.monotonic() > limit
                    over = process.poll() is not None
                    for line in rows.read_text("utf-8").split("\n")[seen:-1]:
                        found = json.loads(line)
                        if found is not None:
                            yield found
                            done += 1
                        seen, late = seen + 1, False
                        own = share(measures[done:], end) if done < len(measures) else 0.0
                        limit = min(end, time.monotonic() + PATIENCE + 2 * own)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if done < len(measures) and (late or process.returncode != GOING_ON):
                lines = log.read_text("utf-8", "replace").strip().splitlines() or ["nothing said"]
                why = "stopped, for it took too long" if seen else "not ready in time"
                yield {"note": why if late else f"died: {lines[-1]}"}
                done += 1
                while done < len(measures) and alike(*measures[done - 1 : done + 1]):
                    yield {"note": "as before"}
                    done += 1
    for _ in measures[done:]:
        yield {"note": "no time was left"}


def alike(one: Measure, other: Measure) -> bool:
    """Whether they differ in the batches' size alone, so that what stopped one stops the other."""
    return one.function == other.function and one.arguments[:-1] == other.arguments[:-1] != ()


class Report:
    """A table in Markdown with texts below it, written anew with every row."""

    def __init__(self, path: Path, header: str) -> None:
        self.path = path
        self.lines = [header, "", _line("group", "what", *COLUMNS, "note"), _line(*["---"] * 8)]
        self.texts: list[str] = []
        print("\n".join(self.lines), flush=True)

    def add(self, row: Measure, found: Found) -> None:
        figures = (f"{found[name]:,.5g}" if name in found else "" for name in COLUMNS)
        note = found.get("note", "").replace("|", "/")
        note = note if len(note) < 300 else f"{note[:140]} ... {note[-140:]}"
        self.lines.append(_line(row.group, row.what, *figures, note))
        print(self.lines[-1], flush=True)
        if "text" in found:
            self.texts.append(f"\n{row.group}: {row.what}\n\n{found['text']}")
        with atomic(self.path) as beside:
            beside.write_text("\n".join(self.lines + self.texts) + "\n", "utf-8")

    def finish(self) -> None:
        print("\n".join(self.texts))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def header(arguments: argparse.Namespace) -> str:
    """What is measured, where and when, as far as it can be found out."""
    gpu = "name,compute_cap,memory.total,driver_version"
    commands = {
        "commit": ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        gpu: ["nvidia-smi", f"--query-gpu={gpu}", "--format=csv,noheader"],
    }
    found = {"date": time.strftime("%Y-%m-%d %H:%M"), "CPUs": str(os.cpu_count())}
    with suppress(Exception):
        found |= machine()
    for name, command in commands.items():
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=20)
            found[name] = done.stdout.strip()
    found["arguments"] = " ".join(f"{key}={value}" for key, value in vars(arguments).items())
    return "\n".join(f"- {name}: {value}" for name, value in found.items() if value)
