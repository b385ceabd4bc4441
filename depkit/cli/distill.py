"""`depkit distill`: trains a small student on a treebank and on the output of a teacher."""

import os
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA, MODEL
from depkit.cli.train import note_interruption


def distill_command(
    teacher: Annotated[
        str,
        typer.Argument(
            metavar="TEACHER",
            help="Learn from this model: a model directory, or the name of a bundled model.",
        ),
    ],
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
    """Train a small parser, the student, on the output of a larger one, the teacher.

    First the teacher parses the treebank and the text. For each word, its output is the most
    probable heads, relations and tags with their probabilities. Then the student is trained to
    predict these probabilities, and the gold annotation of the treebank as well. Each epoch goes
    through the whole treebank and through the next part of the text, which has as many words as the
    treebank; only this part is in memory. Sentences of one word, sentences of more than 150 words
    and repeated sentences of the text are left out.

    During the training, the output directory always contains the model of the best epoch so far.
    Its folder text/ contains the text with the trees of the teacher, in CoNLL-U. --resume continues
    a run even if it was interrupted while the teacher was parsing. The time of --max-time begins
    when the teacher has finished parsing. If the teacher has no tokenizer, the time for training
    one counts as well.

    Two settings exist only for this command. With --set distillation.text=2, each epoch has two
    words of text for each word of the treebank. With --set distillation.weight=0.7, the teacher's
    output has 70% of the weight in the training on the treebank, and the gold annotation 30%.

    Example: depkit distill teacher.model news.txt --train train.conllu --dev dev.conllu -o small

    Example: depkit distill seed-1 news.txt --teacher seed-2 --teacher seed-3 --train train.conllu
    --dev dev.conllu -o small
    """
    files = text or []
    if any(os.path.exists(file) and not os.path.isfile(file) for file in files) or "-" in files:
        raise typer.BadParameter(
            "these files are read again when a run is resumed; name files, not standard input",
            param_hint="TEXT",
        )

    options.check_inputs([*train, dev], quiet)
    options.check_punct(punct or "keep")

    from depkit.ensemble.distillation import distill

    with note_interruption("--resume continues from what has been saved", quiet):
        distill(
            [teacher, *(teachers or [])], train, output, files, dev, dev_split, recipe, config,
            settings or [], input, seed, epochs, patience, max_time, resume, device, batch_tokens,
            threads, encoding, quiet, verbose, keep_state, punct,
        )  # fmt: skip
