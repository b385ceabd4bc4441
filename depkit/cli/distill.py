"""depkit distill: a teacher, a treebank and text in, a small student out."""

import os
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA
from depkit.cli.train import note_interruption


def distill_command(
    teacher: Annotated[
        str,
        typer.Argument(
            metavar="TEACHER",
            help="The model to learn from: a directory or a bundled model's name.",
        ),
    ],
    train: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="A treebank that is learnt with the teacher; repeatable.",
            rich_help_panel=DATA,
        ),
    ],
    output: options.ModelOutput,
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Files that the teacher parses for the student.", metavar="TEXT"),
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
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    batch_tokens: options.BatchTokens = None,
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Train a small parser on what a larger one thinks of a treebank and of text.

    The teacher reads the treebank and the text once: for each word it gives the probabilities of
    the best heads, relations and tags, which the student learns, beside the treebank's gold ones.
    An epoch is the treebank and as many words of text, the next ones each time; in memory there is
    no more of it. Sentences of one word, of more than 150, and ones that come again are left out.

    The directory holds the best epoch's model at any moment, and in text/ the text as the teacher
    parses it: a silver treebank in CoNLL-U. --resume goes on where a run was stopped, in reading,
    too. --max-time counts from the moment when all text is parsed.

    Settings of its own are distillation.text=2, so many words of text for one of the treebank in an
    epoch, and distillation.weight=0.7, the teacher's share in what is learned of the treebank.

    Example: depkit distill teacher.model news.txt --train train.conllu --dev dev.conllu -o small
    """
    files = text or []
    if any(os.path.exists(file) and not os.path.isfile(file) for file in files) or "-" in files:
        raise typer.BadParameter(
            "is read again when a run is resumed; name files, not standard input", param_hint="TEXT"
        )

    options.check_inputs([*train, dev], quiet)

    from depkit.ensemble.distillation import distill

    with note_interruption("--resume goes on from what is there", quiet):
        distill(
            teacher, train, output, files, dev, dev_split, recipe, config, settings or [], input,
            seed, epochs, patience, max_time, resume, device, batch_tokens, threads, encoding,
            quiet, verbose, keep_state,
        )  # fmt: skip
