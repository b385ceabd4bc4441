"""Which matches of a rule a change of the graph can affect.

A rule is applied again and again. Most changes affect only the matches that have a changed node,
so that the sentence need not be searched anew for each application.
"""

from collections.abc import Iterable

from depkit.treebank.search.graph import MISC, Edge, Graph
from depkit.treebank.search.pattern import Block, Pattern

ANY = "*"  # instead of the name of a feature: all of them

_SURFACE = ("form", "textform", "wordform")  # A change of one of them can change the others.


class Scope:
    """What the matches of a rule, and what its commands do to them, depend on.

    Args:
        pattern: The pattern of the rule.
        features: The nodes and the names of their features that the commands read or set.
    """

    def __init__(self, pattern: Pattern, features: Iterable[tuple[str, str]]) -> None:
        blocks = pattern.blocks
        kernel = pattern.kernel.nodes
        pairs = {
            (name, _plain(feature))
            for names in (features, *(block.features() for block in blocks))
            for name, feature in names
        }
        # For each node of the kernel, and for the nodes of filters, the features that matter
        self._features = [{feature for own, feature in pairs if own == name} for name in kernel]
        self._filter_features = {feature for own, feature in pairs if own not in kernel}
        paths = (x.is_path for block in blocks for x in block.constraints)
        self._depends_on_all_edges = bool(pattern.conditions) or any(paths)
        distances = [_distance(block, set(kernel)) for _, block in pattern.filters]
        self._distance = None if None in distances else max([0, *filter(None, distances)])

    def of_changes(
        self, graph: Graph, features: Iterable[tuple[int, str]], edges: Iterable[Edge]
    ) -> set[tuple[int, int]] | None:
        """Return where matches are that changes can affect; None if these can be all matches.

        Args:
            graph: The graph after the changes.
            features: The positions of nodes and the names of their features that have changed.
            edges: The edges that were added or removed.

        Returns pairs of the slot and the position of a node, one of which each such match has.
        """
        names = [(node, _plain(name)) for node, name in features]
        changed = {node for edge in edges for node in edge[:2]}
        if changed and self._depends_on_all_edges:
            return None
        changed |= {node for node, name in names if name in self._filter_features}
        affected = {
            (slot, node)
            for slot, known in enumerate(self._features)
            for node, name in names
            if name in known or ANY in known
        }
        if changed:
            if self._distance is None:
                return None
            slots = range(len(self._features))
            near = _near(graph, changed, self._distance)
            affected |= {(slot, node) for node in near for slot in slots}
        return affected


def _plain(name: str) -> str:
    """Return one name for all features that can change together."""
    plain = name.removeprefix(MISC)
    return "form" if plain in _SURFACE else plain


def _distance(block: Block, kernel: set[str]) -> int | None:
    """Return how many edges can be between the nodes of a filter and the nearest one of the kernel.

    Returns None if not all of them are connected by the edges of the filter.
    """
    reached, distance = set(kernel), 0
    missing = block.nodes.keys() - reached
    while missing:
        ends = [{edge.source, edge.target} for edge in block.edges]
        new = {name for pair in ends if not pair.isdisjoint(reached) for name in pair} - reached
        if not new:
            return None
        reached |= new
        missing -= new
        distance += 1
    return distance


def _near(graph: Graph, nodes: set[int], distance: int) -> set[int]:
    """Return the nodes to which a path of at most so many edges leads, in any direction."""
    found = set(nodes)
    border = nodes
    for _ in range(distance):
        lists = [*map(graph.outgoing.__getitem__, border), *map(graph.incoming.__getitem__, border)]
        border = {node for edges in lists for node, _ in edges} - found
        found |= border
    return found
