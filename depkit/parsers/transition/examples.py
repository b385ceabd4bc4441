"""Training examples of a transition parser: sentences with the transitions of their trees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.inputs.tables import Table
from depkit.trees.transitions import find_transitions

ORACLES = "oracles"  # the name of the oracles in a batch


@dataclass(frozen=True)
class Oracle:
    """How a gold tree is built.

    transitions: [transitions] int8, see `trees.transitions`; labels: [n], the labels of the words,
    indices in the vocabulary; those of an unknown label are IGNORED.
    """

    transitions: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class OracleExamples:
    """Sentences with their oracles, in the same order."""

    dataset: Dataset
    oracles: list[Oracle]

    @property
    def sizes(self) -> np.ndarray:
        return self.dataset.sizes

    def batch(self, indices: np.ndarray) -> Batch:
        """Make the batch of the sentences with these indices, and with a list of their oracles."""
        batch = self.dataset.batch(indices)
        oracles = [self.oracles[i] for i in indices.tolist()]
        return replace(batch, host=batch.host | {ORACLES: oracles})


def make_oracles(sentences: Sequence[Sentence], labels: Table, unknown: int) -> list[Oracle]:
    """Find the transitions of the trees of sentences.

    labels: the table of relations; unknown: the index of a relation that it does not have.
    """
    return [
        Oracle(
            find_transitions(np.array(sentence.head, dtype=np.int32)),
            np.array([labels.indices.get(label, unknown) for label in sentence.deprel]),
        )
        for sentence in sentences
    ]
