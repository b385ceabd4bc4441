"""`depkit export`: writes the graphs of a model, with which it is run without torch."""

import os
from itertools import chain, islice
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA, OUTPUT, option
from depkit.cli.output import print_message


def export_command(
    model: Annotated[str, typer.Argument(metavar="MODEL")],
    *,
    sentences: Annotated[list[str] | None, option(DATA, "--sentences", metavar="FILE")] = None,
    output: Annotated[
        str, option(OUTPUT, "--output", "-o", metavar="DIR", callback=options.check_directory)
    ] = "",
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
) -> None:
    """Export a model, so that it is parsed with ONNX Runtime and without torch."""
    from depkit.corpus.io import read
    from depkit.files.errors import DataError
    from depkit.parsers.export import NUM_SENTENCES, export_model

    files = (read(file, encoding=encoding) for file in sentences or ())
    first = list(islice(chain.from_iterable(files), NUM_SENTENCES))
    if sentences and not first:
        raise DataError(f"{', '.join(sentences)}: there are no sentences")
    say = None if quiet else print_message
    paths = export_model(model, first, output or None, say=say)
    if not quiet:
        folder = output or os.path.commonpath([path.parent for path in paths])
        names = ", ".join(os.path.relpath(path, folder) for path in paths)
        print_message(f"wrote {names} in {folder}")
