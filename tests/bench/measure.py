"""What is measured and how: runs taken in turn, and the rows that they make."""

import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from depkit.corpus.sentence import Sentence

ROOT = Path(__file__).parents[2]
LAUNCH = Path(__file__).with_name("launch.py")


class BenchError(ValueError):
    """What cannot be measured, and what to do about it."""


class Peer(NamedTuple):
    """The Python that has another parser, and the model that this reads; "" where not given."""

    python: str = ""
    model: str = ""


NOBODY = Peer()


@dataclass(frozen=True, eq=False)
class Bench:
    """What all entries are given.

    file: a treebank, its sentences, and its words, of which all rates are; text, sentence,
    sentence_text: its raw text, its first sentence as CoNLL-U and as text; few: its first
    sentences, to be dev; folder: to write into.
    runs: how often everything is measured; limit: seconds that a process may take, 0 for any;
    settings: `--set` of depkit train.
    """

    file: Path
    sentences: Sequence[Sentence]
    words: int
    text: Path
    sentence: Path
    sentence_text: Path
    few: Path
    folder: Path
    model: str = "en-ewt"
    device: str = "cpu"
    threads: int = 2
    runs: int = 5
    limit: float = 0.0
    settings: Sequence[str] = ()
    same_model: str = ""
    supar: Peer = NOBODY
    spacy: Peer = NOBODY
    udpipe: Peer = NOBODY


class Run(NamedTuple):
    """One run: seconds by the clock, seconds of processors, the peak memory in bytes, if known.

    first: seconds till a process's first byte of output, if there was one; output: what it
    printed; inside: the seconds that it says its work took, if it does.
    """

    seconds: float
    processor: float = 0.0
    peak: int = 0
    first: float = 0.0
    output: str = ""
    inside: float = 0.0


@dataclass(frozen=True)
class Row:
    """A row of the table. flops, moved (bytes): of a run; limit: runs of a matrix product, taken
    in turn with the row's own, and how many flops they have; base: what the row is compared to,
    and the runs of that, likewise taken in turn; step: whether parsing raw text passes here."""

    entry: str
    name: str
    runs: Sequence[Run]
    words: int = 0
    flops: float = 0.0
    moved: float = 0.0
    limit: Sequence[Run] = ()
    limit_flops: float = 0.0
    base: str = ""
    base_runs: Sequence[Run] = ()
    note: str = ""
    step: bool = False

    def figures(self) -> dict[str, Any]:
        """What the runs say, those figures that there are; medians, but of memory the most.

        roofline: the share of the machine's matrix rate; times: how many times as long as the
        base it takes, with the least and the most of all pairs of runs.
        """
        seconds = median(run.seconds for run in self.runs)
        processor = median(run.processor for run in self.runs)
        found: dict[str, Any] = {"seconds": seconds}
        if self.words:
            found["words_per_second"] = self.words / seconds
        if self.words and processor:
            found["processor_us_per_word"] = 1e6 * processor / self.words
        if self.flops:
            found["gflops_per_second"] = self.flops / seconds / 1e9
        if self.flops and self.words:
            found["megaflops_per_word"] = self.flops / self.words / 1e6
        if self.moved:
            found["gigabytes_per_second"] = self.moved / seconds / 1e9
        if self.limit:
            rates = (self.limit_flops / run.seconds for run in self.limit)
            pairs = zip(self.runs, rates, strict=True)
            found["roofline"] = median(self.flops / run.seconds / rate for run, rate in pairs)
        if peaks := [run.peak for run in self.runs if run.peak]:
            found["peak_megabytes"] = max(peaks) / 1e6
        if self.base_runs:
            ratios = [
                run.seconds / base.seconds
                for run, base in zip(self.runs, self.base_runs, strict=True)
            ]
            found["times"] = [median(ratios), min(ratios), max(ratios)]
        return found


Measure = Callable[[], Run]


def timed(action: Callable[[], object], device: str = "cpu") -> Measure:
    """An action in this process as something to be measured; a GPU is waited for."""

    def wait() -> None:
        if device.startswith("cuda"):
            import torch

            torch.cuda.synchronize(device)

    def measure() -> Run:
        wait()
        began, used = time.perf_counter(), time.process_time()
        action()
        wait()
        return Run(time.perf_counter() - began, time.process_time() - used)

    return measure


def in_turn(runs: int, measures: Mapping[str, Measure]) -> dict[str, list[Run]]:
    """The runs of each measure: a warm-up of each, then A B A B, so that what else goes on in the
    machine falls on all alike."""
    for measure in measures.values():
        measure()
    gc.collect()
    gc.freeze()  # what the benchmark itself holds is not the collector's work
    found: dict[str, list[Run]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            found[name].append(measure())
    gc.unfreeze()
    return found


@dataclass(frozen=True)
class Program:
    """A program of its own process. source: read as its standard input; threads: of the libraries
    that ask the environment; limit: seconds after which it is stopped, 0 for none."""

    command: Sequence[str | Path]
    source: Path | None = None
    threads: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    limit: float = 0.0

    def __call__(self) -> Run:
        """Start it and wait for its end. Raises BenchError with the last line that it said."""
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = os.environ | dict(zip(names, repeat(str(self.threads)))) | self.environment
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs have bytecode
        launched = subprocess.run(
            [sys.executable, "-I", "-S", LAUNCH, str(self.limit), self.source or os.devnull,
             *self.command],
            env=environment, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        if launched.returncode:
            said = launched.stderr.strip().splitlines() or ["nothing on stderr"]
            shown = " ".join(map(str, self.command))
            raise BenchError(f"{shown}: exit {launched.returncode}: {said[-1]}")
        return Run(**json.loads(launched.stdout))


def with_path(folder: Path) -> dict[str, str]:
    """Environment in which Python finds a folder's modules before those that it finds anyway."""
    found = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{found}" if found else str(folder)}


def depkit(bench: Bench, *arguments: str | Path, source: Path | None = None) -> Program:
    """This checkout's depkit, with the benchmark's threads and device."""
    command = [
        sys.executable, "-m", "depkit", *arguments, "--quiet",
        "--threads", str(bench.threads), "--device", bench.device,
    ]  # fmt: skip
    return Program(command, source, bench.threads, with_path(ROOT), bench.limit)


def script(bench: Bench, peer: Peer, name: str, *arguments: str | Path | int) -> Program:
    """A script of peers/, run by the peer's Python; depkit is not to be found there."""
    path = Path(__file__).parent / "peers" / name
    command: list[str | Path] = [peer.python, path, *map(str, arguments)]
    return Program(command, None, bench.threads, {"PYTHONPATH": ""}, bench.limit)


def machine() -> dict[str, str]:
    """Where the figures come from."""
    import torch

    import depkit

    return {
        "processor": processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "CUDA": str(torch.version.cuda or ""),
        "depkit": depkit.__version__,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()
