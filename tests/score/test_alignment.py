"""The alignment of words, compared with a slow implementation that walks word by word."""

import random
import time
from itertools import pairwise

import numpy as np
import pytest

from depkit.score.alignment import Spans, align, equal_spans, longest_common_subsequence


def parse_spans(text: str) -> Spans:
    """Parse tokens that are separated by spaces; `abc=a,bc` is a multiword token."""
    offsets, multiword, forms = [], [], []
    start = 0
    for token in text.split():
        surface, equals, words = token.partition("=")
        for word in words.split(",") if equals else [surface]:
            offsets.append((start, start + len(surface)))
            multiword.append(bool(equals))
            forms.append(sum(ord(character) << 8 * i for i, character in enumerate(word)))
        start += len(surface)
    return make_spans(offsets, multiword, forms)


def make_spans(offsets: list[tuple[int, int]], multiword: list[bool], forms: list[int]) -> Spans:
    span = np.array(offsets, np.int64).reshape(-1, 2)  # [word, 2], even if there are no words
    return Spans(span, np.array(multiword, bool), np.array(forms, np.int64))


@pytest.mark.parametrize(
    ("gold", "system", "expected"),
    [
        ("ab c", "ab c", [0, 1]),
        ("ab c", "abc", [-1]),
        ("abc de f", "a bc d e f", [-1, -1, -1, -1, 2]),
        ("abc=ab,c d", "abc=ab,c d", [0, 1, 2]),
        ("abc=ab,c d", "ab c d", [0, 1, 2]),
        ("ab c d", "abc=ab,c d", [0, 1, 2]),
        ("abc=ab,c d", "abc d", [-1, 2]),
        ("du=de,le d", "du=de,x,le d", [0, -1, 1, 2]),
        # A multiword token that begins inside a region extends it; a plain word does not.
        ("ab=a,c cd", "a bc=b,c d", [0, -1, 1, -1]),
        ("ab=a,b c d", "a bc d", [0, -1, 3]),
        # Of two subsequences of equal length, the one that skips a gold word is selected.
        ("ab=a,b", "ab=b,a", [1, -1]),
        # A plain word that begins before a multiword token does not belong to its region.
        ("abcd ef=a,x", "a b c d ef", [-1, -1, -1, -1, -1]),
        # But only one such word is excluded, and spans inside a region do not matter.
        ("abcd ef=b,x", "a b c d ef", [-1, 1, -1, -1, -1]),
        ("ab=b,c cd", "ab=a,b cd", [-1, 0, 2]),
        ("ab", "", []),
        ("", "ab=a,b", [-1, -1]),
    ],
)
def test_alignments_equal_those_by_hand(gold: str, system: str, expected: list[int]) -> None:
    assert align(parse_spans(gold), parse_spans(system)).tolist() == expected


def random_spans(rng: random.Random, length: int, multiword_rate: float, forms: int) -> Spans:
    """Return a random tokenisation of a text of this length; forms: the number of forms."""
    cuts = [0, *sorted(rng.sample(range(1, length), rng.randrange(length))), length]
    offsets, multiword = [], []
    for start, end in pairwise(cuts):
        is_multiword = rng.random() < multiword_rate
        words = rng.randint(1, 4) if is_multiword else 1
        offsets += [(start, end)] * words
        multiword += [is_multiword] * words
    return make_spans(offsets, multiword, [rng.randrange(forms) for _ in offsets])


def align_slowly(gold: Spans, system: Spans) -> list[int]:
    """Align word by word, by the definition."""
    aligned = [-1] * len(system.span)
    i = j = 0
    while i < len(gold.span) and j < len(system.span):
        (start, end), (system_start, system_end) = gold.span[i], system.span[j]
        if gold.multiword[i] or system.multiword[j]:
            if gold.multiword[i]:
                j += not system.multiword[j] and system_start < start
            else:
                end = system_end
                i += start < system_start
            first, second = i, j
            while not (is_beyond(gold, i, end) and is_beyond(system, j, end)):
                is_gold = j == len(system.span) or (
                    i < len(gold.span) and gold.span[i, 0] <= system.span[j, 0]
                )
                words, k = (gold, i) if is_gold else (system, j)
                end = max(end, words.span[k, 1]) if words.multiword[k] else end
                i, j = (i + 1, j) if is_gold else (i, j + 1)
            for a, b in lcs_by_table(gold.form[first:i].tolist(), system.form[second:j].tolist()):
                aligned[second + b] = first + a
        elif (start, end) == (system_start, system_end):
            aligned[j] = i
            i, j = i + 1, j + 1
        elif start <= system_start:
            i += 1
        else:
            j += 1
    return aligned


