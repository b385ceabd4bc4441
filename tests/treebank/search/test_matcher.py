"""The matches of patterns are those that a search over all tuples of nodes finds."""

import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.treebank.search.graph import Graph
from depkit.treebank.search.search import Search, search
from tests.conftest import HERE, TINY
from tests.treebank.search.brute_force import ENHANCED, MEANINGS, Meaning, Table, search_all

SENTENCES = HERE / "data" / "search.conllu"
# The number of words up to which all tuples of so many nodes are tried
MAX_WORDS = {1: 1000, 2: 40, 3: 14, 4: 10}


def assert_same_matches(
    sentences: Sequence[Sentence], pattern: str, names: str, meaning: Meaning, enhanced: bool
) -> int:
    """Compare the matches in all sentences that are short enough, and return their number."""
    prepared = Search(pattern, enhanced)
    total = 0
    for sentence in sentences:
        if len(sentence) > MAX_WORDS[len(names)]:
            continue
        table = Table(list(sentence.lines), enhanced)
        expected = list(search_all(table, names, meaning))
        graph = Graph(sentence, enhanced)
        found = sorted({nodes for nodes, _ in prepared.matcher.find(graph)})
        assert found == expected, (pattern, str(sentence))
        total += len(found)
    return total


@pytest.mark.parametrize(
    ("pattern", "names", "meaning"), MEANINGS, ids=[meaning[0] for meaning in MEANINGS]
)
def test_patterns_match_as_all_tuples_of_nodes_do(pattern, names, meaning) -> None:
    sentences = [*read(SENTENCES), *read(TINY)]
    assert_same_matches(sentences, pattern, names, meaning, enhanced=False)


def test_most_patterns_match_somewhere() -> None:
    sentences = [*read(SENTENCES), *read(TINY)]
    counts = [sum(1 for _ in search(pattern, sentences)) for pattern, _, _ in MEANINGS]
    assert sum(count > 0 for count in counts) >= 40 <= len(MEANINGS)


@pytest.mark.parametrize(
    ("pattern", "names", "meaning"), ENHANCED, ids=[meaning[0] for meaning in ENHANCED]
)
def test_patterns_match_enhanced_dependencies(pattern, names, meaning) -> None:
    assert assert_same_matches(list(read(SENTENCES)), pattern, names, meaning, enhanced=True)


def ewt(shared: Path, step: int) -> list[Sentence]:
    """Return every so many sentences of EWT."""
    paths = sorted((shared / "data" / "ud-english-ewt").glob("*.conllu"))
    return [sentence for path in paths for sentence in islice(read(path), 0, None, step)]


def test_patterns_match_in_ewt_as_all_tuples_of_nodes_do(shared) -> None:
    sentences = ewt(shared, 50)
    for pattern, names, meaning in MEANINGS:
        if len(names) < 3:
            assert_same_matches(sentences, pattern, names, meaning, enhanced=False)


def test_patterns_match_enhanced_dependencies_of_ewt(shared) -> None:
    sentences = ewt(shared, 100)
    for pattern, names, meaning in ENHANCED:
        if len(names) < 3:
            assert_same_matches(sentences, pattern, names, meaning, enhanced=True)


def test_a_file_has_the_matches_of_its_sentences(shared) -> None:
    """Skipping the sentences that cannot match changes nothing."""
    path = shared / "data" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"
    sentences = list(read(path))
    for pattern, names, _ in [*MEANINGS, *ENHANCED]:
        if len(names) < 3:
            prepared = Search(pattern, enhanced=(pattern, names, _) in ENHANCED)
            expected = [(graph.sentence.line, found) for graph, found in prepared.find(sentences)]
            results = prepared.read(str(path))
            assert [(graph.sentence.line, found) for graph, found in results] == expected


@pytest.mark.parametrize(("pattern", "names", "meaning"), [*MEANINGS[::3], *ENHANCED])
def test_matches_are_visited_as_they_are_found(pattern, names, meaning) -> None:
    prepared = Search(pattern, enhanced=(pattern, names, meaning) in ENHANCED)
    visited: list[tuple[int, object]] = []
    prepared.visit(
        str(SENTENCES), lambda graph, found: visited.append((graph.sentence.line, found))
    )
    found = [
        (graph.sentence.line, match)
        for graph, matches in prepared.read(str(SENTENCES))
        for match in matches
    ]
    assert sorted(visited) == found
    accepted = [sentence.line for sentence in read(SENTENCES) if prepared.accepts(sentence)]
    assert accepted == list(dict.fromkeys(line for line, _ in found))


@pytest.mark.parametrize("limit", [1 << 26, 20])
def test_paths_are_found_in_trees_and_in_other_graphs(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("depkit.treebank.search.graph._MAX_ANCESTORS", limit)
    generator = random.Random(3)
    trees = 0
    for _ in range(300):
        size = generator.randint(1, 7)
        heads = [generator.randint(0, i) for i in range(size)]
        graph = Graph(Sentence.from_words(["a"] * size, head=heads))
        pairs = [edge[:2] for edge in graph.edges]
        if generator.random() < 0.5:  # cycles, and nodes with several heads
            pairs = [(generator.randint(0, size), generator.randint(0, size)) for _ in range(size)]
        graph.edges = [(source, target, "a") for source, target in pairs]
        expected = set(pairs)
        for _ in range(size):
            expected |= {(x, z) for x, y in expected for first, z in pairs if first == y}
        nodes = range(size + 1)
        assert {(x, y) for x in nodes for y in nodes if graph.dominates(x, y)} == expected
        trees += graph._subtrees is not None
        assert len(graph._ancestors) * graph.size <= limit + graph.size
    assert 100 < trees < 300


def test_paths_of_a_deep_tree_need_two_numbers_for_each_node() -> None:
    graph = Graph(Sentence.from_words(["a"] * 50, head=list(range(50))))
    assert all(graph.dominates(x, y) == (x < y) for x in range(51) for y in range(51))
    assert not graph._ancestors
