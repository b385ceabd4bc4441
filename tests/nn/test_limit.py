"""A network that is far larger than its weights is refused before it takes memory or time."""

import threading

import pytest
import torch
from torch import nn

from depkit.nn.limit import SizeError, find_difference, find_not_finite, limit_size

SHAPES = {"weight": (3, 2), "bias": (3,)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(1 << 40, 1 << 20),
        lambda: nn.Linear(1 << 22, 1 << 22),
        lambda: nn.Embedding(num_embeddings=1 << 50, embedding_dim=1),
        lambda: nn.LSTM(1, 1, num_layers=1 << 60),
        lambda: nn.ModuleList(nn.Linear(1, 1) for _ in range(1 << 60)),
        lambda: nn.Sequential(*(nn.Dropout() for _ in range(20_000))),
        lambda: nn.ModuleList(nn.Linear(2000, 2000) for _ in range(1 << 60)),
        lambda: torch.zeros(1 << 20, 1 << 20),
        lambda: torch.ones(size=(1 << 20, 1 << 20)),
        lambda: torch.arange(1 << 60),
        lambda: torch.empty(10**30, 2),
    ],
)
def test_what_is_too_large_is_refused(make):
    with pytest.raises(SizeError), limit_size(SHAPES):
        make()


def test_a_network_of_the_size_of_its_weights_is_made():
    large = {str(i): (1000, 1000) for i in range(8)}
    with limit_size(large):
        network = nn.ModuleList(nn.Linear(1000, 1000) for _ in range(8))
        torch.arange(4096)
    nn.Linear(1 << 12, 1 << 12)  # The limit ends with the block.
    assert len(network) == 8


def test_other_threads_are_not_limited():
    networks: list[nn.Module] = []
    with limit_size(SHAPES):
        thread = threading.Thread(target=lambda: networks.append(nn.Linear(1 << 12, 1 << 12)))
        thread.start()
        thread.join()
    assert networks


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"weight": [3, 2], "bias": [3]}, ""),
        ({"weight": [3, 2]}, "there is no tensor 'bias'"),
        ({"weight": [3, 2], "bias": [3], "x": [1]}, "the tensor 'x' is unexpected"),
        ({"weight": [2, 3], "bias": [3]}, r"'weight' has the shape [2, 3], not [3, 2]"),
        ({"weight": [3, 2], "bias": [3, 1]}, r"'bias' has the shape [3, 1], not [3]"),
    ],
)
def test_find_difference(found, message):
    assert message in find_difference(SHAPES, found)
    assert bool(message) == bool(find_difference(SHAPES, found))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_tensor_that_is_not_finite_is_found(dtype, number):
    tensors = {"empty": torch.zeros(0, 2), "count": torch.tensor(3), "weight": torch.ones(2, 2)}
    assert not find_not_finite(tensors)
    tensors["weight"] = torch.tensor([[1, 2], [number, 3]], dtype=dtype)
    assert "'weight'" in find_not_finite(tensors)
