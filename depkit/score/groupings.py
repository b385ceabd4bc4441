"""Ways to group words and arcs; each is a function and an entry in the table GROUPINGS.

The groupings follow MaltEval (Nilsson and Nivre 2008) and McDonald and Nivre (2007).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from depkit.corpus.enhancements import TYPES
from depkit.corpus.universal import base_relation
from depkit.files.suggestion import describe_unknown
from depkit.score import structure
from depkit.score.bins import EACH, NONE, ROOT, bin_each_value, parse_bins
from depkit.score.words import DEPS, Comparison, Words
from depkit.trees.shape import nonprojective_arcs


class Groups(NamedTuple):
    """Which words are in which bin, as a list of entries.

    Entry i says that word word_index[i] is in the bin labels[bin_index[i]]. Groups are
    single-valued if every word has exactly one entry, in the order of the words.
    """

    bin_index: np.ndarray
    word_index: np.ndarray
    labels: Sequence[str]
    is_single_valued: bool = False


@dataclass(frozen=True)
class Grouping:
    """A way to group words, either by a number, which is assigned to a bin, or by a label.

    Exactly one of `compute_values` and `compute_groups` is given. Their arguments are the words of
    all files and the words of a file or, for constituents, those of `constituents`.

    Attributes:
        compute_values: Computes a number for each word, [word] int64, `bins.ROOT` or `bins.NONE`.
        bins: The default bins of the numbers.
        compute_groups: Computes the groups of a grouping by a label.
        groups_arcs: If true, the arcs of each tree determine the bins of that tree's words. If
            false, a word of a system's tree is in the same bin as the gold word.
        columns: The columns that are read.
        ordered_by_size: Whether the bins are ordered by size, the largest first.
        items: What has a bin: each item of the file ("words"), each of the "features" of a word, or
            each of its enhanced "relations".
    """

    description: str
    compute_values: Callable[[Any, Any], np.ndarray] | None = None
    bins: str = EACH
    compute_groups: Callable[[Any, Any], Groups] | None = None
    groups_arcs: bool = True
    columns: tuple[str, ...] = ()
    ordered_by_size: bool = False
    items: str = "words"


def _distance(comparison: Comparison, words: Words) -> np.ndarray:
    return np.where(
        words.head > 0, np.abs(words.head - comparison.number), _root_or_none(words.head == 0)
    )


def _signed_distance(comparison: Comparison, words: Words) -> np.ndarray:
    return np.where(words.head > 0, words.head - comparison.number, _root_or_none(words.head == 0))


def _root_or_none(is_root: np.ndarray) -> np.ndarray:
    return np.where(is_root, ROOT, NONE)


def _depth(comparison: Comparison, words: Words) -> np.ndarray:
    depth = structure.depths(words.head, comparison.starts)
    return np.where(depth > 0, depth, _root_or_none(depth == 0))


def _branching(comparison: Comparison, words: Words) -> np.ndarray:
    # The last two counts are those of the root and of "no head".
    return structure.count_dependents(words.head, comparison.starts)[:-2]


def _siblings(comparison: Comparison, words: Words) -> np.ndarray:
    """Count the other dependents of the head; for a root, the other roots of its sentence."""
    # The last two indices are those of the root and of "no head".
    head_index = structure.head_indices(words.head, comparison.starts)[:-2]
    siblings = structure.count_dependents(words.head, comparison.starts)[head_index] - 1
    roots = comparison.sum_by_sentence(words.head == 0)[comparison.sentence_index] - 1
    return np.where(words.head > 0, siblings, np.where(words.head == 0, roots, NONE))


def _frequency(comparison: Comparison, words: Words) -> np.ndarray:
    frequencies = comparison.train_frequencies or Counter()
    return comparison.map_values(comparison.gold, "form", frequencies.__getitem__)


def _oov(comparison: Comparison, words: Words) -> Groups:
    known = _frequency(comparison, words) > 0
    return single_valued(np.where(known, 0, 1), ("known", "unknown"))


def _direction(comparison: Comparison, words: Words) -> Groups:
    """Group by the side of the head, seen from the word, as in eval07.pl."""
    head, number = words.head, comparison.number
    labels = ("root", "left", "right", "self", "none")
    conditions = (head == 0, (0 < head) & (head < number), head > number, head == number)
    return single_valued(np.select(conditions, range(4), default=4), labels)


def _projectivity(comparison: Comparison, words: Words) -> Groups:
    # `nonprojective_arcs` rejects the head -1. The head 0 instead does not affect other arcs.
    head = np.maximum(words.head, 0)
    ends = zip(comparison.starts[:-1].tolist(), comparison.starts[1:].tolist(), strict=True)
    nonprojective = np.concatenate([nonprojective_arcs(head[start:end]) for start, end in ends])
    bin_index = np.where(words.head < 0, 2, nonprojective)
    return single_valued(bin_index, ("projective", "non-projective", "none"))


def _column(
    column: str, shorten: Callable[[str], str] = str
) -> Callable[[Comparison, Words], Groups]:
    """Return a function that groups words by the values of a column, which `shorten` may map."""

    def compute_groups(comparison: Comparison, words: Words) -> Groups:
        label_by_code = [shorten(value) for value in comparison.values[column]]
        bin_of_label = {label: i for i, label in enumerate(dict.fromkeys(label_by_code))}
        bin_by_code = np.array([bin_of_label[label] for label in label_by_code])
        return single_valued(bin_by_code[words.codes[column]], list(bin_of_label))

    return compute_groups


def _feats(comparison: Comparison, words: Words) -> Groups:
    """Group words by their features; a word has an entry for each of its features."""
    features_by_code = [value.split("|") for value in comparison.values["feats"]]
    bin_of_feature: dict[str, int] = {}
    # The bins of the features of code 0, then of code 1, and so on; there are sizes[code] of each.
    sizes = np.array([len(features) for features in features_by_code])
    bins = np.array(
        [
            bin_of_feature.setdefault(feature, len(bin_of_feature))
            for features in features_by_code
            for feature in features
        ]
    )
    codes = comparison.gold.codes["feats"]
    num_features = sizes[codes]  # [word]
    first_bin = (np.cumsum(sizes) - sizes)[codes]  # [word], the index in bins of its first feature
    word_index = np.repeat(np.arange(comparison.size), num_features)  # [entry]
    first_entry = np.cumsum(num_features) - num_features  # [word]
    feature_number = np.arange(len(word_index)) - first_entry[word_index]  # [entry], from 0
    bin_index = bins[first_bin[word_index] + feature_number]
    return Groups(bin_index, word_index, list(bin_of_feature))


def _enhancement(comparison: Comparison, words: Words) -> Groups:
    """Group the enhanced relations of words; there is an entry for each, in their order."""
    assert words.relations is not None
    return Groups(words.relations.type, words.relations.word, tuple(TYPES))


def single_valued(bin_index: np.ndarray, labels: Sequence[str]) -> Groups:
    """Return the groups in which each item has one bin; bin_index: [item]."""
    return Groups(bin_index, np.arange(len(bin_index)), labels, True)


GROUPINGS = {
    "distance": Grouping("|head - dependent|", _distance, "1,2,3,4,5,6,7,8,9,10-"),
    "signed-distance": Grouping(
        "head - dependent", _signed_distance, "..-7,-6..-3,-2,-1,1,2,3..6,7.."
    ),
    "direction": Grouping("side of the head, seen from the word", compute_groups=_direction),
    "depth": Grouping(
        "number of arcs from the root word to the word", _depth, "1,2,3,4,5,6,7,8,9,10-"
    ),
    "branching": Grouping("number of dependents", _branching, "0,1,2,3,4,5-"),
    "siblings": Grouping("other dependents of the word's head", _siblings, "0,1,2,3,4,5-"),
    "projectivity": Grouping(
        "whether all words between the word and its head descend from the head",
        compute_groups=_projectivity,
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
        "each feature in the gold FEATS", compute_groups=_feats, groups_arcs=False,
        columns=("feats",), ordered_by_size=True, items="features",
    ),
    "enhancement": Grouping(
        f"type of each enhanced relation of the word: {', '.join(TYPES)}",
        compute_groups=_enhancement, columns=(DEPS,), items="relations",
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
NEEDS_TRAIN = ("frequency", "oov")


def group_words(
    name: str, comparison: Comparison, scored: np.ndarray, bins: str | None = None
) -> tuple[Groups, list[Groups]]:
    """Group the gold words and each system's words by the same labels.

    scored: [word] bool, the words that are not left out as punctuation. Only they count when bins
    are ordered by size. bins: as in `parse_bins`, or "each" for a separate bin for each number that
    occurs; by default, the bins of the grouping.

    Returns the groups of the gold words, and those of each system's words. Raises ValueError if the
    grouping does not exist, or the bins are invalid or do not fit it.
    """
    grouping = get_grouping(name)
    # The files whose trees determine the bins.
    files = (comparison.gold, *comparison.systems) if grouping.groups_arcs else (comparison.gold,)
    gold, *systems = group_items(name, grouping, comparison, files, scored=scored, bins=bins)
    if not grouping.groups_arcs:
        systems = [gold] * len(comparison.systems)
    return gold, systems


def group_items(
    name: str,
    grouping: Grouping,
    comparison: Any,
    files: Sequence[Any],
    *,
    scored: np.ndarray | None = None,
    bins: str | None = None,
) -> list[Groups]:
    """Group the words or constituents of files by the same labels.

    comparison, files: the first argument of the grouping's function, and the second one for each
    file. The first file determines the order of bins that are ordered by size; scored: [item of the
    first file] bool, the items that count for this order, None for all; bins: as for `group_words`.
    """
    if grouping.compute_values:
        values = [grouping.compute_values(comparison, file) for file in files]
        text = bins or grouping.bins
        parsed_bins = bin_each_value(*values) if text == EACH else parse_bins(text)
        return [
            single_valued(parsed_bins.assign(file_values), parsed_bins.labels)
            for file_values in values
        ]
    assert grouping.compute_groups is not None
    if bins:
        raise ValueError(f"grouping '{name}' is not by a number, so it cannot have bins")
    groups = [grouping.compute_groups(comparison, file) for file in files]
    return _order_by_size(groups, scored) if grouping.ordered_by_size else groups


def _order_by_size(groups: Sequence[Groups], scored: np.ndarray | None) -> list[Groups]:
    """Reorder the labels by the size of the bins in the first groups, then alphabetically."""
    bin_index, word_index, labels, _ = groups[0]
    selected = bin_index if scored is None else bin_index[scored[word_index]]
    sizes = np.bincount(selected, minlength=len(labels))
    order = sorted(range(len(labels)), key=lambda i: (-sizes[i], labels[i]))
    rank = np.argsort(order)
    ordered = [labels[i] for i in order]
    return [group._replace(bin_index=rank[group.bin_index], labels=ordered) for group in groups]


def get_grouping(name: str, groupings: Mapping[str, Grouping] = GROUPINGS) -> Grouping:
    """Return the grouping with this name; raise ValueError if there is none."""
    if name not in groupings:
        raise ValueError(describe_unknown("grouping", name, groupings, groupings))
    return groupings[name]


def cross_groups(first: Groups, second: Groups) -> Groups:
    """Combine every bin of one grouping with every bin of another.

    A word has an entry for each pair of one of its entries in `first` and one of its entries in
    `second`. At least one of the two groupings must be single-valued.
    """
    width = len(second.labels)
    labels = [f"{left} × {right}" for left in first.labels for right in second.labels]
    if not second.is_single_valued:
        bin_index = first.bin_index[second.word_index] * width + second.bin_index
        return Groups(bin_index, second.word_index, labels)
    bin_index = first.bin_index * width + second.bin_index[first.word_index]
    return Groups(bin_index, first.word_index, labels, first.is_single_valued)
