"""Words with characters that a model does not know are read with equivalent ones that it knows.

In the output, the words stay as they are. Their predicted lemmas have the characters that the model
knows.
"""

from depkit.corpus.equivalents import compose, find_equivalent, is_ignorable
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.vocabulary import Vocabulary

_APOSTROPHES = ("'", "’")
# A soft hyphen, spaces without width, and a byte order mark, which never change the meaning
_INVISIBLE = dict.fromkeys(map(ord, "\xad\u200b\u2060\ufeff"))


class KnownCharacters:
    """Replaces unknown characters of words; vocabulary: that of the model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words.indices
        self._characters = vocabulary.characters.indices
        self._plain = self._characters.keys() - {*_APOSTROPHES, *map(chr, _INVISIBLE)}

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model reads it: unchanged if it knows all characters."""
        if self._plain >= set("".join(sentence.form)):
            return sentence
        words = list(map(self.respell, sentence.form))
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def respell(self, word: str) -> str:
        """Return a word with characters that the model knows, as far as there are equivalents."""
        if self._is_known(word):
            return word
        composed = self._compose(word.translate(_INVISIBLE))
        spelling = "".join(map(self._read, composed)) or word
        with_others = [spelling.replace(*pair) for pair in (_APOSTROPHES, _APOSTROPHES[::-1])]
        return next(filter(self._is_known, [spelling, *with_others]), spelling)

    def _is_known(self, word: str) -> bool:
        return word in self._words or word.lower() in self._words

    def _compose(self, word: str) -> str:
        """Compose the decomposed characters of which the model does not know all parts."""
        parts, last = [], 0
        for start, end, composed in compose(word):
            if not self._characters.keys() >= set(word[start:end]):
                parts += [word[last:start], composed]
                last = end
        return "".join([*parts, word[last:]])

    def _read(self, character: str) -> str:
        if character in self._characters:
            return character
        equivalent = find_equivalent(character, self._characters.__contains__)
        return equivalent or ("" if is_ignorable(character) else character)
