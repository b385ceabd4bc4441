"""Labels of characters: where tokens and sentences end, and how tokens are split into words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

INSIDE, TOKEN, SENTENCE = 0, 1, 2  # labels: nothing, a token or a sentence ends after a character
# Labels for multiword tokens. SPLIT: a word ends after the character, inside a token. LOOKUP: the
# words of the token that ends after the character are in the multiword table. SINGLE: neither.
SINGLE, SPLIT, LOOKUP = 0, 1, 2


@dataclass(frozen=True)
class Labels:
    """The labels of the symbols of texts, see `tokenizer.encode_text`. Rules change the arrays.

    Attributes:
        texts: The texts. Offsets are those of characters in the concatenated texts.
        offsets: The offsets of the symbols, [n]; a symbol can be several characters.
        ends: What ends after the symbols: INSIDE, TOKEN or SENTENCE, [n].
        multiword: Their labels for multiword tokens: SINGLE, SPLIT or LOOKUP, [n].
    """

    texts: Sequence[str]
    offsets: np.ndarray
    ends: np.ndarray
    multiword: np.ndarray

    @cached_property
    def text_ends(self) -> np.ndarray:
        """The offsets of the ends of the texts, [texts]."""
        return find_text_ends(self.texts)

    @cached_property
    def text_begins(self) -> np.ndarray:
        """The offsets of the texts, [texts]."""
        return np.concatenate(([0], self.text_ends[:-1]))

    @cached_property
    def is_space(self) -> np.ndarray:
        """Which symbols are white space, [n]."""
        text = "".join(self.texts)
        return np.fromiter(map(str.isspace, text), dtype=bool, count=len(text))[self.offsets]

    def placed_texts(self) -> Iterator[tuple[int, str]]:
        """Yield the texts with their offsets."""
        return zip(self.text_begins.tolist(), self.texts, strict=True)

    def symbols_at(self, offsets: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the indices of the symbols of the characters at these offsets."""
        return np.searchsorted(self.offsets, offsets, side="right") - 1

    def find_symbols(self, find: Callable[[str], Iterable[int]]) -> np.ndarray:
        """Return the indices of the symbols of the characters that `find` yields for each text.

        find: from a text to offsets of its characters in this text.
        """
        return self.symbols_at(
            [begin + offset for begin, text in self.placed_texts() for offset in find(text)]
        )

    def end_tokens(self, symbols: np.ndarray | int) -> None:
        """Let a token end after these symbols, unless a sentence does."""
        self.ends[symbols] = np.maximum(self.ends[symbols], TOKEN)

    def join(self, symbols: np.ndarray | slice) -> None:
        """Let neither a token nor a word end after these symbols."""
        self.ends[symbols], self.multiword[symbols] = INSIDE, SINGLE


def find_text_ends(texts: Iterable[str]) -> np.ndarray:
    """Return the ends of texts when they are concatenated, [texts]."""
    return np.cumsum([len(text) for text in texts])
