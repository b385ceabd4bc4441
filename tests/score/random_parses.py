"""Random gold trees, and random parses of them with random probabilities."""

import random
from typing import NamedTuple

from depkit.corpus.probabilities import ARC_PROB, LABEL_PROB
from depkit.corpus.sentence import Sentence, new_sentence


class Word(NamedTuple):
    """A word of a gold tree or a parse; arc and label are the probabilities of the parse."""

    head: int
    deprel: str
    arc: float = 1.0
    label: float = 1.0


Parse = list[list[Word]]


def random_parses(seed: int, systems: int) -> tuple[Parse, list[Parse]]:
    """Return a gold parse and one for each system; systems leave some words without a head."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(1, 8))]

    def word(number: int, size: int, lowest_head: int) -> Word:
        heads = [head for head in range(lowest_head, size + 1) if head != number]
        # With one decimal, confidences are often on the boundary of two bins.
        decimals = rng.choice((1, 4))
        arc, label = (round(rng.random(), decimals) for _ in range(2))
        return Word(rng.choice(heads), rng.choice(("x", "x:y", "punct")), arc, label)

    def parse(lowest_head: int) -> Parse:
        return [[word(i, size, lowest_head) for i in range(1, size + 1)] for size in sizes]

    return parse(0), [parse(-1) for _ in range(systems)]


def sentences(parse: Parse) -> list[Sentence]:
    """Return the sentences of a parse."""
    result = []
    for words in parse:
        columns = {
            "head": ["_" if word.head < 0 else str(word.head) for word in words],
            "deprel": [word.deprel for word in words],
            "misc": [f"{ARC_PROB}={word.arc}|{LABEL_PROB}={word.label}" for word in words],
        }
        result.append(new_sentence(["w"] * len(words), columns))
    return result


def compared_values(word: Word, metric: str, subtypes: str) -> tuple[int, str]:
    """Return what a metric compares: the head and, for LAS, the relation."""
    deprel = word.deprel.split(":")[0] if subtypes == "drop" else word.deprel
    return (word.head, deprel if metric == "LAS" else "")
