"""Initial weights are orthogonal, unless initialisation is skipped."""

import torch

from depkit.nn.biaffine import MLP
from depkit.nn.initial import orthogonal_, skip_initialisation


def test_rows_or_columns_are_orthonormal():
    for rows, columns in ((3, 5), (5, 3)):
        weight = torch.zeros(rows, columns)
        orthogonal_(weight)
        product = weight @ weight.T if rows < columns else weight.T @ weight
        torch.testing.assert_close(product, torch.eye(3))


def test_skipped_initialisation_leaves_weights_unchanged():
    weight = torch.full((3, 5), 7.0)
    with skip_initialisation():
        orthogonal_(weight)
        layer = MLP(4, 4, 0.0).linear.weight
    assert (weight == 7).all()
    assert not torch.allclose(layer @ layer.T, torch.eye(4))
    orthogonal_(weight)  # enabled again
    assert not (weight == 7).any()
