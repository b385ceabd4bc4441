"""Scores of the words and arcs in each bin of a grouping, for one system or several."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from depkit.files.errors import ArgumentError
from depkit.score import enhanced
from depkit.score.attachment import ARCS, TAGS, Data
from depkit.score.bins import EACH, parse_bins
from depkit.score.groupings import (
    GROUPINGS,
    NEEDS_TRAIN,
    Grouping,
    Groups,
    cross_groups,
    get_grouping,
    group_words,
)
from depkit.score.words import DEPS, Comparison, Words

# The counts of a bin: gold words, predicted words, correct words among the gold ones and correct
# words among the predicted ones. The last two may differ: grouped by depth, for example, a word
# with the correct head may be in one bin in the gold tree and in another in the predicted tree.
COUNTS = ("gold", "predicted", "correct_gold", "correct_predicted")
# Each metric defines which words are correct. For "bin", as in the tables of the CoNLL-X script,
# those whose gold bin and predicted bin are the same, whatever their heads.
METRICS = (*ARCS, *TAGS, "bin")
RELATION_METRICS = tuple(enhanced.METRICS)  # those of enhanced relations instead of words


@dataclass(frozen=True)
class View:
    """The groupings (crossed if several), the bins and the metric of a table.

    bins: for each grouping by a number, in order, its bins as in `parse_bins`, or "each" for a bin
    for every number. Groupings with None, and those after the last bins, have their default bins.
    groupings, metrics: those to choose from.
    """

    by: tuple[str, ...]
    bins: tuple[str | None, ...] = ()
    metric: str = "LAS"
    groupings: Mapping[str, Grouping] = field(default_factory=lambda: GROUPINGS, repr=False)
    metrics: tuple[str, ...] = METRICS

    def check(self) -> None:
        """Raise ArgumentError for groupings, bins and metrics that do not exist or do not fit."""
        if self.metric not in self.metrics:
            message = f"there is no metric '{self.metric}'; choose from {', '.join(self.metrics)}"
            raise ArgumentError("metric", message)
        try:
            self._check_groupings()
        except ValueError as error:
            raise ArgumentError("by, bins", str(error)) from None
        if self.of_relations != (self.metric in RELATION_METRICS):
            needs = f"`by` enhancement needs the metric {' or '.join(RELATION_METRICS)}"
            raise ArgumentError("metric", f"{needs}, and these metrics need that grouping")

    def _check_groupings(self) -> None:
        for name in self.by:
            if get_grouping(name, self.groupings) and self.by.count(name) > 1:
                raise ValueError(f"grouping '{name}' is named twice")
        numeric = [name for name in self.by if self.groupings[name].compute_values]
        if len(self.bins) > len(numeric):
            raise ValueError(
                f"there are more bins than groupings of numbers ({', '.join(numeric) or 'none'})"
            )
        for bins in self.bins:
            if bins is not None and bins != EACH:
                parse_bins(bins)
        several = [name for name in self.by if self.groupings[name].items != "words"]
        if len(several) > 1:
            raise ValueError(
                f"{' and '.join(several)} cannot be combined, as a word can have several bins of"
                " both"
            )

    @property
    def of_relations(self) -> bool:
        """Whether a grouping is of enhanced relations."""
        groupings = map(self.groupings.get, self.by)
        return any(grouping is not None and grouping.items == "relations" for grouping in groupings)

    @property
    def columns(self) -> set[str]:
        return {column for name in self.by for column in self.groupings[name].columns}

    def require_no_training_file(self) -> None:
        """Raise ArgumentError if a grouping needs a training file."""
        if names := sorted(set(self.by) & set(NEEDS_TRAIN)):
            message = f"{names[0]} needs a training file; name it with `train` FILE"
            raise ArgumentError("by", message)

    @property
    def bins_by_grouping(self) -> list[str | None]:
        """The bins of each grouping in `by`; None for its default bins, or if it has none."""
        bins = iter(self.bins)
        return [
            next(bins, None) if self.groupings[name].compute_values else None for name in self.by
        ]


_ONE_TO_NINE = "1,2,3,4,5,6,7,8,9,10-"
# li2019: as Figure 4 of Li et al. (2019); the paper does not state the bounds of its seven subsets;
# mcdonald-nivre: as McDonald and Nivre (2007); conllx: the tables of eval07.pl.
PRESETS = {
    "li2019": (View(("distance",), ("1,2,3,4,5-6,7-10,11-",)),),
    "mcdonald-nivre": (
        View(("length",), ("1-9,10-19,20-29,30-39,40-49,50-",)),
        View(("distance",), (_ONE_TO_NINE,)),
        View(("depth",), (_ONE_TO_NINE,)),
    ),
    "conllx": (
        View(("upos",), (), "UAS"),
        View(("upos",), (), "LA"),
        View(("upos",), (), "LAS"),
        View(("deprel",), (), "LA"),
        View(("deprel",), (), "LAS"),
        View(("direction",), (), "bin"),
        View(("distance",), ("1,2,3-6,7-",), "bin"),
    ),
}


class Entries(NamedTuple):
    """Counted words or constituents, with an entry for each bin that one of them is in.

    bin_index: [entry], indices into the labels of the bins; sentence_index: [entry]; correct:
    [entry] bool, whether the word or constituent is correct.
    """

    bin_index: np.ndarray
    sentence_index: np.ndarray
    correct: np.ndarray


@dataclass(frozen=True, eq=False)
class Analysis:
    """What is in the bins of a view, for every system.

    Attributes:
        view: The groupings, the bins and the metric.
        systems: The names of the systems.
        num_sentences: The number of sentences.
        choices: The settings to name in the signature.
        labels: The names of the bins, in order.
        gold: For each system, the gold words or constituents, by the gold tree.
        predicted: For each system, its words or constituents, by its tree.
        groups_arcs: Whether a system's bins can have other contents than the gold bins. If not, a
            bin has a single score, the accuracy.
        is_single_valued: Whether each word or constituent is in exactly one bin.
        items: What is counted, "words", "relations" or "constituents".
    """

    view: View
    systems: Sequence[str]
    num_sentences: int
    _: KW_ONLY
    choices: tuple[tuple[str, str], ...]
    labels: Sequence[str]
    gold: Sequence[Entries]
    predicted: Sequence[Entries]
    groups_arcs: bool
    is_single_valued: bool
    items: str = "words"

    @cached_property
    def totals(self) -> np.ndarray:
        """The counts of every bin: [system, bin, count] int64, columns as in COUNTS."""
        bins = range(len(self.labels))
        counts = [self._count(i, bins, by_sentence=False)[0] for i in range(len(self.systems))]
        return np.array(counts)

    @property
    def bins(self) -> list[int]:
        """The bins that are not empty."""
        return np.flatnonzero(self.totals[:, :, :2].any(axis=(0, 2))).tolist()

    def count_by_sentence(self, system: int, bins: Sequence[int]) -> np.ndarray:
        """Count what is in some bins sentence by sentence: [sentence, bin * count] int64."""
        return self._count(system, bins, by_sentence=True).reshape(self.num_sentences, -1)

    def _count(self, system: int, bins: Sequence[int], by_sentence: bool) -> np.ndarray:
        """Count what is in some bins: [sentences or 1, bin, count] int64."""
        column = np.full(len(self.labels), -1)  # [bin], its index in `bins`, -1 for none
        column[list(bins)] = np.arange(len(bins))
        rows = self.num_sentences if by_sentence else 1
        counts = np.zeros((rows, len(bins), len(COUNTS)), np.int64)
        for i, entries in enumerate((self.gold[system], self.predicted[system])):
            columns = column[entries.bin_index]
            cells = columns + (entries.sentence_index * len(bins) if by_sentence else 0)
            for count, mask in ((i, columns >= 0), (i + 2, (columns >= 0) & entries.correct)):
                flat = np.bincount(cells[mask], minlength=rows * len(bins))
                counts[:, :, count] = flat.reshape(rows, len(bins))
        return counts


def analyze_view(data: Data, view: View) -> Analysis:
    """Group gold and predicted words and count them.

    If a grouping is of enhanced relations, these are counted instead of words.

    Raises ArgumentError as `View.check`, and if a grouping needs a training file and none was read.
    Raises FormatError if a column that the view needs has nothing but `_`.
    """
    view.check()
    words = data.words
    scored = data.words_to_count(view.metric)
    if words.train_frequencies is None:
        view.require_no_training_file()
    for column in view.columns:
        if column != "form":
            data.require_column(column)
    data.require_metric(view.metric)
    groups_by_grouping = group_gold_and_systems(data, view)
    gold = reduce(cross_groups, (gold_groups for gold_groups, _ in groups_by_grouping))
    predicted = [
        reduce(cross_groups, (system_groups[i] for _, system_groups in groups_by_grouping))
        for i in range(len(words.systems))
    ]
    entries = []
    for i, (groups, correct) in enumerate(zip(predicted, data.correct, strict=True)):
        if view.metric == "bin":
            same = gold.bin_index == groups.bin_index
            pair = (same, same)
        elif view.of_relations:
            pair = _correct_relations(words, words.systems[i], view.metric)
        else:
            is_correct = correct[view.metric]
            pair = (is_correct[gold.word_index], is_correct[groups.word_index])
        entries.append(
            [
                _select_entries(words, scored, *side)
                for side in zip((gold, groups), pair, strict=True)
            ]
        )
    return Analysis(
        view,
        [system.name for system in words.systems],
        len(words.lengths),
        choices=data.choices,
        labels=list(gold.labels),
        gold=[pair[0] for pair in entries],
        predicted=[pair[1] for pair in entries],
        groups_arcs=any(GROUPINGS[name].groups_arcs for name in view.by),
        is_single_valued=view.of_relations or gold.is_single_valued,
        items="relations" if view.of_relations else "words",
    )


def _correct_relations(
    words: Comparison, system: Words, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return which gold relations the system has, and which of its relations are gold ones."""
    assert words.gold.relations is not None and system.relations is not None
    gold, predicted = words.gold.relations, system.relations
    if metric == "EULAS":
        labels = words.values[DEPS]
        gold, predicted = (enhanced.cut_subtypes(x, labels) for x in (gold, predicted))
    return enhanced.is_shared(gold, predicted), enhanced.is_shared(predicted, gold)


