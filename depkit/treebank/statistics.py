"""What there is in a treebank: how many of what, and the shapes of its trees."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from depkit.corpus.files import PathLike, read
from depkit.corpus.sentence import Sentence
from depkit.treebank.table import Table
from depkit.trees.shape import crossing, depths, nonprojective_arcs

LABELS = ("upos", "xpos", "deprel")
JSON_NAMES = {  # of figures whose name in the tables is too short by itself
    "words a sentence": "words_per_sentence",
    "% of sentences": "non_projective_sentences_percent",
    "% of arcs": "non_projective_arcs_percent",
}
HISTOGRAMS = ("length", "distance", "depth")


@dataclass
class Statistics:
    """The counts of a file, or of several added up.

    total: whether they are a sum. words: syntactic words; ranges: multiword tokens; tokens: a
    range once, and words in none; broken: sentences that the strict reader refuses; unannotated:
    those with a word without a head, which have no part in what follows.
    cyclic, several_roots, no_root, nonprojective_sentences: how many; in the last two arcs cross,
    the root's included. arcs: all, the root's included; nonprojective_arcs: not all words under
    them descend from the head (Nivre and Nilsson 2005).
    Histograms, length: words of a sentence; distance: |head - dependent|, without the root's arcs;
    depth: arcs up to the root's dependent, words on and below cycles left out.
    form and the other columns: how often each value occurs, `_` too.
    """

    file: str = ""
    total: bool = False
    sentences: int = 0
    words: int = 0
    tokens: int = 0
    ranges: int = 0
    empty_nodes: int = 0
    broken: int = 0
    unannotated: int = 0
    cyclic: int = 0
    several_roots: int = 0
    no_root: int = 0
    nonprojective_sentences: int = 0
    arcs: int = 0
    nonprojective_arcs: int = 0
    form: Counter[str] = field(default_factory=Counter)
    lemma: Counter[str] = field(default_factory=Counter)
    upos: Counter[str] = field(default_factory=Counter)
    xpos: Counter[str] = field(default_factory=Counter)
    deprel: Counter[str] = field(default_factory=Counter)
    length: Counter[int] = field(default_factory=Counter)
    distance: Counter[int] = field(default_factory=Counter)
    depth: Counter[int] = field(default_factory=Counter)

    def add(self, sentence: Sentence) -> None:
        """Count a sentence."""
        if not len(sentence):
            self.broken += 1  # comments without a word
            return
        self.sentences += 1
        self.words += len(sentence)
        self.broken += sentence.problem is not None
        self.length[len(sentence)] += 1
        for name in ("form", "lemma", *LABELS):
            getattr(self, name).update(getattr(sentence, name))
        self._add_tokens(sentence)
        self._add_tree(sentence)

    def _add_tokens(self, sentence: Sentence) -> None:
        self.tokens += len(sentence)
        if sentence.format.spans and _has_spans(sentence):
            table = Table(sentence)
            self.ranges += len(table.ranges)
            self.empty_nodes += len(table.empties)
            inside = {row for rows in table.spans.values() for row in rows}
            self.tokens += len(table.ranges) - len(inside)

    def _add_tree(self, sentence: Sentence) -> None:
        if -1 in sentence.head:
            self.unannotated += 1
            return
        head = np.array(sentence.head, np.int32)
        depth = depths(head)
        self.arcs += head.size
        self.several_roots += sentence.head.count(0) > 1
        self.no_root += 0 not in sentence.head
        self.cyclic += bool((depth < 0).any())
        if crossing(head):
            self.nonprojective_sentences += 1
            self.nonprojective_arcs += int(nonprojective_arcs(head).sum())
        distance = np.abs(head - np.arange(1, head.size + 1))[head > 0]
        self.distance.update(distance.tolist())
        self.depth.update((depth[depth > 0] - 1).tolist())

    def __add__(self, other: "Statistics") -> "Statistics":
        """Both together, under the name `total`."""
        sums = {
            each.name: getattr(self, each.name) + getattr(other, each.name)
            for each in fields(self)
            if each.name not in ("file", "total")
        }
        return Statistics("total", True, **sums)

    def figures(self) -> dict[str, int | float | None]:
        """The numbers that one can put in a table, by name; shares in percent."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "tokens": self.tokens,
            "multiword tokens": self.ranges,
            "empty nodes": self.empty_nodes,
            "different forms": len(self.form),
            "different lemmas": _kinds(self.lemma),
            "UPOS tags": _kinds(self.upos),
            "XPOS tags": _kinds(self.xpos),
            "relations": _kinds(self.deprel),
            "words a sentence": _mean(self.length),
            "longest sentence": max(self.length, default=None),
            "mean arc distance": _mean(self.distance),
            "mean depth": _mean(self.depth),
            "non-projective sentences": self.nonprojective_sentences,
            "% of sentences": _percent(self.nonprojective_sentences, self.sentences),
            "non-projective arcs": self.nonprojective_arcs,
            "% of arcs": _percent(self.nonprojective_arcs, self.arcs),
            "sentences with several roots": self.several_roots,
            "sentences without a root": self.no_root,
            "cyclic sentences": self.cyclic,
            "unannotated sentences": self.unannotated,
            "broken sentences": self.broken,
        }

    def labels(self, name: str) -> dict[str, int]:
        """The values of a column with their counts, the frequent ones first."""
        counts: Counter[str] = getattr(self, name)
        found = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return {label: count for label, count in found if label != "_"}

    def as_dict(self) -> dict[str, Any]:
        """Everything but forms and lemmas, of which their number; for JSON."""
        figures = {
            JSON_NAMES.get(name) or name.replace("-", "_").replace(" ", "_"): value
            for name, value in self.figures().items()
        }
        columns = {name: self.labels(name) for name in LABELS}
        bars = {name: dict(sorted(getattr(self, name).items())) for name in HISTOGRAMS}
        file = {"file": None if self.total else self.file, "total": self.total}
        return {**file, **figures, **columns, **bars}


def _has_spans(sentence: Sentence) -> bool:
    """Whether there may be ranges or empty nodes: rows that are no words."""
    rows = sum(line[0] != "#" and not line.isspace() for line in sentence.lines)
    return rows > len(sentence)


def _kinds(counts: Counter[str]) -> int:
    return len(counts) - ("_" in counts)


def _mean(counts: Counter[int]) -> float | None:
    whole = sum(value * count for value, count in counts.items())
    return whole / counts.total() if counts else None


def _percent(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


def statistics(source: PathLike | Iterable[Sentence], encoding: str = "utf-8") -> Statistics:
    """The counts of a file, by its path, or of sentences.

    Broken sentences are counted with what can be read of them. Raises OSError, and FormatError
    for what is no treebank: all sentences are broken, and none has a tree.
    """
    if isinstance(source, str | os.PathLike):
        found = Statistics(os.fspath(source))
        source = read(source, encoding=encoding, strict=False)
    else:
        found = Statistics()
    problem = None
    for sentence in source:
        found.add(sentence)
        problem = problem or sentence.problem
    if problem and found.broken >= found.sentences and not found.arcs:
        raise problem
    return found
