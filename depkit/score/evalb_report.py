"""The report of EVALB, with the same characters."""

from collections.abc import Iterator, Sequence

import numpy as np

from depkit.score.evalb import TreeEvaluation

_HEADER = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
"""
_LINE = "=" * 76 + "\n"


def format_report(evaluation: TreeEvaluation) -> str:
    """Return the report of EVALB: a row for each sentence, and two summaries.

    The second summary is of the sentences up to the length that the parameters name. The lines that
    EVALB prints on stderr come first. Rounding is the same as well: F1 is computed from precision
    and recall.
    """
    counts = dict(zip(evaluation.columns, evaluation.counts.T, strict=True))
    errors = [f"{number} : {text}\n" for number, text in evaluation.problems.items()]
    names = ("words", "errors", "skipped", "matched", "gold", "predicted", "crossings", "scored",
             "tags")  # fmt: skip
    table = zip(*(counts[name].tolist() for name in names), strict=True)
    rows = [
        f"{number:4d}  {length:3d}    {1 if error else 2 * skipped}  {_format_figures(figures)}\n"
        for number, (length, error, skipped, *figures) in enumerate(table, start=1)
    ]
    totals = {name: int(column.sum()) for name, column in counts.items()}
    matched, gold, predicted = (totals[name] for name in ("matched", "gold", "predicted"))
    percents = f"{_percent(matched, gold)} {_percent(matched, predicted)}"
    total = f"{matched:6d} {gold:5d} {predicted:5d}  {totals['crossings']:5d}"
    tags = (
        f"{totals['scored']:5d} {totals['tags']:5d}   {_percent(totals['tags'], totals['scored'])}"
    )
    sum_row = f"{'':16}{percents} {total}  {tags}\n" if gold and predicted else f"  {tags}\n"
    cutoff = evaluation.parameters.cutoff
    is_short = counts["words"] <= cutoff
    short = {name: int(column[is_short].sum()) for name, column in counts.items()}
    return "".join(
        [
            *errors, _HEADER, _LINE, *rows, _LINE, sum_row, "=== Summary ===\n",
            "\n-- All --\n", *_summary(totals), f"\n-- len<={cutoff} --\n", *_summary(short),
        ]
    )  # fmt: skip


def _format_figures(figures: Sequence[int]) -> str:
    matched, gold, predicted, crossings, words, tags = figures
    return (
        f"{_percent(matched, gold)} {_percent(matched, predicted)}   {matched:3d}    {gold:3d}"
        f"  {predicted:3d}    {crossings:3d}   {words:4d}  {tags:4d}   {_percent(tags, words)}"
    )


def _percent(part: int, whole: int, scale: float = 100.0) -> str:
    return f"{scale * part / whole if whole else 0.0:6.2f}"


def _summary(totals: dict[str, int]) -> Iterator[str]:
    """Yield the lines of a summary."""
    matched, valid = totals["matched"], totals["valid"]
    recall = 100.0 * matched / totals["gold"] if totals["gold"] else 0.0
    precision = 100.0 * matched / totals["predicted"] if totals["predicted"] else 0.0
    f1 = 2 * precision * recall / (precision + recall) if matched else np.nan
    figures = {
        "Number of sentence": f"{totals['sentences']:6d}",
        "Number of Error sentence": f"{totals['errors']:6d}",
        "Number of Skip  sentence": f"{totals['skipped']:6d}",
        "Number of Valid sentence": f"{valid:6d}",
        "Bracketing Recall": f"{recall:6.2f}",
        "Bracketing Precision": f"{precision:6.2f}",
        "Bracketing FMeasure": f"{f1:6.2f}",
        "Complete match": _percent(totals["complete"], valid),
        "Average crossing": _percent(totals["crossings"], valid, 1.0),
        "No crossing": _percent(totals["no_crossing"], valid),
        "2 or less crossing": _percent(totals["few_crossings"], valid),
        "Tagging accuracy": _percent(totals["tags"], totals["scored"]),
    }
    for name, figure in figures.items():
        yield f"{name:25} = {figure}\n"
