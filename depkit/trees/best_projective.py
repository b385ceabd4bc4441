"""The k best projective trees, in the order of their scores, by lazy enumeration.

The algorithm is the third one of Huang and Chiang (2005, "Better k-best parsing") over the chart of
`trees.projective`, in which every projective tree has exactly one derivation. A span is derived
from two smaller spans, which meet at a split. The derivations of a span are computed one by one,
and only as far as a tree needs them. The scores of the first ones are those of the chart.

A span has a code, (kind * size + head) * size + end, where kind is ARC or COMPLETE and size is
n + 1. The code of the whole tree with a single root is 2 * size * size; its splits are the possible
children of the root.
"""

from typing import NamedTuple

import numpy as np

from depkit.trees.compiled import compiled
from depkit.trees.projective import fill_chart
from depkit.trees.shape import arc_span

ARC, COMPLETE = 0, 1
NOTHING = -1
SPLIT, FIRST, SECOND = range(3)  # of a derivation: its split, and the ranks of the two parts
KNOWN, EXTENDED, FINISHED, WAITING = range(4)  # see Derivations.counts


class Chart(NamedTuple):
    """The arc scores, and the scores of the best derivations, see `projective.fill_chart`."""

    score: np.ndarray
    arc: np.ndarray
    complete: np.ndarray


class Derivations(NamedTuple):
    """The derivations of the spans that have been asked for more than their best one.

    counts: [rows, 4], the number of known derivations; the number of those whose successors are
    candidates; whether all derivations are known; and the number of candidates.
    """

    row: np.ndarray  # [code], the row of a span in the other arrays, or NOTHING
    counts: np.ndarray
    known: np.ndarray  # [rows, k, 3], the best first
    known_score: np.ndarray  # [rows, k]
    waiting: np.ndarray  # [rows, 2 k, 3], candidates for the next one
    waiting_score: np.ndarray  # [rows, 2 k]


@compiled
def find_best_projective_trees(
    score: np.ndarray, single_root: bool, heads: np.ndarray, value: np.ndarray
) -> int:
    """Write the best projective trees, the best one first, and return how many there are.

    The arguments are those of `best_trees.find_best_trees`.
    """
    k, n = heads.shape
    size = n + 1
    arc, complete, _ = fill_chart(score, single_root)
    chart = Chart(score, arc, complete)
    whole = 2 * size * size if single_root else COMPLETE * size * size + n
    row = np.full(2 * size * size + 1, NOTHING)
    derivations = make_derivations(row, 4 * size, k)
    rows = 0
    for rank in range(k):
        derivations, rows = derive(chart, derivations, rows, whole, rank)
        if derivations.counts[row[whole], KNOWN] <= rank:
            return rank
        value[rank] = derivations.known_score[row[whole], rank]
        write_derived_heads(chart, derivations, whole, rank, heads[rank])
    return k


@compiled
def make_derivations(row: np.ndarray, capacity: int, k: int) -> Derivations:
    """Make empty arrays with k derivations of some spans; row: see `Derivations`."""
    return Derivations(
        row,
        np.zeros((capacity, 4), np.int64),
        np.empty((capacity, k, 3), np.int64),
        np.empty((capacity, k)),
        np.empty((capacity, 2 * k, 3), np.int64),
        np.empty((capacity, 2 * k)),
    )


@compiled
def grow(old: Derivations, rows: int) -> Derivations:
    """Copy the rows in use to arrays that are twice as large."""
    capacity, k = old.known_score.shape
    new = make_derivations(old.row, 2 * capacity, k)
    new.counts[:rows] = old.counts[:rows]
    new.known[:rows] = old.known[:rows]
    new.known_score[:rows] = old.known_score[:rows]
    new.waiting[:rows] = old.waiting[:rows]
    new.waiting_score[:rows] = old.waiting_score[:rows]
    return new


