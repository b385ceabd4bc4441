"""Options that several commands share, so that they read the same everywhere."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from depkit.cli.help import ANALYSIS, DATA, MACHINE, MODEL, OTHER, OUTPUT, TRAINING
from depkit.cli.output import print_message
from depkit.files.storage import is_url

if TYPE_CHECKING:
    from depkit.files.progress import ProgressBars
    from depkit.serving.job import Job


def _check_encoding(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError:
        raise typer.BadParameter(
            f"there is no encoding {encoding!r}; write for example utf-8, latin-1 or cp1252"
        ) from None
    return encoding


def _refuse_url(directory: str) -> str:
    if is_url(directory):
        raise typer.BadParameter(f"{directory} is a URL; name a directory of this machine")
    return directory


def _check_models(context: typer.Context, models: list[Path] | None) -> list[Path] | None:
    """Refuse an empty entry in DEPKIT_MODEL, which would otherwise mean the current directory."""
    source = context.get_parameter_source("models")
    if models and source and source.name == "ENVIRONMENT":
        if "" in os.environ["DEPKIT_MODEL"].split(os.pathsep):
            raise typer.BadParameter(
                f"this list of models has an empty entry; {os.pathsep} separates the models"
            )
    return models


def verbose_flag(help: str) -> Any:
    """Return the option --verbose with a command's own help."""
    return typer.Option("--verbose", "-v", help=help, rich_help_panel=OTHER)


def seed_option(users: str) -> Any:
    """Return the option --seed of a command; users: the options that need random numbers."""
    return typer.Option(
        envvar="DEPKIT_SEED",
        min=0,
        help=f"Use this seed for the random numbers of {users}.",
        rich_help_panel=ANALYSIS,
    )


def _encoding_option(help: str) -> Any:
    return typer.Option(
        envvar="DEPKIT_ENCODING",
        metavar="ENCODING",
        help=help,
        callback=_check_encoding,
        rich_help_panel=DATA,
    )


