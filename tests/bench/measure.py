"""Measurements: runs, alternating between what is compared, and the rows of the table."""

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
EWT = ROOT.parent / "shared" / "data" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"
LAUNCH = Path(__file__).with_name("launch.py")


class BenchError(ValueError):
    """Something cannot be measured; the message says what to do."""


class Peer(NamedTuple):
    """Another parser: the Python that has it installed, and its model; "" if not given."""

    python: str = ""
    model: str = ""


NO_PEER = Peer()


@dataclass(frozen=True, eq=False)
class Bench:
    """The data and options of all entries."""

    file: Path  # the treebank
    sentences: Sequence[Sentence]
    words: int  # of the treebank; all rates are words of the treebank per second
    text: Path  # raw text of the treebank
    sentence: Path  # first sentence, as CoNLL-U
    sentence_text: Path  # first sentence, as text
    dev_file: Path  # first sentences of the treebank, used as dev treebank
    folder: Path  # for output
    model: str = "en-ewt"
    device: str = "cpu"
    threads: int = 2
    runs: int = 5  # of every measurement
    limit: float = 0.0  # seconds for each process, 0 for no limit
    settings: Sequence[str] = ()  # --set of depkit train
    same_model: str = ""  # see --same-model
    supar: Peer = NO_PEER
    spacy: Peer = NO_PEER
    udpipe: Peer = NO_PEER


class Run(NamedTuple):
    """The costs of one run; 0 if unknown."""

    seconds: float  # wall-clock time
    processor: float = 0.0  # seconds of processor time
    peak: int = 0  # peak memory in bytes
    first: float = 0.0  # seconds until a process's first byte of output
    output: str = ""  # of a process
    reported_seconds: float = 0.0  # of the work, as the process reports them


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    entry: str
    name: str
    runs: Sequence[Run]
    words: int = 0
    flops: float = 0.0  # of a run
    moved: float = 0.0  # bytes of a run
    limit: Sequence[Run] = ()  # runs of a matrix product, alternating with the row's runs
    limit_flops: float = 0.0  # of the matrix product
    base: str = ""  # name of what the row is compared to
    base_runs: Sequence[Run] = ()  # of the base, alternating with the row's runs
    note: str = ""
    step: bool = False  # whether this is a step of parsing raw text

    def figures(self) -> dict[str, Any]:
        """Return the known figures: medians of the runs, and the maximum of the peak memory.

        `roofline` is the share of the machine's rate of matrix products. `times` are ratios of
        the row's time to the base's: median, minimum and maximum over pairs of runs.
        """
        seconds = median(run.seconds for run in self.runs)
        processor = median(run.processor for run in self.runs)
        figures: dict[str, Any] = {"seconds": seconds}
        if self.words:
            figures["words_per_second"] = self.words / seconds
        if self.words and processor:
            figures["processor_us_per_word"] = 1e6 * processor / self.words
        if self.flops:
            figures["gflops_per_second"] = self.flops / seconds / 1e9
        if self.flops and self.words:
            figures["megaflops_per_word"] = self.flops / self.words / 1e6
        if self.moved:
            figures["gigabytes_per_second"] = self.moved / seconds / 1e9
        if self.limit:
            rates = (self.limit_flops / run.seconds for run in self.limit)
            pairs = zip(self.runs, rates, strict=True)
            figures["roofline"] = median(self.flops / run.seconds / rate for run, rate in pairs)
        if peaks := [run.peak for run in self.runs if run.peak]:
            figures["peak_megabytes"] = max(peaks) / 1e6
        if self.base_runs:
            ratios = [
                run.seconds / base.seconds
                for run, base in zip(self.runs, self.base_runs, strict=True)
            ]
            figures["times"] = [median(ratios), min(ratios), max(ratios)]
        return figures


Measure = Callable[[], Run]


def timed(action: Callable[[], object], device: str = "cpu") -> Measure:
    """Return a measure of an action in this process, which waits for the GPU if there is one."""

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


def run_alternately(runs: int, measures: Mapping[str, Measure]) -> dict[str, list[Run]]:
    """Return the runs of each measure.

    After a warm-up, the measures alternate (A B A B ...), so that other load on the machine affects
    all of them equally.
    """
    for measure in measures.values():
        measure()
    gc.collect()
    gc.freeze()  # exclude the benchmark's own objects from garbage collection
    results: dict[str, list[Run]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            results[name].append(measure())
    gc.unfreeze()
    return results


@dataclass(frozen=True)
class Program:
    """A command that is run in a separate process."""

    command: Sequence[str | Path]
    source: Path | None = None  # standard input
    threads: int = 1  # for libraries that read environment variables
    environment: dict[str, str] = field(default_factory=dict)
    limit: float = 0.0  # seconds after which it is stopped, 0 for no limit

    def __call__(self) -> Run:
        """Run the command. Raises BenchError with its last line on stderr if it fails."""
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = os.environ | dict(zip(names, repeat(str(self.threads)))) | self.environment
        # Let Python write bytecode, as for installed programs.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        launched = subprocess.run(
            [sys.executable, "-I", "-S", LAUNCH, str(self.limit), self.source or os.devnull,
             *self.command],
            env=environment, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        if launched.returncode:
            lines = launched.stderr.strip().splitlines() or ["nothing on stderr"]
            command = " ".join(map(str, self.command))
            raise BenchError(f"{command}: exit {launched.returncode}: {lines[-1]}")
        return Run(**json.loads(launched.stdout))


def with_path(folder: Path) -> dict[str, str]:
    """Return environment variables that put a folder first on Python's module path."""
    path = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{path}" if path else str(folder)}


def depkit_program(bench: Bench, *arguments: str | Path, source: Path | None = None) -> Program:
    """Return a program that runs this checkout's depkit with the benchmark's threads and device."""
    command = [
        sys.executable, "-m", "depkit", *arguments, "--quiet",
        "--threads", str(bench.threads), "--device", bench.device,
    ]  # fmt: skip
    return Program(command, source, bench.threads, with_path(ROOT), bench.limit)


def peer_program(bench: Bench, peer: Peer, name: str, *arguments: str | Path | int) -> Program:
    """Return a program that runs a script of peers/ with the peer's Python, without depkit."""
    path = Path(__file__).parent / "peers" / name
    command: list[str | Path] = [peer.python, path, *map(str, arguments)]
    return Program(command, None, bench.threads, {"PYTHONPATH": ""}, bench.limit)


def describe_machine() -> dict[str, str]:
    """Describe the machine and the software."""
    import torch

    import depkit

    return {
        "processor": processor_name(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "CUDA": str(torch.version.cuda or ""),
        "depkit": depkit.__version__,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }


def processor_name() -> str:
    """Return the processor's name, if the system provides it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()
