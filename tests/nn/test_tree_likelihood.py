"""The likelihood of partial trees against enumeration, and its gradient against differences."""

import numpy as np
import pytest
import torch

from depkit.nn.tree_likelihood import partial_tree_loss
from depkit.trees.marginals import batch_marginals
from depkit.trees.partition import log_partition_and_marginals
from tests.trees.all_trees import DRAWS, tree_scores, trees

WIDE_DRAWS = DRAWS | {"far apart": lambda rng, shape: 1e3 * rng.normal(size=shape)}


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("draw", WIDE_DRAWS.values(), ids=WIDE_DRAWS)
def test_marginals_are_sums_over_all_trees(draw, single_root):
    rng = np.random.default_rng(1)
    for n in range(1, 7):
        every = trees(n, single_root, False)
        for score in draw(rng, (10 if n < 6 else 2, n + 1, n + 1)).astype(float):
            value = tree_scores(score, every)
            total, marginals = log_partition_and_marginals(score[None], [n], single_root)
            if value.max() == -np.inf:
                assert total == [-np.inf] and not marginals.any()
                continue
            assert total[0] == pytest.approx(np.logaddexp.reduce(value), rel=1e-12, abs=1e-10)
            probability = np.exp(value - np.logaddexp.reduce(value))
            expected = np.stack([(every == head).T @ probability for head in range(n + 1)], 1)
            np.testing.assert_allclose(marginals[0, 1:], expected, atol=1e-9)


def test_marginals_of_long_sentences_are_those_of_the_exact_algorithm():
    rng = np.random.default_rng(2)
    for n, spread in ((60, 1.0), (60, 20.0), (30, 500.0)):
        score = spread * rng.normal(size=(2, n + 1, n + 1))
        score[rng.random(score.shape) < 0.3] = -np.inf
        for single_root in (True, False):
            _, marginals = log_partition_and_marginals(score, [n, n], single_root)
            expected = batch_marginals(score, [n, n], single_root)
            np.testing.assert_allclose(marginals, expected, atol=1e-9)


def draw_batch(rng, single_root):
    """Return scores, heads and lengths of a batch of up to five words with partial trees."""
    sizes = [1, 2, 3, 4, 5, 5, 5]
    scores = rng.normal(size=(len(sizes), 6, 6))
    heads = np.full((len(sizes), 6), -100)
    for row, n in enumerate(sizes):
        scores[row, :, n + 1 :] = -np.inf
        every = trees(n, single_root, False)
        tree = every[rng.integers(len(every))]
        keep = rng.random(n) < (0.0 if row == 4 else 0.5 if row < 6 else 1.0)
        heads[row, 1 : n + 1][keep] = tree[keep]
    scores[:, np.arange(6), np.arange(6)] = -np.inf
    return scores, heads, np.array(sizes)


def loss_of(scores, heads, sizes, single_root):
    """Return the loss of arrays."""
    return partial_tree_loss(
        torch.as_tensor(scores), torch.as_tensor(heads), torch.as_tensor(sizes + 1), single_root
    )


@pytest.mark.parametrize("single_root", [True, False])
def test_the_loss_is_the_likelihood_of_all_agreeing_trees(single_root):
    scores, heads, sizes = draw_batch(np.random.default_rng(3), single_root)
    expected = 0.0
    for score, head, n in zip(scores, heads, sizes, strict=True):
        every = trees(n, single_root, False)
        value = tree_scores(score[: n + 1, : n + 1], every)
        gold = head[1 : n + 1]
        agree = ((every == gold) | (gold < 0)).all(1)
        expected += np.logaddexp.reduce(value) - np.logaddexp.reduce(value[agree])
    loss = loss_of(scores.astype(np.float32), heads, sizes, single_root)
    assert float(loss) == pytest.approx(expected / (heads >= 0).sum(), rel=1e-5)


@pytest.mark.parametrize("single_root", [True, False])
def test_the_gradient_is_that_of_finite_differences(single_root):
    rng = np.random.default_rng(4)
    scores, heads, sizes = draw_batch(rng, single_root)
    tensor = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    loss_of(tensor, heads, sizes, single_root).backward()
    assert tensor.grad.isfinite().all()
    annotated = (heads >= 0).sum()

    def total(changed):
        excluded = (heads >= 0)[..., None] & (np.arange(6) != heads[..., None])
        agreeing = np.where(excluded, -np.inf, changed)
        pairs = ((changed, 1), (agreeing, -1))
        return sum(
            sign * log_partition_and_marginals(x, sizes, single_root)[0].sum() for x, sign in pairs
        )

    step = 1e-4
    for index in np.argwhere(np.isfinite(scores)):
        up, down = scores.copy(), scores.copy()
        up[tuple(index)] += step
        down[tuple(index)] -= step
        slope = (total(up) - total(down)) / (2 * step) / annotated
        assert float(tensor.grad[tuple(index)]) == pytest.approx(slope, abs=1e-6)


def test_impossible_annotation_is_left_out():
    scores = torch.zeros(3, 4, 4).masked_fill(torch.eye(4, dtype=torch.bool), float("-inf"))
    scores.requires_grad_()
    heads = torch.tensor([[-1, 2, 1, -1], [-1, 0, 0, -1], [-1, -1, -1, -1]])
    lengths = torch.tensor([4, 4, 4])
    loss = partial_tree_loss(scores, heads, lengths)
    loss.backward()
    assert loss.item() == 0.0 and not scores.grad.any()
    # With several roots, the second sentence has trees.
    assert partial_tree_loss(scores, heads, lengths, single_root=False).item() > 0
