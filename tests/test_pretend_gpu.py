"""The pretend GPU refuses what a GPU refuses, and counts what a host waits for."""

import pytest
import torch
from torch import nn

from depkit.parsers.engine.device import fetch, fetch_array, send
from tests.pretend_gpu import WHY_NOT, Event, counting, pretend_gpu

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture
def gpu():
    with pretend_gpu():
        yield torch.device("cuda", 0)


def test_without_the_context_there_is_no_gpu():
    with pretend_gpu():
        torch.zeros(2, device="cuda")
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(2, device="cuda")


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.ones(3) * x,
        lambda x: x[torch.tensor([0])],
        lambda x: x + torch.ones(3, device="cuda:1"),
        lambda x: torch.cat((x, torch.ones(3))),
        lambda x: nn.Linear(3, 2)(x),
        lambda x: nn.Linear(3, 2).to(x.device)(torch.ones(3)),
    ],
)
def test_two_devices_are_an_error(operation, gpu):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        operation(torch.ones(3, device=gpu))


def test_a_tensor_on_the_gpu_is_no_array_and_a_number_may_be_on_the_cpu(gpu):
    x = torch.ones(3, device=gpu)
    with pytest.raises(TypeError, match="cuda:0"):
        x.numpy()
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]


def test_copies_arrive_when_the_host_waits(gpu):
    x = torch.arange(3, device=gpu)
    target = torch.empty(3, dtype=torch.int64, pin_memory=True).copy_(x, non_blocking=True)
    assert target.tolist() == [-1, -1, -1]
    x += 5  # is computed after the copy
    Event().synchronize()
    assert target.tolist() == [0, 1, 2]


def test_memory_must_not_change_while_it_is_copied(gpu):
    source = torch.ones(3).pin_memory()
    source.to(gpu, non_blocking=True)
    source += 1
    with pytest.raises(RuntimeError, match="was changed"):
        torch.cuda.synchronize()


@pytest.mark.parametrize(
    ("operation", "waits"),
    [
        (lambda x: x + 1, 0),
        (lambda x: x.masked_fill(x > 1, 0.0), 0),
        (lambda x: x.sum().item(), 1),
        (lambda x: float(x[0]), 1),
        (lambda x: x.any() and None, 1),
        (lambda x: x.nonzero(), 1),
        (lambda x: x[x > 1], 1),
        (lambda x: x.unique(), 1),
        (lambda x: x.cpu(), 1),
        (lambda x: x.tolist(), 1),
        (lambda x: fetch({"": x}), 0),
        (lambda x: fetch_array(x), 1),
        (lambda x: torch.ones(2).to(x.device), 1),
        (lambda x: torch.tensor([1.0], device=x.device), 1),
        (lambda x: send(torch.ones(2), x.device), 0),
    ],
)
def test_waits_are_counted(operation, waits, gpu):
    x = torch.arange(3.0, device=gpu)
    with counting() as counts:
        operation(x)
    assert counts.waits.total() == waits, str(counts)


def test_a_graph_must_not_wait(gpu):
    x = torch.ones(3, device=gpu)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x * 2
        with pytest.raises(RuntimeError, match="not permitted"):
            y.sum().item()


def test_what_is_fetched_together_keeps_types_and_shapes(gpu):
    arrays = {
        "mask": torch.tensor([[True, False, True]]),
        "half": torch.arange(3, dtype=torch.float16),
        "none": torch.zeros(0, 4),
        "numbers": torch.arange(6).reshape(2, 3).T,
        "scalar": torch.tensor(2.5),
        "small": torch.tensor([7], dtype=torch.int32),
    }
    with counting() as counts:
        fetched = fetch({name: x.to(gpu) for name, x in arrays.items()}).wait()
    assert counts.copies_out.total() == 1
    assert list(fetched) == list(arrays)
    for name, x in arrays.items():
        assert (fetched[name].dtype, fetched[name].shape) == (x.numpy().dtype, x.numpy().shape)
        assert (fetched[name] == x.numpy()).all()


def test_a_module_keeps_its_parameters_and_learns_as_on_the_cpu(gpu):
    losses = []
    for device in (torch.device("cpu"), gpu):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.LayerNorm(4), nn.Linear(4, 1))
        weights = list(module.parameters())
        module.to(device)
        assert all(x is y for x, y in zip(weights, module.parameters(), strict=True))
        optimizer = torch.optim.Adam(weights, fused=True)
        for _ in range(3):
            loss = module(torch.ones(5, 3, device=device)).square().sum()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.1)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[0] == losses[1]
