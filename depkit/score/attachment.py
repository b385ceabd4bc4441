"""Attachment scores and accuracies of systems that have the same words as the gold file.

Words are counted as by the scripts of the CoNLL-X and CoNLL 2009 shared tasks (eval07.pl and
eval09.pl; Buchholz and Marsi 2006, Hajic et al. 2009). UEM and LEM are the shares of sentences
that are completely correct, RA is the root accuracy; all three are from Yamada and Matsumoto
(2003). CLAS is from Zeman et al. (2018).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from depkit.corpus.io import PathLike, bracketed_paths
from depkit.corpus.pairing import make_source
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_content, is_universal
from depkit.files.errors import FormatError
from depkit.score import structure
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.punctuation import Policy, parse_policy
from depkit.score.systems import PREDICTED, make_system
from depkit.score.words import Comparison, Words, read_comparison

# The counts of a sentence. Scored words are those that are not left out as punctuation.
COUNTS = (
    "sentences",  # 1
    "words",
    "scored",  # scored words
    "heads", "labels", "both",  # scored words with the correct head, relation, head and relation
    # Whether all scored words have the correct head, or the correct head and relation; 1 if no
    # word is scored, as in eval09.pl.
    "complete_heads", "complete_both",
    "roots",  # whether the same scored words are roots in both trees
    # Scored words that are content words by their gold relation; by their predicted relation; by
    # their gold relation, with the correct head and relation.
    "content_gold", "content_predicted", "content_both",
    "upos", "xpos", "feats", "lemmas",  # words with the correct value
    "headless",  # words without a head in the predicted tree
    "cyclic", "many_roots",  # whether the predicted tree has a cycle, or several roots
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
TAGS = {"UPOS": "upos", "XPOS": "xpos", "FEATS": "feats", "Lemmas": "lemma"}  # metric: column
ARCS = ("UAS", "LAS", "LA")  # the metrics of single words that leave out punctuation


def evaluate(
    gold: PathLike | Sentence | Iterable[Sentence],
    pred: PathLike | Sentence | Iterable[Sentence],
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
    evalb: str = "collins",
    predicted: bool = False,
) -> Evaluation:
    """Score one system's trees against the gold trees over the same words.

    Files of bracketed trees are scored as by EVALB; see `evalb.evaluate_trees`. A predicted word
    without a head counts as wrong.

    Args:
        gold: A path (`-` is standard input, .gz and .xz are decompressed) or sentences.
        pred: A path or sentences, possibly in another format than the gold file.
        punct: The punctuation policy of `score.punctuation`, which reads the gold words only.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        encoding: The encoding of the files.
        evalb: For bracketed trees, the parameters of EVALB: a name or a parameter file.
        predicted: Whether to score the automatic columns of a system in CoNLL-09, such as PHEAD and
            PDEPREL, instead of HEAD and DEPREL.

    Raises:
        FormatError: The words differ, a gold word has no head, the column of the policy has
            nothing but `_`, or no word is scored.
        ValueError: `punct`, `subtypes` or `evalb` is unknown, or bracketed trees are scored with
            the former two.
        OSError: A file cannot be read.
    """
    if paths := bracketed_paths([gold, pred], encoding):
        from depkit.score.evalb import evaluate_trees
        from depkit.score.evalb_parameters import get_parameters

        refuse_for_trees(punct, subtypes)
        return evaluate_trees(paths[0], paths[1:], get_parameters(evalb), encoding)[0]
    return evaluate_systems(gold, [pred], punct, subtypes, encoding, predicted)[0]


def refuse_for_trees(punct: str, subtypes: str) -> None:
    """Raise ValueError for choices that do not apply to bracketed trees."""
    if punct != "keep" or subtypes != "keep":
        raise ValueError("leave punct and subtypes out; EVALB's parameters say what counts")


def evaluate_systems(
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
    predicted: bool = False,
) -> list[Evaluation]:
    """Score several systems against a gold file, which is read only once.

    Arguments and errors are those of `evaluate`; the result has an evaluation for each of `preds`.
    """
    punctuation = parse_policy(punct)
    columns = {"deprel", *TAGS.values(), punctuation.column}
    systems = [make_system(pred, encoding, predicted) for pred in preds]
    words = read_comparison(make_source(gold, encoding), systems, columns, subtypes)
    scored = scored_words(words, punctuation)
    choices = (("punct", punctuation.name), ("subtypes", subtypes), *PREDICTED * predicted)
    return [
        replace(
            make_evaluation(words, system, scored, correct_words(words, system), choices),
            warnings=source.warnings(predicted),
        )
        for source, system in zip(systems, words.systems, strict=True)
    ]


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


def make_evaluation(
    words: Comparison,
    system: Words,
    scored: np.ndarray,
    correct: dict[str, np.ndarray],
    choices: tuple[tuple[str, str], ...],
) -> Evaluation:
    """Count the correct words of a system.

    Args:
        words: The words of all files.
        system: The words of this system.
        scored: [word] bool, the result of `scored_words`.
        correct: The result of `correct_words`.
        choices: The settings to name in the signature.
    """
    counts = _count_by_sentence(words, system, scored, correct)
    return Evaluation(
        system.name,
        counts,
        COUNTS,
        METRICS,
        choices,
        _undefined_metrics(words, system, counts),
        {name: mask[scored] if name in ARCS else mask for name, mask in correct.items()},
        _count_by_relation(words, system, scored, correct["LAS"]),
    )


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


def _count_by_sentence(
    words: Comparison, system: Words, scored: np.ndarray, correct: dict[str, np.ndarray]
) -> np.ndarray:
    """Return [sentence, count] int64, columns as in COUNTS."""
    gold = words.gold
    content_gold = scored & words.map_values(gold, "deprel", is_content)
    content_predicted = scored & words.map_values(system, "deprel", is_content)
    masks = {
        "words": np.ones(words.size, bool),
        "scored": scored,
        "heads": scored & correct["UAS"],
        "labels": scored & correct["LA"],
        "both": scored & correct["LAS"],
        "roots": scored & ((gold.head == 0) != (system.head == 0)),  # differences; see below
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
    counts = {name: words.sum_by_sentence(mask) for name, mask in masks.items()}
    counts["sentences"] = np.ones(len(words.lengths), np.int64)
    counts["complete_heads"] = counts["heads"] == counts["scored"]
    counts["complete_both"] = counts["both"] == counts["scored"]
    counts["roots"] = counts["roots"] == 0
    counts["cyclic"] = counts["cyclic"] > 0
    counts["many_roots"] = counts["many_roots"] > 1
    return np.stack([counts[name] for name in COUNTS], axis=1).astype(np.int64)


def _undefined_metrics(words: Comparison, system: Words, counts: np.ndarray) -> frozenset[str]:
    """Return the metrics that cannot be computed for this gold file and this system.

    The metric of a tag is undefined if one of the two files has only `_` in the column, CLAS if
    the gold file has relations that are not part of UD, or no content word.
    """
    undefined = [name for name, column in TAGS.items() if words.is_missing(system, column)]
    universal = words.map_values(words.gold, "deprel", is_universal).all()
    if not universal or not counts[:, COUNTS.index("content_gold")].any():
        undefined.append("CLAS")
    return frozenset(undefined)


def _count_by_relation(
    words: Comparison, system: Words, scored: np.ndarray, correct: np.ndarray
) -> dict[str, tuple[int, int, int]]:
    """Count the scored words of each relation, as in `Evaluation.relations`.

    correct: [word] bool, whether head and relation are correct.
    """
    names = words.values["deprel"]
    gold, predicted = words.gold.codes["deprel"], system.codes["deprel"]
    columns = [
        np.bincount(codes[mask], minlength=len(names)).tolist()
        for codes, mask in ((gold, scored), (predicted, scored), (gold, scored & correct))
    ]
    counts = dict(zip(names, zip(*columns, strict=True), strict=True))
    return {name: counts[name] for name in sorted(counts) if any(counts[name])}
