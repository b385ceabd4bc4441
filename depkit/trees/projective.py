"""Exact maximum projective tree in O(n^3) time and O(n^2) space.

The algorithm of Eisner (1996, "Three new probabilistic models for dependency parsing"; 2000,
"Bilexical grammars and their cubic-time parsing algorithms").

A span is named by its head and its far end, [head, end], so that one square array holds those to
the left and those to the right. An arc's span reaches from a head to a dependent with everything
between them; a complete one goes on to the last descendant on that side. No back pointers: the
best split of the few spans on the best tree is found a second time.
"""

import numpy as np

from depkit.trees.compiled import compiled
from depkit.trees.shape import span


@compiled
def maximum_projective_tree(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Write the heads of the best projective tree.

    score: [n + 1, n + 1] (dependent, head), column 0 the artificial root; row 0 and the diagonal
    are ignored, -inf forbids an arc, NaN and +inf must not occur. head: [n], written; some best
    tree if several are. Returns whether there is a tree, with one child of the root if
    single_root. Works in float64, on 24 (n + 1)^2 bytes.
    """
    n = head.size
    if n == 0:
        return True
    arc, complete, by_end = fill_chart(score, single_root)
    if single_root:
        # The root's only child has all words on its left and on its right below it.
        child = best_child(score, complete)
        if child == 0:
            return False
        head[child - 1] = 0
        pending = [(child, 1), (child, n)]
    else:
        # The root is an ordinary head at the left edge.
        if complete[0, n] == -np.inf:
            return False
        pending = [(0, n)]
    follow(arc, complete, by_end, pending, head)
    return True


@compiled
def best_child(score: np.ndarray, complete: np.ndarray) -> int:
    """The only child of the root in the best projective tree, 0 if there is no tree. O(n)."""
    n = len(score) - 1
    best, best_score = 0, -np.inf
    for child in range(1, n + 1):
        value = complete[child, 1] + complete[child, n] + score[child, 0]
        if value > best_score:
            best, best_score = child, value
    return best


@compiled
def fill_chart(score: np.ndarray, words_only: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best score of every span over the words, or over the root and the words.

    Returns arc and complete, [head, end] float64, and by_end, complete transposed: every inner
    loop then runs along rows.
    """
    first = 1 if words_only else 0
    size = len(score)
    arc = np.full((size, size), -np.inf)
    complete = np.full((size, size), -np.inf)
    by_end = np.full((size, size), -np.inf)
    for right in range(first, size):
        complete[right, right] = by_end[right, right] = 0.0
        for left in range(right - 1, first - 1, -1):
            within = best_sum(complete[left, left:right], complete[right, left + 1 : right + 1])
            arc[left, right] = within + score[right, left]
            if left > 0:
                arc[right, left] = within + score[left, right]
            rightward = best_sum(
                arc[left, left + 1 : right + 1], by_end[right, left + 1 : right + 1]
            )
            leftward = best_sum(arc[right, left:right], by_end[left, left:right])
            complete[left, right] = by_end[right, left] = rightward
            complete[right, left] = by_end[left, right] = leftward
    return arc, complete, by_end


@compiled
def best_sum(one: np.ndarray, other: np.ndarray) -> float:
    """The maximum of one + other."""
    best = -np.inf
    for i in range(one.size):
        best = max(best, one[i] + other[i])
    return best


@compiled
def follow(
    arc: np.ndarray,
    complete: np.ndarray,
    by_end: np.ndarray,
    pending: list[tuple[int, int]],
    head: np.ndarray,
) -> None:
    """Write the heads within the pending complete spans, (head, end) each. O(n^2)."""
    while pending:
        top, end = pending.pop()
        if top == end:
            continue
        if top < end:
            far = top + 1 + best_split(arc[top, top + 1 : end + 1], by_end[end, top + 1 : end + 1])
        else:
            far = end + best_split(arc[top, end:top], by_end[end, end:top])
        head[far - 1] = top
        left, right = span(top, far)
        middle = left + best_split(
            complete[left, left:right], complete[right, left + 1 : right + 1]
        )
        pending.append((far, end))
        pending.append((left, middle))
        pending.append((right, middle + 1))


@compiled
def best_split(one: np.ndarray, other: np.ndarray) -> int:
    """Where one + other has its maximum."""
    best = 0
    for i in range(1, one.size):
        if one[i] + other[i] > one[best] + other[best]:
            best = i
    return best