# Every option or argument of string type has a metavar that says what it takes. OFFERS in
# pages/inventory.py lists all metavars, with what shells can complete for them.
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print nothing on stderr except errors.", rich_help_panel=OTHER
    ),
]
Encoding = Annotated[
    str, _encoding_option("Read the input files in this text encoding, e.g. latin-1.")
]
# The option of commands that write treebanks in the encoding in which they read them
EncodingOfTreebanks = Annotated[
    str,
    _encoding_option(
        "Read the input files in this text encoding, e.g. latin-1. Treebanks are written in the"
        " encoding in which they are read; parses of raw text, and JSON, are written in UTF-8."
    ),
]
Where = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="PATTERN",
        help="Use only the sentences that match this pattern, or the pattern in this file; see"
        " depkit search.",
        rich_help_panel=DATA,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_DEVICE",
        metavar="DEVICE",
        help="Compute on this device: auto (a GPU if there is one, else the CPU), cpu, cuda,"
        " cuda:N (the GPU with number N, from 0) or mps (the GPU of an Apple computer).",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        envvar="DEPKIT_THREADS",
        min=1,
        max=10_000,
        help="Use this many CPU threads.",
        show_default="all cores",
        rich_help_panel=MACHINE,
    ),
]
Models = Annotated[
    list[Path] | None,  # the type Path makes Typer split DEPKIT_MODEL as PATH is split
    typer.Option(
        "--model",
        envvar="DEPKIT_MODEL",
        metavar="MODEL",
        help="Use this model: a model directory, or the name of a bundled model. Give the option"
        " several times to average the probabilities of several models.",
        show_default="en-ewt",
        callback=_check_models,
        rich_help_panel=MODEL,
    ),
]
MeanOption = Annotated[
    Literal["arithmetic", "geometric"] | None,
    typer.Option(
        "--mean",
        help="Average the probabilities of several models, or of an ensemble's members, with this"
        " mean.",
        show_default="arithmetic, or the mean chosen when the ensemble was trained",
        rich_help_panel=MODEL,
    ),
]
Input = Annotated[
    Literal["text", "lines", "tokens", "conllu", "conllup", "conllx", "conll09", "ptb", "parquet"]
    | None,
    typer.Option(
        metavar="FORMAT",
        help="Read the input in this format: text (running text), lines (one sentence per line),"
        " tokens (one sentence per line, tokens separated by spaces), conllu, conllup (CoNLL-U with"
        " further columns), conllx, conll09, ptb (bracketed trees) or parquet. By default, CoNLL"
        " formats, bracketed trees and Parquet are recognised by the file's name or content, and"
        " everything else is read as text.",
        rich_help_panel=DATA,
    ),
]
OutputFormat = Annotated[
    Literal["conllu", "conllx", "conll09", "json", "ptb", "parquet"] | None,
    typer.Option(
        metavar="FORMAT",
        help="Write the output in this format: conllu, conllx, conll09, json (one line per"
        " sentence, with character offsets), ptb (one bracketed tree per line, which is what"
        " constituency parsers write by default) or parquet (one row per sentence). By default,"
        " CoNLL files keep their format, text becomes conllu, and -o FILE.parquet is parquet."
        " If the format changes, the sentences are converted as by depkit convert.",
        rich_help_panel=OUTPUT,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the output to this file; - is stdout.",
        rich_help_panel=OUTPUT,
    ),
]
OutputDir = Annotated[
    str,
    typer.Option(
        metavar="DIR",
        help="Write one output file for each input file into this directory, under the input"
        " file's name; only the suffix changes with the format.",
        rich_help_panel=OUTPUT,
    ),
]
Elmo = Annotated[
    list[str] | None,
    typer.Option(
        "--elmo",
        metavar="FILE",
        help="Read the ELMo vectors of an input file from this HDF5 file, for a model that needs"
        " them. Give the option once for each input file, in the same order.",
        rich_help_panel=DATA,
    ),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Process at most this many words at once, padding included. Larger batches need more"
        " memory.",
        show_default="1200 on a CPU, 4000 on a GPU",
        rich_help_panel=MACHINE,
    ),
]

