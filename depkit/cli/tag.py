"""depkit tag: tags, features and lemmas, by a model, or by taggers of a file's other parts."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from depkit.cli.options import (
    BatchTokens,
    Device,
    Encoding,
    Features,
    Input,
    MeanOption,
    Models,
    Output,
    OutputDir,
    OutputFormat,
    Quiet,
    Threads,
    Verbose,
)
from depkit.cli.over_files import Job, check_overwriting, run_over
from depkit.corpus.files import write
from depkit.corpus.sentence import Sentence
from depkit.training.recipe import Recipe, make_recipe

if TYPE_CHECKING:
    import numpy as np

    from depkit.parsers.base import Parser

# Parameters that go with --folds alone, and without it alone.
_TRAINING = ("recipe", "config", "settings", "epochs", "seed", "work", "resume")
_TAGGING = ("models", "mean", "input", "tags", "format", "output_dir", "batch_tokens")


def tag_command(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files to tag, - for stdin (the default)."),
    ] = None,
    models: Models = None,
    mean: MeanOption = None,
    input: Input = None,
    tags: Annotated[
        Literal["missing", "predict"],
        typer.Option(help="Fill in empty tag columns alone, or predict all tags."),
    ] = "predict",
    format: OutputFormat = None,
    output: Output = "-",
    output_dir: OutputDir = "",
    features: Features = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Jack-knife FILE: so many taggers, each of the other folds."),
    ] = None,
    recipe: Annotated[str, typer.Option(help="With --folds: the taggers' recipe.")] = "tagger",
    config: Annotated[str, typer.Option(help="With --folds: a TOML file over the recipe.")] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="With --folds: one setting over both, e.g. encoder.size=128; repeatable."
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="With --folds: epochs of each tagger.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            envvar="DEPKIT_SEED",
            min=0,
            max=2**31,
            help="With --folds: of the folds and of the trainings.",
        ),
    ] = 1,
    work: Annotated[
        str, typer.Option(help="With --folds: keep the taggers here, for --resume and use.")
    ] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="With --folds: go on with the taggers in --work.")
    ] = False,
    device: Device = "auto",
    batch_tokens: BatchTokens = None,
    threads: Threads = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tag text or treebanks: UPOS, XPOS, FEATS and LEMMA, as far as the model predicts them.

    All is as for depkit parse, but that trees stay as they are. Taggers, which are smaller than
    parsers, are trained by depkit train --recipe tagger.

    --folds gives a training file the tags of taggers that have not seen them: the sentences are
    dealt out into folds, and each fold is tagged by a tagger of all others. On such tags a parser
    that reads tags is trained: depkit train jack.conllu --dev tagged.conllu --set inputs.tag=100,
    the dev file tagged by a tagger of the whole training file.

    Example: depkit tag train.conllu --folds 10 --work taggers -o jack.conllu
    """
    sources = files or ["-"]
    if folds:
        _refuse(context, _TAGGING, "is not for --folds")
        if len(sources) > 1 or len(features or []) > 1:
            raise typer.BadParameter("takes one file", param_hint="--folds")
        _check_places(sources[0], output, work, resume)
        settings = [*(settings or []), *([f"training.epochs={epochs}"] if epochs else [])]
        _jackknife(
            sources[0], output, make_recipe(recipe, config or None, settings), folds, seed, work,
            resume, (features or [""])[0], device, threads, encoding, quiet, verbose,
        )  # fmt: skip
        return
    _refuse(context, _TRAINING, "is for --folds alone")

    def tagged(
        parser: "Parser", sentences: Iterable[Sentence], vectors: Iterable["np.ndarray"] | None
    ) -> Iterator[Sentence]:
        return parser.tag(sentences, tags, batch_tokens, vectors)

    job = Job(
        sources, models or ["en-ewt"], mean, input, format, output, output_dir, features or [], [],
        device, threads, encoding, quiet, verbose,
    )  # fmt: skip
    run_over(job, tagged)


def _refuse(context: typer.Context, names: Sequence[str], why: str) -> None:
    """Raises BadParameter for options on the command line; what the environment says is for all."""
    for name in names:
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            option = {"settings": "set", "models": "model"}.get(name, name).replace("_", "-")
            raise typer.BadParameter(why, param_hint=f"--{option}")


def _check_places(source: str, output: str, work: str, resume: bool) -> None:
    """What is wrong with the files and directories themselves, before hours of training."""
    if resume and not work:
        raise typer.BadParameter("goes with --work", param_hint="--resume")
    check_overwriting([source], [output])
    if os.path.isdir(output):
        raise ValueError(f"{output} is a directory; name a file to write")
    if not Path(output).resolve().parent.is_dir():
        raise ValueError(f"{output}: there is no such directory to write into")
    directory = Path(work)
    if work and directory.exists() and not directory.is_dir():
        raise ValueError(f"{work} is a file; name a directory")
    if work and not resume and directory.exists() and any(directory.iterdir()):
        raise ValueError(f"{work} is there already; --resume goes on with it, or name another")


def _jackknife(
    source: str,
    output: str,
    recipe: Recipe,
    folds: int,
    seed: int,
    work: str,
    resume: bool,
    features: str,
    device: str,
    threads: int | None,
    encoding: str,
    quiet: bool,
    verbose: bool,
) -> None:
    """Write the file with jack-knifed tags, and say how many of them are its own."""
    import torch

    from depkit.ensemble.jackknife import accuracies, jackknife
    from depkit.parsers.config import to_toml
    from depkit.parsers.device import find_device
    from depkit.training.data import read_treebanks, settle

    place = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    sentences = read_treebanks([source], encoding, trees=recipe.scorer.tree)
    recipe = settle(recipe, sentences)
    if verbose and not quiet:
        print(f"# on {place}\n{to_toml(recipe)}", file=sys.stderr)
    try:
        with _workplace(work) as directory:
            tagged = jackknife(
                sentences, recipe, folds, Path(directory), place, seed, resume, features, quiet
            )  # fmt: skip
    except KeyboardInterrupt:
        if work and not quiet:
            print(
                "depkit: note: interrupted; --resume goes on from the last checkpoint",
                file=sys.stderr,
            )
        raise
    write(tagged, output, encoding)
    if not quiet:
        scores = accuracies(sentences, tagged, recipe.scorer.predict)
        told = "  ".join(f"{name.upper()} {score:.2f}" for name, score in scores.items())
        words = sum(map(len, sentences))
        print(f"as in {source}, in % of {words:,} words: {told}", file=sys.stderr)


def _workplace(work: str) -> AbstractContextManager[str]:
    """The directory for the models; without a name, one that is removed whatever happens."""
    return nullcontext(work) if work else TemporaryDirectory(prefix="depkit-")
