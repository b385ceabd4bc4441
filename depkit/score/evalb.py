"""Scores of constituency trees as EVALB computes them (Sekine and Collins, 1997; version 20080701).

Brackets are compared as a multiset of (label, start, end) after deletions that the parameters
define; see Black et al. (1991, the PARSEVAL measures). A tree whose words differ from the gold tree
is an error sentence and a tree without words a skipped one; neither counts in any score. Sentences
are the shortest sequences of whole lines in which all brackets are closed: a line may have several
trees without a common bracket, as in EVALB.

The version of SPMRL prints an error for a sentence with another number of words than the gold one,
but counts it as a valid sentence without brackets, and thus as a complete match. The counts here
differ from it in one case: if the gold sentence has a single word, that version counts the sentence
twice.

There is one more difference: an outer bracket without a label, as in the Penn Treebank, is read as
TOP, which all built-in parameters delete. With the parameters collins, new and nk, EVALB counts it
as a constituent.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from depkit.corpus.io import PathLike, read_tree_groups
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from depkit.files.storage import is_rereadable
from depkit.files.streams import open_lines
from depkit.score.evalb_parameters import BUILT_IN, Parameters
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.words import number_duplicates

# The counts of a sentence. All counts from "scored" on are 0 for error and skipped sentences.
COUNTS = (
    "sentences",  # 1
    "words",  # the length of the gold sentence
    "errors", "skipped",  # whether this is an error sentence, or a skipped one
    "scored",  # words that were not deleted
    "valid",  # 1
    "gold", "predicted", "matched",  # brackets
    "complete",  # whether all brackets of both trees are matched
    "crossings",  # predicted brackets that cross a gold bracket
    "no_crossing", "few_crossings",  # whether there are none, or at most two
    "tags",  # scored words with the correct tag
)  # fmt: skip

METRICS = {
    "LP": Metric("matched", "predicted", "predicted"),
    "LR": Metric("matched", "gold", "gold"),
    "LF1": Metric("matched", "gold", "predicted"),
    "EM": Metric("complete", "valid", "valid"),
    "Tags": Metric("tags", "scored", "scored"),
    "Crossing": Metric("crossings", "valid", "valid", scale=1.0, lower_is_better=True),
    "NoCrossing": Metric("no_crossing", "valid", "valid"),
    "TwoCrossing": Metric("few_crossings", "valid", "valid"),
}
_QUOTATION_MARKS = ("'", '"', "/")
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class TreeEvaluation(Evaluation):
    """The scores of one system's constituency trees.

    parameters: those of EVALB; problems: what EVALB prints about each sentence that is not scored
    because of its words, by the number of the sentence from 1.
    """

    sizes: tuple[str, ...] = ("sentences", "words", "scored", "errors", "skipped")
    parameters: Parameters = BUILT_IN["collins"]
    problems: Mapping[int, str] = field(default_factory=dict)


def evaluate_trees(
    gold: PathLike | Iterable[Tree],
    preds: Sequence[PathLike | Iterable[Tree]],
    parameters: Parameters = BUILT_IN["collins"],
    encoding: str = "utf-8",
) -> list[TreeEvaluation]:
    """Score the constituency trees of several systems against gold trees.

    gold: a path, or a tree for each sentence; preds: for each system, a path or trees.

    Raises:
        FormatError: A file is malformed, the numbers of sentences differ, or no sentence of a
            system can be scored.
        OSError: A file cannot be read.
    """
    results = (results for _, results in compare_trees(gold, preds, parameters, encoding))
    return make_evaluations(system_names(preds), results, parameters)


def make_evaluations(
    names: Sequence[str], results: Iterable[Sequence["Result"]], parameters: Parameters
) -> list[TreeEvaluation]:
    """Add up the results of all sentences; results: for each sentence, those of all systems.

    Raises FormatError if no sentence of a system can be scored.
    """
    rows: list[list[list[int]]] = [[] for _ in names]
    problems: list[dict[int, str]] = [{} for _ in names]
    for number, sentence in enumerate(results, start=1):
        for system, result in enumerate(sentence):
            rows[system].append(result.counts)
            if result.problem:
                problems[system][number] = result.problem
    return [
        _make_evaluation(*system, parameters) for system in zip(names, rows, problems, strict=True)
    ]


def system_names(preds: Sequence[PathLike | Iterable[Tree]]) -> list[str]:
    """Return the names of systems: their paths, "" for trees in memory, with numbers if equal."""
    return number_duplicates([source_name(pred) for pred in preds])


def source_name(source: PathLike | Iterable[Tree]) -> str:
    """Return the path of a file, "" for trees in memory."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else ""


