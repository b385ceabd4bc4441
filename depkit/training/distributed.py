"""Training with several processes that `torchrun` starts, each of which has its own batches.

The processes are numbered; the number of a process is its rank. All have the same data, weights and
state. In each update, the gradients of all ranks are summed, so that N processes compute what one
process computes with N times `training.accumulate`. Only rank 0 writes files and scores dev. All
ranks use the measurements of rank 0, such as the elapsed time, so that their decisions are equal.
Outside of `join_ranks`, a training has one process.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from depkit.parsers.launcher import started_by_torchrun
from depkit.parsers.settings import ConfigError

T = TypeVar("T")
# The timeout is long, because other ranks wait while rank 0 scores dev or trains a tokenizer. The
# end of a process is noticed without it, because the connections of the process are closed.
_TIMEOUT = timedelta(days=30)


class RankError(ValueError):
    """Another process of the training has failed, or cannot be reached."""

    def __init__(
        self, message: str = "another process of this training has ended; its message says why"
    ) -> None:
        super().__init__(message)


def own_device(name: str) -> str:
    """Return the name of the device of this process; with cuda, each process has its own GPU.

    Raises ConfigError for a device that several processes cannot use.
    """
    if not started_by_torchrun():
        return name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(
            f"`device` {name} cannot be used with torchrun; name cpu, or cuda for one GPU per"
            " process"
        )
    return f"cuda:{os.environ['LOCAL_RANK']}" if name == "cuda" else name


@contextmanager
def join_ranks(device: torch.device) -> Iterator[None]:
    """Within the block, the processes that torchrun has started are the ranks of one training.

    device: the device of this process. Raises ConnectionError if the processes cannot connect.
    """
    if not started_by_torchrun():
        yield
        return
    is_gpu = device.type == "cuda"
    try:
        if is_gpu:
            torch.cuda.set_device(device)
        distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if is_gpu else "gloo",
            timeout=_TIMEOUT, device_id=device if is_gpu else None,
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise ConnectionError(
            f"the processes of torchrun cannot connect to each other: {error}"
        ) from error
    has_succeeded = False
    try:
        yield
        has_succeeded = True
    finally:
        # Close the connections, so that other ranks do not wait for this rank if it has failed.
        # With NCCL, closing them would wait for the other ranks, so after an error they are left
        # open until this process ends.
        if has_succeeded or not is_gpu:
            distributed.destroy_process_group()


def num_ranks() -> int:
    """Return the number of processes of the training."""
    return distributed.get_world_size() if _has_group() else 1


def is_first() -> bool:
    """Return whether this is rank 0, or the only process."""
    return not _has_group() or distributed.get_rank() == 0


def _has_group() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def batches_per_update(accumulate: int) -> int:
    """Return the number of batches of an update; accumulate: the batches of each rank."""
    return accumulate * num_ranks()


def own_part(batches: Sequence[T]) -> Sequence[T]:
    """Return the batches of an update that this rank computes; there may be none."""
    return batches[distributed.get_rank() :: num_ranks()] if _has_group() else batches


def own_seed(seed: int) -> int:
    """Return a seed that differs by rank; that of rank 0 is `seed`."""
    return seed + (distributed.get_rank() << 40 if _has_group() else 0)


@contextmanager
def sum_gradients(network: nn.Module, totals: Tensor) -> Iterator[Tensor]:
    """Replace the gradients that the block computes in each rank by their sum over all ranks.

    A weight that has no gradient in any rank has none afterwards, as in a single process. An error
    in the block of one rank is raised there, and RankError in all others.

    Args:
        network: The network.
        totals: [n] float32, on the network's device. The sum of what the blocks of all ranks add to
            the yielded tensors is added to it.
    """
    if not _has_group():
        yield totals
        return
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    own_totals, error = torch.zeros_like(totals), None
    try:
        yield own_totals
        gradients = [w.new_zeros(w.shape) if w.grad is None else w.grad for w in weights]
        flat = torch.cat([own_totals, *(gradient.flatten() for gradient in gradients)])
    except Exception as caught:
        error = caught
    # The flags are on the CPU, so that the host does not wait for a GPU.
    flags = torch.tensor([error is not None, *(w.grad is not None for w in weights)]).int()
    _call(distributed.all_reduce, flags)
    failures, *counts = flags.tolist()
    if error:
        raise error
    if failures:
        raise RankError
    _call(distributed.all_reduce, flat)
    sums = flat.split([len(totals), *(weight.numel() for weight in weights)])
    totals += sums[0]
    for weight, gradient, count in zip(weights, sums[1:], counts, strict=True):
        weight.grad = gradient.view_as(weight) if count else None


def fail_together(error: Exception | None) -> None:
    """Raise the error of this rank, if it has one; raise RankError if only others have one."""
    failures = torch.tensor([error is not None]).int()
    if _has_group():
        _call(distributed.all_reduce, failures)
    if error:
        raise error
    if failures.item():
        raise RankError


def share_value(value: T) -> T:
    """Return rank 0's value in all ranks."""
    if not _has_group():
        return value
    values = [value]
    _call(distributed.broadcast_object_list, values)
    return values[0]


def clock() -> float:
    """Return the value of `time.monotonic` in rank 0, in seconds, in all ranks."""
    seconds = torch.tensor([time.monotonic()], dtype=torch.float64)
    if _has_group():
        _call(distributed.broadcast, seconds, 0)
    return seconds.item()


def on_first(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in rank 0 alone, and return its result in all ranks.

    An error is raised in rank 0, and RankError in all others.
    """
    result: Any = None
    error = None
    if is_first():
        try:
            result = function(*arguments)
        except Exception as caught:
            error = caught
    has_failed, result = share_value((error is not None, None if error else result))
    if error:
        raise error
    if has_failed:
        raise RankError
    return result


@contextmanager
def first_before_others() -> Iterator[None]:
    """Run the block in rank 0, then in all other ranks, which can use what rank 0 has cached."""
    if not is_first():
        share_value(None)
    yield
    if is_first():
        share_value(None)


def _call(collective: Callable[..., Any], *arguments: Any) -> None:
    """Call a collective operation; raise RankError if another process has ended."""
    try:
        collective(*arguments)
    except RuntimeError as error:
        raise RankError from error
