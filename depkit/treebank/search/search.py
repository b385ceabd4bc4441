"""Search for the sentences that match a pattern."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial

from depkit.corpus.containing import read_containing
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.corpus.word import Word
from depkit.files.errors import ArgumentError
from depkit.files.storage import PathLike
from depkit.treebank.search.graph import Edge, Graph
from depkit.treebank.search.matcher import Found, Matcher
from depkit.treebank.search.pattern import Pattern
from depkit.treebank.search.pattern_parser import parse_pattern
from depkit.treebank.search.required import required_texts


class Match:
    """A match of a pattern in a sentence.

    `match["X"]` is the word that the node `X` of the pattern matches, None if that is the anchor
    (the source of the root's edge) or an empty node.

    Attributes:
        sentence: The sentence.
        nodes: The ids of the nodes in their file, by the names in the pattern: "3" for a word, "0"
            for the anchor, "3.1" for an empty node.
        edges: The source, the label and the target of the edges that have a name in the pattern,
            as in `("3", "nsubj", "1")`, by these names.
    """

    def __init__(self, search: "Search", graph: Graph, found: Found) -> None:
        self.sentence = graph.sentence
        self.graph = graph
        self.found = found
        self._search = search

    def __getitem__(self, name: str) -> Word | None:
        id = self.nodes[name]
        return self.sentence[int(id) - 1] if id.isdigit() and id != "0" else None

    @cached_property
    def nodes(self) -> dict[str, str]:
        ids = self.graph.ids
        names = self._search.matcher.nodes
        return {name: ids[i] for name, i in zip(names, self.found[0], strict=True)}

    @cached_property
    def edges(self) -> dict[str, tuple[str, str, str]]:
        ids = self.graph.ids
        names = self._search.matcher.edges
        return {
            name: (ids[source], label, ids[target])
            for name, (source, target, label) in zip(names, self.found[1], strict=True)
        }

    def position(self, name: str) -> int:
        """Return the position of a node in the graph. Raises KeyError."""
        return dict(zip(self._search.matcher.nodes, self.found[0], strict=True))[name]

    def edge(self, name: str) -> Edge:
        """Return an edge of the graph. Raises KeyError."""
        return dict(zip(self._search.matcher.edges, self.found[1], strict=True))[name]

    def __str__(self) -> str:
        """Return the ids of the nodes, as in `V:3 N:1`."""
        return " ".join(f"{name}:{id}" for name, id in self.nodes.items())

    def __repr__(self) -> str:
        return f"<Match {self} in {self.sentence!r}>"


class Search:
    """A pattern that has been parsed and prepared.

    Args:
        pattern: The pattern, or its text in the language of Grew; see `pattern_parser`.
        enhanced: Whether enhanced dependencies and empty nodes are searched as well.

    Raises:
        PatternError: The pattern is not valid.
        ArgumentError: The pattern has enhanced relations, but `enhanced` is False.
    """

    def __init__(self, pattern: str | Pattern, enhanced: bool = False) -> None:
        self.enhanced = enhanced
        self.pattern = parse_pattern(pattern) if isinstance(pattern, str) else pattern
        self.matcher = Matcher(self.pattern)
        self.check_enhanced()

    def check_enhanced(self) -> None:
        """Raise ArgumentError for an enhanced relation in the pattern without `enhanced`."""
        if not self.enhanced and self.pattern.names_enhanced:
            message = "the pattern has an enhanced relation, so this must be given as well"
            raise ArgumentError("enhanced", message)

    def read(
        self, path: str, format: str | None = None, encoding: str = "utf-8"
    ) -> Iterator[tuple[Graph, list[Found]]]:
        """Yield the sentences of a file that match, as graphs, with their matches.

        Sentences that cannot match are not parsed, so errors in them are not noticed. Raises
        FormatError, OSError and ValueError as `io.read`.
        """
        texts = required_texts(self.pattern)
        return self.find(read_containing(path, texts, format, encoding))

    def accepts(self, sentence: Sentence) -> bool:
        """Return whether a sentence matches."""
        return self.matcher.matches(Graph(sentence, self.enhanced))

    def visit(
        self,
        path: str,
        visit: Callable[[Graph, Found], object],
        format: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        """Call a function with each match in a file, of which a sentence may have millions.

        The matches of a sentence are in no order. Raises what `read` raises.
        """
        texts = required_texts(self.pattern)
        for sentence in read_containing(path, texts, format, encoding):
            graph = Graph(sentence, self.enhanced)
            self.matcher.visit(graph, partial(visit, graph))

    def find(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Graph, list[Found]]]:
        """Yield the sentences that match, as graphs, with their matches.

        Raises RegexError if matching a regular expression takes too long.
        """
        for sentence in sentences:
            graph = Graph(sentence, self.enhanced)
            if found := self.matcher.find(graph):
                yield graph, found


def search(
    pattern: str, sentences: PathLike | Sentence | Iterable[Sentence], *, enhanced: bool = False
) -> Iterator[Match]:
    """Search for a pattern in the language of Grew (https://grew.fr/doc/request).

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(
    ...     ["Birds", "sing"], head=[2, 0], deprel=["nsubj", "root"], upos=["NOUN", "VERB"]
    ... )
    >>> for match in depkit.search("pattern { V [upos=VERB]; V -[nsubj]-> N; N << V }", sentence):
    ...     print(match, match["V"].form, match["N"].form)
    V:2 N:1 sing Birds

    Args:
        pattern: The pattern; `depkit search --help` explains the language.
        sentences: A file, a sentence or several sentences.
        enhanced: Whether enhanced dependencies (with labels such as `E:nsubj`) and empty nodes are
            searched as well.

    Yields:
        The matches in the order of the sentences, and within a sentence in that of the nodes.

    Raises:
        PatternError: The pattern is not valid; the error says where.
        RegexError: Matching a regular expression takes too long.
        FormatError, OSError: A file cannot be read.
    """
    prepared = Search(pattern, enhanced)
    if isinstance(sentences, str | os.PathLike):
        results = prepared.read(os.fspath(sentences))
    else:
        results = prepared.find(each_sentence(sentences))
    return (Match(prepared, graph, found) for graph, matches in results for found in matches)
