"""The converter's weights: python -m depkit.convert.train_stanford TREES... --dependencies FILE

Learns from trees and their dependencies, one sentence a tree, with and without function tags.
The same data give the same bytes. Minimises the logistic loss by regularised dual averaging
with adaptive steps and an L1 penalty: Duchi, Hazan and Singer (2011).
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from depkit.convert.constituents import Node, constituents
from depkit.convert.coordination import attachments
from depkit.convert.head_features import BESIDE, HEAD, head_features, head_view
from depkit.convert.linear import Key, Model, Observed, as_bytes
from depkit.convert.relation_features import RELATION, relations_observed
from depkit.convert.stanford import ROOT, WEIGHTS, Attach, Converter, governors
from depkit.convert.universal import BRACKETS, tags_of, universal_attachments
from depkit.convert.universal import WEIGHTS as UNIVERSAL
from depkit.corpus.brackets import read_trees
from depkit.corpus.errors import FormatError
from depkit.corpus.files import atomic, read
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree, tree_of_nodes
from depkit.trees.compiled import compiled

OFFSET = 0.1  # added to the root of the squared gradients, so that first steps are not too long


class Settings(NamedTuple):
    """rate: the longest step; penalty: L1, a step; rarest: features seen less often are not used.

    runs: orders of the examples over which the weights are averaged; epochs: in each of them.
    """

    epochs: int
    rate: float
    penalty: float
    rarest: int = 2
    runs: int = 3


HEADS = Settings(epochs=8, rate=0.5, penalty=1e-6)
RELATIONS = Settings(epochs=6, rate=0.2, penalty=3e-6)

Candidates = list[list[Key]]  # the features of each


class Examples:
    """Choices among candidates (or among labels for one candidate), and what was right."""

    def __init__(self) -> None:
        self.numbers: dict[Key, int] = {}
        self.features: list[int] = []
        self.rows = [0]  # where each candidate's features begin and end
        self.groups = [0]  # where each choice's candidates begin and end
        self.gold: list[int] = []

    def add(self, candidates: Candidates, gold: int) -> None:
        """A choice; gold: the candidate's place, or the label's."""
        numbers = self.numbers
        for features in candidates:
            self.features += [numbers.setdefault(key, len(numbers)) for key in features]
            self.rows.append(len(self.features))
        self.groups.append(len(self.rows) - 1)
        self.gold.append(gold)


def train(
    trees: Sequence[Tree], gold: Sequence[Sentence], attach: Attach = attachments
) -> Converter:
    """A converter that learns from trees and their dependencies; attach: as its own."""
    names = sorted({name for sentence in gold for name in sentence.deprel if name != ROOT})
    labels = {name: place for place, name in enumerate(names)}
    heads, relations = Examples(), Examples()
    for tree, sentence in zip(trees, gold, strict=True):
        for version in (tree, without_functions(tree)):
            order, words = constituents(version)
            learn_heads(order, sentence.head)
            for node in order:
                if len(node.kids) > 1:
                    heads.add(head_features(head_view(node)), node.head_kid.place)
            arcs = governors(order, words, attach)
            for word, observed in zip(words, relations_observed(words, arcs), strict=True):
                label = labels.get(sentence.deprel[word.index])
                right = sentence.head[word.index] == arcs[word.index][0].index + 1
                if observed is not None and label is not None and right:
                    relations.add([RELATION.features(observed)], label)
    tables = len(HEAD.getters) + len(BESIDE.getters)
    return Converter(
        fit(heads, ["head"], tables, HEADS),
        fit(relations, names, len(RELATION.getters), RELATIONS),
        attach,
    )


def without_functions(tree: Tree) -> Tree:
    """The tree without function tags and co-indices."""
    return tree_of_nodes([(x.label, len(x.children), x.word, x.line) for x in tree.nodes()])


def learn_heads(order: Sequence[Node], heads: Sequence[int]) -> None:
    """Head children by the reference: the first whose head word has its own head outside."""
    spans: dict[Node, tuple[int, int]] = {}
    for node in order:
        first, last = node.kids[0], node.kids[-1]
        start = spans[first][0] if first.kids else first.index
        end = spans[last][1] if last.kids else last.index
        spans[node] = start, end
        outside = (kid for kid in node.kids if not start < heads[kid.head.index] <= end + 1)
        node.head_kid = next(outside, node.kids[0])
        node.head = node.head_kid.head


def fit(examples: Examples, labels: Sequence[str], tables: int, settings: Settings) -> Model:
    """A model of the choices; labels: one name for a ranker, the classes for a classifier."""
    counts = Counter(examples.features)
    keys = sorted(
        key for key, number in examples.numbers.items() if counts[number] >= settings.rarest
    )
    renumbered = np.full(len(examples.numbers), -1)
    for row, key in enumerate(keys):
        renumbered[examples.numbers[key]] = row
    features = renumbered[np.array(examples.features)]
    kept = features >= 0
    rows = np.concatenate([[0], np.cumsum(kept)])[np.array(examples.rows)]
    weights = np.zeros((len(keys), len(labels)))
    for seed in range(1, settings.runs + 1):
        random = np.random.Generator(np.random.PCG64(seed))
        orders = np.stack([random.permutation(len(examples.gold)) for _ in range(settings.epochs)])
        weights += _descend(
            rows, features[kept], np.array(examples.groups), np.array(examples.gold), orders,
            len(keys), len(labels), settings.rate, settings.penalty,
        )  # fmt: skip
    found: list[dict[Observed, int]] = [{} for _ in range(tables)]
    for row, (table, observed) in enumerate(keys, start=1):
        found[table][observed] = row
    nothing = np.zeros((1, len(labels)))
    return Model(labels, found, np.concatenate([nothing, weights]).astype(np.float32))


@compiled
def _weight(total: float, square: float, threshold: float, rate: float) -> float:
    size = abs(total) - threshold
    if size <= 0:
        return 0.0
    weight = size * rate / (OFFSET + math.sqrt(square))
    return weight if total > 0 else -weight


@compiled
def _descend(
    rows: np.ndarray, features: np.ndarray, groups: np.ndarray, gold: np.ndarray,
    orders: np.ndarray, size: int, columns: int, rate: float, penalty: float,
) -> np.ndarray:  # fmt: skip
    """[feature, column]: weights from the sums of gradients, and of their squares."""
    total = np.zeros((size, columns))
    square = np.zeros((size, columns))
    widest = columns * np.max(np.diff(groups))
    scores = np.zeros(widest)
    threshold = 0.0
    for order in orders:
        for group in order:
            threshold += penalty
            begin, end = groups[group], groups[group + 1]
            count = (end - begin) * columns
            scores[:count] = 0
            for row in range(begin, end):
                at = (row - begin) * columns
                for feature in features[rows[row] : rows[row + 1]]:
                    for column in range(columns):
                        if total[feature, column] != 0:
                            scores[at + column] += _weight(
                                total[feature, column], square[feature, column], threshold, rate
                            )
            shares = np.exp(scores[:count] - scores[:count].max())
            shares /= shares.sum()
            for choice in range(count):
                gradient = (choice == gold[group]) - shares[choice]
                if abs(gradient) > 1e-4:
                    row, column = begin + choice // columns, choice % columns
                    for feature in features[rows[row] : rows[row + 1]]:
                        total[feature, column] += gradient
                        square[feature, column] += gradient * gradient
    weights = np.zeros((size, columns))
    for feature in range(size):
        for column in range(columns):
            weights[feature, column] = _weight(
                total[feature, column], square[feature, column], threshold, rate
            )
    return weights


def paired(paths: Sequence[str], dependencies: str) -> tuple[list[Tree], list[Sentence]]:
    """Trees and as many sentences from the beginning of the file.

    Raises FormatError where their words differ or sentences are missing.
    """
    trees = [tree for path in paths for tree in read_trees(path)]
    gold = []
    for tree, sentence in zip(trees, read(dependencies), strict=False):
        words = [leaf.word for leaf in tree.leaves()]
        if sentence.form not in (words, [BRACKETS.get(word, word) for word in words]):
            raise FormatError(*sentence.place(), "not the words of its tree")
        gold.append(sentence)
    if len(gold) < len(trees):
        raise FormatError(dependencies, 0, "", f"{len(gold)} sentences for {len(trees)} trees")
    return trees, gold


def save(model: Converter, path: str, tags: dict[str, str]) -> None:
    """Write a converter's weights to a file, whole or not at all; tags: of `tags_of`, if any."""
    arrays = model.heads.arrays("heads") | model.relations.arrays("relations")
    if tags:
        arrays["tags"] = as_bytes("\n".join(f"{key}\t{tags[key]}" for key in sorted(tags)))
    with atomic(path) as beside, open(beside, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trees", nargs="+", help="files of bracketed trees, in order")
    parser.add_argument("--dependencies", required=True, help="theirs, CoNLL-X; CoNLL-U for UD")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    trees, gold = paired(arguments.trees, arguments.dependencies)
    if gold[0].format == CONLLU:
        model = train(trees, gold, universal_attachments)
        save(model, arguments.output or str(UNIVERSAL), tags_of(trees, gold))
    else:
        save(train(trees, gold), arguments.output or str(WEIGHTS), {})


if __name__ == "__main__":
    main()
