"""Constituency trees to dependencies, by the tables of rules in the folder rules.

The head of each constituent is the head word of one of its children (heads.txt). The head words of
the other children depend on it or, if a rule says so, on another word, and the rule names the
relation (relations.txt). The tables were written from the definitions of de Marneffe and Manning,
Stanford typed dependencies manual (2008, revised 2013), and of Universal Dependencies, and from
pairs of trees and dependencies.
"""

from functools import cache
from pathlib import Path

from depkit.convert.constituents import build_nodes
from depkit.convert.coordination import PREDICATES
from depkit.convert.heads import HeadRules
from depkit.convert.patterns import read_definitions
from depkit.convert.relations import RelationRules, parse_relations
from depkit.corpus.tree import Tree
from depkit.treebank.check_tree import find_cycles

ROOT = "root"
FOLDER = Path(__file__).with_name("rules")
TABLES = ("definitions.txt", "heads.txt", "relations.txt")


class Converter:
    """A converter from constituency trees to one kind of dependencies."""

    def __init__(self, heads: HeadRules, relations: RelationRules) -> None:
        self.heads = heads
        self.relations = relations

    def convert(self, tree: Tree) -> tuple[list[int], list[str]]:
        """Return the heads (1-based, 0 for the root) and the relations of a tree's words.

        They are a tree with one root, whatever the labels of the constituents are.
        """
        constituents, words = build_nodes(tree)
        for node in constituents:
            node.head_child = self.heads.find_head_child(node)
            node.head = node.head_child.head
        heads, relations = [0] * len(words), [ROOT] * len(words)
        usual_heads: dict[int, int] = {}  # of the words that do not depend on their parent's head
        for node in constituents:
            for child in node.children:
                if child is not node.head_child:
                    index = child.head.word_index
                    relations[index], governor, _ = self.relations.decide(child, node)
                    heads[index] = governor.head.word_index + 1
                    if governor is not node.head_child:
                        usual_heads[index] = node.head.word_index + 1
        if usual_heads and find_cycles(heads):
            for index, head in usual_heads.items():
                heads[index] = head
        _keep_one_subject(heads, relations)
        return heads, relations


def _keep_one_subject(heads: list[int], relations: list[str]) -> None:
    """Replace the relation of a word's subjects by `dep`, except for the one nearest to it."""
    subjects: dict[int, int] = {}
    for index, relation in enumerate(relations):
        if relation.startswith(("nsubj", "csubj")):
            head = heads[index]
            previous = subjects.setdefault(head, index)
            if previous != index:
                nearest = min(previous, index, key=lambda other: abs(other + 1 - head))
                relations[previous + index - nearest] = "dep"
                subjects[head] = nearest


@cache
def load_converter(kind: str) -> Converter:
    """Load the rules for Stanford Dependencies (sd) or Universal Dependencies (ud)."""
    definitions_text, heads_text, relations_text = map(read_table, TABLES)
    definitions = read_definitions(definitions_text, PREDICATES)
    relations = parse_relations(relations_text, definitions)
    return Converter(HeadRules(heads_text, kind, definitions), RelationRules(relations, kind))


def read_table(name: str) -> str:
    """Return the text of one of TABLES."""
    return (FOLDER / name).read_text("utf-8")
