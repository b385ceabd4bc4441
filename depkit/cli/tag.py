"""`depkit tag`: adds tags, FEATS and lemmas; jack-knifes a training file with --folds."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING
from depkit.cli.train import note_interruption

# Parameters that need --folds, and parameters that cannot be combined with it
_NEED_FOLDS = ("recipe", "config", "settings", "epochs", "seed", "work", "resume", "keep_state")
_EXCLUDE_FOLDS = (
    "models",
    "mean",
    "input",
    "tags",
    "format",
    "output_dir",
    "batch_tokens",
    "treebank",
)


def tag_command(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Tag these files; - is stdin, which is also the default."
        ),
    ] = None,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Annotated[
        Literal["missing", "predict"],
        typer.Option(
            help="Choose missing to fill in empty tag columns only, or predict to replace all tags"
            " and lemmas.",
            rich_help_panel=MODEL,
        ),
    ] = "predict",
    format: options.OutputFormat = None,
    output: options.Output = "-",
    output_dir: options.OutputDir = "",
    features: options.Features = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Jack-knife the file: divide it into this many folds, and tag each fold with a"
            " tagger that is trained on the other folds.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            envvar="DEPKIT_RECIPE",
            metavar="RECIPE",
            help="With --folds, train the taggers with this recipe.",
            rich_help_panel=TRAINING,
        ),
    ] = "tagger",
    config: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="With --folds, read settings from this TOML file. They override those of the"
            " recipe.",
            rich_help_panel=TRAINING,
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="With --folds, override one setting of the recipe and of --config, e.g."
            " encoder.size=128. The option can be given several times.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --folds, train each tagger for at most this many epochs.",
            show_default="set by the recipe",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            envvar="DEPKIT_SEED",
            min=0,
            max=2**31,
            help="With --folds, use this seed for the division into folds and for the training.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    work: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="With --folds, write the taggers into this directory and keep them there, so that"
            " --resume can continue and the taggers can be used.",
            rich_help_panel=TRAINING,
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --folds, continue the interrupted training of the taggers in --work.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    keep_state: Annotated[
        bool,
        typer.Option(
            "--keep-state",
            help="With --folds, keep the optimisers' states in --work when the training is"
            " finished, so that --resume can continue with more epochs.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    treebank: options.Treebank = "",
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.EncodingOfTreebanks = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool,
        options.verbose_flag(
            "Print the number of words and the speed on stderr at the end; with --folds, print all"
            " settings of the training."
        ),
    ] = False,
) -> None:
    """Tag text or treebanks with UPOS, XPOS, FEATS and LEMMA."""
    sources = files or ["-"]
    if folds:
        _refuse(context, _EXCLUDE_FOLDS, "it cannot be combined with --folds")
        if len(sources) > 1 or len(features or []) > 1:
            raise typer.BadParameter("it takes only one file", param_hint="--folds")
        _check_paths(sources[0], output, work, resume)
        options.check_inputs(sources, quiet)

        from depkit.ensemble.jackknife import jackknife_file
        from depkit.training.run import combine_settings

        advice = "--resume continues from the last checkpoint"
        with note_interruption(advice, quiet or not work), _work_directory(work) as directory:
            jackknife_file(
                sources[0], output, folds, directory, recipe, config,
                combine_settings(settings, epochs, None), (features or [""])[0], seed, resume,
                device, threads, encoding, quiet, verbose, keep_state,
            )  # fmt: skip
        return
    _refuse(context, _NEED_FOLDS, "it needs --folds as well")
    options.check_inputs(sources, quiet)

    from depkit.serving.files import annotate_files
    from depkit.serving.job import Job

    job = Job(
        sources, models or ["en-ewt"], "tag", tags, {}, mean, input, format, output, output_dir,
        features or [], options.treebank_settings(treebank), device, batch_tokens, threads,
        encoding,
    )  # fmt: skip
    bars = options.progress_bars(quiet, job.files, "" if output_dir else output)
    totals = annotate_files(job, options.note_printer(quiet), bars)
    if verbose and not quiet:
        options.print_speed(totals.sentences, totals.words, totals.seconds)


def _refuse(context: typer.Context, names: Sequence[str], reason: str) -> None:
    """Raise BadParameter if one of these parameters is given on the command line.

    Environment variables are not refused, because they apply to all commands.
    """
    for name in names:
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            option = {"settings": "set", "models": "model"}.get(name, name).replace("_", "-")
            raise typer.BadParameter(reason, param_hint=f"--{option}")


def _check_paths(source: str, output: str, work: str, resume: bool) -> None:
    """Refuse files that cannot be used, before hours of training."""
    from depkit.corpus.formats import PARQUET, format_from_filename
    from depkit.files.atomic import check_writable
    from depkit.serving.job import check_overwriting

    if resume and not work:
        raise typer.BadParameter("it needs --work as well", param_hint="--resume")
    check_overwriting([source], [output])
    if os.path.isdir(output):
        raise ValueError(f"{output} is a directory; name a file to write")
    if format_from_filename(output) is PARQUET:
        raise ValueError(f"--folds cannot write {output}; write CoNLL and use depkit convert")
    check_writable(output)


def _work_directory(work: str) -> AbstractContextManager[str | os.PathLike[str]]:
    """Return the directory for the taggers: that of --work, or else a temporary one."""
    from depkit.files.atomic import temporary_directory

    return nullcontext(work) if work else temporary_directory()