@compiled
def derive(
    chart: Chart, derivations: Derivations, rows: int, whole: int, rank: int
) -> tuple[Derivations, int]:
    """Compute the derivations of a span up to a rank, if it has so many.

    rows: the number of rows in use. Returns the derivations, possibly in larger arrays, and the
    number of rows in use.
    """
    size = len(chart.score)
    pending = np.empty((4 * size + 4, 2), np.int64)  # spans with a rank; each needs the next one
    pending[0, 0], pending[0, 1] = whole, rank
    length = 1
    while length:
        code, rank = pending[length - 1]
        if derivations.row[code] == NOTHING:
            if rows == len(derivations.counts):
                derivations = grow(derivations, rows)
            derivations.row[code] = rows
            rows += 1
        row = derivations.row[code]
        counts = derivations.counts[row]
        if counts[KNOWN] > rank or counts[FINISHED]:
            length -= 1
        elif counts[EXTENDED] == counts[KNOWN]:
            choose_next(chart, derivations, code)
        else:
            last = derivations.known[row, counts[EXTENDED]]
            first, second = parts(code, last[SPLIT], size)
            # To find each derivation once, the first part advances only beside the best second one.
            if last[SECOND] == 0 and not is_decided(derivations, first, last[FIRST] + 1, size):
                pending[length, 0], pending[length, 1] = first, last[FIRST] + 1
                length += 1
            elif not is_decided(derivations, second, last[SECOND] + 1, size):
                pending[length, 0], pending[length, 1] = second, last[SECOND] + 1
                length += 1
            else:
                if last[SECOND] == 0:
                    add_candidate(chart, derivations, code, last[SPLIT], last[FIRST] + 1, 0)
                add_candidate(chart, derivations, code, last[SPLIT], last[FIRST], last[SECOND] + 1)
                counts[EXTENDED] += 1
    return derivations, rows


@compiled
def span_of(code: int, size: int) -> tuple[int, int, int]:
    """Return the kind, the head and the end of a span that is not the whole tree."""
    return code // (size * size), code // size % size, code % size


@compiled
def is_single_word(code: int, size: int) -> bool:
    """Whether a span is a complete one of a single node, which has one derivation of score 0."""
    kind, head, end = span_of(code, size)
    return kind == COMPLETE and head == end


@compiled
def splits(code: int, size: int) -> tuple[int, int]:
    """Return the first split of a span, and the one after the last."""
    if code == 2 * size * size:
        return 1, size
    kind, head, end = span_of(code, size)
    if kind == COMPLETE and head < end:
        return head + 1, end + 1
    return min(head, end), max(head, end)


@compiled
def parts(code: int, split: int, size: int) -> tuple[int, int]:
    """Return the codes of the two spans that a span consists of."""
    if code == 2 * size * size:
        return (COMPLETE * size + split) * size + 1, (COMPLETE * size + split) * size + size - 1
    kind, head, end = span_of(code, size)
    if kind == COMPLETE:
        return (ARC * size + head) * size + split, (COMPLETE * size + split) * size + end
    left, right = arc_span(head, end)
    return (COMPLETE * size + left) * size + split, (COMPLETE * size + right) * size + split + 1


@compiled
def own_score(chart: Chart, code: int, split: int) -> float:
    """Return the score of the arc that a derivation adds to those of its parts."""
    size = len(chart.score)
    if code == 2 * size * size:
        return float(chart.score[split, 0])
    kind, head, end = span_of(code, size)
    return float(chart.score[end, head]) if kind == ARC else 0.0


@compiled
def part_score(chart: Chart, derivations: Derivations, code: int, rank: int) -> float:
    """Return the score of a derivation of a span that is not the whole tree."""
    if rank > 0:
        return float(derivations.known_score[derivations.row[code], rank])
    kind, head, end = span_of(code, len(chart.score))
    return float(chart.arc[head, end] if kind == ARC else chart.complete[head, end])


@compiled
def is_decided(derivations: Derivations, code: int, rank: int, size: int) -> bool:
    """Whether it is known if a span has a derivation of a rank."""
    row = derivations.row[code]
    return is_single_word(code, size) or (
        row != NOTHING
        and (derivations.counts[row, KNOWN] > rank or derivations.counts[row, FINISHED] == 1)
    )


