"""Scoring of files by whole processes, compared with the official UD evaluation (udtools)."""

import sys
from collections.abc import Iterator

from tests.bench.measure import ROOT, Bench, Program, Row, run_alternately, with_path

MILLION = 1_000_000  # words
UDTOOLS = (
    "import sys; from udtools.udeval import load_conllu_file, evaluate\n"
    "evaluate(*map(load_conllu_file, sys.argv[1:]))"
)


def evaluating(bench: Bench) -> Iterator[Row]:
    """depkit eval, depkit analyze and udtools score the file against itself; a million words."""
    copies = bench.folder / "copies.conllu"
    times = -(-MILLION // bench.words)
    copies.write_bytes(bench.file.read_bytes() * times)
    commands = {
        "udtools": ("-c", UDTOOLS),
        "eval": ("-m", "depkit", "eval"),
        "eval --align": ("-m", "depkit", "eval", "--align"),
        "analyze": ("-m", "depkit", "analyze", "--by", "distance"),
    }
    environment = with_path(ROOT)

    def programs(names: list[str], file: object) -> dict[str, Program]:
        return {
            name: Program([sys.executable, *commands[name], str(file), str(file)], None,
                          bench.threads, environment)
            for name in names
        }  # fmt: skip

    results = run_alternately(bench.runs, programs(list(commands), bench.file))
    for name, runs in results.items():
        base = {} if name == "udtools" else {"base": "udtools", "base_runs": results["udtools"]}
        yield Row("evaluating", name, runs, bench.words, **base)
    for name, runs in run_alternately(
        bench.runs, programs(["eval", "eval --align"], copies)
    ).items():
        yield Row("evaluating", f"{name}, {times} copies", runs, times * bench.words)
