"""Tokenizer and sentence splitter: a network that labels characters.

As in UDPipe (Straka 2018) and Stanza (Qi et al. 2020), one classifier says for each character
whether a token or a sentence ends after it. A second classifier splits multiword tokens into words.
A long text is read in overlapping slices of characters.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np

from depkit.corpus.equivalents import compose, find_equivalent, is_ignorable
from depkit.corpus.text import Token
from depkit.parsers.inputs.batching import length_batches, rounded_length
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.text.labels import (
    INSIDE,
    LOOKUP,
    SENTENCE,
    SINGLE,
    SPLIT,
    TOKEN,
    Labels,
    find_text_ends,
)
from depkit.parsers.text.multiword import MultiwordTable, Words
from depkit.parsers.text.rules import TextRules

if TYPE_CHECKING:
    from depkit.parsers.engine.engine import Engine
    from depkit.parsers.text.network import TokenizerNetwork

SLICE = 256  # symbols in a slice, in training
LONG_SLICE = 1024  # symbols in a slice, when texts are split
BATCH_SYMBOLS = 1 << 11  # what is computed from so many symbols fits in the processor's cache
MARGIN = 48  # symbols at each end of a slice that are read, but whose labels are not used
LONGEST_SENTENCE = 1_000  # words; a longer sentence is split
SPACE = "<space>"


@dataclass(frozen=True)
class Tokenizer:
    """A trained tokenizer and sentence splitter."""

    characters: Table
    multiwords: MultiwordTable
    spaces: bool  # whether a token can contain white space, as in Vietnamese
    engine: "Engine"
    rules: TextRules = field(default_factory=TextRules)

    @property
    def network(self) -> "TokenizerNetwork":
        network: TokenizerNetwork = self.engine.network
        return network

    def segment(self, texts: list[str]) -> list[list[list[Token]]]:
        """Split texts into sentences and tokens.

        A text must not be empty, nor begin or end with white space. Returns the tokens of each
        sentence of each text.
        """
        segmented = self.decode(self._predict(texts)) if texts else []
        if self.multiwords.always:
            for text, sentences in zip(texts, segmented, strict=True):
                self.multiwords.split_always(text, sentences)
        return segmented

    def segment_lines(self, texts: list[str]) -> list[list[list[Token]]]:
        """As `segment`, but each text is one sentence."""
        return [[list(chain.from_iterable(sentences))] for sentences in self.segment(texts)]

    def _predict(self, texts: list[str]) -> Labels:
        """Predict labels, and correct them by the rules. No token ends before an accent."""
        network = self.network
        indices, offsets, slices = self._cut(texts)
        best = np.zeros((2, len(indices)), dtype=np.int8)
        for rows in self._batch_slices(slices):
            begin, end, low, high = slices[rows].T
            characters, sizes = _pad_slices(indices, begin, end)
            with self.engine.context():
                predicted = network.best_labels(characters, sizes)
            position = begin[:, None] + np.arange(characters.shape[1])
            is_inside = (low[:, None] <= position) & (position < high[:, None])  # not in a margin
            best[:, position[is_inside]] = predicted[:, is_inside]
        ends, multiword = best
        labels = Labels(texts, offsets, ends, multiword)
        self.rules.apply(labels)
        is_accent = self._is_accent[indices]
        is_accent[labels.symbols_at(labels.text_begins)] = False
        labels.join(np.flatnonzero(is_accent) - 1)
        return labels

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
        text_ends = find_text_ends(texts)
        indices, offsets = encode_text("".join(texts), self.characters, [0, *text_ends[:-1]])
        stops = np.searchsorted(offsets, text_ends).tolist()
        slices = [
            [start + bound for bound in bounds]
            for start, stop in pairwise([0, *stops])
            for bounds in cut_slices(stop - start, LONG_SLICE)
        ]
        return indices, offsets, np.array(slices)

    def _batch_slices(self, slices: np.ndarray) -> list[np.ndarray]:
        sizes = slices[:, 1] - slices[:, 0]
        return length_batches(sizes, BATCH_SYMBOLS, repeat_to_fill=True)

    def encode_slices(self, texts: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield batches of slices of texts: symbols, [batch, length], and their number, [batch]."""
        indices, _, slices = self._cut(texts)
        for rows in self._batch_slices(slices):
            begin, end, _, _ = slices[rows].T
            yield _pad_slices(indices, begin, end)

    def decode(self, labels: Labels) -> list[list[list[Token]]]:
        """Convert labels to the tokens of each sentence of each text.

        Whatever the labels are, a sentence ends at the end of a text, no token consists of white
        space and, if `spaces` is False, none contains white space.
        """
        text, text_ends = "".join(labels.texts), labels.text_ends
        offsets, multiword, is_space = labels.offsets, labels.multiword, labels.is_space
        ends = labels.ends.copy()
        ends[np.searchsorted(offsets, text_ends) - 1] = SENTENCE
        if not self.spaces:
            ends[:-1][is_space[1:]] = np.maximum(ends[:-1][is_space[1:]], TOKEN)
        ends[is_space] = INSIDE
        # The indices of the last and of the first symbol of each token
        last = np.flatnonzero(ends)
        first = np.concatenate(([0], last[:-1] + 1))
        first += is_space[first]
        text_index = np.searchsorted(text_ends, offsets[last], side="right")
        text_start = labels.text_begins[text_index]
        bounds = np.append(offsets, len(text))
        starts, stops = offsets[first] - text_start, bounds[last + 1] - text_start
        tokens: list[Token] = list(zip(starts.tolist(), stops.tolist(), repeat(None)))
        count = np.concatenate(([0], np.cumsum(multiword != SINGLE)))
        for index in np.flatnonzero(count[last + 1] > count[first]).tolist():
            begin, end = first[index], last[index] + 1
            words = self._split_words(text, multiword[begin:end], bounds[begin : end + 1])
            tokens[index] = (*tokens[index][:2], words)
        sentences: list[list[list[Token]]] = [[] for _ in labels.texts]
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


def cut_slices(size: int, slice_size: int = SLICE) -> Iterator[tuple[int, int, int, int]]:
    """Cut a text of `size` symbols into overlapping slices of `slice_size` symbols.

    Yields (begin, end, low, high): symbols from `begin` to `end` are read, and labels from `low`
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
