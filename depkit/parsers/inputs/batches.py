"""Encode sentences as arrays, and make padded batches of them without a loop over the tokens.

Position 0 of a sentence is w0, the artificial root; its words have the positions from 1.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Context, Inputs
from depkit.parsers.engine.device import send
from depkit.parsers.inputs.pieces import (
    PieceBatch,
    find_segment_format,
    make_piece_batch,
    split_into_pieces,
)
from depkit.parsers.inputs.priors import encode_priors
from depkit.parsers.inputs.soft_targets import SoftBatch, SoftTargets, unpack
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import (
    LONGEST_WORD,
    PAD,
    ROOT,
    Vocabulary,
    input_tags,
    treebank_name,
)

IGNORED = -100  # the target of a word that does not contribute to the loss
# The character LSTM reads forms of similar length together. These are the maximum numbers of
# characters of the forms in each group.
_GROUP_WIDTHS = (4, 8, 16, LONGEST_WORD)
FORM_MULTIPLE = 32  # a group of forms is padded to a multiple of this number

# Makes the pieces of a batch from the starts and sizes of its sentences in the dataset, and the
# length that the sentences are padded to.
PieceBatcher = Callable[[np.ndarray, np.ndarray, int], PieceBatch]

# Returns the targets of a sentence by name: one number for each word.
Targets = Callable[[Sentence], dict[str, list[int]]]


class Batches(Protocol):
    """A source of batches: sentences, or the smaller units on which a family is trained."""

    def batch(self, indices: np.ndarray) -> Any:
        """Make the batch of the sentences or units with these indices."""


class Examples(Batches, Protocol):
    """Training examples. Their batches have an attribute `words`, a number of words."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of positions of each example without padding, [examples], on the host."""

    @property
    def dataset(self) -> "Dataset":
        """The sentences that the examples are made of."""


@dataclass(frozen=True)
class SelectedRows:
    """Selected rows of an array, in any order. A row is read only when it is indexed."""

    array: np.ndarray
    rows: np.ndarray

    def __getitem__(self, index: np.ndarray | slice) -> np.ndarray:
        return self.array[self.rows[index]]


ContextArray = np.ndarray | SelectedRows  # contextual vectors, in the order of a Dataset's entries


@dataclass(frozen=True)
class Dataset:
    """Encoded sentences, concatenated.

    Entry 0 is padding. It is followed, for each sentence, by an entry for w0 and one for each word.
    `total` is the number of all entries. Tensors are on the device, arrays on the host.
    """

    sizes: np.ndarray  # [sentences], number of words and w0
    starts: np.ndarray  # [sentences], index of w0's entry
    form: np.ndarray  # [total], index into `forms`
    forms: list[str]  # the distinct forms
    host_form_sizes: np.ndarray  # [forms], `form_sizes` on the host
    word: Tensor  # [total], index of the word in the vocabulary
    vector: Tensor  # [total], row of the pretrained vectors
    tag: Tensor  # [total], index of the tag in the vocabulary
    targets: dict[str, Tensor]  # [total] each, by name
    characters: Tensor  # [forms, LONGEST_WORD], indices in the vocabulary
    form_sizes: Tensor  # [forms], number of characters
    form_vectors: Tensor | None = None  # [forms, size], if computed in advance from the characters
    # Contextual vectors, [total, layers, width], which may be in a file. If they are None, a
    # transformer may compute them from the pieces that `piece_batcher` makes.
    context: np.ndarray | SelectedRows | None = None
    piece_batcher: PieceBatcher | None = None
    soft: SoftTargets | None = None  # a teacher's predictions
    treebank: Tensor | None = None  # [total], index of the treebank, if the network reads it
    # [total] each, if the network corrects a parse: the heads of that parse, -1 for none, and 1 +
    # the indices of its labels, 0 for none
    draft: tuple[Tensor, Tensor] | None = None
    prior_row: Tensor | None = None  # [total], row of the tables of `priors`
    # For each column, the most probable values of a form and their probabilities, regardless of its
    # context, [rows, value]
    priors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def dataset(self) -> "Dataset":
        """The dataset itself; each of its sentences is a training example."""
        return self

    def batch(self, indices: np.ndarray) -> "Batch":
        """Make the batch of the sentences with these indices."""
        return make_batch(self, self.starts[indices], self.sizes[indices])


