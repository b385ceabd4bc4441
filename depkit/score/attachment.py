"""Attachment scores and accuracies of systems that have the same words as the gold file.

Words are counted as by the scripts of the CoNLL-X and CoNLL 2009 shared tasks (eval07.pl and
eval09.pl; Buchholz and Marsi 2006, Hajic et al. 2009). UEM and LEM are the shares of sentences
that are completely correct, RA is the root accuracy; all three are from Yamada and Matsumoto
(2003). CLAS is from Zeman et al. (2018).
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from depkit.corpus.io import PathLike, read
from depkit.corpus.pairing import make_source
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_content, is_universal
from depkit.files.errors import FormatError
from depkit.score import enhanced, structure
from depkit.score.evaluation import Evaluation, Metric, format_signature
from depkit.score.punctuation import Policy, parse_policy
from depkit.score.systems import PREDICTED, make_system
from depkit.score.words import DEPS, Comparison, Where, Words, read_comparison

METRICS = {
    "UAS": Metric("heads", "scored", "scored"),
    "LAS": Metric("both", "scored", "scored"),
    "LA": Metric("labels", "scored", "scored"),
    "UEM": Metric("complete_heads", "sentences", "sentences"),
    "LEM": Metric("complete_both", "sentences", "sentences"),
    "RA": Metric("roots", "sentences", "sentences"),
    "CLAS": Metric("content_both", "content_gold", "content_predicted"),
    "UPOS": Metric("upos", "words", "words", hidden_if_perfect=True),
    "XPOS": Metric("xpos", "words", "words", hidden_if_perfect=True),
    "FEATS": Metric("feats", "words", "words", hidden_if_perfect=True),
    "Lemmas": Metric("lemmas", "words", "words", hidden_if_perfect=True),
}
TAGS = {"UPOS": "upos", "XPOS": "xpos", "FEATS": "feats", "Lemmas": "lemma"}  # metric: column
ARCS = ("UAS", "LAS", "LA")  # the metrics of single words that leave out punctuation


@dataclass(frozen=True, eq=False)
class ScoredSystem:
    """The words of a system beside the gold words.

    scored: [word] bool, the gold words that are not left out as punctuation; correct: for each
    metric of single words, [word] bool, see `correct_words`.
    """

    words: Comparison
    predicted: Words
    scored: np.ndarray
    correct: dict[str, np.ndarray]

    def count(self, mask: np.ndarray) -> np.ndarray:
        """Count the words of each sentence in a mask: [word] bool -> [sentence] int64."""
        return self.words.sum_by_sentence(mask)

    def count_correct(self, metric: str) -> np.ndarray:
        """Count the scored words that are correct."""
        return self.count(self.scored & self.correct[metric])

    def is_content(self, words: Words) -> np.ndarray:
        """Return which scored words are content words by their relation: [word] bool."""
        return self.scored & self.words.map_values(words, "deprel", is_content)

    def has_all(self, metric: str) -> np.ndarray:
        """Return in which sentences all scored words are correct; as in eval09.pl, also if none."""
        return self.count_correct(metric) == self.count(self.scored)

    def has_roots(self) -> np.ndarray:
        """Return in which sentences the same scored words are roots in both trees."""
        differs = (self.words.gold.head == 0) != (self.predicted.head == 0)
        return self.count(self.scored & differs) == 0

    def has_cycle(self) -> np.ndarray:
        """Return in which sentences the predicted tree has a cycle."""
        return self.count(structure.reaches_cycle(self.predicted.head, self.words.starts)) > 0


# The counts of a sentence: for each, how [sentence] numbers are computed for all sentences.
_COUNTS: dict[str, Callable[[ScoredSystem], np.ndarray]] = {
    "sentences": lambda x: np.ones(len(x.words.lengths), bool),
    "words": lambda x: x.words.lengths,
    "scored": lambda x: x.count(x.scored),
    "heads": lambda x: x.count_correct("UAS"),
    "labels": lambda x: x.count_correct("LA"),
    "both": lambda x: x.count_correct("LAS"),
    "complete_heads": lambda x: x.has_all("UAS"),
    "complete_both": lambda x: x.has_all("LAS"),
    "roots": ScoredSystem.has_roots,
    "content_gold": lambda x: x.count(x.is_content(x.words.gold)),
    "content_predicted": lambda x: x.count(x.is_content(x.predicted)),
    "content_both": lambda x: x.count(x.is_content(x.words.gold) & x.correct["LAS"]),
    "upos": lambda x: x.count(x.correct["UPOS"]),
    "xpos": lambda x: x.count(x.correct["XPOS"]),
    "feats": lambda x: x.count(x.correct["FEATS"]),
    "lemmas": lambda x: x.count(x.correct["Lemmas"]),
    "headless": lambda x: x.count(x.predicted.head == -1),
    "cyclic": ScoredSystem.has_cycle,
    "many_roots": lambda x: x.count(x.predicted.head == 0) > 1,
}
COUNTS = tuple(_COUNTS)


@dataclass(frozen=True, eq=False)
class Data:
    """The gold words and the systems' words of a comparison, and which of them are correct.

    words: the words of all files; scored: [word] bool, whether the word is not left out as
    punctuation; correct: for each system and metric of single words, [word] bool; evaluations: each
    system's scores over all words; choices: the settings to name in the signature.
    """

    words: Comparison
    scored: np.ndarray
    correct: list[dict[str, np.ndarray]]
    evaluations: list[Evaluation]
    choices: tuple[tuple[str, str], ...]

    @property
    def gold_name(self) -> str:
        """The name of the gold file, "" for sentences in memory."""
        return self.words.gold.name

    def words_to_count(self, metric: str) -> np.ndarray:
        """Return the words that a metric counts: [word] bool; only arcs leave out punctuation."""
        counts_all = metric in TAGS or metric in enhanced.METRICS
        return np.ones(self.words.size, bool) if counts_all else self.scored

    def require_column(self, column: str) -> None:
        """Raise FormatError if the gold file has nothing but `_` in a column."""
        if self.words.is_blank(self.words.gold, column):
            message = (
                f"{column.upper()} is _ throughout, so the words cannot be analyzed by this column"
            )
            raise FormatError(self.words.gold.name or "gold", 0, "", message)

    def require_metric(self, metric: str) -> None:
        """Raise FormatError if the column of a metric has nothing but `_` in a file."""
        for system in self.words.systems:
            if metric in TAGS and self.words.is_missing(system, TAGS[metric]):
                message = (
                    f"{metric} cannot be scored, because the column is _ throughout in this file"
                    " or in the gold file"
                )
                raise FormatError(system.name, 0, "", message)

    def select(self, systems: Sequence[int]) -> "Data":
        """Return the data of some systems only, which are given by their indices."""
        return replace(
            self,
            words=replace(self.words, systems=[self.words.systems[i] for i in systems]),
            correct=[self.correct[i] for i in systems],
            evaluations=[self.evaluations[i] for i in systems],
        )

    def signature(self, *more: tuple[str, str]) -> str:
        """Return the settings behind the numbers, as `Evaluation.signature`, with further ones."""
        sizes = (len(self.words.lengths), self.words.size, int(self.scored.sum()))
        counts = zip(("sentences", "words", "scored"), map(str, sizes), strict=True)
        return format_signature((*self.choices, *more, *counts))


def read_data(
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    columns: Collection[str] = (),
    *,
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
    train: PathLike | None = None,
    probabilities: bool | None = False,
    predicted: bool = False,
    locations: bool = True,
    where: Where | None = None,
) -> Data:
    """Read a gold file, once, and the files of systems, which must have the same words.

    Args:
        gold: A path or sentences.
        preds: For each system, a path or sentences.
        columns: The columns to read beside those of the metrics; with "deps", ELAS and EULAS are
            computed as well.
        punct: The punctuation policy.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        encoding: The encoding of all files.
        train: A training file, whose forms are counted for the groupings "frequency" and "oov".
        probabilities: Whether to read the probabilities of the systems' heads and labels; None for
            the files whose first sentence has them.
        predicted: As for `evaluators.evaluate`.
        locations: Whether to store where each sentence begins.
        where: Which sentences to compare, by default all.

    Raises:
        FormatError: The words differ, a gold word has no head, the column of the policy or, if
            they are read, the gold DEPS have nothing but `_`, no word is scored, the training file
            has no sentences, or probabilities are missing.
        ValueError: `punct` or `subtypes` is unknown.
        OSError: A file cannot be read.
    """
    punctuation = parse_policy(punct)
    systems = [make_system(pred, encoding, predicted) for pred in preds]
    words = read_comparison(
        make_source(gold, encoding),
        systems,
        {"deprel", *TAGS.values(), punctuation.column, *columns},
        subtypes=subtypes,
        locations=locations,
        probabilities=probabilities,
        where=where,
    )
    choices = (("punct", punctuation.name), ("subtypes", subtypes), *PREDICTED * predicted)
    choices += enhanced.CHOICES * (DEPS in columns)
    if where:
        choices += (("where", where.text),)
    if train is not None:
        words = replace(words, train_frequencies=_count_forms(train, encoding))
        choices += (("train", os.fspath(train)),)
    scored = scored_words(words, punctuation)
    correct = [correct_words(words, system) for system in words.systems]
    evaluations = [
        _evaluate(ScoredSystem(words, system, scored, right), choices, source.warnings(predicted))
        for source, system, right in zip(systems, words.systems, correct, strict=True)
    ]
    return Data(words, scored, correct, evaluations, choices)


def _count_forms(train: PathLike, encoding: str) -> Counter[str]:
    sentences = read(train, encoding=encoding)
    if frequencies := Counter(form for sentence in sentences for form in sentence.form):
        return frequencies
    raise FormatError(os.fspath(train), 0, "", "there are no sentences to count words in")


def evaluate_systems(
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    **options: str | bool | tuple[str, ...],
) -> list[Evaluation]:
    """Score several systems; arguments and errors are those of `read_data`."""
    return read_data(gold, preds, locations=False, **options).evaluations  # type: ignore[arg-type]


def scored_words(words: Comparison, punctuation: Policy) -> np.ndarray:
    """Return which gold words are not left out as punctuation: [word] bool.

    Raises FormatError if the policy's column has nothing but `_`, and if no word is left.
    """
    if punctuation.name == "keep":
        return np.ones(words.size, bool)
    name = words.gold.name or "gold"
    column = punctuation.column
    if column != "form" and words.is_blank(words.gold, column):
        raise FormatError(
            name, 0, "", f"punctuation policy {punctuation.name!r} reads {column.upper()}, which is"
            " _ throughout; choose one that reads another column, such as 'unicode' (FORM)",
        )  # fmt: skip
    scored = ~words.map_values(words.gold, column, punctuation.is_punctuation).astype(bool)
    if not scored.any():
        raise FormatError(
            name, 0, "", f"punctuation policy {punctuation.name!r} leaves no word to score"
        )
    return scored


def correct_words(words: Comparison, system: Words) -> dict[str, np.ndarray]:
    """Return for each metric of single words which words the system has correct: [word] bool.

    Where the gold file has no lemma (`_`), every predicted lemma is correct.
    """
    gold = words.gold
    correct = {"UAS": gold.head == system.head}
    correct["LA"] = gold.codes["deprel"] == system.codes["deprel"]
    correct["LAS"] = correct["UAS"] & correct["LA"]
    correct |= {name: gold.codes[tag] == system.codes[tag] for name, tag in TAGS.items()}
    correct["Lemmas"] = correct["Lemmas"] | words.map_values(gold, "lemma", "_".__eq__)
    return correct


def _evaluate(
    system: ScoredSystem, choices: tuple[tuple[str, str], ...], warnings: tuple[str, ...]
) -> Evaluation:
    counts = np.stack([count(system) for count in _COUNTS.values()], axis=1).astype(np.int64)
    scored = system.scored
    evaluation = Evaluation(
        system.predicted.name,
        counts,
        COUNTS,
        METRICS,
        choices=choices,
        undefined=_undefined_metrics(system.words, system.predicted, counts),
        correct={x: mask[scored] if x in ARCS else mask for x, mask in system.correct.items()},
        relations=_count_by_relation(system),
        warnings=warnings,
    )
    gold, predicted = system.words.gold.relations, system.predicted.relations
    if gold is None or predicted is None:
        return evaluation
    return enhanced.add_scores(
        evaluation, gold, predicted, aligned=np.arange(system.words.size),
        labels=system.words.values[DEPS], sentences=(system.words.sentence_index,) * 2,
    )  # fmt: skip


def _undefined_metrics(words: Comparison, system: Words, counts: np.ndarray) -> dict[str, str]:
    """Return the metrics that cannot be computed for this gold file and this system, and why.

    The metric of a tag is undefined if one of the two files has only `_` in the column, CLAS if
    the gold file has a relation that is not part of UD, or no content word.
    """
    reason = "the column is _ for all words of this file or of the gold file"
    undefined = {name: reason for name, column in TAGS.items() if words.is_missing(system, column)}
    is_foreign = ~words.map_values(words.gold, "deprel", is_universal).astype(bool)
    if is_foreign.any():
        word = int(is_foreign.argmax())
        relation = words.values["deprel"][words.gold.codes["deprel"][word]]
        undefined["CLAS"] = (
            f"the gold file has the relation {relation!r} ({words.describe_word(word)}), which is"
            " not one of UD"
        )
    elif not counts[:, COUNTS.index("content_gold")].any():
        undefined["CLAS"] = "the gold file has no content words"
    return undefined


def _count_by_relation(system: ScoredSystem) -> dict[str, tuple[int, int, int]]:
    names, scored = system.words.values["deprel"], system.scored
    gold, predicted = system.words.gold.codes["deprel"], system.predicted.codes["deprel"]
    columns = [
        np.bincount(codes[mask], minlength=len(names)).tolist()
        for codes, mask in (
            (gold, scored), (predicted, scored), (gold, scored & system.correct["LAS"])
        )
    ]  # fmt: skip
    counts = dict(zip(names, zip(*columns, strict=True), strict=True))
    return {name: counts[name] for name in sorted(counts) if any(counts[name])}
