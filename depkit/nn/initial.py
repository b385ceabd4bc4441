"""Orthogonal initialisation of weights, which can be skipped when a model is loaded from a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

_initialisation_enabled = ContextVar("initialisation_enabled", default=True)


@contextmanager
def skip_initialisation() -> Iterator[None]:
    """Make `orthogonal_` do nothing within the block.

    Orthogonal initialisation takes as long as all other parts of loading a parser, and far longer
    on a busy machine, where its threads wait for each other.
    """
    token = _initialisation_enabled.set(False)
    try:
        yield
    finally:
        _initialisation_enabled.reset(token)


def orthogonal_(weight: Tensor) -> None:
    """Initialise a matrix, in place, with orthonormal rows or columns (Saxe et al. 2014).

    Within `skip_initialisation`, the matrix is left unchanged.
    """
    if _initialisation_enabled.get():
        nn.init.orthogonal_(weight)
