"""Options that several commands share, so that they read the same everywhere."""

from typing import Annotated

import typer


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
