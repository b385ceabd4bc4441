"""A new mix is the mean of the layers; with weights it is Eq. 1 of Peters et al."""

import torch

from depkit.nn.layermix import LayerMix


def test_a_new_mix_is_the_mean_of_the_layers():
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(LayerMix(4)(x), x.mean(-2))


def test_the_mix_is_the_weighted_sum_of_the_layers():
    mix = LayerMix(2)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 3.0]).log1p())  # softmax: 1/5 and 4/5
        mix.scale.fill_(10)
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])  # [layer, column]
    torch.testing.assert_close(mix(x), torch.tensor([26.0, -4.0]))


def test_weights_scale_and_layers_have_gradients():
    mix = LayerMix(3)
    x = torch.randn(2, 3, 4, requires_grad=True)
    mix(x).square().sum().backward()
    for tensor in (mix.weights, mix.scale, x):
        assert tensor.grad is not None and tensor.grad.abs().sum() > 0


def test_the_output_has_the_precision_of_the_input():
    assert LayerMix(2)(torch.randn(3, 2, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
