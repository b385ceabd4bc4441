"""Count the arcs that change when the same sentences are parsed in other batches.

Sums of floating-point numbers depend on their order, and with it on the size of a matrix product.
Two heads of almost the same score can therefore be exchanged. Run
`python -m tests.bench.numerics FILE...`; nothing is timed, so a busy machine does no harm.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import depkit
from depkit.corpus.sentence import Sentence
from depkit.parsers import chunks
from depkit.parsers.base import Parser

Parse = Callable[[Parser, Sequence[Sentence]], list[Sentence]]


def parse(
    parser: Parser, sentences: Iterable[Sentence], batch_tokens: int | None = None
) -> list[Sentence]:
    return list(parser.parse(sentences, batch_tokens=batch_tokens, probabilities="local"))


def parse_batches_of(tokens: int) -> Parse:
    return lambda parser, sentences: parse(parser, sentences, batch_tokens=tokens)


def parse_reversed(parser: Parser, sentences: Sequence[Sentence]) -> list[Sentence]:
    return parse(parser, sentences[::-1])[::-1]


def parse_in_small_chunks(parser: Parser, sentences: Sequence[Sentence]) -> list[Sentence]:
    with chunk_size(1000):
        return parse(parser, sentences)


@contextmanager
def chunk_size(words: int) -> Iterator[None]:
    """Read chunks of at most this many words."""
    old, chunks.CHUNK = chunks.CHUNK, words
    try:
        yield
    finally:
        chunks.CHUNK = old


VARIANTS: dict[str, Parse] = {
    "the same again": parse,
    "batches of one sentence": parse_batches_of(1),
    "batches of 300 words": parse_batches_of(300),
    "batches of 5000 words": parse_batches_of(5000),
    "sentences in reverse": parse_reversed,
    "chunks of 1000 words": parse_in_small_chunks,
}


def count_differences(first: Sequence[Sentence], second: Sequence[Sentence]) -> dict[str, int]:
    """Return how many words have another head, relation or rounded probability."""
    return {
        name: sum(
            value != other
            for one, two in zip(first, second, strict=True)
            for value, other in zip(one.column(column), two.column(column), strict=True)
        )
        for name, column in {
            "heads": "head",
            "relations": "deprel",
            "probabilities": "misc",
        }.items()
    }


def main() -> None:
    """Print one line for each file and variant."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("files", nargs="+", metavar="FILE")
    arguments.add_argument("--model", default="en-ewt")
    arguments.add_argument("--precision", default="auto")
    options = arguments.parse_args()
    parsers = {  # the last one also sets the number of torch's threads
        threads: depkit.load(options.model, "cpu", options.precision, threads=threads)
        for threads in (4, 2, 1)
    }
    for file in options.files:
        sentences = list(depkit.read(file))
        expected = parse(parsers[2], sentences)
        others = chain(
            ((name, variant(parsers[2], sentences)) for name, variant in VARIANTS.items()),
            ((f"{n} threads", parse(parsers[n], sentences)) for n in (1, 4)),
        )
        words = sum(map(len, sentences))
        for name, parsed in others:
            counts = count_differences(expected, parsed)
            text = ", ".join(f"{count} {column}" for column, count in counts.items())
            print(f"{file}: {name}: {text} of {words}", flush=True)


if __name__ == "__main__":
    main()
