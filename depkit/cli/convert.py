"""`depkit convert`: converts treebanks from one format to another."""

import os
from typing import Annotated, Literal

import typer

from depkit.cli.help import DATA, OUTPUT, option
from depkit.cli.names import ENCODING, name_options
from depkit.cli.options import Encoding, From, Quiet, check_inputs, progress_bars, verbose_flag
from depkit.cli.output import print_message, print_output
from depkit.convert.enhance.request import resolve_conventions
from depkit.convert.files import Conversion, EmptyNodes, Problems, convert_files, name_format
from depkit.convert.formats import ConversionReport
from depkit.corpus.formats import CONLL09, CONLLU, FORMATS, PARQUET, PTB, format_from_filename
from depkit.corpus.parquet.arrow import import_pyarrow
from depkit.files.compression import check_output_suffix
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting, is_stdout, is_url

OUTPUT_FORMATS = FORMATS | {PARQUET.name: PARQUET}


def _print_rules(value: bool) -> None:
    """Print the tables of rules on stdout and exit, if --rules is given."""
    if value:
        from depkit.convert.converter import TABLES, read_table

        print_output("\n".join(map(read_table, TABLES)).rstrip())
        raise typer.Exit


Target = Annotated[
    Literal["conllx", "conll09", "conllu", "conllup", "parquet"] | None,
    option(
        OUTPUT,
        "--to",
        help="Write the output in this format.",
        show_default="the format of the output file's name; if it has none, that of ORIGINAL"
        " with --merge, and for Penn trees conllx (conllu with --dependencies ud or ud2)",
    ),
]


def convert_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="IN", help="Convert these files, one after another; - is stdin."),
    ],
    output: Annotated[str, option(OUTPUT, "--output", "-o", metavar="FILE")] = "-",
    source: From = None,
    target: Target = None,
    dependencies: Annotated[
        Literal["sd", "ud", "ud2"] | None, option(OUTPUT, show_default="sd")
    ] = None,
    rules: Annotated[bool, option(OUTPUT, "--rules", is_eager=True, callback=_print_rules)] = False,
    tags: Annotated[str, option(DATA, metavar="FILE")] = "",
    predicted: Annotated[bool, option(DATA, "--predicted")] = False,
    original: Annotated[str, option(DATA, "--merge", metavar="ORIGINAL")] = "",
    merge_tags: Annotated[bool, option(DATA, "--merge-tags")] = False,
    enhance: Annotated[str, option(OUTPUT, metavar="TYPE,...")] = "",
    enhance_like: Annotated[str, option(OUTPUT, metavar="TREEBANK")] = "",
    empty_nodes: Annotated[EmptyNodes | None, option(OUTPUT)] = None,
    strict: Annotated[bool, option(DATA, "--strict")] = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print the number of converted sentences on stderr.")
    ] = False,
) -> None:
    """Convert Penn trees to dependencies, and treebanks between formats; enhance dependencies."""
    format_names = {source or name_format(path) for path in files}
    inputs = [*files, *filter(None, [original, tags])]
    check_output_suffix(output)
    check_overwriting([*inputs, enhance_like], [output])
    if merge_tags and not original:
        raise typer.BadParameter("it needs --merge as well", param_hint="--merge-tags")
    if dependencies and not format_names & {PTB.name, None}:
        raise typer.BadParameter("it needs Penn trees as input", param_hint="--dependencies")
    format = OUTPUT_FORMATS[target] if target else format_from_filename(output)
    if format is PTB:
        message = "nothing can be converted to bracketed trees; choose a file name without .mrg"
        raise typer.BadParameter(f"{message} or .ptb, or give --to", param_hint="-o")
    is_universal = dependencies in ("ud", "ud2")
    if format_names == {PTB.name} and is_universal and not (format or original):
        format = CONLLU
    known_formats = {*format_names, *([name_format(original)] if original else [])}
    known_formats |= {format.name} if format else set()
    if predicted and not known_formats & {CONLL09.name, None}:
        message = "it needs a file in CoNLL-09, or --to conll09"
        raise typer.BadParameter(message, param_hint="--predicted")
    conventions = None
    if enhance or enhance_like:
        conventions = resolve_conventions(enhance_like, enhance.split(",") * bool(enhance))
    if conventions and PTB.name in format_names and not is_universal:
        message = "for Penn trees, it needs --dependencies ud or --dependencies ud2"
        raise typer.BadParameter(message, param_hint="--enhance")
    if (conventions or empty_nodes) and format not in (CONLLU, PARQUET):
        option = "--empty-nodes" if conventions is None else "--enhance"
        raise typer.BadParameter("it needs --to conllu or --to parquet", param_hint=option)
    if format is PARQUET:
        import_pyarrow()
    if not (format or original or format_names == {PTB.name}):
        for file in files:
            if file != "-" and not is_url(file):
                os.stat(file)  # raises an error if there is no such file
        problem = (
            ""
            if is_stdout(output)
            else f"the name {output} does not end like a file of a format that can be written; "
        )
        raise typer.BadParameter(
            f"{problem}choose conllx, conll09, conllu, conllup or parquet, or give -o a file name"
            " with one of these endings",
            param_hint="--to",
        )
    check_inputs(inputs, quiet)

    job = Conversion(
        files, output=output, source=source, format=format, dependencies=dependencies or "sd",
        tags=tags, predicted=predicted, original=original, merge_tags=merge_tags,
        conventions=conventions, empty_nodes=empty_nodes, encoding=encoding,
    )  # fmt: skip
    problems = Problems(
        strict, lambda text: print_message(f"depkit: error: {name_options(text, ENCODING)}")
    )
    report = None if quiet else ConversionReport()
    with reading_bar(progress_bars(quiet, inputs, output), "converting", inputs):
        count = convert_files(job, problems, report)
    for note in report.notes(job.target.name if job.target else "") if report else []:
        print_message(f"depkit: note: {note}")
    if report and predicted and not (report.has_automatic or format is CONLL09):
        print_message("depkit: note: --predicted has no effect: no sentence is in CoNLL-09")
    if verbose and not quiet:
        print_message(f"{count:,} sentences")
    if problems.finish():
        raise typer.Exit(1)
