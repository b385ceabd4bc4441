"""Sentences encoded as named arrays, on the host.

Position 0 of a sentence is w0, the artificial root; its words have the positions from 1.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Protocol

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Context, Inputs
from depkit.parsers.inputs.batching import (
    LONGEST_WORD,
    Batch,
    Batches,
    group_forms,
    rounded_length,
)
from depkit.parsers.inputs.pieces import find_segment_format, make_piece_arrays, split_into_pieces
from depkit.parsers.inputs.priors import encode_priors
from depkit.parsers.inputs.vocabulary import (
    PAD,
    ROOT,
    Vocabulary,
    input_tags,
    treebank_name,
)

IGNORED = -100  # the target of a word that does not contribute to the loss

# Returns the targets of a sentence by name: one number for each word.
Targets = Callable[[Sentence], dict[str, list[int]]]


class Examples(Batches, Protocol):
    """Training examples. Their batches have an attribute `words`, a number of words."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of positions of each example without padding, [examples]."""

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


Rows = np.ndarray | SelectedRows


@dataclass(frozen=True)
class Dataset:
    """Encoded sentences, concatenated.

    Entry 0 is padding. It is followed, for each sentence, by an entry for w0 and one for each word.
    `total` is the number of all entries.
    """

    sizes: np.ndarray  # [sentences], number of words and w0
    starts: np.ndarray  # [sentences], index of w0's entry
    words: dict[str, Rows]  # [total, ...] each
    form: np.ndarray  # [total], index into `forms`
    forms: list[str]  # the distinct forms
    form_arrays: dict[str, np.ndarray]  # [forms, ...] each; {} if they are not read
    # Make further arrays of a batch, from the starts and sizes of its sentences, and their length
    further: tuple[Callable[[np.ndarray, np.ndarray, int], dict[str, np.ndarray]], ...] = ()
    shared: dict[str, Any] = field(default_factory=dict)  # what every batch has as it is

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def dataset(self) -> "Dataset":
        """The dataset itself; each of its sentences is a training example."""
        return self

    def batch(self, indices: np.ndarray) -> Batch:
        """Make the batch of the sentences with these indices."""
        return self.make_batch(self.starts[indices], self.sizes[indices])

    def make_batch(self, starts: np.ndarray, sizes: np.ndarray) -> Batch:
        """Make a batch of spans of the entries; usually the spans are sentences.

        starts and sizes: [batch], the first entry of each span, and the number of its entries.
        """
        length = rounded_length(int(sizes.max()))
        position = np.arange(length)
        index = np.where(position < sizes[:, None], starts[:, None] + position, 0)  # 0 is padding
        arrays = {"lengths": sizes} | {name: rows[index] for name, rows in self.words.items()}
        host: dict[str, Any] = {}
        if self.form_arrays:
            # The batch has the arrays of its own forms only; "form" becomes a row of these.
            distinct, inverse = np.unique(self.form[index], return_inverse=True)
            forms, rows, groups = group_forms(distinct, self.form_arrays["form_sizes"])
            arrays["form"] = rows[inverse].reshape(index.shape)
            arrays |= {name: array[forms] for name, array in self.form_arrays.items()}
            host["form_groups"] = groups
        else:
            arrays["form"] = self.form[index]
        for make in self.further:
            arrays |= make(starts, sizes, length)
        words = int(sizes.sum()) - len(sizes)
        return Batch(sizes, length, words, arrays | self.shared, host)


