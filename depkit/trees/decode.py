"""Decoding of arc scores to heads, for a padded batch of sentences."""

import sys
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.arborescence import find_maximum_arborescence
from depkit.trees.argmax import find_best_heads, has_valid_scores
from depkit.trees.compiled import compiled, interpreted
from depkit.trees.projective import find_maximum_projective_tree
from depkit.trees.shape import count_roots, has_crossing_arcs, is_tree

ALGORITHMS = ("argmax", "mst", "eisner")
DECODED, INVALID_SCORES, NO_TREE = 0, 1, 2
MIN_ARCS_TO_COMPILE = 1_000_000  # interpreting fewer arcs takes less time than importing numba


class NoTreeError(ValueError):
    """The arcs that are not forbidden contain no tree; index: that of the sentence."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def decode(
    scores: ArrayLike,
    lengths: ArrayLike,
    algorithm: str = "mst",
    single_root: bool = True,
    *,
    compile: bool = False,
) -> np.ndarray:
    """Find the best heads of each sentence in a batch, exactly.

    Args:
        scores: [batch, n_max + 1, n_max + 1] (dependent, head) of float32, or anything that
            converts to it or to float64; column 0 is the artificial root. Row 0, the diagonal and
            the padding are ignored, -inf forbids an arc.
        lengths: [batch] int, the number of words of each sentence.
        algorithm: "mst" finds the best tree, and "eisner" the best projective tree. "argmax" finds
            the best head of each word independently, the lowest index in a tie; the result need
            not be a tree.
        single_root: Whether exactly one word must be a child of the root; ignored by "argmax".
        compile: Use compiled code even for a batch so small that interpreted code takes less time
            than importing numba. The result is the same.

    Returns:
        [batch, n_max + 1] int32, with 0 at position 0 and at padding, so that the heads are valid
        indices of positions.

    Raises:
        ValueError: A shape or the algorithm is invalid, or a score is NaN or +inf.
        NoTreeError: The forbidden arcs leave no tree. Like that of an invalid score, the message
            names the index of the sentence.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"there is no decoding algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}"
        )
    score = as_score_array(scores)
    length = as_length_array(lengths, score)
    has_few_arcs = int(((length + 1) ** 2).sum()) < MIN_ARCS_TO_COMPILE
    interpret = (
        algorithm != "eisner" and has_few_arcs and not compile and "numba" not in sys.modules
    )
    heads = np.zeros(score.shape[:2], np.int32)
    outcome = np.zeros(len(score), np.int8)  # [batch]
    with interpreted() if interpret else nullcontext():
        decode_best_heads(score, length, heads, outcome)
        if algorithm == "mst":
            decode_arborescences(score, length, heads, outcome, bool(single_root))
        elif algorithm == "eisner":
            decode_projective_trees(score, length, heads, outcome, bool(single_root))
    raise_first_failure(outcome, algorithm, single_root)
    return heads


def as_score_array(scores: ArrayLike) -> np.ndarray:
    """Convert scores to a contiguous array of float32 or, from wider types, float64."""
    score = np.asarray(scores)
    if score.ndim != 3 or score.shape[1] != score.shape[2] or score.shape[1] == 0:
        raise ValueError(
            f"the scores have shape {score.shape}; it must be [batch, n_max + 1, n_max + 1]"
        )
    if score.dtype.kind not in "fiu":
        raise ValueError(f"the scores are of type {score.dtype}; they must be real numbers")
    narrow = score.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(score, np.float32 if narrow else np.float64)


def as_length_array(lengths: ArrayLike, score: np.ndarray) -> np.ndarray:
    """Convert sentence lengths to a contiguous int64 array and check it against the scores."""
    length = np.asarray(lengths)
    if length.shape != score.shape[:1]:
        raise ValueError(f"the lengths have shape {length.shape} for a batch of {len(score)}")
    if length.size and length.dtype.kind not in "iu":
        raise ValueError(f"the lengths are of type {length.dtype}; they must be integers")
    invalid = np.flatnonzero((length < 0) | (length >= score.shape[1]))
    if invalid.size:
        index = invalid[0]
        raise ValueError(
            f"sentence {index}: length {length[index]} is not within 0..{score.shape[1] - 1}"
        )
    return np.ascontiguousarray(length, np.int64)


def raise_first_failure(outcome: np.ndarray, algorithm: str, single_root: bool) -> None:
    """Raise ValueError for the first sentence that could not be decoded, if there is one."""
    failures = np.flatnonzero(outcome != DECODED)
    if not failures.size:
        return
    index = failures[0]
    if outcome[index] == INVALID_SCORES:
        raise ValueError(f"sentence {index}: an arc score is NaN or +inf")
    if algorithm == "argmax":
        raise NoTreeError(f"sentence {index}: all heads of a word are forbidden (-inf)", index)
    tree = "projective tree" if algorithm == "eisner" else "tree"
    root = " with a single root" if single_root else ""
    raise NoTreeError(f"sentence {index}: forbidden arcs (-inf) leave no {tree}{root}", index)


# The next functions take scores, lengths and heads as `decode` takes and returns them, and
# overwrite heads and, where a sentence cannot be decoded, outcome, [batch]. If the best heads of
# all words form a tree, this tree is the best one. This is mostly so with the scores of a trained
# parser; the last two functions search for a tree only in other sentences.


@compiled
def decode_best_heads(
    scores: np.ndarray, lengths: np.ndarray, heads: np.ndarray, outcome: np.ndarray
) -> None:
    """Write each word's best head."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        score = scores[index, :size, :size]
        if not has_valid_scores(score):
            outcome[index] = INVALID_SCORES
        elif not find_best_heads(score, heads[index, 1:size]):
            outcome[index] = NO_TREE


@compiled
def decode_arborescences(
    scores: np.ndarray,
    lengths: np.ndarray,
    heads: np.ndarray,
    outcome: np.ndarray,
    single_root: bool,
) -> None:
    """Replace the best heads by the best tree in sentences where they do not form a tree."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        head = heads[index, 1:size]
        if outcome[index] != DECODED or is_tree(head, single_root):
            continue
        score = scores[index, :size, :size]
        if not replace_by_arborescence(score, single_root, head):
            outcome[index] = NO_TREE


@compiled
def replace_by_arborescence(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Replace the best heads of a sentence, which do not form a tree, by the best tree.

    Returns whether there is one. The arguments are those of `find_maximum_arborescence`.
    """
    # With at most one root there is a cycle. The best tree with any number of roots is far
    # faster to find than the best tree with a single root, and here it usually has one.
    any_root = single_root and count_roots(head) < 2
    found = find_maximum_arborescence(score, single_root and not any_root, head)
    if any_root and not (found and count_roots(head) == 1):
        found = find_maximum_arborescence(score, single_root, head)
    return found


@compiled
def decode_projective_trees(
    scores: np.ndarray,
    lengths: np.ndarray,
    heads: np.ndarray,
    outcome: np.ndarray,
    single_root: bool,
) -> None:
    """Replace the best heads by the best projective tree where they do not form one."""
    for index in range(len(lengths)):
        size = lengths[index] + 1
        head = heads[index, 1:size]
        if outcome[index] != DECODED or (
            is_tree(head, single_root) and not has_crossing_arcs(head)
        ):
            continue
        if not find_maximum_projective_tree(scores[index, :size, :size], single_root, head):
            outcome[index] = NO_TREE
