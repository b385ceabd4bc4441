"""Enhanced dependencies: the graph of the column DEPS, and empty nodes collapsed into labels.

In a graph without empty nodes, a path through empty nodes is one relation, whose label consists of
the labels of the path: `8:conj:and>obj`. This is the form in which graphs are scored by the shared
tasks of IWPT 2020 and 2021 (Bouma et al. 2020), and in which a parser predicts them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from depkit.corpus.column import Column
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError

PATH = ">"  # separates the labels of a path through empty nodes
Relation = tuple[int, str]  # the position of the head, and the label


@dataclass(frozen=True)
class EnhancedGraph:
    """The nodes of a sentence and their relations in the column DEPS.

    Nodes are in the order of the file: the root, the words and the empty nodes. They are referred
    to by their positions, from 0.

    ids: [nodes] the ids in the file, "0", "3" or "3.1".
    cells: [nodes] the columns of each node; [] for the root.
    relations: [nodes] the heads and labels of each node, in the order of DEPS; [] for the root.
    """

    ids: list[str]
    cells: list[list[str]]
    relations: list[list[Relation]]

    @property
    def words(self) -> list[int]:
        """[words + 1] The positions of the root and of the words."""
        return [i for i, node_id in enumerate(self.ids) if "." not in node_id]


def read_graph(sentence: Sentence) -> EnhancedGraph:
    """Return the graph of a sentence; raises FormatError if DEPS does not describe one."""
    _check_format(sentence)
    rows = sorted([*sentence.rows, *sentence.empty_nodes()])
    cells = [sentence.lines[row].rstrip("\r\n").split("\t") for row in rows]
    ids = ["0", *(row[0] for row in cells)]
    positions = {node_id: position for position, node_id in enumerate(ids)}
    index = sentence.format.index("deps")
    relations: list[list[Relation]] = [[]]
    for row, columns in zip(rows, cells, strict=True):
        relations.append([])
        for relation in columns[index].split("|") if columns[index] != "_" else ():
            head, colon, label = relation.partition(":")
            if not colon or head not in positions:
                line = sentence.line and sentence.line + row
                message = f"DEPS has {relation[:40]!r}, not HEAD:relation; see depkit check"
                raise FormatError(sentence.file, line, sentence.sent_id, message)
            relations[-1].append((positions[head], label))
    return EnhancedGraph(ids, [[], *cells], relations)


def _check_format(sentence: Sentence) -> None:
    if "deps" not in sentence.format.columns:
        message = f"{sentence.format.name} has no enhanced dependencies"
        raise FormatError(sentence.file, sentence.line, sentence.sent_id, message)


def collapse(graph: EnhancedGraph) -> list[list[Relation]]:
    """Return the relations of each word in the graph without empty nodes.

    A path from a word, or the root, through empty nodes to a word becomes one relation. A path that
    visits an empty node twice is left out, and a relation that occurs twice is returned once. Heads
    are numbers of words, 0 for the root. Relations are in the order of their heads and labels.
    """
    numbers = {position: number for number, position in enumerate(graph.words)}
    return [
        sorted({(numbers[head], label) for head, label in _paths(graph, position, ())})
        for position in graph.words[1:]
    ]


def _paths(graph: EnhancedGraph, node: int, visited: tuple[int, ...]) -> Iterable[Relation]:
    """Yield the word, or the root, at the start of each path to a node, and the path's labels."""
    for head, label in graph.relations[node]:
        if "." not in graph.ids[head]:
            yield head, label
        elif head not in visited:
            for first, labels in _paths(graph, head, (*visited, head)):
                yield first, f"{labels}{PATH}{label}"


def write_graph(sentence: Sentence, relations: Sequence[Iterable[Relation]]) -> Sentence:
    """Copy a sentence with new enhanced dependencies, without its old empty nodes.

    Args:
        sentence: A sentence in CoNLL-U; another format raises FormatError.
        relations: [words] the heads, as the numbers of words, and labels of each word.
    """
    _check_format(sentence)
    copy = sentence.without_empty_nodes()
    return copy.with_columns({"deps": [format_relations(pairs) for pairs in relations]})


