"""depkit parse: sentences in, trees out."""

from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, OUTPUT


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to parse, - for stdin (the default)."),
    ] = None,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Annotated[
        Literal["keep", "predict"] | None,
        typer.Option(
            help="Keep or predict all tags; by default empty tag columns are filled in.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    decode: Annotated[
        Literal["mst", "eisner", "argmax"] | None,
        typer.Option(
            help="mst, eisner (projective) or argmax (maybe no tree); else the model's.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    root: Annotated[
        Literal["auto", "single", "multi"],
        typer.Option(
            help="How many children the root may have; auto is the model's way.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    format: options.OutputFormat = None,
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    prob: Annotated[
        bool,
        typer.Option(
            "--prob",
            help="Write how probable each word's head and label are.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="With --prob: the head's probability over all trees; slow.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    features: options.Features = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Look at the model's attention in another way: encoder.window=10,"
            " encoder.relaxed=true, encoder.attend=[...]; or say where its transformer is:"
            " inputs.context.model=DIRECTORY; repeatable.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
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

    Example: depkit parse in.txt -o out.conllu
    """

    if prob and format in ("conllx", "conll09"):
        raise typer.BadParameter(
            f"{format} has no MISC for it; use conllu or json", param_hint="--prob"
        )
    if marginals and not prob:
        raise typer.BadParameter("is for --prob", param_hint="--marginals")
    given = {
        "algorithm": decode,
        "root": None if root == "auto" else root,
        "probabilities": ("marginal" if marginals else "local") if prob else "",
    }

    options.check_inputs(files or ["-"], quiet)

    from depkit.serving.files import Job, annotate_files

    job = Job(
        files or ["-"], models or ["en-ewt"], "parse", tags or "missing",
        {name: value for name, value in given.items() if value}, mean, input, format, output,
        output_dir, features or [], settings or [], device, batch_tokens, threads, encoding,
    )  # fmt: skip
    bars = options.progress_bars(quiet, job.files, "" if output_dir else output)
    totals = annotate_files(job, options.noting(quiet), bars)
    if verbose and not quiet:
        options.print_speed(totals.sentences, totals.words, totals.seconds)
