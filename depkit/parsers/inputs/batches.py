"""Sentences as arrays, and padded batches of them, without a loop over tokens.

A sentence is w0, the artificial root, followed by its words.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Context, Inputs
from depkit.parsers.device import send
from depkit.parsers.inputs.pieces import PieceBatch, cut, find_frame, piece_batch
from depkit.parsers.inputs.soft_targets import SoftBatch, SoftTargets, unpack
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import LONGEST_WORD, PAD, ROOT, Vocabulary

IGNORED = -100  # a target that counts in no loss
_WIDTHS = (4, 8, 16, LONGEST_WORD)  # distinct forms are read in groups of so many characters
FORMS = 32  # groups of forms are filled up to a multiple of it

# starts and sizes of a batch's sentences in the dataset, and the length that they are padded to
Cut = Callable[[np.ndarray, np.ndarray, int], PieceBatch]


# The targets of a sentence's words by name, a number a word
Targets = Callable[[Sentence], dict[str, list[int]]]


class Batches(Protocol):
    """Sentences, or smaller units that a family trains on, of which batches can be made."""

    def batch(self, numbers: np.ndarray) -> Any:
        """The batch of some of them, given by number."""


class Examples(Batches, Protocol):
    """What is trained on. Its batches have `words`, how many there are in them.

    sizes: [examples], on the host: how many positions of a batch each takes before padding;
    dataset: the sentences that the examples are of.
    """

    @property
    def sizes(self) -> np.ndarray: ...

    @property
    def dataset(self) -> "Dataset": ...


@dataclass(frozen=True)
class Gathered:
    """Rows of an array in another order, or some of them, read when they are asked for."""

    array: np.ndarray
    rows: np.ndarray

    def __getitem__(self, index: np.ndarray | slice) -> np.ndarray:
        return self.array[self.rows[index]]


Laid = np.ndarray | Gathered  # contextual vectors, laid out as a Dataset


@dataclass(frozen=True)
class Dataset:
    """Sentences laid end to end: a padding entry, then for each w0 and its words.

    sizes, starts: [sentences], on the host: words and w0, and where w0 lies. form: [total],
    on the host: the number of the distinct form, of `forms`. The tensors lie on the device:
    word, tag, vector (the row of pretrained vectors), [total]; targets by name, [total];
    characters: [forms, LONGEST_WORD]; form_sizes: [forms], also on the host as `form_widths`.
    form_vectors: [forms, features], if the characters have been read already. context: [total,
    layers, width] on the host (it may be a file), and cut, what makes a batch's pieces for a
    transformer: contextual vectors come by one of the two, or not at all. soft: what a teacher
    thinks of the words, on the host, if there is one.
    """

    sizes: np.ndarray
    starts: np.ndarray
    form: np.ndarray
    forms: list[str]
    form_widths: np.ndarray
    word: Tensor
    vector: Tensor
    tag: Tensor
    targets: dict[str, Tensor]
    characters: Tensor
    form_sizes: Tensor
    form_vectors: Tensor | None = None
    context: np.ndarray | Gathered | None = None
    cut: Cut | None = None
    soft: SoftTargets | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def dataset(self) -> "Dataset":
        """As training examples these are whole sentences."""
        return self

    def batch(self, numbers: np.ndarray) -> "Batch":
        """The batch of some of the sentences, given by number."""
        return make_batch(self, self.starts[numbers], self.sizes[numbers])


@dataclass(frozen=True)
class Batch:
    """Padded sentences on a device, w0 first.

    sizes: [batch], on the host: their words and w0; lengths: the same on the device. word, vector,
    tag, form: [batch, length]; form numbers rows of form_vectors: [forms, features] or, where that
    is None, of characters: [forms, longest], form_sizes: [forms], in groups of (end, width).
    targets by name: [batch, length], gold, IGNORED where nothing counts. words: how many it has,
    padding and w0 not counted.
    context: [batch, length, layers, width], or pieces to read it from.
    """

    sizes: np.ndarray
    lengths: Tensor
    word: Tensor
    vector: Tensor
    tag: Tensor
    form: Tensor
    form_vectors: Tensor | None
    characters: Tensor
    form_sizes: Tensor
    groups: list[tuple[int, int]]
    targets: dict[str, Tensor]
    context: Tensor | None
    pieces: PieceBatch | None
    soft: SoftBatch | None
    words: int


def encode(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    inputs: Inputs,
    device: torch.device,
    targets: Targets | None = None,
    context: Laid | Sequence[np.ndarray] | None = None,
    transformer: Transformer | None = None,
) -> Dataset:
    """Sentences as a Dataset on a device.

    targets: what is learned of a sentence, IGNORED for words that count in no loss; None in
    parsing. context: contextual vectors, [total, layers, width], or w0's and the words' of each
    sentence; without them, what the transformer is to read is prepared, if there is one.
    """
    sizes, starts = layout(sentences)
    if isinstance(context, Sequence):
        context = np.concatenate((np.zeros_like(context[0][:1]), *context))
    forms: dict[str, int] = defaultdict(count(2).__next__)
    forms |= {"": 0, "\n": 1}  # padding and w0; no form is either
    form, tag = [0], [PAD]
    columns: dict[str, list[int]] = defaultdict(lambda: [IGNORED])
    tags = vocabulary.tags.numbers
    for sentence in sentences:
        form += [1, *map(forms.__getitem__, sentence.form)]
        if inputs.tag:
            tag += [ROOT, *(tags.get(each, 1) for each in getattr(sentence, inputs.tag_column))]
        for name, column in targets(sentence).items() if targets else ():
            columns[name] += [IGNORED, *column]
    known = list(forms)
    form_numbers = np.array(form, dtype=np.int64)
    shown = map(str.lower, known[2:]) if inputs.lowercase else known[2:]
    word = np.array([PAD, ROOT, *map(vocabulary.words.get, shown)])[form_numbers]
    vector = word
    if vocabulary.vectors:
        vector = np.array([PAD, ROOT, *map(vocabulary.vector_of, known[2:])])[form_numbers]
    characters, form_sizes = _characters(known, vocabulary)

    def put(numbers: Iterable[int] | np.ndarray) -> Tensor:
        return send(torch.as_tensor(np.asarray(numbers, dtype=np.int64)), device)

    return Dataset(
        sizes, starts, form_numbers, known, form_sizes, put(word), put(vector),
        put(tag) if inputs.tag else put(word),
        {name: put(column) for name, column in columns.items()},
        put(characters), put(form_sizes), context=context,
        cut=make_cut(sentences, transformer, inputs.context, device)
        if transformer and context is None else None,
    )  # fmt: skip


def layout(sentences: Sequence[Sentence]) -> tuple[np.ndarray, np.ndarray]:
    """The sizes and starts of a Dataset."""
    sizes = np.array([len(sentence) + 1 for sentence in sentences], dtype=np.int64)
    return sizes, np.concatenate(([1], 1 + np.cumsum(sizes)))[:-1]


def sentence_vectors(context: Laid, sizes: np.ndarray) -> Iterator[np.ndarray]:
    """The contextual vectors of each sentence, w0's first, of a Dataset's."""
    end = 1
    for size in sizes.tolist():
        yield context[end : end + size]
        end += size


def make_cut(
    sentences: Sequence[Sentence], transformer: Transformer, config: Context, device: torch.device
) -> Cut:
    """What makes the pieces of a batch of these sentences."""
    pieces = cut([sentence.form for sentence in sentences], transformer.tokenizer)
    return partial(
        piece_batch, pieces, frame=find_frame(transformer.tokenizer, transformer.longest),
        pooling=config.pooling, overlap=config.overlap, device=device,
    )  # fmt: skip


def _characters(forms: Iterable[str], vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The characters of the distinct forms, [forms, LONGEST_WORD], and how many they are."""
    rows = [vocabulary.characters_of(form) for form in forms]
    rows[:2] = [[PAD], [ROOT]]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    characters = np.zeros((len(rows), LONGEST_WORD), dtype=np.int64)
    characters[np.arange(LONGEST_WORD) < sizes[:, None]] = np.concatenate(rows)
    return characters, sizes


