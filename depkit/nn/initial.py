"""Initial weights, which a network whose weights are read from a file can do without."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

_wanted = ContextVar("wanted", default=True)


@contextmanager
def no_initial_weights() -> Iterator[None]:
    """Inside it `orthogonal_` leaves weights as they are: it takes as long as all other parts of
    loading a parser, and on a busy machine, where its threads wait for one another, far longer."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


def orthogonal_(weight: Tensor) -> None:
    """A matrix with orthonormal rows or columns (Saxe et al. 2014), in place."""
    if _wanted.get():
        nn.init.orthogonal_(weight)
