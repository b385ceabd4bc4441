"""Subword pieces of words, the segments in which a transformer reads them, and word vectors.

Each word is split into pieces separately, so a piece never belongs to two words. A sentence with
more pieces than the transformer can read at once is read in overlapping segments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from depkit.files.errors import first_line
from depkit.parsers.inputs.safe_files import TransformerError

_BLOCK = 1_000  # distinct words split at once; a larger block takes more memory, not less time
_MAX_CHARACTERS = 1 << 16  # of a word; the rest is not read
_MAX_PIECES = 50  # a character on average; letters of four bytes that NFKC spells out reach 40

Pooling = Literal["first", "last", "mean"]


@dataclass(frozen=True)
class Pieces:
    """The pieces of concatenated sentences, without special pieces.

    Tokens are the entries of `dataset.Dataset`: padding, then for each sentence w0 and its words.
    Padding and w0 have no pieces; every word has at least one.
    """

    pieces: np.ndarray  # [pieces], their ids
    first: np.ndarray  # [tokens + 1], the index of each token's first piece


@dataclass(frozen=True)
class SegmentFormat:
    """The special pieces of a transformer's input, and the input's maximum length."""

    prefix: np.ndarray  # special pieces before the words, perhaps none
    suffix: np.ndarray  # special pieces after the words, perhaps none
    pad: int  # the id of padding
    max_pieces: int  # in a segment, special pieces included

    @property
    def capacity(self) -> int:
        """The number of pieces of words that fit in a segment."""
        return self.max_pieces - len(self.prefix) - len(self.suffix)


@dataclass(frozen=True)
class _Segments:
    """Segments of sentences, in order.

    A piece that lies in several overlapping segments is used from one of them only.
    """

    sentence: np.ndarray  # [segments], index of the sentence
    start: np.ndarray  # [segments], index of the first piece in its sentence
    size: np.ndarray  # [segments], number of pieces
    first_used: np.ndarray  # [segments], index in the sentence of the first piece that is used
    initial: np.ndarray  # [sentences], index of the sentence's first segment


def split_into_pieces(sentences: Sequence[Sequence[str]], tokenizer: Any) -> Pieces:
    """Split sentences, given as words, into pieces.

    tokenizer: a fast tokenizer of transformers. A word that it drops altogether (a zero-width
    character, for example) becomes the unknown piece, or piece 0 if there is no unknown piece.
    """
    counts = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    distinct = dict.fromkeys(chain.from_iterable(sentences))
    indices = dict(zip(distinct, range(len(distinct)), strict=True))
    form = np.fromiter(map(indices.__getitem__, chain.from_iterable(sentences)), np.int64)
    pieces, sizes = _split_words(list(distinct), tokenizer)
    is_word = np.ones(1 + len(counts) + len(form), dtype=bool)
    is_word[0] = is_word[1 + np.cumsum(counts + 1) - (counts + 1)] = False
    first = np.zeros(len(is_word) + 1, dtype=np.int64)
    first[1:][is_word] = sizes[form]
    first = np.cumsum(first)
    shift = (np.cumsum(sizes) - sizes)[form] - first[:-1][is_word]
    return Pieces(pieces[np.arange(first[-1]) + np.repeat(shift, sizes[form])], first)


def _split_words(words: list[str], tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Split words into pieces: the concatenated pieces, and their number for each word."""
    backend = _backend(tokenizer)
    unknown = [tokenizer.unk_token_id or 0]
    if _needs_space(backend):
        words = [" " + word for word in words]
    pieces, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, len(words), _BLOCK):
        block = [word[:_MAX_CHARACTERS] for word in words[start : start + _BLOCK]]
        ids = [encoding.ids or unknown for encoding in _encode_words(backend, block)]
        sizes.append(np.fromiter(map(len, ids), np.int64, len(ids)))
        size, limit = int(sizes[-1].sum()), _MAX_PIECES * (len(block) + sum(map(len, block)))
        if size > limit:
            message = f"the transformer's tokenizer makes {size:,} pieces of {len(block):,} words"
            raise TransformerError(message)
        pieces.append(np.fromiter(chain.from_iterable(ids), np.int64, size))
    return np.concatenate(pieces), np.concatenate(sizes)


