"""Random masks of dropout."""

import pytest
import torch

from depkit.nn.dropout import random_mask

CPU = torch.device("cpu")


@pytest.mark.parametrize("p", [0.1, 0.33, 0.5, 0.9])
def test_a_mask_drops_the_given_share_independently(p):
    torch.manual_seed(0)
    mask = random_mask((37, 1001), p, CPU)
    assert mask.dtype == torch.float32
    assert mask.unique().tolist() == pytest.approx([0, 1 / (1 - p)])
    is_dropped = mask == 0
    assert is_dropped.float().mean().item() == pytest.approx(p, abs=0.01)
    for distance in (1, 2, 3, 4):  # four elements come from one integer
        flat = is_dropped.flatten()
        both = (flat[distance:] & flat[:-distance]).float().mean().item()
        assert both == pytest.approx(p * p, abs=0.01)


def test_the_seed_determines_a_mask():
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(random_mask((3, 5), 0.5, CPU))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
