"""Whether the next bytes of a pipe or a terminal have arrived."""

import os
import select
import stat
from collections.abc import Callable
from typing import BinaryIO

# A program that writes without a break is at most this late, in milliseconds. Within this time,
# blank lines are still read together with the sentence before them.
GRACE = 10


def make_arrival_test(binary: BinaryIO) -> Callable[[], bool] | None:
    """Return a function that says whether more bytes, or the end of a stream, have arrived.

    The function waits for them up to GRACE. It may return False although a buffer above the
    operating system has further bytes. On Windows, which cannot tell, it always returns False.
    For a regular file, and for a stream without a descriptor, None is returned.
    """
    try:
        descriptor = binary.fileno()
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (AttributeError, OSError, ValueError):
        return None
    if is_regular:
        return None
    if not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return lambda: bool(poll.poll(GRACE))