def is_beyond(words: Spans, k: int, end: int) -> bool:
    if k == len(words.span):
        return True
    return bool(words.span[k, 0] >= end if words.multiword[k] else words.span[k, 1] > end)


def lcs_by_table(gold: list[int], system: list[int]) -> list[tuple[int, int]]:
    """Return the longest common subsequence, by the plain dynamic programming table."""
    n, m = len(gold), len(system)
    length = [[0] * (m + 1) for _ in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            longest = max(length[i + 1][j], length[i][j + 1])
            length[i][j] = length[i + 1][j + 1] + 1 if gold[i] == system[j] else longest
    pairs, i, j = [], 0, 0
    while i < n and j < m:
        if gold[i] == system[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i][j] == length[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.8])
def test_alignments_equal_those_of_the_slow_implementation(rate: float) -> None:
    rng = random.Random(int(rate * 10))
    aligned = 0
    for _ in range(1500):
        length, forms = rng.randint(1, 14), rng.randint(1, 6)
        gold, system = (random_spans(rng, length, rate, forms) for _ in "gs")
        result = align(gold, system).tolist()
        assert result == align_slowly(gold, system)
        aligned_words = [word for word in result if word >= 0]
        assert aligned_words == sorted(set(aligned_words))
        aligned += len(aligned_words)
    assert aligned > 1500


def test_the_longest_common_subsequence_equals_that_of_the_table() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        forms = rng.randint(1, 5)
        gold, system = ([rng.randrange(forms) for _ in range(rng.randrange(12))] for _ in "gs")
        assert list(longest_common_subsequence(gold, system)) == lcs_by_table(gold, system)


def test_a_region_of_ten_thousand_words_is_aligned_fast() -> None:
    rng = random.Random(2)
    gold, system = ([rng.randrange(50) for _ in range(10_000)] for _ in "gs")
    start = time.perf_counter()
    pairs = list(longest_common_subsequence(gold, system))
    assert time.perf_counter() - start < 5
    assert len(pairs) > 2000 and all(gold[i] == system[j] for i, j in pairs)


def test_words_without_characters_are_aligned_at_most_once() -> None:
    """The result is undefined for forms of nothing but spaces, but no word is aligned twice."""
    rng = random.Random(3)
    for _ in range(1000):
        lists = []
        for _ in "gs":
            words = random_spans(rng, 6, 0.3, 2)
            offsets = np.array(sorted(rng.choices([0, *words.span[:, 1]], k=3)))
            span = np.concatenate([words.span, np.stack([offsets, offsets], axis=1)])
            multiword = np.append(words.multiword, [rng.random() < 0.3] * 3)
            form = np.append(words.form, [0] * 3)
            order = np.lexsort((span[:, 1], span[:, 0]))
            lists.append(Spans(span[order], multiword[order], form[order]))
        result = align(*lists)
        aligned_words = result[result >= 0].tolist()
        assert aligned_words == sorted(set(aligned_words))


def test_equal_spans_are_paired() -> None:
    gold = np.array([(0, 2), (2, 3), (3, 3), (3, 3), (3, 5)])
    system = np.array([(0, 1), (1, 2), (2, 3), (3, 3), (3, 5)])
    assert [indices.tolist() for indices in equal_spans(gold, system)] == [[1, 2, 4], [2, 3, 4]]
    assert [indices.tolist() for indices in equal_spans(gold, gold[:0])] == [[], []]
