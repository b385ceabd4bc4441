"""Exact maximum spanning arborescence of a dense graph in O(n^2) time and space.

Edmonds' algorithm (Chu and Liu 1965; Edmonds 1967) in the dense form of Tarjan (1977, "Finding
optimum branchings"; corrected by Camerini et al. 1979), grown along one path at a time as in
Gabow et al. (1986). Every component chooses its best incoming arc. A path of such arcs either
reaches the arborescence or closes a cycle, and the cycle is contracted into one component.
Zmigrod et al. (2020, "Please mind the root") show why a single root needs care.

The row of a component holds, for each original node, the best arc from that node into the
component. Contracting a cycle merges the rows of its components into one row and relabels their
nodes, in O(n) for each component that disappears. At most n components disappear, so plain labels
are as fast as union-find.
"""

import numpy as np

from depkit.trees.compiled import compiled
from depkit.trees.shape import count_roots

NONE = -1  # instead of a component, a node or an index


@compiled
def find_maximum_arborescence(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Write the heads of the best tree, which need not be projective.

    The function computes in float64 and needs 12 (n + 1)^2 bytes.

    Args:
        score: [n + 1, n + 1] (dependent, head); column 0 is the artificial root. Row 0 and the
            diagonal are ignored, -inf forbids an arc, NaN and +inf must not occur.
        single_root: Whether the root must have exactly one child.
        head: [n], overwritten with the heads of the best tree, or of one of several best trees.

    Returns:
        Whether there is a tree.
    """
    n = head.size
    best_score, best_word = arc_rows(score)
    row_of = np.arange(2 * n + 1)  # [component], first the words, then the contracted cycles
    parent = np.full(2 * n + 1, NONE, np.int64)  # [component] the cycle it was contracted into
    source = np.empty(2 * n + 1, np.int64)  # [component] the node its chosen arc leaves
    entered = np.empty(2 * n + 1, np.int64)  # [component] the word its chosen arc enters
    attached = np.zeros(2 * n + 1, np.bool_)  # [component] whether it is reached from the root
    attached[0] = True
    component = np.arange(n + 1)  # [node] the outermost component that contains it
    path_index = np.full(2 * n + 1, NONE, np.int64)  # [component] its index in the path
    path = np.empty(n + 1, np.int64)
    count = n + 1
    for word in range(1, n + 1):
        if attached[component[word]]:
            continue
        # Follow the best incoming arcs from the word until the path reaches the arborescence.
        length = 0
        current = component[word]
        while not attached[current]:
            if path_index[current] == NONE:  # The path continues with a new component.
                index = length
            else:  # The path has reached itself. The contracted cycle replaces its components.
                index = path_index[current]
                contract(
                    path[index:length], count, best_score, best_word, row_of, parent, source,
                    component,
                )  # fmt: skip
                current = count
                count += 1
            path[index] = current
            path_index[current] = index
            length = index + 1
            # Choose the best arc into the component, and follow it to the component it comes from.
            best = best_source(best_score[row_of[current]], single_root)
            if best == NONE:
                return False
            source[current] = best
            entered[current] = best_word[row_of[current], best]
            current = component[best]
        for i in range(length):
            attached[path[i]] = True
    expand(count, parent, source, entered, head)
    return not single_root or n == 0 or count_roots(head) == 1


@compiled
def arc_rows(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of single words: [word, source] arc scores, and the word each arc enters."""
    size = len(score)
    best_score = score.astype(np.float64)
    best_word = np.empty((size, size), np.int32)
    for word in range(size):
        best_score[word, word] = -np.inf
        best_word[word] = word
    return best_score, best_word


@compiled
def best_source(row: np.ndarray, single_root: bool) -> int:
    """Return the source of the best arc into a component, or NONE if all arcs are forbidden.

    With a single root, the weight of an arc is the pair (number of root arcs, score), and a lower
    number is better whatever the score. Edmonds' algorithm is exact for such pairs because they
    can be added, subtracted and compared like numbers. The number is not stored: an arc on a cycle
    never comes from the root, so contraction subtracts 0 from it, and it remains 1 in column 0 and
    0 elsewhere. An arc from the root is therefore chosen only where there is no other arc, and the
    resulting tree has as few root arcs as possible: one, unless no tree with a single root exists.
    Unlike a large penalty on root arcs, this loses no precision.
    """
    if row.size > 1:
        best = 1 + int(row[1:].argmax())
        if row[best] > -np.inf and (single_root or row[best] >= row[0]):
            return best
    return 0 if row[0] > -np.inf else NONE


@compiled
def contract(
    cycle: np.ndarray,
    number: int,
    best_score: np.ndarray,
    best_word: np.ndarray,
    row_of: np.ndarray,
    parent: np.ndarray,
    source: np.ndarray,
    component: np.ndarray,
) -> None:
    """Contract a cycle into a new component, in place and in O(n len(cycle)).

    An arc into the cycle replaces the chosen arc of the component that it enters, so its new score
    is the difference of the two scores. The row of the first component on the cycle becomes the row
    of the new one. The arrays are those of `find_maximum_arborescence`.
    """
    merged = row_of[cycle[0]]
    best = best_score[merged]
    best -= best[source[cycle[0]]]
    for i in range(1, cycle.size):
        row = row_of[cycle[i]]
        chosen_score = best_score[row, source[cycle[i]]]
        merge_row(best, best_word[merged], best_score[row], best_word[row], chosen_score)
    row_of[number] = merged
    for i in range(cycle.size):
        parent[cycle[i]] = number
    in_cycle = parent[component] == number
    component[in_cycle] = number
    best[in_cycle] = -np.inf


@compiled
def merge_row(
    best: np.ndarray, best_word: np.ndarray, row: np.ndarray, row_word: np.ndarray, offset: float
) -> None:
    """Replace the best arcs, in place, by arcs of another row where these are better.

    All arrays: [source], scores of arcs and the words that the arcs enter. The offset is subtracted
    from the scores of the other row.
    """
    for node in range(best.size):
        value = row[node] - offset
        if value > best[node]:
            best[node] = value
            best_word[node] = row_word[node]


@merge_row.interpret_as
def merge_row_vectorized(
    best: np.ndarray, best_word: np.ndarray, row: np.ndarray, row_word: np.ndarray, offset: float
) -> None:
    """Do the same as `merge_row` by operations on arrays."""
    value = row - offset
    better = value > best
    best[better] = value[better]
    best_word[better] = row_word[better]


@compiled
def expand(
    count: int, parent: np.ndarray, source: np.ndarray, entered: np.ndarray, head: np.ndarray
) -> None:
    """Expand the contracted cycles, outermost first, and write the head of every word in O(n).

    The arc chosen for a component replaces the arcs chosen for all components between it and the
    word that the arc enters. The arrays are those of `find_maximum_arborescence`.
    """
    replaced = np.zeros(count, np.bool_)
    for number in range(count - 1, 0, -1):
        if replaced[number]:
            continue
        word = entered[number]
        head[word - 1] = source[number]
        while word != number:  # the word, and the components around it that are inside this one
            replaced[word] = True
            word = parent[word]
