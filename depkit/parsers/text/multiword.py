"""Words of multiword tokens that are not simply pieces of the token (Spanish `del`: de, el)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Words = tuple[str, ...]


@dataclass(frozen=True)
class MultiwordTable:
    """whole: words of a token, in lower case; endings: what an ending becomes, the rest kept.

    An ending `rlo: (r, lo)` says that a token `verlo` is `ver`, `lo`.
    """

    whole: dict[str, Words] = field(default_factory=dict)
    endings: dict[str, Words] = field(default_factory=dict)

    def words(self, token: str) -> Words | None:
        """The words of a token, in its case; None if the table knows nothing of it."""
        low = token.lower()
        if low in self.whole:
            return _in_case(token, self.whole[low])
        for cut in range(1, len(token)):  # the longest ending first
            ending = low[cut:]
            if ending in self.endings:
                first, *others = self.endings[ending]
                return _in_case(token, (low[:cut] + first, *others))
        return None


def build_multiword_table(tokens: Iterable[tuple[str, Words]]) -> MultiwordTable:
    """The table of a treebank's multiword tokens, the commonest words of each."""
    whole: dict[str, Counter[Words]] = defaultdict(Counter)
    endings: dict[str, Counter[Words]] = defaultdict(Counter)
    for token, words in tokens:
        low = token.lower()
        first, *others = (word.lower() for word in words)
        whole[low][(first, *others)] += 1
        shared = 0
        while shared < min(len(low), len(first)) and low[shared] == first[shared]:
            shared += 1
        if 0 < shared < len(low):
            endings[low[shared:]][(first[shared:], *others)] += 1
    return MultiwordTable(
        {low: _commonest(counts) for low, counts in sorted(whole.items())},
        {ending: _commonest(counts) for ending, counts in sorted(endings.items())},
    )


def _commonest(counts: Counter[Words]) -> Words:
    return min(counts, key=lambda words: (-counts[words], words))


def _in_case(token: str, words: Words) -> Words:
    if token.isupper() and len(token) > 1:
        return tuple(word.upper() for word in words)
    if token[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words
