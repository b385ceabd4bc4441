"""The shape of many trees at once, on the flat arrays of `Words`; numpy only."""

import numpy as np


def parents(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[word + 2] int64: the index of each word's head among all words of all sentences.

    With n words, n stands for the root and n + 1 for no head at all; both are their own heads.
    head: [word], 0 the root's, -1 for none; starts: [sentence + 1].
    """
    size = len(head)
    first = np.repeat(starts[:-1], np.diff(starts))
    parent = np.where(head > 0, first + head - 1, np.where(head == 0, size, size + 1))
    return np.append(parent, [size, size + 1])


def depths(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[word] int64: the number of arcs from the root's dependent down to each word, it itself 0.

    -1 for words on or below a cycle, and for those whose chain of heads ends at a word that has
    none. Pointer jumping: each round doubles how far every word looks up.
    """
    above = parents(head, starts)
    size = len(head)
    depth = np.append(np.ones(size, np.int64), [0, 0])
    longest = int(np.diff(starts).max(initial=0))
    for _ in range(longest.bit_length()):
        depth += depth[above]
        above = above[above]
    return np.where(above[:size] == size, depth[:size] - 1, -1)


def reaches_cycle(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[word] bool: whether a word's chain of heads runs into a cycle."""
    above = parents(head, starts)
    for _ in range(int(np.diff(starts).max(initial=0)).bit_length()):
        above = above[above]
    return np.asarray(above[:-2] < len(head))


def dependents(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """[word + 2] int64: the number of dependents of each word; then of the root and of no head."""
    parent = parents(head, starts)[:-2]
    return np.bincount(parent, minlength=len(head) + 2)
