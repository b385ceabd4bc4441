"""Waiting for what another thread does."""

import time
from collections.abc import Callable

SECONDS = 60  # longer than anything takes, so that a fault does not make the tests wait for ever


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition is true; fail if it is not within SECONDS."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
