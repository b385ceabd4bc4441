"""The content of a drawing: words, tags, arcs and constituents as safe text, in no style yet."""

from dataclasses import dataclass
from functools import cached_property

from depkit.corpus.cleaning import prepare_tree
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
    """A sentence to draw, with its predicted tree if there is one to compare with.

    All texts are safe to print. Words are referred to by their numbers, from 1.
    """

    number: int  # of the sentence in its file, from 1; 0 if it is not from a file
    sentence: Sentence
    predicted: Sentence | None = None

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
    def name(self) -> str:
        """The heading: sentence 1 (sent_id a-1), as far as the number and the sent_id are known."""
        number = f"sentence {self.number}" if self.number else ""
        sent_id = make_visible(self.sentence.sent_id)
        return f"{number} (sent_id {sent_id})" if number and sent_id else number or sent_id

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
        """Return the arcs of the gold tree; a word without a head has none."""
        rows = enumerate(zip(self.sentence.head, self.sentence.deprel, strict=True), start=1)
        return [
            Arc(head, word, _make_label(head, word, relation), self.kind(word))
            for word, (head, relation) in rows
            if head >= 0
        ]

    def kind(self, word: int) -> Kind:
        return "missed" if word in self.wrong_words else "plain"

    def wrong_arcs(self) -> list[Arc]:
        """Return the arcs of the predicted tree for the wrong words."""
        arcs: list[Arc] = []
        if self.predicted is None:
            return arcs
        for word in sorted(self.wrong_words):
            head, relation = self.predicted.head[word - 1], self.predicted.deprel[word - 1]
            label = _make_label(head, word, relation)
            if head < 0:
                label = "headless"
            elif head == self.sentence.head[word - 1]:
                gold_relation = make_visible(self.sentence.deprel[word - 1])
                label = f"{gold_relation}→{make_visible(relation)}"
            arcs.append(Arc(max(head, 0), word, f"{WRONG}{label}", "wrong"))
        return arcs


def _make_label(head: int, word: int, relation: str) -> str:
    label = "" if relation == "_" else make_visible(relation)
    if head == word:
        return f"↻{label}"
    return label or ("root" if head == 0 else "")
