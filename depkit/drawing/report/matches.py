"""The page of the matches of a pattern: sentences with marked words and their trees, no script."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape

from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.drawn_graph import DrawnGraph
from depkit.drawing.trees.drawn_sentence import Arc, DrawnSentence
from depkit.drawing.trees.kinds import Kind
from depkit.drawing.trees.svg import draw_svg
from depkit.files.digest import digest_inline
from depkit.treebank.search.graph import Graph
from depkit.treebank.search.matcher import Found
from depkit.treebank.search.search import Search

_STYLE = """
body { font: 16px/1.5 sans-serif; margin: 1em auto; max-width: 70em; padding: 0 1em; }
article { border-top: 1px solid #ccc; overflow-x: auto; padding: 0.5em 0; }
mark { background: #cfe8d5; padding: 0 0.2em; }
mark sub { color: #006e2b; }
pre { background: #f4f4f4; overflow-x: auto; padding: 0.5em; }
h2 { font-size: 0.9em; color: #555; margin: 0; }
"""


@dataclass(frozen=True)
class _MatchedSentence(DrawnSentence):
    """A sentence in whose drawing the arcs between words of a match are thick.

    matched: the words, by their numbers, whose arcs are.
    """

    matched: frozenset[int] = frozenset()

    def kind(self, word: int) -> Kind:
        return "missed" if word in self.matched else "plain"


@dataclass(frozen=True)
class _MatchedGraph(_MatchedSentence, DrawnGraph):
    """The same with enhanced dependencies.

    matches: the positions of the nodes of each match, between which the arcs are thick.
    """

    matches: tuple[frozenset[int], ...] = ()

    def arcs_below(self) -> list[Arc]:
        return [
            replace(arc, kind="missed")
            if any({arc.head, arc.dependent} <= nodes for nodes in self.matches)
            else arc
            for arc in super().arcs_below()
        ]


def render_matches(
    search: Search, pattern: str, results: Iterable[tuple[Graph, list[Found]]]
) -> Iterator[str]:
    """Yield the parts of an HTML page of the matches of a search; pattern: its text.

    The page loads nothing and has no script.
    """
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        f' style-src {digest_inline(_STYLE)}">\n'
        f"<title>Matches</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Matches</h1>\n"
        f"<pre>{_text(pattern)}</pre>\n"
    )
    sentences = matches = 0
    for graph, found in results:
        sentences += 1
        matches += len(found)
        yield _render_sentence(search, graph, found)
    yield f"<p>{matches:,} matches in {sentences:,} sentences.</p>\n</body>\n</html>\n"


def _render_sentence(search: Search, graph: Graph, matches: list[Found]) -> str:
    sentence = graph.sentence
    location = f"{sentence.file}:{sentence.line}" if sentence.file else ""
    heading = ": ".join(part for part in (location, sentence.sent_id) if part)
    lines = "\n".join(f'<p dir="auto">{_mark(search, graph, found)}</p>' for found in matches)
    matched = _matched_arcs(graph, matches)
    drawn = _MatchedSentence(0, sentence, matched=matched)
    if graph.is_enhanced:
        nodes = tuple(frozenset(positions) for positions, _ in matches)
        drawn = _MatchedGraph(0, sentence, matched=matched, matches=nodes)
    return (
        f"<article>\n<h2>{_text(heading)}</h2>\n{lines}\n{''.join(draw_svg([drawn]))}</article>\n"
    )


def _mark(search: Search, graph: Graph, found: Found) -> str:
    """Return the words of a sentence, those of a match marked with the names of their nodes."""
    names = search.matcher.names_by_position(found)
    words = []
    for position, form in enumerate(graph.columns["form"][1:], start=1):
        word = _text(form or "_")
        if position in names:
            word = f"<mark>{word}<sub>{_text(','.join(names[position]))}</sub></mark>"
        words.append(word)
    return " ".join(words)


def _matched_arcs(graph: Graph, matches: list[Found]) -> frozenset[int]:
    """Return the words whose head is in the same match, by their numbers."""
    numbers = {position: number for number, position in enumerate(graph.positions)}
    return frozenset(
        word
        for nodes, _ in matches
        for word in (numbers[node] for node in nodes if numbers.get(node))
        if graph.sentence.head[word - 1] in {numbers.get(node) for node in nodes}
    )


def _text(text: str) -> str:
    """Return a text as HTML; characters that control what is shown become visible."""
    return escape("\n".join(map(make_visible, text.split("\n"))))
