"""Random gold trees and parses of them with random probabilities, and what naive loops see."""

import random
from typing import NamedTuple

from depkit.corpus.probabilities import ARC, LABEL
from depkit.corpus.sentence import Sentence, new_sentence


class Word(NamedTuple):
    """A word as it is parsed."""

    head: int
    deprel: str
    arc: float = 1.0
    label: float = 1.0


Parse = list[list[Word]]


def random_parses(seed: int, systems: int) -> tuple[Parse, list[Parse]]:
    """Gold words and those of systems, sentence by sentence; some have no head as parsed."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(1, 8))]

    def word(number: int, size: int, least: int) -> Word:
        heads = [head for head in range(least, size + 1) if head != number]
        places = rng.choice((1, 4))  # with one decimal, confidences are often between two bins
        arc, label = (round(rng.random(), places) for _ in range(2))
        return Word(rng.choice(heads), rng.choice(("x", "x:y", "punct")), arc, label)

    def parse(least: int) -> Parse:
        return [[word(i, size, least) for i in range(1, size + 1)] for size in sizes]

    return parse(0), [parse(-1) for _ in range(systems)]


def sentences(parse: Parse) -> list[Sentence]:
    """The parse as depkit would have read it."""
    found = []
    for words in parse:
        columns = {
            "head": ["_" if word.head < 0 else str(word.head) for word in words],
            "deprel": [word.deprel for word in words],
            "misc": [f"{ARC}={word.arc}|{LABEL}={word.label}" for word in words],
        }
        found.append(new_sentence(["w"] * len(words), columns))
    return found


def answer(word: Word, metric: str, subtypes: str) -> tuple[int, str]:
    """What a metric compares of a word."""
    deprel = word.deprel.split(":")[0] if subtypes == "drop" else word.deprel
    return (word.head, deprel if metric == "LAS" else "")