def group_gold_and_systems(data: Data, view: View) -> list[tuple[Groups, list[Groups]]]:
    """Group the words by each grouping of a view; see `group_words`."""
    scored = data.words_to_count(view.metric)
    return [
        group_words(name, data.words, scored, bins)
        for name, bins in zip(view.by, view.bins_by_grouping, strict=True)
    ]


def group_gold(data: Data, view: View) -> Groups:
    """Group the gold words by all groupings of a view."""
    return reduce(cross_groups, (gold for gold, _ in group_gold_and_systems(data, view)))


def _select_entries(
    words: Comparison, scored: np.ndarray, groups: Groups, correct: np.ndarray
) -> Entries:
    """Return the entries of scored words; correct: [entry] bool, for all entries of the groups."""
    selected = scored[groups.word_index]
    sentence_index = words.sentence_index[groups.word_index[selected]]
    return Entries(groups.bin_index[selected], sentence_index, correct[selected])


def precision_recall_f1(counts: np.ndarray) -> np.ndarray:
    """Compute precision, recall and F1 in percent: [..., count] -> [..., 3].

    counts: columns as in COUNTS. A value is NaN where its denominator is 0; F1 is NaN only where
    there is neither a gold nor a predicted word, and 0 where precision or recall is NaN.
    """
    gold, predicted, correct_gold, correct_predicted = np.moveaxis(counts.astype(float), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = 100.0 * correct_predicted / predicted
        recall = 100.0 * correct_gold / gold
        p, r = np.nan_to_num(precision), np.nan_to_num(recall)
        f1 = 2 * p * r / (p + r)
    f1 = np.where(gold + predicted > 0, np.nan_to_num(f1), np.nan)
    return np.stack([precision, recall, f1], axis=-1)