def encode(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    inputs: Inputs,
    targets: Targets | None = None,
    *,
    context: Rows | Sequence[np.ndarray] | None = None,
    transformer: Any = None,
    num_gold: int | None = None,
) -> Dataset:
    """Encode sentences as a Dataset.

    Args:
        sentences: The sentences.
        vocabulary: Gives the indices of words, tags and characters.
        inputs: The configuration of the inputs, which says what the network reads.
        targets: Returns the training targets of a sentence, IGNORED for words without loss; None
            when parsing. That of the column X becomes the array "target.X".
        context: Contextual vectors, [total, layers, width], or one array for each sentence, which
            begins with the vector of w0.
        transformer: The transformer that reads the sentences if `context` is None.
        num_gold: The number of sentences with targets, which come first; None if all have them. The
            targets of the others are IGNORED.
    """
    sizes, starts = layout(sentences)
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
    lower = map(str.lower, distinct_forms[2:]) if inputs.lowercase else distinct_forms[2:]
    arrays: dict[str, Rows] = {
        "word": np.array([PAD, ROOT, *map(vocabulary.words.get, lower)])[form_indices]
    }
    if vocabulary.vectors:
        rows = [PAD, ROOT, *map(vocabulary.vector_row, distinct_forms[2:])]
        arrays["vector"] = np.array(rows)[form_indices]
    if inputs.tag:
        arrays["tag"] = np.array(tag)
    if vocabulary.treebanks:
        arrays["treebank"] = np.array(treebank)
    if inputs.draft:
        arrays |= {"draft.head": np.array(draft_head), "draft.label": np.array(draft_label)}
    if inputs.prior and vocabulary.priors:
        row, tables = encode_priors(vocabulary.priors, distinct_forms, form_indices, columns)
        for name, (values, probabilities) in tables.items():
            arrays[f"prior.{name}.values"] = SelectedRows(values, row)
            arrays[f"prior.{name}.probabilities"] = SelectedRows(probabilities, row)
    if isinstance(context, Sequence):
        context = np.concatenate((np.zeros_like(context[0][:1]), *context))
    if context is not None:
        arrays["context"] = context
    arrays |= {f"target.{name}": np.array(column) for name, column in columns.items()}
    return Dataset(
        sizes, starts, arrays, form_indices, distinct_forms,
        _encode_characters(distinct_forms, vocabulary) if inputs.reads_forms else {},
        (make_piece_batcher(sentences, transformer, inputs.context),)
        if transformer and context is None else (),
    )  # fmt: skip


def layout(sentences: Sequence[Sentence]) -> tuple[np.ndarray, np.ndarray]:
    """Return the `sizes` and `starts` of the Dataset of these sentences."""
    sizes = np.array([len(sentence) + 1 for sentence in sentences], dtype=np.int64)
    starts = 1 + np.cumsum(sizes) - sizes  # entry 0 is padding
    return sizes, starts


def split_context(context: Rows, sizes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the contextual vectors of each sentence of a Dataset, from that of w0 on."""
    start = 1  # entry 0 is padding
    for size in sizes.tolist():
        yield context[start : start + size]
        start += size


def make_piece_batcher(
    sentences: Sequence[Sentence], transformer: Any, config: Context
) -> Callable[[np.ndarray, np.ndarray, int], dict[str, np.ndarray]]:
    """Split sentences into pieces, and return the function that makes the pieces of a batch.

    Args:
        sentences: The sentences of a Dataset.
        transformer: The transformer that will read the pieces.
        config: The settings of contextual vectors.
    """
    pieces = split_into_pieces([sentence.form for sentence in sentences], transformer.tokenizer)
    return partial(
        make_piece_arrays, pieces,
        format=find_segment_format(transformer.tokenizer, transformer.max_pieces),
        pooling=config.pooling, overlap=config.overlap,
    )  # fmt: skip


def _encode_characters(forms: Iterable[str], vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """Return the character indices of forms, [forms, LONGEST_WORD], and their numbers, [forms].

    The first two forms are the keys for padding and w0.
    """
    rows = [vocabulary.character_indices(form) for form in forms]
    rows[:2] = [[PAD], [ROOT]]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    characters = np.zeros((len(rows), LONGEST_WORD), dtype=np.int64)
    characters[np.arange(LONGEST_WORD) < sizes[:, None]] = np.concatenate(rows)
    return {"characters": characters, "form_sizes": sizes}