def _encode_words(backend: Any, words: list[str]) -> Any:
    """Encode words. Raises TransformerError, also if the library, which is in Rust, panics."""
    try:
        return backend.encode_batch_fast(words, add_special_tokens=False)
    except MemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = first_line(error)
        message = f"the transformer's tokenizer cannot split the words into pieces: {reason}"
        raise TransformerError(message) from None


def _backend(tokenizer: Any) -> Any:
    """Return the underlying tokenizer of the tokenizers library, without truncation and padding.

    It is used directly because the wrapper of transformers only adds time.
    """
    backend = tokenizer.backend_tokenizer
    if backend.truncation:  # a needless call would fail while another thread uses the tokenizer
        backend.no_truncation()
    if backend.padding:
        backend.no_padding()
    return backend


def _needs_space(backend: Any) -> bool:
    """Return whether words must begin with a space to be split as in running text, as for GPT-2."""

    def encode(text: str) -> list[int]:
        return backend.encode(text, add_special_tokens=False).ids

    text, first = encode("b a"), encode("b")
    return text != first + encode("a") and text == first + encode(" a")


def find_segment_format(tokenizer: Any, max_pieces: int) -> SegmentFormat:
    """Find a tokenizer's special pieces by comparing a word encoded with and without them.

    Raises TransformerError if they leave no room for other pieces.
    """
    backend = _backend(tokenizer)
    word = backend.encode("a", add_special_tokens=False).ids
    segment = backend.encode("a", add_special_tokens=True).ids
    ends = range(len(word), len(segment) + 1)
    end = next((end for end in ends if segment[end - len(word) : end] == word), None)
    if end is None:
        raise TransformerError("the tokenizer splits words differently when it adds special pieces")
    prefix, suffix = segment[: end - len(word)], segment[end:]
    format = SegmentFormat(
        np.array(prefix, dtype=np.int64), np.array(suffix, dtype=np.int64),
        tokenizer.pad_token_id or 0, max_pieces,
    )  # fmt: skip
    if format.capacity < 1:
        raise TransformerError(
            f"the transformer reads at most {max_pieces} pieces, and the special pieces leave no"
            " room for words"
        )
    return format


def make_piece_arrays(
    pieces: Pieces,
    starts: np.ndarray,
    sizes: np.ndarray,
    length: int,
    *,
    format: SegmentFormat,
    pooling: Pooling,
    overlap: int,
) -> dict[str, np.ndarray]:
    """Make the segments of the sentences of a batch.

    The vector of a word is the mean of the output at the positions of its selected pieces; the
    batch has `pooled` selected pieces. That of w0 comes from the first piece of the prefix, or from
    the first piece of the sentence if there is no prefix. Words are numbered by their positions in
    the flattened batch, [batch * length], w0 included.

    Args:
        pieces: The pieces of a dataset.
        starts: [batch], the first token of each sentence, as in `dataset.Dataset`.
        sizes: [batch], the number of tokens of each sentence.
        length: The length of the batch, w0 and padding included.
        format: The format of a segment.
        pooling: Which pieces of a word make its vector.
        overlap: The minimum number of pieces that consecutive segments share, limited to half the
            capacity of a segment.

    Returns:
        pieces.ids: [segments, width].
        pieces.mask: [segments, width], 1 at pieces and 0 at padding.
        pieces.position: [pooled], position in the flattened [segments * width].
        pieces.word: [pooled], position of the piece's word; never decreases.
    """
    begin = pieces.first[starts]
    counts = pieces.first[starts + sizes] - begin
    segments = _make_segments(counts, format.capacity, overlap)
    ids, mask = _fill_segments(pieces.pieces, begin, segments, format)
    width = ids.shape[1]
    position = np.arange(length)
    is_real = position < sizes[:, None]  # [batch, length]
    token = (starts[:, None] + position)[is_real]
    is_word = np.broadcast_to(position > 0, is_real.shape)[is_real]
    positions = np.append(_piece_positions(segments, counts, width, len(format.prefix)), 0)
    count = pieces.first[token + 1] - pieces.first[token]
    piece_position, pooled = _select_pieces(count, is_word, positions, pooling)
    word_position = np.repeat(np.flatnonzero(is_real), pooled)
    piece_position[~np.repeat(is_word, pooled)] = segments.initial * width
    return {
        "pieces.ids": ids, "pieces.mask": mask,
        "pieces.position": piece_position, "pieces.word": word_position,
    }  # fmt: skip


