"""Detection of PyTorch's launcher `torchrun`, without importing torch."""

import os


def started_by_torchrun() -> bool:
    """Return whether this process is one of several that torchrun has started."""
    return os.environ.get("WORLD_SIZE", "1") != "1"
