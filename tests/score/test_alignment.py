"""Words aligned as the CoNLL 2018 evaluation walks, against that walk step by step."""

import random
import time
from itertools import pairwise

import numpy as np
import pytest

from depkit.score.alignment import Spans, align, equal_spans, longest_common_subsequence


def spans(text: str) -> Spans:
    """Tokens with spaces between; `abc=a,bc` is a multiword one."""
    span, multiword, forms = [], [], []
    start = 0
    for token in text.split():
        surface, equals, words = token.partition("=")
        for word in words.split(",") if equals else [surface]:
            span.append((start, start + len(surface)))
            multiword.append(bool(equals))
            forms.append(sum(ord(character) << 8 * i for i, character in enumerate(word)))
        start += len(surface)
    return as_spans(span, multiword, forms)


def as_spans(span: list[tuple[int, int]], multiword: list[bool], forms: list[int]) -> Spans:
    of_words = np.array(span, np.int64).reshape(-1, 2)  # [word, 2], of no words too
    return Spans(of_words, np.array(multiword, bool), np.array(forms, np.int64))


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
        # a multiword token that begins inside a region extends it, a plain one does not
        ("ab=a,c cd", "a bc=b,c d", [0, -1, 1, -1]),
        ("ab=a,b c d", "a bc d", [0, -1, 3]),
        # of two subsequences as long the one that skips a gold word
        ("ab=a,b", "ab=b,a", [1, -1]),
        # a plain word that begins before a multiword token is no part of its region ...
        ("abcd ef=a,x", "a b c d ef", [-1, -1, -1, -1, -1]),
        # ... but only one is left out, and in the region spans do not matter
        ("abcd ef=b,x", "a b c d ef", [-1, 1, -1, -1, -1]),
        ("ab=b,c cd", "ab=a,b cd", [-1, 0, 2]),
        ("ab", "", []),
        ("", "ab=a,b", [-1, -1]),
    ],
)
def test_by_hand(gold: str, system: str, expected: list[int]) -> None:
    assert align(spans(gold), spans(system)).tolist() == expected


def random_spans(rng: random.Random, length: int, rate: float, kinds: int) -> Spans:
    """A random tokenisation of so many characters; rate: of multiword tokens."""
    cuts = [0, *sorted(rng.sample(range(1, length), rng.randrange(length))), length]
    span, multiword = [], []
    for start, end in pairwise(cuts):
        several = rng.random() < rate
        words = rng.randint(1, 4) if several else 1
        span += [(start, end)] * words
        multiword += [several] * words
    return as_spans(span, multiword, [rng.randrange(kinds) for _ in span])


def walk(gold: Spans, system: Spans) -> list[int]:
    """The alignment as it is defined, one step after another."""
    aligned = [-1] * len(system.span)
    i = j = 0
    while i < len(gold.span) and j < len(system.span):
        (start, end), (other_start, other_end) = gold.span[i], system.span[j]
        if gold.multiword[i] or system.multiword[j]:
            if gold.multiword[i]:
                j += not system.multiword[j] and other_start < start
            else:
                end = other_end
                i += start < other_start
            first, second = i, j
            while not (is_beyond(gold, i, end) and is_beyond(system, j, end)):
                of_gold = j == len(system.span) or (
                    i < len(gold.span) and gold.span[i, 0] <= system.span[j, 0]
                )
                words, k = (gold, i) if of_gold else (system, j)
                end = max(end, words.span[k, 1]) if words.multiword[k] else end
                i, j = (i + 1, j) if of_gold else (i, j + 1)
            for a, b in table_walk(gold.form[first:i].tolist(), system.form[second:j].tolist()):
                aligned[second + b] = first + a
        elif (start, end) == (other_start, other_end):
            aligned[j] = i
            i, j = i + 1, j + 1
        elif start <= other_start:
            i += 1
        else:
            j += 1
    return aligned


def is_beyond(words: Spans, k: int, end: int) -> bool:
    if k == len(words.span):
        return True
    return bool(words.span[k, 0] >= end if words.multiword[k] else words.span[k, 1] > end)


def table_walk(gold: list[int], system: list[int]) -> list[tuple[int, int]]:
    """The longest common subsequence by the table of the lengths of all ends."""
    n, m = len(gold), len(system)
    length = [[0] * (m + 1) for _ in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            longest = max(length[i + 1][j], length[i][j + 1])
            length[i][j] = length[i + 1][j + 1] + 1 if gold[i] == system[j] else longest
    found, i, j = [], 0, 0
    while i < n and j < m:
        if gold[i] == system[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif length[i][j] == length[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.8])
def test_the_fast_walk_is_the_plain_one(rate: float) -> None:
    rng = random.Random(int(rate * 10))
    aligned = 0
    for _ in range(1500):
        length, kinds = rng.randint(1, 14), rng.randint(1, 6)
        gold, system = (random_spans(rng, length, rate, kinds) for _ in "gs")
        found = align(gold, system).tolist()
        assert found == walk(gold, system)
        taken = [word for word in found if word >= 0]
        assert taken == sorted(set(taken))
        aligned += len(taken)
    assert aligned > 1500


def test_the_longest_common_subsequence_is_the_table_s() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        kinds = rng.randint(1, 5)
        gold, system = ([rng.randrange(kinds) for _ in range(rng.randrange(12))] for _ in "gs")
        assert list(longest_common_subsequence(gold, system)) == table_walk(gold, system)


def test_a_region_of_ten_thousand_words() -> None:
    rng = random.Random(2)
    gold, system = ([rng.randrange(50) for _ in range(10_000)] for _ in "gs")
    began = time.perf_counter()
    found = list(longest_common_subsequence(gold, system))
    assert time.perf_counter() - began < 5
    assert len(found) > 2000 and all(gold[i] == system[j] for i, j in found)


def test_words_that_cover_nothing_are_aligned_once() -> None:
    """Forms of nothing but spaces: nothing is defined for them, but the walk only goes forward."""
    rng = random.Random(3)
    for _ in range(1000):
        lists = []
        for _ in "gs":
            words = random_spans(rng, 6, 0.3, 2)
            places = np.array(sorted(rng.choices([0, *words.span[:, 1]], k=3)))
            span = np.concatenate([words.span, np.stack([places, places], axis=1)])
            multiword = np.append(words.multiword, [rng.random() < 0.3] * 3)
            form = np.append(words.form, [0] * 3)
            order = np.lexsort((span[:, 1], span[:, 0]))
            lists.append(Spans(span[order], multiword[order], form[order]))
        found = align(*lists)
        taken = found[found >= 0].tolist()
        assert taken == sorted(set(taken))


def test_equal_spans() -> None:
    gold = np.array([(0, 2), (2, 3), (3, 3), (3, 3), (3, 5)])
    system = np.array([(0, 1), (1, 2), (2, 3), (3, 3), (3, 5)])
    assert [found.tolist() for found in equal_spans(gold, system)] == [[1, 2, 4], [2, 3, 4]]
    assert [found.tolist() for found in equal_spans(gold, gold[:0])] == [[], []]
