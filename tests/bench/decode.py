"""Decoding speed: python -m tests.bench.decode [SENTENCES [WORDS]]

Random score matrices on one core, compiled code warm; a ratio to plain argmax beside each time.
"""

import sys
import time

import numpy as np

from depkit.trees.decode import ALGORITHMS, decode


def main(sentences: int = 2000, words: int = 40) -> None:
    """Print a line an algorithm."""
    random = np.random.default_rng(0)
    scores = random.normal(size=(sentences, words + 1, words + 1)).astype(np.float32)
    lengths = np.full(sentences, words)
    base = 0.0
    for algorithm in ALGORITHMS:
        decode(scores[:2], lengths[:2], algorithm)
        times = []
        for _ in range(5):
            began = time.process_time()
            decode(scores, lengths, algorithm)
            times.append(time.process_time() - began)
        median = sorted(times)[2]
        base = base or median
        print(f"{algorithm:>7}  {median:.3f} s  {median / base:.1f} x argmax")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
