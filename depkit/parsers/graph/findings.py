"""Checks of the treebanks that a dependency parser is trained on."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.graph.config import Decoder
from depkit.trees.shape import count_roots, has_cycle


def tree_findings(
    decoder: Decoder, train: Sequence[Sentence], dev: Sequence[Sentence]
) -> list[str]:
    """Count cycles, sentences with several roots, and relations of dev that train does not have.

    Returns lines of text; the list is empty if there are no such problems.
    """
    lines = []
    for name, sentences in (("train", train), ("dev", dev)):
        complete = [sentence for sentence in sentences if -1 not in sentence.head]
        heads = [np.array(sentence.head, dtype=np.int32) for sentence in complete]
        if partial := len(sentences) - len(complete):
            lines.append(f"{name}: {partial} of {len(sentences)} trees are partial")
        num_cyclic = sum(map(has_cycle, heads))
        num_multiple_roots = sum(count_roots(head) > 1 for head in heads)
        if num_cyclic:
            lines.append(f"{name}: {num_cyclic} of {len(sentences)} trees have a cycle")
        if num_multiple_roots:
            lines.append(
                f"{name}: {num_multiple_roots} of {len(sentences)} sentences have several roots"
            )
        if num_multiple_roots and decoder.root == "single":
            lines.append(
                f"{name}: the parser nevertheless predicts a single root (decoder.root=single)"
            )
    labels = Counter(label for sentence in dev for label in sentence.deprel)
    for label in {label for sentence in train for label in sentence.deprel}:
        labels.pop(label, None)
    if labels:
        examples = ", ".join(f"{label} ({count})" for label, count in labels.most_common(5))
        relations = "relation" if len(labels) == 1 else "relations"
        lines.append(f"dev: {len(labels)} {relations} never seen in train: {examples}")
    return lines
