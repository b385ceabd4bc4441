"""Detection of PyTorch's launcher `torchrun`, without importing torch."""

import os


def started_by_torchrun() -> bool:
    """Return whether this process is one of several that torchrun has started."""
    # Other launchers set WORLD_SIZE, too.
    return "LOCAL_RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"