Bracket: TypeAlias = tuple[str, int, int]  # the label, the first word and the word after the last


class TreeSentence(NamedTuple):
    """A sentence as EVALB reads it, before any deletion."""

    line: int  # the line on which it begins; 0 for trees in memory
    words: list[str]
    tags: list[str]
    brackets: list[Bracket]  # in the order of opening brackets


class Result(NamedTuple):
    """The comparison of a sentence of one system with the gold sentence.

    All attributes but `counts` (as in COUNTS) and `problem` (what EVALB prints about an error, or
    "") are empty for error and skipped sentences.

    Attributes:
        gold, predicted: The scored brackets in the order in which they open, with positions among
            the scored words.
        partners: For each gold bracket, the index of the predicted one that matches it, or -1.
        crossing: For each predicted bracket, whether it crosses a gold bracket.
        words: For each scored word, its index in the gold sentence.
        wrong_tags: For each scored word with a wrong tag, its position among the scored words, and
            this tag.
    """

    counts: list[int]
    problem: str = ""
    gold: Sequence[Bracket] = ()
    predicted: Sequence[Bracket] = ()
    partners: Sequence[int] = ()
    crossing: Sequence[bool] = ()
    words: Sequence[int] = ()
    wrong_tags: Sequence[tuple[int, str]] = ()


def compare_trees(
    gold: PathLike | Iterable[Tree],
    preds: Sequence[PathLike | Iterable[Tree]],
    parameters: Parameters,
    encoding: str = "utf-8",
) -> Iterator[tuple[TreeSentence, list[Result]]]:
    """Yield each gold sentence with the results of all systems, as `evaluate_trees` reads them."""
    names = [source_name(source) for source in (gold, *preds)]
    streams = [_read_sentences(gold, encoding)]
    streams += [
        _add_missing(_read_sentences(source, encoding), _find_missing(gold, source, encoding))
        for source in preds
    ]
    previous: tuple[TreeSentence | None, ...] = (None,) * len(names)
    for number, sentences in enumerate(zip_longest(*streams), start=1):
        reference: TreeSentence | None = sentences[0]
        if reference is None and number == 1:
            raise FormatError(names[0] or "the gold trees", 0, "", "there are no trees")
        results = []
        for system, predicted in enumerate(sentences[1:]):
            if reference is None or predicted is None:
                if predicted is reference:
                    continue
                last = previous[system + 1]
                raise _different_sizes(
                    names[0], names[system + 1], number=number, sentence=predicted, last=last
                )
            results.append(_score_sentence(reference, predicted, parameters))
        assert reference  # an error has been raised if a system has more trees than gold
        yield reference, results
        previous = sentences


def _make_evaluation(
    name: str, rows: list[list[int]], problems: dict[int, str], parameters: Parameters
) -> TreeEvaluation:
    counts = np.array(rows, np.int64)
    if not counts[:, COUNTS.index("valid")].any():
        advice = "parse the words of the gold trees"
        first = f"; tree {min(problems)}: {problems[min(problems)]}" if problems else ""
        message = f"no tree has the words of its gold tree{first}; {advice}"
        raise FormatError(name or "the predicted trees", 0, "", message)
    choices = (("evalb", parameters.name),)
    return TreeEvaluation(
        name, counts, COUNTS, METRICS, choices=choices, parameters=parameters, problems=problems
    )


def _read_sentences(source: PathLike | Iterable[Tree], encoding: str) -> Iterator[TreeSentence]:
    if isinstance(source, str | os.PathLike):
        return map(_make_sentence, read_tree_groups(source, encoding))
    return (_make_sentence([tree]) for tree in source)


def _find_missing(
    gold: PathLike | Iterable[Tree], pred: PathLike | Iterable[Tree], encoding: str
) -> list[int]:
    """Return the numbers of the lines of a file that are blank because there is no parse.

    EVALB pairs the lines of its files. Here, blank lines count only if the gold file has none, and
    if both files have the same number of lines.
    """
    if not (_is_rereadable(gold) and _is_rereadable(pred)):
        return []
    (lines, blank), (pred_lines, pred_blank) = (
        _count_lines(cast(PathLike, source), encoding) for source in (gold, pred)
    )
    return pred_blank if lines == pred_lines and not blank else []


