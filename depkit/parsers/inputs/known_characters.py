"""Words with characters that a model does not know are read with equivalent ones that it knows.

In the output, the words stay as they are. Their predicted lemmas have the characters that the model
knows.
"""

import re

from depkit.corpus.equivalents import compose, find_equivalent, is_ignorable
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.vocabulary import Vocabulary

_APOSTROPHES = ("'", "’")
_INNER = re.compile(r"(?<=[^\W\d_])['’ʼ`](?=[^\W\d_])")
_MIN_WORDS = 3  # with an apostrophe between letters
# A soft hyphen, spaces without width, and a byte order mark, which never change the meaning
_INVISIBLE = dict.fromkeys(map(ord, "\xad\u200b\u2060\ufeff"))


class KnownCharacters:
    """Replaces unknown characters of words; vocabulary: that of the model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words.indices
        self._characters = vocabulary.characters.indices
        self._plain = self._characters.keys() - {*_APOSTROPHES, *map(chr, _INVISIBLE)}
        self._inner_apostrophe = find_inner_apostrophe(vocabulary)

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model reads it: unchanged if it knows all characters."""
        if self._plain >= set("".join(sentence.form)):
            return sentence
        known = self._plain.issuperset
        words = [word if known(word) else self.respell(word) for word in sentence.form]
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def respell(self, word: str) -> str:
        """Return a word with characters that the model knows, as far as there are equivalents."""
        word = self._replace_inner_apostrophes(word)
        if self._is_known(word):
            return word
        composed = self._compose(word.translate(_INVISIBLE))
        read = "".join(map(self._read, composed)) or word
        spelling = self._replace_inner_apostrophes(read)
        with_others = [spelling.replace(*pair) for pair in (_APOSTROPHES, _APOSTROPHES[::-1])]
        return next(filter(self._is_known, [spelling, *with_others]), spelling)

    def _replace_inner_apostrophes(self, word: str) -> str:
        return _INNER.sub(self._inner_apostrophe, word) if self._inner_apostrophe else word

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


def find_inner_apostrophe(vocabulary: Vocabulary) -> str:
    """Return the only apostrophe that the words of the treebank have between letters, else "".

    The words are those of the dictionary of lemmas, because the other tables of a student also have
    words of text without gold lemmas.
    """
    words = "\n".join(vocabulary.lemmas.forms) if vocabulary.lemmas else ""
    found = _INNER.findall(words)
    return found[0] if len(found) >= _MIN_WORDS and len(set(found)) == 1 else ""
