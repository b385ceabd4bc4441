"""A sentence as the graph in which patterns are searched, built as by Grew for UD.

The nodes are in the order of the sentence: the anchor, which is the source of the root's edge and
has the form `__0__`, the words and, with enhanced dependencies, the empty nodes. Nodes are referred
to by their positions, from 0; without empty nodes, these are the ids of the words.
"""

from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache

from depkit.corpus.enhanced import read_graph
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import FEATURES
from depkit.treebank.search.conditions import ENHANCED

ANCHOR = "__0__"  # the form of the anchor
_COLUMNS = ("form", "lemma", "upos", "xpos")
MISC = "__MISC__"  # A feature with this prefix is looked for in MISC only.
_MAX_ANCESTORS = 1 << 26  # bytes of what is known of the ancestors of the nodes of a graph

Edge = tuple[int, int, str]  # source, target, label


class Graph:
    """A sentence as a graph.

    Args:
        sentence: The sentence.
        enhanced: Whether the graph also has the enhanced dependencies of the column DEPS, whose
            labels begin with `E:`, and the empty nodes.

    Attributes:
        size: The number of nodes.
        ids: [nodes] the ids as in the file: "0" for the anchor, "3", "3.1".
        edges: All edges.
        columns: [nodes] the values of a feature, by the name of the feature; None where it is not
            defined.

    Raises:
        FormatError: DEPS is not a list of relations to nodes of the sentence.
    """

    def __init__(self, sentence: Sentence, enhanced: bool = False) -> None:
        self.sentence = sentence
        self.columns = _Columns(self)
        self.empty_rows: dict[int, list[str]] = {}  # the cells of empty nodes by their positions
        size, head = len(sentence), sentence.head
        self.size = size + 1
        edges = list(zip(head, range(1, size + 1), sentence.deprel, strict=True))
        if min(head) < 0:
            edges = [edge for edge in edges if edge[0] >= 0]
        self.edges: Collection[Edge] = edges
        self.is_enhanced = enhanced
        if enhanced:
            self._add_enhanced()

    @cached_property
    def ids(self) -> list[str]:
        return [str(number) for number in range(len(self.sentence) + 1)]

    @cached_property
    def positions(self) -> list[int]:
        """[words + 1] the positions of the anchor and the words."""
        return list(range(self.size))

    @cached_property
    def outgoing(self) -> list[list[tuple[int, str]]]:
        """[nodes] the targets and labels of the edges that leave a node."""
        lists: list[list[tuple[int, str]]] = [[] for _ in range(self.size)]
        for source, target, label in self.edges:
            lists[source].append((target, label))
        return lists

    @cached_property
    def incoming(self) -> list[list[tuple[int, str]]]:
        """[nodes] the sources and labels of the edges that enter a node."""
        lists: list[list[tuple[int, str]]] = [[] for _ in range(self.size)]
        for source, target, label in self.edges:
            lists[target].append((source, label))
        return lists

    def dominates(self, ancestor: int, node: int) -> bool:
        """Return whether a path of one or more edges leads from one node to another one."""
        if self._subtrees:
            first, last = self._subtrees
            return first[ancestor] < first[node] <= last[ancestor]
        if node not in self._ancestors:
            if len(self._ancestors) * self.size >= _MAX_ANCESTORS:
                self._ancestors.clear()
            self._ancestors[node] = found = bytearray(self.size)
            stack = [node]
            while stack:
                for source, _ in self.incoming[stack.pop()]:
                    if not found[source]:
                        found[source] = 1
                        stack.append(source)
        return bool(self._ancestors[node][ancestor])

    @cached_property
    def _subtrees(self) -> tuple[list[int], list[int]] | None:
        """[nodes], [nodes] the first and the last number in the subtree of each node.

        The numbers are those of a depth-first walk, in which the descendants of a node directly
        follow it. None if two edges enter a node, or if there is a cycle.
        """
        if max(map(len, self.incoming)) > 1:
            return None
        stack = [node for node, edges in enumerate(self.incoming) if not edges]
        walk: list[int] = []
        while stack:
            walk.append(stack.pop())
            stack += [target for target, _ in self.outgoing[walk[-1]]]
        if len(walk) < self.size:  # A cycle is not reached.
            return None
        first = [0] * self.size
        for number, node in enumerate(walk):
            first[node] = number
        last = list(first)
        for node in reversed(walk):
            for source, _ in self.incoming[node]:
                last[source] = max(last[source], last[node])
        return first, last

    @cached_property
    def _ancestors(self) -> dict[int, bytearray]:
        """For some nodes, which nodes are their ancestors."""
        return {}

    def _add_enhanced(self) -> None:
        """Add the empty nodes and the edges of DEPS."""
        graph = read_graph(self.sentence)
        self.ids, self.size = graph.ids, len(graph.ids)
        self.positions = new = graph.words
        self.empty_rows = {i: graph.cells[i] for i, name in enumerate(graph.ids) if "." in name}
        enhanced = [
            (head, position, ENHANCED + label)
            for position, relations in enumerate(graph.relations)
            for head, label in relations
        ]
        self.edges = [*((new[x], new[y], label) for x, y, label in self.edges), *enhanced]


