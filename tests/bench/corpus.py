"""How fast treebanks are read and written: python -m tests.bench.corpus [FILE]

One thread, processor time, the median of five; the conllu package reads the same file's first
sentences in the same run, so that its ratio holds on a busy machine too. Sentences that are
collected in a list take longer to read than a stream of them: memory is new, and Python's
garbage collector looks at every list again and again.
"""

import gc
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import conllu

from depkit.corpus.files import read, write

EWT = Path(__file__).parents[3] / "shared/data/ud-english-ewt/en_ewt-ud-train.conllu"
SAMPLE = 2000  # sentences that the conllu package reads


def rate(tokens: int, action: Callable[[], object], runs: int = 5) -> float:
    """Tokens a second of processor time, the median of some runs."""
    gc.collect()
    gc.freeze()  # what the benchmark itself holds is not the collector's work
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return tokens / statistics.median(seconds)


def exhaust(sentences: Iterable[object]) -> None:
    for _ in sentences:
        pass


def bench(path: Path) -> None:
    tokens = sum(map(len, read(path)))
    sample = list(islice(read(path), SAMPLE))
    sample_tokens = sum(map(len, sample))
    text = "".join(map(str, sample))
    figures = {
        "reading, streaming": rate(tokens, lambda: exhaust(read(path))),
        "reading into a list": rate(tokens, lambda: list(read(path))),
    }
    sentences = [(sentence, sentence.head, sentence.deprel) for sentence in read(path)]
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "copy.conllu"
        figures |= {
            "writing": rate(tokens, lambda: write((s for s, _, _ in sentences), target)),
            "with_tree and writing": rate(
                tokens, lambda: write((s.with_tree(h, d) for s, h, d in sentences), target)
            ),
        }
    package = rate(sample_tokens, lambda: exhaust(conllu.parse_incr(io.StringIO(text))))
    ours = rate(sample_tokens, lambda: exhaust(read(io.StringIO(text, newline="\n"), "conllu")))
    figures |= {"the conllu package, reading": package, "depkit, reading the same": ours}
    print(f"{path.name}: {len(sentences)} sentences, {tokens} words")
    for name, figure in figures.items():
        print(f"{name:28} {figure:>12,.0f} tokens/s")
    print(f"{'depkit over conllu':28} {ours / package:>12.1f} times")


if __name__ == "__main__":
    bench(Path(sys.argv[1]) if len(sys.argv) > 1 else EWT)
