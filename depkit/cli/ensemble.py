"""depkit ensemble: a treebank in, a model directory of several parsers out."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MACHINE, MODEL
from depkit.cli.train import note_interruption


def ensemble_command(
    train: options.TrainFiles,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    folds: Annotated[
        int,
        typer.Option(
            min=2,
            help="So many members, each of all folds but its own.",
            rich_help_panel=MODEL,
        ),
    ] = 6,
    recipes: Annotated[
        str,
        typer.Option(
            metavar="RECIPE,...",
            help="The members' recipes in turn, or TOML files over bilstm.",
            rich_help_panel=MODEL,
        ),
    ] = "selfatt,bilstm",
    mean: Annotated[
        Literal["arithmetic", "geometric"],
        typer.Option(help="Of the members' probabilities.", rich_help_panel=MODEL),
    ] = "arithmetic",
    reuse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Take members from this ensemble where it has them; repeatable.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    config: options.Config = "",
    settings: options.Settings = None,
    features: options.TrainFeatures = None,
    dev_features: options.DevFeatures = "",
    seed: options.TrainSeed = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    keep_state: options.KeepState = False,
    device: Annotated[
        str,
        typer.Option(
            envvar="DEPKIT_DEVICE",
            metavar="DEVICE",
            help="auto (all GPUs), or several, a member on each at a time: cuda:0,cuda:1 or"
            " cpu,cpu.",
            rich_help_panel=MACHINE,
        ),
    ] = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Train an ensemble: parsers that each learn from all folds of TRAIN but one.

    The sentences are dealt out into folds by a hash of their numbers and the seed. Vocabulary and
    tokenizer are those of all of TRAIN. Recipes are taken in turn: of two and six folds, each has
    three members. Run again, the command goes on where it was stopped; members that are through
    stay, also those of another list of recipes, and --reuse takes them from elsewhere.

    DIR is a model like any other, and so is each member in it.

    Example: depkit ensemble train.conllu --dev dev.conllu -o en.ensemble --folds 6 --recipes
    selfatt,bilstm
    """
    directory = Path(output)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{output} is a file; name a directory")
    names = [name.strip() for name in recipes.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("names no recipe", param_hint="--recipes")
    stems = {Path(name).stem for name in names}
    if len(stems) < len({*names}):
        raise typer.BadParameter("two recipes have the same name", param_hint="--recipes")

    from depkit.ensemble.members import Plan
    from depkit.ensemble.training import train_ensemble
    from depkit.parsers.device import find_devices
    from depkit.parsers.model_directory import CONFIG, ENSEMBLE, TOKENIZER
    from depkit.training.run import all_settings, parse_duration

    limit = parse_duration(max_time)
    if (directory / CONFIG).exists():
        raise ValueError(f"{output} is a model of its own; name another directory")
    begun = [*directory.glob("fold-*"), *directory.glob(ENSEMBLE), *directory.glob(TOKENIZER)]
    there = list(directory.iterdir()) if directory.exists() else []
    if not begun and any(not path.name.endswith(".part") for path in there):
        raise ValueError(f"{output} holds other things; name another directory")
    for other in reuse or []:
        if not (Path(other) / ENSEMBLE).exists() and not list(Path(other).glob("fold-*")):
            raise ValueError(f"--reuse {other}: there is no ensemble")
    devices = [str(each) for each in find_devices(device)]
    overlay = all_settings(settings, epochs, patience)
    plan = Plan(
        train, dev, dev_split, directory, names, folds, config, overlay, features or [],
        dev_features, reuse or [], seed, limit, encoding, quiet, keep_state,
    )  # fmt: skip
    options.check_inputs([*train, dev], quiet)
    if verbose and not quiet:
        print(f"# {folds} members on {', '.join(devices)}", file=sys.stderr)
    with note_interruption("the same command goes on where it stopped", quiet):
        train_ensemble(
            plan, devices, threads or max(1, (os.cpu_count() or 1) // len(devices)), mean
        )
