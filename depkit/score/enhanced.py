"""ELAS and EULAS: scores of the enhanced dependencies in the column DEPS.

They are those of the shared tasks of IWPT 2020 and 2021 (Bouma et al. 2020): the F1 of relations.
ELAS compares the head and the label of relations, EULAS the head and the label without subtypes. A
path through empty nodes counts as one relation, `conj>nsubj`; see `corpus.enhanced`.

On files without empty nodes, the counts are equal to those of the official script (in udtools),
also where it counts more than once: if a word has a relation twice, or for EULAS relations to one
head that differ only in their subtypes, each of these gold relations is paired with each equal
relation of the system.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depkit.corpus.enhanced import PATH, Relation, collapse, read_graph
from depkit.corpus.enhancements import TYPES, find_types
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation
from depkit.files.errors import FormatError
from depkit.score.evaluation import Evaluation, Metric

METRICS = {
    "ELAS": Metric("elas", "relations_gold", "relations_predicted"),
    "EULAS": Metric("eulas", "relations_gold", "relations_predicted"),
}
COUNTS = tuple(dict.fromkeys(count for metric in METRICS.values() for count in metric[:3]))
CHOICES = (("enhanced", "collapsed"),)  # the choice to name in signatures
NO_RELATIONS = "DEPS is _ throughout"
_ROOT, _UNALIGNED = -1, -2
_TYPE_CODES = {name: code for code, name in enumerate(TYPES)}


@dataclass(frozen=True, eq=False)
class Relations:
    """The enhanced relations of a file; all arrays are [relation].

    word, head: int64, the dependent and its head as indices of words of the file, -1 for the root;
    label: int32, codes as in `words.Codes`; type: int8, the enhancement as an index into TYPES.
    """

    word: np.ndarray
    head: np.ndarray
    label: np.ndarray
    type: np.ndarray

    def select(self, mask: np.ndarray) -> "Relations":
        """Return some of the relations; mask: [relation] bool."""
        return Relations(*(values[mask] for values in vars(self).values()))


class RelationsBuilder:
    """Collects the relations of a file, sentence by sentence; codes: the codes of the labels."""

    def __init__(self, codes: dict[str, int]) -> None:
        self._codes = codes
        self._words = 0
        self._columns = (array("q"), array("q"), array("i"), array("b"))

    def add(self, sentence: Sentence) -> None:
        """Append the relations of a sentence; raises FormatError as `enhanced.read_graph`."""
        words, heads, labels, types = self._columns
        relations = read_relations(sentence)
        names = find_types(sentence.head, sentence.deprel, relations)
        first = self._words
        for word, (pairs, names_of_word) in enumerate(zip(relations, names, strict=True), first):
            for (head, label), name in zip(pairs, names_of_word, strict=True):
                words.append(word)
                heads.append(first + head - 1 if head else _ROOT)
                labels.append(self._codes[label])
                types.append(_TYPE_CODES[name])
        self._words += len(sentence)

    @property
    def relations(self) -> Relations:
        """The relations that have been added so far."""
        dtypes = (np.int64, np.int64, np.int32, np.int8)
        columns = zip(self._columns, dtypes, strict=True)
        return Relations(*(np.frombuffer(column, dtype) for column, dtype in columns))


def read_relations(sentence: Sentence) -> Sequence[Sequence[Relation]]:
    """Return the relations of each word, with paths through empty nodes as relations.

    If a word has a relation twice, it is returned twice, but once if the sentence has empty nodes.
    """
    graph = read_graph(sentence)
    return collapse(graph) if len(graph.ids) > len(graph.words) else graph.relations[1:]


def require_relations(name: str, relations: Relations) -> None:
    """Raise FormatError if a gold file has no enhanced dependencies."""
    if not relations.word.size:
        message = f"{NO_RELATIONS}, so there are no enhanced dependencies to score against"
        raise FormatError(name or "gold", 0, "", message)


def without_subtypes(label: str) -> str:
    """Return the label that EULAS compares: `conj>nsubj` for `conj:and>nsubj:pass`."""
    return PATH.join(map(base_relation, label.split(PATH)))


def cut_subtypes(relations: Relations, labels: Sequence[str]) -> Relations:
    """Return relations whose labels have no subtypes; labels: the labels by code."""
    codes: dict[str, int] = {}
    bases = [codes.setdefault(without_subtypes(label), len(codes)) for label in labels]
    return replace(relations, label=np.array(bases, np.int32)[relations.label])


def align_relations(system: Relations, aligned: np.ndarray) -> Relations:
    """Return the relations of a system with gold words instead of its own.

    aligned: [system word] the gold word, -1 for none. Relations whose dependent or head is not
    aligned are left out.
    """
    gold_words = np.where(aligned < 0, _UNALIGNED, aligned)
    word = gold_words[system.word]
    head = np.where(system.head == _ROOT, _ROOT, gold_words[system.head])
    moved = replace(system, word=word, head=head)
    return moved.select((word != _UNALIGNED) & (head != _UNALIGNED))


def is_shared(relations: Relations, others: Relations) -> np.ndarray:
    """Return which relations the others contain as well: [relation] bool."""
    keys, other_keys = _keys(relations, others)
    return np.isin(keys, other_keys)


def add_scores(
    evaluation: Evaluation,
    gold: Relations,
    system: Relations,
    *,
    aligned: np.ndarray,
    labels: Sequence[str],
    sentences: tuple[np.ndarray, np.ndarray],
) -> Evaluation:
    """Add ELAS and EULAS to an evaluation, and show precision and recall of all metrics.

    aligned: as for `align_relations`; labels: the labels by code; sentences: the gold sentence for
    which each gold word, and each word of the system, is counted, [word] int64.
    """

    def count(sentence: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(sentence, pairs, len(evaluation.counts)).astype(np.int64)

    counts = {
        "relations_gold": count(sentences[0][gold.word]),
        "relations_predicted": count(sentences[1][system.word]),
    }
    for name, cut in (("elas", False), ("eulas", True)):
        files = [cut_subtypes(x, labels) if cut else x for x in (gold, system)]
        words, pairs = _pair(files[0], align_relations(files[1], aligned))
        counts[name] = count(sentences[0][words], pairs)
    warnings = evaluation.warnings
    if not system.word.size:
        warnings += (f"{NO_RELATIONS}, so that all relations of the gold file are missing",)
    return replace(
        evaluation,
        counts=np.hstack([evaluation.counts, *(counts[name][:, None] for name in COUNTS)]),
        columns=(*evaluation.columns, *COUNTS),
        metrics={**evaluation.metrics, **METRICS},
        warnings=warnings,
        shows_precision=True,
    )


def _pair(gold: Relations, system: Relations) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of the distinct relations that both have, and how many pairs each makes."""
    keys = [np.unique(x, return_index=True, return_counts=True) for x in _keys(gold, system)]
    (gold_keys, first, gold_counts), (system_keys, _, system_counts) = keys
    _, i, j = np.intersect1d(gold_keys, system_keys, assume_unique=True, return_indices=True)
    return gold.word[first[i]], gold_counts[i] * system_counts[j]


def _keys(*files: Relations) -> list[np.ndarray]:
    """Return a number for each relation, which is the same for equal relations: [relation] int64.

    Numbers can be compared between the files, in which words must have the same indices.
    """
    radix = 2 + max(int(max(x.word.max(initial=0), x.head.max(initial=0))) for x in files)
    num_labels = 1 + max(int(x.label.max(initial=0)) for x in files)
    return [(x.word * radix + x.head + 1) * num_labels + x.label for x in files]
