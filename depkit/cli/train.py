"""`depkit train`: trains a parser on treebanks and writes a model directory."""

from typing import Annotated

from depkit.cli import options
from depkit.cli.help import MODEL, TRAINING, option


def train_command(
    train: options.TrainFiles,
    *,
    output: options.ModelOutput,
    dev: options.Dev = "",
    dev_split: options.DevSplit = None,
    recipe: options.Recipe = "selfatt",
    config: options.Config = "",
    settings: options.Settings = None,
    elmo: options.TrainElmo = None,
    dev_elmo: options.DevElmo = "",
    parses: options.Parses = None,
    dev_parses: options.DevParses = "",
    init: Annotated[str, option(MODEL, metavar="MODEL")] = "",
    seed: options.TrainSeed = 1,
    seeds: Annotated[int, option(TRAINING, min=1)] = 1,
    epochs: options.Epochs = None,
    patience: options.Patience = None,
    max_time: options.MaxTime = "",
    punct: options.TrainPunct = "",
    evalb: options.TrainEvalb = "",
    resume: options.Resume = False,
    keep_state: options.KeepState = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.TrainVerbose = False,
) -> None:
    """Train a parser, and with it a tagger and a tokenizer."""
    options.check_training([*train, dev, *(parses or []), dev_parses], punct, quiet)

    from depkit.training.job import TrainingJob
    from depkit.training.run import run_job

    job = TrainingJob(
        train=train, output=output, dev=dev, dev_split=dev_split, recipe=recipe, config=config,
        settings=settings or [], elmo=elmo or [], dev_elmo=dev_elmo, parses=parses or [],
        dev_parses=dev_parses, init=init, seed=seed, seeds=seeds, epochs=epochs, patience=patience,
        max_time=max_time, punct=punct, evalb=evalb, resume=resume, keep_state=keep_state,
        device=device, threads=threads, encoding=encoding, quiet=quiet, verbose=verbose,
    )  # fmt: skip
    advice = "--resume continues from the last checkpoint, if there is one"
    with options.note_interruption(advice, quiet):
        run_job(job)
