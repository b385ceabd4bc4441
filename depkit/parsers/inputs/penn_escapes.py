r"""Words in the escapes of the Penn Treebank, which a model that was trained on text does not know.

Files of tokens and trees often write `-LRB-` for a bracket, ` `` ` for a quotation mark and `1\/2`
for 1/2. A model reads such a word as the plain one if it knows only the plain one. In the output,
the word stays as it is.
"""

import re
from collections.abc import Container

from depkit.corpus.penn import QUOTATION_MARKS, unescape_brackets
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.vocabulary import Vocabulary

_SLASH = re.compile(r"\\([/*])")  # the other escape of the Penn Treebank is \* for *
_BRACKETS = (*"()", *"[]", *"{}")


class PennEscapes:
    """The escapes that a model does not know, although it knows the plain words.

    vocabulary: the vocabulary of the model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        words: Container[str] = vocabulary.words.indices
        characters = vocabulary.characters.indices
        knows_escapes = any(f"-{name}-" in words for name in ("LRB", "lrb", "RRB", "rrb"))
        self.brackets = not knows_escapes and any(bracket in words for bracket in _BRACKETS)
        self.quotes = {
            escape: mark
            for escape, mark in QUOTATION_MARKS.items()
            if mark in words and escape not in words
        }
        has_slashes = any(_SLASH.search(word) for word in vocabulary.words.symbols)
        self.slashes = "/" in characters and not has_slashes

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model reads it: unchanged if no word has an unknown escape."""
        text = "".join(sentence.form)
        if not ("RB-" in text or "SB-" in text or "CB-" in text or "`" in text or "''" in text
                or "\\" in text or "B=" in text or "rb-" in text or "sb-" in text):  # fmt: skip
            return sentence
        words = list(map(self.undo, sentence.form))
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def undo(self, word: str) -> str:
        """Return the plain word for a word in an escape that the model does not know."""
        if word in self.quotes:
            return self.quotes[word]
        if self.brackets:
            escape = word.upper() if len(word) == 5 else word  # -lrb- in texts in lower case
            plain = unescape_brackets(escape)
            word = plain if plain != escape else word
        return _SLASH.sub(r"\1", word) if self.slashes and "\\" in word else word
