"""Options that several commands share, so that they read the same everywhere."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from depkit.cli.help import ANALYSIS, DATA, MACHINE, MODEL, OTHER, OUTPUT, TRAINING, option
from depkit.cli.output import print_message
from depkit.corpus.formats import format_from_filename
from depkit.files.hub import PREFIX
from depkit.files.storage import is_stdout, is_url
from depkit.parsers.engine.names import ENGINE_VARIABLE, EngineName, Precision

if TYPE_CHECKING:
    from depkit.files.progress import ProgressBars
    from depkit.serving.job import Job


# Values of --engine in former versions, which --distribute has now
FORMER_ENGINES = ("processes", "ray")


def _check_encoding(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError:
        raise typer.BadParameter(
            f"there is no encoding {encoding!r}; write for example utf-8, latin-1 or cp1252"
        ) from None
    return encoding


def check_directory(directory: str) -> str:
    """Return the name of a directory to write, after checking that it is on this machine."""
    if is_url(directory):
        raise typer.BadParameter(f"{directory} is a URL; name a directory of this machine")
    return _refuse_stdout(directory)


def _refuse_stdout(directory: str) -> str:
    if directory == "-":
        raise typer.BadParameter("- is stdout, which is one file; name a directory")
    return directory


def _check_engine(context: typer.Context, engine: str) -> str:
    former = FORMER_ENGINES if context.info_name == "parse" else ()
    if engine not in (*get_args(EngineName), *former):
        raise typer.BadParameter(f"{engine!r} is not one of 'auto', 'onnx', 'torch'")
    return engine


def note_renaming(old: str, new: str, quiet: bool) -> None:
    """Print a note that an option has a new name."""
    if not quiet:
        print_message(f"depkit: note: {old} is now called {new}")


def _check_models(context: typer.Context, models: list[str] | None) -> list[str] | None:
    """Split the models of DEPKIT_MODEL at colons, as PATH is split, but not at the colon of `hf:`.

    An empty entry is refused, which would otherwise mean the current directory.
    """
    source = context.get_parameter_source("models")
    if not models or not source or source.name != "ENVIRONMENT":
        return models
    names: list[str] = []
    for name in os.environ["DEPKIT_MODEL"].split(os.pathsep):
        if names and f"{names[-1]}:" == PREFIX:
            names[-1] += f":{name}"
        else:
            names.append(name)
    if "" in names:
        raise typer.BadParameter(
            f"this list of models has an empty entry; {os.pathsep} separates the models"
        )
    return names


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


def has_seed(context: typer.Context) -> bool:
    """Return whether --seed is given on the command line, not by DEPKIT_SEED."""
    source = context.get_parameter_source("seed")
    return source is not None and source.name == "COMMANDLINE"


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
Quiet = Annotated[bool, option(OTHER, "--quiet", "-q")]
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
        " depkit search. Enhanced relations, such as E:nsubj, are searched if it names them.",
        rich_help_panel=DATA,
    ),
]
Device = Annotated[str, option(MACHINE, envvar="DEPKIT_DEVICE", metavar="DEVICE")]
Engine = Annotated[
    str,
    option(MACHINE, envvar=ENGINE_VARIABLE, metavar="ENGINE", callback=_check_engine),
]
PrecisionOption = Annotated[Precision, option(MACHINE, "--precision")]
Threads = Annotated[
    int | None,
    option(MACHINE, envvar="DEPKIT_THREADS", min=1, max=10_000, show_default="all cores"),
]
Models = Annotated[
    list[str] | None,  # not Path, which would make ./de the name of the bundled model de
    option(
        MODEL,
        "--model",
        envvar="DEPKIT_MODEL",
        metavar="MODEL",
        show_default="en-ewt",
        callback=_check_models,
    ),
]
MeanOption = Annotated[
    Literal["arithmetic", "geometric"] | None,
    option(
        MODEL, "--mean", show_default="arithmetic, or the mean chosen when the ensemble was trained"
    ),
]
Input = Annotated[
    Literal["text", "lines", "tokens", "conllu", "conllup", "conllx", "conll09", "ptb", "parquet"]
    | None,
    option(DATA, metavar="FORMAT"),
]
OutputFormat = Annotated[
    Literal["conllu", "conllx", "conll09", "json", "ptb", "parquet"] | None,
    option(OUTPUT, metavar="FORMAT"),
]
Output = Annotated[str, option(OUTPUT, "--output", "-o", metavar="FILE")]
OutputDir = Annotated[str, option(OUTPUT, metavar="DIR", callback=_refuse_stdout)]
Elmo = Annotated[list[str] | None, option(DATA, "--elmo", metavar="FILE")]
BatchTokens = Annotated[
    int | None, option(MACHINE, min=1, show_default="1200 on a CPU, 16000 on a GPU")
]

# Options of the commands that train
TrainFiles = Annotated[
    list[str], typer.Argument(help="Train on the sentences of these treebanks.", metavar="TRAIN")
]
ModelOutput = Annotated[
    str,
    option(
        OUTPUT,
        "--output",
        "-o",
        metavar="DIR",
        help="Write the model into this directory, which must be new or empty, unless an"
        " interrupted training is continued.",
        callback=check_directory,
    ),
]
Dev = Annotated[str, option(DATA, metavar="FILE")]
DevSplit = Annotated[float | None, option(DATA)]
Recipe = Annotated[str, option(MODEL, envvar="DEPKIT_RECIPE", metavar="RECIPE")]
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
    option(
        MODEL,
        "--treebank",
        metavar="NAME",
        show_default="the one with the name of the input file, or else the largest",
    ),
]
Settings = Annotated[list[str] | None, option(MODEL, "--set", metavar="KEY=VALUE")]
TrainElmo = Annotated[
    list[str] | None,
    option(
        DATA,
        "--elmo",
        metavar="FILE",
        help="Read the ELMo vectors of a TRAIN file from this HDF5 file. Give the option once for"
        " each TRAIN file, in the same order.",
    ),
]
DevElmo = Annotated[str, option(DATA, metavar="FILE")]
Parses = Annotated[list[str] | None, option(DATA, "--parses", metavar="FILE")]
DevParses = Annotated[str, option(DATA, metavar="FILE")]
TrainSeed = Annotated[int, option(TRAINING, envvar="DEPKIT_SEED", min=0, max=2**31)]
Epochs = Annotated[int | None, option(TRAINING, min=1, show_default="set by the recipe")]
Patience = Annotated[int | None, option(TRAINING, min=1, show_default="set by the recipe")]
TrainPunct = Annotated[
    str, option(TRAINING, "--punct", metavar="POLICY", show_default="set by the recipe")
]
TrainEvalb = Annotated[
    str,
    option(
        TRAINING,
        "--evalb",
        metavar="PARAMETERS",
        show_default="spmrl if labels have features, as in NP##f=s##, otherwise collins",
    ),
]
MaxTime = Annotated[str, option(TRAINING, metavar="TIME")]
Resume = Annotated[bool, option(TRAINING, "--resume")]
KeepState = Annotated[bool, option(TRAINING, "--keep-state")]
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
    option(
        DATA,
        metavar="POLICY",
        help="Leave these words of the gold file out of the scores as punctuation: keep (none), ptb"
        " (words with the XPOS `` '' : , or .), ptb7 (the same and -LRB- or -RRB-), ctb (XPOS PU),"
        " unicode (forms that consist of punctuation characters, as in the CoNLL scripts), upos"
        " (UPOS PUNCT), deprel (relation punct) or tags:A,B,... (the XPOS A, B, ...).",
    ),
]
Predicted = Annotated[bool, option(DATA, "--predicted")]
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
    option(
        OUTPUT,
        "--format",
        help="Print the tables in this format. In CSV, a text that begins with = + - or @ gets an"
        " apostrophe before it, so that a spreadsheet does not run it as a formula.",
        show_default="text",
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


def overrides_suffix(source: str | None, files: Iterable[str], output: str) -> bool:
    """Return whether --from overrides the suffix of the output, as that of a file to be read."""
    named = format_from_filename(output)
    is_other = bool(source and named and named.name != source)
    return is_other and named in map(format_from_filename, files)


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
    writes_terminal = is_stdout(output) and sys.stdout is not None and sys.stdout.isatty()
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
