"""depkit parse: sentences in, trees out."""

import os
import re
import sys
import time
from collections.abc import Iterator
from itertools import chain, islice, product
from pathlib import Path
from typing import Annotated, Literal

import typer

from depkit.cli.options import Device, Encoding, Quiet, Threads, Verbose
from depkit.corpus.files import PathLike, named_format, open_output, write
from depkit.corpus.formats import Format, by_name
from depkit.corpus.json_lines import json_lines
from depkit.corpus.sentence import Sentence


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to parse, - for stdin (the default)."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(envvar="DEPKIT_MODEL", help="A model directory, or a bundled model's name."),
    ] = "en-ewt",
    input: Annotated[
        Literal["text", "lines", "tokens", "conllu", "conllx", "conll09"] | None,
        typer.Option(
            help="By default CoNLL formats are told by name or content, and all else is text;"
            " lines: one sentence a line; tokens: likewise, with spaces between tokens."
        ),
    ] = None,
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
    format: Annotated[
        Literal["conllu", "conllx", "conll09", "json"] | None,
        typer.Option(
            help="json: an object a line, with character offsets; by default CoNLL as the input,"
            " CoNLL-U for text; another format is converted to as by depkit convert."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write, - for stdout.")
    ] = "-",
    output_dir: Annotated[
        str, typer.Option(help="Write each file under its own name into this directory.")
    ] = "",
    device: Device = "auto",
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Words, padding included, that are scored at once.",
            show_default="1200 on a CPU, 4000 elsewhere",
        ),
    ] = None,
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
    sources = files or ["-"]
    if output_dir and output != "-":
        raise typer.BadParameter("--output and --output-dir exclude each other")
    if sources.count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    if output_dir and "-" in sources:
        raise typer.BadParameter("--output-dir wants files, not stdin")
    names = [output_name(source, format) for source in sources]
    if output_dir and len(set(names)) < len(names):
        raise typer.BadParameter("--output-dir would write two files under the same name")

    targets = [os.path.join(output_dir, name) for name in names] if output_dir else [output]
    both = product(filter(os.path.isfile, targets), filter(os.path.isfile, sources))
    if any(os.path.samefile(target, source) for target, source in both):
        raise typer.BadParameter("a file to write is one of those to read")

    from depkit.convert.formats import Account, convert
    from depkit.corpus.text import Numbers
    from depkit.parsers.model_directory import load

    target_format = named_format(format) if format and format != "json" else None
    account = Account()
    parser = load(model, device, threads=threads)
    words = count = 0

    def parsed(chosen: list[str]) -> Iterator[Sentence]:
        nonlocal words, count
        numbers = Numbers()
        kind: Format | None = None
        sentences = (
            sentence
            for source in chosen
            for sentence in parser.read(source, input, encoding, numbers)
        )
        for sentence in parser.parse(
            sentences, tags or "missing", batch_tokens, decode, None if root == "auto" else root
        ):
            if target_format:
                sentence = convert(sentence, target_format, account=account)
            kind = kind or sentence.format
            if kind != sentence.format and format != "json":
                raise ValueError(
                    f"{sentence.file} is {sentence.format.name}, what came before {kind.name};"
                    " choose one --format, or parse into an --output-dir"
                )
            words += len(sentence)
            count += 1
            yield sentence

    def put(chosen: list[str], target: PathLike) -> None:
        sentences = parsed(chosen)
        if format == "json":
            with open_output(target) as stream:
                stream.writelines(json_lines(sentences))
            return
        some = list(islice(sentences, 1))
        read_as_is = some and some[0].line  # made of text, a sentence has no line, and is UTF-8
        write(chain(some, sentences), target, encoding if read_as_is else "utf-8")

    began = time.monotonic()
    if output_dir:
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        for source, name in zip(sources, names, strict=True):
            put([source], Path(output_dir) / name)
    else:
        put(sources, output)
    if target_format and not quiet:
        for note in account.notes(target_format.name):
            typer.echo(f"depkit: note: {note}", err=True)
    if verbose and not quiet:
        seconds = time.monotonic() - began
        speed = words / max(seconds, 1e-9)
        print(
            f"{count} sentences, {words} words in {seconds:.1f} s ({speed:,.0f} words/s)",
            file=sys.stderr,
        )


def output_name(source: str, format: str | None) -> str:
    """The name of a file's parse: its own if it tells the format, else with another suffix."""
    name = os.path.basename(source)
    known = by_name(name)
    if known and format in (None, known.name):
        return name
    stem = re.sub(r"(\.(txt|conllu|conllx|conll09|conll2009))?(\.gz|\.xz)?$", "", name, flags=re.I)
    return f"{stem}.{format or 'conllu'}"
