"""`depkit report`: compares systems with a gold treebank in one HTML file."""

from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.evaluate import (
    NO_PUNCT,
    NO_SUBTYPES,
    EvalbParameters,
    Gold,
    are_bracketed,
    describe_tree_warnings,
    describe_warnings,
    find_parameters,
    refuse_options,
)
from depkit.cli.help import DATA, OUTPUT
from depkit.cli.output import print_message
from depkit.drawing.report import constituents, dependencies
from depkit.drawing.report.contents import LIMIT
from depkit.drawing.report.page import render_page
from depkit.files.atomic import check_writable
from depkit.files.streams import open_output
from depkit.score.analysis import read_data
from depkit.score.constituents import read_tree_data


def report_command(
    gold: Gold,
    preds: Annotated[
        list[str],
        typer.Argument(
            metavar="PRED",
            help="Compare these parsed files, which have the same words as GOLD. The first one is"
            " the baseline of comparisons.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the page to this file, e.g. report.html; - is stdout.",
            rich_help_panel=OUTPUT,
        ),
    ],
    limit_sentences: Annotated[
        int,
        typer.Option(
            min=1,
            help="Put at most this many sentences into the page, spread evenly over the treebank."
            " All scores are computed from all sentences.",
            rich_help_panel=OUTPUT,
        ),
    ] = LIMIT,
    evalb_parameters: EvalbParameters = None,
    predicted: options.Predicted = False,
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes, typer.Option(help=options.SUBTYPES_HELP, rich_help_panel=DATA)
    ] = "keep",
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print on stderr how many sentences and MB the page has.")
    ] = False,
) -> None:
    """Write a page that shows where parsers are wrong and where they differ.

    The page is a single HTML file for a browser. It needs no network and can be sent by mail or
    printed. It contains the scores of depkit eval with confidence intervals and tests of
    significance; curves by distance, sentence length and depth; tables by relation and tag; the
    confusions of relations; the calibration of files written by depkit parse --prob; the agreement
    of two or more systems; and the sentences, with the trees of gold and systems.

    For bracketed trees, as in the Penn Treebank, the scores are those of EVALB (--evalb), the
    curves and tables are by the length, depth and label of constituents, and the drawings show the
    constituents that are scored. The page then has no confusions, calibration or agreement.

    A click on a confusion opens its sentences. They can also be searched by relation, kind of
    error, distance and words, or by which of two systems is right. The address of the page then
    contains the search, so a link to it can be shared.

    Example: depkit report gold.conllu baseline.conllu new.conllu -o report.html
    """
    options.check_punct(punct)
    options.check_inputs([gold, *preds], quiet)
    check_writable(output)
    if are_bracketed([gold, *preds], evalb_parameters, encoding):
        refuse_options(
            {
                "--predicted": predicted and options.NO_PREDICTED,
                "--punct": punct != "keep" and NO_PUNCT,
                "--subtypes": subtypes != "keep" and NO_SUBTYPES,
            }
        )
        parameters = find_parameters(evalb_parameters or "collins")
        trees = read_tree_data(gold, preds, parameters, encoding)
        notes = describe_tree_warnings(trees.evaluations)
        contents = constituents.make_contents(gold, trees, limit_sentences, notes=notes)
    else:
        columns = dependencies.COLUMNS
        data = read_data(
            gold, preds, columns, punct, subtypes, encoding, None, None, predicted=predicted
        )
        notes = describe_warnings(data.evaluations)
        contents = dependencies.make_contents(data, limit_sentences, notes=notes)
    for note in () if quiet else notes:
        print_message(f"depkit: warning: {note}")
    page = render_page(contents)
    with open_output(output) as stream:
        stream.write(page)
    if verbose and not quiet:
        sentences = contents["sentences"]
        print_message(
            f"{len(sentences['rows']):,} of {sentences['total']:,} sentences,"
            f" {len(page) / 1e6:.1f} MB"
        )