@dataclass(frozen=True)
class Batch:
    """Padded sentences on a device, w0 first."""

    sizes: np.ndarray  # [batch], number of words and w0, on the host
    lengths: Tensor  # [batch], the same on the device
    word: Tensor  # [batch, length]
    vector: Tensor  # [batch, length]
    tag: Tensor  # [batch, length]
    form: Tensor  # [batch, length], row of form_vectors, or of characters if form_vectors is None
    form_vectors: Tensor | None  # [forms, size]
    characters: Tensor  # [forms, LONGEST_WORD]
    form_sizes: Tensor  # [forms], number of characters
    form_groups: list[tuple[int, int]]  # (end, width) of each group of rows of `characters`
    targets: dict[str, Tensor]  # [batch, length] each; IGNORED at positions without loss
    context: Tensor | None  # [batch, length, layers, width]
    pieces: PieceBatch | None  # from which a transformer computes the context
    soft: SoftBatch | None
    words: int  # number of words, without w0 and padding
    treebank: Tensor | None  # [batch, length]
    draft: tuple[Tensor, Tensor] | None  # heads and labels, [batch, length] each; see `Dataset`
    # For each column, values and their probabilities, [batch, length, value]
    priors: dict[str, tuple[Tensor, Tensor]]


def encode(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    inputs: Inputs,
    device: torch.device,
    targets: Targets | None = None,
    context: ContextArray | Sequence[np.ndarray] | None = None,
    transformer: Transformer | None = None,
    num_gold: int | None = None,
) -> Dataset:
    """Encode sentences as a Dataset on a device.

    Args:
        sentences: The sentences.
        vocabulary: Gives the indices of words, tags and characters.
        inputs: The configuration of the inputs, which says what the network reads.
        device: The device of the tensors.
        targets: Returns the training targets of a sentence, IGNORED for words without loss; None
            when parsing.
        context: Contextual vectors, [total, layers, width], or one array for each sentence, which
            begins with the vector of w0.
        transformer: The transformer that reads the sentences if `context` is None.
        num_gold: The number of sentences with targets, which come first; None if all have them. The
            targets of the others are IGNORED.
    """
    sizes, starts = layout(sentences)
    if isinstance(context, Sequence):
        padding = np.zeros_like(context[0][:1])
        context = np.concatenate((padding, *context))
    # Indices of forms. Looking up a new form gives it the next index, from 2.
    forms: dict[str, int] = defaultdict(count(2).__next__)
    forms |= {"": 0, "\n": 1}  # keys for padding and w0 that are never the form of a word
    # Entry 0 of each of these lists is padding.
    form, tag, treebank = [0], [PAD], [0]
    draft_head, draft_label = [-1], [0]
    columns: dict[str, list[int]] = defaultdict(lambda: [IGNORED])
    for number, sentence in enumerate(sentences):
        form += [1, *map(forms.__getitem__, sentence.form)]
        if vocabulary.treebanks:
            name = inputs.treebank_name or treebank_name(sentence)
            treebank += [vocabulary.treebanks.indices.get(name, 0)] * (1 + len(sentence))
        if inputs.tag:
            tag += [ROOT, *map(vocabulary.tags.get, input_tags(sentence, inputs.tag_column))]
        if inputs.draft:
            assert sentence.draft is not None  # the sentence itself may have the gold tree
            draft_head += [-1, *sentence.draft.head]
            labels = vocabulary.columns["deprel"].indices
            draft_label += [0, *(1 + labels.get(label, -1) for label in sentence.draft.deprel)]
        for name, column in targets(sentence).items() if targets else ():
            has_gold = num_gold is None or number < num_gold
            columns[name] += [IGNORED, *(column if has_gold else [IGNORED] * len(sentence))]
    distinct_forms = list(forms)
    form_indices = np.array(form, dtype=np.int64)
    words = map(str.lower, distinct_forms[2:]) if inputs.lowercase else distinct_forms[2:]
    word = np.array([PAD, ROOT, *map(vocabulary.words.get, words)])[form_indices]
    vector = word
    if vocabulary.vectors:
        rows = [PAD, ROOT, *map(vocabulary.vector_row, distinct_forms[2:])]
        vector = np.array(rows)[form_indices]
    characters, form_sizes = _encode_characters(distinct_forms, vocabulary)

    def to_device(numbers: Iterable[int] | np.ndarray) -> Tensor:
        return send(torch.as_tensor(np.asarray(numbers, dtype=np.int64)), device)

    prior_row, priors = None, {}
    if inputs.prior and vocabulary.priors:
        row_numbers, tables = encode_priors(
            vocabulary.priors, distinct_forms, form_indices, columns
        )
        prior_row = to_device(row_numbers)
        priors = {
            name: (to_device(values), send(torch.from_numpy(probabilities), device))
            for name, (values, probabilities) in tables.items()
        }
    return Dataset(
        sizes, starts, form_indices, distinct_forms, form_sizes, to_device(word), to_device(vector),
        # Without tag inputs, no network reads the tags, but the array must have the right shape.
        to_device(tag) if inputs.tag else to_device(word),
        {name: to_device(column) for name, column in columns.items()},
        to_device(characters), to_device(form_sizes), context=context,
        piece_batcher=make_piece_batcher(sentences, transformer, inputs.context, device)
        if transformer and context is None else None,
        treebank=to_device(treebank) if vocabulary.treebanks else None,
        draft=(to_device(draft_head), to_device(draft_label)) if inputs.draft else None,
        prior_row=prior_row, priors=priors,
    )  # fmt: skip


