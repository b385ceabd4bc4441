"""Warnings about text that a model was not made for, judged by its first sentences."""

import re
from collections.abc import Iterator, Sequence

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser

FIRST = 200  # sentences that are looked at
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?>|<!|&(?:nbsp|amp|lt|gt|quot|#\d+);")


def doubts(parser: Parser, sentences: Sequence[Sentence]) -> Iterator[str]:
    """A warning for each reason why the model may parse these sentences badly.

    There are two reasons: most letters are unknown to the model (not checked if it reads a
    transformer, which knows other letters); or there is HTML markup, at least three times, and at
    least once in four sentences.
    """
    texts = [sentence.text or " ".join(sentence.form) for sentence in sentences]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    known = parser.vocabulary.characters.numbers
    strange = sum(not (letter in known or letter.lower() in known) for letter in letters)
    if 2 * strange > len(letters) and parser.config.inputs.context.source != "transformer":
        yield (
            f"{100 * strange / len(letters):.0f}% of the text's letters are unknown to the model,"
            " which was trained on another script; expect poor predictions"
        )
    if sum(len(_MARKUP.findall(text)) for text in texts) >= max(3, len(texts) / 4):
        yield "this looks like HTML; its markup is parsed as if it were words, so remove it first"
