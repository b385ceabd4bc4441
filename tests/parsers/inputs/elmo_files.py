"""Files of random word vectors as ELMo writes them."""

import numpy as np
import pytest


def write_features(path, sentences, seed=0, layers=3, width=5):
    """Write random vectors that float16 represents exactly, because training stores them in it."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: no ELMo features")
    random = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        for number, sentence in enumerate(sentences):
            vectors = random.normal(size=(layers, len(sentence), width))
            file[str(number)] = vectors.astype("f2").astype("f4")
    return str(path)
