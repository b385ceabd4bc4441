"""depkit parse: sentences in, trees out."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product, tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from depkit.cli.options import Device, Encoding, Quiet, Threads, Verbose
from depkit.corpus.files import PathLike, named_format, open_output, write
from depkit.corpus.formats import Format, by_name
from depkit.corpus.json_lines import json_lines
from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    import numpy as np

    from depkit.parsers.parser import Parser

Model = Annotated[
    str, typer.Option(envvar="DEPKIT_MODEL", help="A model directory, or a bundled model's name.")
]
Input = Annotated[
    Literal["text", "lines", "tokens", "conllu", "conllx", "conll09"] | None,
    typer.Option(
        help="By default CoNLL formats are told by name or content, and all else is text;"
        " lines: one sentence a line; tokens: likewise, with spaces between tokens."
    ),
]
OutputFormat = Annotated[
    Literal["conllu", "conllx", "conll09", "json"] | None,
    typer.Option(
        help="json: an object a line, with character offsets; by default CoNLL as the input,"
        " CoNLL-U for text; another format is converted to as by depkit convert."
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", help="The file to write, - for stdout.")]
OutputDir = Annotated[
    str, typer.Option(help="Write each file under its own name into this directory.")
]
Features = Annotated[
    list[str] | None,
    typer.Option(help="ELMo vectors (HDF5) of a FILE, for a model that reads them; once for each."),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Words, padding included, that are scored at once.",
        show_default="1200 on a CPU, 4000 elsewhere",
    ),
]


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to parse, - for stdin (the default)."),
    ] = None,
    model: Model = "en-ewt",
    input: Input = None,
    tags: Annotated[
        Literal["keep", "predict"] | None,
        typer.Option(help="Keep or predict all tags; by default empty tag columns are filled in."),
    ] = None,
    decode: Annotated[
        Literal["mst", "eisner", "argmax"] | None,
        typer.Option(help="mst, eisner (projective) or argmax (maybe no tree); else the model's."),
    ] = None,
    root: Annotated[
        Literal["auto", "single", "multi"],
        typer.Option(help="How many children the root may have; auto is the model's way."),
    ] = "auto",
    format: OutputFormat = None,
    output: Output = "-",
    output_dir: OutputDir = "",
    features: Features = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Look at the model's attention in another way: encoder.window=10,"
            " encoder.relaxed=true, encoder.attend=[...]; repeatable.",
        ),
    ] = None,
    device: Device = "auto",
    batch_tokens: BatchTokens = None,
    threads: Threads = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Parse text or treebanks: a tree for each sentence.

    Text becomes CoNLL-U with all columns; blank lines set paragraphs apart. In CoNLL-U, CoNLL-X
    and CoNLL-09, HEAD and DEPREL are rewritten and the rest is kept, but that DEPS becomes _,
    as it would no longer fit the tree; where a sentence has no UPOS or no XPOS, the model's are
    filled in.

    JSON has an object a sentence and line, with sent_id, text, words (id, form, lemma, upos, xpos,
    feats, head, deprel) and multiword (first, last, form); all have start and end, which count
    the input's characters.

    Example: depkit parse < in.txt > out.conllu
    """

    def parsed(
        parser: "Parser", sentences: Iterable[Sentence], vectors: Iterable["np.ndarray"] | None
    ) -> Iterator[Sentence]:
        return parser.parse(
            sentences, tags or "missing", batch_tokens, decode,
            None if root == "auto" else root, vectors,
        )  # fmt: skip

    job = Job(
        files or ["-"], model, input, format, output, output_dir, features or [], settings or [],
        device, threads, encoding, quiet, verbose,
    )  # fmt: skip
    run_over(job, parsed)


@dataclass(frozen=True)
class Job:
    """Files, the model to go over them with, and how they are read and written: the options of
    `depkit parse` of the same names."""

    files: Sequence[str]
    model: str
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


Analyse = Callable[
    ["Parser", Iterable[Sentence], "Iterable[np.ndarray] | None"], Iterator[Sentence]
]


def run_over(job: Job, analyse: Analyse) -> None:
    """Read the files, have their sentences analysed by the model, write them.

    analyse: the parser, sentences and their contextual vectors, if any -> analysed sentences.
    Raises typer.BadParameter for files that cannot be so read and written.
    """
    targets = _targets(job)

    from depkit.convert.formats import Account, convert
    from depkit.corpus.text import Numbers
    from depkit.parsers.model_directory import load

    target_format = named_format(job.format) if job.format and job.format != "json" else None
    account = Account()
    parser = load(job.model, job.device, threads=job.threads, settings=job.settings)
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
                stream.writelines(json_lines(sentences))
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
