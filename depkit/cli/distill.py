"""`depkit distill`: trains a small student on a treebank and on the output of a teacher."""

import os
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA, MODEL


def distill_command(
    teacher: Annotated[
        str,
        typer.Argument(
            metavar="TEACHER",
            help="Learn from this model: a model directory, or the name of a bundled model.",
        ),
    ],
    *,
    train: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Train on this treebank: the student learns its gold annotation in addition to the"
            " teacher's output. The option can be given several times.",
            rich_help_panel=DATA,
        ),
    ],
    output: options.ModelOutput,
    teachers: Annotated[
        list[str] | None,
        typer.Option(
            "--teacher",
            metavar="MODEL",
            help="Learn from the mean of the probabilities of TEACHER and of this model. The option"
            " can be given several times.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="Let the teacher parse these files, and train the student on the result.",
            metavar="TEXT",
        ),
    ] = None,
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
    if any(os.path.exists(file) and not os.path.isfile(file) for file in files) or "-" in files:
        raise typer.BadParameter(
            "these files are read again when a run is resumed; name files, not standard input",
            param_hint="TEXT",
        )

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
