"""A graph that can be changed, and that writes its changes into the lines of its sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import FEATURES
from depkit.files.errors import FormatError
from depkit.treebank.check_rows import SPACED
from depkit.treebank.check_tree import find_cycles
from depkit.treebank.search.graph import MISC, Edge, Graph, feature_key, parse_features

_COLUMNS = ("form", "lemma", "upos", "xpos")
_CACHES = ("_subtrees", "_ancestors")  # which depend on the edges


@dataclass(frozen=True)
class Change:
    """A changed cell of a sentence: the number of the word, the column, the old and new value."""

    word: int
    column: str
    old: str
    new: str


class EditableGraph(Graph):
    """The graph of a sentence, without enhanced dependencies, whose edges and features change.

    Attributes:
        edges: All edges, as the keys of a dict, in which an edge is found at once.
        touched: The first value of every feature that was set, by the node and its name.
    """

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.edges: dict[Edge, None] = dict.fromkeys(self.edges)
        self.touched: dict[tuple[int, str], str | None] = {}
        self._old: dict[tuple[int, str], str | None] = {}  # the features before the last commands
        self._other_edges: set[Edge] = set()  # those that the last commands have added or removed
        self._cells: dict[str, Sequence[str]] = {}  # the columns of the sentence

    def set_feature(self, node: int, name: str, value: str | None) -> None:
        """Set a feature, or remove it (None); the anchor has none that can be set."""
        old = self.columns[name][node]
        if old == value or node == 0:
            return
        self.touched.setdefault((node, name), old)
        self._old.setdefault((node, name), old)
        self.columns[name][node] = value
        for computed in ("textform", "wordform"):
            if name != computed:
                self.columns.pop(computed, None)
        plain = name.removeprefix(MISC)
        if name not in _COLUMNS and not _is_in_feats(plain):
            # A feature of MISC has two names.
            if old is None or self.columns[MISC + plain][node] in (old, value):
                other = plain if name != plain else MISC + plain
                if (node, other) in self.touched:
                    self._old.setdefault((node, other), self.columns[other][node])
                self.columns[other][node] = value

    def feature_names(self, node: int) -> list[str]:
        """Return the names of the features of a node that are in FEATS or MISC, sorted."""
        if node == 0:
            return []
        feats = parse_features(self._cell(node, "feats"))
        in_misc = "misc" in self.sentence.format.columns
        misc = parse_features(self._cell(node, "misc")) if in_misc else {}
        plain = [key.replace("[", "__").removesuffix("]") for key in (*feats, *misc)]
        names = [*plain[: len(feats)], *(MISC + name for name in plain[len(feats) :])]
        names += [name for own, name in self.touched if own == node and name not in _COLUMNS]
        found = set()
        for name in names:
            # A feature of MISC has two names, unless one of FEATS has the shorter one.
            short = name.removeprefix(MISC)
            is_hidden = _is_in_feats(short) or feature_key(short) in feats
            found.add(name if is_hidden else short)
        return sorted(found - {"textform", "wordform"})

    def remove_edge(self, edge: Edge) -> None:
        """Remove an edge if there is one."""
        if edge in self.edges:
            source, target, label = edge
            self.outgoing[source].remove((target, label))
            self.incoming[target].remove((source, label))
            del self.edges[edge]
            self._note(edge)

    def add_edge(self, edge: Edge) -> None:
        """Add an edge unless it is there already."""
        if edge not in self.edges:
            source, target, label = edge
            self.outgoing[source].append((target, label))
            self.incoming[target].append((source, label))
            self.edges[edge] = None
            self._note(edge)

    def _note(self, edge: Edge) -> None:
        self._other_edges ^= {edge}  # An edge that is added again has not changed.
        for name in _CACHES:
            self.__dict__.pop(name, None)

    def take_changes(self) -> tuple[set[tuple[int, str]], set[Edge]]:
        """Return what has changed since the last call.

        Returns features, by nodes and names, whose values differ, and edges that were added or
        removed.
        """
        features = {
            (node, name)
            for (node, name), old in self._old.items()
            if self.columns[name][node] != old
        }
        edges, self._old, self._other_edges = self._other_edges, {}, set()
        return features, edges

    def finish(self) -> tuple[Sentence, list[Change]]:
        """Return the sentence with all changes, and the list of the changed cells.

        Only changed cells differ from the lines of the sentence. Raises FormatError if a word has
        no head any more, or several, or for a value that cannot be in its cell.
        """
        sentence = self.sentence
        cells: dict[tuple[int, str], str] = dict(self._changed_arcs())
        for (node, name), old in self.touched.items():
            value = self.columns[name][node]
            if value != old:
                self._change_cell(cells, node, name, value)
        changes = []
        columns: dict[str, list[str]] = {}
        for (node, column), text in sorted(cells.items()):
            if column not in columns:
                columns[column] = list(self._column(column))
            values = columns[column]
            if values[node - 1] != text:
                changes.append(Change(node, column, values[node - 1], text))
                values[node - 1] = text
        if not changes:
            return sentence, []
        return change_sentence(sentence, columns, changes), changes

    def _changed_arcs(self) -> Iterator[tuple[tuple[int, str], str]]:
        """Yield the cells of HEAD and DEPREL of words whose edge has changed."""
        sentence = self.sentence
        arcs = zip(sentence.head, sentence.deprel, strict=True)
        for word, (head, deprel) in enumerate(arcs, start=1):
            incoming = self.incoming[word]
            if incoming == ([(head, deprel)] if head >= 0 else []):
                continue
            if len(incoming) != 1:
                heads = " and ".join(self.ids[source] for source, _ in incoming)
                state = f"several heads: {heads}" if incoming else "no head"
                message = f"after the rules, word {word} ({sentence.form[word - 1]}) has {state};"
                message = f"{message} a rule that adds an edge must delete the old one"
                raise FormatError(*sentence.location(word - 1), message)
            ((source, label),) = incoming
            if not label:
                message = (
                    f"after the rules, the edge to word {word} ({sentence.form[word - 1]}) has"
                )
                message = f"{message} no relation; a rule that adds an edge e must set e.label"
                raise FormatError(*sentence.location(word - 1), message)
            yield (word, "head"), self.ids[source]
            yield (word, "deprel"), label

    def _change_cell(
        self, cells: dict[tuple[int, str], str], node: int, name: str, value: str | None
    ) -> None:
        """Put the new value of a feature into the cell to which it belongs."""
        if name in _COLUMNS:
            self._check_column(node, name)
            cells[node, name] = "_" if value is None else value
            return
        key = feature_key(name)
        column = "misc"
        if not name.startswith(MISC):
            feats = cells.get((node, "feats"), self._cell(node, "feats"))
            if _is_in_feats(name) or key in parse_features(feats):
                column = "feats"
        text = cells.get((node, column), self._cell(node, column))
        features = [] if text == "_" else text.split("|")
        names = [feature.partition("=")[0] for feature in features]
        # A feature that is repeated is replaced as a whole, so that what is set is read back.
        others = [feature for feature in features if feature.partition("=")[0] != key]
        if value is not None:
            if "|" in value or (column == "feats" and not value):
                problem = "cannot be empty" if not value else "cannot contain |"
                message = f"the feature {key} of word {node} {problem}"
                raise FormatError(*self.sentence.location(node - 1), message)
            before = sum(other.lower() < key.lower() for other in names)
            end = before if column == "feats" else len(features)
            others.insert(names.index(key) if key in names else end, f"{key}={value}")
        cells[node, column] = "|".join(others) or "_"

    def _check_column(self, node: int, column: str) -> None:
        """Raise FormatError for a word if the format has no such column."""
        sentence = self.sentence
        if column not in sentence.format.columns:
            raise FormatError(
                *sentence.location(node - 1), f"{sentence.format.name} has no column {column}"
            )

    def _cell(self, node: int, column: str) -> str:
        self._check_column(node, column)
        return self._column(column)[node - 1]

    def _column(self, name: str) -> Sequence[str]:
        if name not in self._cells:
            self._cells[name] = self.sentence.column(name)
        return self._cells[name]


def change_sentence(
    sentence: Sentence, columns: Mapping[str, Sequence[str]], changes: Iterable[Change]
) -> Sentence:
    """Return a sentence with other values in some columns; see `Sentence.with_columns`.

    changes: the cells that differ. Raises FormatError if one of them would break the format, or if
    the heads are no tree any more.
    """
    for change in changes:
        problem = ""
        if not change.new:
            problem = "is empty; write _ for a cell without a value"
        elif change.column not in SPACED and any(map(str.isspace, change.new)):
            problem = f"{change.new[:40]!r} contains white space"
        elif change.column == "deps":
            problem = _find_problem_of_deps(sentence, change.new)
        if problem:
            message = f"after the changes, {change.column.upper()} of word {change.word} {problem}"
            raise FormatError(*sentence.location(change.word - 1), message)
    try:
        result = sentence.with_columns(columns)
    except (ValueError, KeyError) as error:
        raise FormatError(*sentence.location(), str(error.args[-1])) from None
    _check_heads(result, sentence)
    return result


def _find_problem_of_deps(sentence: Sentence, cell: str) -> str:
    """Describe the first relation in a value of DEPS that has no head or no label; "" if none."""
    nodes = [sentence.lines[row].partition("\t")[0] for row in sentence.empty_nodes()]
    heads = {*map(str, range(len(sentence) + 1)), *nodes}
    for relation in cell.split("|") if cell != "_" else ():
        head, _, label = relation.partition(":")
        if not label or head not in heads:
            return f"has {relation[:40]!r}, which is no relation to a word of the sentence"
    return ""


def _check_heads(sentence: Sentence, before: Sentence) -> None:
    """Raise FormatError if heads form a new cycle, or if a sentence of CoNLL-U gets a second root.

    before: the sentence before its changes; its cycles and several roots may remain.
    """
    for cycle in find_cycles(sentence.head):
        word = cycle[0]
        if any(sentence.head[node - 1] != before.head[node - 1] for node in cycle):
            problem = f"the heads of the words {', '.join(map(str, sorted(cycle)))} form a cycle"
            if len(cycle) == 1:
                problem = f"word {word} is its own head"
            raise FormatError(*sentence.location(word - 1), f"after the changes, {problem}")
    roots = [word for word, head in enumerate(sentence.head, start=1) if head == 0]
    if sentence.format.has_ranges and len(roots) > max(1, before.head.count(0)):
        words = ", ".join(map(str, roots))
        message = f"after the changes, the words {words} are roots; a tree of UD has one root"
        raise FormatError(*sentence.location(roots[1] - 1), message)


def _is_in_feats(name: str) -> bool:
    """Return whether a feature is one of FEATS by its name."""
    return feature_key(name).partition("[")[0] in FEATURES
