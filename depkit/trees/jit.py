"""Compilation of kernels by numba: without the GIL, and cached where a cache can be written.

Kernels are never compiled with parallel=True: callers run threads over sentences, so no threading
layer of numba is loaded that could conflict with the threads of torch.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from depkit.files.digest import digest_files
from depkit.files.isolation import hide_local_files

if "numba" not in sys.modules:
    with hide_local_files():
        import numba
    # Each compilation looks for .numba_config.yaml again.
    numba.core.config._config_fname = ""
import numba
from numba.core.caching import FunctionCache


def make_dispatcher(function: Callable[..., Any]) -> Any:
    """Apply numba.njit(cache=True, nogil=True), but ignore failures of the cache.

    numba raises RuntimeError on decoration if no cache directory can be written, and OSError or
    an unpickling error on the first call if a cache file cannot be read, written or trusted. The
    kernel is then compiled for this process only.
    """
    dispatcher: Any = numba.njit(nogil=True)(function)
    # If this fails, the dispatcher keeps its initial cache, which stores nothing.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = ForgivingCache(function)
    return dispatcher


class ForgivingCache(FunctionCache):
    """numba's cache of one function, where a failure is a miss and clears the damaged index."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As numba's; None if the function cannot be read from the cache."""
        # A damaged pickle may raise any exception.
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        self.clear_index()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """As numba's, if it is possible."""
        # numba writes the index before the code, so after a failure the two may disagree.
        with suppress(Exception):
            super().save_overload(sig, data)
            return
        self.clear_index()

    def clear_index(self) -> None:
        """Empty the index, so that the next save starts from a valid one."""
        with suppress(Exception):
            self.flush()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # numba checks only the file of the function itself. If that function calls a kernel in
        # another file, numba would keep using the kernel's old code after an edit or upgrade.
        return (*super()._index_key(sig, codegen), source_digest())


@cache
def source_digest() -> str:
    """Return a digest of the source files of all kernels."""
    return digest_files(sorted(Path(__file__).parent.glob("*.py")))