def _fill_segments(
    pieces: np.ndarray, begin: np.ndarray, segments: _Segments, format: SegmentFormat
) -> tuple[np.ndarray, np.ndarray]:
    """Fill the segments and their mask; begin: the index of each sentence's first piece."""
    prefix_size = len(format.prefix)
    end = (prefix_size + segments.size)[:, None]  # [segments, 1]
    position = np.arange(max(1, int(end.max()) + len(format.suffix)))
    ids = np.full((len(end), len(position)), format.pad, dtype=np.int64)
    ids[:, :prefix_size] = format.prefix
    inside = (position >= prefix_size) & (position < end)
    index = (begin[segments.sentence] + segments.start - prefix_size)[:, None] + position
    ids[inside] = pieces[index[inside]]
    np.put_along_axis(ids, end + np.arange(len(format.suffix)), format.suffix[None], axis=1)
    mask = position < end + len(format.suffix)
    mask[:, 0] = True  # attention of an empty segment would be NaN
    return ids, mask.astype(np.int64)


def _make_segments(counts: np.ndarray, capacity: int, overlap: int) -> _Segments:
    """Divide sentences with these numbers of pieces into segments of at most `capacity` pieces.

    A sentence has as few segments as possible, at equal distances; if there are several, all are
    full. A piece is used from the segment whose middle is nearest (the earlier of two), where it
    has the most context on its shorter side.
    """
    step = capacity - min(max(overlap, 0), capacity // 2)
    excess = np.maximum(counts - capacity, 0)
    number = 1 + -(-excess // step)  # [sentences]
    initial = np.cumsum(number) - number
    sentence = np.repeat(np.arange(len(counts)), number)
    rank = np.arange(len(sentence)) - initial[sentence]
    start = rank * excess[sentence] // np.maximum(number - 1, 1)[sentence]
    first_used = np.zeros_like(start)
    first_used[1:] = (start[:-1] + start[1:] + capacity + 1) // 2
    first_used[initial] = 0
    return _Segments(sentence, start, np.minimum(counts, capacity)[sentence], first_used, initial)


def _piece_positions(
    segments: _Segments, counts: np.ndarray, width: int, prefix_size: int
) -> np.ndarray:
    """Find the positions in the flattened [segments * width] to use pieces from, [pieces]."""
    used_end = np.append(segments.first_used[1:], 0)
    used_end[np.append(segments.initial[1:], len(used_end)) - 1] = counts
    shift = np.arange(len(used_end)) * width + prefix_size - segments.start
    local = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(shift, used_end - segments.first_used) + local


def _select_pieces(
    count: np.ndarray, is_word: np.ndarray, positions: np.ndarray, pooling: Pooling
) -> tuple[np.ndarray, np.ndarray]:
    """Select the positions of the pieces that make word vectors, and count them for each token.

    count: the number of pieces of each token, [tokens]; positions: those of all pieces, and a last
    one without meaning, [pieces + 1]. w0 gets one position, which the caller must set.
    """
    selected = np.where(is_word, count, 1) if pooling == "mean" else np.ones_like(count)
    first = np.cumsum(count) - (1 if pooling == "last" else count)
    shift = first - (np.cumsum(selected) - selected)
    return positions[np.arange(selected.sum()) + np.repeat(shift, selected)], selected
