"""Learning rates: of the parts of a network, and over time."""

import re
from collections.abc import Iterator
from math import inf

from torch import nn

from depkit.parsers.inputs.transformer_encoder import GRAPH
from depkit.parsers.network import ParserNetwork
from depkit.training.recipe import Training

LONGEST_WARMUP = 0.2  # of the whole run, with the schedule "linear"


def rate_factor(
    training: Training, update: int, fraction: float, updates: int, *, reductions: int = 0
) -> float:
    """Return the factor that all learning rates are multiplied by at an update.

    Exponential decay is smooth, `decay` per `decay_updates`, as in Dozat and Manning (2017). The
    schedule "step" multiplies the rate by `decay` after each `decay_updates` updates and keeps it
    in between, as the code of Li et al. (2019) does.

    Args:
        training: The settings of the schedule.
        update: The number of the update, from 0.
        fraction: The finished part of the run, by updates or by time.
        updates: The number of updates of the whole run.
        reductions: How often the schedule "plateau" has reduced the rate.
    """
    rise = finished_warmup(training, update, fraction, updates)
    if rise <= 1:
        return rise
    warmup = training.warmup_updates(updates)
    if training.schedule in ("exponential", "step"):
        if 0 < training.warmup < 1:
            # If time limits the training, its warm-up has fewer updates. How many is estimated,
            # as if all updates took the same time.
            warmup = min(warmup, update * training.warmup / max(fraction, training.warmup))
        decays = (update - warmup) / training.decay_updates
        return training.decay ** (decays if training.schedule == "exponential" else int(decays))
    if training.schedule == "plateau":
        return training.decay**reductions
    if training.schedule == "linear":
        # The factor falls from 1 at the end of the warm-up to 0 at the end of the run.
        end = min(warmup / updates, LONGEST_WARMUP)  # of the warm-up
        return min(1.0, max(0.0, 1 - fraction) / (1 - end))
    return 1.0


def finished_warmup(training: Training, update: int, fraction: float, updates: int) -> float:
    """Return the finished share of the warm-up at an update.

    It is more than 1 after the warm-up, and inf if there is none. The arguments are those of
    `rate_factor`.
    """
    warmup = training.warmup_updates(updates)
    if not warmup:
        return inf
    rise = (update + 1) / warmup
    if training.warmup < 1:
        rise = max(rise, fraction / training.warmup)
    if training.schedule == "linear":
        rise = max(rise, fraction / LONGEST_WARMUP)
    return rise


def parameter_groups(network: ParserNetwork, training: Training) -> list[dict]:
    """Group the trained parameters by their highest learning rate, as torch.optim takes them.

    With decay_biases=false, weights without decay form groups of their own.

    The last layer of a transformer has the rate `context_rate`. From each layer to the layer below,
    down to the embeddings, the rate is multiplied by `layer_decay` (Howard and Ruder 2018). All
    other parameters have the rate `rate`, also those that were added to a transformer.
    """
    context = network.inputs.part("context")
    body = context.body if context is not None else None
    body_weights = {
        name: weight
        for name, weight in (body.named_parameters() if body is not None else ())
        if GRAPH not in name.split(".")
    }
    if body is not None and context is not None and context.config.weights == "embeddings":
        pieces = body.get_input_embeddings().weight
        body_weights = {name: x for name, x in body_weights.items() if x is pieces}
    layers = {name: _layer_number(name) for name in body_weights}
    top = max(layers.values(), default=0)
    depth = {name: top - layer if layer >= 0 else 0 for name, layer in layers.items()}
    body_rates = {
        id(weight): training.context_rate * training.layer_decay ** depth[name]
        for name, weight in body_weights.items()
    }
    undecayed = set() if training.decay_biases else set(map(id, _biases(network)))
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for weight in network.parameters():
        if weight.requires_grad:
            rate = body_rates.get(id(weight), training.rate)
            groups.setdefault((rate, id(weight) in undecayed), []).append(weight)
    return [
        {"params": weights, "rate": rate, "lr": rate} | ({"weight_decay": 0.0} if plain else {})
        for (rate, plain), weights in groups.items()
    ]


def _biases(network: nn.Module) -> Iterator[nn.Parameter]:
    """Yield all biases, and the weights of layer normalisation."""
    for module in network.modules():
        is_norm = isinstance(module, nn.LayerNorm) or type(module).__name__.endswith("Norm")
        for name, weight in module.named_parameters(recurse=False):
            if is_norm or "bias" in name:
                yield weight


def _layer_number(name: str) -> int:
    """Return the number of the transformer layer that a weight of this name belongs to.

    Layers count from 1; 0 stands for the embeddings, -1 for weights after the last layer.
    """
    number = re.search(r"\.(\d+)\.", name)
    if number:
        return int(number[1]) + 1
    return 0 if "embed" in name or re.match(r"w[tp]e\.", name) else -1
