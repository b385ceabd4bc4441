"""Decoding against brute force over all trees and, for longer sentences, against networkx."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import networkx
import numpy as np
import pytest

from depkit.trees.compiled import interpreted
from depkit.trees.decode import MIN_ARCS_TO_COMPILE, decode
from depkit.trees.shape import is_tree, nonprojective_arcs
from tests.trees.all_trees import DRAWS, Draw, tree_scores, trees

Run = Callable[[], AbstractContextManager[None]]
VALID_SCORES = np.zeros((2, 3, 3), np.float32)


def tree_score(score: np.ndarray, heads: np.ndarray) -> float:
    return float(tree_scores(score, heads[None, 1 : len(score)])[0])


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("run", [nullcontext, interpreted], ids=["compiled", "interpreted"])
def test_trees_are_the_best_of_all_trees(
    run: Run, draw: Draw, algorithm: str, single_root: bool
) -> None:
    rng = np.random.default_rng(7)
    for n in range(1, 6):
        for score in draw(rng, (150, n + 1, n + 1)).astype(np.float32):
            # Row 0 and the diagonal must not matter.
            score[0] = score[np.arange(n + 1), np.arange(n + 1)] = np.nan
            best = tree_scores(score, trees(n, single_root, algorithm == "eisner")).max()
            with run():
                if best == -np.inf:
                    with pytest.raises(ValueError, match="leave no"):
                        decode(score[None], [n], algorithm, single_root, compile=True)
                    continue
                heads = decode(score[None], [n], algorithm, single_root, compile=True)[0]
                assert heads[0] == 0
                assert is_tree(heads[1:], single_root)
                assert algorithm == "mst" or not nonprojective_arcs(heads[1:]).any()
            assert tree_score(score, heads) == pytest.approx(best, abs=1e-5)


def networkx_score(score: np.ndarray, single_root: bool) -> float:
    """Return the score of the best tree by networkx; root arcs are costly for a single root."""
    cost = 1e4 * single_root
    score = score - cost * (np.arange(len(score)) == 0)
    np.fill_diagonal(score, -np.inf)
    score[0] = -np.inf
    arcs = ((head, word, score[word, head]) for word, head in np.argwhere(score > -np.inf))
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from(arcs)
    return networkx.maximum_spanning_arborescence(graph).size("weight") + cost


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [30, 45, 60])
def test_longer_sentences_agree_with_networkx(n: int, single_root: bool) -> None:
    rng = np.random.default_rng(n)
    near = -np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1))  # makes long, nested cycles
    sparse = np.where(rng.random((n + 1, n + 1)) < 0.8, -np.inf, 0)
    for bias in (0, near, sparse, 20 * (np.arange(n + 1) == 0)):
        score = (rng.normal(size=(n + 1, n + 1)) + bias).astype(np.float32)
        heads = decode(score[None], [n], "mst", single_root)[0]
        assert is_tree(heads[1:], single_root)
        assert tree_score(score, heads) == pytest.approx(
            networkx_score(score, single_root), abs=1e-4
        )


@pytest.mark.parametrize("single_root", [True, False])
def test_eisner_equals_mst_where_the_best_tree_is_projective(single_root: bool) -> None:
    rng = np.random.default_rng(3)
    n, agreed = 40, 0
    near = -2.0 * np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1))
    score = rng.normal(size=(200, n + 1, n + 1)) + near
    mst = decode(score, [n] * 200, "mst", single_root)
    eisner = decode(score, [n] * 200, "eisner", single_root)
    for matrix, best, projective in zip(score, mst, eisner, strict=True):
        assert is_tree(projective[1:], single_root)
        assert not nonprojective_arcs(projective[1:]).any()
        gap = tree_score(matrix, best) - tree_score(matrix, projective)
        assert gap > -1e-9
        if not nonprojective_arcs(best[1:]).any():
            assert gap < 1e-9
            agreed += 1
    assert agreed > 0


@pytest.mark.parametrize("algorithm", ["mst", "eisner"])
def test_number_of_roots_takes_precedence_over_scores(algorithm: str) -> None:
    score = np.zeros((1, 4, 4), np.float32)
    score[0, :, 0] = 1e30
    heads = decode(score, [3], algorithm, single_root=True)
    assert np.count_nonzero(heads[0, 1:] == 0) == 1
    heads = decode(score, [3], algorithm, single_root=False)
    assert heads.tolist() == [[0, 0, 0, 0]]
    # The small scores still decide between the trees, in spite of the large constant.
    score = np.full((1, 4, 4), 0.125, np.float32)
    score[0, :, 0] = [0, -1e30, -1e30, -1e30]
    score[0, 1, 2] = score[0, 2, 1] = 0.25
    score[0, 3, 2] = 0.25
    heads = decode(score, [3], algorithm, single_root=True)[0]
    inner_scores = [score[0, d, heads[d]] for d in (1, 2, 3) if heads[d] != 0]
    assert inner_scores == [0.25, 0.25]


@pytest.mark.parametrize("algorithm", ["argmax", "mst", "eisner"])
def test_best_heads_that_form_a_tree_are_the_result(algorithm: str) -> None:
    # The best heads form a projective tree; in a tie the lowest head is best.
    best = np.array([0, 2, 0, 2, 5, 3])
    score = np.zeros((1, 6, 6), np.float32)
    score[0, np.arange(1, 6), best[1:]] = 1
    score[0, 5, 4] = 1
    assert decode(score, [5], algorithm).tolist() == [best.tolist()]


def test_argmax_gives_the_best_head_of_each_word() -> None:
    rng = np.random.default_rng(1)
    score = rng.integers(0, 4, size=(50, 9, 9)).astype(np.float32)
    masked = score.copy()
    masked[:, np.arange(9), np.arange(9)] = -np.inf
    expected = masked.argmax(axis=2)
    expected[:, 0] = 0
    assert decode(score, [8] * 50, "argmax").tolist() == expected.tolist()
    score[3, 5] = -np.inf
    with pytest.raises(ValueError, match="sentence 3: all heads of a word are forbidden"):
        decode(score, [8] * 50, "argmax")


def ragged_batch() -> tuple[np.ndarray, np.ndarray]:
    """Return scores and lengths of sentences of 0 to 25 words, with NaN as padding."""
    rng = np.random.default_rng(5)
    length = rng.integers(0, 26, size=200)
    score = rng.normal(size=(200, 26, 26)).astype(np.float32)
    for matrix, n in zip(score, length, strict=True):
        matrix[n + 1 :] = matrix[:, n + 1 :] = np.nan
    return score, length


@pytest.mark.parametrize("algorithm", ["argmax", "mst", "eisner"])
@pytest.mark.parametrize("single_root", [True, False])
def test_batch_equals_its_sentences_one_by_one(algorithm: str, single_root: bool) -> None:
    score, length = ragged_batch()
    heads = decode(score, length, algorithm, single_root)
    assert heads.dtype == np.int32
    assert heads.shape == (200, 26)
    order = np.random.default_rng(6).permutation(200)
    permuted = decode(score[order], length[order], algorithm, single_root)
    assert np.array_equal(permuted, heads[order])
    for matrix, n, row in zip(score, length, heads, strict=True):
        alone = decode(matrix[None, : n + 1, : n + 1], [n], algorithm, single_root)
        assert row.tolist() == alone[0].tolist() + [0] * (25 - n)


def test_any_memory_layout_and_number_type_gives_the_same_heads() -> None:
    score = np.random.default_rng(2).integers(-99, 99, size=(20, 12, 12))
    heads = decode(score, [11] * 20)
    for converted in (
        score.astype(np.float16),
        score.astype(np.float32),
        score.astype(">f4"),
        np.asfortranarray(score.astype(np.float64)),
        np.repeat(score.astype(np.float32), 2, axis=2)[:, :, ::2],
        score.tolist(),
    ):
        assert np.array_equal(decode(converted, np.full(20, 11, np.uint8)), heads)
    read_only = score.astype(np.float32)
    read_only.flags.writeable = False
    assert np.array_equal(decode(read_only, [11] * 20), heads)


def test_float64_scores_are_compared_in_full_precision() -> None:
    score = np.zeros((1, 3, 3))
    score[0, 2, 1] = score[0, 1, 0] = 1
    score[0, 2, 0] = 1 + 1e-12
    assert decode(score, [2], single_root=False).tolist() == [[0, 0, 0]]


def test_empty_sentences_and_batches_are_decoded() -> None:
    for algorithm in ("argmax", "mst", "eisner"):
        assert decode(np.zeros((0, 5, 5)), [], algorithm).shape == (0, 5)
        assert decode(np.zeros((2, 1, 1)), [0, 0], algorithm).tolist() == [[0], [0]]
        assert decode(np.zeros((1, 2, 2)), [1], algorithm).tolist() == [[0, 0]]


@pytest.mark.parametrize("algorithm", ["mst", "argmax"])
def test_a_sentence_of_2000_words_is_decoded(algorithm: str) -> None:
    n = 2000
    score = np.random.default_rng(0).standard_normal((1, n + 1, n + 1), dtype=np.float32)
    heads = decode(score, [n], algorithm)
    assert is_tree(heads[0, 1:], True) == (algorithm == "mst")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("algorithm", ["argmax", "mst", "eisner"])
def test_invalid_scores_are_an_error(bad: float, algorithm: str) -> None:
    score = np.zeros((5, 4, 4), np.float32)
    score[2, 3, 1] = score[4, 1, 2] = bad
    with pytest.raises(ValueError, match=r"^sentence 2: .*NaN or \+inf"):
        decode(score, [3] * 5, algorithm)
    decode(score, [3, 3, 2, 3, 1], algorithm)  # now the invalid scores are padding


def test_scores_that_allow_no_tree_are_an_error() -> None:
    score = np.zeros((3, 3, 3), np.float32)
    score[1, 1, 2] = score[1, 2, 1] = -np.inf
    assert decode(score, [2] * 3, single_root=False)[1].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"sentence 1: .* no tree with a single root"):
        decode(score, [2] * 3)
    with pytest.raises(ValueError, match=r"sentence 1: .* no projective tree with a single root"):
        decode(score, [2] * 3, "eisner")
    score[2, :, 0] = -np.inf
    with pytest.raises(ValueError, match=r"sentence 2: .* no tree$"):
        decode(score, [2] * 3, single_root=False)


@pytest.mark.parametrize(
    ("scores", "lengths", "algorithm", "message"),
    [
        (
            VALID_SCORES,
            [2, 2],
            "cle",
            "no decoding algorithm 'cle'; choose one of argmax, mst, eisner",
        ),
        (VALID_SCORES[0], [2, 2], "mst", "scores have shape"),
        (VALID_SCORES[:, :, :2], [2, 2], "mst", "scores have shape"),
        (VALID_SCORES[:, :0, :0], [2, 2], "mst", "scores have shape"),
        (VALID_SCORES.astype(np.complex64), [2, 2], "mst", "must be real numbers"),
        (VALID_SCORES, [2], "mst", "lengths have shape"),
        (VALID_SCORES, [2.0, 2.0], "mst", "must be integers"),
        (VALID_SCORES, [2, 3], "mst", "sentence 1: length 3 is not within 0..2"),
        (VALID_SCORES, [2, -1], "mst", "sentence 1: length -1 is not within 0..2"),
    ],
)
def test_wrong_arguments_are_an_error(
    scores: np.ndarray, lengths: list[int], algorithm: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decode(scores, lengths, algorithm)


@pytest.mark.parametrize("algorithm", ["mst", "argmax"])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_interpreted_kernels_give_the_same_results(draw: Draw, algorithm: str) -> None:
    rng = np.random.default_rng(11)
    for n in (1, 2, 9, 40):
        for score in draw(rng, (20, n + 1, n + 1)).astype(np.float32):
            outcomes = []
            for run in (nullcontext, interpreted):
                with run():
                    try:
                        heads = decode(score[None], [n], algorithm, compile=True)
                        outcomes.append(heads.tolist())
                    except ValueError as error:
                        outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("sentences", "options", "loaded"),
    [
        (1, "", "False"),
        (1, ", compile=True", "True"),
        (1 + MIN_ARCS_TO_COMPILE // 101**2, "", "True"),
    ],
)
def test_numba_is_imported_for_many_arcs_or_with_compile(
    sentences: int, options: str, loaded: str
) -> None:
    program = (
        "import sys, numpy as np; from depkit.trees.decode import decode;"
        "scores = np.random.default_rng(0).normal(size=(1, 101, 101)).repeat("
        f"{sentences}, 0); decode(scores, [100] * {sentences}{options});"
        "print('numba' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (process.stdout.strip(), process.stderr) == (loaded, "")
