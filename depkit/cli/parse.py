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

    from depkit.parsers.base import Parser


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
    prob: Annotated[
        bool,
        typer.Option("--prob", help="Write how probable each word's head and label are."),
    ] = False,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals", help="With --prob: the head's probability over all trees; slow."
        ),
    ] = False,
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

    --prob adds ArcProb=0.9731|LabelProb=0.8812 to MISC, in JSON arc_prob and label_prob: the
    probability of the word's head among all words, and that of its label given that head. They
    are calibrated, where the model is: of the arcs with 0.9, about 90% are right on text like the
    model's dev treebank. --marginals counts all trees instead, those with this arc against the
    others; the time grows with the cube of a sentence's length (400 words: 0.1 s, 1,600: 10 s),
    and more than 2,000 words are refused.

    Example: depkit parse < in.txt > out.conllu
    """

    if prob and format in ("conllx", "conll09"):
        raise typer.BadParameter(
            f"{format} has no MISC for it; use conllu or json", param_hint="--prob"
        )
    if marginals and not prob:
        raise typer.BadParameter("is for --prob", param_hint="--marginals")
    probabilities = ("marginal" if marginals else "local") if prob else ""

    def parsed(
        parser: "Parser", sentences: Iterable[Sentence], vectors: Iterable["np.ndarray"] | None
    ) -> Iterator[Sentence]:
        return parser.parse(
            sentences, tags or "missing", batch_tokens, decode,
            None if root == "auto" else root, vectors, probabilities,
        )  # fmt: skip

    job = Job(
        files or ["-"], models or ["en-ewt"], mean, input, format, output, output_dir,
        features or [], settings or [], device, threads, encoding, quiet, verbose, prob,
    )  # fmt: skip
    run_over(job, parsed)
