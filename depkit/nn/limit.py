"""A limit for the size of a network, so that an impossible configuration fails early."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.overrides import TorchFunctionMode

_MORE_ELEMENTS = 1 << 22  # for buffers, which are not saved
_MORE_TENSORS = 1000
_MODULES = 10  # submodules for each tensor; dropout, for example, has no tensors


class SizeError(ValueError):
    """A network is larger than its weights."""


@contextmanager
def limit_size(shapes: Mapping[str, Sequence[int]]) -> Iterator[None]:
    """Within the block, building a network raises SizeError if it is far larger than its weights.

    A network may have twice as many elements and tensors as the weights, and some more for parts
    that are not saved. What is too large is refused before memory is allocated for it, and an
    endless number of layers at the first layer that is too many.

    shapes: the shapes of the weights.
    """
    total = sum(prod(shape) for shape in shapes.values())
    limit = _Limit(2 * total + _MORE_ELEMENTS, 2 * len(shapes) + _MORE_TENSORS)
    with ExitStack() as stack:
        for handle in (
            register_module_parameter_registration_hook(limit.add_parameter),
            register_module_module_registration_hook(limit.add_module),
        ):
            stack.callback(handle.remove)
        stack.enter_context(limit)
        yield


class _Limit(TorchFunctionMode):
    """Counts what one thread builds, and checks the sizes in every call of a function of torch."""

    def __init__(self, max_elements: int, max_tensors: int) -> None:
        super().__init__()
        self.max_elements, self.max_tensors = max_elements, max_tensors
        self.elements = self.tensors = self.modules = 0
        self.thread = threading.get_ident()  # The hooks are called for all threads.

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        values = [*args, kwargs.get("size", ())]
        sizes = [value for value in values if isinstance(value, tuple | list)]
        for size in (*sizes, [value for value in values if type(value) is int]):
            if all(type(value) is int for value in size) and prod(size) > self.max_elements:
                raise SizeError(f"a tensor of size {' x '.join(map(_shorten, size))} is too large")
        return function(*args, **kwargs)

    def add_parameter(self, module: nn.Module, name: str, parameter: Any) -> None:
        if parameter is not None and threading.get_ident() == self.thread:
            self.tensors += 1
            self.elements += parameter.numel()
            if self.tensors > self.max_tensors or self.elements > self.max_elements:
                raise SizeError("there are too many layers, or they are too large")

    def add_module(self, module: nn.Module, name: str, submodule: Any) -> None:
        if threading.get_ident() == self.thread:
            self.modules += 1
            if self.modules > _MODULES * self.max_tensors:
                raise SizeError("there are too many layers")


def _shorten(size: int) -> str:
    return str(size) if abs(size) < 10**20 else "10**20 or more"


def find_difference(
    expected: Mapping[str, Sequence[int]], found: Mapping[str, Sequence[int]]
) -> str:
    """Compare the shapes of a network and of weights; describe one difference, "" for none."""
    for name in (*expected, *found):
        if name not in found:
            return f"there is no tensor {name!r}"
        if name not in expected:
            return f"the tensor {name!r} is unexpected"
        if tuple(expected[name]) != tuple(found[name]):
            return (
                f"the tensor {name!r} has the shape {list(found[name])}, not {list(expected[name])}"
            )
    return ""


def find_not_finite(tensors: Mapping[str, Tensor]) -> str:
    """Describe one tensor that has a NaN or an infinite number; return "" if there is none."""
    for name, tensor in tensors.items():
        # The minimum and the maximum are NaN if any number is; no second tensor is allocated.
        if tensor.numel() and not all(value.isfinite() for value in tensor.aminmax()):
            return f"the tensor {name!r} has a NaN or an infinite number"
    return ""
