"""Train the weights of the converters from Penn Treebank trees to dependencies.

Usage: python -m depkit.convert.train_stanford TREES... --dependencies FILE

Every tree is used twice, with and without function tags. Training on the same data gives the same
bytes. Training minimises the logistic loss by regularised dual averaging with adaptive steps and an
L1 penalty: Duchi, Hazan and Singer (2011).
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from depkit.convert.constituents import Node, build_nodes
from depkit.convert.coordination import find_reattachments
from depkit.convert.head_features import (
    CHILD_TEMPLATES,
    SIBLING_TEMPLATES,
    head_context,
    head_features,
)
from depkit.convert.linear import Feature, Model, Observations, encode_text
from depkit.convert.relation_features import RELATION_TEMPLATES, observe_relations
from depkit.convert.stanford import ROOT, WEIGHTS, Converter, Reattach, find_arcs
from depkit.convert.universal import BRACKETS, find_universal_reattachments, most_frequent_upos
from depkit.convert.universal import WEIGHTS as UNIVERSAL
from depkit.corpus.atomic import atomic
from depkit.corpus.errors import FormatError
from depkit.corpus.files import read, read_trees
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree, tree_from_nodes
from depkit.trees.compiled import compiled

OFFSET = 0.1  # added to the root of the squared gradients, so that the first steps are short


class Settings(NamedTuple):
    """Hyperparameters of training."""

    epochs: int
    learning_rate: float  # the size of the longest step
    l1_penalty: float  # per step
    min_count: int = 2  # features that occur less often are not used
    runs: int = 3  # with different orders of the examples; their weights are summed


HEAD_SETTINGS = Settings(epochs=8, learning_rate=0.5, l1_penalty=1e-6)
RELATION_SETTINGS = Settings(epochs=6, learning_rate=0.2, l1_penalty=3e-6)

Candidates = list[list[Feature]]  # the features of each candidate


class Examples:
    """Training examples: choices among candidates, or among the labels of a single candidate."""

    def __init__(self) -> None:
        self.feature_ids: dict[Feature, int] = {}
        self.features: list[int] = []  # ids of the features of all candidates
        self.candidate_bounds = [0]  # where each candidate's features begin and end
        self.choice_bounds = [0]  # where each choice's candidates begin and end
        self.gold: list[int] = []

    def add(self, candidates: Candidates, gold: int) -> None:
        """Add a choice; `gold` is the index of the correct candidate, or of the correct label."""
        ids = self.feature_ids
        for features in candidates:
            self.features += [ids.setdefault(feature, len(ids)) for feature in features]
            self.candidate_bounds.append(len(self.features))
        self.choice_bounds.append(len(self.candidate_bounds) - 1)
        self.gold.append(gold)


def train(
    trees: Sequence[Tree], gold: Sequence[Sentence], reattach: Reattach = find_reattachments
) -> Converter:
    """Train a converter on trees and their dependencies; `reattach` is as for `Converter`."""
    labels = sorted({label for sentence in gold for label in sentence.deprel if label != ROOT})
    label_ids = {label: index for index, label in enumerate(labels)}
    head_examples, relation_examples = Examples(), Examples()
    for tree, sentence in zip(trees, gold, strict=True):
        for version in (tree, remove_function_tags(tree)):
            constituents, words = build_nodes(version)
            set_gold_heads(constituents, sentence.head)
            for node in constituents:
                if len(node.children) > 1:
                    features = head_features(head_context(node))
                    head_examples.add(features, node.head_child.child_index)
            arcs = find_arcs(constituents, words, reattach)
            for word, observations in zip(words, observe_relations(words, arcs), strict=True):
                label = label_ids.get(sentence.deprel[word.word_index])
                head = arcs[word.word_index][0].word_index + 1
                is_correct = sentence.head[word.word_index] == head
                if observations is not None and label is not None and is_correct:
                    relation_examples.add([RELATION_TEMPLATES.features(observations)], label)
    head_tables = len(CHILD_TEMPLATES.getters) + len(SIBLING_TEMPLATES.getters)
    relation_tables = len(RELATION_TEMPLATES.getters)
    return Converter(
        fit(head_examples, ["head"], head_tables, HEAD_SETTINGS),
        fit(relation_examples, labels, relation_tables, RELATION_SETTINGS),
        reattach,
    )


def remove_function_tags(tree: Tree) -> Tree:
    """Return a copy of the tree without function tags and co-indices."""
    nodes = [(node.label, len(node.children), node.word, node.line) for node in tree.nodes()]
    return tree_from_nodes(nodes)


def set_gold_heads(constituents: Sequence[Node], heads: Sequence[int]) -> None:
    """Set the head children of a tree from the gold heads of its words.

    A constituent's head child is the first one whose head word has its head outside.
    """
    spans: dict[Node, tuple[int, int]] = {}
    for node in constituents:
        first, last = node.children[0], node.children[-1]
        start = spans[first][0] if first.children else first.word_index
        end = spans[last][1] if last.children else last.word_index
        spans[node] = start, end
        candidates = (
            child
            for child in node.children
            if not start < heads[child.head.word_index] <= end + 1  # heads are 1-based
        )
        node.head_child = next(candidates, node.children[0])
        node.head = node.head_child.head


def fit(examples: Examples, labels: Sequence[str], tables: int, settings: Settings) -> Model:
    """Fit a linear model to choices.

    Args:
        examples: The choices.
        labels: The classes of a classifier; a single name for a ranker.
        tables: The number of conjunctions in the feature templates.
        settings: The hyperparameters.

    Returns:
        The model with the sum of the weights of all runs.
    """
    counts = Counter(examples.features)
    selected = sorted(
        feature
        for feature, index in examples.feature_ids.items()
        if counts[index] >= settings.min_count
    )
    new_ids = np.full(len(examples.feature_ids), -1)  # -1 for features that are too rare
    for row, feature in enumerate(selected):
        new_ids[examples.feature_ids[feature]] = row
    features = new_ids[np.array(examples.features)]
    is_selected = features >= 0
    num_selected = np.concatenate([[0], np.cumsum(is_selected)])
    candidate_bounds = num_selected[np.array(examples.candidate_bounds)]
    weights = np.zeros((len(selected), len(labels)))
    for seed in range(1, settings.runs + 1):
        random = np.random.Generator(np.random.PCG64(seed))
        orders = np.stack([random.permutation(len(examples.gold)) for _ in range(settings.epochs)])
        weights += _train_weights(
            candidate_bounds, features[is_selected], np.array(examples.choice_bounds),
            np.array(examples.gold), orders, len(selected), len(labels),
            settings.learning_rate, settings.l1_penalty,
        )  # fmt: skip
    rows: list[dict[Observations, int]] = [{} for _ in range(tables)]
    for row, (table, observations) in enumerate(selected, start=1):
        rows[table][observations] = row
    unknown = np.zeros((1, len(labels)))  # row 0, for features that are not in the model
    return Model(labels, rows, np.concatenate([unknown, weights]).astype(np.float32))


@compiled
def _current_weight(
    gradient_sum: float, square_sum: float, threshold: float, learning_rate: float
) -> float:
    """Return a weight; it is 0 if its gradients sum up to less than the L1 threshold."""
    size = abs(gradient_sum) - threshold
    if size <= 0:
        return 0.0
    weight = size * learning_rate / (OFFSET + math.sqrt(square_sum))
    return weight if gradient_sum > 0 else -weight


@compiled
def _train_weights(
    candidate_bounds: np.ndarray, features: np.ndarray, choice_bounds: np.ndarray,
    gold: np.ndarray, orders: np.ndarray, size: int, labels: int, learning_rate: float,
    l1_penalty: float,
) -> np.ndarray:  # fmt: skip
    """Return the weights, `[feature, label]`, after one epoch for each order of the choices."""
    gradient_sums = np.zeros((size, labels))
    square_sums = np.zeros((size, labels))
    max_outcomes = labels * np.max(np.diff(choice_bounds))
    scores = np.zeros(max_outcomes)
    threshold = 0.0
    for order in orders:
        for choice in order:
            threshold += l1_penalty
            begin, end = choice_bounds[choice], choice_bounds[choice + 1]
            count = (end - begin) * labels  # one outcome for each candidate and label
            scores[:count] = 0
            for candidate in range(begin, end):
                first = (candidate - begin) * labels
                bounds = candidate_bounds[candidate], candidate_bounds[candidate + 1]
                for feature in features[bounds[0] : bounds[1]]:
                    for label in range(labels):
                        if gradient_sums[feature, label] != 0:
                            scores[first + label] += _current_weight(
                                gradient_sums[feature, label], square_sums[feature, label],
                                threshold, learning_rate,
                            )  # fmt: skip
            probabilities = np.exp(scores[:count] - scores[:count].max())
            probabilities /= probabilities.sum()
            for outcome in range(count):
                gradient = (outcome == gold[choice]) - probabilities[outcome]
                if abs(gradient) > 1e-4:
                    candidate, label = begin + outcome // labels, outcome % labels
                    bounds = candidate_bounds[candidate], candidate_bounds[candidate + 1]
                    for feature in features[bounds[0] : bounds[1]]:
                        gradient_sums[feature, label] += gradient
                        square_sums[feature, label] += gradient * gradient
    weights = np.zeros((size, labels))
    for feature in range(size):
        for label in range(labels):
            weights[feature, label] = _current_weight(
                gradient_sums[feature, label], square_sums[feature, label], threshold,
                learning_rate,
            )  # fmt: skip
    return weights


def read_pairs(paths: Sequence[str], dependencies: str) -> tuple[list[Tree], list[Sentence]]:
    """Read trees, and the same number of sentences from the beginning of the file of dependencies.

    Raises FormatError if their words differ or if sentences are missing.
    """
    trees = [tree for path in paths for tree in read_trees(path)]
    gold = []
    for tree, sentence in zip(trees, read(dependencies), strict=False):
        words = [leaf.form for leaf in tree.leaves()]
        if sentence.form not in (words, [BRACKETS.get(word, word) for word in words]):
            message = "the words of this sentence are not the words of its tree"
            raise FormatError(*sentence.location(), message)
        gold.append(sentence)
    if len(gold) < len(trees):
        message = f"the file has {len(gold)} sentences for {len(trees)} trees"
        raise FormatError(dependencies, 0, "", message)
    return trees, gold


def save(model: Converter, path: str, upos_table: dict[str, str]) -> None:
    """Write a converter's weights to a file, atomically.

    `upos_table` is the result of `most_frequent_upos`, empty for Stanford dependencies.
    """
    arrays = model.heads.to_arrays("heads") | model.relations.to_arrays("relations")
    if upos_table:
        lines = [f"{key}\t{upos_table[key]}" for key in sorted(upos_table)]
        arrays["tags"] = encode_text("\n".join(lines))
    with atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trees", nargs="+", help="files of bracketed trees, in order")
    parser.add_argument(
        "--dependencies",
        required=True,
        help="file with the dependencies of the trees: CoNLL-X for Stanford dependencies, CoNLL-U"
        " for Universal Dependencies",
    )
    parser.add_argument("-o", "--output", help="file to write (default: the weights in depkit)")
    arguments = parser.parse_args()
    trees, gold = read_pairs(arguments.trees, arguments.dependencies)
    if gold[0].format == CONLLU:
        model = train(trees, gold, find_universal_reattachments)
        upos_table = most_frequent_upos(trees, gold)
        save(model, arguments.output or str(UNIVERSAL), upos_table)
    else:
        save(train(trees, gold), arguments.output or str(WEIGHTS), {})


if __name__ == "__main__":
    main()
