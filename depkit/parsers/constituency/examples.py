"""Training examples of a constituency parser: sentences with the spans of their trees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depkit.corpus.cleaning import prepare_tree
from depkit.corpus.sentence import Sentence
from depkit.corpus.spans import Span, tree_to_spans
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.inputs.tables import Table

COLUMN = "constituents"  # the name of the table of labels in the vocabulary
SPANS = "spans"  # the name of the array of spans in a batch


@dataclass(frozen=True)
class TreeExamples:
    """Sentences with the spans of their gold trees.

    Attributes:
        dataset: The sentences.
        spans: [spans, 3], the start, end and label of the spans of all sentences, as in `batch`.
        starts: [sentences + 1], where the spans of each sentence start.
    """

    dataset: Dataset
    spans: np.ndarray
    starts: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return self.dataset.sizes

    def batch(self, indices: np.ndarray) -> Batch:
        """Make the batch of the sentences with these indices, and with the spans of their trees.

        The array SPANS on the host is [spans, 4]: for each span its sentence in the batch, start,
        end and label; a label is its index in the vocabulary + 1.
        """
        batch = self.dataset.batch(indices)
        sizes = self.starts[indices + 1] - self.starts[indices]
        row = np.repeat(np.arange(len(indices)), sizes)
        # The distance of each span from the first one of its sentence
        offset = np.arange(len(row)) - np.repeat(sizes.cumsum() - sizes, sizes)
        spans = np.column_stack((row, self.spans[self.starts[indices][row] + offset]))
        return replace(batch, host=batch.host | {SPANS: spans})


def make_examples(dataset: Dataset, sentences: Sequence[Sentence], labels: Table) -> TreeExamples:
    """Encode the trees of the sentences of a dataset; labels: the table of the vocabulary.

    A label that the vocabulary does not have becomes 0, the empty label.
    """
    spans: list[tuple[int, int, int]] = []
    starts = [0]
    for sentence in sentences:
        spans.extend(
            (span.start, span.end, labels.indices.get(symbol, -1) + 1)
            for span, symbol in labelled_spans(sentence)
        )
        starts.append(len(spans))
    return TreeExamples(
        dataset, np.array(spans, dtype=np.int64).reshape(-1, 3), np.array(starts, dtype=np.int64)
    )


def labelled_spans(sentence: Sentence) -> list[tuple[Span, str]]:
    """Return the spans of a sentence's tree, each with the symbol of its labels.

    The symbol has the labels of a chain of unary constituents, separated by spaces. The tree is
    prepared as `prepare_tree` says.
    """
    assert sentence.constituents is not None
    spans = tree_to_spans(prepare_tree(sentence.constituents))
    return [(span, " ".join(span.labels)) for span in spans]
