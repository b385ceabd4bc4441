"""`depkit tag`: adds tags, FEATS and lemmas."""

from typing import Annotated, Literal, cast

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, option
from depkit.parsers.engine.names import EngineName


def tag_command(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE")] = None,
    *,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Annotated[Literal["missing", "predict"], option(MODEL)] = "predict",
    format: options.OutputFormat = None,
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    elmo: options.Elmo = None,
    treebank: options.Treebank = "",
    device: options.Device = "auto",
    engine: options.Engine = "auto",
    precision: options.PrecisionOption = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.EncodingOfTreebanks = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.VerboseSpeed = False,
) -> None:
    """Tag text or treebanks with UPOS, XPOS, FEATS and LEMMA."""
    from depkit.serving.job import Job

    job = Job(
        files or ["-"], models or ["en-ewt"], action="tag", tags=tags, mean=mean, input=input,
        format=format, output=output, output_dir=output_dir, elmo=elmo or [],
        settings=options.treebank_settings(treebank), device=device, batch_tokens=batch_tokens,
        threads=threads, encoding=encoding, engine=cast(EngineName, engine), precision=precision,
    )  # fmt: skip
    options.annotate(job, quiet, verbose)