def relations_f1(pairs: Iterable[tuple[Sequence[Sequence[Relation]], ...]]) -> float:
    """Return the F1 of relations in percent: ELAS, see also `score.enhanced`.

    pairs: for each sentence, the gold relations and the predicted ones of each word, without empty
    nodes.
    """
    correct = total = 0
    for gold, predicted in pairs:
        for expected, found in zip(gold, predicted, strict=True):
            correct += 2 * len({*expected} & {*found})
            total += len(expected) + len(found)
    return 100 * correct / max(1, total)


def format_relations(relations: Iterable[Relation]) -> str:
    """Return the content of DEPS for the heads and labels of a word."""
    return "|".join(f"{head}:{label}" for head, label in sorted(set(relations))) or "_"


def expand(sentence: Sentence) -> Sentence:
    """Copy a sentence with empty nodes for the labels of paths, the inverse of `collapse`.

    Paths that begin at the same word with the same labels share their empty nodes. An empty node
    is inserted after the first word that depends on it. At the end of a relation `conj`, it has the
    form, the lemma, the tags and the features of the head of the relation, which is the elided
    predicate.
    """
    graph = read_graph(sentence)
    relations = collapse(graph)
    # The keys are the word at which a path begins, and its labels up to the empty node.
    nodes: dict[tuple[int, tuple[str, ...]], tuple[int, int]] = {}  # -> (preceding word, number)
    counts: dict[int, int] = {}
    for word, pairs in enumerate(relations, start=1):
        for head, label in pairs:
            labels = tuple(label.split(PATH))
            for length in range(1, len(labels)):
                if (head, labels[:length]) not in nodes:
                    counts[word] = counts.get(word, 0) + 1
                    nodes[head, labels[:length]] = word, counts[word]
    if not nodes:
        return sentence
    ids = {key: f"{word}.{number}" for key, (word, number) in nodes.items()}
    deps = [_expanded(pairs, ids) for pairs in relations]
    copy = sentence.without_empty_nodes().with_columns({"deps": deps})
    lines, base_rows = list(copy.lines), copy.rows
    line_end = "\r\n" if lines[base_rows[0]].endswith("\r\n") else "\n"
    inserted = sorted(nodes.items(), key=lambda item: item[1], reverse=True)
    for (head, labels), (word, _) in inserted:
        parent = ids[head, labels[:-1]] if len(labels) > 1 else str(head)
        is_copy = len(labels) == 1 and head > 0 and labels[0].split(":")[0] == "conj"
        kept = lines[base_rows[head - 1]].rstrip("\r\n").split("\t")[1:6] if is_copy else ["_"] * 5
        misc = f"CopyOf={head}" if is_copy else "_"
        row = [ids[head, labels], *kept, "_", "_", f"{parent}:{labels[-1]}", misc]
        nodes_after = base_rows[word - 1] + 1
        lines.insert(nodes_after, "\t".join(row) + line_end)
        base_rows = [row + (row >= nodes_after) for row in base_rows]
    copy.lines, copy.rows = Column(lines), base_rows
    return copy


def _expanded(relations: Iterable[Relation], ids: dict[tuple[int, tuple[str, ...]], str]) -> str:
    """Return the content of DEPS of a word, with empty nodes as the heads of paths."""
    found = set()
    for head, label in relations:
        *path, last = label.split(PATH)
        found.add((ids[head, tuple(path)] if path else str(head), last))
    return "|".join(f"{head}:{label}" for head, label in sorted(found, key=_order))


def _order(relation: tuple[str, str]) -> tuple[list[int], str]:
    head, label = relation
    return [int(part) for part in head.split(".")], label
