"""The depthwise convolution against PyTorch's, and its gradients against finite differences."""

import pytest
import torch
from torch.nn import functional

from depkit.nn.convolution import DepthwiseConvolution, LocalConvolution


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5, 9])
def test_it_equals_a_grouped_convolution(kernel):
    torch.manual_seed(0)
    module = DepthwiseConvolution(4, kernel).double()
    torch.nn.init.normal_(module.bias)
    x = torch.randn(2, 6, 4, dtype=torch.float64)
    padded = functional.pad(x.transpose(1, 2), (kernel // 2, kernel - 1 - kernel // 2))
    expected = functional.conv1d(padded, module.weight.T[:, None], module.bias, groups=4)
    torch.testing.assert_close(module(x), expected.transpose(1, 2))


@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_its_gradients_are_those_of_finite_differences(kernel):
    torch.manual_seed(0)
    module = DepthwiseConvolution(3, kernel).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *weights: module(x), (x, *module.parameters()))


def test_padding_is_read_as_zeros():
    torch.manual_seed(0)
    module = LocalConvolution(4, 5)
    torch.nn.init.normal_(module.output.weight)
    x = torch.randn(1, 6, 4)
    is_real = torch.tensor([[True] * 4 + [False] * 2])[..., None]
    alone = module(x[:, :4], is_real[:, :4])
    torch.testing.assert_close(module(x, is_real)[:, :4], alone)
    assert not torch.allclose(module(x, torch.ones_like(is_real))[:, :4], alone)
