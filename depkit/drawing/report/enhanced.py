"""The enhanced dependencies in the report of dependency trees."""

from typing import Any

import numpy as np

from depkit.corpus.enhancements import TYPES
from depkit.drawing.report.contents import Texts
from depkit.score.attachment import Data
from depkit.score.enhanced import Relations, is_shared
from depkit.score.words import DEPS

_BASIC, _CASE = (list(TYPES).index(name) for name in ("basic", "case"))


def pack_enhanced(packed: dict[str, Any], data: Data) -> dict[str, Any]:
    """Return the enhanced relations of the sentences of a page that are not in their trees.

    packed: the result of `dependencies.pack_sentences`; data: read with enhanced dependencies.

    Returns:
        labels: The labels that the numbers below are indices into.
        sentences: By the number of the sentence, for each system the gold relations and those of
            the system: [word from 0, head, label, whether the other file has it]. A head is the
            number of a word from 1, 0 for the root. A relation that only extends a label of the
            tree, such as obl:in, is left out if both files have it. Sentences without any relations
            are left out.
    """
    gold = data.words.gold.relations
    labels, sentences = Texts(), dict[str, Any]()
    pairs = [
        (_Shown(gold, other, data), _Shown(other, gold, data))
        for other in (system.relations for system in data.words.systems)
        if gold is not None and other is not None
    ]
    for number, *_ in packed["rows"]:
        rows = [[side.pack(number - 1, labels) for side in pair] for pair in pairs]
        if any(map(any, rows)):
            sentences[str(number)] = rows
    return {"labels": labels.used, "sentences": sentences}


class _Shown:
    """The relations of a file that are shown, beside those of another file."""

    def __init__(self, relations: Relations, others: Relations, data: Data) -> None:
        shared = is_shared(relations, others)
        is_new = (relations.type != _BASIC) & ((relations.type != _CASE) | ~shared)
        self.starts = data.words.starts
        self.labels = data.words.values[DEPS]
        self.relations = relations.select(is_new)
        self.shared = shared[is_new]

    def pack(self, sentence: int, labels: Texts) -> list[list[int]]:
        """Return the relations of a sentence, as in the contents of the page."""
        start, end = self.starts[sentence : sentence + 2].tolist()
        span = slice(*np.searchsorted(self.relations.word, [start, end]).tolist())
        words, heads, codes = (
            values[span].tolist()
            for values in (self.relations.word, self.relations.head, self.relations.label)
        )
        texts = labels.pack(self.labels[code] for code in codes)
        return [
            [word - start, head - start + 1 if head >= 0 else 0, text, int(is_shared)]
            for word, head, text, is_shared in zip(
                words, heads, texts, self.shared[span], strict=True
            )
        ]
