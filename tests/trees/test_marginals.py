"""Arc probabilities against all trees, rational arithmetic, and the textbook's formulas."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from depkit.trees import marginals as module
from depkit.trees.marginals import batch_marginals
from tests.trees.all_trees import Draw, draw_normal, draw_with_forbidden, tree_scores, trees
from tests.trees.single import marginals

DRAWS: dict[str, Draw] = {
    "normal": draw_normal,
    "sharp": lambda rng, shape: 100 * rng.normal(size=shape),
    "beyond the range of exp": lambda rng, shape: 3000 * rng.normal(size=shape),
    "tied": lambda rng, shape: 100 * rng.integers(-1, 2, size=shape),
    "all equal": lambda rng, shape: np.zeros(shape),
    "root preferred": lambda rng, shape: rng.normal(size=shape) + 90 * (np.arange(shape[-1]) == 0),
    "root avoided": lambda rng, shape: rng.normal(size=shape) - 900 * (np.arange(shape[-1]) == 0),
    "some forbidden": draw_with_forbidden(0.25),
    "most forbidden": draw_with_forbidden(0.6),
    "forbidden and sharp": draw_with_forbidden(
        0.4, lambda rng, shape: 500 * rng.normal(size=shape)
    ),
}
SMALLEST = 1e-290  # absolute differences up to this value are ignored

# The tolerances are relative to each probability, so an algorithm that subtracts fails the tests.
# Scores of magnitude s are only precise to 1e-16 s.


def log_sum(values: np.ndarray) -> float:
    return float(np.logaddexp.reduce(values))


def enumerate_marginals(score: np.ndarray, single_root: bool) -> np.ndarray:
    """Return the arc probabilities as sums over all trees."""
    candidates = trees(len(score) - 1, single_root, False)
    totals = tree_scores(score, candidates)
    expected = np.zeros(score.shape)
    for (word, head), _ in np.ndenumerate(expected[1:]):
        with_arc = totals[candidates[:, word] == head]
        expected[word + 1, head] = np.exp(log_sum(with_arc) - log_sum(totals))
    return expected


def assert_distributions(probability: np.ndarray) -> None:
    """Assert that the heads of every word have probabilities between 0 and 1 with the sum 1."""
    assert probability.dtype == np.float64
    assert probability.min() >= 0
    assert probability.max() <= 1
    assert not probability[0].any()
    assert not probability.diagonal().any()
    assert probability[1:].sum(axis=1) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_marginals_equal_sums_over_all_trees(draw: Draw, single_root: bool) -> None:
    rng = np.random.default_rng(11)
    for n in range(1, 6):
        for score in draw(rng, (20, n + 1, n + 1)).astype(np.float64):
            # Row 0 and the diagonal must not matter.
            score[0] = score[np.arange(n + 1), np.arange(n + 1)] = np.nan
            if tree_scores(score, trees(n, single_root, False)).max() == -np.inf:
                with pytest.raises(ValueError, match="leave no tree"):
                    marginals(score, single_root)
                continue
            result = marginals(score, single_root)
            assert_distributions(result)
            expected = enumerate_marginals(score, single_root)
            np.testing.assert_allclose(result, expected, rtol=1e-10, atol=SMALLEST)


def textbook(
    weight: np.ndarray, invert: Callable[[np.ndarray], np.ndarray], single_root: bool
) -> np.ndarray:
    """Return the marginals of Koo et al. (2007), section 3, for weights of any number type.

    The row of a word in the Laplacian contains the weights of its heads. For a single root, the
    weights of the root replace the first column.
    """
    root, heads = weight[1:, 0], weight[1:, 1:].copy()
    np.fill_diagonal(heads, 0)
    laplacian = np.diag(heads.sum(axis=1) + (0 if single_root else root)) - heads
    if single_root:
        laplacian[:, 0] = root
    inverse = invert(laplacian)
    result = np.zeros(weight.shape)
    result[1:, 0] = root * (inverse[0] if single_root else inverse.diagonal())
    if single_root:
        inverse[0] = 0
    result[1:, 1:] = heads * (inverse.diagonal()[:, None] - inverse.T)
    return result


def rational_inverse(matrix: np.ndarray) -> np.ndarray:
    n = len(matrix)
    rows = np.hstack((matrix, np.eye(n, dtype=object)))
    for k in range(n):
        pivot = k + np.flatnonzero(rows[k:, k])[0]
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in range(n):
            if i != k:
                rows[i] -= rows[i, k] * rows[k]
    return rows[:, n:]


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("range_", [3, 100, 400, 2000])
def test_marginals_equal_those_in_rational_arithmetic(range_: int, single_root: bool) -> None:
    exponent = np.random.default_rng(range_).integers(-range_, 1, size=(10, 10))
    weight = np.full(exponent.shape, Fraction(2)) ** exponent.astype(object)
    expected = textbook(weight, rational_inverse, single_root)
    result = marginals(exponent * np.log(2), single_root)
    assert_distributions(result)
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=SMALLEST)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [1, 2, 77, 200])
@pytest.mark.parametrize("scale", [0, 1])  # 0: all trees have the same score
def test_any_length_agrees_with_the_textbook(scale: int, n: int, single_root: bool) -> None:
    score = scale * np.random.default_rng(4).normal(size=(n + 1, n + 1))
    result = marginals(score, single_root)
    assert_distributions(result)
    assert result == pytest.approx(textbook(np.exp(score), np.linalg.inv, single_root), abs=1e-12)


@pytest.mark.parametrize("backwards", [-np.inf, -50_000.0])
@pytest.mark.parametrize("single_root", [True, False])
def test_words_are_independent_if_there_are_no_cycles(single_root: bool, backwards: float) -> None:
    """If every head precedes its dependent, no cycle is possible, and heads are independent."""
    n = 200
    rng = np.random.default_rng(8)
    score = np.tril(40 * rng.normal(size=(n + 1, n + 1)), -1)
    score += np.triu(np.full((n + 1, n + 1), backwards))
    order = np.append(0, 1 + rng.permutation(n))
    shuffled = np.empty_like(score)
    shuffled[np.ix_(order, order)] = score
    allowed = score.copy()
    if single_root:
        allowed[2:, 0] = -np.inf
        allowed[1, 1:] = -np.inf
    allowed[np.triu_indices(n + 1)] = -np.inf
    expected = np.exp(allowed[1:] - np.logaddexp.reduce(allowed[1:], axis=1, keepdims=True))
    result = marginals(shuffled, single_root)
    assert_distributions(result)
    np.testing.assert_allclose(result[np.ix_(order, order)][1:], expected, rtol=1e-9, atol=SMALLEST)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [1, 20, 400])
def test_a_constant_added_to_a_row_changes_nothing(scale: float, single_root: bool) -> None:
    n = 30
    rng = np.random.default_rng(2)
    score = np.round(scale * rng.normal(size=(n + 1, n + 1)), 1)
    shift = 1000 * rng.integers(-3, 4, size=(n + 1, 1))
    result = marginals(score, single_root)
    shifted = marginals(score + shift, single_root)
    np.testing.assert_allclose(shifted, result, rtol=1e-8, atol=SMALLEST)


def test_a_large_constant_on_the_root_costs_no_precision() -> None:
    score = np.random.default_rng(3).normal(size=(8, 8))
    score[:, 0] = 0
    expected = marginals(score)
    for constant in (-1e30, 1e30):
        score[:, 0] = constant
        np.testing.assert_allclose(marginals(score), expected, rtol=1e-12)
    assert marginals(score, single_root=False)[1:, 0].tolist() == [1] * 7


def test_linear_and_logarithmic_arithmetic_agree_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linear arithmetic is exact up to SAFE_RANGE; few and unlikely root arcs are the hardest."""
    n = 40
    rng = np.random.default_rng(9)
    near = -np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1)) * 299.0 / n
    far = np.where(rng.random((n + 1, n + 1)) < 0.95, -299.0, 0.0)
    twos = np.full((n + 1, n + 1), -299.0)
    for word in range(1, n + 1, 2):
        twos[word, word + 1] = twos[word + 1, word] = 0
    pairs = twos.copy()
    pairs[2, 0] = 0
    for score in (near, far, pairs, twos):
        for single_root in (True, False):
            linear = marginals(score, single_root)
            with monkeypatch.context() as patch:
                patch.setattr(module, "SAFE_RANGE", -1.0)
                logarithmic = marginals(score, single_root)
            np.testing.assert_allclose(linear, logarithmic, rtol=1e-9, atol=SMALLEST)


