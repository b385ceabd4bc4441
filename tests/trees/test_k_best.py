"""The k best trees, and the sum over all trees, against enumeration of all trees."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from depkit.trees.compiled import interpreted
from depkit.trees.decode import NoTreeError, decode
from depkit.trees.k_best import decode_best
from depkit.trees.marginals import batch_marginals
from depkit.trees.partition import log_partition
from depkit.trees.shape import has_crossing_arcs, is_tree
from tests.trees.all_trees import DRAWS, Draw, draw_integers, tree_scores, trees

Run = Callable[[], AbstractContextManager[None]]
WIDE_DRAWS = DRAWS | {"far apart": lambda rng, shape: 1e4 * rng.normal(size=shape)}


def check_best(
    score: np.ndarray, numbers: Sequence[int], algorithm: str, single_root: bool
) -> None:
    """Compare the k best trees of one sentence with all trees in the order of their scores.

    numbers: several k.
    """
    n = len(score) - 1
    scores = tree_scores(score, trees(n, single_root, algorithm == "eisner"))
    possible = np.sort(scores[scores > -np.inf])[::-1]
    for k in numbers:
        try:
            best = decode_best(
                score[None], [n], k, algorithm, single_root=single_root, compile=True
            )[0]
        except NoTreeError as error:
            assert not len(possible) and error.index == 0
            continue
        assert len(best) == min(k, len(possible)) == len(set(map(tuple, best.tolist())))
        for head in best:
            assert is_tree(head, single_root)
            assert algorithm == "mst" or not has_crossing_arcs(head)
        assert tree_scores(score, best) == pytest.approx(possible[:k], rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
@pytest.mark.parametrize("draw", WIDE_DRAWS.values(), ids=WIDE_DRAWS)
def test_the_k_best_trees_are_the_best_of_all_trees(
    draw: Draw, algorithm: str, single_root: bool
) -> None:
    rng = np.random.default_rng(5)
    for n in range(1, 7):
        for score in draw(rng, (30 if n < 6 else 6, n + 1, n + 1)).astype(np.float32):
            # Row 0 and the diagonal must not matter.
            score[0] = score[np.arange(n + 1), np.arange(n + 1)] = np.nan
            check_best(score, (1, 2, 7, 50), algorithm, single_root)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
def test_many_inputs_with_ties(algorithm: str, single_root: bool) -> None:
    rng = np.random.default_rng(9)
    for n, inputs in ((2, 500), (3, 900), (4, 800), (5, 290), (6, 10)):
        for score in draw_integers(rng, (inputs, n + 1, n + 1)).astype(np.float32):
            check_best(score, [int(rng.integers(2, 20))], algorithm, single_root)


@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_trees_are_enumerated(n: int, algorithm: str) -> None:
    rng = np.random.default_rng(n)
    for single_root in (True, False):
        for score in rng.integers(0, 3, size=(20, n + 1, n + 1)).astype(float):
            check_best(score, [1000], algorithm, single_root)


@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
@pytest.mark.parametrize("single_root", [True, False])
def test_interpreted_code_finds_the_same_trees(algorithm: str, single_root: bool) -> None:
    rng = np.random.default_rng(8)
    score = rng.integers(0, 3, size=(12, 7, 7)).astype(float)
    score[rng.random(score.shape) < 0.2] = -np.inf
    for matrix in score:
        results = []
        for run in (nullcontext, interpreted):
            with run():
                try:
                    best = decode_best(
                        matrix[None], [6], 9, algorithm, single_root=single_root, compile=True
                    )[0].tolist()
                except NoTreeError:
                    best = []
                results.append(best)
        assert results[0] == results[1]


def test_long_sentences_have_different_trees_in_falling_order() -> None:
    rng = np.random.default_rng(2)
    n = 60
    near = -2.0 * np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1))
    score = rng.normal(size=(3, n + 1, n + 1)) + near
    for algorithm in ("mst", "eisner"):
        first = decode(score, [n] * 3, algorithm)
        for matrix, head, best in zip(
            score, first, decode_best(score, [n] * 3, 40, algorithm), strict=True
        ):
            values = tree_scores(matrix, best)
            assert len(best) == 40 == len(set(map(tuple, best.tolist())))
            assert (np.diff(values) <= 1e-9).all()
            assert best[0].tolist() == head[1:].tolist()


def test_batches_may_have_sentences_of_different_lengths() -> None:
    scores = np.zeros((3, 4, 4))
    scores[1, 1, 0] = 5.0
    best = decode_best(scores, [0, 1, 3], 4)
    assert [tree.tolist() for tree in best[:2]] == [[[]], [[0]]]
    assert best[2].shape == (4, 3)
    with pytest.raises(NoTreeError, match=r"sentence 1: .* no projective tree with a single root"):
        decode_best(np.full((2, 3, 3), -np.inf), [0, 2], 2, "eisner")
    with pytest.raises(ValueError, match="sentence 0: an arc score is NaN"):
        decode_best(np.full((1, 3, 3), np.nan), [2], 2)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("draw", WIDE_DRAWS.values(), ids=WIDE_DRAWS)
@pytest.mark.parametrize("run", [nullcontext, interpreted], ids=["compiled", "interpreted"])
def test_the_partition_function_is_the_sum_over_all_trees(
    run: Run, draw: Draw, single_root: bool
) -> None:
    rng = np.random.default_rng(6)
    for n in range(1, 7):
        every = trees(n, single_root, False)
        for score in draw(rng, (20 if n < 6 else 3, n + 1, n + 1)).astype(float):
            score[0] = score[np.arange(n + 1), np.arange(n + 1)] = np.nan
            expected = np.logaddexp.reduce(tree_scores(score, every))
            with run():
                result = log_partition(score[None], [n], single_root)[0]
            assert result == pytest.approx(expected, rel=1e-12, abs=1e-10)


def test_probabilities_are_exact_where_subtraction_would_lose_all_digits() -> None:
    # The words prefer each other by far more than the precision of a float. The determinant of
    # their matrix, computed by subtraction, would be 0.
    score = np.array([[[0.0, 0, 0], [0, 0, 60], [1, 60, 0]]])
    expected = np.logaddexp(60.0, 61.0)
    assert log_partition(score, [2])[0] == pytest.approx(expected, abs=1e-13)


def test_gradients_of_the_partition_function_are_the_marginals() -> None:
    rng = np.random.default_rng(4)
    n, step = 5, 1e-5
    for single_root in (True, False):
        score = rng.normal(size=(n + 1, n + 1))
        score[rng.random(score.shape) < 0.2] = -np.inf
        score[1:, 0], score[2, 1], score[3, 2] = 0.5, 0.0, 0.1
        expected = batch_marginals(score[None], [n], single_root)[0]
        for word in range(1, n + 1):
            for head in range(n + 1):
                if head != word:
                    pair = np.stack((score, score))
                    pair[:, word, head] += (step, -step)
                    above, below = log_partition(pair, [n, n], single_root)
                    if score[word, head] > -np.inf:
                        slope = (above - below) / (2 * step)
                        assert slope == pytest.approx(expected[word, head], abs=1e-8)


def test_invalid_and_empty_input_of_the_partition_function() -> None:
    assert log_partition(np.zeros((1, 1, 1)), [0]).tolist() == [0.0]
    assert np.isnan(log_partition(np.full((1, 2, 2), np.nan), [1])).all()
    forbidden = np.full((1, 3, 3), -np.inf)
    assert log_partition(forbidden, [2]).tolist() == [-np.inf]
    forbidden[0, :, 0] = 0.0  # two roots
    assert log_partition(forbidden, [2]).tolist() == [-np.inf]
    assert log_partition(forbidden, [2], single_root=False).tolist() == [0.0]
