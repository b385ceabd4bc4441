"""The relation that only children of the root have, as `root` in Universal Dependencies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    from depkit.parsers.inputs.tables import Table


def find_root_label(train: Sequence[Sentence]) -> str:
    """Find the relation that all children of the root have and no other word; "" for none."""
    at_root: set[str] = set()
    elsewhere: set[str] = set()
    for sentence in train:
        for head, deprel in zip(sentence.head, sentence.deprel, strict=True):
            if head >= 0:
                (elsewhere if head else at_root).add(deprel)
    return at_root.pop() if len(at_root) == 1 and not at_root & elsewhere else ""


def index_root_label(root_label: str, labels: "Table") -> int | None:
    """Return the index of the relation decoder.root_label in the table of relations.

    None, which forbids no relation, if the table does not have it or has no other relation.
    """
    return labels.indices.get(root_label) if len(labels) > 1 else None
