"""A decorator for functions that numba compiles at the first call, or that run as plain Python."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_interpreting = ContextVar("interpreting", default=False)


class Kernel(Generic[P, R]):
    """A function that numba compiles when it is first called.

    Importing numba and loading compiled kernels takes a second or more, as long as importing
    torch, so it happens at the first call. Kernels can call each other, compiled or not.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = self.interpreted = function
        update_wrapper(self, function)

    def interpret_as(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function without loops, to run instead of this kernel inside `interpreted`."""
        self.interpreted = function
        return function

    @cached_property
    def dispatcher(self) -> Any:
        """The compiled function."""
        from depkit.trees.jit import make_dispatcher

        return make_dispatcher(self.function)

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba compiles calls of this kernel in other kernels."""
        return self.dispatcher._numba_type_

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function or, inside `interpreted`, the Python function."""
        if _interpreting.get():
            return self.interpreted(*args, **kwargs)
        result: R = self.dispatcher(*args, **kwargs)
        return result


compiled = Kernel


@contextmanager
def interpreted() -> Iterator[None]:
    """Run the kernels that this thread calls within the block as plain Python.

    Loops over numbers become about a hundred times slower, operations on whole arrays much less.
    """
    token = _interpreting.set(True)
    try:
        yield
    finally:
        _interpreting.reset(token)
