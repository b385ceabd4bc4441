"""Alignment of the words of two tokenisations of one text, as in the CoNLL 2018 evaluation.

Zeman et al. (2018), section 5: two words are aligned if they cover the same characters. Which
characters a word of a multiword token covers is not known; such words are aligned by a longest
common subsequence of forms.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

_BEYOND_TEXT = 1 << 62  # an offset after every character


class Spans(NamedTuple):
    """Words, in the order of the text, and the characters that they cover.

    span: [word, 2] int64, the first character and the one after the last; multiword: [word] bool,
    whether the word belongs to a multiword token; all words of such a token have the span of the
    token; form: [word] int, a code for the lower-cased form.
    """

    span: np.ndarray
    multiword: np.ndarray
    form: np.ndarray


def equal_spans(gold: np.ndarray, system: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the spans that both lists have: [same] in gold, [same] in system.

    gold, system: [span, 2], in the order of the text. A span that a list has twice counts once.
    """
    radix = 1 + max(gold.max(initial=0), system.max(initial=0))
    keys = (spans[:, 0] * radix + spans[:, 1] for spans in (gold, system))
    return np.intersect1d(*keys, return_indices=True)[1:]


def align(gold: Spans, system: Spans) -> np.ndarray:
    """Return the gold word that each system word is aligned to: [system word] int64, -1 for none.

    Two cursors walk over both lists in step. Where one of them reaches a multiword token, a region
    begins; it ends where both lists have a word boundary again. The words of a region are aligned
    by their forms. Numpy aligns all words between two regions at once.
    """
    aligned = np.full(len(system.span), -1, np.int64)
    plain = [np.flatnonzero(~words.multiword) for words in (gold, system)]
    same = equal_spans(gold.span[plain[0]], system.span[plain[1]])
    pairs = [words[index] for words, index in zip(plain, same, strict=True)]
    gold_cursor, system_cursor = _Cursor(gold, pairs[0]), _Cursor(system, pairs[1])
    while True:
        gold_stop, system_stop = gold_cursor.next_multiword(), system_cursor.next_multiword()
        # The cursors would meet all pairs before the next region, and no region contains only one
        # word of a pair, so these pairs can be aligned without walking.
        begin = gold_cursor.count_pairs_before(gold_cursor.word)
        end = min(
            gold_cursor.count_pairs_before(gold_stop), system_cursor.count_pairs_before(system_stop)
        )
        if begin < end:
            aligned[pairs[1][begin:end]] = pairs[0][begin:end]
            gold_cursor.word = gold_cursor.pairs[end - 1] + 1
            system_cursor.word = system_cursor.pairs[end - 1] + 1
        while gold_cursor.word < gold_stop and system_cursor.word < system_stop:
            _earlier(gold_cursor, system_cursor).word += 1
        if gold_cursor.word == gold_cursor.size or system_cursor.word == system_cursor.size:
            return aligned
        i, j = _cross_region(gold_cursor, system_cursor)
        gold_forms = gold_cursor.form[i : gold_cursor.word]
        system_forms = system_cursor.form[j : system_cursor.word]
        for gold_index, system_index in longest_common_subsequence(gold_forms, system_forms):
            aligned[j + system_index] = i + gold_index


class _Cursor:
    """The current word of one list; plain Python lists are faster than arrays item by item.

    word: the index of the current word; pairs: the words that belong to no multiword token and
    whose span occurs in the other list as well.
    """

    def __init__(self, words: Spans, pairs: np.ndarray) -> None:
        self.size = len(words.span)
        self.word = 0
        self.pairs: list[int] = pairs.tolist()
        self.start: list[int] = [*words.span[:, 0].tolist(), _BEYOND_TEXT]
        self.end: list[int] = [*words.span[:, 1].tolist(), _BEYOND_TEXT]
        self.multiword: list[bool] = [*words.multiword.tolist(), False]
        self.form: list[int] = words.form.tolist()
        self._multiwords: list[int] = [*np.flatnonzero(words.multiword).tolist(), self.size]

    def next_multiword(self) -> int:
        """Return the next word of a multiword token, or the end of the list."""
        return self._multiwords[bisect_left(self._multiwords, self.word)]

    def count_pairs_before(self, word: int) -> int:
        return bisect_left(self.pairs, word)

    def is_beyond(self, end: int) -> bool:
        """Whether the current word lies outside a region that ends at this character."""
        if self.multiword[self.word]:
            return self.start[self.word] >= end
        return self.end[self.word] > end


def _earlier(gold: _Cursor, system: _Cursor) -> _Cursor:
    """Return the cursor whose current word begins first; gold if both begin together."""
    return gold if gold.start[gold.word] <= system.start[system.word] else system


def _cross_region(gold: _Cursor, system: _Cursor) -> tuple[int, int]:
    """Move both cursors over a region: a multiword token and all words that overlap it.

    Returns the first word of the region in the gold list and in the system's list.
    """
    multiword, other = (gold, system) if gold.multiword[gold.word] else (system, gold)
    # A token that consists of spaces covers no character, but the cursor must still pass it.
    end = max(multiword.end[multiword.word], multiword.start[multiword.word] + 1)
    if (
        not other.multiword[other.word]
        and other.start[other.word] < multiword.start[multiword.word]
    ):
        other.word += 1
    begin = gold.word, system.word
    while not (gold.is_beyond(end) and system.is_beyond(end)):
        cursor = _earlier(gold, system)
        if cursor.multiword[cursor.word]:
            end = max(end, cursor.end[cursor.word])
        cursor.word += 1
    return begin


def longest_common_subsequence(gold: list[int], system: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the index pairs of a longest common subsequence: (index in gold, index in system).

    Where several are equally long, a gold word is skipped rather than a system word. The dynamic
    programming table is stored as one integer per row, with a 0 bit wherever the length grows by
    one (Hyyrö 2004), so that regions of ten thousand words remain fast. Only some rows are kept;
    the others are computed again where they are needed, so that the memory for n words is n^1.5
    bits.
    """
    bits_of_form: dict[int, int] = {}  # for each form, a bit at each of its indices in system
    for index, form in enumerate(reversed(system)):
        bits_of_form[form] = bits_of_form.get(form, 0) | 1 << index
    first_row = (1 << len(system)) - 1

    def rows_from(row: int, begin: int, end: int) -> Iterator[int]:
        """Yield `row`, which is that of the last `begin` gold words, and those up to `end`."""
        yield row
        for k in range(begin, end):
            same = row & bits_of_form.get(gold[-1 - k], 0)
            row = (row + same | row & ~same) & first_row
            yield row

    # Row k is that of the last k gold words; its lowest bit belongs to the last system word.
    step = 1 + math.isqrt(len(gold))
    kept = [*islice(rows_from(first_row, 0, len(gold)), 0, None, step)]
    block, rows = len(kept), list[int]()  # the rows from block * step on

    def find_row(k: int) -> int:
        nonlocal block, rows
        if k < block * step:
            block = k // step
            end = min(len(gold), (block + 1) * step)
            rows = [*rows_from(kept[block], block * step, end)]
        return rows[k - block * step]

    i = j = 0
    while i < len(gold) and j < len(system):
        remaining = (1 << (len(system) - j)) - 1
        if gold[i] == system[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif (find_row(len(gold) - i) & remaining).bit_count() == (
            find_row(len(gold) - i - 1) & remaining
        ).bit_count():
            i += 1
        else:
            j += 1
