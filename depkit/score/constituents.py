"""Scores of the constituents in each bin of a grouping: label, number of words, depth.

Constituents are compared as by EVALB; see `evalb`. What `analysis` is for words, this module is for
constituents.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from depkit.corpus.io import PathLike
from depkit.corpus.tree import Tree
from depkit.score.analysis import Analysis, Entries, View
from depkit.score.evalb import (
    COUNTS,
    Bracket,
    Result,
    TreeEvaluation,
    TreeSentence,
    compare_trees,
    make_evaluations,
    source_name,
    system_names,
)
from depkit.score.evalb_parameters import BUILT_IN, Parameters
from depkit.score.evaluation import format_signature
from depkit.score.groupings import Grouping, Groups, cross_groups, group_items, single_valued

METRICS = ("LF1",)
NO_LABEL = "()"  # the name of the empty label of the outermost bracket of Penn trees
_LENGTHS = "1-9,10-19,20-29,30-39,40-49,50-"


@dataclass(frozen=True, eq=False)
class Constituents:
    """The scored constituents of a file; all arrays are [constituent].

    sentence_index; sentence_length: the number of words of the sentence; span_length: the number of
    scored words; depth: the number of constituents that contain the constituent, which counts
    itself; label: an index into `TreeData.labels`; correct: bool.
    """

    sentence_index: np.ndarray
    sentence_length: np.ndarray
    span_length: np.ndarray
    depth: np.ndarray
    label: np.ndarray
    correct: np.ndarray


@dataclass(frozen=True, eq=False)
class TreeData:
    """The gold constituents and the systems' constituents of an analysis.

    Attributes:
        gold_name: The name of the gold file, "" for trees in memory.
        systems: The names of the systems.
        sentences: The gold sentences.
        results: For each sentence, the results of all systems.
        evaluations: The scores of each system.
        labels: All labels.
        gold, predicted: For each system, the constituents of sentences that count in its scores.
        choices: The settings to name in the signature.
    """

    gold_name: str
    systems: list[str]
    sentences: list[TreeSentence]
    results: list[list[Result]]
    evaluations: list[TreeEvaluation]
    labels: list[str]
    gold: list[Constituents]
    predicted: list[Constituents]
    choices: tuple[tuple[str, str], ...]

    @property
    def num_sentences(self) -> int:
        return len(self.sentences)

    def signature(self, *more: tuple[str, str]) -> str:
        """Return the settings behind the numbers, with further ones."""
        sizes = (("sentences", str(self.num_sentences)), ("scored", str(len(self.gold[0].label))))
        return format_signature((*self.choices, *more, *sizes))


def _attribute(name: str) -> Callable[[TreeData, Constituents], np.ndarray]:
    def compute_values(data: TreeData, constituents: Constituents) -> np.ndarray:
        values: np.ndarray = getattr(constituents, name)
        return values

    return compute_values


def _label(data: TreeData, constituents: Constituents) -> Groups:
    return single_valued(constituents.label, data.labels)


GROUPINGS = {
    "label": Grouping("label of the constituent", compute_groups=_label, ordered_by_size=True),
    "span-length": Grouping(
        "words in the constituent", _attribute("span_length"), "1,2,3,4,5,6-10,11-20,21-30,31-"
    ),
    "depth": Grouping(
        "constituents around the constituent, and itself", _attribute("depth"),
        "1,2,3,4,5,6,7,8,9,10-",
    ),
    "length": Grouping("words in the sentence", _attribute("sentence_length"), _LENGTHS),
}  # fmt: skip


def read_tree_data(
    gold: PathLike | Iterable[Tree],
    preds: Sequence[PathLike | Iterable[Tree]],
    parameters: Parameters = BUILT_IN["collins"],
    encoding: str = "utf-8",
) -> TreeData:
    """Read the gold trees and those of systems; arguments and exceptions as of `evaluate_trees`."""
    names = system_names(preds)
    pairs = list(compare_trees(gold, preds, parameters, encoding))
    results = [results for _, results in pairs]
    code_by_label: dict[str, int] = {}
    sides = [
        _collect(results_of_system, code_by_label, is_gold)
        for is_gold in (True, False)
        for results_of_system in zip(*results, strict=True)
    ]
    return TreeData(
        source_name(gold),
        names,
        [sentence for sentence, _ in pairs],
        results,
        make_evaluations(names, results, parameters),
        list(code_by_label),
        sides[: len(preds)],
        sides[len(preds) :],
        (("evalb", parameters.name),),
    )


def _collect(
    results: Sequence[Result], code_by_label: dict[str, int], is_gold: bool
) -> Constituents:
    """Collect the constituents of all sentences.

    code_by_label: the index of each label, to which new labels are added. is_gold: whether to
    collect the gold constituents, not those of the system.
    """
    rows: list[tuple[int, ...]] = []
    for sentence, result in enumerate(results):
        length = result.counts[COUNTS.index("words")]
        brackets = result.gold if is_gold else result.predicted
        matched = set(result.partners)
        for i, ((label, start, end), depth) in enumerate(
            zip(brackets, _depths(brackets), strict=True)
        ):
            code = code_by_label.setdefault(label or NO_LABEL, len(code_by_label))
            correct = result.partners[i] >= 0 if is_gold else i in matched
            rows.append((sentence, length, end - start, depth, code, correct))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    sentences, lengths, spans, depths, labels, is_correct = list(columns)
    return Constituents(sentences, lengths, spans, depths, labels, is_correct.astype(bool))


def classify_wrong(result: Result) -> dict[int, str]:
    """Return the kind of error of each wrong predicted bracket of a sentence, by its index.

    The kind is "crossing" if the bracket crosses a gold bracket; "label" if a gold bracket with the
    same words was missed, so that only the label is wrong; otherwise "span".
    """
    matched = set(result.partners)
    missed = Counter(
        (start, end)
        for (_, start, end), i in zip(result.gold, result.partners, strict=True)
        if i < 0
    )
    kinds = {}
    for i, (_, start, end) in enumerate(result.predicted):
        if i in matched:
            continue
        has_span = missed[start, end] > 0
        missed[start, end] -= has_span
        kinds[i] = "crossing" if result.crossing[i] else "label" if has_span else "span"
    return kinds


def _depths(brackets: Sequence[Bracket]) -> list[int]:
    """Compute the depths of the brackets of a sentence, which are in the order of opening."""
    ends: list[int] = []  # of the brackets that are open
    depths = []
    for _, start, end in brackets:
        while ends and ends[-1] <= start:
            ends.pop()
        ends.append(end)
        depths.append(len(ends))
    return depths


def analyze_constituents(data: TreeData, view: View) -> Analysis:
    """Group gold and predicted constituents and count them. Raises ValueError as `View.check`."""
    view.check()
    files = (*data.gold, *data.predicted)
    groups_by_grouping = [
        group_items(name, GROUPINGS[name], data, files, bins=bins)
        for name, bins in zip(view.by, view.bins_by_grouping, strict=True)
    ]
    entries = []
    for constituents, *groups in zip(files, *groups_by_grouping, strict=True):
        bin_index, index, labels, _ = reduce(cross_groups, groups)
        entries.append(
            Entries(bin_index, constituents.sentence_index[index], constituents.correct[index])
        )
    size = len(data.systems)
    return Analysis(
        view, data.systems, data.num_sentences, choices=data.choices, labels=labels,
        gold=entries[:size], predicted=entries[size:], groups_arcs=True, is_single_valued=True,
        items="constituents",
    )  # fmt: skip
