"""The k best trees of each sentence of a padded batch."""

import sys
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.argmax import has_valid_scores
from depkit.trees.best_projective import find_best_projective_trees
from depkit.trees.best_trees import find_best_trees
from depkit.trees.compiled import interpreted
from depkit.trees.decode import (
    INVALID_SCORES,
    MIN_ARCS_TO_COMPILE,
    NO_TREE,
    as_length_array,
    as_score_array,
    raise_first_failure,
)

ALGORITHMS = {"mst": find_best_trees, "eisner": find_best_projective_trees}


def decode_best(
    scores: ArrayLike,
    lengths: ArrayLike,
    k: int,
    algorithm: str = "mst",
    *,
    single_root: bool = True,
    compile: bool = False,
) -> list[np.ndarray]:
    """Find the k best trees of each sentence, exactly and without repetition.

    Args:
        scores: As for `decode.decode`.
        lengths: As for `decode.decode`.
        k: The number of trees, at least 1.
        algorithm: "mst" for all trees, "eisner" for projective trees.
        single_root: Whether exactly one word must be a child of the root.
        compile: As for `decode.decode`.

    Returns:
        For each sentence the heads of its trees, [trees, n] int32, the best tree first; fewer than
        k if there are not so many trees. A sentence without words has one tree.

    Raises:
        ValueError, NoTreeError: As by `decode.decode`.
    """
    find = ALGORITHMS[algorithm]
    score = as_score_array(scores)
    length = as_length_array(lengths, score)
    has_few_arcs = k * int(((length + 1) ** 2).sum()) < MIN_ARCS_TO_COMPILE // 10
    interpret = (
        algorithm != "eisner" and has_few_arcs and not compile and "numba" not in sys.modules
    )
    outcome = np.zeros(len(score), np.int8)
    trees = []
    with interpreted() if interpret else nullcontext():
        for index, n in enumerate(length.tolist()):
            heads, value = np.zeros((k, n), np.int32), np.empty(k)
            matrix = score[index, : n + 1, : n + 1]
            found = 1
            if not has_valid_scores(matrix):
                outcome[index] = INVALID_SCORES
            elif n:
                found = find(matrix, bool(single_root), heads, value)
                outcome[index] = NO_TREE if found == 0 else outcome[index]
            trees.append(heads[:found])
    raise_first_failure(outcome, algorithm, single_root)
    return trees