# Options of the commands that train
TrainFiles = Annotated[
    list[str], typer.Argument(help="Train on the sentences of these treebanks.", metavar="TRAIN")
]
ModelOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Write the model into this directory, which must be new or empty, unless an"
        " interrupted training is continued.",
        callback=_refuse_url,
        rich_help_panel=OUTPUT,
    ),
]
Dev = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Choose the best epoch by the score on this development treebank.",
        rich_help_panel=DATA,
    ),
]
DevSplit = Annotated[
    float | None,
    typer.Option(
        help="If you have no development treebank, hold out this share of the training sentences"
        " instead, e.g. 0.1 for every tenth sentence.",
        rich_help_panel=DATA,
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_RECIPE",
        metavar="RECIPE",
        help="Train with this recipe, a set of settings that comes with depkit: selfatt, bilstm,"
        " small and others. The command depkit info lists all recipes. A TOML file (NAME.toml)"
        " changes settings of the recipe that it names as base, or else of selfatt.",
        rich_help_panel=MODEL,
    ),
]
Config = Annotated[  # older than recipe files, which can do the same
    str,
    typer.Option(
        metavar="FILE",
        help="Read settings from this TOML file. They override those of the recipe.",
        hidden=True,
        rich_help_panel=MODEL,
    ),
]
Treebank = Annotated[
    str,
    typer.Option(
        "--treebank",
        metavar="NAME",
        help="Annotate like this treebank, if the model was trained on several with"
        " inputs.treebank.",
        show_default="the one with the name of the input file, or else the largest",
        rich_help_panel=MODEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one setting of the recipe, e.g. encoder.layers=4. The option can be given"
        " several times. depkit train --help explains important settings.",
        rich_help_panel=MODEL,
    ),
]
TrainElmo = Annotated[
    list[str] | None,
    typer.Option(
        "--elmo",
        metavar="FILE",
        help="Read the ELMo vectors of a TRAIN file from this HDF5 file. Give the option once for"
        " each TRAIN file, in the same order.",
        rich_help_panel=DATA,
    ),
]
DevElmo = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Read the ELMo vectors of the --dev treebank from this HDF5 file.",
        rich_help_panel=DATA,
    ),
]
Parses = Annotated[
    list[str] | None,
    typer.Option(
        "--parses",
        metavar="FILE",
        help="Train a parser to correct the trees of this file, which are parses of a TRAIN file."
        " Give the option once for each TRAIN file, in the same order, together with --recipe"
        " refine.",
        rich_help_panel=DATA,
    ),
]
DevParses = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Correct the trees of this file, which are parses of the --dev treebank.",
        rich_help_panel=DATA,
    ),
]
TrainSeed = Annotated[
    int,
    typer.Option(
        envvar="DEPKIT_SEED",
        min=0,
        max=2**31,
        help="Use this seed for all random numbers, for example initial weights and the order of"
        " sentences.",
        rich_help_panel=TRAINING,
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Train for at most this many epochs.",
        show_default="set by the recipe",
        rich_help_panel=TRAINING,
    ),
]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Stop training when this many epochs in a row have not improved the dev score.",
        show_default="set by the recipe",
        rich_help_panel=TRAINING,
    ),
]
TrainPunct = Annotated[
    str,
    typer.Option(
        "--punct",
        metavar="POLICY",
        help="Leave the words that this policy selects as punctuation out of the dev scores."
        " depkit eval --help lists the policies (--punct).",
        show_default="set by the recipe",
        rich_help_panel=TRAINING,
    ),
]
TrainEvalb = Annotated[
    str,
    typer.Option(
        "--evalb",
        metavar="PARAMETERS",
        help="Score bracketed dev trees with these parameters of EVALB: collins, nk, new, spmrl, or"
        " the name of a parameter file (.prm).",
        show_default="spmrl if labels have features, as in NP##f=s##, otherwise collins",
        rich_help_panel=TRAINING,
    ),
]
MaxTime = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Stop training a model after this time, e.g. 90s, 10m or 2h. The calibration that"
        " follows the training takes additional time.",
        rich_help_panel=TRAINING,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted training in the output directory.",
        rich_help_panel=TRAINING,
    ),
]
KeepState = Annotated[
    bool,
    typer.Option(
        "--keep-state",
        help="Keep the optimiser's state when the training is finished, so that it can be resumed"
        " with more epochs. The state is several times as large as the model.",
        rich_help_panel=TRAINING,
    ),
]
TrainVerbose = Annotated[bool, verbose_flag("Print all settings of the training on stderr.")]
VerboseSpeed = Annotated[
    bool, verbose_flag("Print the number of words and the speed on stderr at the end.")
]

Subtypes = Literal["keep", "drop"]
TableFormat = Literal["text", "json", "latex", "markdown", "csv"]
SUBTYPES_HELP = (
    "Choose drop to ignore the subtypes of relations, so that nsubj:pass counts as nsubj."
)
Punct = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="Leave these words of the gold file out of the scores as punctuation: keep (none), ptb"
        " (words with the XPOS `` '' : , or .), ptb7 (the same and -LRB- or -RRB-), ctb (XPOS PU),"
        " unicode (forms that consist of punctuation characters, as in the CoNLL scripts), upos"
        " (UPOS PUNCT), deprel (relation punct) or tags:A,B,... (the XPOS A, B, ...).",
        rich_help_panel=DATA,
    ),
]
Predicted = Annotated[
    bool,
    typer.Option(
        "--predicted",
        help="Score PHEAD, PDEPREL and the other columns with predicted values of CoNLL-09 PRED"
        " files, instead of HEAD, DEPREL, LEMMA, POS and FEAT.",
        rich_help_panel=DATA,
    ),
]
From = Annotated[
    Literal["conllu", "conllup", "conllx", "conll09", "ptb", "parquet"] | None,
    typer.Option(
        "--from",
        help="Read the files in this format; conllup is CoNLL-U with further columns, and ptb the"
        " bracketed format of the Penn Treebank.",
        show_default="recognised by the file's name or content",
        rich_help_panel=DATA,
    ),
]
Format = Annotated[
    TableFormat | None,
    typer.Option(
        "--format",
        help="Print the tables in this format. In CSV, a text that begins with = + - or @ gets an"
        " apostrophe before it, so that a spreadsheet does not run it as a formula.",
        show_default="text",
        rich_help_panel=OUTPUT,
    ),
]
JsonFlag = Annotated[  # an older name of --format json
    bool,
    typer.Option("--json", help="The same as --format json.", hidden=True, rich_help_panel=OUTPUT),
]


