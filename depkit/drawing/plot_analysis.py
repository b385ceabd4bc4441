"""Charts of analyses in Python, as `depkit analyze --plot` draws them."""

import os
from collections.abc import Sequence

from depkit.corpus.io import PathLike
from depkit.drawing import plot as drawing
from depkit.files.storage import check_overwriting
from depkit.score.evaluators import Trees, find_evaluator
from depkit.score.mistakes import confusion_matrices
from depkit.score.request import Request, as_tuple
from depkit.score.significance import DEFAULT_SEED


def plot(
    gold: Trees,
    *preds: Trees,
    output: PathLike,
    by: str | Sequence[str] = (),
    bins: str | Sequence[str | None] = (),
    metric: str | None = None,
    measure: str | None = None,
    confusion: str | Sequence[str] = (),
    punct: str = "keep",
    subtypes: str = "keep",
    train: PathLike | None = None,
    seed: int = DEFAULT_SEED,
    encoding: str = "utf-8",
) -> None:
    """Draw the scores of systems in bins, or what they confuse, into an SVG, PNG or PDF file.

    >>> import depkit
    >>> depkit.plot("gold.conllu", "out.conllu", output="a.svg", by="distance")  # doctest: +SKIP

    Args:
        gold: A path or sentences.
        preds: For each system, a path or sentences.
        output: The path of the image, which ends in .svg, .png or .pdf.
        by: A grouping, or several, whose bins are crossed, as for `analyze`.
        bins: As for `analyze`, and so are the arguments that are not explained.
        metric: By default, "LAS".
        measure: "precision", "recall" or "f1"; by default, recall for bins of numbers, else F1.
        confusion: "deprel", "upos", "xpos" or "head" draws a heat map, or several. Bins are then
            drawn, above them, only if there is `by` or `bins`.
        punct: The punctuation policy.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        train: The training treebank, which the groupings "oov" and "frequency" need.
        seed: The seed of the intervals.
        encoding: The encoding of the files.

    Raises:
        ValueError: There is no system, matplotlib is not installed, or the image would replace a
            file that is read.
        ArgumentError, FormatError, OSError: As `analyze`; or the image cannot be written.
    """
    if not preds:
        raise ValueError("plot needs the trees of at least one system, after the gold trees")
    path = os.fspath(output)
    check_overwriting([gold, *preds, train], [path])
    drawing.check_plot_path(path)
    evaluator = find_evaluator([gold, *preds], punct=punct, subtypes=subtypes, encoding=encoding)
    request = Request(
        by=as_tuple(by), bins=as_tuple(bins) or None, metric=metric,
        confusion=as_tuple(confusion), train=train, plot=path, measure=measure, seed=seed,
    )  # fmt: skip
    plan = request.resolve(evaluator)
    request.check(plan, len(preds))
    data = evaluator.read(gold, preds, columns=plan.columns, train=train)
    analyses = [evaluator.analyze(data, view) for view in plan.views]
    matrices = [matrix for kind in plan.confusion for matrix in confusion_matrices(data, kind)]
    drawing.plot([*analyses, *matrices], path, measure, seed)
