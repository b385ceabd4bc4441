"""A table of the multiword tokens of a treebank, and of the words that form new ones.

Some multiword tokens are concatenations of their words (`don't`: do, n't), and others are not
(Spanish `del`: de, el). Which splits of tokens that were never seen are possible is learned from
the treebank, too, so that English `Anna` is not split like `gonna`, but Spanish `verlo` can be
split like `decirlo`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

from depkit.corpus.text import Token

Words = tuple[str, ...]

Hosts = defaultdict[str, Counter[str]]

MIN_HOSTS = 3  # with fewer hosts, it is unknown whether a word combines with others
MIN_COUNT = 3  # of a token that is split wherever it occurs
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´`＇", "'"))

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
    # concatenation of its words. None if they were not learned: any split is then accepted.
    before: frozenset[str] | None = None
    after: frozenset[str] | None = None
    always: frozenset[str] = frozenset()  # frequent tokens that were never single words

    def words(self, token: str) -> Words | None:
        """Look up the words of a token, in the case of the token; None if they are unknown."""
        if known := self._find(token):
            return known
        lower = token.lower()
        if len(lower) != len(token):  # such as the Turkish İ, which becomes two characters
            return None
        for start in range(1, len(token)):  # the longest ending first
            ending = lower[start:]
            if ending in self.endings:
                first, *others = self.endings[ending]
                return _copy_case(token, (lower[:start] + first, *others))
        return None

    def check(self, token: str, words: Words) -> Words | None:
        """Return the words of a token that was split into `words`; None if it is a single word.

        The split is made if it is known, or if all words but one are known to combine with unknown
        words. Otherwise the token is split as in the treebank, if it was seen there.
        """
        if self.before is None or self.after is None:
            return words
        lower = [_fold(word) for word in words]
        known = self._find(token)
        if known and [_fold(word) for word in known] == lower:
            return words
        num_before = _count_leading(lower, self.before)
        num_after = _count_leading(lower[::-1], self.after)
        if num_before + num_after + 1 < len(words):
            return known
        # The unknown word can itself be a multiword token, as in would|n't|'ve.
        parts = ((_fold(word) in self.always and self._find(word)) or (word,) for word in words)
        return tuple(chain.from_iterable(parts))

    def split_always(self, text: str, sentences: list[list[Token]]) -> None:
        """Split the tokens of a text that are split wherever they occur in the treebank."""
        lower = text.lower().replace("’", "'")
        if len(lower) != len(text):
            return
        for tokens in sentences:
            for i, (start, end, words) in enumerate(tokens):
                if words is None and lower[start:end] in self.always:
                    tokens[i] = (start, end, self._find(text[start:end]))

    def _find(self, token: str) -> Words | None:
        """Return the words of a token that is in the table, with the letters of the token."""
        keys = [token.lower()] if self.before is None else [token.lower(), _fold(token)]
        for key in keys:
            if key in self.tokens:
                words = self.tokens[key]
                if sum(map(len, words)) == len(token) and _fold("".join(words)) == _fold(token):
                    return _cut(token, words)
                return _copy_case(token, words)
        return None


def build_multiword_table(tokens: Iterable[tuple[str, Words]]) -> MultiwordTable:
    """Build the table from the tokens of a treebank and their words.

    For each token and each ending, the table has the most frequent words. An ending that is
    restricted to few tokens, such as `u` in French `du` and `au`, is not in the table. Tokens whose
    words exceed the limits are left out.
    """
    counts = Counter((token.lower(), tuple(map(str.lower, words))) for token, words in tokens)
    single = [token for token, words in counts if len(words) == 1]
    known: dict[str, Counter[Words]] = defaultdict(Counter)
    endings: dict[str, Counter[Words]] = defaultdict(Counter)
    # For each ending, and each word before or after others: how often it occurs with which host
    ending_hosts: Hosts = defaultdict(Counter)
    hosts_after: Hosts = defaultdict(Counter)
    hosts_before: Hosts = defaultdict(Counter)
    for (token, words), count in counts.items():
        if len(words) == 1 or not is_short(words):
            continue
        known[token][words] += count
        if "".join(words) == token:
            for i in range(1, len(words)):
                hosts_after[words[i - 1]][" ".join(words[i:])] += count
                hosts_before[words[i]][" ".join(words[:i])] += count
        first, *others = words
        shared = 0  # the length of the prefix that the token and its first word share
        while shared < min(len(token), len(first)) and token[shared] == first[shared]:
            shared += 1
        if 0 < shared < len(token):
            endings[token[shared:]][(first[shared:], *others)] += count
            ending_hosts[token[shared:]][token[:shared]] += count
    if not known:
        return MultiwordTable()
    # An ending is looked up only where the network says so, and one example is enough for it.
    productive_endings = _productive(ending_hosts, single, str.endswith, 1)
    return MultiwordTable(
        {token: _most_frequent(words) for token, words in sorted(known.items())},
        {ending: _most_frequent(endings[ending]) for ending in sorted(productive_endings)},
        _productive(hosts_after, single, str.startswith, MIN_HOSTS),
        _productive(hosts_before, single, str.endswith, MIN_HOSTS),
        frozenset(
            token
            for token, words in known.items()
            if words.total() >= MIN_COUNT and (token, (token,)) not in counts
        ),
    )


def _productive(
    hosts: Hosts, single: Sequence[str], has_affix: Callable[[str, str], bool], min_hosts: int
) -> frozenset[str]:
    """Return the affixes that can be expected with hosts that they were not seen with.

    An affix is productive if many of its hosts were seen only once with it: at least the square
    root of its number of occurrences (see Baayen 1992 on such counts as a measure of
    productivity), and at least `min_hosts`. It is also productive if it has MIN_HOSTS hosts, and
    at least half of the different tokens with these letters are multiword tokens.

    Args:
        hosts: How often each affix occurs with each host.
        single: The different tokens that are not multiword tokens.
        has_affix: Whether a token (the first argument) has an affix (the second).
        min_hosts: The minimum number of hosts that were seen once.
    """
    result = set()
    for affix, counts in hosts.items():
        once = sum(count == 1 for count in counts.values())
        if once >= max(min_hosts, math.sqrt(counts.total())) or (
            len(counts) >= MIN_HOSTS
            and len(counts) >= sum(has_affix(token, affix) and token != affix for token in single)
        ):
            result.add(affix)
    return frozenset(result)


def _count_leading(words: Sequence[str], members: frozenset[str]) -> int:
    """Return how many words there are before the first that is not in `members`."""
    return next((i for i, word in enumerate(words) if word not in members), len(words))


def is_short(words: Words) -> bool:
    """Return whether the words of a token are within the limits."""
    return len(words) <= MAX_WORDS and sum(map(len, words)) <= MAX_CHARACTERS


def _most_frequent(counts: Counter[Words]) -> Words:
    return min(counts, key=lambda words: (-counts[words], words))


def _fold(text: str) -> str:
    """Return a text in lower case, with straight apostrophes, in which each character is kept."""
    lower = (char.lower() for char in text.translate(_APOSTROPHES))
    return "".join(char if len(char) == 1 else char[0] for char in lower)


def _cut(token: str, words: Words) -> Words:
    ends = [0, *accumulate(map(len, words))]
    return tuple(token[start:end] for start, end in pairwise(ends))


def _copy_case(token: str, words: Words) -> Words:
    if token.isupper() and len(token) > 1:
        return tuple(word.upper() for word in words)
    if token[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words
