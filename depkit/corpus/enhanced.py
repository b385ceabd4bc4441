"""Enhanced dependencies: the graph of the column DEPS, and empty nodes collapsed into labels.

In a graph without empty nodes, a path through empty nodes is one relation, whose label consists of
the labels of the path: `8:conj:and>obj`. This is the form in which graphs are scored by the shared
tasks of IWPT 2020 and 2021 (Bouma et al. 2020), and in which a parser predicts them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from depkit.corpus.column import Column
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError

PATH = ">"  # separates the labels of a path through empty nodes
# How many empty nodes and labels `collapse` may visit in one sentence. Real sentences need far
# fewer; the number of paths can grow exponentially with that of empty nodes.
MAX_PATH_LABELS = 100_000
Relation = tuple[int, str]  # the position of the head, and the label


@dataclass(frozen=True)
class EnhancedGraph:
    """The nodes of a sentence and their relations in the column DEPS.

    Nodes are in the order of the file: the root, the words and the empty nodes. They are referred
    to by their positions, from 0.

    ids: [nodes] the ids in the file, "0", "3" or "3.1".
    cells: [nodes] the columns of each node; [] for the root.
    relations: [nodes] the heads and labels of each node, in the order of DEPS; [] for the root.
    location: the file, the line and the sent_id of the sentence, for errors.
    """

    ids: list[str]
    cells: list[list[str]]
    relations: list[list[Relation]]
    location: tuple[str, int, str]

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
                message = f"DEPS has {relation[:40]!r}, not HEAD:relation; see depkit check"
                raise FormatError(*sentence.row_location(row), message)
            relations[-1].append((positions[head], label))
    return EnhancedGraph(ids, [[], *cells], relations, sentence.location())


def _check_format(sentence: Sentence) -> None:
    if "deps" not in sentence.format.columns:
        message = f"{sentence.format.name} has no enhanced dependencies"
        raise FormatError(sentence.file, sentence.line, sentence.sent_id, message)


def collapse(graph: EnhancedGraph) -> list[list[Relation]]:
    """Return the relations of each word in the graph without empty nodes.

    A path from a word, or the root, through empty nodes to a word becomes one relation. A path that
    visits an empty node twice is left out, and a relation that occurs twice is returned once. Heads
    are numbers of words, 0 for the root. Relations are in the order of their heads and labels.

    Raises FormatError if the paths are too many or too long, see MAX_PATH_LABELS.
    """
    numbers = {position: number for number, position in enumerate(graph.words)}
    remaining = MAX_PATH_LABELS
    collapsed = []
    for position in graph.words[1:]:
        paths, remaining = _find_paths(graph, position, remaining)
        collapsed.append(sorted({(numbers[head], label) for head, label in paths}))
    return collapsed


def _find_paths(graph: EnhancedGraph, node: int, remaining: int) -> tuple[list[Relation], int]:
    """Find the paths to a node: the word, or the root, at their start, and their labels.

    remaining: how many empty nodes and labels may still be visited. What is left of this number is
    returned as well.
    """
    found: list[Relation] = []
    path: dict[int, str] = {}  # the empty nodes before `node`, the nearest first, and their labels
    stack = [iter(graph.relations[node])]
    while stack:
        head, label = next(stack[-1], (-1, ""))
        if head < 0:
            stack.pop()
            if path:
                path.popitem()
        elif "." not in graph.ids[head]:
            found.append((head, PATH.join([label, *reversed(path.values())])))
            remaining -= len(path)
        elif head not in path:
            path[head] = label
            stack.append(iter(graph.relations[head]))
            remaining -= 1
        if remaining < 0:
            message = "DEPS has too many or too long paths through empty nodes"
            raise FormatError(*graph.location, message)
    return found, remaining


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


def sort_relations(cell: str) -> str:
    """Return the content of DEPS with its relations in the order of their heads and labels.

    Raises ValueError if a head is no number.
    """
    if cell == "_":
        return cell
    relations = (relation.partition(":") for relation in cell.split("|"))
    ordered = sorted(relations, key=lambda relation: _order((relation[0], relation[2])))
    return "|".join(map("".join, ordered))


def expand(sentence: Sentence) -> Sentence:
    """Copy a sentence with empty nodes for the labels of paths, the inverse of `collapse`.

    Paths that begin at the same node with the same labels share their new empty nodes. A new node
    is inserted after the first word that depends on it, and after the existing empty nodes there.
    At the end of a relation `conj`, it has the form, the lemma, the tags and the features of the
    head of the relation, which is the elided predicate. Existing empty nodes and labels without
    paths stay as they are; a sentence without labels of paths is returned itself.

    Raises FormatError if DEPS does not describe a graph.
    """
    graph = read_graph(sentence)
    if not any(PATH in label for relations in graph.relations for _, label in relations):
        return sentence
    preceding = [int(node_id.partition(".")[0]) for node_id in graph.ids]  # the word before a node
    counts = Counter(preceding)  # the number of the next new node after each word
    ids: dict[tuple[str, str], str] = {}  # of the new nodes, by the id of the head and the label
    inserted: dict[int, list[list[str]]] = {}  # the columns of the new nodes after each word
    cells = [*graph.cells]
    for node, (word, relations) in enumerate(zip(preceding, graph.relations, strict=True)):
        expanded = set()
        for position, path_label in sorted(relations):
            head = graph.ids[position]
            *path, last = path_label.split(PATH)
            for label in path:
                if (head, label) not in ids:
                    ids[head, label] = f"{word}.{counts[word]}"
                    counts[word] += 1
                    row = _make_node(graph, ids[head, label], head=head, label=label)
                    inserted.setdefault(word, []).append(row)
                head = ids[head, label]
            expanded.add((head, last))
        if any(PATH in label for _, label in relations):
            pairs = sorted(expanded, key=_order)
            cells[node] = [*cells[node]]
            cells[node][sentence.format.index("deps")] = "|".join(map(":".join, pairs))
    return _with_rows(sentence, cells[1:], preceding[1:], inserted)


def _make_node(graph: EnhancedGraph, node_id: str, *, head: str, label: str) -> list[str]:
    """Return the columns of a new empty node, which depends on a node with the id `head`."""
    is_copy = head != "0" and "." not in head and label.split(":")[0] == "conj"
    content = graph.cells[graph.words[int(head)]][1:6] if is_copy else ["_"] * 5
    misc = f"CopyOf={head}" if is_copy else "_"
    return [node_id, *content, "_", "_", f"{head}:{label}", misc]


def _with_rows(
    sentence: Sentence,
    cells: Sequence[Sequence[str]],
    preceding: Sequence[int],
    inserted: Mapping[int, Sequence[Sequence[str]]],
) -> Sentence:
    """Copy a sentence with other values in the rows of its nodes, and with further empty nodes.

    cells: [nodes] the columns of each word and each existing empty node.
    preceding: [nodes] the number of the word itself, or of the word before an empty node.
    inserted: the columns of the further nodes by the number of the word before them.
    """
    copy = sentence.with_columns({})
    lines: list[str] = []
    rows: list[int] = []
    words = set(sentence.rows)
    nodes = sorted([*sentence.rows, *sentence.empty_nodes()])
    last_nodes = dict(zip(preceding, nodes, strict=True))  # the last row of each word
    line_end = sentence.line_end
    end = 0  # after the last line that has been copied
    for row, word, columns in zip(nodes, preceding, cells, strict=True):
        lines += sentence.lines[end:row]
        if row in words:
            rows.append(len(lines))
        further = inserted.get(word, ()) if last_nodes[word] == row else ()
        lines += ["\t".join(x) + line_end for x in (columns, *further)]
        end = row + 1
    copy.lines, copy.rows = Column([*lines, *sentence.lines[end:]]), rows
    return copy


def _order(relation: tuple[str, str]) -> tuple[list[int], str]:
    head, label = relation
    return [int(part) for part in head.split(".")], label
