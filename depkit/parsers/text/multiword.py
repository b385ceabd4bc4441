"""A table of multiword tokens whose words are not parts of their form (Spanish `del`: de, el)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Words = tuple[str, ...]


@dataclass(frozen=True)
class MultiwordTable:
    """The words of multiword tokens, in lower case."""

    tokens: dict[str, Words] = field(default_factory=dict)  # the words of known tokens
    # The words of tokens with an ending: `rlo: (r, lo)` means that the words of `verlo` are `ver`
    # and `lo`.
    endings: dict[str, Words] = field(default_factory=dict)

    def words(self, token: str) -> Words | None:
        """Look up the words of a token, in the case of the token; None if they are unknown."""
        lower = token.lower()
        if lower in self.tokens:
            return _copy_case(token, self.tokens[lower])
        for start in range(1, len(token)):  # the longest ending first
            ending = lower[start:]
            if ending in self.endings:
                first, *others = self.endings[ending]
                return _copy_case(token, (lower[:start] + first, *others))
        return None


def build_multiword_table(tokens: Iterable[tuple[str, Words]]) -> MultiwordTable:
    """Build the table from the multiword tokens of a treebank and their words.

    For each token and each ending, the table has the most frequent words.
    """
    known: dict[str, Counter[Words]] = defaultdict(Counter)
    endings: dict[str, Counter[Words]] = defaultdict(Counter)
    for token, words in tokens:
        lower = token.lower()
        first, *others = (word.lower() for word in words)
        known[lower][(first, *others)] += 1
        shared = 0  # the length of the prefix that the token and its first word share
        while shared < min(len(lower), len(first)) and lower[shared] == first[shared]:
            shared += 1
        if 0 < shared < len(lower):
            endings[lower[shared:]][(first[shared:], *others)] += 1
    return MultiwordTable(
        {lower: _most_frequent(counts) for lower, counts in sorted(known.items())},
        {ending: _most_frequent(counts) for ending, counts in sorted(endings.items())},
    )


def _most_frequent(counts: Counter[Words]) -> Words:
    return min(counts, key=lambda words: (-counts[words], words))


def _copy_case(token: str, words: Words) -> Words:
    if token.isupper() and len(token) > 1:
        return tuple(word.upper() for word in words)
    if token[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words
