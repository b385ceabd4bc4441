"""The ways to compare trees: by words, by aligned words, or by the brackets of constituents.

`find_evaluator` chooses one by what the files contain. An evaluator is the comparison with its
options: it says which options it cannot have, scores and analyzes systems, and warns.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from depkit.corpus.io import PathLike, is_bracketed_file
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_universal
from depkit.files.errors import ArgumentError, FormatError
from depkit.score import analysis, attachment, conll18, constituents, enhanced, evalb
from depkit.score.analysis import PRESETS, RELATION_METRICS, Analysis, View
from depkit.score.evalb_parameters import BUILT_IN, Parameters, get_parameters
from depkit.score.evalb_report import format_report
from depkit.score.evaluation import Evaluation, Metric, find_metric
from depkit.score.groupings import GROUPINGS, Grouping
from depkit.score.punctuation import parse_policy
from depkit.score.significance import DEFAULT_SEED, choices, compare_systems, intervals
from depkit.score.words import DEPS

Trees = PathLike | Sentence | Iterable[Sentence]
_MAX_LISTED = 10  # numbers of trees that a warning lists


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """A comparison of systems with gold trees.

    Attributes:
        items: What is compared, "words" or "constituents".
        metrics: The metrics by name.
        refused: For each argument that has no effect, why. `test` is refused for "mcnemar" only.
        groupings, analysis_metrics: What an analysis can group by, and count as correct.
        default_grouping: The grouping of an analysis if none is named.
        presets: The analyses that have names.
        enhanced: Whether enhanced dependencies are scored as well.
        subtypes: "drop" if relations are compared without their subtypes, otherwise "keep".
        encoding: The encoding of the files.
    """

    enhanced: ClassVar[bool] = False
    items: ClassVar[str] = "words"
    metrics: ClassVar[Mapping[str, Metric]]
    refused: ClassVar[Mapping[str, str]] = {}
    groupings: ClassVar[Mapping[str, Grouping]] = GROUPINGS
    analysis_metrics: ClassVar[tuple[str, ...]] = analysis.METRICS
    default_grouping: ClassVar[str] = "distance"
    presets: ClassVar[Mapping[str, tuple[View, ...]]] = PRESETS
    subtypes: str = "keep"
    encoding: str = "utf-8"

    @classmethod
    def refuse(cls, **arguments: object) -> None:
        """Raise ArgumentError for the first argument that is given, but has no effect."""
        for name, reason in cls.refused.items():
            value = arguments.get(name)
            if value and value != "keep" and (name != "test" or value == "mcnemar"):
                raise ArgumentError(name, reason)

    def evaluate(self, gold: Any, preds: Sequence[Any]) -> Sequence[Evaluation]:
        """Score systems, with an evaluation for each of `preds`."""
        raise NotImplementedError

    def read(self, gold: Any, preds: Sequence[Any], **options: Any) -> Any:
        """Read what analyses need; options: those of `attachment.read_data`."""
        raise NotImplementedError

    def analyze(self, data: Any, view: View) -> Analysis:
        """Count in the bins of a view; raises what `View.check` raises."""
        raise NotImplementedError

    def view(self, by: Sequence[str], bins: Sequence[str | None], metric: str | None) -> View:
        """Return the view of some groupings, which may be none, and of a metric or the default.

        Raises ArgumentError if there is no such metric; upper and lower case are the same.
        """
        names, metrics = tuple(by) or (self.default_grouping,), self.analysis_metrics
        metric = find_metric(metric, metrics) if metric else None
        view = View(names, tuple(bins), metric or self.default_metric, self.groupings, metrics)
        if not metric and view.of_relations:
            return replace(view, metric=RELATION_METRICS[0])
        return view

    @property
    def default_metric(self) -> str:
        """The metric of an analysis if none is named."""
        return "LAS" if "LAS" in self.analysis_metrics else self.analysis_metrics[0]

    def warnings(self, evaluations: Sequence[Evaluation]) -> list[str]:
        """Return warnings about the files, in which arguments are written `name`."""
        warnings = []
        for evaluation in evaluations:
            trees = f"{evaluation.sentences:,} tree{'s' * (evaluation.sentences != 1)}"
            for count, total, text in (
                (
                    "headless",
                    f"{evaluation.words:,} word{'s' * (evaluation.words != 1)}",
                    "no head, which counts as a wrong head",
                ),
                ("cyclic", trees, "a cycle"),
                ("many_roots", trees, "several roots"),
            ):
                if number := evaluation.totals[count]:
                    has = "has" if number == 1 else "have"
                    warnings.append(f"{evaluation.system}: {number:,} of {total} {has} {text}")
            warnings += [f"{evaluation.system}: {warning}" for warning in evaluation.warnings]
        return warnings

    def metric_warnings(self, evaluations: Sequence[Evaluation]) -> list[str]:
        """Return warnings about metrics that are left out because of a probable mistake."""
        return []

    def details(self, evaluation: Evaluation) -> list[str]:
        """Return the counts behind the scores, in lines."""
        return [evaluation.describe_counts()]


@dataclass(frozen=True, kw_only=True)
class WordEvaluator(Evaluator):
    """Compares the same words; see `attachment`."""

    metrics: ClassVar[Mapping[str, Metric]] = attachment.METRICS
    analysis_metrics: ClassVar[tuple[str, ...]] = (*analysis.METRICS, *RELATION_METRICS)
    punct: str = "keep"
    predicted: bool = False

    @property
    def _options(self) -> dict[str, Any]:
        names = ("punct", "subtypes", "predicted", "encoding")
        return {name: getattr(self, name) for name in names}

    def evaluate(self, gold: Trees, preds: Sequence[Trees]) -> Sequence[Evaluation]:
        columns = (DEPS,) if self.enhanced else ()
        return attachment.evaluate_systems(gold, preds, columns=columns, **self._options)

    def read(self, gold: Trees, preds: Sequence[Trees], **options: Any) -> attachment.Data:
        if self.enhanced:
            options["columns"] = {*options.get("columns", ()), DEPS}
        return attachment.read_data(gold, preds, **self._options, **options)

    def analyze(self, data: attachment.Data, view: View) -> Analysis:
        return analysis.analyze_view(data, view)

    def warnings(self, evaluations: Sequence[Evaluation]) -> list[str]:
        warnings = super().warnings(evaluations)
        if self.punct != "keep" and evaluations[0].scored == evaluations[0].words:
            warnings.append(f"`punct` {self.punct} leaves out no word of the gold file")
        return warnings

    def metric_warnings(self, evaluations: Sequence[Evaluation]) -> list[str]:
        first = evaluations[0]
        counts = {name: gold for name, (gold, _, _) in first.relations.items()}
        foreign = sum(count for name, count in counts.items() if not is_universal(name))
        # If there are more, the relations are not meant to be those of UD.
        is_mistake = 0 < foreign <= sum(counts.values()) / 10
        return [f"CLAS is not computed: {first.undefined['CLAS']}"] if is_mistake else []


@dataclass(frozen=True, kw_only=True)
class AlignedEvaluator(Evaluator):
    """Compares words that cover the same characters; see `conll18`."""

    metrics: ClassVar[Mapping[str, Metric]] = conll18.METRICS
    refused: ClassVar[Mapping[str, str]] = {
        "relations": "it cannot be combined with `align`",
        "test": "mcnemar needs files with the same words; with `align`, choose ar or bootstrap",
    }
    subtypes: str = "drop"
    predicted: bool = False

    def evaluate(self, gold: Trees, preds: Sequence[Trees]) -> Sequence[Evaluation]:
        return conll18.evaluate_aligned(gold, preds, enhanced=self.enhanced, **vars(self))


class EnhancedEvaluator(WordEvaluator):
    """Also compares the enhanced dependencies of the same words; see `enhanced`."""

    metrics: ClassVar[Mapping[str, Metric]] = {**attachment.METRICS, **enhanced.METRICS}
    enhanced = True


class AlignedEnhancedEvaluator(AlignedEvaluator):
    """Also compares the enhanced dependencies of aligned words; see `enhanced`."""

    metrics: ClassVar[Mapping[str, Metric]] = {**conll18.METRICS, **enhanced.METRICS}
    enhanced = True


_WORDS_ONLY = "it is for the words of dependency trees, not for bracketed trees"


@dataclass(frozen=True, kw_only=True)
class BracketEvaluator(Evaluator):
    """Compares constituents as EVALB does; see `evalb`."""

    items: ClassVar[str] = "constituents"
    metrics: ClassVar[Mapping[str, Metric]] = evalb.METRICS
    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            (
                "preset",
                "confusion",
                "top",
                "worst",
                "calibration",
                "agreement",
                "train",
                "where",
            ),
            _WORDS_ONLY,
        ),
        "predicted": "it is for CoNLL-09, not for bracketed trees",
        "punct": "the parameters of EVALB say which words count; see `evalb`",
        "subtypes": "constituents have no subtypes",
        "align": "bracketed trees must have the same words",
        "relations": "bracketed trees have no dependency relations",
        "enhanced": "bracketed trees have no enhanced dependencies",
        "test": "mcnemar is for words; for trees, choose ar or bootstrap",
    }
    groupings: ClassVar[Mapping[str, Grouping]] = constituents.GROUPINGS
    analysis_metrics: ClassVar[tuple[str, ...]] = constituents.METRICS
    default_grouping: ClassVar[str] = "label"
    parameters: Parameters = BUILT_IN["collins"]

    def evaluate(self, gold: PathLike, preds: Sequence[PathLike]) -> Sequence[Evaluation]:
        return evalb.evaluate_trees(gold, preds, self.parameters, self.encoding)

    def read(
        self, gold: PathLike, preds: Sequence[PathLike], **options: Any
    ) -> constituents.TreeData:
        return constituents.read_tree_data(gold, preds, self.parameters, self.encoding)

    def analyze(self, data: constituents.TreeData, view: View) -> Analysis:
        return constituents.analyze_constituents(data, view)

    def warnings(self, evaluations: Sequence[Any]) -> list[str]:
        warnings = []
        for evaluation in evaluations:
            skipped = np.flatnonzero(evaluation.counts[:, evalb.COUNTS.index("skipped")]) + 1
            for numbers, text in (
                (list(evaluation.problems), "other words than the gold tree"),
                (skipped.tolist(), "no words that are scored"),
            ):
                if numbers:
                    has = "has" if len(numbers) == 1 else "have"
                    trees = f"tree{'s' * (evaluation.sentences != 1)}"
                    listed = ", ".join(map(str, numbers[:_MAX_LISTED]))
                    listed += ", ..." if len(numbers) > _MAX_LISTED else ""
                    warnings.append(
                        f"{evaluation.system}: {len(numbers):,} of {evaluation.sentences:,} {trees}"
                        f" {has} {text}: tree {listed}"
                    )
        return warnings

    def details(self, evaluation: Any) -> list[str]:
        return [f"{evaluation.system}:", *format_report(evaluation).split("\n")]


EVALUATORS: tuple[type[Evaluator], ...] = (
    EnhancedEvaluator, AlignedEnhancedEvaluator, BracketEvaluator,
)  # fmt: skip


def find_evaluator(
    files: Sequence[Trees],
    *,
    align: bool = False,
    enhanced: bool = False,
    punct: str = "keep",
    subtypes: str | None = None,
    predicted: bool = False,
    evalb: str | None = None,
    encoding: str = "utf-8",
) -> Evaluator:
    """Return the evaluator for the gold trees and those of systems.

    Args:
        files: Paths or sentences.
        align: Whether the files may split the same text into other words.
        enhanced: Whether to score enhanced dependencies as well.
        punct: The punctuation policy.
        subtypes: "keep" or "drop"; None for "keep" or, with `align`, "drop".
        predicted: As for `evaluate`.
        evalb: Parameters of EVALB; if given, all files must be bracketed trees.
        encoding: The encoding of the files.

    Raises:
        ArgumentError: An argument has a wrong value, or no effect on what the files contain.
        FormatError: Only some of the files are bracketed trees.
        OSError: A file cannot be read.
    """
    try:
        parse_policy(punct)
    except ValueError as error:
        raise ArgumentError("punct", str(error)) from None
    if align and punct != "keep":
        raise ArgumentError("align", "it counts all words; leave out `punct`")
    if _are_bracketed(files, evalb, encoding):
        BracketEvaluator.refuse(
            punct=punct, subtypes=subtypes, predicted=predicted, align=align, enhanced=enhanced
        )
        try:
            parameters = get_parameters(evalb or "collins")
        except FormatError:
            raise
        except ValueError as error:
            raise ArgumentError("evalb", str(error)) from None
        return BracketEvaluator(parameters=parameters, encoding=encoding)
    if align:
        subtypes, kind = (
            subtypes or "drop",
            AlignedEnhancedEvaluator if enhanced else AlignedEvaluator,
        )
        return kind(subtypes=subtypes, predicted=predicted, encoding=encoding)
    return (EnhancedEvaluator if enhanced else WordEvaluator)(
        punct=punct, subtypes=subtypes or "keep", predicted=predicted, encoding=encoding
    )


def _are_bracketed(files: Sequence[Trees], evalb: str | None, encoding: str) -> bool:
    """Return whether all files are bracketed trees; standard input may always be that."""
    kinds: list[tuple[str, bool | None]] = []
    for file in files:
        if isinstance(file, str | os.PathLike):
            kinds.append((os.fspath(file), is_bracketed_file(os.fspath(file), encoding)))
        else:
            kinds.append(("a treebank in memory", False))
    tables = [name for name, kind in kinds if kind is False]
    bracketed = [name for name, kind in kinds if kind]
    if tables and evalb is not None:
        raise ArgumentError("evalb", f"it is for bracketed trees, but {tables[0]} has none")
    if tables and bracketed:
        message = f"the file has no bracketed trees, but {bracketed[0]} has; both must have them"
        raise FormatError(tables[0], 0, "", message)
    return bool(bracketed) or evalb is not None


def evaluate(
    gold: Trees,
    pred: Trees,
    punct: str = "keep",
    *,
    align: bool = False,
    enhanced: bool = False,
    subtypes: str | None = None,
    confidence: bool = False,
    test: str | None = None,
    baseline: Trees | None = None,
    seed: int = DEFAULT_SEED,
    encoding: str = "utf-8",
    evalb: str | None = None,
    predicted: bool = False,
) -> Evaluation:
    """Score one system's trees against the gold trees over the same words.

    >>> import depkit
    >>> gold = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> scores = depkit.evaluate(gold, gold.with_tree([0, 1], ["root", "nsubj"]))
    >>> scores.UAS, scores.LAS
    (100.0, 50.0)

    Files of bracketed trees are scored as by EVALB; see `evalb.evaluate_trees`. A predicted word
    without a head has a wrong head.

    Args:
        gold: A path (`-` is standard input, .gz and .xz are decompressed) or sentences.
        pred: A path or sentences, possibly in another format than the gold file.
        punct: The punctuation policy of `score.punctuation`, which reads the gold words only.
        align: Whether the trees may split the same text into other words, as in the CoNLL 2018
            evaluation.
        enhanced: Whether to add ELAS and EULAS, the F1 of the enhanced dependencies as in the
            shared tasks of IWPT. They count all words and do not depend on `subtypes`.
        subtypes: "keep", or "drop" to cut relations at their first `:`; by default "keep" or, with
            `align`, "drop".
        confidence: Whether to compute the `intervals` of the metrics.
        test: "ar", "bootstrap" or "mcnemar" tests the `differences` from a baseline.
        baseline: The trees of another system, for `test`.
        seed: The seed of intervals and tests.
        encoding: The encoding of the files.
        evalb: For bracketed trees, the parameters of EVALB: a name or a parameter file.
        predicted: Whether to score the automatic columns of a system in CoNLL-09, such as PHEAD and
            PDEPREL, instead of HEAD and DEPREL.

    Raises:
        ArgumentError: An argument has a wrong value, or no effect on what the files contain.
        FormatError: The words differ, a gold word has no head, the column of the policy or, with
            `enhanced`, the gold DEPS have nothing but `_`, or no word is scored.
        ValueError: There is a test without a baseline, or a baseline without a test.
        OSError: A file cannot be read.
    """
    if (test is None) != (baseline is None):
        raise ValueError("`test` needs `baseline`, the trees of another system, and the reverse")
    systems = [pred] if baseline is None else [baseline, pred]
    evaluator = find_evaluator(
        [gold, *systems], align=align, enhanced=enhanced, punct=punct, subtypes=subtypes,
        encoding=encoding, evalb=evalb, predicted=predicted,
    )  # fmt: skip
    evaluator.refuse(test=test)
    evaluations = evaluator.evaluate(gold, systems)
    evaluation = evaluations[-1]
    return replace(
        evaluation,
        system=evaluation.system or f"system {len(systems)}",
        choices=(*evaluation.choices, *choices(confidence, test, seed)),
        intervals=intervals(evaluation, seed=seed) if confidence else {},
        differences=compare_systems(evaluations, test, seed=seed)[0] if test else {},
    )
