"""Exact maximum projective tree in O(n^3) time and O(n^2) space.

The algorithm of Eisner (1996, "Three new probabilistic models for dependency parsing"; 2000,
"Bilexical grammars and their cubic-time parsing algorithms").

A span is indexed by its head and its far end, [head, end], so one square array holds the spans to
the left and to the right of their heads. An arc span (Eisner's incomplete span) reaches from a
head to a dependent and covers everything between them; a complete span continues to the last
descendant on that side. There are no back pointers: the best splits of the few spans on the best
tree are computed a second time.
"""

import numpy as np

from depkit.trees.compiled import compiled
from depkit.trees.shape import arc_span


@compiled
def find_maximum_projective_tree(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Write the heads of the best projective tree, or of one of several, if there is one.

    Returns whether there is. The arguments are those of `find_maximum_arborescence`. The function
    computes in float64 and needs 24 (n + 1)^2 bytes.
    """
    n = head.size
    if n == 0:
        return True
    arc, complete, by_end = fill_chart(score, single_root)
    if single_root:
        # All other words descend from the root's only child, on its left and on its right.
        child = best_root_child(score, complete)
        if child == 0:
            return False
        head[child - 1] = 0
        pending = [(child, 1), (child, n)]
    else:
        # The root is an ordinary head at the left edge.
        if complete[0, n] == -np.inf:
            return False
        pending = [(0, n)]
    write_heads(arc, complete, by_end, pending, head)
    return True


@compiled
def best_root_child(score: np.ndarray, complete: np.ndarray) -> int:
    """Find the root's only child in the best projective tree; 0 if there is no tree. O(n)."""
    n = len(score) - 1
    best, best_score = 0, -np.inf
    for child in range(1, n + 1):
        value = complete[child, 1] + complete[child, n] + score[child, 0]
        if value > best_score:
            best, best_score = child, value
    return best


@compiled
def fill_chart(score: np.ndarray, words_only: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the best score of every span over the words, or over the root and the words.

    Returns arc and complete, [head, end] float64, and by_end, the transpose of complete, with
    which every inner loop runs along rows.
    """
    first = 1 if words_only else 0
    size = len(score)
    arc = np.full((size, size), -np.inf)
    complete = np.full((size, size), -np.inf)
    by_end = np.full((size, size), -np.inf)
    for right in range(first, size):
        complete[right, right] = by_end[right, right] = 0.0
        for left in range(right - 1, first - 1, -1):
            split_score = max_sum(complete[left, left:right], complete[right, left + 1 : right + 1])
            arc[left, right] = split_score + score[right, left]
            if left > 0:
                arc[right, left] = split_score + score[left, right]
            rightward = max_sum(
                arc[left, left + 1 : right + 1], by_end[right, left + 1 : right + 1]
            )
            leftward = max_sum(arc[right, left:right], by_end[left, left:right])
            complete[left, right] = by_end[right, left] = rightward
            complete[right, left] = by_end[left, right] = leftward
    return arc, complete, by_end


@compiled
def max_sum(x: np.ndarray, y: np.ndarray) -> float:
    """Return the maximum of x + y."""
    best = -np.inf
    for i in range(x.size):
        best = max(best, x[i] + y[i])
    return best


@compiled
def write_heads(
    arc: np.ndarray,
    complete: np.ndarray,
    by_end: np.ndarray,
    pending: list[tuple[int, int]],
    head: np.ndarray,
) -> None:
    """Write the heads of all words within some complete spans, by the results of `fill_chart`.

    pending: the complete spans, as pairs of head and end; emptied. O(n^2).
    """
    while pending:
        top, end = pending.pop()
        if top == end:
            continue
        if top < end:
            dependent = (
                top + 1 + argmax_sum(arc[top, top + 1 : end + 1], by_end[end, top + 1 : end + 1])
            )
        else:
            dependent = end + argmax_sum(arc[top, end:top], by_end[end, end:top])
        head[dependent - 1] = top
        left, right = arc_span(top, dependent)
        middle = left + argmax_sum(
            complete[left, left:right], complete[right, left + 1 : right + 1]
        )
        pending.append((dependent, end))
        pending.append((left, middle))
        pending.append((right, middle + 1))


@compiled
def argmax_sum(x: np.ndarray, y: np.ndarray) -> int:
    """Return the first index of the maximum of x + y."""
    best = 0
    for i in range(1, x.size):
        if x[i] + y[i] > x[best] + y[best]:
            best = i
    return best
