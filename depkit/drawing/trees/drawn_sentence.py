"""The content of a drawing: words, tags, arcs and constituents as safe text, in no style yet."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from depkit.corpus.cleaning import prepare_tree
from depkit.corpus.probabilities import tree_rank
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.constituents import Node, make_nodes
from depkit.drawing.trees.kinds import WRONG, Kind


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc of a drawing. Words are numbers from 1, the root is 0."""

    head: int
    dependent: int
    label: str
    kind: Kind = "plain"

    @property
    def is_vertical(self) -> bool:
        """Whether there is no other word at its end: the root's arc, or a word's arc to itself."""
        return self.head in (0, self.dependent)


@dataclass(frozen=True)
class DrawnSentence:
    """A sentence to draw, with its predicted tree or other trees if they are to be compared.

    All texts are safe to print. Words are referred to by their numbers, from 1.
    """

    number: int  # of the sentence in its file, from 1; 0 if it is not from a file
    sentence: Sentence
    predicted: Sentence | None = None
    others: Sequence[Sentence] = ()  # the trees after the best one, with their ranks

    @cached_property
    def forms(self) -> list[str]:
        return list(map(make_visible, self.sentence.form))

    @cached_property
    def tags(self) -> list[str]:
        """The UPOS tags, else the XPOS tags, else an empty text for each word."""
        for column in (self.sentence.upos, self.sentence.xpos):
            if any(tag != "_" for tag in column):
                return list(map(make_visible, column))
        return [""] * len(self.sentence)

    @property
    def numbers(self) -> list[str]:
        """The numbers of the root and of the words, as they are drawn."""
        return list(map(str, range(len(self.sentence) + 1)))

    @property
    def name(self) -> str:
        """The heading: sentence 1 (sent_id a-1), as far as the number and the sent_id are known.

        If the sentence has several trees, the rank and the probability of this one follow.
        """
        number = f"sentence {self.number}" if self.number else ""
        sent_id = make_visible(self.sentence.sent_id)
        name = f"{number} (sent_id {sent_id})" if number and sent_id else number or sent_id
        if not tree_rank(self.sentence):
            return name
        rank = f"tree {self.sentence.comment('tree')}"
        rank = f"best of {1 + len(self.others)} trees" if self.others else rank
        parts = (name, rank, f"probability {self.sentence.comment('prob')}")
        return ", ".join(part for part in parts if part)

    @property
    def text(self) -> str:
        """The raw text from the comment `text`, "" if there is none."""
        return make_visible(self.sentence.text)

    @property
    def is_bracketed(self) -> bool:
        """Whether constituents are drawn: the sentence has them, and no heads."""
        return self.sentence.constituents is not None and max(self.sentence.head, default=-1) < 0

    @cached_property
    def constituents(self) -> tuple[list[Node], list[Node]]:
        """The nodes of the tree, and the wrong constituents; see `make_nodes`.

        If there is a predicted tree, both trees are compared as `prepare_tree` returns them.
        """
        tree = self.sentence.constituents
        assert tree is not None
        if self.predicted is None or self.predicted.constituents is None:
            return make_nodes(tree)
        return make_nodes(prepare_tree(tree), prepare_tree(self.predicted.constituents))

    @property
    def has_errors(self) -> bool:
        """Whether the predicted tree differs from the gold tree."""
        if self.is_bracketed:
            nodes, wrong = self.constituents
            return bool(wrong) or any(node.kind == "missed" for node in nodes)
        return bool(self.wrong_words)

    @cached_property
    def wrong_words(self) -> frozenset[int]:
        """The words whose predicted head or relation is wrong."""
        if self.predicted is None:
            return frozenset()
        gold = zip(self.sentence.head, self.sentence.deprel, strict=True)
        predicted = zip(self.predicted.head, self.predicted.deprel, strict=True)
        arcs = enumerate(zip(gold, predicted, strict=True), start=1)
        return frozenset(
            word for word, (gold_arc, predicted_arc) in arcs if gold_arc != predicted_arc
        )

    def arcs(self) -> list[Arc]:
        """Return the arcs of the gold or best tree; a word without a head has none."""
        rows = enumerate(zip(self.sentence.head, self.sentence.deprel, strict=True), start=1)
        return [
            Arc(head, word, self._add_probability(head, word, relation), self.kind(word))
            for word, (head, relation) in rows
            if head >= 0
        ]

    def arcs_below(self) -> list[Arc]:
        """Return the wrong arcs of the predicted tree, or the arcs that only other trees have."""
        if not self.others:
            return self.wrong_arcs()
        best = set(_labelled_arcs(self.sentence))
        return [
            Arc(head, word, self._add_probability(head, word, relation), "other")
            for word, head, relation in sorted(self._arc_probabilities.keys() - best)
            if head >= 0
        ]

    @cached_property
    def _arc_probabilities(self) -> dict[tuple[int, int, str], float]:
        """The share of each arc in the probability of all trees that are drawn."""
        trees = [self.sentence, *self.others]
        probabilities = [float(tree.comment("prob") or 0) for tree in trees]
        total = sum(probabilities)
        shares: dict[tuple[int, int, str], float] = defaultdict(float)
        for tree, probability in zip(trees, probabilities, strict=True):
            for arc in _labelled_arcs(tree):
                shares[arc] += probability / total if total else 1 / len(trees)
        return shares

    def _add_probability(self, head: int, word: int, relation: str) -> str:
        """Return the label of an arc, with its probability if some of the trees do not have it."""
        label = make_label(head, word, relation)
        probability = self._arc_probabilities[word, head, relation] if self.others else 1.0
        return label if probability > 1 - 1e-9 else f"{label} {probability:.2f}".strip()

    def kind(self, word: int) -> Kind:
        return "missed" if word in self.wrong_words else "plain"

    def wrong_arcs(self) -> list[Arc]:
        """Return the arcs of the predicted tree for the wrong words."""
        arcs: list[Arc] = []
        if self.predicted is None:
            return arcs
        for word in sorted(self.wrong_words):
            head, relation = self.predicted.head[word - 1], self.predicted.deprel[word - 1]
            label = make_label(head, word, relation)
            if head < 0:
                label = "headless"
            elif head == self.sentence.head[word - 1]:
                gold_relation = make_visible(self.sentence.deprel[word - 1])
                label = f"{gold_relation}→{make_visible(relation)}"
            arcs.append(Arc(max(head, 0), word, f"{WRONG}{label}", "wrong"))
        return arcs


def _labelled_arcs(tree: Sentence) -> list[tuple[int, int, str]]:
    """Return the word, the head and the relation of each arc."""
    words = range(1, len(tree) + 1)
    return list(zip(words, tree.head, tree.deprel, strict=True))


def make_label(head: int, word: int, relation: str) -> str:
    """Return the label of an arc as it is drawn; that of a word to itself has a mark."""
    label = "" if relation == "_" else make_visible(relation)
    if head == word:
        return f"↻{label}"
    return label or ("root" if head == 0 else "")