@pytest.mark.parametrize("arcs_per_pass", [1, 1 << 10, 1 << 16])
@pytest.mark.parametrize("single_root", [True, False])
def test_batch_equals_its_sentences_one_by_one(
    single_root: bool, arcs_per_pass: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ARCS_PER_PASS", arcs_per_pass)
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 15, size=90)
    score = rng.normal(size=(90, 16, 16)).astype(np.float32)
    score[::5] *= 300
    score[::7, 2, 1] = score[::7, 1, 4] = -np.inf
    for matrix, n in zip(score, lengths, strict=True):
        matrix[n + 1 :] = matrix[:, n + 1 :] = np.nan
    result = batch_marginals(score, lengths, single_root)
    assert result.shape == score.shape
    for matrix, n, probability in zip(score, lengths, result, strict=True):
        alone = marginals(matrix[: n + 1, : n + 1], single_root)
        assert_distributions(alone)
        np.testing.assert_allclose(probability[: n + 1, : n + 1], alone, rtol=1e-12)
        assert not probability[n + 1 :].any()
        assert not probability[:, n + 1 :].any()


def test_empty_sentences_and_batches_have_marginals() -> None:
    assert batch_marginals(np.zeros((0, 5, 5)), []).shape == (0, 5, 5)
    for single_root in (True, False):
        assert marginals(np.zeros((1, 1)), single_root).tolist() == [[0]]
        assert marginals(np.full((2, 2), -800), single_root).tolist() == [[0, 0], [1, 0]]


