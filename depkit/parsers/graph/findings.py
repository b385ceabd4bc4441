"""What is odd about treebanks that a dependency parser is trained on."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Decoder
from depkit.trees.shape import count_roots, has_cycle


def tree_findings(
    decoder: Decoder, train: Sequence[Sentence], dev: Sequence[Sentence]
) -> list[str]:
    """Cycles, several roots and relations of dev that train lacks, with counts, a line each."""
    found = []
    for name, part in (("train", train), ("dev", dev)):
        heads = [np.array(sentence.head, dtype=np.int32) for sentence in part]
        cyclic = sum(map(has_cycle, heads))
        several = sum(count_roots(head) > 1 for head in heads)
        if cyclic:
            found.append(f"{name}: {cyclic} of {len(part)} trees have a cycle")
        if several:
            found.append(f"{name}: {several} of {len(part)} sentences have several roots")
        if several and decoder.root == "single":
            found.append(f"{name}: the parser is set to write a single root all the same")
    labels = Counter(label for sentence in dev for label in sentence.deprel)
    for label in {label for sentence in train for label in sentence.deprel}:
        labels.pop(label, None)
    if labels:
        named = ", ".join(f"{label} ({count})" for label, count in labels.most_common(5))
        relations = "relation" if len(labels) == 1 else "relations"
        found.append(f"dev: {len(labels)} {relations} never seen in train: {named}")
    return found
