"""Child processes that end when their parent ends in any way, even if it is killed."""

import multiprocessing
import os
from collections.abc import Callable
from threading import Thread
from typing import Any

from depkit.files.system import end_with_parent


class Bond:
    """The first argument of a process: unpickling it binds the process to its parent.

    The arguments after it, whose modules may take seconds to import, are unpickled later.
    """

    def __reduce__(self) -> Any:
        return _bind, (os.getpid(),)


def _bind(parent: int) -> Bond:
    """Let Linux kill this process when its parent ends; elsewhere `run_child` must do."""
    end_with_parent(parent)
    return Bond()


def run_child(bond: Bond, function: Callable[..., None], *arguments: Any) -> None:
    """Call a function in a process of multiprocessing, which ends when its parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()
    function(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)  # Files are written atomically.
