"""The table of multiword tokens that is built from treebanks."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product

from depkit.corpus.letter_case import has_dotless_i, lower
from depkit.parsers.text.multiword import (
    MultiwordTable,
    Words,
    is_short,
    straighten,
)
from depkit.training.word_lists import read_word_list

Counts = Counter[tuple[str, Words]]  # how often a token occurs with these words, in lower case

Hosts = defaultdict[str, Counter[str]]

MIN_HOSTS = 3  # with fewer hosts, it is unknown whether a word combines with others
# A token is always split if it occurs this often as a multiword token, and if this is so for this
# share of its occurrences: a treebank has some errors. Words such as the French `du`, which is also
# an article, are below it.
MIN_COUNT, MIN_SHARE = 3, 0.98


def build_multiword_table(
    tokens: Iterable[tuple[str, Words]],
    others: Iterable[tuple[str, Words]] = (),
    misspelled: Iterable[tuple[str, Words]] = (),
) -> MultiwordTable:
    """Build the table from the tokens of a treebank and their words.

    For each token and each ending, the table has the most frequent words. An ending that is
    restricted to few tokens, such as `u` in French `du` and `au`, is not in the table. An ending
    whose words have other letters than the token is also left out if most tokens with this ending
    are split in another way: Portuguese `ver` + `lo` for `vê-lo` if the treebank mostly has `vê` +
    `lo`. Tokens whose words exceed the limits or do not fit the token are left out, and so are
    abbreviations. The contractions of contractions.txt that the treebank never has as single words
    are added, and always split. `never` has the tokens that begin or end like multiword tokens, but
    are only single words in the first treebank; one occurrence is enough. Those that end with a
    word with an apostrophe are left out, as the plural `Monday's`, which is more often a
    possessive.

    Args:
        tokens: The tokens of the treebank as which text is split.
        others: The tokens of other treebanks, which may split other tokens. Where the first
            treebank has a token MIN_COUNT times, or as a contraction that is no concatenation of
            its words, its words are kept, and other words for this token are ignored.
        misspelled: Those of the tokens that are spelled wrongly, such as `its` instead of `it's`.
            Nothing is learned from them about other tokens, so that `cats` is not split because of
            `its`. They are left out if they are single words more often.
    """
    groups = [Counter(tokens), Counter(others)]
    dotless = has_dotless_i(token for token, _ in chain.from_iterable(groups))
    counts, other_counts = (_lower_case(group, dotless) for group in groups)
    first = {
        token for (token, words), n in counts.items() if n >= MIN_COUNT or "".join(words) != token
    }
    own = set(counts)
    own_single = [token for token, words in own if len(words) == 1]
    counts.update(
        {key: n for key, n in other_counts.items() if key in counts or key[0] not in first}
    )
    contractions = dict(_find_contractions(counts))
    counts.update(contractions.items())
    misfits = _find_misfits(counts)
    wrong = _lower_case(Counter(misspelled), dotless)
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
        if (token, words) in wrong:
            if count > counts[token, (token,)]:
                known[token][words] += count
            continue
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
    splits = {ending: _most_frequent(endings[ending]) for ending in sorted(productive_endings)}
    exceptions = _find_exceptions(splits, own, counts)
    before = _productive(hosts_after, single, str.startswith, MIN_HOSTS)
    after = _productive(hosts_before, single, str.endswith, MIN_HOSTS)
    prefixes = tuple(before)
    suffixes = tuple(suffix for suffix in after if "'" not in straighten(suffix))
    return MultiwordTable(
        {token: _most_frequent(words) for token, words in sorted(known.items())},
        {ending: words for ending, words in splits.items() if ending not in exceptions},
        frozenset(map(straighten, before)),
        frozenset(map(straighten, after)),
        always=frozenset(chain(contractions, _find_always_split(known, counts))),
        never=frozenset(
            straighten(token)
            for token in own_single
            if token not in known and (token.startswith(prefixes) or token.endswith(suffixes))
        ),
        dotless=dotless,
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


def _find_contractions(counts: Counts) -> Iterator[tuple[str, Words]]:
    """Yield the contractions of contractions.txt that are no single words in a treebank.

    Each is yielded with its words.

    A group is used if the treebank splits at least MIN_HOSTS of its tokens, all as the group does.
    counts: how often tokens occur with which words.
    """
    found: defaultdict[str, Counter[Words]] = defaultdict(Counter)
    for (token, words), count in counts.items():
        found[token][words] += count
    for entries in read_word_list("contractions.txt"):
        group = dict(chain.from_iterable(map(_expand_entry, entries)))
        seen = [
            _most_frequent(split) == group[token]
            for token in group
            if (split := Counter({w: n for w, n in found[token].items() if len(w) > 1}))
        ]
        if len(seen) >= MIN_HOSTS and all(seen):
            yield from (
                (token, words) for token, words in group.items() if not found[token][token,]
            )


def _expand_entry(entry: str) -> Iterator[tuple[str, Words]]:
    """Yield the tokens of an entry of contractions.txt with their words, as described there."""
    token, equals, words = entry.partition("=")
    if equals:
        yield token, tuple(words.split("+"))
    else:
        for parts in product(*(choices.split("/") for choices in entry.split("+"))):
            yield "".join(parts), parts


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


def _find_exceptions(
    splits: dict[str, Words], own: Iterable[tuple[str, Words]], tokens: Iterable[tuple[str, Words]]
) -> set[str]:
    """Find endings that are no concatenations of their words, and mostly split otherwise.

    Args:
        splits: The words of each ending, as in `MultiwordTable.endings`.
        own: The different tokens of the first treebank and their words. They decide about the
            endings that they have.
        tokens: Those of all treebanks.
    """
    changed = {ending: words for ending, words in splits.items() if "".join(words) != ending}

    def count_majorities(group: Iterable[tuple[str, Words]]) -> Counter[str]:
        majorities: Counter[str] = Counter()
        for token, words in group:
            for i in range(1, len(token) if len(words) > 1 else 0):
                if split := changed.get(token[i:]):
                    is_same = words == (token[:i] + split[0], *split[1:])
                    majorities[token[i:]] += 1 if is_same else -1
        return majorities

    majorities = count_majorities(tokens) | dict(count_majorities(own))
    return {ending for ending, majority in majorities.items() if majority < 0}


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


def _most_frequent(counts: Counter[Words]) -> Words:
    return min(counts, key=lambda words: (-counts[words], words))
