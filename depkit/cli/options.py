"""Options that several commands share, so that they read the same everywhere."""

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from depkit.score.punctuation import policy


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from None
    return encoding


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on stderr.")]
Encoding = Annotated[
    str,
    typer.Option(
        envvar="DEPKIT_ENCODING", help="The input files' encoding, e.g. latin-1.", callback=_known
    ),
]
Device = Annotated[
    str, typer.Option(envvar="DEPKIT_DEVICE", help="auto, cpu, cuda, cuda:N or mps.")
]
Threads = Annotated[
    int | None,
    typer.Option(envvar="DEPKIT_THREADS", min=1, help="CPU threads; all cores if not given."),
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
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the random numbers in intervals and tests.")]
Format = Annotated[
    TableFormat | None, typer.Option("--format", help="How to print.", show_default="text")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def chosen_format(format: TableFormat | None, as_json: bool) -> TableFormat:
    """What --format and --json say together."""
    if as_json and format not in (None, "json"):
        raise typer.BadParameter(f"contradicts --format {format}", param_hint="--json")
    return "json" if as_json else format or "text"


def check_inputs(files: Sequence[str], punct: str) -> None:
    """What is wrong with the files and --punct themselves, before a file is opened."""
    if list(files).count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    try:
        policy(punct)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--punct") from None