def _is_rereadable(source: PathLike | Iterable[Tree]) -> bool:
    return isinstance(source, str | os.PathLike) and is_rereadable(source)


def _count_lines(path: PathLike, encoding: str) -> tuple[int, list[int]]:
    """Return the number of lines of a file, and the numbers of those that are blank."""
    number, blank = 0, []
    with open_lines(os.fspath(path), encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                blank.append(number)
    return number, blank


def _add_missing(
    sentences: Iterator[TreeSentence], missing: Sequence[int]
) -> Iterator[TreeSentence]:
    """Add sentences without words for the lines that have no parse."""
    ahead = deque(missing)
    for sentence in sentences:
        while ahead and ahead[0] < sentence.line:
            yield TreeSentence(ahead.popleft(), [], [], [])
        yield sentence
    for line in ahead:
        yield TreeSentence(line, [], [], [])


def _make_sentence(trees: list[Tree]) -> TreeSentence:
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    stack: list[Tree | int] = list(reversed(trees))  # an integer is the index of a bracket to end
    while stack:
        node = stack.pop()
        if isinstance(node, int):
            ends[node] = len(words)
        elif node.word:
            words.append(node.word)
            tags.append(node.name)
        else:
            stack.append(len(labels))
            labels.append(node.name or "TOP")
            starts.append(len(words))
            ends.append(0)
            stack.extend(reversed(node.children))
    brackets = list(zip(labels, starts, ends, strict=True))
    return TreeSentence(trees[0].line, words, tags, brackets)


def _score_sentence(gold: TreeSentence, predicted: TreeSentence, parameters: Parameters) -> Result:
    length = sum(tag not in parameters.uncounted for tag in gold.tags)
    copies = [
        [int(tag not in parameters.deleted_words) for tag in sentence.tags]
        for sentence in (gold, predicted)
    ]
    zeros = [0] * (len(COUNTS) - 4)
    if not any(copies[1]):
        return Result([1, length, 0, 1, *zeros])
    if sum(copies[0]) != sum(copies[1]):
        _restore_quotes(gold, predicted, copies, parameters)
        if sum(copies[0]) != sum(copies[1]):
            problem = f"Length unmatch ({sum(copies[0])}|{sum(copies[1])})"
            if parameters.spmrl:
                # A valid sentence without brackets: complete, and without crossing brackets.
                return Result([1, length, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0], problem)
            return Result([1, length, 1, 0, *zeros], problem)
    gold_words, words = _kept(gold.words, copies[0]), _kept(predicted.words, copies[1])
    if gold_words != words:
        for first, second in zip(gold_words, words, strict=True):
            if not parameters.same_words(first, second):
                return Result([1, length, 1, 0, *zeros], f"Words unmatch ({first}|{second})")
    tags = zip(_kept(gold.tags, copies[0]), _kept(predicted.tags, copies[1]), strict=True)
    wrong_tags = [
        (position, second)
        for position, (first, second) in enumerate(tags)
        if not parameters.same_tags(first, second)
    ]
    gold_brackets = _kept_brackets(gold.brackets, copies[0], parameters)
    brackets = _kept_brackets(predicted.brackets, copies[1], parameters)
    partners = _match_brackets(gold_brackets, brackets, parameters)
    matched = sum(partner >= 0 for partner in partners)
    crossing = _find_crossing(gold_brackets, brackets, len(words))
    crossings = sum(crossing)
    sizes = (len(gold_brackets), len(brackets), matched)
    crossing_counts = (crossings, int(crossings == 0), int(crossings <= 2))
    complete = int(len(set(sizes)) == 1)
    counts = [1, length, 0, 0, len(words), 1, *sizes, complete, *crossing_counts]
    counts.append(len(words) - len(wrong_tags))
    kept = _kept(range(len(gold.words)), copies[0])
    return Result(counts, "", gold_brackets, brackets, partners, crossing, kept, wrong_tags)


def _kept(items: Sequence[T], copies: list[int]) -> list[T]:
    return [item for item, count in zip(items, copies, strict=True) for _ in range(count)]


def _restore_quotes(
    gold: TreeSentence, predicted: TreeSentence, copies: list[list[int]], parameters: Parameters
) -> None:
    """Keep quotation marks that are deleted in one sentence, but are other words in the other one.

    This is `fix_quote` of EVALB, step by step. In a rare case, with two quotation marks next to
    each other, it keeps the same one twice. copies: for both sentences, how often each word is
    kept, 0 or 1 at first; changed.
    """
    # For each quotation mark, its word and the number of kept words before it.
    marks = []
    for sentence, kept in zip((gold, predicted), copies, strict=True):
        before = [0, *accumulate(kept)]
        marks.append(
            [
                [word, before[word]]
                for word, (form, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True))
                if form in _QUOTATION_MARKS and tag in parameters.quotes
            ]
        )
    deleted = parameters.deleted
    for j, (second, _) in enumerate(marks[1]):
        position = marks[1][j][1]
        for i, (first, gold_position) in enumerate(marks[0]):
            tags = gold.tags[first], predicted.tags[second]
            if gold_position != position or tags[0] == tags[1]:
                continue
            side, start = (0, i) if tags[0] in deleted else (1, j)
            if (tags[0] in deleted) != (tags[1] in deleted):
                copies[side][(first, second)[side]] += 1
                for mark in marks[side][start:]:
                    mark[1] += 1


