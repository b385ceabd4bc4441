"""A model over files: what depkit parse and depkit tag have in common."""

import gc
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product, tee
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from depkit.corpus.files import PathLike, named_format, open_output, write
from depkit.corpus.formats import CONLLU, Format, by_name
from depkit.corpus.json_lines import json_lines
from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    import numpy as np

    from depkit.parsers.base import Parser

SELDOM = 10_000  # new objects until Python looks for garbage that refers to itself

Mean = Literal["arithmetic", "geometric"]


@dataclass(frozen=True)
class Job:
    """Files, the model to go over them with, and how they are read and written: the options of
    `depkit parse` of the same names."""

    files: Sequence[str]
    models: Sequence[PathLike]
    mean: Mean | None
    input: str | None
    format: str | None
    output: str
    output_dir: str
    features: Sequence[str]
    settings: Sequence[str]
    device: str
    threads: int | None
    encoding: str
    quiet: bool
    verbose: bool
    prob: bool = False


Analyse = Callable[
    ["Parser", Iterable[Sentence], "Iterable[np.ndarray] | None"], Iterator[Sentence]
]


def run_over(job: Job, analyse: Analyse) -> None:
    """Read the files, have their sentences analysed by the model, write them.

    analyse: the parser, sentences and their contextual vectors, if any -> analysed sentences.
    Raises typer.BadParameter for files that cannot be so read and written.
    """
    targets = _targets(job)
    # Sentences come and go by the thousand; looking for circles in them so often as Python does
    # by itself takes as long as making them.
    gc.set_threshold(SELDOM)

    from depkit.convert.formats import Account, convert
    from depkit.corpus.text import Numbers
    from depkit.parsers.config import Calibration
    from depkit.parsers.graph.ensemble import combine
    from depkit.parsers.model_directory import load

    target_format = named_format(job.format) if job.format and job.format != "json" else None
    account = Account()
    parser = combine(
        [
            load(model, job.device, threads=job.threads, settings=job.settings)
            for model in job.models
        ],
        job.mean,
    )
    if job.prob and not job.quiet and parser.config.calibration == Calibration():
        which = "these models together are" if len(job.models) > 1 else "this model is"
        typer.echo(
            f"depkit: note: {which} not calibrated; probabilities are as they come", err=True
        )
    words = count = 0

    def analysed(chosen: Sequence[int]) -> Iterator[Sentence]:
        nonlocal words, count
        numbers = Numbers()
        kind: Format | None = None
        read = (parser.read(job.files[i], job.input, job.encoding, numbers) for i in chosen)
        sentences: Iterable[Sentence] = chain.from_iterable(read)
        vectors = None
        if job.features:
            pairs = zip(read, chosen, strict=True)
            fitted = (parser.fit(each, job.features[i]) for each, i in pairs)
            one, other = tee(chain.from_iterable(fitted))
            sentences, vectors = (pair[0] for pair in one), (pair[1] for pair in other)
        if job.prob and job.format:  # the probabilities stand in MISC, which CoNLL-U alone has
            sentences = (convert(each, CONLLU, account=account) for each in sentences)
        for sentence in analyse(parser, sentences, vectors):
            if target_format:
                sentence = convert(sentence, target_format, account=account)
            kind = kind or sentence.format
            if kind != sentence.format and job.format != "json":
                raise ValueError(
                    f"{sentence.file} is {sentence.format.name}, what came before {kind.name};"
                    " choose one --format, or write into an --output-dir"
                )
            words += len(sentence)
            count += 1
            yield sentence

    def put(chosen: Sequence[int], target: PathLike) -> None:
        sentences = analysed(chosen)
        if job.format == "json":
            with open_output(target) as stream:
                stream.writelines(json_lines(sentences, job.prob))
            return
        some = list(islice(sentences, 1))
        read_as_is = some and some[0].line  # made of text, a sentence has no line, and is UTF-8
        write(chain(some, sentences), target, job.encoding if read_as_is else "utf-8")

    began = time.monotonic()
    if job.output_dir:
        Path(job.output_dir).mkdir(parents=True, exist_ok=True)
        for number, target in enumerate(targets):
            put([number], target)
    else:
        put(range(len(job.files)), job.output)
    if target_format and not job.quiet:
        for note in account.notes(target_format.name):
            typer.echo(f"depkit: note: {note}", err=True)
    if job.verbose and not job.quiet:
        seconds = time.monotonic() - began
        speed = words / max(seconds, 1e-9)
        print(
            f"{count} sentences, {words} words in {seconds:.1f} s ({speed:,.0f} words/s)",
            file=sys.stderr,
        )


def _targets(job: Job) -> list[str]:
    """The files to write: one for each of those to read where there is an output directory."""
    if job.output_dir and job.output != "-":
        raise typer.BadParameter("--output and --output-dir exclude each other")
    if job.files.count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    if job.output_dir and "-" in job.files:
        raise typer.BadParameter("--output-dir wants files, not stdin")
    names = [output_name(file, job.format) for file in job.files]
    if job.output_dir and len(set(names)) < len(names):
        raise typer.BadParameter("--output-dir would write two files under the same name")
    if job.features and len(job.features) != len(job.files):
        raise typer.BadParameter(f"--features names {len(job.features)} files for {len(job.files)}")
    targets = [job.output]
    if job.output_dir:
        targets = [os.path.join(job.output_dir, name) for name in names]
    check_overwriting(job.files, targets)
    return targets


def check_overwriting(sources: Iterable[str], targets: Iterable[str]) -> None:
    """Raises typer.BadParameter if a file to write is one of those to read."""
    both = product(filter(os.path.isfile, targets), filter(os.path.isfile, sources))
    if any(os.path.samefile(target, source) for target, source in both):
        raise typer.BadParameter("a file to write is one of those to read")


def output_name(source: str, format: str | None) -> str:
    """The name of a file's parse: its own if it tells the format, else with another suffix."""
    name = os.path.basename(source)
    known = by_name(name)
    if known and format in (None, known.name):
        return name
    stem = re.sub(r"(\.(txt|conllu|conllx|conll09|conll2009))?(\.gz|\.xz)?$", "", name, flags=re.I)
    return f"{stem}.{format or 'conllu'}"
