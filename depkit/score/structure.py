"""The shape of many trees at once, on the concatenated arrays of `Words`; numpy only."""

import numpy as np


def head_indices(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the index of each word's head among the words of all sentences: [word + 2] int64.

    With n words, index n is the root and n + 1 is "no head"; both are their own heads.
    head: [word], 0 for the root, -1 for no head; starts: [sentence + 1], first words.
    """
    size = len(head)
    first = np.repeat(starts[:-1], np.diff(starts))
    index = np.where(head > 0, first + head - 1, np.where(head == 0, size, size + 1))
    return np.append(index, [size, size + 1])


def depths(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the depth of each word: [word] int64, 0 for a dependent of the root.

    The depth is -1 for words on or below a cycle and for words whose chain of heads ends at a word
    without a head. Pointer jumping: each round doubles the number of arcs that have been followed.
    """
    ancestor = head_indices(head, starts)
    size = len(head)
    depth = np.append(np.ones(size, np.int64), [0, 0])
    longest = int(np.diff(starts).max(initial=0))
    for _ in range(longest.bit_length()):
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return np.where(ancestor[:size] == size, depth[:size] - 1, -1)


def reaches_cycle(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether each word's chain of heads runs into a cycle: [word] bool."""
    ancestor = head_indices(head, starts)
    for _ in range(int(np.diff(starts).max(initial=0)).bit_length()):
        ancestor = ancestor[ancestor]
    return np.asarray(ancestor[:-2] < len(head))


def count_dependents(head: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Count the dependents of each word, then of the root and of "no head": [word + 2] int64."""
    index = head_indices(head, starts)[:-2]
    return np.bincount(index, minlength=len(head) + 2)
