"""Protection from files in the current directory, which may be those of somebody else.

Python and some libraries look there for modules, and for configuration files that can name code or
caches of compiled code.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

_SAFE_PATH = "PYTHONSAFEPATH"  # see the documentation of python -P
_patching = RLock()


@contextmanager
def hide_local_files() -> Iterator[None]:
    """Within the block, `os.path.exists` finds no relative path, except in other threads.

    Libraries such as numba and matplotlib that are imported in the block then do not read their
    configuration from the current directory. Changing that directory instead would affect the files
    that other threads open.
    """
    thread = get_ident()

    def exists_elsewhere(path: Any) -> bool:
        return exists(path) and (get_ident() != thread or isinstance(path, int) or isabs(path))

    isabs = os.path.isabs
    with _patching:
        exists = os.path.exists
        os.path.exists = exists_elsewhere
        try:
            yield
        finally:
            os.path.exists = exists


@contextmanager
def safe_search_path() -> Iterator[None]:
    """Python processes that are started within the block import nothing from their directory.

    A process that multiprocessing or Ray starts would otherwise search for modules first in the
    current directory.
    """
    previous = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if previous is not None:
            os.environ[_SAFE_PATH] = previous
