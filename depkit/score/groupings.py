"""What words and arcs can be grouped by: one function and one line in the table each.

After MaltEval (Nilsson and Nivre 2008) and McDonald and Nivre (2007).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depkit.corpus.suggestion import unknown
from depkit.corpus.universal import base
from depkit.score import structure
from depkit.score.bins import EACH, NONE, ROOT, each, parse_bins
from depkit.score.words import Comparison, Words
from depkit.trees.shape import nonprojective_arcs


class Groups(NamedTuple):
    """Which words are in which bin: code[i] is an index into labels, for word word[i].

    A grouping is single-valued if each word is there once, in order.
    """

    code: np.ndarray
    word: np.ndarray
    labels: Sequence[str]


@dataclass(frozen=True)
class Grouping:
    """A way to group words; about: in a few words; columns: which it reads.

    values: [word] int64 numbers for `bins`; or, without bins, `Groups`. arcs: whether gold and
    predicted trees are each grouped by their own arcs; otherwise the gold words decide for both.
    ranked: whether the bins have no order but by size.
    """

    about: str
    values: Callable[[Comparison, Words], np.ndarray] | None = None
    bins: str = EACH
    groups: Callable[[Comparison, Words], Groups] | None = None
    arcs: bool = True
    columns: tuple[str, ...] = ()
    ranked: bool = False


def _distance(words: Comparison, which: Words) -> np.ndarray:
    return np.where(which.head > 0, np.abs(which.head - words.number), _no_arc(which.head))


def _signed_distance(words: Comparison, which: Words) -> np.ndarray:
    return np.where(which.head > 0, which.head - words.number, _no_arc(which.head))


def _no_arc(head: np.ndarray) -> np.ndarray:
    """ROOT where the head (or the depth) is 0, else NONE."""
    return np.where(head == 0, ROOT, NONE)


def _depth(words: Comparison, which: Words) -> np.ndarray:
    depth = structure.depths(which.head, words.starts)
    return np.where(depth > 0, depth, _no_arc(depth))


def _branching(words: Comparison, which: Words) -> np.ndarray:
    return structure.dependents(which.head, words.starts)[:-2]


def _siblings(words: Comparison, which: Words) -> np.ndarray:
    """Other dependents of the head; for a root, other roots of its sentence."""
    parent = structure.parents(which.head, words.starts)[:-2]
    others = structure.dependents(which.head, words.starts)[parent] - 1
    roots = words.sums(which.head == 0)[words.sentence] - 1
    return np.where(which.head > 0, others, np.where(which.head == 0, roots, NONE))


def _frequency(words: Comparison, which: Words) -> np.ndarray:
    return words.of_values(words.gold, "form", (words.train or Counter()).__getitem__)


def _oov(words: Comparison, which: Words) -> Groups:
    known = _frequency(words, which) > 0
    return _single(np.where(known, 0, 1), ("known", "unknown"))


def _direction(words: Comparison, which: Words) -> Groups:
    """As in eval07.pl: the head's side, seen from the word."""
    side = np.sign(which.head - words.number) % 3  # 0 itself, 1 right, 2 left
    code = np.where(which.head > 0, np.array([3, 2, 1])[side], np.where(which.head == 0, 0, 4))
    return _single(code, ("root", "left", "right", "self", "none"))


def _projectivity(words: Comparison, which: Words) -> Groups:
    head = np.maximum(which.head, 0)
    ends = zip(words.starts[:-1].tolist(), words.starts[1:].tolist(), strict=True)
    crossing = np.concatenate([nonprojective_arcs(head[start:end]) for start, end in ends])
    return _single(np.where(which.head < 0, 2, crossing), ("projective", "non-projective", "none"))


def _column(column: str, part: Callable[[str], str] = str) -> Callable[[Comparison, Words], Groups]:
    """Groups by the values of a column, or by a part of them."""

    def groups(words: Comparison, which: Words) -> Groups:
        parts = [part(value) for value in words.values[column]]
        place = {label: i for i, label in enumerate(dict.fromkeys(parts))}
        return _single(np.array([place[x] for x in parts])[which.code[column]], list(place))

    return groups


