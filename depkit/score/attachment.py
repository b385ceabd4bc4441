"""Attachment scores and accuracies over the same words in the gold and in every system.

As the CoNLL-X and CoNLL 2009 shared tasks' scripts (eval07.pl, eval09.pl) count; Buchholz and
Marsi (2006), Hajic et al. (2009). UEM and LEM are the complete-match shares and RA is the root
accuracy of Yamada and Matsumoto (2003); CLAS as Zeman et al. (2018).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike
from depkit.corpus.pairing import source
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_content, is_universal
from depkit.score import structure
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.punctuation import Policy, policy
from depkit.score.words import Comparison, Words, compare

# What is counted in a sentence: 1; its words; and of the words that are not left out as
# punctuation, all, those with the right head, relation, both; then whether every one has the
# right head, and both (true where nothing is scored, as in eval09.pl), and whether the same ones
# are roots; those with a content relation in the gold, by the system, and rightly both; of all
# words, those with the right tags, features, lemma; and the words, scored or not, that the system
# gave no head; whether there is a cycle; whether there are several roots.
COUNTS = (
    "sentences", "words", "scored", "heads", "labels", "both",
    "complete_heads", "complete_both", "roots", "content_gold", "content_predicted",
    "content_both", "upos", "xpos", "feats", "lemmas", "headless", "cyclic", "many_roots",
)  # fmt: skip

METRICS = {
    "UAS": Metric("heads", "scored", "scored"),
    "LAS": Metric("both", "scored", "scored"),
    "LA": Metric("labels", "scored", "scored"),
    "UEM": Metric("complete_heads", "sentences", "sentences"),
    "LEM": Metric("complete_both", "sentences", "sentences"),
    "RA": Metric("roots", "sentences", "sentences"),
    "CLAS": Metric("content_both", "content_gold", "content_predicted"),
    "UPOS": Metric("upos", "words", "words"),
    "XPOS": Metric("xpos", "words", "words"),
    "FEATS": Metric("feats", "words", "words"),
    "Lemmas": Metric("lemmas", "words", "words"),
}
TAGS = {"UPOS": "upos", "XPOS": "xpos", "FEATS": "feats", "Lemmas": "lemma"}  # their columns
ARCS = ("UAS", "LAS", "LA")  # the metrics of words that leave out punctuation


def evaluate(
    gold: PathLike | Sentence | Iterable[Sentence],
    pred: PathLike | Sentence | Iterable[Sentence],
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
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
) -> list[Evaluation]:
    """Score several systems against one gold standard, read once; see `evaluate`."""
    leave_out = policy(punct)
    columns = {"deprel", *TAGS.values(), leave_out.column}
    systems = [source(pred, encoding) for pred in preds]
    words = compare(source(gold, encoding), systems, columns, subtypes)
    scored = scored_words(words, leave_out)
    choices = (("punct", leave_out.name), ("subtypes", subtypes))
    return [
        evaluation_of(words, system, scored, correctness(words, system), choices)
        for system in words.systems
    ]


def scored_words(words: Comparison, leave_out: Policy) -> np.ndarray:
    """[word] bool, the gold words that are not left out as punctuation.

    Raises FormatError where the policy's column is empty and where no word is left.
    """
    if leave_out.name == "keep":
        return np.ones(words.size, bool)
    name = words.gold.name or "gold"
    column = leave_out.column
    if column != "form" and words.is_blank(words.gold, column):
        raise FormatError(
            name, 0, "", f"punctuation policy {leave_out.name!r} reads {column.upper()}, which is"
            " _ throughout; choose one that reads another column, such as 'unicode' (FORM)",
        )  # fmt: skip
    scored = ~words.of_values(words.gold, column, leave_out.is_punctuation).astype(bool)
    if not scored.any():
        raise FormatError(
            name, 0, "", f"punctuation policy {leave_out.name!r} leaves no word to score"
        )
    return scored


def evaluation_of(
    words: Comparison,
    system: Words,
    scored: np.ndarray,
    correct: dict[str, np.ndarray],
    choices: tuple[tuple[str, str], ...],
) -> Evaluation:
    """The evaluation of a system; scored: [word] bool; correct: what `correctness` says."""
    counts = _counts(words, system, scored, correct)
    return Evaluation(
        system.name,
        counts,
        COUNTS,
        METRICS,
        choices,
        _undefined(words, system, counts),
        {name: of[scored] if name in ARCS else of for name, of in correct.items()},
        _relations(words, system, scored, correct["LAS"]),
    )


def correctness(words: Comparison, system: Words) -> dict[str, np.ndarray]:
    """[word] bool for each metric of words: whether the system is right there.

    A lemma that the gold does not have, `_`, is right whatever the system says.
    """
    gold = words.gold
    correct = {"UAS": gold.head == system.head}
    correct["LA"] = gold.code["deprel"] == system.code["deprel"]
    correct["LAS"] = correct["UAS"] & correct["LA"]
    correct |= {name: gold.code[tag] == system.code[tag] for name, tag in TAGS.items()}
    correct["Lemmas"] = correct["Lemmas"] | words.of_values(gold, "lemma", "_".__eq__)
    return correct


def _counts(
    words: Comparison, system: Words, scored: np.ndarray, correct: dict[str, np.ndarray]
) -> np.ndarray:
    """[sentence, count] int64, columns as in COUNTS."""
    gold = words.gold
    content_gold = scored & words.of_values(gold, "deprel", is_content)
    content_predicted = scored & words.of_values(system, "deprel", is_content)
    by_word = {
        "words": np.ones(words.size, bool),
        "scored": scored,
        "heads": scored & correct["UAS"],
        "labels": scored & correct["LA"],
        "both": scored & correct["LAS"],
        "roots": scored & ((gold.head == 0) != (system.head == 0)),  # so far, the mistaken ones
        "content_gold": content_gold,
        "content_predicted": content_predicted,
        "content_both": content_gold & correct["LAS"],
        "upos": correct["UPOS"],
        "xpos": correct["XPOS"],
        "feats": correct["FEATS"],
        "lemmas": correct["Lemmas"],
        "headless": system.head == -1,
        "cyclic": structure.reaches_cycle(system.head, words.starts),
        "many_roots": system.head == 0,
    }
    of = {name: words.sums(counted) for name, counted in by_word.items()}
    of["sentences"] = np.ones(len(words.lengths), np.int64)
    of["complete_heads"] = of["heads"] == of["scored"]
    of["complete_both"] = of["both"] == of["scored"]
    of["roots"] = of["roots"] == 0
    of["cyclic"] = of["cyclic"] > 0
    of["many_roots"] = of["many_roots"] > 1
    return np.stack([of[name] for name in COUNTS], axis=1).astype(np.int64)


def _undefined(words: Comparison, system: Words, counts: np.ndarray) -> frozenset[str]:
    """The metrics that this gold and this system cannot have.

    Tags where one of the two has only `_`; CLAS where the gold has relations that are not UD's,
    or no content word.
    """
    missing = [name for name, column in TAGS.items() if words.lacks(system, column)]
    universal = words.of_values(words.gold, "deprel", is_universal).all()
    if not universal or not counts[:, COUNTS.index("content_gold")].any():
        missing.append("CLAS")
    return frozenset(missing)


def _relations(
    words: Comparison, system: Words, scored: np.ndarray, right: np.ndarray
) -> dict[str, tuple[int, int, int]]:
    """For each relation of scored words: gold, predicted, with the right head and relation."""
    names = words.values["deprel"]
    gold, predicted = words.gold.code["deprel"], system.code["deprel"]
    counts = [
        np.bincount(code[chosen], minlength=len(names)).tolist()
        for code, chosen in ((gold, scored), (predicted, scored), (gold, scored & right))
    ]
    found = dict(zip(names, zip(*counts, strict=True), strict=True))
    return {name: found[name] for name in sorted(found) if any(found[name])}
