"""Rules that correct what the network of a tokenizer predicts where treebanks have few examples.

They are the patterns of `corpus.patterns`, the rules of `corpus.sentence_ends` and tables of words,
as far as the treebanks of the tokenizer do not contradict them; `training.text_rules` chooses them.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from string import digits

import numpy as np

from depkit.corpus.equivalents import is_ignorable
from depkit.corpus.list_items import find_list_items
from depkit.corpus.patterns import HYPHENS, begins_token, find_marks, find_tokens
from depkit.corpus.sentence_ends import (
    MISSING_SPACES,
    find_continuations,
    find_ends,
    lower_word_before,
    move_end,
    word_before,
)
from depkit.parsers.text.labels import INSIDE, SENTENCE, SINGLE, TOKEN, Labels

WINDOW = 30  # characters before a full stop, or after it, in which the nearest word is looked for
_FULL_STOP = re.compile(r"(?<=[\w\u0300-\u036f])\.(?=\s)")  # after a letter, also a decomposed one


@dataclass(frozen=True)
class TextRules:
    """The rules and tables of a tokenizer.

    Attributes:
        patterns: The names of patterns of `corpus.patterns` and rules of `corpus.sentence_ends`.
        abbreviations: In lower case and without the full stop, those that no sentence ends after,
            such as `dr`.
        final_words: Those that a sentence ends after if a full stop and a capital letter follow,
            such as `so`.
        abbreviated: The words of several letters that are tokens together with a full stop, as
            `fold_word` returns them.
        clitics: Words with a hyphen. Those that begin with it, such as `-tu`, are cut off the word
            that precedes them; those with one letter before the hyphen, such as `t-il`, are cut
            between this letter and the hyphen; others, such as `rendez-vous`, are never cut.
    """

    patterns: tuple[str, ...] = ()
    abbreviations: frozenset[str] = frozenset()
    final_words: frozenset[str] = frozenset()
    abbreviated: frozenset[str] = frozenset()
    clitics: frozenset[str] = frozenset()

    def apply(self, labels: Labels) -> None:
        """Change labels so that they agree with the rules.

        The `clitics` and the punctuation marks of `patterns` are tokens. No token ends inside an
        emoji, or inside a token of `patterns` except where a space is missing. If `patterns` has a
        rule on hyphens, tokens end on both sides of one, unless it begins a clitic, or on neither.
        Sentences end, or go on, as the rules of `corpus.sentence_ends` in `patterns` say; one ends
        after `final_words` and before an item of a list, and none after `abbreviations`. A full
        stop at the end of a sentence is a token, unless the word before it is in `abbreviated` or
        `abbreviations`. These steps follow each other, and later ones overrule earlier ones.
        """
        hyphens = self._cut_clitics(labels)
        self._apply_patterns(labels)
        self._repair_hyphens(labels, hyphens)
        self._end_sentences(labels)
        self._move_ends(labels)

    @cached_property
    def _clitic(self) -> re.Pattern[str]:
        """A pattern of the `clitics` at the end of a word, and of the words that are never cut.

        The clitic is the group. One or two others can follow it.
        """
        whole, clitics, others = [], [], []
        for word in sorted(self.clitics, key=len, reverse=True):
            letter, clitic = split_clitic(word)
            if not clitic:
                whole.append(re.escape(word))
            else:
                clitics.append(rf"(?<={re.escape(letter)}){re.escape(clitic)}")
                others.append(re.escape(clitic))
        first, second, never_cut = (
            "|".join(words).replace(r"\-", "[-‐‑]") or "(?!)" for words in (clitics, others, whole)
        )
        return re.compile(
            rf"(?<!\w)(?:{never_cut})(?!\w)"
            rf"|(?<=[^\W\d_])({first})(?=(?:{second}){{0,2}}(?![\w‐‑-]))",
            re.IGNORECASE,
        )

    def _cut_clitics(self, labels: Labels) -> list[int]:
        """Change labels so that `clitics` are tokens; return the symbols of their hyphens.

        A clitic is cut off only if it is in lower case, or in capitals after two capitals: the
        surname `Nguyen-Tu` has no pronoun. The network decides on others, and on a text with
        decomposed accents.
        """
        hyphens: list[int] = []
        for begin, text in labels.placed_texts() if self.clitics else ():
            if not unicodedata.is_normalized("NFC", text):
                continue
            for match in self._clitic.finditer(text):
                clitic, before = match[1], text[max(0, match.start() - 2) : match.start()]
                is_upper = before.isalpha() and before.isupper() and len(before) == 2
                if clitic and clitic != (clitic.upper() if is_upper else clitic.lower()):
                    continue
                bounds = begin + match.start(), begin + match.end()
                first, stop = np.searchsorted(labels.offsets, bounds)
                labels.join(slice(first, stop - 1))
                labels.multiword[stop - 1] = SINGLE
                if clitic:
                    labels.ends[first - 1] = TOKEN
                    labels.end_tokens(stop - 1)
                    hyphens.append(int(first))
        return hyphens

    def _apply_patterns(self, labels: Labels) -> None:
        """Change labels so that tokens are as the `patterns` of `corpus.patterns` say."""
        ends, is_space = labels.ends, labels.is_space
        symbols = labels.find_symbols(partial(find_marks, names=self.patterns))
        before = symbols[~np.isin(labels.offsets[symbols], labels.text_begins)] - 1
        labels.end_tokens(symbols)
        labels.end_tokens(before - is_space[before])
        for begin, text in labels.placed_texts():
            for start, stop, is_end in find_tokens(text, self.patterns):
                first, last = labels.symbols_at([begin + start, begin + stop - 1]).tolist()
                inner = ends[first : last + 1].max()
                is_ellipsis = text.startswith("...", start)  # which is joined to no word
                if is_ellipsis:
                    ends[last] = max(inner, TOKEN)
                elif is_end:
                    labels.end_tokens(last)
                elif is_end is False:
                    ends[last] = inner
                if start and (is_ellipsis or (is_end is not False and begins_token(text, start))):
                    labels.end_tokens(first - 1 - int(is_space[first - 1]))
                labels.join(slice(first, last))

    def _repair_hyphens(self, labels: Labels, exceptions: Sequence[int]) -> None:
        """Change labels so that no token begins or ends with a hyphen of HYPHENS in `patterns`.

        exceptions: the symbols of hyphens that are left as they are.
        """
        for names, hyphen in HYPHENS.items():
            if not set(names) & set(self.patterns):
                continue
            symbols = labels.find_symbols(partial(_find_starts, hyphen))
            symbols = symbols[~np.isin(symbols, exceptions)]
            is_end = labels.ends != INSIDE
            is_wrong = is_end[symbols - 1] != is_end[symbols]
            split, _ = names
            for positions in (symbols[is_wrong] - 1, symbols[is_wrong]):
                if split in self.patterns:
                    labels.ends[positions] = TOKEN
                else:
                    labels.join(positions)

    def _end_sentences(self, labels: Labels) -> None:
        """Change labels so that sentences end, or go on, as the rules and tables say."""
        find_certain = partial(find_ends, names={*self.patterns} - {MISSING_SPACES})
        labels.ends[labels.find_symbols(find_certain)] = SENTENCE
        for find in (self._find_missing_spaces, self._find_final_words):
            symbols = labels.find_symbols(find)
            # The mark is a token of its own.
            labels.ends[symbols], labels.ends[symbols - 1] = SENTENCE, TOKEN
        symbols = labels.find_symbols(self._find_continuations)
        labels.ends[symbols] = np.minimum(labels.ends[symbols], TOKEN)

    def _move_ends(self, labels: Labels) -> None:
        """Move or remove sentence ends as `move_end` says, and add those before items of lists.

        Full stops at the ends of sentences are cut off the words before them.
        """
        ends, offsets = labels.ends, labels.offsets
        for begin, text in labels.placed_texts():
            start, stop = np.searchsorted(offsets, (begin, begin + len(text))).tolist()
            bounds = [*offsets[start:stop].tolist(), begin + len(text)]
            for index in np.flatnonzero(ends[start:stop] == SENTENCE).tolist():
                offset = bounds[index + 1] - 1 - begin
                end = move_end(text, offset, self.patterns)
                if end != offset:
                    ends[start + index] = TOKEN
                if end not in {offset, -1}:
                    ends[labels.symbols_at([begin + end])] = SENTENCE
            ends[labels.symbols_at([begin + end for end in find_list_items(text)])] = SENTENCE
            ends[stop - 1] = SENTENCE
            last = start + np.flatnonzero(ends[start:stop] == SENTENCE)
            for symbol in last[ends[last - 1] == INSIDE].tolist():
                if self._must_cut_full_stop(text, int(offsets[symbol]) - begin):
                    ends[symbol - 1] = TOKEN

    def _find_continuations(self, text: str) -> Iterator[int]:
        """Yield the offsets of characters after which no sentence ends.

        These are the full stops of `abbreviations`, and what `find_continuations` yields.
        """
        yield from find_continuations(text, self.patterns)
        for match in _FULL_STOP.finditer(text) if self.abbreviations else ():
            if self._ends_abbreviation(text, match.start()):
                yield match.start()

    def _find_missing_spaces(self, text: str) -> Iterator[int]:
        """Yield the offsets of final marks that the next sentence follows without a space."""
        for offset in find_ends(text, {MISSING_SPACES}.intersection(self.patterns)):
            if text[offset] != "." or not self._ends_abbreviation(text, offset):
                yield offset

    def _find_final_words(self, text: str) -> Iterator[int]:
        """Yield the offsets of full stops between one of `final_words` and a capital letter.

        A word after another full stop is left out, because both can be an abbreviation, as `p. ex.`
        """
        for match in _FULL_STOP.finditer(text) if self.final_words else ():
            offset = match.start()
            following = text[offset + 1 : offset + WINDOW].lstrip()[:1]
            word = word_before(text, offset)
            if following.isupper() and unicodedata.normalize("NFC", word) in self.final_words:
                start = offset - len(word)
                if not text[max(0, start - WINDOW) : start].rstrip().endswith("."):
                    yield offset

    def _must_cut_full_stop(self, text: str, offset: int) -> bool:
        """Whether the last character of a sentence is a full stop that is a token of its own.

        It is after a word of several letters that is not known to include a full stop.
        """
        if text[offset] != "." or not offset:
            return False
        word = "" if text[offset - 1].isspace() else fold_word(word_before(text, offset))
        is_word = word.removeprefix("°").isalpha() and len(word) > 1
        return is_word and word not in self.abbreviated and word not in self.abbreviations

    def _ends_abbreviation(self, text: str, full_stop: int) -> bool:
        """Whether what precedes the full stop at an offset is one of `abbreviations`."""
        return lower_word_before(text, full_stop) in self.abbreviations


def split_clitic(word: str) -> tuple[str, str]:
    """Split one of `TextRules.clitics` at its hyphen: `t-il` into `t` and `-il`.

    The second part is empty if the word is never cut.
    """
    first, hyphen, rest = word.partition("-")
    return (first, hyphen + rest) if len(first) < 2 else (word, "")


def fold_word(word: str) -> str:
    """Return a word in lower case, with composed letters, and without digits at its beginning.

    Accents that cannot be composed are left out, and so are other ignorable characters.
    """
    composed = unicodedata.normalize("NFC", word.lower()).lstrip(digits)
    return "".join(character for character in composed if not is_ignorable(character))


def _find_starts(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text))
