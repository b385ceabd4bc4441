"""The HTML report in Python, as `depkit report` writes it."""

import os

from depkit.corpus.io import PathLike
from depkit.drawing.report.comparison import make_contents
from depkit.drawing.report.contents import LIMIT
from depkit.drawing.report.page import render_page
from depkit.files.atomic import check_writable
from depkit.files.storage import check_overwriting
from depkit.files.streams import open_output
from depkit.score.evaluators import Trees, find_evaluator


def report(
    gold: Trees,
    *preds: Trees,
    output: PathLike,
    limit_sentences: int = LIMIT,
    enhanced: bool = False,
    punct: str = "keep",
    subtypes: str = "keep",
    evalb: str | None = None,
    predicted: bool = False,
    encoding: str = "utf-8",
) -> None:
    """Write an HTML page that shows where parsers are wrong and where they differ.

    >>> import depkit
    >>> depkit.report("gold.conllu", "parsed.conllu", output="report.html")  # doctest: +SKIP

    Args:
        gold: A path or sentences.
        preds: For each system, a path or sentences.
        output: The path of the page.
        limit_sentences: How many sentences the page contains at most.
        enhanced: Whether to score and draw enhanced dependencies as well.
        punct: As for `evaluate`, and so are the other arguments.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        evalb: For bracketed trees, the parameters of EVALB.
        predicted: Whether to score the automatic columns of CoNLL-09.
        encoding: The encoding of the files.

    Raises:
        ValueError: There is no system, or the page would replace a file that is read.
        ArgumentError, FormatError, OSError: As `evaluate`; or the page cannot be written.
    """
    if not preds:
        raise ValueError("report needs the trees of at least one system, after the gold trees")
    check_overwriting([gold, *preds, evalb], [output])
    check_writable(os.fspath(output))
    evaluator = find_evaluator(
        [gold, *preds], enhanced=enhanced, punct=punct, subtypes=subtypes, predicted=predicted,
        evalb=evalb, encoding=encoding,
    )  # fmt: skip
    data = evaluator.read(gold, preds, columns=("form",), probabilities=None)
    notes = evaluator.warnings(data.evaluations)
    page = render_page(make_contents(evaluator, data, limit_sentences, notes=notes))
    with open_output(output) as stream:
        stream.write(page)
