"""`depkit parse`: adds dependency trees to text or treebanks."""

from typing import Annotated, Literal, cast

import typer

from depkit.cli import options
from depkit.cli.help import MACHINE, MODEL, OUTPUT
from depkit.parsers.engine.names import EngineName

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE", help="Parse these files; - is stdin, which is also the default."
    ),
]
Tags = Annotated[
    Literal["keep", "predict"] | None,
    typer.Option(
        help="Choose keep to leave all tags and lemmas as they are in the input, or predict to"
        " replace them by the model's predictions.",
        show_default="fill in empty tag columns only",
        rich_help_panel=MODEL,
    ),
]
Decode = Annotated[
    Literal["mst", "eisner", "argmax"] | None,
    typer.Option(
        help="Decode heads with this algorithm: mst (the best tree), eisner (the best"
        " projective tree) or argmax (the best head of every word, which may not form a tree).",
        show_default="set by the model, usually mst",
        rich_help_panel=MODEL,
    ),
]
Root = Annotated[
    Literal["auto", "single", "multi"],
    typer.Option(
        help="Allow only a single root word per sentence (single), or several (multi). auto is"
        " single if every sentence on which the model was trained has a single root word, else"
        " multi.",
        rich_help_panel=MODEL,
    ),
]
Tokenizer = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="Split text into sentences and words with the tokenizer of this model.",
        show_default="the model's own; en-ewt for constituency parsers without one",
        rich_help_panel=MODEL,
    ),
]
Dependencies = Annotated[
    Literal["sd", "ud", "ud2"] | None,
    typer.Option(
        help="Convert the trees of a constituency parser to dependencies: sd (Stanford"
        " Dependencies), ud (Universal Dependencies as CoreNLP writes them) or ud2 (as in"
        " UD_English-EWT).",
        rich_help_panel=OUTPUT,
    ),
]
Prob = Annotated[
    bool,
    typer.Option(
        "--prob",
        help="Write the probability of every word's head and relation.",
        rich_help_panel=OUTPUT,
    ),
]
Marginals = Annotated[
    bool,
    typer.Option(
        "--marginals",
        help="With --prob, compute the probability of a head from all possible trees of the"
        " sentence, not separately for each word. This is slow for long sentences.",
        rich_help_panel=OUTPUT,
    ),
]
Passes = Annotated[
    int,
    typer.Option(
        min=1,
        help="With a model that corrects parses, correct the trees this many times.",
        rich_help_panel=MODEL,
    ),
]
OutOfFold = Annotated[
    bool,
    typer.Option(
        "--out-of-fold",
        help="Parse the training files of an ensemble; each sentence is parsed by the member"
        " that was not trained on it.",
        rich_help_panel=MODEL,
    ),
]
Settings = Annotated[
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
]
ShardOption = Annotated[
    str,
    typer.Option(
        metavar="I/N",
        help="Parse only part I of N of each file. The files NAME.I-of-N.conllu in"
        " --output-dir, one after another, are the result for the whole file.",
        rich_help_panel=MACHINE,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        min=1,
        help="Parse with this many processes, each with its own copy of the model. If there"
        " are several devices (--device cuda:0,cuda:1), the processes are spread over them."
        " Several processes can share a fast GPU, so that it has work while one of them reads,"
        " chooses lemmas or writes.",
        rich_help_panel=MACHINE,
    ),
]
Distribute = Annotated[
    Literal["processes", "ray"],
    typer.Option(
        help="Start the --workers as processes on this machine, or as actors of a Ray cluster,"
        " which can consist of many machines.",
        rich_help_panel=MACHINE,
    ),
]
Address = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="With --distribute ray, use the Ray cluster at this address, e.g. 10.0.0.1:6379. The"
        " address auto stands for the cluster that the environment variable RAY_ADDRESS names,"
        " or otherwise for the cluster that this machine belongs to.",
        show_default="a new cluster on this machine",
        rich_help_panel=MACHINE,
    ),
]
SkipDone = Annotated[
    bool,
    typer.Option(
        "--skip-done",
        help="Skip files that the same command has already finished. For each output file, a"
        " file NAME.done records how it was made. If the input, the model, an option or the"
        " output has changed since then, the file is parsed again.",
        rich_help_panel=MACHINE,
    ),
]


def parse_command(
    files: Files = None,
    *,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Tags = None,
    decode: Decode = None,
    root: Root = "auto",
    tokenizer: Tokenizer = "",
    format: options.OutputFormat = None,
    dependencies: Dependencies = None,
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    prob: Prob = False,
    marginals: Marginals = False,
    passes: Passes = 1,
    out_of_fold: OutOfFold = False,
    elmo: options.Elmo = None,
    settings: Settings = None,
    treebank: options.Treebank = "",
    shard: ShardOption = "",
    workers: Workers = 1,
    distribute: Distribute = "processes",
    address: Address = "",
    skip_done: SkipDone = False,
    device: options.Device = "auto",
    engine: options.Engine = "auto",
    precision: options.PrecisionOption = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.EncodingOfTreebanks = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.VerboseSpeed = False,
) -> None:
    """Parse text or treebanks into dependency trees."""
    if prob and format in ("conllx", "conll09"):
        raise typer.BadParameter(
            f"{format} has no column MISC for probabilities; use --format conllu or json",
            param_hint="--prob",
        )
    if engine in options.FORMER_ENGINES:
        options.note_renaming(f"--engine {engine}", f"--distribute {engine}", quiet)
        distribute, engine = cast(Literal["processes", "ray"], engine), "auto"
    if address and distribute != "ray":
        raise typer.BadParameter("it needs --distribute ray as well", param_hint="--address")
    if marginals and not prob:
        raise typer.BadParameter("it needs --prob as well", param_hint="--marginals")
    given_options = {
        "algorithm": decode,
        "root": None if root == "auto" else root,
        "probabilities": ("marginal" if marginals else "local") if prob else "",
        "passes": passes if passes > 1 else None,
    }

    from depkit.serving.job import Job

    job = Job(
        files or ["-"], models or ["en-ewt"], tags=tags or "missing",
        options={name: value for name, value in given_options.items() if value}, mean=mean,
        input=input, format=format, output=output, output_dir=output_dir, elmo=elmo or [],
        settings=[*(settings or []), *options.treebank_settings(treebank)], device=device,
        batch_tokens=batch_tokens, threads=threads, encoding=encoding, dependencies=dependencies,
        tokenizer=tokenizer, out_of_fold=out_of_fold, shard=shard, workers=workers,
        skip_done=skip_done, distribute=distribute, address=address,
        engine=cast(EngineName, engine), precision=precision,
    )  # fmt: skip
    options.annotate(job, quiet, verbose)
