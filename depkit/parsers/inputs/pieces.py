"""Words in the pieces that a transformer reads, windows over them, and word vectors back.

Words are cut one by one, so that a piece never belongs to two, whatever characters are in
them. A sentence with more pieces than the transformer can read is read in windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_BLOCK = 20_000  # distinct words cut at once; more would take more memory and no less time

Pooling = Literal["first", "last", "mean"]


@dataclass(frozen=True)
class Pieces:
    """Sub-words of sentences laid end to end, without special ones.

    pieces: [pieces], their numbers. first: [tokens + 1], where each token's pieces begin;
    tokens as in `batches.Dataset`, one of padding, then for each sentence w0 and its words.
    Padding and w0 have no pieces, every word has at least one.
    """

    pieces: np.ndarray
    first: np.ndarray


@dataclass(frozen=True)
class Frame:
    """What a transformer's windows look like.

    prefix, suffix: the special pieces before and after others, perhaps none. pad: what fills
    windows up. longest: pieces in a window at most, special ones included.
    """

    prefix: np.ndarray
    suffix: np.ndarray
    pad: int
    longest: int

    @property
    def room(self) -> int:
        """Pieces of words that fit in a window."""
        return self.longest - len(self.prefix) - len(self.suffix)


@dataclass(frozen=True)
class PieceBatch:
    """Padded windows over the pieces of a batch of sentences, on a device.

    ids, mask: [windows, width], mask 1 at pieces and 0 at padding. member: [members], places
    in the flattened [windows * width] whose mean is a word's vector; owner: [members], in
    rising order, that word's place in the flattened [batch * length], w0 included. numbers: all
    four one after the other, on the host.
    """

    ids: Tensor
    mask: Tensor
    member: Tensor
    owner: Tensor
    numbers: np.ndarray

    def same(self, other: "PieceBatch") -> bool:
        """Whether the windows and the words are those of another batch; no device is asked."""
        shape = self.ids.shape == other.ids.shape and self.member.shape == other.member.shape
        return shape and np.array_equal(self.numbers, other.numbers)


@dataclass(frozen=True)
class _Windows:
    """Windows over sentences, in order; all [windows] but `initial`, [sentences].

    sentence: whose. start, size: in pieces of that sentence. taken: from which of them on its
    pieces are taken from this window. initial: each sentence's first window.
    """

    sentence: np.ndarray
    start: np.ndarray
    size: np.ndarray
    taken: np.ndarray
    initial: np.ndarray


def cut(sentences: Sequence[Sequence[str]], tokenizer: Any) -> Pieces:
    """The pieces of sentences, given as words.

    tokenizer: a fast one of transformers. Of a word that it drops altogether (a zero-width
    character, say) the unknown piece is left, or piece 0 if it knows none.
    """
    counts = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    distinct = dict.fromkeys(chain.from_iterable(sentences))
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    form = np.fromiter(map(numbers.__getitem__, chain.from_iterable(sentences)), np.int64)
    pieces, sizes = _cut_words(list(distinct), tokenizer)
    is_word = np.ones(1 + len(counts) + len(form), dtype=bool)
    is_word[0] = is_word[1 + np.cumsum(counts + 1) - (counts + 1)] = False
    first = np.zeros(len(is_word) + 1, dtype=np.int64)
    first[1:][is_word] = sizes[form]
    first = np.cumsum(first)
    shift = (np.cumsum(sizes) - sizes)[form] - first[:-1][is_word]
    return Pieces(pieces[np.arange(first[-1]) + np.repeat(shift, sizes[form])], first)


def _cut_words(words: list[str], tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of words end to end, and how many each has."""
    backend = _backend(tokenizer)
    unknown = [tokenizer.unk_token_id or 0]
    if _wants_space(backend):
        words = [" " + word for word in words]
    cuts: list[list[int]] = []
    for start in range(0, len(words), _BLOCK):
        block = backend.encode_batch_fast(words[start : start + _BLOCK], add_special_tokens=False)
        cuts += [encoding.ids or unknown for encoding in block]
    sizes = np.fromiter(map(len, cuts), np.int64, len(cuts))
    return np.fromiter(chain.from_iterable(cuts), np.int64, int(sizes.sum())), sizes


def _backend(tokenizer: Any) -> Any:
    """The library's own tokenizer: transformers adds only time. It may come set to truncate."""
    backend = tokenizer.backend_tokenizer
    if backend.truncation:  # to set it needlessly would fail while another thread cuts
        backend.no_truncation()
    if backend.padding:
        backend.no_padding()
    return backend


def _wants_space(backend: Any) -> bool:
    """Whether a word looks as it does within a text only with a space before it (GPT-2's do)."""

    def cut_text(text: str) -> list[int]:
        return backend.encode(text, add_special_tokens=False).ids

    text, before = cut_text("b a"), cut_text("b")
    return text != before + cut_text("a") and text == before + cut_text(" a")


def find_frame(tokenizer: Any, longest: int) -> Frame:
    """A tokenizer's special pieces, told from what it puts around a word.

    Raises ValueError if they leave no room for others.
    """
    backend = _backend(tokenizer)
    word = backend.encode("a", add_special_tokens=False).ids
    framed = backend.encode("a", add_special_tokens=True).ids
    ends = range(len(word), len(framed) + 1)
    end = next((end for end in ends if framed[end - len(word) : end] == word), None)
    if end is None:
        raise ValueError("the tokenizer cuts words in another way beside its special pieces")
    prefix, suffix = framed[: end - len(word)], framed[end:]
    frame = Frame(
        np.array(prefix, dtype=np.int64), np.array(suffix, dtype=np.int64),
        tokenizer.pad_token_id or 0, longest,
    )  # fmt: skip
    if frame.room < 1:
        raise ValueError(f"windows of {longest} pieces have no room beside the special ones")
    return frame


