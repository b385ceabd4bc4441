"""A table of the multiword tokens of a treebank, and of the words that form new ones.

Some multiword tokens are concatenations of their words (`don't`: do, n't), and others are not
(Spanish `del`: de, el). Which splits of tokens that were never seen are possible is learned from
the treebank, too, so that English `Anna` is not split like `gonna`, but Spanish `verlo` can be
split like `decirlo`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import accumulate, chain, pairwise

from depkit.corpus.letter_case import has_dotless_i, lower, upper
from depkit.corpus.text import Token

Words = tuple[str, ...]
Counts = Counter[tuple[str, Words]]  # how often a token occurs with these words, in lower case

Hosts = defaultdict[str, Counter[str]]

MIN_HOSTS = 3  # with fewer hosts, it is unknown whether a word combines with others
# A token is always split if it occurs this often as a multiword token, and if this is so for this
# share of its occurrences: a treebank has some errors. Words such as the French `du`, which is also
# an article, are below it.
MIN_COUNT, MIN_SHARE = 3, 0.98
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
    always: frozenset[str] = frozenset()  # tokens that are split even if the network does not
    dotless: bool = False  # whether the alphabet has a dotless i, see `letter_case`

    def words(self, token: str) -> Words | None:
        """Look up the words of a token, in the case of the token; None if they are unknown."""
        if known := self._find(token):
            return known
        low = lower(token, self.dotless)
        for start in range(1, len(token)):  # the longest ending first
            ending = low[start:]
            if ending in self.endings:
                first, *others = self.endings[ending]
                return self._copy_spelling(token, (token[:start] + first, *others))
        return None

    def check(self, token: str, words: Words) -> Words | None:
        """Return the words of a token that was split into `words`; None if it is a single word.

        The split is made if it is known, or if all words but one are known to combine with unknown
        words. Otherwise the token is split as in the treebank, if it was seen there.
        """
        if self.before is None or self.after is None:
            return words
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
        straight = low.translate(_APOSTROPHES)
        for tokens in sentences:
            before = ""
            for i, (start, end, words) in enumerate(tokens):
                token = text[start:end]
                if words is None and not self.always.isdisjoint(
                    (low[start:end], straight[start:end])
                ):
                    words = self._find(token)
                    if words and ("".join(words) == token or not _is_capitalized(token, before)):
                        tokens[i] = (start, end, words)
                before = token

    def _find(self, token: str) -> Words | None:
        """Return the words of a token that is in the table, with the letters of the token."""
        fold, keys = self._fold, [lower(token, self.dotless)]
        if self.before is not None:
            keys.append(fold(token))
        for key in keys:
            if key in self.tokens:
                words = self.tokens[key]
                if sum(map(len, words)) == len(token) and fold("".join(words)) == fold(token):
                    return _cut(token, words)
                return self._copy_spelling(token, words)
        return None

    def _fold(self, text: str) -> str:
        """Return a text in lower case, with straight apostrophes."""
        return lower(text, self.dotless).translate(_APOSTROPHES)

    def _copy_spelling(self, token: str, words: Words) -> Words:
        """Return the words of a token with its capital letters and its kind of apostrophe."""
        apostrophes = {character for character in token if character.translate(_APOSTROPHES) == "'"}
        if len(apostrophes) == 1:
            (apostrophe,) = apostrophes
            words = tuple(word.replace("'", apostrophe) for word in words)
        if token.isupper() and len(token) > 1:
            return tuple(upper(word, self.dotless) for word in words)
        if token[:1].isupper():
            return (upper(words[0][:1], self.dotless) + words[0][1:], *words[1:])
        return words


def build_multiword_table(
    tokens: Iterable[tuple[str, Words]], others: Iterable[tuple[str, Words]] = ()
) -> MultiwordTable:
    """Build the table from the tokens of a treebank and their words.

    For each token and each ending, the table has the most frequent words. An ending that is
    restricted to few tokens, such as `u` in French `du` and `au`, is not in the table. Tokens whose
    words exceed the limits or do not fit the token are left out, and so are abbreviations. The
    contractions of contractions.txt that the treebank lacks are added.

    Args:
        tokens: The tokens of the treebank as which text is split.
        others: The tokens of other treebanks, which may split other tokens. Where the first
            treebank has a token MIN_COUNT times, or as a contraction that is no concatenation of
            its words, its words are kept, and other words for this token are ignored.
    """
    groups = [Counter(tokens), Counter(others)]
    dotless = has_dotless_i(token for token, _ in chain.from_iterable(groups))
    counts, other_counts = (_lower_case(group, dotless) for group in groups)
    first = {
        token for (token, words), n in counts.items() if n >= MIN_COUNT or "".join(words) != token
    }
    counts.update(
        {key: n for key, n in other_counts.items() if key in counts or key[0] not in first}
    )
    counts.update(_find_missing_contractions(counts))
    misfits = _find_misfits(counts)
    single = [token for token, words in counts if len(words) == 1]
    known: dict[str, Counter[Words]] = defaultdict(Counter)
    endings: dict[str, Counter[Words]] = defaultdict(Counter)
    # For each ending, and each word before or after others: how often it occurs with which host
    ending_hosts: Hosts = defaultdict(Counter)
    hosts_after: Hosts = defaultdict(Counter)
    hosts_before: Hosts = defaultdict(Counter)
    for (token, words), count in counts.items():
        if len(words) == 1 or not is_short(words) or (token, words) in misfits:
            continue
        if token.endswith(".") and "".join(words) != token:
            continue  # An abbreviation, such as `z.` in `z. T.` with the words `zu` and `dem`
        known[token][words] += count
        if "".join(words) == token:
            for i in range(1, len(words)):
                hosts_after[words[i - 1]][" ".join(words[i:])] += count
                hosts_before[words[i]][" ".join(words[:i])] += count
        host, *following = words
        shared = _count_shared(token, host)
        if 0 < shared < len(token):
            endings[token[shared:]][(host[shared:], *following)] += count
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
        frozenset(_find_always_split(known, counts)),
        dotless,
    )


def _lower_case(tokens: Counts, dotless: bool) -> Counts:
    result: Counts = Counter()
    for (token, words), count in tokens.items():
        result[lower(token, dotless), tuple(lower(word, dotless) for word in words)] += count
    return result


def _find_always_split(known: dict[str, Counter[Words]], counts: Counts) -> Iterator[str]:
    """Yield the multiword tokens that should be split wherever they occur.

    A rare token is one of them if it is never a single word and seems to be of a closed class: it
    is no concatenation of its words, such as the German `fürs`, or its words are in many other
    tokens, too, such as those of the Italian `sugli`.

    Args:
        known: How often the multiword tokens occur with which words.
        counts: How often any tokens occur with which words.
    """
    all_words = {token: _most_frequent(words) for token, words in known.items()}
    num_tokens = Counter((i > 0, x) for words in all_words.values() for i, x in enumerate(words))
    for token, words in all_words.items():
        num_split, num_single = known[token].total(), counts[token, (token,)]
        if num_split >= MIN_COUNT:
            is_always_split = num_split >= MIN_SHARE * (num_split + num_single)
        else:
            is_always_split = not num_single and (
                "".join(words) != token
                or all(num_tokens[i > 0, x] > MIN_HOSTS for i, x in enumerate(words))
            )
        if is_always_split:
            yield token


def _find_missing_contractions(counts: Counts) -> Iterator[tuple[str, Words]]:
    """Yield the contractions of contractions.txt that a treebank lacks, with their words.

    A group is used if the treebank splits at least MIN_HOSTS of its tokens, all as the group does.
    counts: how often tokens occur with which words.
    """
    found: defaultdict[str, Counter[Words]] = defaultdict(Counter)
    for (token, words), count in counts.items():
        found[token][words] += count
    lines = files("depkit.parsers.text").joinpath("contractions.txt").read_text("utf-8")
    for line in lines.splitlines():
        if line.startswith("#"):
            continue
        group = {
            token: tuple(words.split("+"))
            for token, _, words in (entry.partition("=") for entry in line.split())
        }
        seen = [
            _most_frequent(split) == group[token]
            for token in group
            if (split := Counter({w: n for w, n in found[token].items() if len(w) > 1}))
        ]
        if len(seen) >= MIN_HOSTS and all(seen):
            yield from ((token, words) for token, words in group.items() if not found[token])


def _find_misfits(counts: Counts) -> set[tuple[str, Words]]:
    """Find contractions whose words do not fit the token: errors of a treebank.

    An example is the Icelandic `nefndum` with the words `nefnd` and `þúm`. Such a token is rare, is
    no concatenation of its words, and has a word that no other token has. This word is the whole
    token, or it is not the first word and is not contained in the token. Several tokens that differ
    from their words in the same way are not errors, as in Arabic, where the letter alef is left out
    after the word `l`.
    """
    tokens_of: defaultdict[str, set[str]] = defaultdict(set)
    for token, words in counts:
        for word in words:
            tokens_of[word].add(token)
    found: defaultdict[tuple[str, str], set[tuple[str, Words]]] = defaultdict(set)
    for (token, words), count in counts.items():
        joined = "".join(words)
        if (
            len(words) > 1
            and count < MIN_COUNT
            and joined != token
            and any(
                len(tokens_of[word]) == 1 and (word == token or (i and word not in token))
                for i, word in enumerate(words)
            )
        ):
            found[_difference(token, joined)].add((token, words))
    return set(chain.from_iterable(group for group in found.values() if len(group) < MIN_HOSTS))


def _count_shared(text: str, other: str) -> int:
    """Return the length of the prefix that two texts share."""
    pairs = zip(text, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(text), len(other)))


def _difference(text: str, other: str) -> tuple[str, str]:
    """Return what remains of two texts without the prefix and the suffix that they share."""
    start = _count_shared(text, other)
    end = _count_shared(text[start:][::-1], other[start:][::-1])
    return text[start : len(text) - end], other[start : len(other) - end]


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


def _cut(token: str, words: Words) -> Words:
    ends = [0, *accumulate(map(len, words))]
    return tuple(token[start:end] for start, end in pairwise(ends))


def _is_capitalized(token: str, before: str) -> bool:
    """Return whether a token has a capital letter although the word before it is not in capitals.

    before: the token before it in the sentence, or "".
    """
    is_in_capitals = token.isupper() and before.isupper()
    return token[:1].isupper() and before[-1:].isalnum() and not is_in_capitals
