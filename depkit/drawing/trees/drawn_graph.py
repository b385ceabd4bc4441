"""The content of a drawing of enhanced dependencies."""

from dataclasses import dataclass, replace
from functools import cached_property

from depkit.corpus.enhanced import EnhancedGraph, Relation, read_graph
from depkit.corpus.universal import base_relation
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.drawn_sentence import Arc, DrawnSentence, make_label


@dataclass(frozen=True)
class DrawnGraph(DrawnSentence):
    """A sentence whose relations in DEPS are drawn below the words if the tree does not have them.

    A relation that only extends the label of the tree, `obl:in` for `obl`, is the label of the arc
    of the tree. Empty nodes are drawn as words in brackets, and words are referred to by their
    positions among all nodes.
    """

    @cached_property
    def graph(self) -> EnhancedGraph:
        return read_graph(self.sentence)

    @cached_property
    def forms(self) -> list[str]:
        forms = [make_visible(cells[1]) for cells in self.graph.cells[1:]]
        nodes = zip(self.numbers[1:], forms, strict=True)
        return [
            f"[{number if form == '_' else form}]" if "." in number else form
            for number, form in nodes
        ]

    @cached_property
    def tags(self) -> list[str]:
        words = iter(super().tags)
        upos = self.sentence.format.index("upos")
        return [
            make_visible(cells[upos].replace("_", "")) if "." in number else next(words)
            for number, cells in zip(self.numbers[1:], self.graph.cells[1:], strict=True)
        ]

    @cached_property
    def numbers(self) -> list[str]:
        return self.graph.ids

    def arcs(self) -> list[Arc]:
        positions = self.graph.words
        arcs = []
        for arc in super().arcs():
            head, word = positions[arc.head], positions[arc.dependent]
            label = make_label(head, word, self._label_in_graph(arc.dependent))
            arcs.append(replace(arc, head=head, dependent=word, label=label))
        return arcs

    def arcs_below(self) -> list[Arc]:
        """Return the relations that are not in the tree; those with the same ends are one arc."""
        positions = self.graph.words
        in_tree: dict[int, Relation] = {
            positions[word]: (positions[head], self._label_in_graph(word))
            for word, head in enumerate(self.sentence.head, start=1)
            if head >= 0
        }
        labels: dict[tuple[int, int], list[str]] = {}
        for word, relations in enumerate(self.graph.relations):
            for head, label in relations:
                if (head, label) != in_tree.get(word):
                    # The arcs of the root and of the word itself would overlap.
                    end = head if head not in (0, word) else 0
                    labels.setdefault((word, end), []).append(make_label(head, word, label))
        return [
            Arc(head, word, ", ".join(dict.fromkeys(texts)), "enhanced")
            for (word, head), texts in labels.items()
        ]

    def _label_in_graph(self, word: int) -> str:
        """Return the label of the relation of the tree in the graph, which may be longer."""
        deprel = self.sentence.deprel[word - 1]
        positions = self.graph.words
        head = self.sentence.head[word - 1]
        labels = [
            label
            for relation_head, label in self.graph.relations[positions[word]]
            if relation_head == positions[max(head, 0)]
            and base_relation(label) == base_relation(deprel)
        ]
        return deprel if deprel in labels or not labels else labels[0]
