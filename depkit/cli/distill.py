"""`depkit distill`: trains a small student on a treebank and on the output of a teacher."""

import os
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA, MODEL, option
from depkit.files.storage import is_rereadable


def distill_command(
    teacher: Annotated[str, typer.Argument(metavar="TEACHER")],
    *,
    train: Annotated[list[str], option(DATA, metavar="FILE")],
    output: options.ModelOutput,
    teachers: Annotated[list[str] | None, option(MODEL, "--teacher", metavar="MODEL")] = None,
    text: Annotated[list[str] | None, typer.Argument(metavar="TEXT")] = None,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    recipe: options.Recipe = "small",
    config: options.Config = "",
    settings: options.Settings = None,
    input: options.Input = None,
    seed: options.TrainSeed = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    punct: options.TrainPunct = "",
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.TrainVerbose = False,
) -> None:
    """Train a small parser, the student, on the output of a larger one, the teacher."""
    files = text or []
    for file in files:
        # Directories and missing files are reported when they are opened.
        is_file = is_rereadable(file) or os.path.isdir(file) or not os.path.exists(file)
        if file == "-" or not is_file:
            kind = "standard input" if file == "-" else "a pipe or device"
            message = f"{file}: {kind} cannot be read again; name a file"
            raise typer.BadParameter(message, param_hint="TEXT")

    options.check_training([*train, dev], punct, quiet)

    from depkit.ensemble.distillation import DistillationJob, distill

    job = DistillationJob(
        teachers=[teacher, *(teachers or [])], train=train, output=output, text=files, dev=dev,
        dev_split=dev_split, recipe=recipe, config=config, settings=settings or [], input=input,
        seed=seed, epochs=epochs, patience=patience, max_time=max_time, punct=punct, resume=resume,
        keep_state=keep_state, device=device, batch_tokens=batch_tokens, threads=threads,
        encoding=encoding, quiet=quiet, verbose=verbose,
    )  # fmt: skip
    with options.note_interruption("--resume continues from what has been saved", quiet):
        distill(job)
