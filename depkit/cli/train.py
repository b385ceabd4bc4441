"""depkit train: treebanks in, a model directory out."""

import math
import re
import shutil
import statistics
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from depkit.cli.options import Device, Encoding, Quiet, Threads, Verbose

if TYPE_CHECKING:
    from depkit.training.checkpoint import State

_UNITS = {"s": 1, "m": 60, "h": 3600}


def train_command(
    train: Annotated[list[str], typer.Argument(help="Training treebanks.", metavar="TRAIN")],
    output: Annotated[str, typer.Option("--output", "-o", help="The model directory to make.")],
    dev: Annotated[str, typer.Option(help="The treebank that chooses the best epoch.")] = "",
    dev_split: Annotated[
        float | None, typer.Option(help="Instead: this share of TRAIN, evenly spread, e.g. 0.1.")
    ] = None,
    recipe: Annotated[
        str, typer.Option(envvar="DEPKIT_RECIPE", help="bilstm, selfatt, li2019-bilstm, ...")
    ] = "bilstm",
    config: Annotated[str, typer.Option(help="A TOML file over the recipe.")] = "",
    set: Annotated[
        list[str] | None,
        typer.Option(help="One setting over both, e.g. encoder.layers=4; repeatable."),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="ELMo vectors (HDF5) of a TRAIN file; once for each, in order."),
    ] = None,
    dev_features: Annotated[str, typer.Option(help="Those of the dev treebank.")] = "",
    init: Annotated[
        str, typer.Option(help="Start from this model: its parts, weights, words, tokenizer.")
    ] = "",
    seed: Annotated[
        int, typer.Option(envvar="DEPKIT_SEED", min=0, max=2**31, help="Random seed.")
    ] = 1,
    seeds: Annotated[
        int, typer.Option(min=1, help="Train so many, from --seed on; mean and deviation.")
    ] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most so many epochs.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs without a gain.")
    ] = None,
    max_time: Annotated[str, typer.Option(help="At most so long, e.g. 90s, 10m, 2h.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the output.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a parser. The directory holds the best epoch's model at any moment.

    It also keeps the last state (for --resume), a log (log.jsonl) and a model card. At the end the
    parser is calibrated on dev, so that the probabilities of depkit parse --prob come true.

    Example: depkit train train.conllu --dev dev.conllu -o en.model --max-time 90m
    """
    check_training(train, dev, dev_split, features, dev_features)
    limit = seconds_of(max_time)
    directory = new_directory(output, resume)

    import torch

    from depkit.corpus.files import atomic, atomic_directory
    from depkit.parsers.base import check_tags
    from depkit.parsers.config import to_toml
    from depkit.parsers.device import find_device
    from depkit.parsers.graph.calibration import calibrate_model
    from depkit.parsers.graph.ensemble import Ensemble
    from depkit.parsers.model_directory import (
        CARD,
        CONFIG,
        TOKENIZER,
        TRANSFORMER,
        VOCABULARY,
        WEIGHTS,
        find_model,
        load,
        tokenizer_notes,
        write_tokenizer,
    )
    from depkit.training.card import write_card
    from depkit.training.checkpoint import sweep
    from depkit.training.data import findings, read_treebanks, settle, split
    from depkit.training.loop import train as run
    from depkit.training.progress import Progress
    from depkit.training.recipe import adopt, make_recipe, parts
    from depkit.training.sources import Files, find_sources
    from depkit.training.tokenizer import provide_tokenizer

    settings = list(set or [])
    settings += [f"training.epochs={epochs}"] if epochs else []
    settings += [f"training.patience={patience}"] if patience else []
    chosen = make_recipe(recipe, config or None, settings)
    place = find_device(device)
    initial = load(init, "cpu", "float32") if init else None
    if isinstance(initial, Ensemble):
        raise ValueError(f"{init} is an ensemble; name one of its members")
    if initial and parts(chosen) != parts(make_recipe(recipe)):
        raise typer.BadParameter(
            "with --init the parser's parts are that model's; training.* and decoder.* can be set"
        )
    if threads:
        torch.set_num_threads(threads)
    tree = (initial.config if initial else chosen).scorer.tree
    files = [read_treebanks([path], encoding, tree) for path in train]
    train_sentences = list(chain.from_iterable(files))
    if dev_split is not None:
        train_sentences, dev_sentences = split(train_sentences, dev_split)
    else:
        dev_sentences = read_treebanks([dev], encoding, tree)
    vectors = [Files(*pair) for pair in zip(features or [], files, strict=False)]
    vectors += [Files(dev_features, dev_sentences)] if dev_features else []
    chosen = settle(chosen, train_sentences)
    if initial:
        chosen = adopt(chosen, initial.config)
    for sentence in (*train_sentences, *dev_sentences):
        check_tags(sentence, chosen.inputs)
    chosen, sources = find_sources(
        chosen, train_sentences, dev_sentences, place, vectors, initial,
        Progress(directory, quiet).say,
    )  # fmt: skip
    if verbose and not quiet:
        print(f"# on {place}\n{to_toml(chosen)}", file=sys.stderr)

    for finding in findings(train_sentences, dev_sentences, chosen.decoder, chosen.scorer.tree):
        if not quiet:
            print(f"depkit: note: {finding}", file=sys.stderr)
    directory.mkdir(parents=True, exist_ok=True)
    sweep(directory)
    states: list[State] = []
    try:
        if initial and initial.tokenizer:
            notes = tokenizer_notes(find_model(init))
            write_tokenizer(directory, initial.tokenizer, {"scores": notes.get("scores")})
        else:
            limit -= provide_tokenizer(
                directory, chosen, train_sentences, dev_sentences, place, seed, limit,
                Progress(directory, quiet).say,
            )  # fmt: skip
        for number in range(seed, seed + seeds):
            place_of_seed = directory / f"seed-{number}" if seeds > 1 else directory
            place_of_seed.mkdir(exist_ok=True)
            if seeds > 1 and (directory / TOKENIZER).exists():
                with atomic(place_of_seed / TOKENIZER) as beside:
                    shutil.copy(directory / TOKENIZER, beside)
            state = run(
                chosen, train_sentences, dev_sentences, place_of_seed, place, number,
                resume, limit, initial, Progress(place_of_seed, quiet), sources,
            )  # fmt: skip
            calibrated = ""
            if chosen.scorer.tree and state.best_epoch:
                calibrated = calibrate_model(
                    place_of_seed,
                    load(place_of_seed, str(place), threads=torch.get_num_threads()),
                    dev_sentences,
                    sources.dev,
                )
                Progress(place_of_seed, quiet).say(calibrated)
            write_card(
                place_of_seed, chosen, state, len(train_sentences), len(dev_sentences), calibrated
            )
            states.append(state)
    except KeyboardInterrupt:
        if not quiet:
            print(
                "depkit: note: interrupted; --resume goes on from the last checkpoint",
                file=sys.stderr,
            )
        raise
    if seeds > 1:
        best = max(states, key=lambda state: state.best)
        if (directory / f"seed-{best.seed}" / TRANSFORMER).exists():
            with atomic_directory(directory / TRANSFORMER) as folder:
                of_best = directory / f"seed-{best.seed}" / TRANSFORMER
                shutil.copytree(of_best, folder, dirs_exist_ok=True)
        for name in (CONFIG, VOCABULARY, WEIGHTS, CARD):
            with atomic(directory / name) as beside:
                shutil.copy(directory / f"seed-{best.seed}" / name, beside)
        scores = [state.best for state in states]
        told = (
            f"dev {chosen.training.select} of {seeds} seeds:"
            f" {statistics.mean(scores):.2f} ± {statistics.stdev(scores):.2f};"
            f" {output} is seed {best.seed}'s, {best.best:.2f}"
        )
        if not quiet:
            print(told, file=sys.stderr)


def check_training(
    train: Sequence[str],
    dev: str,
    dev_split: float | None,
    features: Sequence[str] | None,
    dev_features: str,
) -> None:
    """Raises BadParameter for files to train on that do not go together."""
    if bool(dev) == (dev_split is not None):
        raise typer.BadParameter("name either --dev FILE or --dev-split SHARE")
    if features and len(features) != len(train):
        raise typer.BadParameter(
            f"--features names {len(features)} files for {len(train)} of TRAIN"
        )
    if (features or dev_features) and not (features and bool(dev) == bool(dev_features)):
        raise typer.BadParameter(
            "ELMo vectors are --features of each TRAIN file and, with --dev, --dev-features"
        )


def new_directory(output: str, resume: bool) -> Path:
    """The directory to train into. Raises ValueError if something stands there already."""
    directory = Path(output)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{output} is a file; name a directory")
    if not resume and directory.exists() and any(directory.iterdir()):
        raise ValueError(f"{output} is there already; --resume goes on with it, or name another")
    return directory


def seconds_of(text: str) -> float:
    """A time like 90s, 10m or 2h, in seconds; "" is no limit. Raises BadParameter for others."""
    if not text:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not match:
        raise typer.BadParameter(f"--max-time {text!r} is no time; write 90s, 10m or 2h")
    seconds = float(match[1]) * _UNITS[match[2] or "s"]
    if not seconds:
        raise typer.BadParameter("--max-time 0 leaves no time to train")
    return seconds
