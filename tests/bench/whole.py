"""Whole processes, file to file: depkit parse and depkit train.

Cold: a new process each time, but files in the page cache and numba's cache built, as the run
before the first that counts sees to. Start-up is what one sentence takes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from depkit.training.progress import LOG
from tests.bench.measure import Bench, Measure, Program, Row, Run, depkit, in_turn


def parse(bench: Bench) -> Iterator[Row]:
    """depkit parse of raw text and of CoNLL-U, and its first sentence."""
    text = {"raw text": parsing(bench, bench.text, bench.sentence_text)}
    yield from contest(bench, "parse", text)
    trees = {"CoNLL-U": parsing(bench, bench.file, bench.sentence)}
    yield from contest(bench, "parse", trees)
    piped = depkit(bench, "parse", "--model", bench.model, source=bench.sentence_text)
    runs = [run._replace(seconds=run.first) for run in in_turn(bench.runs, {"": piped})[""]]
    yield Row("parse", "till the first byte of the first sentence", runs)


Parsing = tuple[Program, Program]  # of the whole file, and of its first sentence


def parsing(bench: Bench, file: Path, sentence: Path, model: str = "") -> Parsing:
    """depkit parse of a file and of its first sentence."""
    model = model or bench.model
    output = bench.folder / "depkit.conllu"
    whole, one = (
        depkit(bench, "parse", path, "--model", model, "-o", output) for path in (file, sentence)
    )
    return whole, one


def contest(bench: Bench, entry: str, parsers: Mapping[str, Parsing]) -> Iterator[Row]:
    """Parsers in turn; two rows for each: whole, and start-up apart. The first is the base."""
    measures: dict[str, Measure] = {}
    for name, (whole, one) in parsers.items():
        measures |= {name: whole, f"{name}, one sentence": one}
    found = in_turn(bench.runs, measures)
    first = next(iter(parsers))
    apart = {name: less(found[name], found[f"{name}, one sentence"]) for name in parsers}
    for name in parsers:
        start = median(run.seconds for run in found[f"{name}, one sentence"])
        base: dict[str, Any] = {}
        if name != first:
            base = {"base": first, "base_runs": found[first]}
        note = f"start-up {start:.2f} s"
        yield Row(entry, name, found[name], bench.words, note=note, **base)
        if base:
            base = {"base": f"{first}, start-up apart", "base_runs": apart[first]}
        if apart[name] and (apart[first] or not base):
            yield Row(entry, f"{name}, start-up apart", apart[name], bench.words, **base)


def less(whole: Sequence[Run], one: Sequence[Run]) -> list[Run]:
    """Runs without the median start-up; none, if the file is so small that some run was over
    sooner."""
    seconds = median(run.seconds for run in one)
    processor = median(run.processor for run in one)
    if min(run.seconds for run in whole) <= seconds:
        return []
    return [
        run._replace(seconds=run.seconds - seconds, processor=max(0.0, run.processor - processor))
        for run in whole
    ]


def train(bench: Bench) -> Iterator[Row]:
    """depkit train, an epoch of the file; --set says of what."""
    runs = in_turn(bench.runs, {"depkit": training(bench)})["depkit"]
    yield Row("train", "an epoch", inside(runs), bench.words, note=" ".join(bench.settings))
    yield Row("train", "with start-up and dev", runs, bench.words)


def training(bench: Bench, *settings: str) -> Measure:
    """An epoch of depkit train on the file, into a directory that goes."""
    given = [part for each in (*settings, *bench.settings) for part in ("--set", each)]

    def run() -> Run:
        with TemporaryDirectory(dir=bench.folder) as folder:
            model = Path(folder) / "model"
            found = depkit(
                bench, "train", bench.file, "--dev", bench.few, "-o", model, "--epochs", "1",
                "--set", "tokenizer.enabled=false", *given,
            )()  # fmt: skip
            epoch = json.loads((model / LOG).read_text("utf-8").splitlines()[-1])
        return found._replace(inside=bench.words / epoch["words_per_second"])

    return run


def inside(runs: Sequence[Run]) -> list[Run]:
    """Runs that took what the program says that its work took; processors' time is not known."""
    return [run._replace(seconds=run.inside, processor=0.0) for run in runs]