def _feats(words: Comparison, which: Words) -> Groups:
    """Every feature of a word is a group that it is in."""
    split = [value.split("|") for value in words.values["feats"]]
    place: dict[str, int] = {}
    sizes = np.array([len(features) for features in split])
    flat = np.array([place.setdefault(x, len(place)) for features in split for x in features])
    code = words.gold.code["feats"]
    first = (np.cumsum(sizes) - sizes)[code]
    repeats = sizes[code]
    word = np.repeat(np.arange(words.size), repeats)
    within = np.arange(len(word)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return Groups(flat[first[word] + within], word, list(place))


def _single(code: np.ndarray, labels: Sequence[str]) -> Groups:
    return Groups(code, np.arange(len(code)), labels)


GROUPINGS = {
    "distance": Grouping("|head - dependent|", _distance, "1,2,3,4,5,6,7,8,9,10-"),
    "signed-distance": Grouping(
        "head - dependent", _signed_distance, "..-7,-6..-3,-2,-1,1,2,3..6,7.."
    ),
    "direction": Grouping("the side on which the head stands", groups=_direction),
    "depth": Grouping("arcs below the root's dependent", _depth, "1,2,3,4,5,6,7,8,9,10-"),
    "branching": Grouping("dependents of the word", _branching, "0,1,2,3,4,5-"),
    "siblings": Grouping("other dependents of its head", _siblings, "0,1,2,3,4,5-"),
    "projectivity": Grouping(
        "whether the head dominates all words between", groups=_projectivity
    ),
    "deprel": Grouping("relation", groups=_column("deprel"), columns=("deprel",), ranked=True),
    "base-deprel": Grouping(
        "relation without subtype", groups=_column("deprel", base), columns=("deprel",), ranked=True
    ),
    "upos": Grouping(
        "gold UPOS", groups=_column("upos"), arcs=False, columns=("upos",), ranked=True
    ),
    "xpos": Grouping(
        "gold XPOS", groups=_column("xpos"), arcs=False, columns=("xpos",), ranked=True
    ),
    "feats": Grouping(
        "each gold feature", groups=_feats, arcs=False, columns=("feats",), ranked=True
    ),
    "length": Grouping(
        "words in the sentence", lambda words, _: words.lengths[words.sentence],
        "1-9,10-19,20-29,30-39,40-49,50-", arcs=False,
    ),
    "position": Grouping(
        "number in the sentence", lambda words, _: words.number, "1,2,3-5,6-10,11-20,21-",
        arcs=False,
    ),
    "frequency": Grouping(
        "occurrences of the form in --train FILE", _frequency, "0,1,2,3-5,6-10,11-100,101-",
        arcs=False, columns=("form",),
    ),
    "oov": Grouping(
        "whether --train FILE has the form", groups=_oov, arcs=False, columns=("form",)
    ),
}  # fmt: skip
NEED_TRAIN = ("frequency", "oov")


def grouped(
    name: str, words: Comparison, scored: np.ndarray, bins: str | None = None
) -> tuple[Groups, list[Groups]]:
    """The gold words and those of every system in groups with the same labels.

    scored: [word] bool, the gold words that count when bins are ordered by size. bins: as in
    `parse_bins`, or "each" number; None for the grouping's own.
    Raises ValueError for a grouping or bins that do not exist.
    """
    grouping = named(name)
    every = (words.gold, *words.systems) if grouping.arcs else (words.gold,)
    if grouping.values:
        values = [grouping.values(words, which) for which in every]
        chosen = bins or grouping.bins
        cut = each(*values) if chosen == EACH else parse_bins(chosen)
        first, *others = (_single(cut.codes(value), cut.labels) for value in values)
    elif grouping.groups:
        if bins:
            raise ValueError(f"'{name}' has no numbers, and so no bins")
        first, *others = (grouping.groups(words, which) for which in every)
        if grouping.ranked:
            first, *others = _ranked([first, *others], scored)
    return first, others or [first] * len(words.systems)  # gold words decide for every system


def _ranked(groups: Sequence[Groups], scored: np.ndarray) -> list[Groups]:
    """The same groups with the labels in order of size in the first, then of the alphabet."""
    code, word, labels = groups[0]
    sizes = np.bincount(code[scored[word]], minlength=len(labels))
    order = sorted(range(len(labels)), key=lambda i: (-sizes[i], labels[i]))
    place = np.argsort(order)
    ranked = [labels[i] for i in order]
    return [Groups(place[each.code], each.word, ranked) for each in groups]


def named(name: str) -> Grouping:
    """The grouping of that name. Raises ValueError, saying what there is."""
    if name not in GROUPINGS:
        raise ValueError(unknown("grouping", name, GROUPINGS, GROUPINGS))
    return GROUPINGS[name]


def crossed(first: Groups, second: Groups) -> Groups:
    """Every combination of two groupings' bins; each word is in all of its combinations.

    One of them at least must be single-valued.
    """
    width = len(second.labels)
    labels = [f"{one} × {other}" for one in first.labels for other in second.labels]
    if len(second.word) > len(first.word):
        return Groups(first.code[second.word] * width + second.code, second.word, labels)
    return Groups(first.code * width + second.code[first.word], first.word, labels)