def test_scores_are_not_changed() -> None:
    score = np.random.default_rng(1).normal(size=(3, 6, 6)) * 200
    original = score.copy()
    batch_marginals(score, [5, 5, 3])
    assert np.array_equal(score, original)
    integers = score.round().astype(int)
    np.testing.assert_array_equal(
        batch_marginals(integers.tolist(), (5, 5, 3)), batch_marginals(score.round(), [5, 5, 3])
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_invalid_scores_are_an_error(bad: float) -> None:
    score = np.zeros((5, 4, 4))
    score[2, 3, 1] = score[4, 1, 2] = bad
    with pytest.raises(ValueError, match=r"^sentence 2: .*NaN or \+inf"):
        batch_marginals(score, [3] * 5)
    assert batch_marginals(score, [3, 3, 2, 3, 1]).sum() == 12  # now the invalid scores are padding


def test_scores_that_allow_no_tree_are_an_error() -> None:
    score = np.zeros((3, 3, 3))
    score[1, 1, 2] = score[1, 2, 1] = -np.inf
    assert batch_marginals(score, [2] * 3, False)[1, 1:, 0].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"sentence 1: .* no tree with a single root"):
        batch_marginals(score, [2] * 3)
    score[2, :, 0] = -np.inf
    with pytest.raises(ValueError, match=r"sentence 2: .* no tree$"):
        batch_marginals(score, [2] * 3, False)


def test_wrong_arguments_are_an_error() -> None:
    with pytest.raises(ValueError, match="scores have shape"):
        batch_marginals(np.zeros((1, 3, 4)), [2])
    with pytest.raises(ValueError, match="length 3 is not within"):
        batch_marginals(np.zeros((1, 3, 3)), [3])
