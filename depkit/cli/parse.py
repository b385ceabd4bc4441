"""depkit parse: sentences in, trees out."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from depkit.cli.options import Device, Encoding, Quiet, Threads, Verbose
from depkit.corpus.files import read, write
from depkit.corpus.sentence import Sentence


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to parse, - for stdin (the default)."),
    ] = None,
    model: Annotated[
        str, typer.Option(envvar="DEPKIT_MODEL", help="A model directory, as train writes it.")
    ] = "",
    input: Annotated[
        Literal["conllu", "conllx", "conll09"] | None,
        typer.Option(help="The input's format; else told by name or content."),
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
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write, - for stdout.")
    ] = "-",
    output_dir: Annotated[
        str, typer.Option(help="Write each file under its own name into this directory.")
    ] = "",
    device: Device = "auto",
    batch_tokens: Annotated[
        int, typer.Option(min=1, help="Words, padding included, that are scored at once.")
    ] = 4000,
    threads: Threads = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Parse CoNLL-U, CoNLL-X or CoNLL-09: HEAD and DEPREL are rewritten, the rest is kept.

    DEPS becomes _, as it would no longer fit the tree. Where a sentence has no UPOS or no
    XPOS, the model's are filled in.

    Example: depkit parse --model en.model < in.conllu > out.conllu
    """
    if not model:
        raise typer.BadParameter("name a model directory with --model DIR or DEPKIT_MODEL")
    sources = files or ["-"]
    if output_dir and output != "-":
        raise typer.BadParameter("--output and --output-dir exclude each other")
    if output_dir and "-" in sources:
        raise typer.BadParameter("--output-dir wants files, not stdin")
    names = [os.path.basename(source) for source in sources]
    if output_dir and len(set(names)) < len(names):
        raise typer.BadParameter("--output-dir would write two files under the same name")

    from depkit.parsers.model_directory import load

    parser = load(model, device, threads=threads)
    words = count = 0

    def parsed(chosen: list[str]) -> Iterator[Sentence]:
        nonlocal words, count
        sentences = (sentence for source in chosen for sentence in read(source, input, encoding))
        for sentence in parser.parse(
            sentences, tags or "missing", batch_tokens, decode, None if root == "auto" else root
        ):
            words += len(sentence)
            count += 1
            yield sentence

    began = time.monotonic()
    if output_dir:
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        for source, name in zip(sources, names, strict=True):
            write(parsed([source]), Path(output_dir) / name, encoding)
    else:
        write(parsed(sources), output, encoding)
    if verbose and not quiet:
        seconds = time.monotonic() - began
        speed = words / max(seconds, 1e-9)
        print(
            f"{count} sentences, {words} words in {seconds:.1f} s ({speed:,.0f} words/s)",
            file=sys.stderr,
        )
