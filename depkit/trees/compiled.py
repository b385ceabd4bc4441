"""One decorator for every kernel: compiled at its first call, or run as the Python that it is."""

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

    Loading numba and compiled kernels takes a second or more, as long as loading torch, so it is
    left until such a call. Kernels call each other, compiled or not.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = self.interpreted = function
        update_wrapper(self, function)

    def as_arrays(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorates what the interpreter is to run in place of a kernel that is one long loop."""
        self.interpreted = function
        return function

    @cached_property
    def dispatcher(self) -> Any:
        """The compiled function."""
        from depkit.trees.jit import make_dispatcher

        return make_dispatcher(self.function)

    @property
    def _numba_type_(self) -> Any:
        """A kernel that another one calls is, to numba, what it is compiled to."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        if _interpreting.get():
            return self.interpreted(*arguments, **named)
        result: R = self.dispatcher(*arguments, **named)
        return result


compiled = Kernel


@contextmanager
def interpreted() -> Iterator[None]:
    """Inside it the kernels that this thread calls run as Python, a hundred times slower at loops
    over numbers, and not so much slower at operations on whole arrays."""
    token = _interpreting.set(True)
    try:
        yield
    finally:
        _interpreting.reset(token)
