"""Matches as text: sentences with marked words, comments of CoNLL-U, and records."""

from collections.abc import Sequence
from typing import Any

from depkit.corpus.sentence import Sentence
from depkit.treebank.output import escape_unprintable
from depkit.treebank.search.graph import Graph
from depkit.treebank.search.matcher import Found
from depkit.treebank.search.search import Match, Search

_BOLD, _DIM, _PLAIN = "\x1b[1;32m", "\x1b[2m", "\x1b[0m"


def mark_words(search: Search, graph: Graph, found: Found, colour: bool = False) -> str:
    """Return a line with the words of a sentence, those of a match marked: `The [N dog] [V sees]`.

    The line begins with the file, the line and the sent_id of the sentence. colour: whether to use
    the colours of a terminal.
    """
    names = search.matcher.names_by_position(found)
    words = []
    for position, form in enumerate(graph.columns["form"][1:], start=1):
        word = escape_unprintable(form or "_")
        if position in names:
            word = f"[{','.join(names[position])} {word}]"
            word = f"{_BOLD}{word}{_PLAIN}" if colour else word
        words.append(word)
    file, line, sent_id = graph.sentence.location()
    location = f"{file}:{graph.sentence.line or line}" if file else ""
    where = escape_unprintable(": ".join(part for part in (location, sent_id) if part))
    where = f"{_DIM}{where}:{_PLAIN} " if colour and where else f"{where}: " if where else ""
    return where + " ".join(words)


def with_match_comments(search: Search, graph: Graph, matches: Sequence[Found]) -> Sentence:
    """Copy a sentence with a comment `# match = V:3 N:1` for each match."""
    sentence = graph.sentence
    begin, end = sentence.first_row, sentence.line_end
    comments = [f"# match = {Match(search, graph, found)}{end}" for found in matches]
    return sentence.with_lines(comments, begin, begin)


def make_record(search: Search, graph: Graph, found: Found) -> dict[str, Any]:
    """Return a match as a record for JSON."""
    sentence, match = graph.sentence, Match(search, graph, found)
    return {
        "file": sentence.file,
        "line": sentence.line,
        "sent_id": sentence.sent_id,
        "nodes": match.nodes,
        "edges": {name: list(edge) for name, edge in match.edges.items()},
    }
