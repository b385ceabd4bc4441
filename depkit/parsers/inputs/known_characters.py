"""Words with characters that a model does not know are read with equivalent ones that it knows.

In the output, the words stay as they are. Their predicted lemmas have the characters that the model
knows.
"""

import re
from collections import Counter

from depkit.corpus.equivalents import compose, find_equivalent, is_ignorable
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.vocabulary import Vocabulary

_APOSTROPHES = ("'", "’")
_AT_LETTER = re.compile(r"(?<=[^\W\d_])['’ʼ`]|['’ʼ`](?=[^\W\d_])")
_MIN_WORDS = 3  # with an apostrophe at a letter
_SHARE = 0.9  # of the words with an apostrophe at a letter that have the most frequent one
_YO = str.maketrans("ёЁ", "еЕ")  # Russian texts often have `е` for `ё`.
# A soft hyphen, spaces without width, and a byte order mark, which never change the meaning
_INVISIBLE = dict.fromkeys(map(ord, "\xad\u200b\u2060\ufeff"))


class KnownCharacters:
    """Replaces unknown characters of words; vocabulary: that of the model."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words.indices
        self._forms = vocabulary.lemmas.forms if vocabulary.lemmas else {}
        self._characters = vocabulary.characters.indices
        not_plain = {"-", *_APOSTROPHES, *map(chr, _INVISIBLE), *map(chr, _YO)}
        self._plain = self._characters.keys() - not_plain
        self._apostrophe = find_apostrophe(vocabulary)

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model reads it: unchanged if it knows all characters."""
        if self._plain >= set("".join(sentence.form)):
            return sentence
        known = self._plain.issuperset
        words = [word if known(word) else self.respell(word) for word in sentence.form]
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def respell(self, word: str) -> str:
        """Return a word with characters that the model knows, as far as there are equivalents."""
        word = self._replace_apostrophes(word)
        if self._is_known(word):
            return word
        composed = self._compose(word.translate(_INVISIBLE))
        read = "".join(map(self._read, composed)) or word
        spelling = self._replace_apostrophes(read)
        with_others = [spelling.replace(*pair) for pair in (_APOSTROPHES, _APOSTROPHES[::-1])]
        with_others += [spelling.translate(_YO), spelling.removeprefix("-")]
        return next(filter(self._is_known, [spelling, *with_others]), spelling)

    def _replace_apostrophes(self, word: str) -> str:
        return _AT_LETTER.sub(self._apostrophe, word) if self._apostrophe else word

    def _is_known(self, word: str) -> bool:
        return any(x in table for x in (word, word.lower()) for table in (self._words, self._forms))

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


def find_apostrophe(vocabulary: Vocabulary) -> str:
    """Return the apostrophe that nearly all words of the treebank have at a letter, else "".

    The words are those of the dictionary of lemmas, because the other tables of a student also have
    words of text without gold lemmas.
    """
    found = Counter[str]()
    for form, flat in vocabulary.lemmas.forms.items() if vocabulary.lemmas else ():
        for apostrophe in _AT_LETTER.findall(form):
            found[apostrophe] += sum(flat[2::3])
    del found["`"]  # which is also an accent or a quotation mark
    most = max(found, key=found.__getitem__, default="")
    return most if found[most] >= max(_MIN_WORDS, _SHARE * found.total()) else ""
