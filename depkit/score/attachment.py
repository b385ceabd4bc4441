"""Attachment scores: per-sentence counts that add up, and the percentages of their sums.

As the CoNLL-X and CoNLL 2009 shared tasks' scripts (eval07.pl, eval09.pl) count; Buchholz and
Marsi (2006), Hajic et al. (2009). UEM and LEM are the complete-match shares of Yamada and
Matsumoto (2003), unlabelled and labelled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import and_, eq

import numpy as np

import depkit
from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike
from depkit.corpus.sentence import Sentence
from depkit.score.pairing import Source, pairs, source
from depkit.score.punctuation import Policy, policy

# What is counted in a sentence: 1; its words; and of the words that are not left out as
# punctuation, all, those with the right head, relation, both; then whether every one has the
# right head, and both (true where nothing is scored, as in eval09.pl); and the words, scored or
# not, that the system gave no head at all.
COUNTS = (
    "sentences", "words", "scored", "heads", "labels", "both",
    "complete_heads", "complete_both", "headless",
)  # fmt: skip

# A metric is 100 times the quotient of two sums of counts.
METRICS = {
    "UAS": ("heads", "scored"),
    "LAS": ("both", "scored"),
    "LA": ("labels", "scored"),
    "UEM": ("complete_heads", "sentences"),
    "LEM": ("complete_both", "sentences"),
}
SUBTYPES = ("keep", "drop")


def percentages(totals: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric of summed counts, in percent.

    totals: [..., count], columns as in COUNTS; the result's arrays are [...], so that a
    thousand resampled sums are scored at once. "scored" must not be 0.
    """
    column = {name: totals[..., i] for i, name in enumerate(COUNTS)}
    return {
        metric: 100.0 * column[part] / column[whole] for metric, (part, whole) in METRICS.items()
    }


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How one system did, sentence by sentence.

    system: its name; counts: [sentence, count] int64, columns as in COUNTS; punct and
    subtypes: the choices behind them. Metrics are in percent, not rounded.
    """

    system: str
    counts: np.ndarray
    punct: str = "keep"
    subtypes: str = "keep"

    @cached_property
    def totals(self) -> dict[str, int]:
        """The sum of each count over all sentences, by name."""
        return dict(zip(COUNTS, self.counts.sum(axis=0).tolist(), strict=True))

    @cached_property
    def scores(self) -> dict[str, float]:
        """Every metric by name, in percent."""
        return {name: float(x) for name, x in percentages(self.counts.sum(axis=0)).items()}

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.totals["sentences"]

    @property
    def words(self) -> int:
        """The number of gold words, punctuation included."""
        return self.totals["words"]

    @property
    def scored(self) -> int:
        """The number of gold words that count."""
        return self.totals["scored"]

    @property
    def UAS(self) -> float:
        """Unlabelled attachment score: the share of words with the right head."""
        return self.scores["UAS"]

    @property
    def LAS(self) -> float:
        """Labelled attachment score: the share of words with the right head and relation."""
        return self.scores["LAS"]

    @property
    def LA(self) -> float:
        """Label accuracy: the share of words with the right relation, whatever the head."""
        return self.scores["LA"]

    @property
    def UEM(self) -> float:
        """Unlabelled exact match: the share of sentences whose every head is right."""
        return self.scores["UEM"]

    @property
    def LEM(self) -> float:
        """Labelled exact match: the share of sentences whose heads and relations are right."""
        return self.scores["LEM"]

    @property
    def signature(self) -> str:
        """The choices behind the numbers, `key:value` joined by `|`, in one line.

        A `|` or `%` in a list of tags is percent-encoded.
        """
        punct = self.punct.replace("%", "%25").replace("|", "%7C")
        version = getattr(depkit, "__version__", "unknown")
        return (
            f"depkit:{version}|punct:{punct}|subtypes:{self.subtypes}"
            f"|sentences:{self.sentences}|words:{self.words}|scored:{self.scored}"
        )

    def as_dict(self) -> dict[str, str | int | float]:
        """What `depkit eval --json` prints."""
        sizes = {name: self.totals[name] for name in ("sentences", "words", "scored")}
        return {"system": self.system, "signature": self.signature, **sizes, **self.scores}


def evaluate(
    gold: PathLike | Iterable[Sentence],
    pred: PathLike | Iterable[Sentence],
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
) -> Evaluation:
    """Score one system's trees against the gold trees over the same words.

    gold, pred: paths (`-` is stdin, .gz and .xz are unpacked) or sentences, in any mix of
    formats. punct: a policy of `score.punctuation`, decided on the gold words; subtypes:
    "drop" cuts relations at their first `:`. A predicted word without a head counts as
    wrong. CoNLL-09 predictions are read from HEAD and DEPREL, not from PHEAD and PDEPREL.
    Raises FormatError where the words differ, where a gold word has no head, where
    the policy's column is empty and where no word is scored; ValueError for choices that do
    not exist; OSError.
    """
    return evaluate_systems(gold, [pred], punct, subtypes, encoding)[0]


def evaluate_systems(
    gold: PathLike | Iterable[Sentence],
    preds: Sequence[PathLike | Iterable[Sentence]],
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
) -> list[Evaluation]:
    """Score several systems against one gold standard, read once; see `evaluate`."""
    leave_out = policy(punct)
    systems = [source(pred, encoding) for pred in preds]
    counts = _count(source(gold, encoding), systems, leave_out, subtypes)
    return [
        Evaluation(system.name, counts[i], leave_out.name, subtypes)
        for i, system in enumerate(systems)
    ]


def count_attachments(
    gold: Iterable[Sentence],
    pred: Iterable[Sentence],
    punct: str = "keep",
    subtypes: str = "keep",
) -> np.ndarray:
    """The counts of one system, [sentence, count] int64, columns as in COUNTS.

    Parameters and errors as in `evaluate`.
    """
    counts: np.ndarray = _count(source(gold), [source(pred)], policy(punct), subtypes)[0]
    return counts


def _count(gold: Source, systems: Sequence[Source], leave_out: Policy, subtypes: str) -> np.ndarray:
    """Counts of every system, [system, sentence, count]."""
    if subtypes not in SUBTYPES:
        raise ValueError(f"subtypes are 'keep' or 'drop', not {subtypes!r}")
    drop = subtypes == "drop"
    rows: list[list[tuple[int, ...]]] = [[] for _ in systems]
    blank = True
    for number, (reference, predictions) in enumerate(pairs(gold, systems), start=1):
        if -1 in reference.head:
            raise _headless_gold(reference, number)
        blank = blank and leave_out.lacks_column(reference)
        scored = leave_out.scored(reference)
        for row, predicted in zip(rows, predictions, strict=True):
            row.append(_sentence_counts(reference, predicted, scored, drop))
    counts = np.array(rows, dtype=np.int64).reshape(len(systems), -1, len(COUNTS))
    _check_any(gold, counts, blank, leave_out)
    return counts


def _sentence_counts(
    gold: Sentence, predicted: Sentence, scored: list[bool], drop: bool
) -> tuple[int, ...]:
    """One row of counts; C-speed iterators, for a sentence is too short for numpy."""
    head = list(map(eq, gold.head, predicted.head))
    label = list(map(eq, _relations(gold, drop), _relations(predicted, drop)))
    words = sum(scored)
    heads = sum(compress(head, scored))
    labels = sum(compress(label, scored))
    both = sum(compress(map(and_, head, label), scored))
    headless = predicted.head.count(-1)
    return (1, len(scored), words, heads, labels, both, heads == words, both == words, headless)


def _relations(sentence: Sentence, drop: bool) -> list[str]:
    if drop:
        return [deprel.partition(":")[0] for deprel in sentence.deprel]
    return sentence.deprel


def _headless_gold(gold: Sentence, number: int) -> FormatError:
    word = gold.head.index(-1)
    what = f"word {word + 1} of sentence {number}, {gold.form[word]!r}, has no head in the gold"
    return FormatError(*gold.place(word), f"{what}; only annotated sentences can be scored against")


def _check_any(gold: Source, counts: np.ndarray, blank: bool, leave_out: Policy) -> None:
    """Percentages of nothing are refused, and so is a policy without its column."""
    name = gold.name or "gold"
    if counts.shape[1] == 0:
        raise FormatError(name, 0, "", "no sentences to score against")
    if blank and leave_out.column != "form":
        column = leave_out.column.upper()
        raise FormatError(
            name, 0, "", f"punctuation policy {leave_out.name!r} reads {column}, which is _"
            " throughout; choose one that reads another column, such as 'unicode' (FORM)",
        )  # fmt: skip
    if not counts[..., COUNTS.index("scored")].any():
        raise FormatError(
            name, 0, "", f"punctuation policy {leave_out.name!r} leaves no word to score"
        )
