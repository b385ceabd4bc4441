"""`depkit parse`: adds dependency trees to text or treebanks."""

from typing import Annotated, Literal, cast

import typer

from depkit.cli import options
from depkit.cli.help import MACHINE, MODEL, OUTPUT, option
from depkit.parsers.engine.names import EngineName

Files = Annotated[list[str] | None, typer.Argument(metavar="FILE")]
Tags = Annotated[
    Literal["keep", "predict"] | None, option(MODEL, show_default="fill in empty tag columns only")
]
Decode = Annotated[
    Literal["mst", "eisner", "argmax", "mbr"] | None,
    option(MODEL, show_default="set by the model, usually mst"),
]
Root = Annotated[Literal["auto", "single", "multi"], option(MODEL)]
Heads = Annotated[Literal["predict", "keep"], option(MODEL)]
Valid = Annotated[Literal["ud"] | None, option(MODEL)]
Best = Annotated[int, option(OUTPUT, min=1, max=1_000)]
Tokenizer = Annotated[
    str,
    option(
        MODEL,
        metavar="MODEL",
        show_default="the model's own; en-ewt for constituency parsers without one",
    ),
]
Dependencies = Annotated[Literal["sd", "ud", "ud2"] | None, option(OUTPUT)]
Enhance = Annotated[str, option(OUTPUT, metavar="TYPE,...")]
EnhanceLike = Annotated[str, option(OUTPUT, metavar="TREEBANK")]
Prob = Annotated[bool, option(OUTPUT, "--prob")]
Marginals = Annotated[bool, option(OUTPUT, "--marginals")]
Passes = Annotated[int, option(MODEL, min=1)]
OutOfFold = Annotated[bool, option(MODEL, "--out-of-fold")]
Settings = Annotated[list[str] | None, option(MODEL, "--set", metavar="KEY=VALUE")]
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
SkipDone = Annotated[bool, option(MACHINE, "--skip-done")]


def parse_command(
    files: Files = None,
    *,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Tags = None,
    decode: Decode = None,
    root: Root = "auto",
    heads: Heads = "predict",
    valid: Valid = None,
    tokenizer: Tokenizer = "",
    format: options.OutputFormat = None,
    dependencies: Dependencies = None,
    enhance: Enhance = "",
    enhance_like: EnhanceLike = "",
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    prob: Prob = False,
    marginals: Marginals = False,
    best: Best = 1,
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
    if best > 1 and format in ("conllx", "conll09"):
        raise typer.BadParameter(
            f"{format} cannot tell the trees of a sentence apart; use --format conllu or json",
            param_hint="--best",
        )
    conventions = None
    if enhance or enhance_like:
        if format in ("conllx", "conll09", "ptb"):
            raise typer.BadParameter(
                f"{format} has no enhanced dependencies; use --format conllu, json or parquet",
                param_hint="--enhance",
            )
        from depkit.convert.enhance.request import resolve_conventions

        conventions = resolve_conventions(enhance_like, enhance.split(",") * bool(enhance))
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
        "heads": None if heads == "predict" else heads,
        "best": best if best > 1 else None,
        "valid": valid,
    }

    from depkit.serving.job import Job

    job = Job(
        files or ["-"], models or ["en-ewt"], tags=tags or "missing",
        options={name: value for name, value in given_options.items() if value}, mean=mean,
        input=input, format=format, output=output, output_dir=output_dir, elmo=elmo or [],
        settings=[*(settings or []), *options.treebank_settings(treebank)], device=device,
        batch_tokens=batch_tokens, threads=threads, encoding=encoding, dependencies=dependencies,
        tokenizer=tokenizer, out_of_fold=out_of_fold, shard=shard, workers=workers,
        conventions=conventions, also_read=[enhance_like], skip_done=skip_done,
        distribute=distribute, address=address, engine=cast(EngineName, engine),
        precision=precision,
    )  # fmt: skip
    options.annotate(job, quiet, verbose)
