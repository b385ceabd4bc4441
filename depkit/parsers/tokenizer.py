"""Tokenizer and sentence splitter: a BiLSTM over characters that says what ends after each.

As UDPipe's (Straka 2018) and Stanza's (Qi et al. 2020) do, words, tokens and sentences are
found in one pass; a second classifier cuts multiword tokens.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat

import numpy as np
import torch
from torch import Tensor, nn

from depkit.corpus.text import Token
from depkit.nn.lstm import BiLSTM
from depkit.parsers.batches import length_batches, rounded_length, send
from depkit.parsers.multiword import MultiwordTable
from depkit.parsers.vocabulary import SPECIAL, Table

INSIDE, TOKEN, SENTENCE = 0, 1, 2  # what ends after a character
# Nothing; a word ends inside a token; the words of the token that ends here are in a table.
SINGLE, SPLIT, LOOKUP = 0, 1, 2
WINDOW, MARGIN = 256, 48  # characters read at once; those at its ends that only give context
LONGEST_SENTENCE = 1_000  # tokens; a longer one is cut
BATCH_CHARACTERS = 1 << 14
SPACE = "<space>"


class TokenizerNetwork(nn.Module):
    """characters: [batch, length] -> two times [batch, length, 3]."""

    def __init__(self, characters: int, embedding: int, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.encoder = BiLSTM(embedding, size, 1, 0.0)
        self.ends = nn.Linear(2 * size, 3)
        self.multiword = nn.Linear(2 * size, 3)

    def forward(self, characters: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        x = self.encoder(self.dropout(self.embedding(characters)), lengths)
        x = self.dropout(x)
        return self.ends(x), self.multiword(x)


@dataclass(frozen=True)
class Tokenizer:
    """A trained tokenizer. spaces: whether a token can contain white space (Vietnamese)."""

    characters: Table
    multiwords: MultiwordTable
    spaces: bool
    network: TokenizerNetwork
    device: torch.device

    def segment(self, texts: list[str]) -> list[list[list[Token]]]:
        """The sentences of each text, which begins and ends with something else than space."""
        return [
            list(self.decode(text, *labels))
            for text, labels in zip(texts, self._labels(texts), strict=True)
        ]

    def segment_lines(self, texts: list[str]) -> list[list[list[Token]]]:
        """The same, each text being one sentence."""
        return [[list(chain.from_iterable(sentences))] for sentences in self.segment(texts)]

    @torch.inference_mode()
    def _labels(self, texts: list[str]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each text what ends after its characters, and the characters' places.

        White space counts as one character.
        """
        self.network.eval()
        encoded = [encode_text(text, self.characters) for text in texts]
        labels = [np.zeros((2, len(numbers)), dtype=np.int8) for numbers, _ in encoded]
        windows = [
            Window(number, *places)
            for number, (numbers, _) in enumerate(encoded)
            for places in cut_windows(len(numbers))
        ]
        sizes = np.array([window.end - window.begin for window in windows], dtype=np.int64)
        for rows in length_batches(sizes, BATCH_CHARACTERS):
            chosen = [windows[row] for row in rows.tolist()]
            numbers = [encoded[each.text][0][each.begin : each.end] for each in chosen]
            scores = self.network(*(send(each, self.device) for each in pad(numbers)))
            best = torch.stack([each.argmax(-1) for each in scores]).to(torch.int8).cpu().numpy()
            for row, each in enumerate(chosen):
                kept = best[:, row, each.low - each.begin : each.high - each.begin]
                labels[each.text][:, each.low : each.high] = kept
        return [(*both, places) for both, (_, places) in zip(labels, encoded, strict=True)]

    def decode(
        self, text: str, ends: np.ndarray, multiword: np.ndarray, places: np.ndarray
    ) -> Iterator[list[Token]]:
        """The tokens of each sentence that the labels of a text's characters tell.

        ends, multiword: [n]; places: [n], where the characters stand in the text. White space
        and the text's end have the last word.
        """
        ends = ends.copy()
        blank = np.array([text[place].isspace() for place in places.tolist()])
        ends[-1] = SENTENCE
        if not self.spaces:
            ends[:-1][blank[1:]] = np.maximum(ends[:-1][blank[1:]], TOKEN)
        ends[blank] = INSIDE
        last = np.flatnonzero(ends)
        first = np.concatenate(([0], last[:-1] + 1))
        first += blank[first]
        tokens: list[Token] = list(
            zip(places[first].tolist(), (places[last] + 1).tolist(), repeat(None))
        )
        cut = np.concatenate(([0], np.cumsum(multiword != SINGLE)))
        for number in np.flatnonzero(cut[last + 1] > cut[first]).tolist():
            begin, end, _ = tokens[number]
            if multiword[last[number]] == LOOKUP:
                words = self.multiwords.words(text[begin:end])
            else:
                inside = np.flatnonzero(multiword[first[number] : last[number]] == SPLIT)
                bounds = [begin, *(places[first[number] + inside] + 1).tolist(), end]
                pieces = (text[low:high].split() for low, high in pairwise(bounds))
                words = tuple(" ".join(piece) for piece in pieces if piece)
            tokens[number] = (begin, end, words if words and len(words) > 1 else None)
        start = 0
        for stop in (np.flatnonzero(ends[last] == SENTENCE) + 1).tolist():
            while start < stop:
                yield tokens[start : min(stop, start + LONGEST_SENTENCE)]
                start = min(stop, start + LONGEST_SENTENCE)


@dataclass(frozen=True)
class Window:
    """A piece of a text, begin to end, of which low to high is labelled."""

    text: int
    begin: int
    end: int
    low: int
    high: int


def cut_windows(size: int) -> Iterator[tuple[int, int, int, int]]:
    """(begin, end, low, high) of the windows of a text of so many characters."""
    if size <= WINDOW:
        yield 0, size, 0, size
        return
    step = WINDOW - 2 * MARGIN
    for low in range(0, size, step):
        high = min(low + step, size)
        yield max(0, low - MARGIN), min(size, high + MARGIN), low, high


def pad(rows: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Arrays of numbers as [batch, length] and their sizes, [batch]; few lengths occur."""
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    padded = np.zeros((len(rows), rounded_length(int(sizes.max()))), dtype=np.int64)
    padded[np.arange(padded.shape[1]) < sizes[:, None]] = np.concatenate(rows)
    return torch.as_tensor(padded), torch.as_tensor(sizes)


def encode_text(text: str, characters: Table) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a text's characters, [n], and their places in the text, [n].

    White space of any length is one SPACE.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    distinct, inverse = np.unique(codes, return_inverse=True)
    known = np.array([_number(chr(code), characters) for code in distinct.tolist()])
    numbers = known[inverse]
    blank = numbers == characters.numbers[SPACE]
    kept = np.flatnonzero(~blank | np.concatenate(([True], ~blank[:-1])))
    return numbers[kept], kept


def _number(character: str, characters: Table) -> int:
    if character.isspace():
        return characters.numbers[SPACE]
    return characters.numbers.get(character) or characters.get(category(character))


def category(character: str) -> str:
    """What stands for characters that are too rare to be known: <Lu>, <Ll>, <So>, ..."""
    return f"<{unicodedata.category(character)}>"


def build_characters(texts: Iterable[str], least: int = 3) -> Table:
    """The characters of a treebank's texts, and the categories of all of them."""
    counts = Counter(chain.from_iterable(texts))
    blank = [character for character in counts if character.isspace()]
    for character in blank:
        del counts[character]
    known = sorted(character for character, count in counts.items() if count >= least)
    return Table([*SPECIAL, SPACE, *sorted(set(map(category, counts))), *known])
