"""`depkit parse`: adds dependency trees to text or treebanks."""

from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MACHINE, MODEL, OUTPUT


def parse_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Parse these files; - is stdin, which is also the default."
        ),
    ] = None,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Annotated[
        Literal["keep", "predict"] | None,
        typer.Option(
            help="Choose keep to leave all tags and lemmas as they are in the input, or predict to"
            " replace them by the model's predictions.",
            show_default="fill in empty tag columns only",
            rich_help_panel=MODEL,
        ),
    ] = None,
    decode: Annotated[
        Literal["mst", "eisner", "argmax"] | None,
        typer.Option(
            help="Decode heads with this algorithm: mst (the best tree), eisner (the best"
            " projective tree) or argmax (the best head of every word, which may not form a tree).",
            show_default="set by the model, usually mst",
            rich_help_panel=MODEL,
        ),
    ] = None,
    root: Annotated[
        Literal["auto", "single", "multi"],
        typer.Option(
            help="Allow only a single root word per sentence (single), or several (multi). auto is"
            " single if every sentence on which the model was trained has a single root word, else"
            " multi.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    tokenizer: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Split text into sentences and words with the tokenizer of this model.",
            show_default="the model's own; en-ewt for constituency parsers without one",
            rich_help_panel=MODEL,
        ),
    ] = "",
    format: options.OutputFormat = None,
    dependencies: Annotated[
        Literal["sd", "ud", "ud2"] | None,
        typer.Option(
            help="Convert the trees of a constituency parser to dependencies: sd (Stanford"
            " Dependencies), ud (Universal Dependencies as CoreNLP writes them) or ud2 (as in"
            " UD_English-EWT).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    prob: Annotated[
        bool,
        typer.Option(
            "--prob",
            help="Write the probability of every word's head and relation.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="With --prob, compute the probability of a head from all possible trees of the"
            " sentence, not separately for each word. This is slow for long sentences.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            help="With a model that corrects parses, correct the trees this many times.",
            rich_help_panel=MODEL,
        ),
    ] = 1,
    out_of_fold: Annotated[
        bool,
        typer.Option(
            "--out-of-fold",
            help="Parse the training files of an ensemble; each sentence is parsed by the member"
            " that was not trained on it.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    features: options.Features = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one of the model's settings that do not require new training:"
            " encoder.window, encoder.relaxed and encoder.attend restrict self-attention, e.g."
            " encoder.window=10; inputs.context.model=DIRECTORY names the directory of the model's"
            " frozen transformer. The option can be given several times.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    treebank: options.Treebank = "",
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Parse only part I of N of each file. The files NAME.I-of-N.conllu in"
            " --output-dir, one after another, are the result for the whole file.",
            rich_help_panel=MACHINE,
        ),
    ] = "",
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Parse with this many processes, each with its own copy of the model. If there"
            " are several devices (--device cuda:0,cuda:1), the processes are spread over them."
            " Several processes can share a fast GPU, so that it has work while one of them reads,"
            " chooses lemmas or writes.",
            rich_help_panel=MACHINE,
        ),
    ] = 1,
    engine: Annotated[
        Literal["processes", "ray"],
        typer.Option(
            help="Start the --workers as processes on this machine, or as actors of a Ray cluster,"
            " which can consist of many machines.",
            rich_help_panel=MACHINE,
        ),
    ] = "processes",
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine ray, use the Ray cluster at this address, e.g. 10.0.0.1:6379. The"
            " address auto stands for the cluster that the environment variable RAY_ADDRESS names,"
            " or otherwise for the cluster that this machine belongs to.",
            show_default="a new cluster on this machine",
            rich_help_panel=MACHINE,
        ),
    ] = "",
    skip_done: Annotated[
        bool,
        typer.Option(
            "--skip-done",
            help="Skip files that the same command has already finished. For each output file, a"
            " file NAME.done records how it was made. If the input, the model, an option or the"
            " output has changed since then, the file is parsed again.",
            rich_help_panel=MACHINE,
        ),
    ] = False,
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.EncodingOfTreebanks = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print the number of words and the speed on stderr at the end.")
    ] = False,
) -> None:
    """Parse text or treebanks into dependency trees."""
    if prob and format in ("conllx", "conll09"):
        raise typer.BadParameter(
            f"{format} has no column MISC for probabilities; use --format conllu or json",
            param_hint="--prob",
        )
    if address and engine != "ray":
        raise typer.BadParameter("it needs --engine ray as well", param_hint="--address")
    if marginals and not prob:
        raise typer.BadParameter("it needs --prob as well", param_hint="--marginals")
    given_options = {
        "algorithm": decode,
        "root": None if root == "auto" else root,
        "probabilities": ("marginal" if marginals else "local") if prob else "",
        "passes": passes if passes > 1 else None,
    }

    options.check_inputs(files or ["-"], quiet)

    from depkit.serving.files import annotate_files
    from depkit.serving.job import Job

    job = Job(
        files or ["-"], models or ["en-ewt"], "parse", tags or "missing",
        {name: value for name, value in given_options.items() if value}, mean, input, format,
        output, output_dir, features or [],
        [*(settings or []), *options.treebank_settings(treebank)], device, batch_tokens, threads,
        encoding, dependencies, tokenizer, out_of_fold, shard, workers, skip_done,
        engine, address,
    )  # fmt: skip
    bars = options.progress_bars(quiet, job.files, "" if output_dir else output)
    totals = annotate_files(job, options.note_printer(quiet), bars)
    if verbose and not quiet:
        options.print_speed(totals.sentences, totals.words, totals.seconds)