def make_batch(data: Dataset, starts: np.ndarray, sizes: np.ndarray) -> Batch:
    """The batch of some spans of a dataset, sentences most often.

    starts, sizes: [batch]. What the host knows (sizes, distinct forms) is worked out there and
    sent once, so that a GPU is never waited for. Lengths and numbers of forms are rounded up, as
    kernels are built anew for every shape.
    """
    device = data.word.device
    length = rounded_length(int(sizes.max()))
    position = np.arange(length)
    index = np.where(position < sizes[:, None], starts[:, None] + position, 0)
    groups: list[tuple[int, int]] = []
    form, chosen = data.form[index], np.zeros(0, dtype=np.int64)
    if data.form_vectors is None:
        distinct, inverse = np.unique(form, return_inverse=True)
        chosen, rank, groups = grouped_forms(distinct, data.form_widths)
        form = rank[inverse]
    parts = [index.ravel(), form.ravel(), chosen, sizes]
    sent = send(torch.as_tensor(np.concatenate(parts)), device)
    flat, row, forms, lengths = sent.split([len(part) for part in parts])
    shape = index.shape
    context = None
    if data.context is not None:
        context = send(torch.from_numpy(data.context[index]), device)
    soft = None
    if data.soft is not None:
        rows = send(torch.from_numpy(data.soft.rows[index].astype(np.int32)), device)
        soft = unpack(rows, data.soft.columns, data.soft.weight)
    return Batch(
        sizes, lengths, data.word[flat].view(shape), data.vector[flat].view(shape),
        data.tag[flat].view(shape), row.view(shape), data.form_vectors,
        data.characters[forms], data.form_sizes[forms], groups,
        {name: column[flat].view(shape) for name, column in data.targets.items()},
        context, data.cut(starts, sizes, length) if data.cut else None, soft,
        int(sizes.sum()) - len(sizes),
    )  # fmt: skip


