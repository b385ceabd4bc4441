"""Valid relations against brute force over all relations of small trees."""

from itertools import product

import numpy as np
import pytest

from depkit.treebank.valid_labels import ValidLabels, crosses_arcs
from tests.treebank.ud_rules import find_broken_rules
from tests.trees.all_trees import arcs_cross, trees

LABELS = "root nsubj nsubj:outer obj obl punct det conj fixed goeswith orphan nmod case".split()
TAGS = "NOUN PROPN DET PUNCT X ADP VERB _".split()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_chosen_relations_are_the_best_valid_ones(n):
    rng = np.random.default_rng(n)
    every = trees(n, False, False)
    found = 0
    for _ in range(60 if n < 4 else 25):
        labels = ["root", *rng.choice(LABELS[1:], size=6, replace=False)]
        rules = ValidLabels(labels)
        heads = every[rng.integers(len(every))]
        tags = rng.choice(TAGS, size=n).tolist()
        scores = rng.normal(size=(n, len(labels)))
        best = -np.inf
        for choice in product(range(len(labels)), repeat=n):
            if not find_broken_rules(heads.tolist(), [labels[i] for i in choice], tags):
                best = max(best, scores[np.arange(n), choice].sum())
        result = rules.choose(heads, tags, scores)
        if best == -np.inf:
            assert result is None
            continue
        found += 1
        chosen, total = result
        assert not find_broken_rules(heads.tolist(), [labels[i] for i in chosen], tags)
        assert scores[np.arange(n), chosen].sum() == pytest.approx(total) == pytest.approx(best)
    assert found > 5


def test_crossing_arcs_of_all_small_trees():
    for n in range(1, 6):
        for heads in trees(n, False, False):
            crossing = crosses_arcs(heads)
            assert crossing.any() == arcs_cross(tuple(heads.tolist()))


def test_real_treebanks_obey_the_rules_mostly(shared):
    from depkit.corpus.io import read

    dev = list(read(shared / "data" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"))
    broken = 0
    for sentence in dev:
        tags = list(sentence.upos)
        for i, feats in enumerate(sentence.feats):
            if "ExtPos=" in feats:
                tags[i] = feats.split("ExtPos=")[1].split("|")[0]
        broken += bool(find_broken_rules(sentence.head, sentence.deprel, tags))
    assert broken < 0.02 * len(dev)
