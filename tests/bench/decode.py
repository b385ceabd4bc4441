"""Decoding on one core, with code compiled before; every algorithm is compared with argmax.

Scores are the model's, whose best heads are mostly trees already, and random ones, whose best heads
are not.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.graph.decoding import Decoding, decode_heads
from depkit.parsers.graph.network import Scores
from depkit.trees.compiled import interpreted
from depkit.trees.decode import ALGORITHMS, decode
from tests.bench.measure import Bench, Row, run_alternately, timed

SENTENCES, WORDS = 2000, 40  # of random scores


def decoding(bench: Bench) -> Iterator[Row]:
    """Arc scores to heads: as in parsing, and with argmax, mst and eisner for all sentences."""
    from tests.bench.stages import arc_scores

    random = np.random.default_rng(0)
    scores = random.normal(size=(SENTENCES, WORDS + 1, WORDS + 1)).astype(np.float32)
    random_batches = [(scores, np.full(SENTENCES, WORDS))]
    inputs = {
        "the model's scores": arc_scores(bench),
        f"random scores, {WORDS} words": random_batches,
    }
    for description, batches in inputs.items():
        words = sum(int(lengths.sum()) for _, lengths in batches)
        measures = {name: timed(partial(decode_all, batches, name)) for name in ALGORITHMS}
        if batches is not random_batches:
            measures["trees as in parsing"] = timed(partial(decode_as_parsing, batches))
        results = run_alternately(bench.runs, measures)
        for name, runs in results.items():
            step = name == "trees as in parsing"
            base = {} if name == "argmax" else {"base": "argmax", "base_runs": results["argmax"]}
            yield Row("decoding", f"{name}, {description}", runs, words, step=step, **base)


def decode_as_parsing(batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Select the best heads, and decode where they are not a tree, without numba, as on a CPU."""
    with interpreted():
        for scores, words in batches:
            arc = torch.from_numpy(scores)
            on_device = Scores(arc, lambda heads: heads, ColumnScores(), lambda *arcs: arcs[0])
            decode_heads(on_device, words, Decoding("mst", True))


def decode_all(batches: list[tuple[np.ndarray, np.ndarray]], algorithm: str) -> None:
    """Decode batches of scores [batch, length, length] and lengths [batch]."""
    for scores, lengths in batches:
        decode(scores, lengths, algorithm, compile=True)
