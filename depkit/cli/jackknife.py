"""`depkit jackknife`: tags a training file by taggers that have not seen it."""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import OUTPUT, TRAINING, option


def jackknife_command(
    train: Annotated[str, typer.Argument(metavar="TRAIN")] = "-",
    *,
    output: options.Output = "-",
    folds: Annotated[int, option(TRAINING, min=2)] = 10,
    recipe: options.Recipe = "tagger",
    config: options.Config = "",
    settings: options.Settings = None,
    elmo: options.TrainElmo = None,
    epochs: options.Epochs = None,
    seed: options.TrainSeed = 1,
    work: Annotated[str, option(OUTPUT, metavar="DIR", callback=options.check_directory)] = "",
    resume: Annotated[bool, option(TRAINING, "--resume")] = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.EncodingOfTreebanks = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.TrainVerbose = False,
) -> None:
    """Tag a training file by taggers that have not seen it."""
    if len(elmo or []) > 1:
        raise typer.BadParameter("there is only one TRAIN file", param_hint="--elmo")
    _check_paths([train, recipe, *(elmo or [])], output, work, resume)
    options.check_inputs([train], quiet)

    from depkit.ensemble.jackknife import JackknifeJob, jackknife_file

    advice = "--resume continues from the last checkpoint"
    with options.note_interruption(advice, quiet or not work), _work_directory(work) as directory:
        job = JackknifeJob(
            train=train, output=output, folds=folds, work=directory, recipe=recipe, config=config,
            settings=settings or [], elmo=elmo or [], epochs=epochs, seed=seed, resume=resume,
            keep_state=keep_state, device=device, threads=threads, encoding=encoding, quiet=quiet,
            verbose=verbose,
        )  # fmt: skip
        jackknife_file(job)


def _check_paths(sources: list[str], output: str, work: str, resume: bool) -> None:
    """Refuse files that cannot be used, before hours of training."""
    from depkit.corpus.formats import PARQUET, format_from_filename
    from depkit.files.atomic import check_writable
    from depkit.files.storage import check_overwriting

    if resume and not work:
        raise typer.BadParameter("it needs --work as well", param_hint="--resume")
    check_overwriting(sources, [output])
    if output != "-" and os.path.isdir(output):
        raise ValueError(f"{output} is a directory; name a file to write")
    if format_from_filename(output) is PARQUET:
        raise ValueError(f"{output} cannot be written; write CoNLL and use depkit convert")
    check_writable(output)


def _work_directory(work: str) -> AbstractContextManager[str | os.PathLike[str]]:
    """Return the directory for the taggers: that of --work, or else a temporary one."""
    from depkit.files.atomic import temporary_directory

    return nullcontext(work) if work else temporary_directory()
