"""Properties of a head vector: whether it is a tree, its roots, cycles, depths, crossing arcs.

All functions but `arc_span` take head: [n] int32, where head[i] is the 1-based head of word i + 1,
0 for the root. The vector need not be a tree: it may have cycles and several roots. A head below 0
or above n raises ValueError, except in `is_tree` and `has_heads_in_range`, which return False. An
empty sentence is a projective tree.
"""

import numpy as np

from depkit.trees.compiled import compiled

CYCLIC = -1  # the depth of a word that is on a cycle or descends from one
UNSEEN, ON_PATH = 0, -2  # states of a word in `depths` before its depth is known


@compiled
def arc_span(node: int, other: int) -> tuple[int, int]:
    """Return the two ends of an arc, the left one first."""
    return min(node, other), max(node, other)


@compiled
def has_heads_in_range(head: np.ndarray) -> bool:
    """Whether every head is 0 or one of the n words. O(n)."""
    for i in range(head.size):
        if head[i] < 0 or head[i] > head.size:
            return False
    return True


@compiled
def count_roots(head: np.ndarray) -> int:
    """Count the words whose head is 0. O(n)."""
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    count = 0
    for i in range(head.size):
        if head[i] == 0:
            count += 1
    return count


@compiled
def depths(head: np.ndarray) -> np.ndarray:
    """Count the arcs from the artificial root to each word. O(n).

    Returns [n] int32: 1 for a child of the root, -1 for a word on a cycle or a descendant of one.
    """
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    depth = np.full(head.size, UNSEEN, np.int32)
    for start in range(1, head.size + 1):
        # Walk up from the word to the root or to a visited word, and count the arcs.
        steps, word = 0, start
        while word != 0 and depth[word - 1] == UNSEEN:
            depth[word - 1] = ON_PATH
            steps += 1
            word = head[word - 1]
        top_depth = 0 if word == 0 else depth[word - 1]
        cyclic = top_depth == ON_PATH or top_depth == CYCLIC
        # Walk the same path again and write the depths.
        word = start
        while word != 0 and depth[word - 1] == ON_PATH:
            depth[word - 1] = CYCLIC if cyclic else top_depth + steps
            steps -= 1
            word = head[word - 1]
    return depth


@compiled
def has_cycle(head: np.ndarray) -> bool:
    """Whether some word is an ancestor of itself, for instance by being its own head. O(n)."""
    depth = depths(head)
    for i in range(head.size):
        if depth[i] == CYCLIC:
            return True
    return False


@compiled
def is_tree(head: np.ndarray, single_root: bool = False) -> bool:
    """Whether every word descends from the artificial root; False if a head is out of range.

    single_root: whether the root must have exactly one child, unless the sentence is empty. O(n).
    """
    if head.size == 0:
        return True
    if not has_heads_in_range(head) or has_cycle(head):
        return False
    return not single_root or count_roots(head) == 1


@compiled
def has_crossing_arcs(head: np.ndarray) -> bool:
    """Whether two arcs of a tree cross, which makes the tree non-projective. O(n^2).

    Arcs from the root are included, as in the CoNLL-X statistics.
    """
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    for i in range(head.size):
        low, high = arc_span(i + 1, head[i])
        for j in range(i + 1, head.size):
            left, right = arc_span(j + 1, head[j])
            if low < left < high < right or left < low < right < high:
                return True
    return False


@compiled
def nonprojective_arcs(head: np.ndarray) -> np.ndarray:
    """Return a mask of the words that are dependents of non-projective arcs, [n] bool. O(n^2).

    The arc from h to d is non-projective if a word strictly between the two is not a descendant
    of h (Nivre and Nilsson 2005, "Pseudo-projective dependency parsing"). Every word, even a word
    on a cycle, counts as a descendant of the artificial root 0, so arcs from the root are always
    projective. A tree has a non-projective arc if and only if two of its arcs cross.
    """
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    nonprojective = np.zeros(head.size, np.bool_)
    is_ancestor = np.zeros(head.size + 1, np.bool_)  # [node], whether it is an ancestor of `word`
    for word in range(1, head.size + 1):
        is_ancestor[:] = False
        is_ancestor[0] = True
        ancestor = head[word - 1]
        while not is_ancestor[ancestor]:
            is_ancestor[ancestor] = True
            ancestor = head[ancestor - 1]
        for i in range(head.size):
            low, high = arc_span(i + 1, head[i])
            if low < word < high and not is_ancestor[head[i]]:
                nonprojective[i] = True
    return nonprojective
