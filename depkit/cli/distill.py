"""depkit distill: a teacher, a treebank and text in, a small student out."""

import os
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from depkit.cli.options import BatchTokens, Device, Encoding, Input, Quiet, Threads, Verbose
from depkit.cli.train import new_directory, seconds_of


def distill_command(
    teacher: Annotated[
        str, typer.Argument(help="The model to learn from: a directory or a bundled model's name.")
    ],
    train: Annotated[
        list[str], typer.Option(help="A treebank that is learnt with the teacher; repeatable.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The model directory to make.")],
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Files that the teacher parses for the student.", metavar="TEXT"),
    ] = None,
    dev: Annotated[str, typer.Option(help="The treebank that chooses the best epoch.")] = "",
    dev_split: Annotated[
        float | None,
        typer.Option(help="Instead: this share of the treebank, evenly spread, e.g. 0.1."),
    ] = None,
    recipe: Annotated[
        str, typer.Option(envvar="DEPKIT_RECIPE", help="The student's: small, bilstm, ...")
    ] = "small",
    config: Annotated[str, typer.Option(help="A TOML file over the recipe.")] = "",
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="One setting over both, e.g. distillation.text=2, so many words of text for one"
            " of the treebank in an epoch, or distillation.weight=0.7, the teacher's for the"
            " treebank's words; repeatable."
        ),
    ] = None,
    input: Input = None,
    seed: Annotated[
        int, typer.Option(envvar="DEPKIT_SEED", min=0, max=2**31, help="Random seed.")
    ] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most so many epochs.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs without a gain.")
    ] = None,
    max_time: Annotated[
        str, typer.Option(help="Train at most so long, when all text is parsed: 90s, 10m, 2h.")
    ] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the output.")
    ] = False,
    device: Device = "auto",
    batch_tokens: BatchTokens = None,
    threads: Threads = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a small parser on what a larger one thinks of a treebank and of text.

    The teacher reads the treebank and the text once: for each word it gives the probabilities of
    the best heads, relations and tags, which the student learns, beside the treebank's gold ones.
    An epoch is the treebank and as many words of text, the next ones each time; in memory there is
    no more of it. Sentences of one word, of more than 150, and ones that come again are left out.

    The directory holds the best epoch's model at any moment, and in text/ the text as the teacher
    parses it: a silver treebank in CoNLL-U. --resume goes on where a run was stopped, in reading,
    too.

    Example: depkit distill teacher.model news.txt --train train.conllu --dev dev.conllu -o small
    """
    if bool(dev) == (dev_split is not None):
        raise typer.BadParameter("name either --dev FILE or --dev-split SHARE")
    files = text or []
    if any(os.path.exists(file) and not os.path.isfile(file) for file in files) or "-" in files:
        raise typer.BadParameter("text is read again when a run goes on; name files, not stdin")
    limit = seconds_of(max_time)
    directory = new_directory(output, resume)

    import torch

    from depkit.ensemble.distillation import (
        check_student,
        make_feed,
        make_lesson,
        treebank_rows,
    )
    from depkit.ensemble.silver import annotate
    from depkit.ensemble.teacher import check_teacher, digest_of_model, make_teach
    from depkit.parsers.config import to_toml
    from depkit.parsers.device import find_device
    from depkit.parsers.graph.calibration import calibrate_model
    from depkit.parsers.model_directory import find_model, load, tokenizer_notes, write_tokenizer
    from depkit.training.card import write_card
    from depkit.training.checkpoint import sweep
    from depkit.training.data import DataError, findings, read_treebanks, settle, split
    from depkit.training.loop import train as run
    from depkit.training.progress import Progress
    from depkit.training.recipe import make_recipe
    from depkit.training.sources import find_sources
    from depkit.training.tokenizer import provide_tokenizer

    settings = list(set or [])
    settings += [f"training.epochs={epochs}"] if epochs else []
    settings += [f"training.patience={patience}"] if patience else []
    chosen = make_recipe(recipe, config or None, settings)
    check_student(chosen)
    place = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    treebank = list(chain.from_iterable(read_treebanks([path], encoding) for path in train))
    if dev_split is not None:
        treebank, dev_sentences = split(treebank, dev_split)
    else:
        dev_sentences = read_treebanks([dev], encoding)
    chosen = settle(chosen, treebank)
    parser = load(teacher, device, threads=threads)
    check_teacher(parser)
    for file in files:
        if not any(True for _ in parser.read(file, input, encoding)):  # told before hours of work
            raise DataError(f"{file}: no sentences")
    progress = Progress(directory, quiet)
    chosen, sources = find_sources(chosen, treebank, dev_sentences, place, say=progress.say)
    if verbose and not quiet:
        print(f"# on {place}\n{to_toml(chosen)}", file=sys.stderr)
    for finding in findings(treebank, dev_sentences, chosen.decoder):
        progress.say(f"depkit: note: {finding}")
    directory.mkdir(parents=True, exist_ok=True)
    sweep(directory)
    sweep(directory / "text")
    try:
        if parser.tokenizer:
            notes = tokenizer_notes(find_model(teacher))
            write_tokenizer(directory, parser.tokenizer, {"scores": notes.get("scores")})
        else:
            limit -= provide_tokenizer(
                directory, chosen, treebank, dev_sentences, place, seed, limit, progress.say
            )
        teach = make_teach(parser, batch_tokens)
        key = digest_of_model(find_model(teacher))
        told = f"Distilled from {teacher} on the treebank"
        own = treebank_rows(teach, treebank, directory, key, progress)
        shards = []
        if files:
            silver = annotate(
                parser, teach, files, directory / "text", key, input, encoding, progress
            )
            left_out = [f"{count:,} {why}" for why, count in silver.left_out.items()]
            read = f"{silver.sentences:,} sentences ({silver.words:,} words)"
            progress.say(
                f"text: {read}" + (f"; left out: {', '.join(left_out)}" if left_out else "")
            )
            names = ", ".join(Path(file).name for file in files)
            told += f" and on {read} of {names}, in an epoch {chosen.distillation.text:g} times as"
            told += " many words as of the treebank"
            shards, key = silver.shards, key + silver.key
        lesson = make_lesson(chosen, treebank, own, shards, parser)
        del parser, teach  # their memory is the student's now
        state = run(
            chosen, treebank, dev_sentences, directory, place, seed, resume, limit, None,
            progress, sources, lesson.student, make_feed(lesson, key, place, sources.transformer),
        )  # fmt: skip
    except KeyboardInterrupt:
        progress.say("depkit: note: interrupted; --resume goes on from what is there")
        raise
    calibrated = ""
    if state.best_epoch:
        student = load(directory, str(place), threads=torch.get_num_threads())
        calibrated = calibrate_model(directory, student, dev_sentences, None)
        progress.say(calibrated)
    write_card(directory, chosen, state, len(treebank), len(dev_sentences), calibrated, told)
