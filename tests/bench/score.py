"""How fast files are scored: python -m tests.bench.score [GOLD PRED]

Whole processes, start-up included, the median of five, in turn with the official UD evaluation
(udtools) in the same run, so that the ratio holds on a busy machine too. Without files: EWT train
against itself, and five copies of it, a million words.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EWT = Path(__file__).parents[3] / "shared/data/ud-english-ewt/en_ewt-ud-train.conllu"
DEPKIT = "from depkit.cli.main import main; main()"
UDTOOLS = (
    "import sys; from udtools.udeval import load_conllu_file, evaluate\n"
    "evaluate(*map(load_conllu_file, sys.argv[1:]))"
)


def seconds(code: str, *arguments: str) -> float:
    """How long a new Python takes over some code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


def bench(gold: str, pred: str) -> None:
    """Print the seconds of each command and its ratio to the official script's."""
    commands = {
        "udtools": (UDTOOLS,),
        "depkit eval": (DEPKIT, "eval"),
        "depkit eval --align": (DEPKIT, "eval", "--align"),
        "depkit analyze": (DEPKIT, "analyze", "--by", "distance"),
    }
    runs: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(5):
        for name, (code, *arguments) in commands.items():
            runs[name].append(seconds(code, *arguments, gold, pred))
    official = statistics.median(runs["udtools"])
    for name, found in runs.items():
        median = statistics.median(found)
        print(f"{name:20} {median:6.2f} s, {official / median:5.1f} times as fast")


def million(path: Path) -> None:
    """Print the seconds and the peak memory for five copies of a file."""
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) / "copies.conllu"
        copies.write_bytes(path.read_bytes() * 5)
        for option in ((), ("--align",)):
            took = seconds(DEPKIT, "eval", *option, str(copies), str(copies))
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
            name = " ".join(("depkit eval", *option))
            print(f"a million words, {name:20} {took:5.2f} s, {peak:.2f} GB")


if __name__ == "__main__":
    if not sys.argv[1:]:
        million(EWT)  # first, for the peak is that of all processes so far
    gold, pred = sys.argv[1:] or (str(EWT), str(EWT))
    bench(gold, pred)
