"""Warnings about text that a model was not trained for, judged by its first sentences."""

import re
from collections.abc import Iterator, Sequence

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser

NUM_CHECKED = 200  # sentences
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?>|<!|&(?:nbsp|amp|lt|gt|quot|#\d+);")


def find_input_warnings(parser: Parser, sentences: Sequence[Sentence]) -> Iterator[str]:
    """Yield a warning for each reason why the model may parse these sentences badly.

    There is a warning if most letters are unknown to the model, and one if the text contains HTML
    markup at least three times and at least once in four sentences. Letters are not checked for a
    model that reads a transformer, which knows more letters.
    """
    texts = [sentence.text or " ".join(sentence.form) for sentence in sentences]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    known = parser.vocabulary.characters.indices
    num_unknown = sum(not (letter in known or letter.lower() in known) for letter in letters)
    if 2 * num_unknown > len(letters) and parser.config.inputs.context.source != "transformer":
        yield (
            f"{100 * num_unknown / len(letters):.0f}% of the text's letters are unknown to the"
            " model, which was trained on another script; expect poor predictions"
        )
    if sum(len(_MARKUP.findall(text)) for text in texts) >= max(3, len(texts) / 4):
        file = next(
            sentence.file
            for sentence, text in zip(sentences, texts, strict=True)
            if _MARKUP.search(text)
        )
        yield (
            f"{file}: the text looks like HTML; the model parses markup as if it were words, so"
            " remove it first"
        )
