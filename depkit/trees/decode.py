"""From arc scores to heads, a padded batch at a time."""

import sys
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.arborescence import maximum_arborescence
from depkit.trees.argmax import are_scores, best_heads
from depkit.trees.compiled import compiled, interpreted
from depkit.trees.projective import maximum_projective_tree
from depkit.trees.shape import count_roots, crossing, is_tree

ALGORITHMS = ("argmax", "mst", "eisner")
DECODED, NOT_SCORES, NO_TREE = 0, 1, 2
FEW = 1_000_000  # arcs; so many take the interpreter less time than loading numba


def decode(
    scores: ArrayLike,
    lengths: ArrayLike,
    algorithm: str = "mst",
    single_root: bool = True,
    compile: bool = False,
) -> np.ndarray:
    """The best heads of each sentence in a batch, exactly.

    scores: [batch, n_max + 1, n_max + 1] (dependent, head) of float32, or anything that converts
    to it or to float64; column 0 is the artificial root. Row 0, the diagonal and the padding are
    ignored, -inf forbids an arc. lengths: [batch] int, the words of each sentence.
    algorithm: "mst", the best tree; "eisner", the best projective tree; "argmax", each word's
    best head on its own, the lowest of equals, whether or not that makes a tree.
    single_root: exactly one child of the root; "argmax" does not look at it. compile: load numba,
    if it is not, even for so few sentences that the interpreter decodes them in less time.

    Returns [batch, n_max + 1] int32, 0 for the root itself and for padding, so that the heads
    can index any array over the same positions. compile changes the time, never the result.
    Raises ValueError for wrong shapes, an unknown algorithm, a score of NaN or +inf, or where
    the forbidden arcs leave no tree; the last two name the sentence's index in the batch.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {algorithm!r}, not one of {', '.join(ALGORITHMS)}")
    score = score_array(scores)
    length = length_array(lengths, score)
    few = algorithm != "eisner" and int(((length + 1) ** 2).sum()) < FEW
    interpret = few and not compile and "numba" not in sys.modules
    heads = np.zeros(score.shape[:2], np.int32)
    outcome = np.zeros(len(score), np.int8)  # [batch]
    with interpreted() if interpret else nullcontext():
        best_heads_each(score, length, heads, outcome)
        if algorithm == "mst":
            arborescence_each(score, length, heads, outcome, bool(single_root))
        elif algorithm == "eisner":
            projective_tree_each(score, length, heads, outcome, bool(single_root))
    complain(outcome, algorithm, single_root)
    return heads


def score_array(scores: ArrayLike) -> np.ndarray:
    """The scores as a contiguous array of float32 or, from wider types, float64."""
    score = np.asarray(scores)
    if score.ndim != 3 or score.shape[1] != score.shape[2] or score.shape[1] == 0:
        raise ValueError(f"scores have shape {score.shape}, not [batch, n_max + 1, n_max + 1]")
    if score.dtype.kind not in "fiu":
        raise ValueError(f"scores are of type {score.dtype}, not real numbers")
    narrow = score.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(score, np.float32 if narrow else np.float64)


def length_array(lengths: ArrayLike, score: np.ndarray) -> np.ndarray:
    """The lengths as a contiguous int64 array that fits the scores."""
    length = np.asarray(lengths)
    if length.shape != score.shape[:1]:
        raise ValueError(f"lengths have shape {length.shape} for a batch of {len(score)}")
    if length.size and length.dtype.kind not in "iu":
        raise ValueError(f"lengths are of type {length.dtype}, not integers")
    for index in np.flatnonzero((length < 0) | (length >= score.shape[1]))[:1]:
        raise ValueError(
            f"sentence {index}: length {length[index]} is not within 0..{score.shape[1] - 1}"
        )
    return np.ascontiguousarray(length, np.int64)


def complain(outcome: np.ndarray, algorithm: str, single_root: bool) -> None:
    """Raise ValueError for the first sentence without a decoded tree, if there is one."""
    for index in np.flatnonzero(outcome != DECODED)[:1]:
        if outcome[index] == NOT_SCORES:
            raise ValueError(f"sentence {index}: an arc score is NaN or +inf")
        if algorithm == "argmax":
            raise ValueError(f"sentence {index}: every head of some word is forbidden (-inf)")
        tree = "projective tree" if algorithm == "eisner" else "tree"
        root = " with a single root" if single_root else ""
        raise ValueError(f"sentence {index}: forbidden arcs (-inf) leave no {tree}{root}")


@compiled
def best_heads_each(
    scores: np.ndarray, lengths: np.ndarray, heads: np.ndarray, outcome: np.ndarray
) -> None:
    """Write each word's best head and each sentence's outcome; shapes as in decode()."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        score = scores[index, :size, :size]
        if not are_scores(score):
            outcome[index] = NOT_SCORES
        elif not best_heads(score, heads[index, 1:size]):
            outcome[index] = NO_TREE


# Nothing beats the best head of every word where they make a tree already, as they mostly do
# after training; so the two below start from them, and look only where they do not.


@compiled
def arborescence_each(
    scores: np.ndarray,
    lengths: np.ndarray,
    heads: np.ndarray,
    outcome: np.ndarray,
    single_root: bool,
) -> None:
    """Make the best heads of each sentence the best tree; shapes as in decode()."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        head = heads[index, 1:size]
        if outcome[index] != DECODED or is_tree(head, single_root):
            continue
        score = scores[index, :size, :size]
        if single_root and count_roots(head) < 2:
            # There is a cycle then. To open it takes far less than to look for a single root, and
            # mostly leaves one.
            if maximum_arborescence(score, False, head) and count_roots(head) == 1:
                continue
        if not maximum_arborescence(score, single_root, head):
            outcome[index] = NO_TREE


@compiled
def projective_tree_each(
    scores: np.ndarray,
    lengths: np.ndarray,
    heads: np.ndarray,
    outcome: np.ndarray,
    single_root: bool,
) -> None:
    """Make the best heads of each sentence the best projective tree; shapes as in decode()."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        head = heads[index, 1:size]
        if outcome[index] != DECODED or (is_tree(head, single_root) and not crossing(head)):
            continue
        if not maximum_projective_tree(scores[index, :size, :size], single_root, head):
            outcome[index] = NO_TREE
