"""Exact maximum spanning arborescence of a dense graph in O(n^2) time and space.

Edmonds' algorithm (Chu and Liu 1965; Edmonds 1967) in the dense form of Tarjan (1977, "Finding
optimum branchings"; corrected by Camerini et al. 1979), grown along one path at a time as in
Gabow et al. (1986). Every component picks its best incoming arc; a path of such arcs either
reaches the arborescence or closes a cycle, which becomes one component. One root: Zmigrod et
al. (2020, "Please mind the root") show why it needs care.

A component's row holds, for each original node, its best arc into the component. A cycle's rows
merge into one of them, and its nodes are relabelled, in O(n) for each component that goes away:
at most n ever do, so plain labels are as good as union-find here.
"""

import numpy as np

from depkit.trees.compiled import compiled
from depkit.trees.shape import count_roots

NONE = -1


@compiled
def maximum_arborescence(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Write the heads of the best tree, not necessarily projective.

    score: [n + 1, n + 1] (dependent, head), column 0 the artificial root; row 0 and the diagonal
    are ignored, -inf forbids an arc, NaN and +inf must not occur. head: [n], written; some best
    tree if several are. Returns whether there is a tree, with one child of the root if
    single_root. Works in float64, on 12 (n + 1)^2 bytes.
    """
    n = head.size
    row, target = arc_rows(score)
    row_of = np.arange(2 * n + 1)  # [component], single nodes first, then cycles as they close
    parent = np.full(2 * n + 1, NONE, np.int64)  # [component] the cycle it was contracted into
    source = np.empty(2 * n + 1, np.int64)  # [component] the chosen arc, from here ...
    entered = np.empty(2 * n + 1, np.int64)  # [component] ... to this word within
    attached = np.zeros(2 * n + 1, np.bool_)  # [component] reached from the root
    attached[0] = True
    component = np.arange(n + 1)  # [node] the outermost one around it
    position = np.full(2 * n + 1, NONE, np.int64)  # [component] its place on a path
    path = np.empty(n + 1, np.int64)
    count = n + 1
    for word in range(1, n + 1):
        if attached[component[word]]:
            continue
        length = 0
        following = component[word]
        while not attached[following]:
            if position[following] == NONE:
                start = length
            else:
                start = position[following]
                contract(path[start:length], count, row, target, row_of, parent, source, component)
                following = count
                count += 1
            path[start] = following
            position[following] = start
            length = start + 1
            best = best_source(row[row_of[following]], single_root)
            if best == NONE:
                return False
            source[following] = best
            entered[following] = target[row_of[following], best]
            following = component[best]
        for i in range(length):
            attached[path[i]] = True
    expand(count, parent, source, entered, head)
    return not single_root or n == 0 or count_roots(head) == 1


@compiled
def arc_rows(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the single words: [word, source] arc scores, and the word each arc enters."""
    size = len(score)
    row = score.astype(np.float64)
    target = np.empty((size, size), np.int32)
    for word in range(size):
        row[word, word] = -np.inf
        target[word] = word
    return row, target


@compiled
def best_source(row: np.ndarray, single_root: bool) -> int:
    """The source of the best arc into a component, NONE if all are forbidden.

    With a single root, arcs weigh (arcs from the root, score), and fewest come first. Edmonds'
    algorithm is exact for any weights that add, subtract and compare like numbers, as such pairs
    do. The count needs no storing: an arc on a cycle never comes from the root, so contraction
    subtracts 0 from the counts, and they stay 1 in column 0 and 0 elsewhere. Hence an arc from
    the root is chosen only where there is no other, and the tree found has the fewest possible:
    one, or no tree with a single root exists. No large constant takes part.
    """
    if row.size > 1:
        best = 1 + int(row[1:].argmax())
        if row[best] > -np.inf and (single_root or row[best] >= row[0]):
            return best
    return 0 if row[0] > -np.inf else NONE


@compiled
def contract(
    cycle: np.ndarray,
    name: int,
    row: np.ndarray,
    target: np.ndarray,
    row_of: np.ndarray,
    parent: np.ndarray,
    source: np.ndarray,
    component: np.ndarray,
) -> None:
    """Make the components of a cycle into a new one, in the row of the cycle's first.

    An arc into the cycle replaces the chosen arc of the component that it enters, so it is worth
    the difference of the two. O(n len(cycle)).
    """
    kept = row_of[cycle[0]]
    best = row[kept]
    best -= best[source[cycle[0]]]
    for i in range(1, cycle.size):
        merged = row_of[cycle[i]]
        chosen_score = row[merged, source[cycle[i]]]
        take_better(best, target[kept], row[merged], target[merged], chosen_score)
    row_of[name] = kept
    for i in range(cycle.size):
        parent[cycle[i]] = name
    within = parent[component] == name
    component[within] = name
    best[within] = -np.inf


@compiled
def take_better(
    best: np.ndarray, word: np.ndarray, row: np.ndarray, target: np.ndarray, less: float
) -> None:
    """Where an arc of a row, worth so much less, is better than the best, let it take its place."""
    for node in range(best.size):
        value = row[node] - less
        if value > best[node]:
            best[node] = value
            word[node] = target[node]


@take_better.as_arrays
def take_better_at_once(
    best: np.ndarray, word: np.ndarray, row: np.ndarray, target: np.ndarray, less: float
) -> None:
    """The same, for the interpreter."""
    value = row - less
    better = value > best
    best[better] = value[better]
    word[better] = target[better]


@compiled
def expand(
    count: int, parent: np.ndarray, source: np.ndarray, entered: np.ndarray, head: np.ndarray
) -> None:
    """Open the contracted cycles, outermost first, and write the head of every word. O(n).

    The arc chosen for a component holds, and overrules those of all components between it and
    the word it enters.
    """
    overruled = np.zeros(count, np.bool_)
    for name in range(count - 1, 0, -1):
        if overruled[name]:
            continue
        word = entered[name]
        head[word - 1] = source[name]
        while word != name:
            overruled[word] = True
            word = parent[word]
