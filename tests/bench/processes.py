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
    """Measure depkit parse on raw text and on CoNLL-U, and the time to its first output."""
    text = {"raw text": parse_programs(bench, bench.text, bench.sentence_text)}
    yield from compare_parsers(bench, "parse", text)
    trees = {"CoNLL-U": parse_programs(bench, bench.file, bench.sentence)}
    yield from compare_parsers(bench, "parse", trees)
    piped = depkit_program(bench, "parse", "--model", bench.model, source=bench.sentence_text)
    runs = [run._replace(seconds=run.first) for run in run_alternately(bench.runs, {"": piped})[""]]
    yield Row("parse", "until the first byte of the first sentence", runs)


ParsePrograms = tuple[Program, Program]  # they parse the whole file, and its first sentence


def parse_programs(bench: Bench, file: Path, sentence: Path, model: str = "") -> ParsePrograms:
    """Return programs that run depkit parse on a file and on its first sentence."""
    model = model or bench.model
    output = bench.folder / "depkit.conllu"
    whole_file, first_sentence = (
        depkit_program(bench, "parse", path, "--model", model, "-o", output)
        for path in (file, sentence)
    )
    return whole_file, first_sentence


def compare_parsers(
    bench: Bench, entry: str, parsers: Mapping[str, ParsePrograms]
) -> Iterator[Row]:
    """Yield two rows for each parser, with and without start-up.

    The rows of the first parser are the baseline of the other rows.
    """
    measures: dict[str, Measure] = {}
    for name, (whole_file, first_sentence) in parsers.items():
        measures |= {name: whole_file, f"{name}, one sentence": first_sentence}
    runs = run_alternately(bench.runs, measures)
    first = next(iter(parsers))
    runs_without_start_up = {
        name: subtract_start_up(runs[name], runs[f"{name}, one sentence"]) for name in parsers
    }
    for name in parsers:
        start = median(run.seconds for run in runs[f"{name}, one sentence"])
        base: dict[str, Any] = {}
        if name != first:
            base = {"base": first, "base_runs": runs[first]}
        note = f"start-up {start:.2f} s"
        yield Row(entry, name, runs[name], bench.words, note=note, **base)
        if base:
            base = {"base": f"{first}, without start-up", "base_runs": runs_without_start_up[first]}
        if runs_without_start_up[name] and (runs_without_start_up[first] or not base):
            yield Row(
                entry, f"{name}, without start-up", runs_without_start_up[name], bench.words, **base
            )


def subtract_start_up(whole_file: Sequence[Run], first_sentence: Sequence[Run]) -> list[Run]:
    """Subtract the median start-up from runs on the whole file.

    Start-up is the time of runs on the first sentence. Returns [] if a run was shorter than that.
    """
    seconds = median(run.seconds for run in first_sentence)
    processor = median(run.processor for run in first_sentence)
    if min(run.seconds for run in whole_file) <= seconds:
        return []
    return [
        run._replace(seconds=run.seconds - seconds, processor=max(0.0, run.processor - processor))
        for run in whole_file
    ]


def train(bench: Bench) -> Iterator[Row]:
    """Measure depkit train for one epoch on the file; --set changes the parser."""
    runs = run_alternately(bench.runs, {"depkit": train_measure(bench)})["depkit"]
    yield Row(
        "train", "an epoch", use_reported_seconds(runs), bench.words, note=" ".join(bench.settings)
    )
    yield Row("train", "with start-up and dev", runs, bench.words)


def train_measure(bench: Bench, *settings: str, recipe: str = "selfatt") -> Measure:
    """Return a measure that trains a parser on the file for one epoch, in a temporary directory."""
    options = [part for setting in (*settings, *bench.settings) for part in ("--set", setting)]

    def run() -> Run:
        with TemporaryDirectory(dir=bench.folder) as folder:
            model = Path(folder) / "model"
            result = depkit_program(
                bench, "train", bench.file, "--dev", bench.dev_file, "-o", model, "--epochs", "1",
                "--recipe", recipe, "--set", "tokenizer.enabled=false", *options,
            )()  # fmt: skip
            epoch = json.loads((model / LOG).read_text("utf-8").splitlines()[-1])
        return result._replace(reported_seconds=bench.words / epoch["words_per_second"])

    return run


def use_reported_seconds(runs: Sequence[Run]) -> list[Run]:
    """Return runs with the seconds that the program reported, and without processor time."""
    return [run._replace(seconds=run.reported_seconds, processor=0.0) for run in runs]
