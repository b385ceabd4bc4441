"""Whole processes, from file to file: depkit parse and depkit train.

Every run is a new process. Files are in the page cache and numba's cache is built, because there is
a warm-up run. Start-up time is the time for one sentence.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from depkit.training.progress import LOG
from tests.bench.measure import Bench, Measure, Program, Row, Run, depkit_program, run_alternately


def parse(bench: Bench) -> Iterator[Row]:
    """depkit parse of raw text and of CoNLL-U, and its first sentence."""
    text = {"raw text": parse_programs(bench, bench.text, bench.sentence_text)}
    yield from compare_parsers(bench, "parse", text)
    trees = {"CoNLL-U": parse_programs(bench, bench.file, bench.sentence)}
    yield from compare_parsers(bench, "parse", trees)
    piped = depkit_program(bench, "parse", "--model", bench.model, source=bench.sentence_text)
    runs = [run._replace(seconds=run.first) for run in run_alternately(bench.runs, {"": piped})[""]]
    yield Row("parse", "until the first byte of the first sentence", runs)


Parsing = tuple[Program, Program]  # parse the whole file, and its first sentence


def parse_programs(bench: Bench, file: Path, sentence: Path, model: str = "") -> Parsing:
    """Return programs that run depkit parse on a file and on its first sentence."""
    model = model or bench.model
    output = bench.folder / "depkit.conllu"
    whole, one = (
        depkit_program(bench, "parse", path, "--model", model, "-o", output)
        for path in (file, sentence)
    )
    return whole, one


def compare_parsers(bench: Bench, entry: str, parsers: Mapping[str, Parsing]) -> Iterator[Row]:
    """Yield two rows for each parser, with and without start-up. The first parser is the base."""
    measures: dict[str, Measure] = {}
    for name, (whole, one) in parsers.items():
        measures |= {name: whole, f"{name}, one sentence": one}
    runs = run_alternately(bench.runs, measures)
    first = next(iter(parsers))
    net = {name: subtract_start_up(runs[name], runs[f"{name}, one sentence"]) for name in parsers}
    for name in parsers:
        start = median(run.seconds for run in runs[f"{name}, one sentence"])
        base: dict[str, Any] = {}
        if name != first:
            base = {"base": first, "base_runs": runs[first]}
        note = f"start-up {start:.2f} s"
        yield Row(entry, name, runs[name], bench.words, note=note, **base)
        if base:
            base = {"base": f"{first}, without start-up", "base_runs": net[first]}
        if net[name] and (net[first] or not base):
            yield Row(entry, f"{name}, without start-up", net[name], bench.words, **base)


def subtract_start_up(whole: Sequence[Run], one: Sequence[Run]) -> list[Run]:
    """Subtract the median start-up from runs; return [] if a run was shorter than the start-up."""
    seconds = median(run.seconds for run in one)
    processor = median(run.processor for run in one)
    if min(run.seconds for run in whole) <= seconds:
        return []
    return [
        run._replace(seconds=run.seconds - seconds, processor=max(0.0, run.processor - processor))
        for run in whole
    ]


def train(bench: Bench) -> Iterator[Row]:
    """depkit train, for an epoch of the file; --set changes the parser."""
    runs = run_alternately(bench.runs, {"depkit": train_measure(bench)})["depkit"]
    yield Row(
        "train", "an epoch", use_reported_seconds(runs), bench.words, note=" ".join(bench.settings)
    )
    yield Row("train", "with start-up and dev", runs, bench.words)


def train_measure(bench: Bench, *settings: str) -> Measure:
    """Return a measure that trains depkit on the file for an epoch, in a temporary directory."""
    options = [part for setting in (*settings, *bench.settings) for part in ("--set", setting)]

    def run() -> Run:
        with TemporaryDirectory(dir=bench.folder) as folder:
            model = Path(folder) / "model"
            result = depkit_program(
                bench, "train", bench.file, "--dev", bench.few, "-o", model, "--epochs", "1",
                "--set", "tokenizer.enabled=false", *options,
            )()  # fmt: skip
            epoch = json.loads((model / LOG).read_text("utf-8").splitlines()[-1])
        return result._replace(reported_seconds=bench.words / epoch["words_per_second"])

    return run


def use_reported_seconds(runs: Sequence[Run]) -> list[Run]:
    """Return runs with the seconds that the program reported, and without processor time."""
    return [run._replace(seconds=run.reported_seconds, processor=0.0) for run in runs]
