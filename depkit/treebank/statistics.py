"""Statistics of treebanks: numbers of sentences, words and labels, and the shapes of trees."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from depkit.corpus.enhanced import collapse, read_graph
from depkit.corpus.enhancements import find_types
from depkit.corpus.formats import PTB
from depkit.corpus.io import PathLike, is_bracketed_file, read
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.files.errors import FormatError
from depkit.treebank.table import Table
from depkit.trees.shape import depths, has_crossing_arcs, nonprojective_arcs

COLUMNS = ("upos", "xpos", "deprel")
LABELS = (*COLUMNS, "enhancement", "constituent")
# The JSON names of the percentages. In the table, each percentage is below the number it belongs
# to, so that its name there can be short.
JSON_NAMES = {
    "% of sentences": "non_projective_sentences_percent",
    "% of arcs": "non_projective_arcs_percent",
}
HISTOGRAMS = ("length", "distance", "depth")


@dataclass
class Statistics:
    """The counts of a file, or the sums of the counts of several files.

    Trees are counted in annotated sentences only. The arc from the artificial root counts as an
    arc.
    """

    file: str = ""
    total: bool = False  # whether these are the sums over several files
    sentences: int = 0
    words: int = 0  # syntactic words
    tokens: int = 0  # multiword ranges plus the words outside of them
    ranges: int = 0  # multiword ranges, such as 1-2
    empty_nodes: int = 0
    broken: int = 0  # sentences that break the format, including those with comments only
    wordless: int = 0  # sentences with comments only, which are not among `sentences`
    unannotated: int = 0  # sentences with a word without a head, and without constituents
    annotated: int = 0  # sentences in which all words have a head
    cyclic: int = 0  # sentences with a cycle
    several_roots: int = 0  # sentences with more than one root
    no_root: int = 0  # sentences without a root
    nonprojective_sentences: int = 0  # sentences in which arcs cross
    arcs: int = 0
    # An arc is non-projective if a word between its ends is not a descendant of the head (Nivre and
    # Nilsson 2005).
    nonprojective_arcs: int = 0
    # The count of each value of a column, including `_`.
    form: Counter[str] = field(default_factory=Counter)
    lemma: Counter[str] = field(default_factory=Counter)
    upos: Counter[str] = field(default_factory=Counter)
    xpos: Counter[str] = field(default_factory=Counter)
    deprel: Counter[str] = field(default_factory=Counter)
    # The count of the enhanced relations of each type, with empty nodes collapsed.
    enhancement: Counter[str] = field(default_factory=Counter)
    # The count of each label of constituents, without functions.
    constituent: Counter[str] = field(default_factory=Counter)
    # Histograms.
    # The number of sentences by their number of words.
    length: Counter[int] = field(default_factory=Counter)
    # The number of arcs by their length |head - dependent|, without arcs from the artificial root.
    distance: Counter[int] = field(default_factory=Counter)
    # The number of words by their depth: 0 for a dependent of the artificial root, 1 for the
    # dependents of that word, and so on. Words on a cycle, and their descendants, have no depth.
    depth: Counter[int] = field(default_factory=Counter)

    def add(self, sentence: Sentence) -> None:
        if not len(sentence):
            self.broken += 1
            self.wordless += 1
            return
        self.sentences += 1
        self.words += len(sentence)
        self.broken += sentence.problem is not None
        self.length[len(sentence)] += 1
        for name in ("form", "lemma", *COLUMNS):
            getattr(self, name).update(getattr(sentence, name))
        if tree := sentence.constituents:
            self.constituent.update(node.label for node in tree.nodes() if node.children)
        self._add_tokens(sentence)
        self._add_tree(sentence)
        if "deps" in sentence.format.columns and not sentence.problem:
            self._add_enhanced(sentence)

    def _add_enhanced(self, sentence: Sentence) -> None:
        if set(sentence.column("deps")) == {"_"}:
            return
        try:
            relations = collapse(read_graph(sentence))
        except FormatError:
            self.broken += 1
            return
        for types in find_types(sentence.head, sentence.deprel, relations):
            self.enhancement.update(types)

    def _add_tokens(self, sentence: Sentence) -> None:
        self.tokens += len(sentence)
        # A Table is slow to make, and few sentences need one.
        if sentence.format.has_ranges and _has_other_rows(sentence):
            table = Table(sentence)
            self.ranges += len(table.ranges)
            self.empty_nodes += len(table.empties)
            words_in_ranges = {row for rows in table.range_words.values() for row in rows}
            self.tokens += len(table.ranges) - len(words_in_ranges)

    def _add_tree(self, sentence: Sentence) -> None:
        if -1 in sentence.head:
            self.unannotated += sentence.constituents is None
            return
        head = np.array(sentence.head, np.int32)
        depth = depths(head)  # number of arcs from the artificial root; -1 on and below a cycle
        self.annotated += 1
        self.arcs += head.size
        self.several_roots += sentence.head.count(0) > 1
        self.no_root += 0 not in sentence.head
        is_cyclic, is_nonprojective = bool((depth < 0).any()), has_crossing_arcs(head)
        self.cyclic += is_cyclic
        self.nonprojective_sentences += is_nonprojective
        # In a tree, there is a non-projective arc if and only if two arcs cross.
        if is_nonprojective or is_cyclic:
            self.nonprojective_arcs += int(nonprojective_arcs(head).sum())
        distance = np.abs(head - np.arange(1, head.size + 1))[head > 0]  # 0 is the artificial root
        self.distance.update(distance.tolist())
        self.depth.update((depth[depth > 0] - 1).tolist())

    def __add__(self, other: "Statistics") -> "Statistics":
        """Return the sum of two counts, under the name `total`."""
        sums = {
            attribute.name: getattr(self, attribute.name) + getattr(other, attribute.name)
            for attribute in fields(self)
            if attribute.name not in ("file", "total")
        }
        return Statistics("total", True, **sums)

    def figures(self) -> dict[str, int | float | None]:
        """Return the values by their names in the table; undefined values are None."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "tokens": self.tokens,
            "multiword tokens": self.ranges,
            "empty nodes": self.empty_nodes,
            "different forms": len(self.form),
            "different lemmas": _count_labels(self.lemma),
            "UPOS tags": _count_labels(self.upos),
            "XPOS tags": _count_labels(self.xpos),
            "relations": _count_labels(self.deprel),
            "constituent labels": len(self.constituent),
            "words per sentence": _mean(self.length),
            "longest sentence": max(self.length, default=None),
            "mean arc distance": _mean(self.distance),
            "mean depth": _mean(self.depth),
            "non-projective sentences": self.nonprojective_sentences,
            "% of sentences": _percent(self.nonprojective_sentences, self.annotated),
            "non-projective arcs": self.nonprojective_arcs,
            "% of arcs": _percent(self.nonprojective_arcs, self.arcs),
            "sentences with several roots": self.several_roots,
            "sentences without a root": self.no_root,
            "cyclic sentences": self.cyclic,
            "unannotated sentences": self.unannotated,
            "broken sentences": self.broken,
        }

    def labels(self, name: str) -> dict[str, int]:
        """Return the values of a column and their counts, the most frequent ones first."""
        counts: Counter[str] = getattr(self, name)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return {label: count for label, count in ordered if label != "_"}

    def as_dict(self) -> dict[str, Any]:
        """Return all statistics for JSON, but only the numbers of different forms and lemmas."""
        figures = {
            JSON_NAMES.get(name) or name.replace("-", "_").replace(" ", "_"): value
            for name, value in self.figures().items()
        }
        columns = {name: self.labels(name) for name in LABELS}
        histograms = {name: dict(sorted(getattr(self, name).items())) for name in HISTOGRAMS}
        file = {"file": None if self.total else self.file, "total": self.total}
        return {**file, **figures, **columns, **histograms}


