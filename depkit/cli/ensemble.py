"""`depkit ensemble`: trains several parsers and writes one model directory with all of them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from depkit.cli import options
from depkit.cli.help import MACHINE, MODEL, option


def ensemble_command(
    train: options.TrainFiles,
    *,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    folds: Annotated[int, option(MODEL, min=2)] = 6,
    recipes: Annotated[str, option(MODEL, metavar="RECIPE,...")] = "selfatt,bilstm",
    mean: Annotated[Literal["arithmetic", "geometric"], option(MODEL)] = "arithmetic",
    reuse: Annotated[list[str] | None, option(MODEL, metavar="DIR")] = None,
    config: options.Config = "",
    settings: options.Settings = None,
    elmo: options.TrainElmo = None,
    dev_elmo: options.DevElmo = "",
    seed: options.TrainSeed = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    punct: options.TrainPunct = "",
    keep_state: options.KeepState = False,
    device: Annotated[str, option(MACHINE, envvar="DEPKIT_DEVICE", metavar="DEVICE")] = "auto",
    threads: Annotated[
        int | None,
        option(
            MACHINE,
            envvar="DEPKIT_THREADS",
            min=1,
            max=10_000,
            show_default="all cores, divided by the number of devices",
        ),
    ] = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print the number of members and the devices on stderr.")
    ] = False,
) -> None:
    """Train an ensemble: several parsers whose predictions are combined."""
    names = [name.strip() for name in recipes.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("name at least one recipe", param_hint="--recipes")
    stems = {Path(name).stem for name in names}
    if len(stems) < len({*names}):
        raise typer.BadParameter("two recipes have the same name", param_hint="--recipes")
    options.check_training([*train, dev], punct, quiet)

    from depkit.ensemble.members import EnsembleJob
    from depkit.ensemble.training import train_ensemble

    job = EnsembleJob(
        train=train, output=output, dev=dev, dev_split=dev_split, recipes=names, folds=folds,
        mean=mean, reuse=reuse or [], config=config, settings=settings or [], elmo=elmo or [],
        dev_elmo=dev_elmo, seed=seed, epochs=epochs, patience=patience, max_time=max_time,
        punct=punct, keep_state=keep_state, device=device, threads=threads, encoding=encoding,
        quiet=quiet, verbose=verbose,
    )  # fmt: skip
    with options.note_interruption("the same command continues where it was interrupted", quiet):
        train_ensemble(job)
