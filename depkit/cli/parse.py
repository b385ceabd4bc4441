"""depkit parse: sentences in, trees out."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from depkit.cli.options import (
    BatchTokens,
    Device,
    Encoding,
    Features,
    Input,
    MeanOption,
    Models,
    Output,
    OutputDir,
    OutputFormat,
    Quiet,
    Threads,
    Verbose,
)
from depkit.cli.over_files import Job, run_over
from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    import numpy as np

    from depkit.parsers.parser import Parser


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to parse, - for stdin (the default)."),
    ] = None,
    models: Models = None,
    mean: MeanOption = None,
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
            " encoder.relaxed=true, encoder.attend=[...]; or say where its transformer is:"
            " inputs.context.model=DIRECTORY; repeatable.",
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
        files or ["-"], models or ["en-ewt"], mean, input, format, output, output_dir,
        features or [], settings or [], device, threads, encoding, quiet, verbose,
    )  # fmt: skip
    run_over(job, parsed)