def layout(sentences: Sequence[Sentence]) -> tuple[np.ndarray, np.ndarray]:
    """Return the `sizes` and `starts` of the Dataset of these sentences."""
    sizes = np.array([len(sentence) + 1 for sentence in sentences], dtype=np.int64)
    starts = 1 + np.cumsum(sizes) - sizes  # entry 0 is padding
    return sizes, starts


def split_context(context: ContextArray, sizes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the contextual vectors of each sentence of a Dataset, from that of w0 on."""
    start = 1  # entry 0 is padding
    for size in sizes.tolist():
        yield context[start : start + size]
        start += size


def make_piece_batcher(
    sentences: Sequence[Sentence], transformer: Transformer, config: Context, device: torch.device
) -> PieceBatcher:
    """Split sentences into pieces, and return the function that makes batches of the pieces.

    Args:
        sentences: The sentences of a Dataset.
        transformer: The transformer that will read the pieces.
        config: The settings of contextual vectors.
        device: The device of the batches.
    """
    pieces = split_into_pieces([sentence.form for sentence in sentences], transformer.tokenizer)
    return partial(
        make_piece_batch, pieces,
        format=find_segment_format(transformer.tokenizer, transformer.max_pieces),
        pooling=config.pooling, overlap=config.overlap, device=device,
    )  # fmt: skip


def _encode_characters(
    forms: Iterable[str], vocabulary: Vocabulary
) -> tuple[np.ndarray, np.ndarray]:
    """Return the character indices of forms, [forms, LONGEST_WORD], and their numbers, [forms].

    The first two forms are the keys for padding and w0.
    """
    rows = [vocabulary.character_indices(form) for form in forms]
    rows[:2] = [[PAD], [ROOT]]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    characters = np.zeros((len(rows), LONGEST_WORD), dtype=np.int64)
    characters[np.arange(LONGEST_WORD) < sizes[:, None]] = np.concatenate(rows)
    return characters, sizes


def make_batch(data: Dataset, starts: np.ndarray, sizes: np.ndarray) -> Batch:
    """Make a batch of spans of a dataset; usually the spans are sentences.

    All indices are computed on the host and sent to the device in one transfer, so that the host
    never waits for a GPU. Lengths and numbers of forms are rounded up so that few shapes occur,
    because kernels are compiled for each shape.

    Args:
        data: The dataset.
        starts: [batch], the first entry of each span.
        sizes: [batch], the number of entries of each span.
    """
    device = data.word.device
    length = rounded_length(int(sizes.max()))
    position = np.arange(length)
    index = np.where(position < sizes[:, None], starts[:, None] + position, 0)  # 0 is padding
    groups: list[tuple[int, int]] = []
    form, batch_forms = data.form[index], np.zeros(0, dtype=np.int64)
    if data.form_vectors is None:
        # The batch has the characters of its own forms only; `form` becomes a row of these.
        distinct_forms, inverse = np.unique(form, return_inverse=True)
        batch_forms, rows, groups = group_forms(distinct_forms, data.host_form_sizes)
        form = rows[inverse]
    parts = [index.ravel(), form.ravel(), batch_forms, sizes]
    on_device = send(torch.as_tensor(np.concatenate(parts)), device)
    entries, form_rows, forms, lengths = on_device.split([len(part) for part in parts])
    shape = index.shape
    context = None
    if data.context is not None:
        context = send(torch.from_numpy(data.context[index]), device)
    soft = None
    if data.soft is not None:
        packed = send(torch.from_numpy(data.soft.rows[index].astype(np.int32)), device)
        soft = unpack(packed, data.soft.columns, data.soft.weight)
    draft = None
    if data.draft is not None:
        draft_head, draft_label = (column[entries].view(shape) for column in data.draft)
        draft = draft_head, draft_label
    priors = {}
    if data.prior_row is not None:
        prior_row = data.prior_row[entries].view(shape)
        priors = {
            name: (values[prior_row], probabilities[prior_row])
            for name, (values, probabilities) in data.priors.items()
        }
    return Batch(
        sizes, lengths, data.word[entries].view(shape), data.vector[entries].view(shape),
        data.tag[entries].view(shape), form_rows.view(shape), data.form_vectors,
        data.characters[forms], data.form_sizes[forms], groups,
        {name: column[entries].view(shape) for name, column in data.targets.items()},
        context, data.piece_batcher(starts, sizes, length) if data.piece_batcher else None, soft,
        int(sizes.sum()) - len(sizes),
        None if data.treebank is None else data.treebank[entries].view(shape), draft, priors,
    )  # fmt: skip


def group_forms(
    distinct: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Sort forms into groups of similar length.

    Each group is padded, with the form of index 0, to a multiple of FORM_MULTIPLE.

    Args:
        distinct: [forms], the indices of distinct forms.
        sizes: The numbers of characters of all forms of the dataset.

    Returns:
        The indices in the order of the groups, with padding; [forms], for each element of
        `distinct`, its index in that array; for each group, the index of its end in that array and
        its maximum number of characters.
    """
    rows = np.empty_like(distinct)
    parts: list[np.ndarray] = []
    groups: list[tuple[int, int]] = []
    end, previous_width = 0, 0
    for width in _GROUP_WIDTHS:
        members = np.flatnonzero((sizes[distinct] > previous_width) & (sizes[distinct] <= width))
        previous_width = width
        if len(members):
            rows[members] = np.arange(end, end + len(members))
            padding = np.zeros(-len(members) % FORM_MULTIPLE, dtype=distinct.dtype)
            parts += [distinct[members], padding]
            end += len(members) + len(padding)
            groups.append((end, width))
    return np.concatenate(parts), rows, groups


def rounded_length(length: int) -> int:
    """Round a length up to the length of a padded batch, which is less than 1/8 longer.

    Between two powers of two there are eight rounded lengths; lengths up to 16 are not rounded.
    """
    step = 1 << max(0, (length - 1).bit_length() - 4)
    return -(-length // step) * step


def length_batches(
    sizes: np.ndarray,
    tokens: int,
    random: np.random.Generator | None = None,
    repeat_to_fill: bool = False,
) -> list[np.ndarray]:
    """Group sentences of similar length into batches; return the sentence indices of each.

    Lengths are rounded. All full batches of one rounded length have the same number of sentences.
    The sentences that do not fill a batch are added to those of the next length. Therefore few
    shapes occur; kernels are compiled for each shape.

    Args:
        sizes: The lengths of the sentences, [sentences].
        tokens: The maximum number of tokens in a batch, padding included. A longer sentence is a
            batch by itself.
        random: Shuffles the sentences and the batches; by default, the shortest come first.
        repeat_to_fill: Whether to repeat sentences to fill a batch where the sentences that remain
            of a length do not fit into one batch of the next length, or there is no next length.
            Then a length has at most three shapes, unless there is only one batch.
    """
    order = np.arange(len(sizes)) if random is None else random.permutation(len(sizes))
    rounded = np.array([rounded_length(size) for size in sizes.tolist()], dtype=np.int64)
    batches: list[np.ndarray] = []
    rest, batch_size = order[:0], 0
    for length in np.unique(rounded).tolist():
        same_length = order[rounded[order] == length]
        previous_size, batch_size = batch_size, max(1, tokens // length)
        if repeat_to_fill and len(rest) >= batch_size:
            batches.append(_fill_by_repeating(rest, previous_size))
            rest = rest[:0]
        # The first batch must contain a sentence of this length, because a batch of shorter
        # sentences only would have another shape.
        rest = np.concatenate((same_length[:1], rest, same_length[1:]))
        full = len(rest) // batch_size * batch_size
        batches += list(rest[:full].reshape(-1, batch_size))
        rest = rest[full:]
    if repeat_to_fill and len(rest):
        rest = _fill_by_repeating(rest, batch_size, only_batch=not batches)
    if len(rest):
        batches.append(rest)
    if random is not None:
        batches = [batches[i] for i in random.permutation(len(batches))]
    return batches


def _fill_by_repeating(sentences: np.ndarray, size: int, only_batch: bool = False) -> np.ndarray:
    """Repeat sentences to fill a batch of `size`, `size` / 2 or `size` / 4 sentences.

    The smallest size that all sentences fit into is used. If there is no other batch, `size` is
    halved as often as possible, because no other batch has the same shape anyway.
    """
    smallest = 1 if only_batch else size // 4
    while size // 2 >= max(smallest, len(sentences)):
        size //= 2
    return np.resize(sentences, size)
