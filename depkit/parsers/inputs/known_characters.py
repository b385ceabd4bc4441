"""Words with characters that a model does not know are read with equivalent ones that it knows.

In the output, the words stay as they are.
"""

import unicodedata

from depkit.corpus.equivalents import find_equivalent, is_ignorable
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.vocabulary import Vocabulary

_APOSTROPHES = ("'", "’")


class KnownCharacters:
    """Replaces unknown characters of words; vocabulary: that of the model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words.indices
        self._characters = vocabulary.characters.indices
        self._plain = self._characters.keys() - set(_APOSTROPHES)

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model reads it: unchanged if it knows all characters."""
        text = "".join(sentence.form)
        if self._plain >= set(text) and unicodedata.is_normalized("NFC", text):
            return sentence
        words = list(map(self.respell, sentence.form))
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def respell(self, word: str) -> str:
        """Return a word with characters that the model knows, as far as there are equivalents."""
        if self._is_known(word):
            return word
        composed = min(word, unicodedata.normalize("NFC", word), key=len)
        spelling = "".join(map(self._read, composed)) or word
        with_others = [spelling.replace(*pair) for pair in (_APOSTROPHES, _APOSTROPHES[::-1])]
        return next(filter(self._is_known, [spelling, *with_others]), spelling)

    def _is_known(self, word: str) -> bool:
        return word in self._words or word.lower() in self._words

    def _read(self, character: str) -> str:
        if character in self._characters:
            return character
        equivalent = find_equivalent(character, self._characters.__contains__)
        return equivalent or ("" if is_ignorable(character) else character)
