"""Constituency trees to dependencies by the tables of rules."""

from functools import cache
from pathlib import Path

from depkit.convert import coordination
from depkit.convert.constituents import Node, build_nodes
from depkit.convert.heads import HeadRules
from depkit.convert.patterns import STEPS, Test, any_of, compile_pattern
from depkit.convert.relations import RelationRules, parse_relations
from depkit.corpus.tree import Tree
from depkit.treebank.check_tree import find_cycles

FOLDER = Path(__file__).parent
STEPS |= coordination.STEPS


class Converter:
    """A converter from constituency trees to one kind of dependencies."""

    def __init__(self, heads: HeadRules, relations: RelationRules) -> None:
        self.heads = heads
        self.relations = relations

    def convert(self, tree: Tree) -> tuple[list[int], list[str]]:
        """Return the heads (1-based, 0 for the root) and the relations of a tree's words."""
        constituents, words = build_nodes(tree)
        for node in constituents:
            node.head_child = self.heads.head_child(node)
            node.head = node.head_child.head
        heads, relations = [0] * len(words), ["root"] * len(words)
        defaults: dict[int, int] = {}  # the usual heads of words with an unusual one
        decide = self.relations.decide
        for node in constituents:
            head_child = node.head_child
            for child in node.children:
                if child is not head_child:
                    index = child.head.word_index
                    relations[index], governor, _ = decide(child, node)
                    heads[index] = governor.head.word_index + 1
                    if governor is not head_child:
                        defaults[index] = node.head.word_index + 1
        if defaults and find_cycles(heads):
            for index, head in defaults.items():
                heads[index] = head
        keep_one_subject(heads, relations)
        return heads, relations


def keep_one_subject(heads: list[int], relations: list[str]) -> None:
    """Label all but one subject of a word `dep`: the one that is nearest to it stays."""
    subjects: dict[int, int] = {}
    for index, relation in enumerate(relations):
        if relation.startswith(("nsubj", "csubj")):
            head = heads[index]
            previous = subjects.get(head)
            if previous is None:
                subjects[head] = index
            else:
                nearest = min(previous, index, key=lambda other: abs(other + 1 - head))
                relations[previous + index - nearest] = "dep"
                subjects[head] = nearest


def read_definitions(text: str) -> dict[str, Test]:
    definitions: dict[str, Test] = dict(coordination.PREDICATES)
    for line in text.splitlines():
        name, sign, pattern = line.partition(":=")
        if sign:
            test = compile_pattern(pattern.strip(), definitions)
            previous = definitions.get(name.strip())
            definitions[name.strip()] = any_of([previous, test]) if previous else test
    return definitions


@cache
def load_rules(kind: str) -> Converter:
    definitions = read_definitions((FOLDER / "rules" / "definitions.txt").read_text("utf-8"))
    relations = parse_relations((FOLDER / "rules" / "relations.txt").read_text("utf-8"), definitions)
    heads = HeadRules((FOLDER / "rules" / "heads.txt").read_text("utf-8"), kind, definitions)
    return Converter(heads, RelationRules(relations, kind))
