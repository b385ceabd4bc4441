"""Ways to group words and arcs; each is a function and an entry in the table GROUPINGS.

The groupings follow MaltEval (Nilsson and Nivre 2008) and McDonald and Nivre (2007).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depkit.corpus.suggestion import describe_unknown
from depkit.corpus.universal import base_relation
from depkit.score import structure
from depkit.score.bins import EACH, NONE, ROOT, bin_each_value, parse_bins
from depkit.score.words import Comparison, Words
from depkit.trees.shape import nonprojective_arcs


class Groups(NamedTuple):
    """Which words are in which bin, as a list of entries.

    Entry i says that word word_index[i] is in the bin labels[bin_index[i]]. Groups are
    single-valued if every word has exactly one entry, in the order of the words.
    """

    bin_index: np.ndarray
    word_index: np.ndarray
    labels: Sequence[str]


@dataclass(frozen=True)
class Grouping:
    """A way to group words, either by a number, which is sorted into bins, or by a label.

    description: for the help, in a few words; compute_values: [word] int64, the number of
    each word (see also `bins.ROOT` and `bins.NONE`); bins: the default bins of the numbers;
    compute_groups: the groups, if there is no number; groups_arcs: whether the words of each tree
    are grouped by the arcs of that tree (otherwise the gold words determine the bins for all
    systems); columns: the columns that are read; ordered_by_size: whether the largest bin comes
    first.
    """

    description: str
    compute_values: Callable[[Comparison, Words], np.ndarray] | None = None
    bins: str = EACH
    compute_groups: Callable[[Comparison, Words], Groups] | None = None
    groups_arcs: bool = True
    columns: tuple[str, ...] = ()
    ordered_by_size: bool = False


def _distance(comparison: Comparison, words: Words) -> np.ndarray:
    return np.where(
        words.head > 0, np.abs(words.head - comparison.number), _root_or_none(words.head)
    )


def _signed_distance(comparison: Comparison, words: Words) -> np.ndarray:
    return np.where(words.head > 0, words.head - comparison.number, _root_or_none(words.head))


def _root_or_none(head: np.ndarray) -> np.ndarray:
    return np.where(head == 0, ROOT, NONE)


def _depth(comparison: Comparison, words: Words) -> np.ndarray:
    depth = structure.depths(words.head, comparison.starts)
    return np.where(depth > 0, depth, _root_or_none(depth))


def _branching(comparison: Comparison, words: Words) -> np.ndarray:
    return structure.count_dependents(words.head, comparison.starts)[:-2]


def _siblings(comparison: Comparison, words: Words) -> np.ndarray:
    """Count the other dependents of the head; for a root, the other roots of its sentence."""
    head_index = structure.head_indices(words.head, comparison.starts)[:-2]
    siblings = structure.count_dependents(words.head, comparison.starts)[head_index] - 1
    roots = comparison.sum_by_sentence(words.head == 0)[comparison.sentence_index] - 1
    return np.where(words.head > 0, siblings, np.where(words.head == 0, roots, NONE))


def _frequency(comparison: Comparison, words: Words) -> np.ndarray:
    frequencies = comparison.train or Counter()
    return comparison.map_values(comparison.gold, "form", frequencies.__getitem__)


def _oov(comparison: Comparison, words: Words) -> Groups:
    known = _frequency(comparison, words) > 0
    return _single_valued(np.where(known, 0, 1), ("known", "unknown"))


def _direction(comparison: Comparison, words: Words) -> Groups:
    """Group by the side of the head, seen from the word, as in eval07.pl."""
    side = np.sign(words.head - comparison.number) % 3  # 0 the word itself, 1 right, 2 left
    bin_index = np.where(words.head > 0, np.array([3, 2, 1])[side], np.where(words.head == 0, 0, 4))
    return _single_valued(bin_index, ("root", "left", "right", "self", "none"))


def _projectivity(comparison: Comparison, words: Words) -> Groups:
    head = np.maximum(words.head, 0)
    ends = zip(comparison.starts[:-1].tolist(), comparison.starts[1:].tolist(), strict=True)
    nonprojective = np.concatenate([nonprojective_arcs(head[start:end]) for start, end in ends])
    bin_index = np.where(words.head < 0, 2, nonprojective)
    return _single_valued(bin_index, ("projective", "non-projective", "none"))


def _column(
    column: str, shorten: Callable[[str], str] = str
) -> Callable[[Comparison, Words], Groups]:
    """Return a function that groups words by the values of a column, or by a part of them."""

    def compute_groups(comparison: Comparison, words: Words) -> Groups:
        label_by_code = [shorten(value) for value in comparison.values[column]]
        bin_of_label = {label: i for i, label in enumerate(dict.fromkeys(label_by_code))}
        bin_by_code = np.array([bin_of_label[label] for label in label_by_code])
        return _single_valued(bin_by_code[words.codes[column]], list(bin_of_label))

    return compute_groups


def _feats(comparison: Comparison, words: Words) -> Groups:
    """Group words by their features; a word has an entry for each of its features."""
    features_by_code = [value.split("|") for value in comparison.values["feats"]]
    bin_of_feature: dict[str, int] = {}
    sizes = np.array([len(features) for features in features_by_code])
    # The bins of the features of all codes, one after another.
    bins = np.array(
        [
            bin_of_feature.setdefault(feature, len(bin_of_feature))
            for features in features_by_code
            for feature in features
        ]
    )
    codes = comparison.gold.codes["feats"]
    first = (np.cumsum(sizes) - sizes)[codes]  # [word], the index of its first feature in bins
    repeats = sizes[codes]
    word_index = np.repeat(np.arange(comparison.size), repeats)
    offset = np.arange(len(word_index)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return Groups(bins[first[word_index] + offset], word_index, list(bin_of_feature))


def _single_valued(bin_index: np.ndarray, labels: Sequence[str]) -> Groups:
    return Groups(bin_index, np.arange(len(bin_index)), labels)


GROUPINGS = {
    "distance": Grouping("|head - dependent|", _distance, "1,2,3,4,5,6,7,8,9,10-"),
    "signed-distance": Grouping(
        "head - dependent", _signed_distance, "..-7,-6..-3,-2,-1,1,2,3..6,7.."
    ),
    "direction": Grouping("side of the head, seen from the word", compute_groups=_direction),
    "depth": Grouping(
        "arcs between the word and the root's dependent", _depth, "1,2,3,4,5,6,7,8,9,10-"
    ),
    "branching": Grouping("number of dependents", _branching, "0,1,2,3,4,5-"),
    "siblings": Grouping("other dependents of the word's head", _siblings, "0,1,2,3,4,5-"),
    "projectivity": Grouping(
        "whether the head dominates all words in between", compute_groups=_projectivity
    ),
    "deprel": Grouping(
        "relation", compute_groups=_column("deprel"), columns=("deprel",), ordered_by_size=True
    ),
    "base-deprel": Grouping(
        "relation without subtype", compute_groups=_column("deprel", base_relation),
        columns=("deprel",),
        ordered_by_size=True,
    ),
    "upos": Grouping(
        "gold UPOS", compute_groups=_column("upos"), groups_arcs=False, columns=("upos",),
        ordered_by_size=True,
    ),
    "xpos": Grouping(
        "gold XPOS", compute_groups=_column("xpos"), groups_arcs=False, columns=("xpos",),
        ordered_by_size=True,
    ),
    "feats": Grouping(
        "every feature in the gold FEATS", compute_groups=_feats, groups_arcs=False,
        columns=("feats",), ordered_by_size=True,
    ),
    "length": Grouping(
        "words in the sentence",
        lambda comparison, _: comparison.lengths[comparison.sentence_index],
        "1-9,10-19,20-29,30-39,40-49,50-", groups_arcs=False,
    ),
    "position": Grouping(
        "number of the word in the sentence", lambda comparison, _: comparison.number,
        "1,2,3-5,6-10,11-20,21-", groups_arcs=False,
    ),
    "frequency": Grouping(
        "occurrences of the form in --train FILE", _frequency, "0,1,2,3-5,6-10,11-100,101-",
        groups_arcs=False, columns=("form",),
    ),
    "oov": Grouping(
        "whether the form occurs in --train FILE", compute_groups=_oov, groups_arcs=False,
        columns=("form",),
    ),
}  # fmt: skip
NEED_TRAIN = ("frequency", "oov")


def group_words(
    name: str, comparison: Comparison, scored: np.ndarray, bins: str | None = None
) -> tuple[Groups, list[Groups]]:
    """Group the gold words and each system's words by the same labels.

    Args:
        name: The name of a grouping.
        comparison: The words of all files.
        scored: [word] bool, the gold words that count when bins are ordered by size.
        bins: Bins as in `parse_bins`, or "each" for a bin for every number; None for the default
            of the grouping.

    Returns:
        The groups of the gold words, and the groups of each system's words.

    Raises:
        ValueError: The grouping does not exist, or the bins are invalid or do not fit it.
    """
    grouping = get_grouping(name)
    trees = (comparison.gold, *comparison.systems) if grouping.groups_arcs else (comparison.gold,)
    if grouping.compute_values:
        values = [grouping.compute_values(comparison, words) for words in trees]
        text = bins or grouping.bins
        ranges = bin_each_value(*values) if text == EACH else parse_bins(text)
        gold, *systems = (_single_valued(ranges.assign(value), ranges.labels) for value in values)
    elif grouping.compute_groups:
        if bins:
            raise ValueError(f"grouping '{name}' is not by a number, so it takes no bins")
        gold, *systems = (grouping.compute_groups(comparison, words) for words in trees)
        if grouping.ordered_by_size:
            gold, *systems = _order_by_size([gold, *systems], scored)
    return gold, systems or [gold] * len(comparison.systems)


def _order_by_size(groups: Sequence[Groups], scored: np.ndarray) -> list[Groups]:
    """Reorder the labels by the size of the bins in the first groups, then alphabetically."""
    bin_index, word_index, labels = groups[0]
    sizes = np.bincount(bin_index[scored[word_index]], minlength=len(labels))
    order = sorted(range(len(labels)), key=lambda i: (-sizes[i], labels[i]))
    rank = np.argsort(order)
    ordered = [labels[i] for i in order]
    return [Groups(rank[group.bin_index], group.word_index, ordered) for group in groups]


def get_grouping(name: str) -> Grouping:
    """Return the grouping with this name; raise ValueError if there is none."""
    if name not in GROUPINGS:
        raise ValueError(describe_unknown("grouping", name, GROUPINGS, GROUPINGS))
    return GROUPINGS[name]


def cross_groups(first: Groups, second: Groups) -> Groups:
    """Combine every bin of one grouping with every bin of another.

    A word has an entry for each pair of its entries in both. At least one of the two must be
    single-valued.
    """
    width = len(second.labels)
    labels = [f"{left} × {right}" for left in first.labels for right in second.labels]
    if len(second.word_index) > len(first.word_index):
        bin_index = first.bin_index[second.word_index] * width + second.bin_index
        return Groups(bin_index, second.word_index, labels)
    bin_index = first.bin_index * width + second.bin_index[first.word_index]
    return Groups(bin_index, first.word_index, labels)
