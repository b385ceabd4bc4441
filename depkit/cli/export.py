"""`depkit export`: writes the graphs of a model, with which it is run without torch."""

from itertools import chain
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.help import DATA, OUTPUT, option
from depkit.cli.output import print_message


def export_command(
    model: Annotated[str, typer.Argument(metavar="MODEL")],
    *,
    sentences: Annotated[list[str] | None, option(DATA, "--sentences", metavar="FILE")] = None,
    output: Annotated[str, option(OUTPUT, "--output", "-o", metavar="DIR")] = "",
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
) -> None:
    """Export a model, so that it is parsed with ONNX Runtime and without torch."""
    from depkit.corpus.io import read
    from depkit.parsers.export import export_model

    files = (read(file, encoding=encoding) for file in sentences or ())
    paths = export_model(model, chain.from_iterable(files), output or None)
    if not quiet:
        names = ", ".join(path.name for path in paths)
        print_message(f"wrote {names} in {paths[0].parent}")