def piece_batch(
    pieces: Pieces,
    starts: np.ndarray,
    sizes: np.ndarray,
    length: int,
    frame: Frame,
    pooling: Pooling,
    overlap: int,
    device: torch.device,
) -> PieceBatch:
    """The windows over some sentences, [batch, length] with w0 and padding.

    starts, sizes: [batch], of `batches.Dataset`. pooling: which of a word's pieces count.
    overlap: pieces that neighbouring windows share, at least; at most half of what fits
    does. w0 is the prefix's first piece, or the sentence's first where there is no prefix.
    """
    begin = pieces.first[starts]
    counts = pieces.first[starts + sizes] - begin
    windows = _cover(counts, frame.room, overlap)
    ids, mask = _fill(pieces.pieces, begin, windows, frame)
    width = ids.shape[1]
    place = np.arange(length)
    real = place < sizes[:, None]  # [batch, length]
    token = (starts[:, None] + place)[real]
    is_word = np.broadcast_to(place > 0, real.shape)[real]
    places = np.append(_places(windows, counts, width, len(frame.prefix)), 0)
    count = pieces.first[token + 1] - pieces.first[token]
    member, kept = _members(count, is_word, places, pooling)
    owner = np.repeat(np.flatnonzero(real), kept)
    member[~np.repeat(is_word, kept)] = windows.initial * width
    parts = [ids.ravel(), mask.ravel(), member, owner]
    numbers = np.concatenate(parts)
    sent = torch.as_tensor(numbers)
    if device.type == "cuda":
        sent = sent.pin_memory()
    flat = sent.to(device, non_blocking=True).split([len(part) for part in parts])
    return PieceBatch(flat[0].view(ids.shape), flat[1].view(ids.shape), flat[2], flat[3], numbers)


def _fill(
    pieces: np.ndarray, begin: np.ndarray, windows: _Windows, frame: Frame
) -> tuple[np.ndarray, np.ndarray]:
    """Windows with their special pieces, and the mask; `begin`: each sentence's first piece."""
    before = len(frame.prefix)
    end = (before + windows.size)[:, None]  # [windows, 1]
    place = np.arange(max(1, int(end.max()) + len(frame.suffix)))
    ids = np.full((len(end), len(place)), frame.pad, dtype=np.int64)
    ids[:, :before] = frame.prefix
    inside = (place >= before) & (place < end)
    index = (begin[windows.sentence] + windows.start - before)[:, None] + place
    ids[inside] = pieces[index[inside]]
    np.put_along_axis(ids, end + np.arange(len(frame.suffix)), frame.suffix[None], axis=1)
    mask = place < end + len(frame.suffix)
    mask[:, 0] = True  # attention to nothing at all would be NaN
    return ids, mask.astype(np.int64)


def _cover(counts: np.ndarray, room: int, overlap: int) -> _Windows:
    """Windows of at most `room` pieces over sentences of so many pieces.

    As few as will do, spread evenly, so that all of a sentence that needs several are full.
    A piece is taken from the one where it has most context on its shorter side, which, as
    they are equally long, is that whose middle is nearest, the earlier of two.
    """
    step = room - min(max(overlap, 0), room // 2)
    excess = np.maximum(counts - room, 0)
    number = 1 + -(-excess // step)  # [sentences]
    initial = np.cumsum(number) - number
    sentence = np.repeat(np.arange(len(counts)), number)
    rank = np.arange(len(sentence)) - initial[sentence]
    start = rank * excess[sentence] // np.maximum(number - 1, 1)[sentence]
    taken = np.zeros_like(start)
    taken[1:] = (start[:-1] + start[1:] + room + 1) // 2
    taken[initial] = 0
    return _Windows(sentence, start, np.minimum(counts, room)[sentence], taken, initial)


def _places(windows: _Windows, counts: np.ndarray, width: int, before: int) -> np.ndarray:
    """[pieces]: where in the flattened [windows * width] each piece is taken from."""
    until = np.append(windows.taken[1:], 0)
    until[np.append(windows.initial[1:], len(until)) - 1] = counts
    shift = np.arange(len(until)) * width + before - windows.start
    local = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(shift, until - windows.taken) + local


def _members(
    count: np.ndarray, is_word: np.ndarray, places: np.ndarray, pooling: Pooling
) -> tuple[np.ndarray, np.ndarray]:
    """The places of the pieces that count, and how many each token has.

    count: [tokens], their pieces. places: [pieces] and a last one, of no meaning. w0 has one
    place, which is for the caller to fill in.
    """
    kept = np.where(is_word, count, 1) if pooling == "mean" else np.ones_like(count)
    first = np.cumsum(count) - (1 if pooling == "last" else count)
    shift = first - (np.cumsum(kept) - kept)
    return places[np.arange(kept.sum()) + np.repeat(shift, kept)], kept


def pool(hidden: Tensor, batch: PieceBatch, words: int) -> Tensor:
    """Words' vectors, the means of their pieces'; zero for padding.

    hidden: [windows, width, ...], words: batch * length -> [words, ...].
    """
    flat = hidden.flatten(0, 1).flatten(1)  # [windows * width, features]
    begin = torch.searchsorted(batch.owner, torch.arange(words, device=hidden.device))
    # unlike adding to an index, the same sum on every run on a GPU
    pooled = functional.embedding_bag(batch.member, flat, begin, mode="mean")
    return pooled.view(words, *hidden.shape[2:])