def grouped_forms(
    distinct: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Distinct forms in groups of similar width, each filled up with the padding form.

    distinct: [forms], their numbers; widths: of all forms. Returns the numbers with the
    padding, the new place of each of `distinct`, and (end, width) of each group.
    """
    rank = np.empty_like(distinct)
    chosen: list[np.ndarray] = []
    groups: list[tuple[int, int]] = []
    end, narrow = 0, 0
    for width in _WIDTHS:
        members = np.flatnonzero((widths[distinct] > narrow) & (widths[distinct] <= width))
        narrow = width
        if len(members):
            rank[members] = np.arange(end, end + len(members))
            padding = np.zeros(-len(members) % FORMS, dtype=distinct.dtype)
            chosen += [distinct[members], padding]
            end += len(members) + len(padding)
            groups.append((end, width))
    return np.concatenate(chosen), rank, groups


def rounded_length(length: int) -> int:
    """The length that sentences of this length are padded to: less than an eighth more."""
    step = 1 << max(0, (length - 1).bit_length() - 4)
    return -(-length // step) * step


def length_batches(
    sizes: np.ndarray,
    tokens: int,
    random: np.random.Generator | None = None,
    filled: bool = False,
) -> list[np.ndarray]:
    """Sentence numbers in batches of similar length, of at most `tokens` padded tokens.

    sizes: [sentences]. Batches of a length are equally large, and what is left over joins
    the next length, so that few shapes occur: kernels are kept for each. A sentence longer than
    `tokens` is a batch of its own. With `random`, sentences are mixed and the batches come in
    random order; without, shortest first. filled: what is left over at last, or is too much for
    one batch of the next length, holds some of its sentences twice or more, so that a length has
    no more than three shapes where there are several batches, whatever the sizes are.
    """
    order = np.arange(len(sizes)) if random is None else random.permutation(len(sizes))
    rounded = np.array([rounded_length(size) for size in sizes.tolist()], dtype=np.int64)
    batches: list[np.ndarray] = []
    rest, size = order[:0], 0
    for length in np.unique(rounded).tolist():
        longest = order[rounded[order] == length]
        shorter, size = size, max(1, tokens // length)
        if filled and len(rest) >= size:
            batches.append(_filled(rest, shorter))
            rest = rest[:0]
        # one of them comes first: the first batch has not only shorter ones, and another shape
        rest = np.concatenate((longest[:1], rest, longest[1:]))
        full = len(rest) // size * size
        batches += list(rest[:full].reshape(-1, size))
        rest = rest[full:]
    if filled and len(rest):
        rest = _filled(rest, size, alone=not batches)
    if len(rest):
        batches.append(rest)
    if random is not None:
        batches = [batches[i] for i in random.permutation(len(batches))]
    return batches


def _filled(sentences: np.ndarray, size: int, alone: bool = False) -> np.ndarray:
    """As many as make a batch of this size, or of its half or quarter, if that is enough.

    alone: there are no other batches, so that the least that makes few shapes is the better.
    """
    least = 1 if alone else size // 4
    while size // 2 >= max(least, len(sentences)):
        size //= 2
    return np.resize(sentences, size)