class _Columns(dict[str, list[str | None]]):
    """The values of the features of a graph's nodes, which are computed when they are needed."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def __missing__(self, name: str) -> list[str | None]:
        self[name] = values = self._compute(name)
        return values

    def _compute(self, name: str) -> list[str | None]:
        sentence = self.graph.sentence
        if name == "__id__":
            return list(map(str, range(self.graph.size)))
        if name in _COLUMNS:
            values = self._spread(getattr(sentence, name), name)
            return (
                _define(values, self["form"] if name == "lemma" else [])
                if name != "form"
                else ([ANCHOR, *values[1:]])
            )
        if name in ("textform", "wordform"):
            return self._surface(name)
        values = [None] * self.graph.size
        key = feature_key(name)
        if not name.startswith(MISC):
            feats = self._spread(sentence.feats, "feats")
            values = [parse_features(text).get(key) if text else None for text in feats]
            if key.partition("[")[0] in FEATURES:
                return values
        if "misc" in sentence.format.columns:
            misc = self._spread(sentence.column("misc"), "misc")
            for position, text in enumerate(misc):
                if text and values[position] is None and key in text:
                    values[position] = parse_features(text).get(key)
        return values

    def _spread(self, column: Iterable[str], name: str) -> list[str | None]:
        """Return the values of a column at the positions of the nodes."""
        if not self.graph.empty_rows:
            return [None, *column]
        values: list[str | None] = [None] * self.graph.size
        for position, value in zip(self.graph.positions[1:], column, strict=True):
            values[position] = value
        index = self.graph.sentence.format.index(name)
        for position, cells in self.graph.empty_rows.items():
            values[position] = cells[index]
        return values

    def _surface(self, name: str) -> list[str | None]:
        """Return `textform` or `wordform`: what MISC has, else the token, or else the form."""
        given = self[MISC + name]
        values = list(self["form"])
        positions = self.graph.positions
        if name == "textform":
            for first, last, form in multiword_tokens(self.graph.sentence):
                for number in range(first, last + 1):
                    values[positions[number]] = form if number == first else "_"
        for position in self.graph.empty_rows:
            values[position] = "_" if name == "textform" else "__EMPTY__"
        return [value if own is None else own for own, value in zip(given, values, strict=True)]


def _define(values: list[str | None], forms: list[str | None]) -> list[str | None]:
    """Replace `_` by None, except where it is the lemma of the word `_`."""
    if "_" not in values:
        return values
    return [
        None if value == "_" and not (forms and forms[position] == "_") else value
        for position, value in enumerate(values)
    ]


def feature_key(name: str) -> str:
    """Return the name of a feature as in the file: `Number[psor]` for `Number__psor`."""
    base, underscores, layer = name.removeprefix(MISC).partition("__")
    return f"{base}[{layer}]" if base and underscores else base + underscores + layer


@lru_cache(maxsize=1 << 14)
def parse_features(text: str) -> dict[str, str]:
    """Return the features of FEATS or MISC, `Case=Nom|Number=Sing`, by name; do not change it."""
    pairs = (feature.partition("=") for feature in text.split("|"))
    return {name: value for name, equals, value in pairs if equals}


def multiword_tokens(sentence: Sentence) -> list[tuple[int, int, str]]:
    """Return the first word, the last word and the form of each multiword token."""
    if not sentence.format.has_ranges:
        return []
    cells = (line.split("\t", 2) for line in sentence.lines if line[:1].isdigit())
    ranges = ((row[0].partition("-"), row[1]) for row in cells if "-" in row[0])
    return [(int(first), int(last), form) for (first, _, last), form in ranges]


def is_projective(graph: Graph) -> bool:
    """Return whether no two edges cross; the edge of the anchor counts."""
    spans = sorted((min(edge[:2]), -max(edge[:2])) for edge in graph.edges)
    stack: list[int] = []  # the ends of the edges around the current one
    for left, negative_right in spans:
        while stack and stack[-1] <= left:
            stack.pop()
        if stack and stack[-1] < -negative_right:
            return False
        stack.append(-negative_right)
    return True


def is_cyclic(graph: Graph) -> bool:
    """Return whether some edges form a cycle."""
    missing = [len(edges) for edges in graph.incoming]  # sources that are not yet removed
    free = [node for node, count in enumerate(missing) if not count]
    removed = 0
    while free:
        node = free.pop()
        removed += 1
        for target, _ in graph.outgoing[node]:
            missing[target] -= 1
            if not missing[target]:
                free.append(target)
    return removed < graph.size


def is_forest(graph: Graph) -> bool:
    """Return whether there is no cycle, and no node at which two edges end."""
    return max(map(len, graph.incoming)) <= 1 and not is_cyclic(graph)


def is_tree(graph: Graph) -> bool:
    """Return whether the graph is a forest in which only one node has no incoming edge."""
    return is_forest(graph) and sum(not edges for edges in graph.incoming) == 1