def _kept_brackets(
    brackets: list[Bracket], copies: list[int], parameters: Parameters
) -> list[Bracket]:
    """Return the brackets that are scored, with the labels by which they are compared."""
    before = [0, *accumulate(copies)]  # the number of kept words before each word
    labels = {name: parameters.bracket_label(name) for name in {name for name, _, _ in brackets}}
    return [
        (label, before[start], before[end])
        for name, start, end in brackets
        if (label := labels[name]) is not None and before[start] < before[end]
    ]


def _match_brackets(
    gold: list[Bracket], predicted: list[Bracket], parameters: Parameters
) -> list[int]:
    """Match each gold bracket with the first equal bracket that is left; see `Result.partners`."""
    unmatched: dict[Bracket, deque[int]] = {}
    for index, bracket in enumerate(predicted):
        unmatched.setdefault(bracket, deque()).append(index)
    partners = []
    for label, start, end in gold:
        candidates = [
            indices
            for like in parameters.labels_like.get(label, (label,))
            if (indices := unmatched.get((like, start, end)))
        ]
        first = min(candidates, key=lambda indices: indices[0], default=None)
        partners.append(first.popleft() if first else -1)
    return partners


def _find_crossing(gold: list[Bracket], predicted: list[Bracket], size: int) -> list[bool]:
    """Return for each predicted bracket whether it crosses a gold bracket.

    size: the number of words. Linear in it and in the number of brackets, except for sorting.
    """
    # Of the gold brackets that a boundary between words divides, the shortest starts last and ends
    # first. A predicted bracket crosses a gold bracket if this one starts within it where the
    # predicted bracket ends, or ends within it where the predicted bracket starts.
    last_start, first_end = [-1] * (size + 1), [size + 1] * (size + 1)
    following = list(range(size + 2))  # leads to the next boundary without a gold bracket
    for _, start, end in sorted(gold, key=lambda bracket: bracket[2] - bracket[1]):
        boundary = _find(following, start + 1)
        while boundary < end:
            last_start[boundary], first_end[boundary] = start, end
            following[boundary] = boundary + 1
            boundary = _find(following, boundary)
    return [first_end[start] < end or last_start[end] > start for _, start, end in predicted]


def _find(following: list[int], index: int) -> int:
    """Follow a chain of indices to its end, and shorten it."""
    end = index
    while following[end] != end:
        end = following[end]
    while index != end:
        following[index], index = end, following[index]
    return end


def _different_sizes(
    gold: str, name: str, *, number: int, sentence: TreeSentence | None, last: TreeSentence | None
) -> FormatError:
    """Return the error for two files with different numbers of trees.

    number: that of the first tree that only one of the files has; sentence: this tree if the
    predicted file has it; last: the last tree of the predicted file before it.
    """
    advice = (
        "there must be a predicted tree for each gold tree; where there is no parse, write (()), or"
        " leave the line blank if all trees are on one line each"
    )
    name, gold = name or "the predicted trees", gold or "the gold trees"
    if sentence:
        problem = f"this tree is one too many: {gold} ends after tree {number - 1}"
        return FormatError(name, sentence.line, f"tree {number}", f"{problem}; {advice}")
    where = f"this file ends after tree {number - 1}" if last else "there are no trees"
    line = last.line if last else 0
    return FormatError(name, line, "", f"{where}, but {gold} has a tree {number}; {advice}")
