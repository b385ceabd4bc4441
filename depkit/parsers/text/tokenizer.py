"""Tokenizer and sentence splitter: a network that labels characters.

As in UDPipe (Straka 2018) and Stanza (Qi et al. 2020), one classifier says for each character
whether a token or a sentence ends after it. A second classifier splits multiword tokens into words.
A long text is read in overlapping slices of characters.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise, repeat
from string import digits
from typing import TYPE_CHECKING

import numpy as np

from depkit.corpus.equivalents import compose, find_equivalent, is_ignorable
from depkit.corpus.patterns import HYPHENS, begins_token, find_marks, find_tokens
from depkit.corpus.sentence_ends import (
    MISSING_SPACES,
    find_continuations,
    find_ends,
    move_end,
)
from depkit.corpus.text import Token
from depkit.parsers.inputs.batching import length_batches, rounded_length
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.text.multiword import MultiwordTable, Words

if TYPE_CHECKING:
    from depkit.parsers.engine.engine import Engine
    from depkit.parsers.text.network import TokenizerNetwork

INSIDE, TOKEN, SENTENCE = 0, 1, 2  # labels: nothing, a token or a sentence ends after a character
# Labels for multiword tokens. SPLIT: a word ends after the character, inside a token. LOOKUP: the
# words of the token that ends after the character are in the multiword table. SINGLE: neither.
SINGLE, SPLIT, LOOKUP = 0, 1, 2
SLICE = 256  # characters in a slice
BATCH_CHARACTERS = 1 << 14
# For convolutions, which do not read a slice character by character, and are faster if what they
# compute fits in the processor's cache
LONG_SLICE = 1024
SMALL_BATCH = 1 << 11
MARGIN = 48  # characters at each end of a slice that are read, but whose labels are not used
LONGEST_SENTENCE = 1_000  # words; a longer sentence is split
# Characters between a space and the full stop of an abbreviation or a final word, with a bracket
WINDOW = 10
SPACE = "<space>"
_FULL_STOP = re.compile(r"(?<=\w)\.(?=\s)")


@dataclass(frozen=True)
class Tokenizer:
    """A trained tokenizer and sentence splitter."""

    characters: Table
    multiwords: MultiwordTable
    spaces: bool  # whether a token can contain white space, as in Vietnamese
    engine: "Engine"
    # Names of the `corpus.patterns` and rules of `corpus.sentence_ends` that the treebank follows
    patterns: tuple[str, ...] = ()
    convolves: bool = False  # whether the network consists of convolutions
    # In lower case and without the full stop, those that no sentence ends after, such as dr
    abbreviations: frozenset[str] = frozenset()
    # Those that a sentence ends after if a full stop and a capital letter follow, such as `so`
    final_words: frozenset[str] = frozenset()
    # In lower case, those that are tokens together with a full stop, and have several letters; None
    # if they are not known
    abbreviated: frozenset[str] | None = None
    # Words with a hyphen. Those that begin with it, such as `-tu`, are cut off the word before it;
    # those with one letter before it, such as `t-il`, only after this letter. Others are never cut.
    clitics: frozenset[str] = frozenset()

    @property
    def network(self) -> "TokenizerNetwork":
        network: TokenizerNetwork = self.engine.network
        return network

    def segment(self, texts: list[str]) -> list[list[list[Token]]]:
        """Split texts into sentences and tokens.

        A text must not begin or end with white space. Returns the tokens of each sentence of each
        text.
        """
        segmented = self.decode(texts, *self._labels(texts)) if texts else []
        if self.multiwords.always:
            for text, sentences in zip(texts, segmented, strict=True):
                self.multiwords.split_always(text, sentences)
        return segmented

    def segment_lines(self, texts: list[str]) -> list[list[list[Token]]]:
        """As `segment`, but each text is one sentence."""
        return [[list(chain.from_iterable(sentences))] for sentences in self.segment(texts)]

    def _labels(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict labels: the arguments `ends`, `multiword` and `offsets` of `decode`.

        The labels are those of the symbols of `encode_text`. No token ends before an accent, inside
        an emoji, or inside a token of `patterns` except where a space is missing; the punctuation
        marks of `patterns` and the `clitics` are tokens. If `patterns` has a rule on hyphens,
        tokens end on both sides of one or on neither. Sentences end as the rules of
        `corpus.sentence_ends` say that are in `patterns`, and after `final_words`.
        """
        network = self.network
        indices, offsets, slices = self._cut(texts)
        labels = np.zeros((2, len(indices)), dtype=np.int8)
        for rows in self._batch_slices(slices):
            begin, end, low, high = slices[rows].T
            characters, sizes = _pad_slices(indices, begin, end)
            with self.engine.context():
                best = network.best_labels(characters, sizes)
            position = begin[:, None] + np.arange(characters.shape[1])
            is_inside = (low[:, None] <= position) & (position < high[:, None])  # not in a margin
            labels[:, position[is_inside]] = best[:, is_inside]
        ends, multiword = labels
        begins = [0, *_text_ends(texts)[:-1].tolist()]
        placed = list(zip(begins, texts, strict=True))
        self._cut_clitics(placed, (ends, multiword), offsets)
        self._apply_patterns(placed, (ends, multiword), indices=indices, offsets=offsets)
        self._repair_hyphens(placed, (ends, multiword), offsets)
        self._apply_rules(placed, ends, offsets)
        is_accent = self._is_accent[indices]
        is_accent[np.searchsorted(offsets, begins)] = False
        before_accent = np.flatnonzero(is_accent) - 1
        ends[before_accent], multiword[before_accent] = INSIDE, SINGLE
        return ends, multiword, offsets

    def _apply_patterns(
        self,
        texts: list[tuple[int, str]],
        labels: tuple[np.ndarray, np.ndarray],
        *,
        indices: np.ndarray,
        offsets: np.ndarray,
    ) -> None:
        """Change labels so that tokens are as `patterns` say.

        texts: each with its offset in the concatenated texts.
        """
        ends, multiword = labels
        marks = [begin + mark for begin, text in texts for mark in find_marks(text, self.patterns)]
        is_space = indices == self.characters.indices[SPACE]
        symbols = np.searchsorted(offsets, marks)
        before = symbols[~np.isin(marks, [begin for begin, _ in texts])] - 1
        before -= is_space[before]
        for positions in (symbols, before):
            ends[positions] = np.maximum(ends[positions], TOKEN)
        for begin, text in texts:
            for start, stop, is_end in find_tokens(text, self.patterns):
                bounds = (begin + start, begin + stop - 1)
                first, last = np.searchsorted(offsets, bounds, side="right") - 1
                inner = ends[first : last + 1].max()
                is_ellipsis = text.startswith("...", start)  # which is joined to no word
                if is_ellipsis:
                    ends[last] = max(inner, TOKEN)
                elif is_end:
                    ends[last] = max(ends[last], TOKEN)
                elif is_end is False:
                    ends[last] = inner
                if start and (is_ellipsis or (is_end is not False and begins_token(text, start))):
                    previous = first - 1 - is_space[first - 1]
                    ends[previous] = max(ends[previous], TOKEN)
                ends[first:last], multiword[first:last] = INSIDE, SINGLE

    @cached_property
    def _clitic(self) -> re.Pattern[str]:
        """A pattern of the `clitics` at the end of a word, and of the words that are never cut.

        The clitic is the group. One or two others can follow it.
        """
        whole, clitics, others = [], [], []
        for word in sorted(self.clitics, key=len, reverse=True):
            letter, rest = word[: word.index("-")], re.escape(word[word.index("-") :])
            if len(letter) > 1:
                whole.append(re.escape(word))
            else:
                clitics.append(f"(?<={re.escape(letter)}){rest}" if letter else rest)
                others.append(rest)
        first, second, never_cut = (
            "|".join(words).replace(r"\-", "[-‐‑]") or "(?!)" for words in (clitics, others, whole)
        )
        return re.compile(
            rf"(?<!\w)(?:{never_cut})(?!\w)"
            rf"|(?<=[^\W\d_])({first})(?=(?:{second}){{0,2}}(?![\w‐‑-]))",
            re.IGNORECASE,
        )

    def _cut_clitics(
        self,
        texts: list[tuple[int, str]],
        labels: tuple[np.ndarray, np.ndarray],
        offsets: np.ndarray,
    ) -> None:
        """Change labels so that `clitics` are tokens; texts: as for `_apply_patterns`.

        A clitic is cut off only if it is in lower case, or in capitals after two capitals: the
        surname `Nguyen-Tu` has no pronoun. The network decides on others, and on a text with
        decomposed accents.
        """
        ends, multiword = labels
        for begin, text in texts if self.clitics else ():
            if not unicodedata.is_normalized("NFC", text):
                continue
            for match in self._clitic.finditer(text):
                clitic, before = match[1], text[max(0, match.start() - 2) : match.start()]
                is_upper = before.isalpha() and before.isupper() and len(before) == 2
                if clitic and clitic != (clitic.upper() if is_upper else clitic.lower()):
                    continue
                bounds = begin + match.start(), begin + match.end()
                first, stop = np.searchsorted(offsets, bounds)
                ends[first : stop - 1], multiword[first:stop] = INSIDE, SINGLE
                if clitic:
                    ends[first - 1], ends[stop - 1] = TOKEN, max(ends[stop - 1], TOKEN)

    def _repair_hyphens(
        self,
        texts: list[tuple[int, str]],
        labels: tuple[np.ndarray, np.ndarray],
        offsets: np.ndarray,
    ) -> None:
        """Change labels so that no token begins or ends with a hyphen of HYPHENS in `patterns`.

        texts: as for `_apply_patterns`.
        """
        ends, multiword = labels
        for names, hyphen in HYPHENS.items():
            if not set(names) & set(self.patterns):
                continue
            marks = [begin + m.start() for begin, text in texts for m in hyphen.finditer(text)]
            symbols = np.searchsorted(offsets, marks, side="right") - 1
            is_wrong = (ends[symbols - 1] == INSIDE) != (ends[symbols] == INSIDE)
            split, _ = names
            for positions in (symbols[is_wrong] - 1, symbols[is_wrong]):
                if split in self.patterns:
                    ends[positions] = TOKEN
                else:
                    ends[positions], multiword[positions] = INSIDE, SINGLE

    def _apply_rules(
        self, texts: list[tuple[int, str]], ends: np.ndarray, offsets: np.ndarray
    ) -> None:
        """Change labels so that sentences end as the rules and tables of the tokenizer say.

        texts: as for `_apply_patterns`.
        """
        ended, continued, unspaced, after_words = (
            [begin + offset for begin, text in texts for offset in find(text)]
            for find in (
                partial(find_ends, names={*self.patterns} - {MISSING_SPACES}),
                self._find_continuations,
                self._find_missing_spaces,
                self._find_final_words,
            )
        )
        ends[np.searchsorted(offsets, ended, side="right") - 1] = SENTENCE
        for marks in (unspaced, after_words):
            symbols = np.searchsorted(offsets, marks, side="right") - 1
            ends[symbols], ends[symbols - 1] = SENTENCE, TOKEN  # The mark is a token of its own.
        symbols = np.searchsorted(offsets, continued, side="right") - 1
        ends[symbols] = np.minimum(ends[symbols], TOKEN)
        for begin, text in texts:
            start, stop = np.searchsorted(offsets, (begin, begin + len(text))).tolist()
            bounds = [*offsets[start:stop].tolist(), begin + len(text)]
            for index in np.flatnonzero(ends[start:stop] == SENTENCE).tolist():
                offset = bounds[index + 1] - 1 - begin
                end = move_end(text, offset, self.patterns)
                if end != offset:
                    ends[start + index] = TOKEN
                if end > offset:
                    ends[np.searchsorted(offsets, begin + end, side="right") - 1] = SENTENCE
            ends[stop - 1] = SENTENCE
            last = start + np.flatnonzero(ends[start:stop] == SENTENCE)
            for symbol in last[ends[last - 1] == INSIDE].tolist():
                if self._is_cut_off(text, int(offsets[symbol]) - begin):
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
            word = _word_before(text, offset)
            if following.isupper() and word in self.final_words:
                start = offset - len(word)
                if not text[max(0, start - WINDOW) : start].rstrip().endswith("."):
                    yield offset

    def _is_cut_off(self, text: str, offset: int) -> bool:
        """Whether the last character of a sentence is a full stop after a word without one."""
        if self.abbreviated is None or text[offset] != "." or not offset:
            return False
        word = "" if text[offset - 1].isspace() else _word_before(text, offset).lower()
        word = unicodedata.normalize("NFC", word).lstrip(digits)
        word = "".join(character for character in word if not is_ignorable(character))
        is_word = word.removeprefix("°").isalpha() and len(word) > 1
        return is_word and word not in self.abbreviated and word not in self.abbreviations

    def _ends_abbreviation(self, text: str, full_stop: int) -> bool:
        """Whether what precedes the full stop at an offset is one of `abbreviations`."""
        return _word_before(text, full_stop).lower() in self.abbreviations

    @cached_property
    def _is_accent(self) -> np.ndarray:
        """Which symbols of the table are accents, before which no token ends."""
        categories = [category(x) if len(x) == 1 else x for x in self.characters.symbols]
        return np.array([x in {"<Mn>", "<Mc>", "<Me>"} for x in categories])

    def _cut(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode texts and cut them into slices.

        Returns the indices of their symbols and the offsets of these in the concatenated texts,
        [n] each; and the slices, [slices, 4], as `cut_slices` yields them.
        """
        text_ends = _text_ends(texts)
        indices, offsets = encode_text("".join(texts), self.characters, [0, *text_ends[:-1]])
        stops = np.searchsorted(offsets, text_ends).tolist()
        slices = [
            [start + bound for bound in bounds]
            for start, stop in pairwise([0, *stops])
            for bounds in cut_slices(stop - start, LONG_SLICE if self.convolves else SLICE)
        ]
        return indices, offsets, np.array(slices)

    def _batch_slices(self, slices: np.ndarray) -> list[np.ndarray]:
        sizes = slices[:, 1] - slices[:, 0]
        limit = SMALL_BATCH if self.convolves else BATCH_CHARACTERS
        return length_batches(sizes, limit, repeat_to_fill=True)

    def encode_slices(self, texts: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield batches of slices of texts: characters, [batch, length], and numbers, [batch]."""
        indices, _, slices = self._cut(texts)
        for rows in self._batch_slices(slices):
            begin, end, _, _ = slices[rows].T
            yield _pad_slices(indices, begin, end)

    def decode(
        self, texts: list[str], ends: np.ndarray, multiword: np.ndarray, offsets: np.ndarray
    ) -> list[list[list[Token]]]:
        """Convert the labels of characters to tokens and sentences.

        Whatever the labels are, a sentence ends at the end of a text, no token consists of white
        space and, if `spaces` is False, none contains white space.

        Args:
            texts: The texts, which are concatenated for the other arguments.
            ends: What ends after the symbols of `encode_text`, [n].
            multiword: Their labels for multiword tokens, [n].
            offsets: Their offsets in the concatenated texts, [n].

        Returns:
            The tokens of each sentence of each text.
        """
        text, text_ends = "".join(texts), _text_ends(texts)
        is_space = np.fromiter(map(str.isspace, text), dtype=bool, count=len(text))[offsets]
        ends = ends.copy()
        ends[np.searchsorted(offsets, text_ends) - 1] = SENTENCE
        if not self.spaces:
            ends[:-1][is_space[1:]] = np.maximum(ends[:-1][is_space[1:]], TOKEN)
        ends[is_space] = INSIDE
        # The indices of the last and of the first character of each token
        last = np.flatnonzero(ends)
        first = np.concatenate(([0], last[:-1] + 1))
        first += is_space[first]
        text_index = np.searchsorted(text_ends, offsets[last], side="right")
        text_start = np.concatenate(([0], text_ends))[text_index]
        bounds = np.append(offsets, len(text))
        starts, stops = offsets[first] - text_start, bounds[last + 1] - text_start
        tokens: list[Token] = list(zip(starts.tolist(), stops.tolist(), repeat(None)))
        count = np.concatenate(([0], np.cumsum(multiword != SINGLE)))
        for index in np.flatnonzero(count[last + 1] > count[first]).tolist():
            begin, end = first[index], last[index] + 1
            words = self._split_words(text, multiword[begin:end], bounds[begin : end + 1])
            tokens[index] = (*tokens[index][:2], words)
        sentences: list[list[list[Token]]] = [[] for _ in texts]
        final = np.flatnonzero(ends[last] == SENTENCE)
        start = 0
        for index, stop in zip(text_index[final].tolist(), (final + 1).tolist(), strict=True):
            for end in _split_sentence(tokens, start, stop):
                sentences[index].append(tokens[start:end])
                start = end
        return sentences

    def _split_words(self, text: str, multiword: np.ndarray, bounds: np.ndarray) -> Words | None:
        """Split a token into words; None if it is a single word.

        multiword: the labels of the symbols of the token, [n]. bounds: their offsets, and the end
        of the token, [n + 1].
        """
        begin, end = int(bounds[0]), int(bounds[-1])
        if multiword[-1] == LOOKUP:
            words = self.multiwords.words(text[begin:end])
        else:
            splits = bounds[1:-1][multiword[:-1] == SPLIT].tolist()
            parts = (text[low:high].split() for low, high in pairwise([begin, *splits, end]))
            words = tuple(" ".join(part) for part in parts if part)
            if len(words) > 1:
                words = self.multiwords.check(text[begin:end], words)
        return words if words and len(words) > 1 else None


def _word_before(text: str, full_stop: int) -> str:
    """Return the word before the full stop at an offset, or its end if it is long."""
    return text[max(0, full_stop - WINDOW) : full_stop].split()[-1].lstrip("([\"'«„“‘")


def _pad_slices(
    indices: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return pad([indices[slice(*bounds)] for bounds in zip(begin, end, strict=True)])


def _split_sentence(tokens: Sequence[Token], start: int, stop: int) -> Iterator[int]:
    """Yield where parts of tokens[start:stop] end that have at most LONGEST_SENTENCE words each.

    A token of more words is a part of its own.
    """
    count = 0
    for index in range(start, stop):
        size = len(tokens[index][2] or (None,))
        if count and count + size > LONGEST_SENTENCE:
            yield index
            count = 0
        count += size
    yield stop


def _text_ends(texts: list[str]) -> np.ndarray:
    """Return the ends of texts when they are concatenated, [texts]."""
    return np.cumsum([len(text) for text in texts])


def cut_slices(size: int, slice_size: int = SLICE) -> Iterator[tuple[int, int, int, int]]:
    """Cut a text of `size` characters into overlapping slices of `slice_size` characters.

    Yields (begin, end, low, high): characters from `begin` to `end` are read, and labels from `low`
    to `high` are used; the others are margins.
    """
    if size <= slice_size:
        yield 0, size, 0, size
        return
    step = slice_size - 2 * MARGIN
    for low in range(0, size, step):
        high = min(low + step, size)
        yield max(0, low - MARGIN), min(size, high + MARGIN), low, high


def pad(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Pad arrays of indices to [batch, length]; also returns their sizes, [batch].

    The length is rounded up, so that few different shapes occur.
    """
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    padded = np.zeros((len(rows), rounded_length(int(sizes.max()))), dtype=np.int64)
    padded[np.arange(padded.shape[1]) < sizes[:, None]] = np.concatenate(rows)
    return padded, sizes


def encode_text(
    text: str, characters: Table, starts: Sequence[int] = (0,)
) -> tuple[np.ndarray, np.ndarray]:
    """Encode a text as symbols: their indices in the table, [n], and their offsets, [n].

    A symbol is a character, but a sequence of white space is one SPACE, and an accent or another
    ignorable character that the table does not have belongs to the symbol before it. Decomposed
    characters are read as composed ones unless the table has all their parts, and an unknown
    character as its equivalent.

    starts: the offsets of the texts if several were concatenated. A text begins with a new symbol.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    index_by_code = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    is_joined_code = np.zeros(len(index_by_code), dtype=bool)
    for character in set(text):
        index_by_code[ord(character)] = _find_index(character, characters)
        is_joined_code[ord(character)] = character not in characters.indices and is_ignorable(
            character
        )
    indices, is_joined = index_by_code[codes], is_joined_code[codes]
    is_start = np.zeros(len(text), dtype=bool)
    is_start[np.asarray(starts)] = True
    for start, stop in pairwise([*starts, len(text)]):
        for begin, end, composed in compose(text[start:stop]):
            if not characters.indices.keys() >= set(text[start + begin : start + end]):
                indices[start + begin] = _find_index(composed, characters)
                is_joined[start + begin + 1 : start + end] = True
    is_space = indices == characters.indices[SPACE]
    is_joined[1:] &= ~is_space[:-1]
    is_joined[is_start] = False
    is_repeated_space = is_space & np.concatenate(([False], is_space[:-1]))
    offsets = np.flatnonzero(~is_repeated_space & ~is_joined)
    return indices[offsets], offsets


def _find_index(character: str, characters: Table) -> int:
    if character.isspace():
        return characters.indices[SPACE]
    if index := characters.indices.get(character):
        return index
    equivalent = find_equivalent(character, characters.indices.__contains__)
    if equivalent and len(equivalent) == 1:
        return characters.indices[equivalent]
    return characters.get(category(character))


def category(character: str) -> str:
    """Return the Unicode category of a character, such as <Lu>; it represents rare characters."""
    return f"<{unicodedata.category(character)}>"


def build_character_table(texts: Iterable[str], min_count: int = 3) -> Table:
    """Build the table of characters of texts: frequent characters, and categories of characters.

    min_count: how often a character must occur to be in the table.
    """
    counts = Counter(chain.from_iterable(texts))
    spaces = [character for character in counts if character.isspace()]
    for character in spaces:
        del counts[character]
    known = sorted(character for character, count in counts.items() if count >= min_count)
    return Table([*SPECIAL, SPACE, *sorted(set(map(category, counts))), *known])
