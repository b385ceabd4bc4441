"""The rules and tables of a tokenizer that treebanks do not contradict."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from depkit.corpus.patterns import HYPHENS, MARKS, PATTERNS, find_marks, find_matches
from depkit.corpus.sentence_ends import (
    BEFORE_CAPITALS,
    CONTINUATIONS,
    ENCLOSED,
    ENDS,
    JOINED,
    UNFINISHED,
    find_continuations,
    find_ends,
    is_enclosed,
    is_joined,
    is_unfinished,
)
from depkit.parsers.text.labels import INSIDE, SENTENCE
from depkit.parsers.text.rules import TextRules, fold_word, split_clitic
from depkit.training.passages import Passage, Text, TextToken
from depkit.training.word_lists import read_word_list

# If at least this share of the words that follow a word is capitalised, nouns are, as in German
CAPITALISED_NOUNS = 0.25
MIN_FINAL_WORD = 5  # how often one of the `final_words` of a tokenizer must occur
# The second group is the full stop after the word, if there is one.
_SHORT_WORD = re.compile(r"(?<![\w'’.@/-])([^\W\d_]{2,4})(?!\w)(\.?)")
_INNER_WORD = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+")
MIN_CLITICS = 3  # of a line of clitics.txt


def choose_text_rules(texts: Sequence[tuple[Text, int]], passages: Sequence[Passage]) -> TextRules:
    """Return the rules and tables of a tokenizer for treebanks.

    texts: their paragraphs, each with the index of its treebank. Text is split as in treebank 0.
    passages: the same paragraphs with the labels of their characters.
    """
    tokens = [token for text, _ in texts for token in text]
    return TextRules(
        (*choose_patterns(passages), *choose_sentence_rules(passages)),
        abbreviations=frozenset(choose_abbreviations(tokens)),
        final_words=frozenset(choose_final_words(passages)),
        abbreviated=frozenset(find_abbreviated(token.text for token in tokens)),
        clitics=frozenset(
            choose_clitics(token.text for text, treebank in texts for token in text if not treebank)
        ),
    )


def choose_sentence_rules(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the names of the rules of `corpus.sentence_ends` that treebanks do not contradict.

    At most a tenth of the positions that a rule finds contradict it, and for JOINED, ENCLOSED and
    UNFINISHED at most one in a hundred ends of sentences. Of several treebanks, only the one as
    which text is split counts, except for CONTINUATIONS: most are rare, so all treebanks count. For
    abbreviations, only the first counts, too, because in treebanks of speech, sentences can begin
    with lower-case letters. The rules of BEFORE_CAPITALS and of middle initials are not used where
    nouns are capitalised.
    """
    first = [passage for passage in passages if passage.treebank == 0]
    words = _INNER_WORD.findall("\n".join(passage.text for passage in first))
    capitals = sum(word[0].isupper() for word in words)
    has_capitals = capitals >= CAPITALISED_NOUNS * max(len(words), 100)
    excluded = BEFORE_CAPITALS | {"middle initials"} if has_capitals else frozenset()
    rules = {name: (find_continuations, n) for name, n in CONTINUATIONS.items()}
    rules |= dict.fromkeys(ENDS, (find_ends, 0))
    for name, (find, min_matches) in rules.items():
        if name in excluded:
            continue
        is_end = [
            passage.ends[offset] == SENTENCE
            for passage in (first if name in ENDS or name == "abbreviations" else passages)
            for offset in find(passage.text, [name])
        ]
        num_wrong = sum(end != (name in ENDS) for end in is_end)
        if len(is_end) >= min_matches and 10 * num_wrong <= len(is_end):
            yield name
    ends = [
        (passage.text, offset)
        for passage in first
        for offset in np.flatnonzero(passage.ends[:-1] == SENTENCE).tolist()
    ]
    contradictions = {
        JOINED: sum(not text[n + 1].isspace() and is_joined(text, n) for text, n in ends),
        ENCLOSED: sum(is_enclosed(*end) for end in ends),
        UNFINISHED: sum(is_unfinished(*end) for end in ends),
    }
    yield from (name for name, number in contradictions.items() if 100 * number <= len(ends))


