"""Which words of two tokenisations of one text are the same, as in the CoNLL 2018 evaluation.

Zeman et al. (2018), section 5: words are the same if they cover the same characters; those of
multiword tokens, whose characters nobody knows, if a longest common subsequence has them.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_NOWHERE = 1 << 62  # beyond every character


class Spans(NamedTuple):
    """Words and the characters that they cover, in the text's order.

    span: [word, 2] int64, the first character and the one after the last; multiword: [word] bool,
    words of a multiword token, which all have that token's span; form: [word] int, lower-cased
    forms as numbers.
    """

    span: np.ndarray
    multiword: np.ndarray
    form: np.ndarray


def equal_spans(gold: np.ndarray, system: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The indices of spans that stand in both, in order: [same] in gold, [same] in system.

    gold, system: [span, 2], in the text's order. What stands in one of them twice is found once.
    """
    radix = 1 + max(gold.max(initial=0), system.max(initial=0))
    keys = (spans[:, 0] * radix + spans[:, 1] for spans in (gold, system))
    return np.intersect1d(*keys, return_indices=True)[1:]


def align(gold: Spans, system: Spans) -> np.ndarray:
    """[system word] int64, the gold word that is the same, -1 if none is.

    Both lists are walked in step; from a multiword token to where both have a boundary again, all
    words are aligned by their forms. Numpy carries the walk from one such region to the next.
    """
    aligned = np.full(len(system.span), -1, np.int64)
    plain = [np.flatnonzero(~words.multiword) for words in (gold, system)]
    same = equal_spans(gold.span[plain[0]], system.span[plain[1]])
    pairs = [indices[found] for indices, found in zip(plain, same, strict=True)]
    ours, theirs = _Walk(gold, pairs[0]), _Walk(system, pairs[1])
    while True:
        stops = ours.next_multiword(), theirs.next_multiword()
        # All pairs up to there are on the walk's way; no region takes one word of a pair alone.
        begin = ours.pairs_before(ours.at)
        end = min(ours.pairs_before(stops[0]), theirs.pairs_before(stops[1]))
        if begin < end:
            aligned[pairs[1][begin:end]] = pairs[0][begin:end]
            ours.at, theirs.at = ours.pairs[end - 1] + 1, theirs.pairs[end - 1] + 1
        while ours.at < stops[0] and theirs.at < stops[1]:
            _first(ours, theirs).at += 1
        if ours.at == ours.size or theirs.at == theirs.size:
            return aligned
        i, j = _region(ours, theirs)
        for first, second in longest_common(ours.form[i : ours.at], theirs.form[j : theirs.at]):
            aligned[j + second] = i + first


class _Walk:
    """Where the walk stands in one list of words; as plain lists, which are faster one by one.

    at: the current word; pairs: the words without a multiword token that have an equal span in
    the other list.
    """

    def __init__(self, words: Spans, pairs: np.ndarray) -> None:
        self.size = len(words.span)
        self.at = 0
        self.pairs: list[int] = pairs.tolist()
        self.start: list[int] = [*words.span[:, 0].tolist(), _NOWHERE]
        self.end: list[int] = [*words.span[:, 1].tolist(), _NOWHERE]
        self.multiword: list[bool] = [*words.multiword.tolist(), False]
        self.form: list[int] = words.form.tolist()
        self._multiwords: list[int] = [*np.flatnonzero(words.multiword).tolist(), self.size]

    def next_multiword(self) -> int:
        """The next word of a multiword token, or the end of the list."""
        return self._multiwords[bisect_left(self._multiwords, self.at)]

    def pairs_before(self, word: int) -> int:
        return bisect_left(self.pairs, word)

    def is_beyond(self, end: int) -> bool:
        """Whether the current word is no part of what ends there."""
        if self.multiword[self.at]:
            return self.start[self.at] >= end
        return self.end[self.at] > end


def _first(ours: _Walk, theirs: _Walk) -> _Walk:
    """Whose current word begins first; ours if both begin together."""
    return ours if ours.start[ours.at] <= theirs.start[theirs.at] else theirs


def _region(ours: _Walk, theirs: _Walk) -> tuple[int, int]:
    """Walks over the multiword token here and all that overlaps it; its first words in both."""
    token, other = (ours, theirs) if ours.multiword[ours.at] else (theirs, ours)
    end = max(token.end[token.at], token.start[token.at] + 1)  # one of spaces alone is passed, too
    if not other.multiword[other.at] and other.start[other.at] < token.start[token.at]:
        other.at += 1
    begin = ours.at, theirs.at
    while not (ours.is_beyond(end) and theirs.is_beyond(end)):
        taken = _first(ours, theirs)
        if taken.multiword[taken.at]:
            end = max(end, taken.end[taken.at])
        taken.at += 1
    return begin


def longest_common(gold: list[int], system: list[int]) -> Iterator[tuple[int, int]]:
    """The places in both of a longest common subsequence, that of a walk from the beginning.

    Where more than one is as long, a gold word is skipped rather than a system word. The table of
    lengths is kept as bits, a 0 in a row for each 1 by which lengths grow (Hyyrö 2004), so that
    regions of ten thousand words are no problem.
    """
    places: dict[int, int] = {}
    for place, form in enumerate(reversed(system)):
        places[form] = places.get(form, 0) | 1 << place
    rows = [(1 << len(system)) - 1]  # of the last 0, 1, 2, ... gold words, the last bits first
    for form in reversed(gold):
        row = rows[-1]
        same = row & places.get(form, 0)
        rows.append((row + same | row & ~same) & rows[0])
    i = j = 0
    while i < len(gold) and j < len(system):
        rest = (1 << (len(system) - j)) - 1
        if gold[i] == system[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif (rows[-1 - i] & rest).bit_count() == (rows[-2 - i] & rest).bit_count():
            i += 1
        else:
            j += 1
