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

from depkit.corpus.emoji import emoji_spans
from depkit.corpus.text import Token
from depkit.nn.lstm import BiLSTM
from depkit.parsers.device import mixed, send
from depkit.parsers.inputs.batches import length_batches, rounded_length
from depkit.parsers.inputs.vocabulary import SPECIAL, Table
from depkit.parsers.text.multiword import MultiwordTable, Words

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
    """A trained tokenizer.

    spaces: whether a token can contain white space (Vietnamese). precision: what the network is
    computed in.
    """

    characters: Table
    multiwords: MultiwordTable
    spaces: bool
    network: TokenizerNetwork
    device: torch.device
    precision: torch.dtype = torch.float32

    def segment(self, texts: list[str]) -> list[list[list[Token]]]:
        """The sentences of each text, which begins and ends with something else than space."""
        return self.decode(texts, *self._labels(texts)) if texts else []

    def segment_lines(self, texts: list[str]) -> list[list[list[Token]]]:
        """The same, each text being one sentence."""
        return [[list(chain.from_iterable(sentences))] for sentences in self.segment(texts)]

    @torch.inference_mode()
    def _labels(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `decode` takes them: what ends after the characters, and their places.

        White space counts as one character. No token ends inside an emoji.
        """
        self.network.eval()
        text = "".join(texts)
        numbers, places = encode_text(text, self.characters)
        stops = np.searchsorted(places, _stops(texts)).tolist()
        windows = np.array(
            [
                [start + place for place in window]
                for start, stop in pairwise([0, *stops])
                for window in cut_windows(stop - start)
            ]
        )
        labels = np.zeros((2, len(numbers)), dtype=np.int8)
        for rows in length_batches(windows[:, 1] - windows[:, 0], BATCH_CHARACTERS, filled=True):
            begin, end, low, high = windows[rows].T
            characters, sizes = pad(
                [numbers[slice(*each)] for each in zip(begin, end, strict=True)]
            )
            with mixed(self.device, self.precision):
                scores = self.network(send(characters, self.device), send(sizes, self.device))
            best = torch.stack([each.argmax(-1) for each in scores]).to(torch.int8).cpu().numpy()
            place = begin[:, None] + np.arange(characters.shape[1])
            kept = (low[:, None] <= place) & (place < high[:, None])
            labels[:, place[kept]] = best[:, kept]
        ends, multiword = labels
        for start, stop in emoji_spans(text):
            first, last = np.searchsorted(places, (start, stop - 1))
            ends[last] = ends[first : last + 1].max()
            ends[first:last], multiword[first:last] = INSIDE, SINGLE
        return ends, multiword, places

    def decode(
        self, texts: list[str], ends: np.ndarray, multiword: np.ndarray, places: np.ndarray
    ) -> list[list[list[Token]]]:
        """The tokens of each sentence of each text that the labels of their characters tell.

        ends, multiword: [n], of all texts laid end to end; places: [n], where the characters
        stand there. White space and the texts' ends have the last word.
        """
        text, stops = "".join(texts), _stops(texts)
        blank = np.fromiter(map(str.isspace, text), dtype=bool, count=len(text))[places]
        ends = ends.copy()
        ends[np.searchsorted(places, stops) - 1] = SENTENCE
        if not self.spaces:
            ends[:-1][blank[1:]] = np.maximum(ends[:-1][blank[1:]], TOKEN)
        ends[blank] = INSIDE
        last = np.flatnonzero(ends)
        first = np.concatenate(([0], last[:-1] + 1))
        first += blank[first]
        owner = np.searchsorted(stops, places[last], side="right")  # each token's text
        origin = np.concatenate(([0], stops))[owner]
        begins, after = places[first] - origin, places[last] + 1 - origin
        tokens: list[Token] = list(zip(begins.tolist(), after.tolist(), repeat(None)))
        cut = np.concatenate(([0], np.cumsum(multiword != SINGLE)))
        for number in np.flatnonzero(cut[last + 1] > cut[first]).tolist():
            span = slice(first[number], last[number] + 1)
            words = self._words(text, multiword[span], places[span])
            tokens[number] = (*tokens[number][:2], words)
        found: list[list[list[Token]]] = [[] for _ in texts]
        final = np.flatnonzero(ends[last] == SENTENCE)
        start = 0
        for number, stop in zip(owner[final].tolist(), (final + 1).tolist(), strict=True):
            while start < stop:
                found[number].append(tokens[start : min(stop, start + LONGEST_SENTENCE)])
                start = min(stop, start + LONGEST_SENTENCE)
        return found

    def _words(self, text: str, multiword: np.ndarray, places: np.ndarray) -> Words | None:
        """The words of a token of a text, if they are several; multiword, places: its own."""
        begin, end = int(places[0]), int(places[-1]) + 1
        if multiword[-1] == LOOKUP:
            words = self.multiwords.words(text[begin:end])
        else:
            splits = places[:-1][multiword[:-1] == SPLIT] + 1
            bounds = [begin, *splits.tolist(), end]
            pieces = (text[low:high].split() for low, high in pairwise(bounds))
            words = tuple(" ".join(piece) for piece in pieces if piece)
        return words if words and len(words) > 1 else None


def _stops(texts: list[str]) -> np.ndarray:
    """Where the texts end, laid end to end: [texts]."""
    return np.cumsum([len(text) for text in texts])


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
    known = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    for character in set(text):
        known[ord(character)] = _number(character, characters)
    numbers = known[codes]
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