def choose_final_words(passages: Iterable[Passage]) -> set[str]:
    """Return the words of two to four letters that are no abbreviations and can end a sentence.

    They are in lower case, and the last word before a full stop of some sentence. Left out are
    words that, in lower or upper case, form one token with a full stop, or precede a full stop and
    white space inside a sentence, and those of abbreviations.txt. A tokenizer is least certain of
    sentence ends after short words, because many abbreviations are as short.
    """
    counts, final, abbreviated = Counter[str](), set[str](), set[str]()
    for passage in passages:
        text, ends = passage.text, passage.ends
        for match in _SHORT_WORD.finditer(text):
            word, end = match[1], match.end(1) - 1
            counts[word] += 1
            if not match[2]:
                continue
            if ends[end] == INSIDE:
                abbreviated.add(word.lower())
            elif ends[end + 1] == SENTENCE:
                final.add(word)
            elif text[end + 2 : end + 3].isspace():
                abbreviated.add(word.lower())
    known = final - abbreviated - set(list_abbreviations())
    return {word for word in known if word.islower() and counts[word] >= MIN_FINAL_WORD}


def find_abbreviated(tokens: Iterable[str]) -> set[str]:
    """Return the words of several letters that are tokens together with a full stop.

    They are without the full stop, as `fold_word` returns them.
    """
    words = {fold_word(token[:-1]) for token in tokens if token.endswith(".")}
    return {word for word in words if word.isalpha() and len(word) > 1}


def choose_patterns(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the names of the patterns that a treebank does not contradict, see `corpus.patterns`.

    At most a tenth of the matches in the treebank are other tokens than those of the pattern. Only
    the treebank as which text is split is considered. For a pattern without a match, the matches of
    the pattern that it is `like` count, if there is one. A pattern of MARKS without a match is
    used. A rule on HYPHENS is used if tokens begin or end with at most one in fifty of them.
    """
    passages = [passage for passage in passages if passage.treebank == 0]
    are_wrong = {
        name: [
            any(
                passage.ends[start : stop - 1].any() or (is_end and not passage.ends[stop - 1])
                for start, stop, is_end in spans
            )
            for passage in passages
            for spans in find_matches(passage.text, pattern)
        ]
        for name, pattern in PATTERNS.items()
    }
    for name, pattern in PATTERNS.items():
        matches = are_wrong[name] or are_wrong.get(pattern.like, [])
        if len(matches) >= pattern.min_matches and 10 * sum(matches) <= len(matches):
            yield name
    for name in MARKS:
        are_tokens = [
            passage.ends[mark] and (mark == 0 or passage.ends[mark - 1] or text[mark - 1] == " ")
            for passage in passages
            for text in [passage.text]
            for mark in find_marks(text, [name])
        ]
        if 10 * sum(map(bool, are_tokens)) >= 9 * len(are_tokens):
            yield name
    for (split, joined), hyphen in HYPHENS.items():
        borders = Counter(
            (passage.ends[match.start() - 1] != INSIDE, passage.ends[match.start()] != INSIDE)
            for passage in passages
            for match in hyphen.finditer(passage.text)
        )
        if 50 * (borders[True, False] + borders[False, True]) <= borders.total():
            yield joined if borders[False, False] > borders[True, True] else split


def list_abbreviations() -> set[str]:
    """Return the words of abbreviations.txt."""
    return set(chain.from_iterable(read_word_list("abbreviations.txt")))


def choose_abbreviations(tokens: Iterable[TextToken]) -> list[str]:
    """Return the abbreviations that a treebank's language may have, without the full stop.

    They are those of abbreviations.txt that consist of letters of the treebank and do not occur
    there, or occur more often with a full stop than without one. A full stop that is a token at the
    end of a sentence does not count.
    """
    letters: set[str] = set()
    counts: Counter[str] = Counter()  # how much more often it is an abbreviation than a word
    for token, following in pairwise([*tokens, TextToken("", (), has_space=False)]):
        word = token.text.lower()
        letters.update(word)
        has_full_stop = following.text == "." and not (token.has_space or following.ends_sentence)
        counts[word.removesuffix(".")] += 1 if has_full_stop or word.endswith(".") else -1
    return sorted(
        word
        for word in list_abbreviations()
        if letters >= {*word} and (counts[word] > 0 or word not in counts)
    )


def choose_clitics(tokens: Iterable[str]) -> set[str]:
    """Return the words of the lines of clitics.txt of which a treebank has MIN_CLITICS clitics.

    tokens: those of the treebank.
    """
    known = {token.lower() for token in tokens}
    chosen: set[str] = set()
    for words in read_word_list("clitics.txt"):
        clitics = {clitic for _, clitic in map(split_clitic, words)}
        if len(clitics & known) >= MIN_CLITICS:
            chosen.update(words)
    return chosen