def resolve_format(format: TableFormat | None, as_json: bool) -> TableFormat:
    """Return the format for --format and --json; raise BadParameter if they contradict."""
    if as_json and format not in (None, "json"):
        raise typer.BadParameter(
            f"it contradicts --format {format}; give one of the two", param_hint="--json"
        )
    return "json" if as_json else format or "text"


def treebank_settings(treebank: str) -> list[str]:
    """Return the settings of a loaded model that the option --treebank stands for."""
    return [f"inputs.treebank_name={json.dumps(treebank)}"] if treebank else []


def check_inputs(files: Sequence[str], quiet: bool) -> None:
    """Check the use of standard input, and print a note on how to end keyboard input.

    Call this after all other checks of the command line, so that the note is printed only if the
    command continues. Raises BadParameter if `-` is named twice.

    files: all files that the command reads.
    """
    if list(files).count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    if "-" in files and sys.stdin and sys.stdin.isatty():
        note_printer(quiet)("the input is read from the keyboard; press Ctrl-D to end it")


def check_punct(punct: str) -> None:
    """Raise BadParameter for a --punct that does not exist, before any file is opened."""
    from depkit.score.punctuation import parse_policy

    try:
        parse_policy(punct)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--punct") from None


def check_training(files: Sequence[str], punct: str, quiet: bool) -> None:
    """Check the files that a training reads, as `check_inputs` does, and the option --punct."""
    check_inputs(files, quiet)
    check_punct(punct or "keep")


@contextmanager
def note_interruption(advice: str, quiet: bool) -> Iterator[None]:
    """Print advice on how to resume if Ctrl-C interrupts the body of the with statement."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            print_message(f"depkit: note: the run was interrupted; {advice}")
        raise


def note_printer(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints notes on stderr, or does nothing if quiet."""

    def print_note(text: str) -> None:
        if not quiet:
            print_message(f"depkit: note: {text}")

    return print_note


def progress_bars(quiet: bool, files: Sequence[str], output: str = "") -> "ProgressBars":
    """Return progress bars on stderr; none are drawn if input or output use the terminal.

    Args:
        quiet: Whether the user wants no progress bars.
        files: The files to read.
        output: The file to write; "" if the output does not go to stdout.
    """
    from depkit.files.progress import ProgressBars

    reads_keyboard = "-" in files and sys.stdin is not None and sys.stdin.isatty()
    writes_terminal = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    return ProgressBars(quiet or reads_keyboard or writes_terminal)


def annotate(job: "Job", quiet: bool, verbose: bool) -> None:
    """Parse or tag files; if verbose, print how many sentences and words, and how fast."""
    check_inputs(job.files, quiet)

    from depkit.serving.files import annotate_files

    bars = progress_bars(quiet, job.files, "" if job.output_dir else job.output)
    totals = annotate_files(job, note_printer(quiet), bars)
    if verbose and not quiet:
        print_message(
            f"{totals.sentences:,} sentences, {totals.words:,} words in {totals.seconds:.1f} s"
            f" ({totals.words / max(totals.seconds, 1e-9):,.0f} words/s)"
        )
