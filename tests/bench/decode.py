"""Decoding speed: on one core, compiled code warm; each algorithm's time beside plain argmax's.

On the model's scores, which after training are mostly trees already, and on random ones, which
are not.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from depkit.parsers.graph.decoding import Decoding, decode_heads
from depkit.trees.compiled import interpreted
from depkit.trees.decode import ALGORITHMS, decode
from tests.bench.measure import Bench, Row, in_turn, timed

SENTENCES, WORDS = 2000, 40  # of random scores


def decoding(bench: Bench) -> Iterator[Row]:
    """Arc scores to heads: as parsing makes trees; argmax, mst, eisner of all sentences."""
    from tests.bench.stages import arc_scores

    random = np.random.default_rng(0)
    scores = random.normal(size=(SENTENCES, WORDS + 1, WORDS + 1)).astype(np.float32)
    on_random = [(scores, np.full(SENTENCES, WORDS))]
    given = {
        "the model's scores": arc_scores(bench),
        f"random scores, {WORDS} words": on_random,
    }
    for told, batches in given.items():
        words = sum(int(lengths.sum()) for _, lengths in batches)
        measures = {name: timed(partial(decode_all, batches, name)) for name in ALGORITHMS}
        if batches is not on_random:
            measures["trees as in parsing"] = timed(partial(decode_as_parsing, batches))
        found = in_turn(bench.runs, measures)
        for name, runs in found.items():
            step = name == "trees as in parsing"
            base = {} if name == "argmax" else {"base": "argmax", "base_runs": found["argmax"]}
            yield Row("decoding", f"{name}, {told}", runs, words, step=step, **base)


def decode_as_parsing(batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Best heads, and decoding where they are no tree, by the interpreter: on a CPU numba is not
    loaded for it."""
    with interpreted():
        for scores, words in batches:
            decode_heads(torch.from_numpy(scores), words, Decoding("mst", True))


def decode_all(batches: list[tuple[np.ndarray, np.ndarray]], algorithm: str) -> None:
    """batches: scores [batch, length, length], and words [batch]."""
    for scores, lengths in batches:
        decode(scores, lengths, algorithm, compile=True)