def _has_other_rows(sentence: Sentence) -> bool:
    """Return whether there are rows other than words: ranges, empty nodes or broken rows."""
    rows = sum(line[0] != "#" and not line.isspace() for line in sentence.lines)
    return rows > len(sentence)


def _count_labels(counts: Counter[str]) -> int:
    return len(counts) - ("_" in counts)


def _mean(counts: Counter[int]) -> float | None:
    total = sum(value * count for value, count in counts.items())
    return total / counts.total() if counts else None


def _percent(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


def stats(
    source: PathLike | Sentence | Iterable[Sentence],
    *,
    encoding: str = "utf-8",
    format: str | None = None,
) -> Statistics:
    """Count words, tags, relations and tree shapes, as `depkit stats` does.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> counts = depkit.stats(sentence)
    >>> counts.sentences, counts.words, counts.labels("deprel")
    (1, 2, {'obj': 1, 'root': 1})

    Args:
        source: A path or sentences.
        encoding: The encoding of the file.
        format: The format of the file; None to recognise it.

    Raises:
        FormatError, OSError: See `compute_statistics`.
    """
    if isinstance(source, str | os.PathLike):
        return compute_statistics(source, encoding, format)
    return compute_statistics(each_sentence(source))


def compute_statistics(
    source: PathLike | Iterable[Sentence], encoding: str = "utf-8", format: str | None = None
) -> Statistics:
    """Compute the statistics of a file, given by its path, or of sentences.

    format: the format of the file, as for `io.read`.

    Of sentences that break the format, everything that can be read is counted. If all sentences
    break the format and none has a tree, the file is not a treebank, and the FormatError of the
    first sentence is raised. Raises OSError if the file cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        result = Statistics(os.fspath(source))
        if format is None and is_bracketed_file(result.file, encoding):
            format = PTB.name
        source = read(source, format, encoding, strict=False)
    else:
        result = Statistics()
    problem = None
    for sentence in source:
        result.add(sentence)
        problem = problem or sentence.problem
    if problem and result.broken == result.sentences + result.wordless and not result.arcs:
        raise problem
    return result
