"""The shape of a tree: rooted, projective, crossing, depths.

Throughout, head: [n] int32, head[i] is the 1-based head of word i + 1, 0 the root's. It need not
be a tree: cycles and several roots are fine everywhere. A head below 0 or above n is ValueError,
except for is_tree, which answers False. An empty sentence is a projective tree.
"""

import numpy as np

from depkit.trees.compiled import compiled

UNSEEN, WALKING = 0, -2
ON_CYCLE = -1


@compiled
def span(word: int, other: int) -> tuple[int, int]:
    """The two ends of an arc, left first."""
    return min(word, other), max(word, other)


@compiled
def in_range(head: np.ndarray) -> bool:
    """Whether every head is 0 or one of the n words. O(n)."""
    for i in range(head.size):
        if head[i] < 0 or head[i] > head.size:
            return False
    return True


@compiled
def count_roots(head: np.ndarray) -> int:
    """The number of words whose head is 0. O(n)."""
    if not in_range(head):
        raise ValueError("a head is out of range")
    count = 0
    for i in range(head.size):
        if head[i] == 0:
            count += 1
    return count


@compiled
def depths(head: np.ndarray) -> np.ndarray:
    """The number of arcs from the artificial root to each word.

    Returns [n] int32: 1 for a child of the root, -1 for a word on or below a cycle. O(n): every
    word is walked up from once, and its depth written on a second walk.
    """
    if not in_range(head):
        raise ValueError("a head is out of range")
    depth = np.full(head.size, UNSEEN, np.int32)
    for start in range(1, head.size + 1):
        steps, word = 0, start
        while word != 0 and depth[word - 1] == UNSEEN:
            depth[word - 1] = WALKING
            steps += 1
            word = head[word - 1]
        above = 0 if word == 0 else depth[word - 1]
        lost = above == WALKING or above == ON_CYCLE
        word = start
        while word != 0 and depth[word - 1] == WALKING:
            depth[word - 1] = ON_CYCLE if lost else above + steps
            steps -= 1
            word = head[word - 1]
    return depth


@compiled
def has_cycle(head: np.ndarray) -> bool:
    """Whether some word is its own ancestor; a word that is its own head is. O(n)."""
    depth = depths(head)
    for i in range(head.size):
        if depth[i] == ON_CYCLE:
            return True
    return False


@compiled
def is_tree(head: np.ndarray, single_root: bool = False) -> bool:
    """Whether every word descends from the artificial root; False if a head is out of range.

    single_root: ask also for exactly one child of the root, unless the sentence is empty. O(n).
    """
    if head.size == 0:
        return True
    if not in_range(head) or has_cycle(head):
        return False
    return not single_root or count_roots(head) == 1


@compiled
def crossing(head: np.ndarray) -> bool:
    """Whether some two arcs of a tree cross (the tree is then non-projective).

    The root's own arc counts, as in the CoNLL-X statistics. O(n^2).
    """
    if not in_range(head):
        raise ValueError("a head is out of range")
    for i in range(head.size):
        low, high = span(i + 1, head[i])
        for j in range(i + 1, head.size):
            left, right = span(j + 1, head[j])
            if low < left < high < right or left < low < right < high:
                return True
    return False


@compiled
def nonprojective_arcs(head: np.ndarray) -> np.ndarray:
    """Which words hang on a non-projective arc.

    The arc from h to d is non-projective if some word strictly between the two is no descendant
    of h (Nivre and Nilsson 2005, "Pseudo-projective dependency parsing"). The artificial root 0
    dominates every word, those on a cycle too, so its own arcs are always projective.

    Returns [n] bool. A tree has such an arc exactly when two of its arcs cross. O(n^2).
    """
    if not in_range(head):
        raise ValueError("a head is out of range")
    nonprojective = np.zeros(head.size, np.bool_)
    dominates = np.zeros(head.size + 1, np.int32)  # the last word found to be a descendant
    for word in range(1, head.size + 1):
        dominates[0] = word
        ancestor = head[word - 1]
        while dominates[ancestor] != word:
            dominates[ancestor] = word
            ancestor = head[ancestor - 1]
        for i in range(head.size):
            low, high = span(i + 1, head[i])
            if low < word < high and dominates[head[i]] != word:
                nonprojective[i] = True
    return nonprojective
