"""A table of the multiword tokens of a treebank, and of the words that form new ones.

Some multiword tokens are concatenations of their words (`don't`: do, n't), and others are not
(Spanish `del`: de, el). Which splits of tokens that were never seen are possible is learned from
the treebank, too (see `training.multiwords`), so that English `Anna` is not split like `gonna`, but
Spanish `verlo` can be split like `decirlo`.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

from depkit.corpus.letter_case import lower, upper
from depkit.corpus.text import Token

Words = tuple[str, ...]

_APOSTROPHES = dict.fromkeys("’‘ʼ´`＇", "'")
_PLAIN = str.maketrans(_APOSTROPHES | dict.fromkeys("‐‑\u05be", "-"))
_INVISIBLE = "\u00ad\u200b"  # soft hyphens and zero-width spaces
_WITHOUT_INVISIBLE = str.maketrans(dict.fromkeys(_INVISIBLE))

# The limits of the words of a token, so that a small table does not make a text thousands of times
# as long. Real tokens have fewer than ten words.
MAX_WORDS = 100
MAX_CHARACTERS = 1000  # of all words


@dataclass(frozen=True)
class MultiwordTable:
    """The words of multiword tokens, in lower case."""

    tokens: dict[str, Words] = field(default_factory=dict)  # the words of known tokens
    # The words of tokens with an ending: `rlo: (r, lo)` means that the words of `verlo` are `ver`
    # and `lo`.
    endings: dict[str, Words] = field(default_factory=dict)
    # Words that can come before or after an unknown word in a multiword token that is the
    # concatenation of its words
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()  # tokens that are split even if the network does not
    # Tokens that are not split even if the network does, with straight apostrophes
    never: frozenset[str] = frozenset()
    dotless: bool = False  # whether the alphabet has a dotless i, see `letter_case`

    def words(self, token: str) -> Words | None:
        """Look up the words of a token, in the case of the token; None if they are unknown."""
        if known := self._find(token):
            return known
        if self._fold(token) in self.never:
            return None
        token = _compose(token)
        low = lower(token, self.dotless)
        plain = straighten(low)
        for start in range(1, len(token)):  # the longest ending first
            for ending in (low[start:], plain[start:]):
                if ending in self.endings:
                    first, *others = self.endings[ending]
                    return self._copy_spelling(token, (token[:start] + first, *others))
        return None

    def check(self, token: str, words: Words) -> Words | None:
        """Return the words of a token that was split into `words`; None if it is a single word.

        The split is made if it is known, or if all words but one are known to combine with unknown
        words. Otherwise the token is split as in the treebank, if it was seen there.
        """
        if self._fold(token) in self.never:
            return None
        low = list(map(self._fold, words))
        known = self._find(token)
        if known and list(map(self._fold, known)) == low:
            return words
        num_before = _count_leading(low, self.before)
        num_after = _count_leading(low[::-1], self.after)
        if num_before + num_after + 1 < len(words):
            return known
        # The unknown word can itself be a multiword token, as in would|n't|'ve.
        parts = (
            (key in self.always and self._find(word)) or (word,)
            for key, word in zip(low, words, strict=True)
        )
        return tuple(chain.from_iterable(parts))

    def split_always(self, text: str, sentences: list[list[Token]]) -> None:
        """Split the tokens of a text that nearly always are multiword tokens in the treebank.

        A contraction with a capital letter after another word can be a part of a name, as `Al` in
        `el actor Al Pacino`. Whether it is split is left to the network.
        """
        low = lower(text, self.dotless)
        plain = straighten(low)
        is_simple = unicodedata.is_normalized("NFC", text) and not any(
            x in text for x in _INVISIBLE
        )
        for tokens in sentences:
            before = ""
            for i, (start, end, words) in enumerate(tokens):
                token = text[start:end]
                fold = plain[start:end] if is_simple else self._fold(token)
                if words is None and not self.always.isdisjoint((low[start:end], fold)):
                    words = self._find(token)
                    if words and ("".join(words) == token or not _is_capitalized(token, before)):
                        tokens[i] = (start, end, words)
                before = token

    def _find(self, token: str) -> Words | None:
        """Return the words of a token that is in the table, with the letters of the token."""
        fold = self._fold
        for key in (lower(token, self.dotless), fold(token)):
            if key in self.tokens:
                return self._copy_spelling(token, self.tokens[key])
        return None

    def _fold(self, text: str) -> str:
        """Return a text in lower case, composed, without invisible characters.

        Apostrophes and hyphens are those of ASCII.
        """
        # It is composed first: an I before a combining dot is no dotless i.
        return straighten(lower(_compose(text), self.dotless))

    def _copy_spelling(self, token: str, words: Words) -> Words:
        """Return the words of a token with its capital letters and its kind of apostrophe.

        A token that is the concatenation of its words is cut, so all its characters are kept.
        """
        joined = "".join(words)
        if len(joined) == len(token) and self._fold(joined) == self._fold(token):
            return _cut(token, words)
        apostrophes = {x for x in token if x == "'" or x in _APOSTROPHES}
        if len(apostrophes) == 1:
            (apostrophe,) = apostrophes
            words = tuple(word.replace("'", apostrophe) for word in words)
        if token.isupper() and len(token) > 1:
            return tuple(upper(word, self.dotless) for word in words)
        if token[:1].isupper():
            return (upper(words[0][:1], self.dotless) + words[0][1:], *words[1:])
        return words


def _count_leading(words: Sequence[str], members: frozenset[str]) -> int:
    """Return how many words there are before the first that is not in `members`."""
    return next((i for i, word in enumerate(words) if word not in members), len(words))


def _compose(text: str) -> str:
    """Return a text with composed letters and without invisible characters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text).translate(_WITHOUT_INVISIBLE)


def straighten(text: str) -> str:
    """Return a text with the apostrophe and the hyphen of ASCII instead of others."""
    return text.translate(_PLAIN)


def is_short(words: Words) -> bool:
    """Return whether the words of a token are within the limits."""
    return len(words) <= MAX_WORDS and sum(map(len, words)) <= MAX_CHARACTERS


def _cut(token: str, words: Words) -> Words:
    ends = [0, *accumulate(map(len, words))]
    return tuple(token[start:end] for start, end in pairwise(ends))


def _is_capitalized(token: str, before: str) -> bool:
    """Return whether a token has a capital letter although the word before it is not in capitals.

    before: the token before it in the sentence, or "".
    """
    is_in_capitals = token.isupper() and before.isupper()
    return token[:1].isupper() and before[-1:].isalnum() and not is_in_capitals
