"""Options that several commands share, so that they read the same everywhere."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from depkit.cli.help import ANALYSIS, DATA, MACHINE, MODEL, OTHER, OUTPUT, TRAINING

if TYPE_CHECKING:
    from depkit.drawing.progress import ProgressBars


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from None
    return encoding


# Every option or argument of string type has a metavar that says what it takes. OFFERS in
# pages/inventory.py lists all of them, with what shells can complete for each.
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=OTHER),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say more on stderr.", rich_help_panel=OTHER)
]
Encoding = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_ENCODING",
        metavar="ENCODING",
        help="The input files' encoding, e.g. latin-1.",
        callback=_known,
        rich_help_panel=DATA,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_DEVICE",
        metavar="DEVICE",
        help="auto, cpu, cuda, cuda:N or mps.",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        envvar="DEPKIT_THREADS",
        min=1,
        help="CPU threads; all cores if not given.",
        rich_help_panel=MACHINE,
    ),
]
Models = Annotated[
    list[Path] | None,  # so that DEPKIT_MODEL is split as PATH is, not at spaces
    typer.Option(
        "--model",
        envvar="DEPKIT_MODEL",
        metavar="MODEL",
        help="A model directory, or a bundled model's name; of several, the mean.",
        show_default="en-ewt",
        rich_help_panel=MODEL,
    ),
]
MeanOption = Annotated[
    Literal["arithmetic", "geometric"] | None,
    typer.Option(
        "--mean",
        help="Of the probabilities, where there are several models.",
        show_default="arithmetic, or an ensemble's own",
        rich_help_panel=MODEL,
    ),
]
Input = Annotated[
    Literal["text", "lines", "tokens", "conllu", "conllx", "conll09"] | None,
    typer.Option(
        metavar="FORMAT",
        help="text, lines (one sentence a line), tokens (likewise, with spaces between tokens),"
        " conllu, conllx or conll09; by default CoNLL formats are recognised by name or content,"
        " and all else is text.",
        rich_help_panel=DATA,
    ),
]
OutputFormat = Annotated[
    Literal["conllu", "conllx", "conll09", "json"] | None,
    typer.Option(
        metavar="FORMAT",
        help="conllu, conllx, conll09, or json (an object a line, with character offsets); by"
        " default the CoNLL format of the input, or CoNLL-U for text. Another format is written as"
        " depkit convert would.",
        rich_help_panel=OUTPUT,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The file to write, - for stdout.",
        rich_help_panel=OUTPUT,
    ),
]
OutputDir = Annotated[
    str,
    typer.Option(
        metavar="DIR",
        help="Write each file under its own name into this directory.",
        rich_help_panel=OUTPUT,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="ELMo vectors (HDF5) of a FILE, for a model that reads them; once for each.",
        rich_help_panel=DATA,
    ),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Words, padding included, that are scored at once.",
        show_default="1200 on a CPU, 4000 elsewhere",
        rich_help_panel=MACHINE,
    ),
]

# Of the commands that train
TrainFiles = Annotated[list[str], typer.Argument(help="Training treebanks.", metavar="TRAIN")]
ModelOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="The model directory to make.",
        rich_help_panel=OUTPUT,
    ),
]
Dev = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="The treebank that chooses the best epoch.",
        rich_help_panel=DATA,
    ),
]
DevSplit = Annotated[
    float | None,
    typer.Option(
        help="Instead: this share of the training sentences, evenly spread, e.g. 0.1.",
        rich_help_panel=DATA,
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_RECIPE",
        metavar="RECIPE",
        help="A shipped recipe: bilstm, selfatt, small, ...",
        rich_help_panel=MODEL,
    ),
]
Config = Annotated[
    str,
    typer.Option(metavar="FILE", help="A TOML file over the recipe.", rich_help_panel=MODEL),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="One setting over both, e.g. encoder.layers=4; repeatable.",
        rich_help_panel=MODEL,
    ),
]
TrainFeatures = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="FILE",
        help="ELMo vectors (HDF5) of a TRAIN file; once for each, in order.",
        rich_help_panel=DATA,
    ),
]
DevFeatures = Annotated[
    str,
    typer.Option(metavar="FILE", help="Those of the dev treebank.", rich_help_panel=DATA),
]
TrainSeed = Annotated[
    int,
    typer.Option(
        envvar="DEPKIT_SEED",
        min=0,
        max=2**31,
        help="Of everything random.",
        rich_help_panel=TRAINING,
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="At most so many epochs of a training.",
        rich_help_panel=TRAINING,
    ),
]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Stop a training after so many epochs without a gain.",
        rich_help_panel=TRAINING,
    ),
]
MaxTime = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Stop training after this time, e.g. 90s, 10m, 2h; calibration comes after it.",
        rich_help_panel=TRAINING,
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the run in the output.", rich_help_panel=TRAINING),
]
KeepState = Annotated[
    bool,
    typer.Option(
        "--keep-state",
        help="Keep the optimiser's state at the end, so that --resume can go on with more epochs;"
        " it is several times as large as the model.",
        rich_help_panel=TRAINING,
    ),
]

Subtypes = Literal["keep", "drop"]
TableFormat = Literal["text", "json", "latex", "markdown", "csv"]
Punct = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="Which gold words to leave out: keep (none), ptb (XPOS `` '' : , .), ptb7 (also"
        " -LRB- -RRB-), ctb (XPOS PU), unicode (forms all punctuation, as the CoNLL scripts),"
        " upos (PUNCT), deprel (punct), or tags:A,B,... of XPOS.",
        rich_help_panel=DATA,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        envvar="DEPKIT_SEED",
        min=0,
        help="Of the random numbers in intervals and tests.",
        rich_help_panel=ANALYSIS,
    ),
]
Format = Annotated[
    TableFormat | None,
    typer.Option("--format", help="How to print.", show_default="text", rich_help_panel=OUTPUT),
]
JsonFlag = Annotated[
    bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=OUTPUT)
]


def chosen_format(format: TableFormat | None, as_json: bool) -> TableFormat:
    """What --format and --json say together."""
    if as_json and format not in (None, "json"):
        raise typer.BadParameter(f"contradicts --format {format}", param_hint="--json")
    return "json" if as_json else format or "text"


def check_inputs(files: Sequence[str], quiet: bool) -> None:
    """Check the use of standard input, and note how to end it if it is a keyboard.

    files: all files to be read. Call this after all other checks of the command line, so that the
    note is printed only if the command goes on. Raises BadParameter if `-` is named twice.
    """
    if list(files).count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    if "-" in files and sys.stdin and sys.stdin.isatty():
        noting(quiet)("reading from the keyboard; press Ctrl-D to end")


def check_punct(punct: str) -> None:
    """Raises BadParameter for a --punct that does not exist, before any file is opened."""
    from depkit.score.punctuation import policy

    try:
        policy(punct)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--punct") from None


def noting(quiet: bool) -> Callable[[str], None]:
    """What prints notes on stderr, or nothing."""

    def note(text: str) -> None:
        if not quiet:
            typer.echo(f"depkit: note: {text}", err=True)

    return note


def progress_bars(quiet: bool, files: Sequence[str], output: str = "") -> "ProgressBars":
    """Progress bars on stderr; none if input is typed, or output printed, on the terminal.

    files: the input; output: the file to write, "" if that is not stdout.
    """
    from depkit.drawing.progress import ProgressBars

    typed = "-" in files and sys.stdin is not None and sys.stdin.isatty()
    written = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    return ProgressBars(quiet or typed or written)


def print_speed(sentences: int, words: int, seconds: float) -> None:
    """What --verbose says of a run over files."""
    speed = f"{words / max(seconds, 1e-9):,.0f} words/s"
    typer.echo(f"{sentences:,} sentences, {words:,} words in {seconds:.1f} s ({speed})", err=True)
