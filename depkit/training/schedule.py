"""The learning rates: of the parts of a network, and over time."""

import re

from torch import nn

from depkit.parsers.network import ParserNetwork
from depkit.training.recipe import Training


def rate_factor(training: Training, update: int, done: float, updates: int) -> float:
    """What the rates are multiplied by at update number `update`, 0-based, of `updates`; done:
    the share of the run that is over.

    Exponential decay is smooth, `decay` per `decay_updates`, as in Dozat and Manning (2017).
    """
    if update < training.warmup:
        return (update + 1) / training.warmup
    if training.schedule == "exponential":
        return training.decay ** ((update - training.warmup) / training.decay_updates)
    if training.schedule == "linear":
        # from 1 at the end of the warm-up to 0 at that of the run
        return min(1.0, max(0.0, 1 - done) / max(1e-9, 1 - training.warmup / updates))
    return 1.0


def grouped(network: ParserNetwork, training: Training) -> list[dict]:
    """The parameters that are trained, in groups with their highest `rate`.

    Those of a transformer have their own, from `context_rate` for the last layer down to that of
    the embeddings, `layer_decay` times as high from each layer to the one below (Howard and
    Ruder 2018).
    """
    context = network.inputs.context
    body = context.body if context is not None else None
    inside = dict(body.named_parameters()) if body is not None else {}
    layers = {name: _layer(name) for name in inside}
    top = max(layers.values(), default=0)
    depth = {name: top - layer if layer >= 0 else 0 for name, layer in layers.items()}
    of = {
        id(weight): training.context_rate * training.layer_decay ** depth[name]
        for name, weight in inside.items()
    }
    groups: dict[float, list[nn.Parameter]] = {}
    for weight in network.parameters():
        if weight.requires_grad:
            groups.setdefault(of.get(id(weight), training.rate), []).append(weight)
    return [{"params": weights, "rate": rate, "lr": rate} for rate, weights in groups.items()]


def _layer(name: str) -> int:
    """A transformer's layer by the name of a weight of it, from 1 on; 0 is the embeddings, -1 what
    comes after the last layer."""
    number = re.search(r"\.(\d+)\.", name)
    if number:
        return int(number[1]) + 1
    return 0 if "embed" in name or re.match(r"w[tp]e\.", name) else -1
