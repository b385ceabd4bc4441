"""The hidden layers of a transformer, and the vectors of words that are made of them."""

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.parsers.engine.device import send
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.safe_files import TransformerError
from depkit.parsers.inputs.transformer import Transformer

if TYPE_CHECKING:
    from depkit.parsers.inputs.context import Context, Layers

Rows = Tensor | slice  # the indices of some sequences of a batch

# In a group, the longest sequence has at most so many times the length of the shortest one, plus 2.
# On a GPU, another group costs more than padding.
_CPU_RATIO, _GPU_RATIO = 1.25, 2.0


def context_layers(transformer: Transformer, config: "Context", batch: Batch) -> Tensor:
    """Compute a transformer's layers for the words of a batch.

    Args:
        transformer: The transformer; it is moved to the device of the pieces.
        config: The settings that select the layers.
        batch: A batch with pieces.

    Returns:
        [batch, length, layers, width], zeros at padding.
    """
    body, device = transformer.body, batch["pieces.ids"].device
    # A frozen transformer does not move with the network. The device is compared first because
    # to() looks at every weight, which takes time.
    if next(body.parameters()).device != device:
        body.to(device)
    return pool_pieces(hidden_layers(transformer, batch, config.layers, config.top), batch)


def hidden_layers(transformer: Transformer, batch: Batch, layers: "Layers", top: int) -> Tensor:
    """Run a transformer and select hidden states, [segments, width, selected layers, size].

    Args:
        transformer: The transformer.
        batch: A batch with the pieces that it reads.
        layers: "single" selects one layer, "average" computes the mean of several, "mix" selects
            several.
        top: For "single", the number of the layer from the top (1 is the last); otherwise, how many
            layers from the top are used (0 uses all).

    Raises:
        TransformerError: `top` is not a number that `check_layers` allows.
    """
    check_layers(layers, top, transformer.layers)
    ids, mask = batch["pieces.ids"], batch["pieces.mask"]

    def run(rows: Rows, width: int) -> Tensor:
        states = transformer.body(
            ids[rows, :width], attention_mask=mask[rows, :width],
            output_hidden_states=True, return_dict=True,
        ).hidden_states  # fmt: skip
        if layers == "single":
            return states[-top].unsqueeze(-2)
        selected = states[-top:]
        if layers == "mix":
            return torch.stack(selected, dim=-2)
        total = selected[0]
        for state in selected[1:]:
            total = total + state
        return (total / len(selected)).unsqueeze(-2)

    return run_by_length(piece_counts(batch), ids.shape[1], ids.device, run)


def check_layers(layers: "Layers", top: int, num_layers: int) -> None:
    """Raise TransformerError if `top` is too large, negative, or 0 although "single" needs a layer.

    The arguments are those of `hidden_layers`; num_layers: the number of hidden states.
    """
    lowest = 1 if layers == "single" else 0
    if not lowest <= top <= num_layers:
        raise TransformerError(
            f"the transformer has {num_layers} layers, including its embeddings, so with"
            f" inputs.context.layers={layers} inputs.context.top can be {lowest} to {num_layers},"
            f" but it is {top}"
        )


def checkpoint_layers(body: Any) -> None:
    """Let a transformer recompute its layers in the backward pass instead of storing them."""
    old = "gradient_checkpointing_enable"  # its name before transformers 5
    enable = getattr(body, "activation_checkpointing_enable", None) or getattr(body, old)
    enable({"use_reentrant": False})


def piece_counts(batch: Batch) -> np.ndarray:
    """Return the number of pieces of each segment, [segments], on the host."""
    counts: np.ndarray = batch.host["pieces.mask"].sum(axis=1)
    return counts


def run_by_length(
    lengths: np.ndarray, width: int, device: torch.device, run: Callable[[Rows, int], Tensor]
) -> Tensor:
    """Run a transformer on groups of sequences of similar lengths, to save time and memory.

    In a batch of sentences with equal numbers of words, one sentence with a URL may have ten times
    as many pieces as the others, which would all be padded to its length.

    Args:
        lengths: [sequences], on the host.
        width: The length of the padded sequences.
        device: The device of the sequences.
        run: A function that runs the transformer on some sequences, cut to a width; it returns
            [these sequences, that width, ...].

    Returns:
        [sequences, width, ...], zeros where `run` has returned nothing.
    """
    groups = group_by_length(lengths, _CPU_RATIO if device.type == "cpu" else _GPU_RATIO)
    if len(groups) <= 1:
        return run(slice(None), width)
    order = send(torch.from_numpy(np.concatenate(groups)), device)
    parts = []
    for group, rows in zip(groups, order.split(list(map(len, groups))), strict=True):
        longest = int(lengths[group].max())
        part = run(rows, longest)
        parts.append(functional.pad(part, (0, 0) * (part.dim() - 2) + (0, width - longest)))
    return torch.cat(parts)[order.argsort()]


def group_by_length(lengths: np.ndarray, ratio: float) -> list[np.ndarray]:
    """Divide sequences into groups of similar lengths; return the indices of each group.

    lengths: [sequences]; ratio: the longest sequence of a group has at most this number of times
    the length of the shortest one, plus 2.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    groups, start = [], 0
    while start < len(order):
        end = int(np.searchsorted(ordered, ordered[start] * ratio + 2, side="right"))
        groups.append(order[start:end])
        start = end
    return groups


def pool_pieces(hidden: Tensor, batch: Batch) -> Tensor:
    """Make word vectors: the mean of the selected pieces' vectors, zero for padding.

    Args:
        hidden: [segments, width, ...], the transformer's output.
        batch: The batch that the transformer read.

    Returns:
        [batch, length, ...].
    """
    flat = hidden.flatten(0, 1).flatten(1)  # [segments * width, size]
    begin = torch.searchsorted(
        batch["pieces.word"], torch.arange(prod(batch.shape), device=hidden.device)
    )
    # embedding_bag is used because, unlike index_add, it computes the same sum in every run on a
    # GPU.
    pooled = functional.embedding_bag(batch["pieces.position"], flat, begin, mode="mean")
    return pooled.view(*batch.shape, *hidden.shape[2:])
