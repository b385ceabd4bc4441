"""Scores of the words and arcs in each bin of a grouping: where systems differ, and how much."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.pairing import source
from depkit.corpus.sentence import Sentence
from depkit.score.attachment import ARCS, TAGS, correctness, evaluation_of, scored_words
from depkit.score.bins import parse_bins
from depkit.score.evaluation import Evaluation, signature
from depkit.score.groupings import GROUPINGS, NEED_TRAIN, Groups, crossed, grouped, named
from depkit.score.punctuation import policy
from depkit.score.words import Comparison, compare

# What is counted in a bin: gold words, predicted words, and the right ones of either: for depth,
# say, a word with the right head may be in one bin in the gold and in another as predicted.
COUNTS = ("gold", "predicted", "correct_gold", "correct_predicted")
# What is right: head, relation, both, a tag, the lemma; or, as in the tables of the CoNLL-X
# script, that the gold's and the prediction's bins are the same, whatever the head.
METRICS = (*ARCS, *TAGS, "bin")


@dataclass(frozen=True)
class View:
    """What to look at: groupings, crossed if several; bins of each or None; a metric."""

    by: tuple[str, ...]
    bins: tuple[str | None, ...] = ()
    metric: str = "LAS"

    def check(self) -> None:
        """Raises ValueError for groupings, bins and metrics that do not exist or do not fit."""
        for name in self.by:
            if named(name) and self.by.count(name) > 1:
                raise ValueError(f"grouping '{name}' is named twice")
        if self.metric not in METRICS:
            raise ValueError(f"no metric '{self.metric}'; there are {', '.join(METRICS)}")
        numbers = [name for name in self.by if GROUPINGS[name].values]
        if len(self.bins) > len(numbers):
            raise ValueError(
                f"more bins than groupings of numbers ({', '.join(numbers) or 'none'})"
            )
        for bins in self.bins:
            if bins is not None and bins != "each":
                parse_bins(bins)


_ONE_TO_NINE = "1,2,3,4,5,6,7,8,9,10-"
# li2019: Figure 4 of Li et al. (2019), in seven subsets whose bounds the paper leaves open;
# mcdonald-nivre: after McDonald and Nivre (2007); conllx: the tables of eval07.pl.
PRESETS = {
    "li2019": (View(("distance",), ("1,2,3,4,5-6,7-10,11-",)),),
    "mcdonald-nivre": (
        View(("length",), ("1-9,10-19,20-29,30-39,40-49,50-",)),
        View(("distance",), (_ONE_TO_NINE,)),
        View(("depth",), (_ONE_TO_NINE,)),
    ),
    "conllx": (
        View(("upos",), (), "UAS"),
        View(("upos",), (), "LA"),
        View(("upos",), (), "LAS"),
        View(("deprel",), (), "LA"),
        View(("deprel",), (), "LAS"),
        View(("direction",), (), "bin"),
        View(("distance",), ("1,2,3-6,7-",), "bin"),
    ),
}


@dataclass(frozen=True, eq=False)
class Data:
    """Files that were read and are ready to be looked at.

    words: gold and systems side by side; scored: [word] bool; correct: for each system, by
    metric, [word] bool; evaluations: the whole scores; choices: what stands in the signature.
    """

    words: Comparison
    scored: np.ndarray
    correct: list[dict[str, np.ndarray]]
    evaluations: list[Evaluation]
    choices: tuple[tuple[str, str], ...]

    def counted(self, metric: str) -> np.ndarray:
        """[word] bool, the words that count: all for tags, as in `attachment`, else the scored."""
        return np.ones(self.words.size, bool) if metric in TAGS else self.scored

    def require(self, column: str) -> None:
        """Raises FormatError if the gold file has nothing in a column."""
        if self.words.is_blank(self.words.gold, column):
            what = f"{column.upper()} is _ throughout, so there is nothing to look at"
            raise FormatError(self.words.gold.name or "gold", 0, "", what)

    def signature(self, *more: tuple[str, str]) -> str:
        """The choices behind the numbers, and more, as in `Evaluation.signature`."""
        sizes = (len(self.words.lengths), self.words.size, int(self.scored.sum()))
        counts = zip(("sentences", "words", "scored"), map(str, sizes), strict=True)
        return signature((*self.choices, *more, *counts))


def read_data(
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    columns: Iterable[str] = (),
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
    train: PathLike | None = None,
    probabilities: bool = False,
) -> Data:
    """Read a gold file and systems' files over the same words; see `attachment.evaluate`.

    columns: those that the groupings read; train: a file whose forms are counted;
    probabilities: whether to read those of the systems' arcs and labels.
    Raises as that, and FormatError if there are no forms to count or as `probabilities_of`.
    """
    leave_out = policy(punct)
    needed = {"deprel", "lemma", "upos", "xpos", "feats", leave_out.column, *columns}
    systems = [source(pred, encoding) for pred in preds]
    words = compare(
        source(gold, encoding), systems, needed, subtypes, places=True, probabilities=probabilities
    )
    if train is not None:
        counted = Counter(form for each in read(train, encoding=encoding) for form in each.form)
        if not counted:
            raise FormatError(os.fspath(train), 0, "", "no sentences to count words in")
        words = replace(words, train=counted)
    choices = [("punct", leave_out.name), ("subtypes", subtypes)]
    choices += [("train", os.fspath(train))] if train is not None else []
    scored = scored_words(words, leave_out)
    correct = [correctness(words, system) for system in words.systems]
    evaluations = [
        evaluation_of(words, system, scored, right, tuple(choices))
        for system, right in zip(words.systems, correct, strict=True)
    ]
    return Data(words, scored, correct, evaluations, tuple(choices))


@dataclass(frozen=True, eq=False)
class Analysis:
    """A view of the data: for every bin and system the counts of `COUNTS`.

    scored: [word] bool, the words that count; totals: [system, bin, count] int64; labels: the
    bins' names, in order; right: for each system, [gold member] and [predicted member] bool.
    """

    view: View
    data: Data
    scored: np.ndarray
    labels: list[str]
    totals: np.ndarray
    gold: Groups
    predicted: list[Groups]
    right: list[tuple[np.ndarray, np.ndarray]]

    @property
    def bins(self) -> list[int]:
        """The bins that are not empty."""
        return np.flatnonzero(self.totals[:, :, :2].any(axis=(0, 2))).tolist()

    @property
    def arcs(self) -> bool:
        """Whether gold and prediction may be in different bins."""
        return any(GROUPINGS[name].arcs for name in self.view.by)

    def by_sentence(self, system: int, bins: Sequence[int]) -> np.ndarray:
        """[sentence, bin * count] int64: the counts of some bins, sentence by sentence."""
        place = np.full(len(self.labels), -1)
        place[list(bins)] = np.arange(len(bins))
        size = len(self.data.words.lengths)
        counts = np.zeros((size, len(bins), len(COUNTS)), np.int64)
        for start, groups, right in zip(
            (0, 1), (self.gold, self.predicted[system]), self.right[system], strict=True
        ):
            code = place[groups.code]
            kept = self.scored[groups.word] & (code >= 0)
            cell = self.data.words.sentence[groups.word] * len(bins) + code
            for i, chosen in ((start, kept), (start + 2, kept & right)):
                flat = np.bincount(cell[chosen], minlength=size * len(bins))
                counts[:, :, i] = flat.reshape(size, len(bins))
        return counts.reshape(size, -1)


def analyze(data: Data, view: View) -> Analysis:
    """Group gold and predicted words and count them.

    Raises ValueError as `View.check`, and for what needs a training file that is not there;
    FormatError where a column that is looked at is empty.
    """
    view.check()
    words = data.words
    scored = data.counted(view.metric)
    if set(NEED_TRAIN) & set(view.by) and words.train is None:
        raise ValueError(f"'{'/'.join(sorted({*NEED_TRAIN} & {*view.by}))}' needs a training file")
    for column in {column for name in view.by for column in GROUPINGS[name].columns}:
        if column != "form":
            data.require(column)
    for system in words.systems:
        if view.metric in TAGS and words.lacks(system, TAGS[view.metric]):
            what = f"{view.metric} cannot be scored: _ throughout here or in the gold"
            raise FormatError(system.name, 0, "", what)
    bins = iter(view.bins)
    parts = [
        grouped(name, words, scored, next(bins, None) if GROUPINGS[name].values else None)
        for name in view.by
    ]
    gold = reduce(crossed, (first for first, _ in parts))
    predicted = [
        reduce(crossed, (others[i] for _, others in parts)) for i in range(len(words.systems))
    ]
    right = []
    for groups, correct in zip(predicted, data.correct, strict=True):
        if view.metric == "bin":
            same = gold.code == groups.code
            right.append((same, same))
        else:
            right.append((correct[view.metric][gold.word], correct[view.metric][groups.word]))
    totals = np.array(
        [_totals(scored, gold, groups, both) for groups, both in zip(predicted, right, strict=True)]
    )
    labels = list(gold.labels)
    return Analysis(view, data, scored, labels, totals, gold, predicted, right)


def _totals(
    scored: np.ndarray, gold: Groups, predicted: Groups, right: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """[bin, count] int64."""
    columns = []
    for groups, correct in zip((gold, predicted), right, strict=True):
        kept = scored[groups.word]
        for chosen in (kept, kept & correct):
            columns.append(np.bincount(groups.code[chosen], minlength=len(gold.labels)))
    return np.stack([columns[i] for i in (0, 2, 1, 3)], axis=1)


def precision_recall_f1(counts: np.ndarray) -> np.ndarray:
    """[..., 3] percent of [..., count] as in COUNTS: precision, recall and their harmonic mean.

    Nothing of nothing is NaN; F1 only where there is neither a gold nor a predicted word.
    """
    gold, predicted, correct_gold, correct_predicted = np.moveaxis(counts.astype(float), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = 100.0 * correct_predicted / predicted
        recall = 100.0 * correct_gold / gold
        either = np.nan_to_num(precision), np.nan_to_num(recall)
        f1 = 2 * either[0] * either[1] / (either[0] + either[1])
    f1 = np.where(gold + predicted > 0, np.nan_to_num(f1), np.nan)
    return np.stack([precision, recall, f1], axis=-1)
