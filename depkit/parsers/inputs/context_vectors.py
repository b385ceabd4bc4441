"""The module of contextual vectors of words."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.layermix import LayerMix
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.hidden_layers import checkpoint_layers, context_layers
from depkit.parsers.inputs.transformer import Transformer

if TYPE_CHECKING:
    from depkit.parsers.inputs.context import Context


@dataclass
class LayerCache:
    """The last output of a frozen transformer, for other parsers that read the same layers."""

    pieces: dict[str, np.ndarray] = field(default_factory=dict)
    layers: Tensor | None = None

    def get(self, batch: Batch) -> Tensor | None:
        """Return the cached layers if they were computed from the same pieces, else None."""
        is_same = self.pieces and all(
            np.array_equal(array, batch.host[name]) for name, array in self.pieces.items()
        )
        return self.layers if is_same else None

    def put(self, batch: Batch, layers: Tensor) -> None:
        self.layers = layers
        self.pieces = {
            name: array for name, array in batch.host.items() if name.startswith("pieces.")
        }


class ContextVectors(nn.Module):
    """Contextual vectors of words: layers are selected or mixed, then projected.

    A transformer that is fine-tuned is a submodule, so its weights belong to this module. A frozen
    transformer is not, and it is not run if the batch already has its layers.
    """

    def __init__(self, config: "Context", transformer: Transformer | None) -> None:
        super().__init__()
        self.config = config
        self.transformer = transformer
        self.layer_cache: LayerCache | None = None  # set if parsers share the transformer
        self.body = transformer.body if transformer and config.tune else None
        if self.body is not None and config.checkpointing:
            checkpoint_layers(self.body)
        num_layers = min(config.top or config.available, config.available)
        self.mix = LayerMix(num_layers) if config.layers == "mix" else None
        self.dropout = nn.Dropout(config.dropout)
        self.projection: nn.Module = nn.Identity()
        if config.size:
            self.projection = nn.Linear(config.width, config.size)

    def layers(self, batch: Batch) -> Tensor:
        """Return the layers of the batch or of the transformer, [batch, length, layers, width].

        Raises ValueError if the batch has no layers and there is no transformer.
        """
        if "context" in batch:
            layers: Tensor = batch["context"]
            return layers
        if self.transformer is None or "pieces.ids" not in batch:
            raise ValueError(
                "the parser reads ELMo vectors, but none were given with the sentences"
            )
        cached = self.layer_cache.get(batch) if self.layer_cache else None
        if cached is not None:
            return cached
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.body is not None):
            layers = context_layers(self.transformer, self.config, batch)
        if self.layer_cache:
            self.layer_cache.put(batch, layers)
        return layers

    def forward(self, batch: Batch) -> Tensor:
        """Compute the projected vectors, [batch, length, size]."""
        layers = self.layers(batch).float()
        vectors = self.mix(layers) if self.mix is not None else layers[..., 0, :]
        return self.projection(self.dropout(vectors))


def share_transformers(modules: Iterable[ContextVectors | None]) -> None:
    """Let the modules of parsers that read the same frozen transformer share it.

    Modules that read the same layers also share the result of the last batch, so that the
    transformer computes it once.
    """
    transformers: dict[object, Transformer] = {}
    layer_caches: dict[object, LayerCache] = {}
    for module in modules:
        if module is None or module.body is not None or module.transformer is None:
            continue
        config = module.config
        # The digest is that of the files, of which a transformer may have only the first layers.
        body = (config.digest, config.depth)
        module.transformer = transformers.setdefault(body, module.transformer)
        key = (body, config.layers, config.top, config.pooling, config.overlap)
        module.layer_cache = layer_caches.setdefault(key, LayerCache())
