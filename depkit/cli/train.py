"""depkit train: treebanks in, a model directory out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING


def train_command(
    train: options.TrainFiles,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    recipe: options.Recipe = "bilstm",
    config: options.Config = "",
    settings: options.Settings = None,
    features: options.TrainFeatures = None,
    dev_features: options.DevFeatures = "",
    init: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Start from this model: its parts, weights, words, tokenizer.",
            rich_help_panel=MODEL,
        ),
    ] = "",
    seed: options.TrainSeed = 1,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Train so many, from --seed on; mean and deviation.",
            rich_help_panel=TRAINING,
        ),
    ] = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Train a parser. The directory holds the best epoch's model at any moment.

    Beside it stand a log (log.jsonl), a model card and, while it trains, the state from which
    --resume goes on. At the end the parser is calibrated on dev: of the arcs to which depkit parse
    --prob then gives a probability of 0.9, about 90% are right.

    Example: depkit train train.conllu --dev dev.conllu -o en.model --max-time 90m
    """
    options.check_inputs([*train, dev], quiet)

    from depkit.training import run

    with note_interruption("--resume continues from the last checkpoint, if there is one", quiet):
        run.train(
            train, output, dev, dev_split, recipe, config, settings or [], features or [],
            dev_features, init, seed, seeds, epochs, patience, max_time, resume, device, threads,
            encoding, quiet, verbose, keep_state,
        )  # fmt: skip


@contextmanager
def note_interruption(advice: str, quiet: bool) -> Iterator[None]:
    """Says, at a Ctrl-C, how to go on with what is inside."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            print(f"depkit: note: interrupted; {advice}", file=sys.stderr)
        raise
