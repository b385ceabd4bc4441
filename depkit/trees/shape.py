"""Properties of a head vector: whether it is a tree, its roots, cycles, depths, crossing arcs.

All functions but `arc_span` take head: [n] int32, where head[i] is the 1-based head of word i + 1,
0 for the root. The vector need not be a tree: it may have cycles and several roots. A head below 0
or above n raises ValueError, except in `is_tree` and `has_heads_in_range`, which return False. An
empty sentence is a projective tree.
"""

import numpy as np

from depkit.trees.compiled import compiled

CYCLIC = -1  # the depth of a word that is on a cycle or descends from one
UNSEEN, ON_PATH = 0, -2  # states of a word before its depth or number is known


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
    """Whether two arcs of a tree cross, which makes the tree non-projective. O(n).

    Arcs from the root are included, as in the CoNLL-X statistics.
    """
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    n = head.size
    # For each node, the other ends of the longest arcs to its left and to its right.
    leftmost, rightmost = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for node in range(n + 1):
        leftmost[node] = rightmost[node] = node
    for i in range(n):
        left, right = arc_span(i + 1, head[i])
        leftmost[right] = min(leftmost[right], left)
        rightmost[left] = max(rightmost[left], right)
    nodes = np.empty(n + 1, np.int64)  # the last one is the nearest with an arc beyond `node`
    size = 0
    for node in range(n + 1):
        while size > 0 and rightmost[nodes[size - 1]] <= node:
            size -= 1
        if size > 0 and nodes[size - 1] > leftmost[node]:
            return True
        nodes[size] = node
        size += 1
    return False


@compiled
def nonprojective_arcs(head: np.ndarray) -> np.ndarray:
    """Return a mask of the words that are dependents of non-projective arcs, [n] bool. O(n log n).

    The arc from h to d is non-projective if a word strictly between the two is not a descendant
    of h (Nivre and Nilsson 2005, "Pseudo-projective dependency parsing"). Every word, even a word
    on a cycle, counts as a descendant of the artificial root 0, so arcs from the root are always
    projective. A tree has a non-projective arc if and only if two of its arcs cross.
    """
    first, last = descendant_ranges(head)
    n = head.size
    # The least and the greatest number of the words below each node of a binary tree: the words
    # are the nodes from n, and below node i are 2i and 2i + 1.
    least, greatest = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    for i in range(2 * n - 1, 0, -1):
        if i >= n:
            least[i] = greatest[i] = first[i - n + 1]
        else:
            least[i] = min(least[2 * i], least[2 * i + 1])
            greatest[i] = max(greatest[2 * i], greatest[2 * i + 1])
    nonprojective = np.zeros(n, np.bool_)
    for i in range(n):
        low, high = arc_span(i + 1, head[i])
        start, end = n + low, n + high - 2  # the nodes of the words between the two
        while low > 0 and start <= end:
            low_number = min(least[start], least[end])
            high_number = max(greatest[start], greatest[end])
            if low_number < first[head[i]] or high_number > last[head[i]]:
                nonprojective[i] = True
            start, end = (start + 1) // 2, (end - 1) // 2
    return nonprojective


@compiled
def descendant_ranges(head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the nodes so that those from first[h] to last[h] are h and its descendants. O(n).

    Returns first and last, [n + 1] int64. The words on a cycle have the same numbers.
    """
    if not has_heads_in_range(head):
        raise ValueError("a head is out of range")
    n = head.size
    child = np.zeros(n + 1, np.int64)  # [node], a child that has not been visited
    sibling = np.zeros(n + 1, np.int64)  # [word], the next child of its head
    for word in range(1, n + 1):
        sibling[word] = child[head[word - 1]]
        child[head[word - 1]] = word
    first, last = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    number = 0
    for start in range(n + 1):
        # The top is the root or, for words that do not descend from it, a word on their cycle.
        top = start
        while top != 0 and last[top] == UNSEEN:
            last[top] = ON_PATH
            top = head[top - 1]
        if first[top] != UNSEEN:
            continue
        # Go down to each child in turn, and back up when none is left.
        node = top
        while True:
            if first[node] == UNSEEN:
                number += 1
                first[node] = number
            next_child = child[node]
            if next_child != 0:
                child[node] = sibling[next_child]
                if first[next_child] == UNSEEN:
                    node = next_child
            else:
                last[node] = number
                if node == top:
                    break
                node = head[node - 1]
        word = top
        while top != 0 and head[word - 1] != top:
            word = head[word - 1]
            first[word], last[word] = first[top], last[top]
    return first, last
