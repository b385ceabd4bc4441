"""The learning rate of an update."""

from depkit.training.recipe import Training


def rate(training: Training, update: int, done: float) -> float:
    """The rate of update number `update`, 0-based; done: the share of the run that is over.

    Exponential decay is smooth, `decay` per `decay_updates`, as in Dozat and Manning (2017).
    """
    if update < training.warmup:
        return training.rate * (update + 1) / training.warmup
    if training.schedule == "exponential":
        return training.rate * training.decay ** (
            (update - training.warmup) / training.decay_updates
        )
    if training.schedule == "linear":
        return training.rate * max(0.0, 1 - done)
    return training.rate
