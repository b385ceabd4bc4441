"""How numba compiles kernels: nogil, and cached where a cache can be kept.

A kernel is never compiled with parallel=True: threads over sentences come from the caller, so
no numba threading layer is loaded, and nothing here clashes with torch's own threads.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

from depkit.corpus.digest import digest_of_files


def make_dispatcher(function: Callable[..., Any]) -> Any:
    """numba.njit(cache=True, nogil=True), except that a cache out of reach is no error.

    numba raises RuntimeError on decoration when no cache directory can be written, and OSError
    or an unpickling error on the first call when a cache file cannot be read, written or
    trusted. The kernel is then compiled for this process only.
    """
    dispatcher: Any = numba.njit(nogil=True)(function)
    # Without a cache the dispatcher keeps the null cache it was born with.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = ForgivingCache(function)
    return dispatcher


class ForgivingCache(FunctionCache):
    """numba's cache of one function: a failure is a miss, and what made it fail is dropped."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, None when not cached or not readable."""
        # A damaged pickle may raise anything at all.
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        self.forget()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled function for a signature, if possible."""
        # numba writes the index before the code: after a failure the two may disagree.
        with suppress(Exception):
            super().save_overload(sig, data)
            return
        self.forget()

    def forget(self) -> None:
        """Empty the index, so that the next save starts from a sound one."""
        with suppress(Exception):
            self.flush()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # numba looks only at the file of the function itself, and would run old code of a
        # kernel it calls after that kernel's file was edited or upgraded.
        return (*super()._index_key(sig, codegen), source_digest())


@cache
def source_digest() -> str:
    """A digest of the sources of all kernels, which call each other across files."""
    return digest_of_files(sorted(Path(__file__).parent.glob("*.py")))
