"""The tokenizer's exported graph, see `text.network.TokenizerNetwork`."""

import numpy as np

from depkit.parsers.engine.onnx_engine import ArrayNetwork


class TokenizerArrays(ArrayNetwork):
    """The classifiers of characters."""

    def best_labels(self, characters: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return both labels of each character, [2, batch, length] int8."""
        arrays = {"characters": characters, "sizes": sizes}
        labels: np.ndarray = self.graphs.run("tokenizer", arrays)["labels"]
        return labels
