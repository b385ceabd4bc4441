"""`depkit report`: compares systems with a gold treebank in one HTML file."""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated

from depkit.cli import options
from depkit.cli.evaluate import EvalbParameters, Gold, Preds, Subtypes
from depkit.cli.help import ANALYSIS, OUTPUT, option
from depkit.cli.names import name_options
from depkit.cli.output import print_message
from depkit.cli.search import make_where
from depkit.corpus.io import read
from depkit.corpus.probabilities import group_trees, tree_rank
from depkit.corpus.sentence import Sentence
from depkit.drawing.report.comparison import make_contents
from depkit.drawing.report.contents import LIMIT
from depkit.drawing.report.page import render_page
from depkit.files.atomic import check_writable
from depkit.files.storage import check_overwriting, is_rereadable
from depkit.files.streams import open_output
from depkit.score.evaluators import find_evaluator


def _read_trees(files: Sequence[str], encoding: str) -> list[list[list[Sentence]]]:
    """Read all trees of each sentence of the files that have several, [] for other files.

    Standard input cannot be read a second time.
    """
    systems: list[list[list[Sentence]]] = []
    for file in files:
        sentences = read(file, encoding=encoding) if is_rereadable(file) else iter(())
        first = next(sentences, None)
        systems.append([])
        if first is not None and tree_rank(first):
            systems[-1] = list(group_trees(chain([first], sentences)))
    return systems


def report_command(
    gold: Gold,
    preds: Preds,
    *,
    output: Annotated[str, option(OUTPUT, "--output", "-o", metavar="FILE")],
    limit_sentences: Annotated[int, option(OUTPUT, min=1)] = LIMIT,
    where: options.Where = "",
    enhanced: Annotated[bool, option(ANALYSIS, "--enhanced")] = False,
    evalb: EvalbParameters = None,
    predicted: options.Predicted = False,
    punct: options.Punct = "keep",
    subtypes: Subtypes = "keep",
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print on stderr how many sentences and MB the page has.")
    ] = False,
) -> None:
    """Write a page that shows where parsers are wrong and where they differ."""
    options.check_punct(punct)
    check_overwriting([gold, *preds, where, evalb], [output])
    options.check_inputs([gold, *preds], quiet)
    check_writable(output)
    evaluator = find_evaluator(
        [gold, *preds], enhanced=enhanced, punct=punct, subtypes=subtypes, predicted=predicted,
        evalb=evalb, encoding=encoding,
    )  # fmt: skip
    evaluator.refuse(where=where)
    selection = make_where(where, options.note_printer(quiet))
    data = evaluator.read(gold, preds, columns=("form",), probabilities=None, where=selection)
    notes = list(map(name_options, evaluator.warnings(data.evaluations)))
    for note in () if quiet else notes:
        print_message(f"depkit: warning: {note}")
    trees = [] if where or evaluator.items != "words" else _read_trees(preds, encoding)
    contents = make_contents(evaluator, data, limit_sentences, notes=notes, trees=trees)
    page = render_page(contents)
    with open_output(output) as stream:
        stream.write(page)
    if verbose and not quiet:
        sentences = contents["sentences"]
        print_message(
            f"{len(sentences['rows']):,} of {sentences['total']:,} sentences,"
            f" {len(page) / 1e6:.1f} MB"
        )
