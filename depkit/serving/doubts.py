"""What is odd about a text for a model: another script, markup. Its first sentences tell."""

import re
from collections.abc import Iterator, Sequence

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser

FIRST = 200  # sentences that are looked at
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?>|<!|&(?:nbsp|amp|lt|gt|quot|#\d+);")


def doubts(parser: Parser, sentences: Sequence[Sentence]) -> Iterator[str]:
    """Why a model may parse sentences badly, each reason as a note.

    Most letters are outside its alphabet (unless it reads a transformer, which has its own), or
    there is HTML markup, three times at least and once in four sentences.
    """
    texts = [sentence.text or " ".join(sentence.form) for sentence in sentences]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    known = parser.vocabulary.characters.numbers
    strange = sum(not (letter in known or letter.lower() in known) for letter in letters)
    if 2 * strange > len(letters) and parser.config.inputs.context.source != "transformer":
        yield (
            f"{100 * strange / len(letters):.0f}% of the text's letters are unknown to the model,"
            " which was trained on another script; what it predicts will be poor"
        )
    if sum(len(_MARKUP.findall(text)) for text in texts) >= max(3, len(texts) / 4):
        yield "this looks like HTML, whose markup is parsed as if it were words; remove it first"
