"""depkit tag: tags, features and lemmas, by a model, or by taggers of a file's other parts."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING
from depkit.cli.train import note_interruption

# Parameters that go with --folds alone, and without it alone.
_TRAINING = ("recipe", "config", "settings", "epochs", "seed", "work", "resume", "keep_state")
_TAGGING = ("models", "mean", "input", "tags", "format", "output_dir", "batch_tokens")


def tag_command(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to tag, - for stdin (the default)."),
    ] = None,
    models: options.Models = None,
    mean: options.MeanOption = None,
    input: options.Input = None,
    tags: Annotated[
        Literal["missing", "predict"],
        typer.Option(
            help="Fill in empty tag columns alone, or predict all tags.", rich_help_panel=MODEL
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
            help="Jack-knife FILE: so many taggers, each of the other folds.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            envvar="DEPKIT_RECIPE",
            metavar="RECIPE",
            help="With --folds: the taggers' recipe.",
            rich_help_panel=TRAINING,
        ),
    ] = "tagger",
    config: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="With --folds: a TOML file over the recipe.",
            rich_help_panel=TRAINING,
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="With --folds: one setting over both, e.g. encoder.size=128; repeatable.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --folds: epochs of each tagger.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            envvar="DEPKIT_SEED",
            min=0,
            max=2**31,
            help="With --folds: of the folds and of the trainings.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    work: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="With --folds: keep the taggers here, for --resume and use.",
            rich_help_panel=TRAINING,
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --folds: go on with the taggers in --work.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    keep_state: Annotated[
        bool,
        typer.Option(
            "--keep-state",
            help="With --folds: keep the optimisers' states in --work, so that --resume can go on"
            " with more epochs.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Tag text or treebanks: UPOS, XPOS, FEATS and LEMMA, as far as the model predicts them.

    All is as for depkit parse, but that trees stay as they are. Taggers, which are smaller than
    parsers, are trained by depkit train --recipe tagger.

    --folds gives a training file the tags of taggers that have not seen them: the sentences are
    dealt out into folds, and each fold is tagged by a tagger of all others. On such tags a parser
    that reads tags is trained: depkit train jack.conllu --dev tagged.conllu --set inputs.tag=100,
    the dev file tagged by a tagger of the whole training file.

    Example: depkit tag train.conllu --folds 10 --work taggers -o jack.conllu
    """
    sources = files or ["-"]
    if folds:
        _refuse(context, _TAGGING, "is not for --folds")
        if len(sources) > 1 or len(features or []) > 1:
            raise typer.BadParameter("takes one file", param_hint="--folds")
        _check_places(sources[0], output, work, resume)
        options.check_inputs(sources, quiet)

        from depkit.ensemble.jackknife import jackknife_file
        from depkit.training.run import all_settings

        advice = "--resume goes on from the last checkpoint"
        with note_interruption(advice, quiet or not work), _workplace(work) as directory:
            jackknife_file(
                sources[0], output, folds, directory, recipe, config,
                all_settings(settings, epochs, None), (features or [""])[0], seed, resume, device,
                threads, encoding, quiet, verbose, keep_state,
            )  # fmt: skip
        return
    _refuse(context, _TRAINING, "is for --folds alone")
    options.check_inputs(sources, quiet)

    from depkit.serving.files import Job, annotate_files

    job = Job(
        sources, models or ["en-ewt"], "tag", tags, {}, mean, input, format, output, output_dir,
        features or [], [], device, batch_tokens, threads, encoding,
    )  # fmt: skip
    bars = options.progress_bars(quiet, job.files, "" if output_dir else output)
    totals = annotate_files(job, options.noting(quiet), bars)
    if verbose and not quiet:
        options.print_speed(totals.sentences, totals.words, totals.seconds)


def _refuse(context: typer.Context, names: Sequence[str], why: str) -> None:
    """Raises BadParameter for options on the command line; what the environment says is for all."""
    for name in names:
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            option = {"settings": "set", "models": "model"}.get(name, name).replace("_", "-")
            raise typer.BadParameter(why, param_hint=f"--{option}")


def _check_places(source: str, output: str, work: str, resume: bool) -> None:
    """What is wrong with the files and directories themselves, before hours of training."""
    from depkit.corpus.files import check_parent
    from depkit.serving.files import check_overwriting

    if resume and not work:
        raise typer.BadParameter("goes with --work", param_hint="--resume")
    check_overwriting([source], [output])
    if os.path.isdir(output):
        raise ValueError(f"{output} is a directory; name a file to write")
    check_parent(output)
    directory = Path(work)
    if work and directory.exists() and not directory.is_dir():
        raise ValueError(f"{work} is a file; name a directory")
    if work and not resume and directory.exists() and any(directory.iterdir()):
        raise ValueError(
            f"{work} is not empty; --resume continues an unfinished run there, or name another"
            " directory"
        )


def _workplace(work: str) -> AbstractContextManager[str]:
    """The directory for the models; without a name, one that is removed whatever happens."""
    return nullcontext(work) if work else TemporaryDirectory(prefix="depkit-")