@compiled
def add_candidate(
    chart: Chart, derivations: Derivations, code: int, split: int, first: int, second: int
) -> None:
    """Add a derivation with a split and the ranks of its parts, if both parts have these ranks."""
    size = len(chart.score)
    first_code, second_code = parts(code, split, size)
    for part, rank in ((first_code, first), (second_code, second)):
        if rank > 0 and (
            is_single_word(part, size) or derivations.counts[derivations.row[part], KNOWN] <= rank
        ):
            return
    row = derivations.row[code]
    index = derivations.counts[row, WAITING]
    waiting = derivations.waiting[row, index]
    waiting[SPLIT], waiting[FIRST], waiting[SECOND] = split, first, second
    derivations.waiting_score[row, index] = (
        part_score(chart, derivations, first_code, first)
        + part_score(chart, derivations, second_code, second)
        + own_score(chart, code, split)
    )
    derivations.counts[row, WAITING] += 1


@compiled
def choose_next(chart: Chart, derivations: Derivations, code: int) -> None:
    """Append the best derivation that is left to those of a span, or finish the span.

    It is a candidate, or consists of the best derivations of the parts at another split. O(n + k).
    """
    size = len(chart.score)
    row = derivations.row[code]
    counts = derivations.counts[row]
    low, high = splits(code, size)
    is_used = np.zeros(size, np.bool_)
    for rank in range(counts[KNOWN]):
        is_used[derivations.known[row, rank, SPLIT]] = True
    best_score, best_split, best_index = -np.inf, NOTHING, NOTHING
    for split in range(low, high):
        if not is_used[split]:
            first, second = parts(code, split, size)
            total = (
                part_score(chart, derivations, first, 0)
                + part_score(chart, derivations, second, 0)
                + own_score(chart, code, split)
            )
            if total > best_score:
                best_score, best_split = total, split
    for index in range(counts[WAITING]):
        if derivations.waiting_score[row, index] > best_score:
            best_score, best_index = derivations.waiting_score[row, index], index
    if best_score == -np.inf:
        counts[FINISHED] = 1
        return
    known = derivations.known[row, counts[KNOWN]]
    if best_index == NOTHING:
        known[SPLIT], known[FIRST], known[SECOND] = best_split, 0, 0
    else:
        last = counts[WAITING] - 1
        known[:] = derivations.waiting[row, best_index]
        derivations.waiting[row, best_index] = derivations.waiting[row, last]
        derivations.waiting_score[row, best_index] = derivations.waiting_score[row, last]
        counts[WAITING] = last
    derivations.known_score[row, counts[KNOWN]] = best_score
    counts[KNOWN] += 1


@compiled
def write_derived_heads(
    chart: Chart, derivations: Derivations, whole: int, rank: int, head: np.ndarray
) -> None:
    """Write the heads of all words by a derivation of the whole tree. O(n^2)."""
    size = len(chart.score)
    pending = np.empty((2 * size + 2, 2), np.int64)
    pending[0, 0], pending[0, 1] = whole, rank
    length = 1
    while length:
        length -= 1
        code, rank = pending[length]
        row = derivations.row[code]
        if row != NOTHING and derivations.counts[row, KNOWN] > rank:
            split, first_rank, second_rank = derivations.known[row, rank]
        else:
            split, first_rank, second_rank = np.int64(best_split(chart, derivations, code)), 0, 0
        if code == 2 * size * size:
            head[split - 1] = 0
        else:
            kind, top, end = span_of(code, size)
            if kind == ARC:
                head[end - 1] = top
        first, second = parts(code, split, size)
        for part, part_rank in ((first, first_rank), (second, second_rank)):
            if not is_single_word(part, size):
                pending[length, 0], pending[length, 1] = part, part_rank
                length += 1


@compiled
def best_split(chart: Chart, derivations: Derivations, code: int) -> int:
    """Return the split of the best derivation of a span that is not the whole tree."""
    size = len(chart.score)
    low, high = splits(code, size)
    best, best_score = low, -np.inf
    for split in range(low, high):
        first, second = parts(code, split, size)
        total = part_score(chart, derivations, first, 0)
        total += part_score(chart, derivations, second, 0)
        if total > best_score:
            best, best_score = split, total
    return best
