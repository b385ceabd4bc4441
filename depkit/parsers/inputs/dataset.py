"""Sentences encoded as named arrays, on the host.

Position 0 of a sentence is w0, the artificial root; its words have the positions from 1.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.batching import Batch, Batches, group_forms, rounded_length
from depkit.parsers.inputs.characters import encode_characters
from depkit.parsers.inputs.part import EncodingInput, MakeArrays, Rows
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.inputs.vocabulary import Vocabulary

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
    make_arrays: Sequence[MakeArrays] = ()  # make arrays of a batch with other rows
    shared: dict[str, Any] = field(default_factory=dict)  # values that all batches have

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def dataset(self) -> "Dataset":
        """The dataset itself; each of its sentences is a training example."""
        return self

    def batch(self, indices: np.ndarray) -> Batch:
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
        for make in self.make_arrays:
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
    form = [0]  # the first entry is padding
    columns: dict[str, list[int]] = defaultdict(lambda: [IGNORED])
    for number, sentence in enumerate(sentences):
        form += [1, *map(forms.__getitem__, sentence.form)]
        for name, column in targets(sentence).items() if targets else ():
            has_gold = num_gold is None or number < num_gold
            columns[name] += [IGNORED, *(column if has_gold else [IGNORED] * len(sentence))]
    if isinstance(context, Sequence):
        context = np.concatenate((np.zeros_like(context[0][:1]), *context))
    gold = {name: np.array(column, dtype=np.int64) for name, column in columns.items()}
    source = EncodingInput(
        sentences, list(forms), np.array(form, np.int64), gold, context, transformer
    )
    parts = used_parts(inputs)
    words: dict[str, Rows] = {f"target.{name}": column for name, column in gold.items()}
    form_arrays: dict[str, np.ndarray] = {}
    for part in parts:
        words |= part.encode(source, vocabulary)
        if part.reads_forms:
            form_arrays |= part.encode_forms(source.forms, vocabulary)
    if any(part.reads_forms for part in parts):
        form_arrays |= encode_characters(source.forms, vocabulary.characters)
    make_arrays = [make for part in parts if (make := part.batch_arrays(source))]
    return Dataset(sizes, starts, words, source.form, list(forms), form_arrays, make_arrays)


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
