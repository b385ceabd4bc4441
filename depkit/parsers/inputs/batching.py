"""Padded batches of named arrays, and the grouping of sentences of similar length into batches.

Lengths and numbers of forms are rounded up so that few shapes occur, because kernels are compiled
for each shape.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

LONGEST_WORD = 32  # characters; the middle of a longer word is left out
# The characters of forms of similar length are read together. These are the maximum numbers of
# characters of the forms in each group.
_GROUP_WIDTHS = (4, 8, 16, LONGEST_WORD)
MAX_RATIO = 4  # of the longest to the shortest sentence of a batch; see `similar_batches`
FORM_MULTIPLE = 32  # a group of forms is padded to a multiple of this number


@dataclass(frozen=True)
class Batch:
    """Padded sentences, w0 first, as named arrays; `batch["lengths"]` is an array.

    On a device, `arrays` are tensors, and `host` has the same arrays on the host.
    """

    sizes: np.ndarray  # [batch], number of words and w0
    length: int  # of the padded sentences
    words: int  # number of words, without w0 and padding
    arrays: dict[str, Any]  # most are [batch, length, ...], with one row a word
    host: dict[str, Any] = field(default_factory=dict)  # also what is not needed on the device

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    @property
    def shape(self) -> tuple[int, int]:
        """The number of sentences, and their padded length."""
        return len(self.sizes), self.length


class Batches(Protocol):
    """A source of batches: sentences, or the smaller units on which a family is trained."""

    def batch(self, indices: np.ndarray) -> Any:
        """Make the batch of the sentences or units with these indices."""


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


def exact_batches(sizes: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Group sentences of equal length into batches; return the sentence indices of each.

    Without padding, the scores of a sentence do not depend on the other sentences of its batch.

    Args:
        sizes: The lengths of the sentences, [sentences].
        tokens: The maximum number of tokens in a batch. A longer sentence is a batch by itself.
    """
    order = np.argsort(sizes, kind="stable")
    starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
    batches = []
    for group in np.split(order, starts[1:]):
        size = max(1, tokens // int(sizes[group[0]]))
        batches += [group[start : start + size] for start in range(0, len(group), size)]
    return batches


def similar_batches(sizes: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Group sentences of similar length into batches, the shortest first; return their indices.

    Args:
        sizes: The lengths of the sentences, [sentences]; at least one.
        tokens: The maximum number of tokens in a batch, padding included. A longer sentence is a
            batch by itself.
    """
    order = np.argsort(sizes, kind="stable")
    starts, shortest = [0], int(sizes[order[0]])
    for index, size in enumerate(sizes[order].tolist()):
        count = index + 1 - starts[-1]
        if count > 1 and (count * size > tokens or size > MAX_RATIO * shortest):
            starts.append(index)
            shortest = size
    return np.split(order, starts[1:])


def _fill_by_repeating(sentences: np.ndarray, size: int, only_batch: bool = False) -> np.ndarray:
    """Repeat sentences to fill a batch of `size`, `size` / 2 or `size` / 4 sentences.

    The smallest size that all sentences fit into is used. If there is no other batch, `size` is
    halved as often as possible, because no other batch has the same shape anyway.
    """
    smallest = 1 if only_batch else size // 4
    while size // 2 >= max(smallest, len(sentences)):
        size //= 2
    return np.resize(sentences, size)
