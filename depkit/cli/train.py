"""`depkit train`: trains a parser on treebanks and writes a model directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING
from depkit.cli.output import print_message


def train_command(
    train: options.TrainFiles,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    recipe: options.Recipe = "selfatt",
    config: options.Config = "",
    settings: options.Settings = None,
    features: options.TrainFeatures = None,
    dev_features: options.DevFeatures = "",
    parses: options.Parses = None,
    dev_parses: options.DevParses = "",
    init: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Start from the weights of this trained model, with the same network, vocabulary"
            " and tokenizer.",
            rich_help_panel=MODEL,
        ),
    ] = "",
    seed: options.TrainSeed = 1,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Train this many models, with seeds from --seed upwards, in the directories"
            " seed-1, seed-2 and so on of the output directory. Print the mean and the standard"
            " deviation of their dev scores, and copy the best model into the output directory.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    punct: options.TrainPunct = "",
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.TrainVerbose = False,
) -> None:
    """Train a parser, and with it a tagger and a tokenizer."""
    options.check_inputs([*train, dev, *(parses or []), dev_parses], quiet)
    options.check_punct(punct or "keep")

    from depkit.training import run

    with note_interruption("--resume continues from the last checkpoint, if there is one", quiet):
        run.train(
            train, output, dev, dev_split, recipe, config, settings or [], features or [],
            dev_features, init, seed, seeds, epochs, patience, max_time, resume, device, threads,
            encoding, quiet, verbose, keep_state, punct, parses or [], dev_parses,
        )  # fmt: skip


@contextmanager
def note_interruption(advice: str, quiet: bool) -> Iterator[None]:
    """Print advice on how to resume if Ctrl-C interrupts the body of the with statement."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            print_message(f"depkit: note: the run was interrupted; {advice}")
        raise
