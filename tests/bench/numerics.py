"""Count the arcs that change when the same sentences are parsed in other batches.

Sums of floating-point numbers depend on their order, and with it on the size of a matrix product.
Two heads of almost the same score can therefore be exchanged. Run
`python -m tests.bench.numerics FILE...`; nothing is timed, so a busy machine does no harm.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import depkit
from depkit.corpus.sentence import Sentence
from depkit.parsers import chunks
from depkit.parsers.base import Parser

Parse = Callable[[Parser, Sequence[Sentence]], list[Sentence]]


def parse_batches_of(tokens: int) -> Parse:
    return lambda parser, sentences: list(parser.parse(sentences, batch_tokens=tokens))


def parse_reversed(parser: Parser, sentences: Sequence[Sentence]) -> list[Sentence]:
    return list(parser.parse(sentences[::-1]))[::-1]


def parse_in_small_chunks(parser: Parser, sentences: Sequence[Sentence]) -> list[Sentence]:
    with chunk_size(1000):
        return list(parser.parse(sentences))


@contextmanager
def chunk_size(words: int) -> Iterator[None]:
    """Read chunks of at most this many words."""
    old, chunks.CHUNK = chunks.CHUNK, words
    try:
        yield
    finally:
        chunks.CHUNK = old


VARIANTS: dict[str, Parse] = {
    "the same again": lambda parser, sentences: list(parser.parse(sentences)),
    "batches of one sentence": parse_batches_of(1),
    "batches of 300 words": parse_batches_of(300),
    "batches of 5000 words": parse_batches_of(5000),
    "sentences in reverse": parse_reversed,
    "chunks of 1000 words": parse_in_small_chunks,
}


def count_differences(first: Sequence[Sentence], second: Sequence[Sentence]) -> tuple[int, int]:
    """Return the number of words with another head, and of those with another head or relation."""
    heads = relations = 0
    for one, other in zip(first, second, strict=True):
        for arc, other_arc in zip(
            zip(one.head, one.deprel, strict=True), zip(other.head, other.deprel, strict=True),
            strict=True,
        ):  # fmt: skip
            heads += arc[0] != other_arc[0]
            relations += arc != other_arc
    return heads, relations


def main() -> None:
    """Print one line for each file and variant."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("files", nargs="+", metavar="FILE")
    arguments.add_argument("--model", default="en-ewt")
    arguments.add_argument("--precision", default="auto")
    options = arguments.parse_args()
    parsers = {  # the last one also sets the number of torch's threads
        threads: depkit.load(options.model, "cpu", options.precision, threads)
        for threads in (4, 2, 1)
    }
    for file in options.files:
        sentences = list(depkit.read(file))
        expected = list(parsers[2].parse(sentences))
        others = chain(
            ((name, parse(parsers[2], sentences)) for name, parse in VARIANTS.items()),
            ((f"{n} threads", list(parsers[n].parse(sentences))) for n in (1, 4)),
        )
        words = sum(map(len, sentences))
        for name, parsed in others:
            heads, relations = count_differences(expected, parsed)
            print(f"{file}: {name}: {heads} heads, {relations} arcs of {words}", flush=True)


if __name__ == "__main__":
    main()
