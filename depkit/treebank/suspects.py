"""Suspects: annotations of a treebank that are probably wrong, from two sources in one ranked list.

Parsers that have not seen a sentence disagree with its annotation (`disagreement`), or the same
words are annotated differently elsewhere in the treebank (`variation`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from depkit.corpus.pairing import quote_context
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import normalize_features

TAGS = ("upos", "xpos", "feats")
KINDS = ("head", "deprel", *TAGS)
PARSER, VARIATION, BOTH = "parser", "variation", "both"


class Spellings:
    """Makes values equal that differ only in the order of features, which has no meaning."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}  # the spelling of each value that was seen first

    def unify(self, column: str, values: Sequence[str]) -> Sequence[str]:
        """Return the values of a column, those of FEATS as they were first spelled."""
        if column != "feats":
            return values
        return [self._first.setdefault(normalize_features(value), value) for value in values]


@dataclass(frozen=True, slots=True)
class Suspect:
    """An annotation that is probably wrong, and what it should be instead.

    Attributes:
        sentence: The 0-based index of the sentence in the treebank.
        word: The 0-based index of the word in the sentence.
        kind: One of KINDS: "head" if the head is suspect, with or without its relation; "deprel" if
            only the relation is suspect.
        gold: The annotation of the treebank; a head is written as in DEPS: `4:nsubj`.
        alternative: The annotation that is proposed, in the same form.
        probability: The probability of the alternative.
        gold_probability: The probability of the treebank's annotation, as far as it is known.
        source: PARSER, VARIATION or BOTH.
        evidence: What the probabilities are based on, as text.
    """

    sentence: int
    word: int
    kind: str
    gold: str
    alternative: str
    probability: float
    gold_probability: float
    source: str
    evidence: str

    @property
    def score(self) -> float:
        """The score for ranking: higher scores come first."""
        return self.probability - self.gold_probability


def rank_suspects(suspects: Iterable[Suspect]) -> list[Suspect]:
    """Sort suspects by their scores, the highest first; equal scores stay in the treebank's order.

    Suspects for which both sources propose the same annotation are merged. The sources are treated
    as independent: with the probabilities p and q, the merged probability is
    1 - (1 - p)(1 - q). The probability of the treebank's annotation is the smaller one.
    """
    merged: dict[tuple[int, int, str, str], Suspect] = {}
    for suspect in suspects:
        key = (suspect.sentence, suspect.word, suspect.kind, suspect.alternative)
        other = merged.get(key)
        merged[key] = _merge(other, suspect) if other else suspect
    return sorted(
        merged.values(),
        key=lambda suspect: (
            -suspect.score, suspect.sentence, suspect.word, KINDS.index(suspect.kind)
        ),
    )  # fmt: skip


def _merge(first: Suspect, second: Suspect) -> Suspect:
    return replace(
        first,
        probability=1 - (1 - first.probability) * (1 - second.probability),
        gold_probability=min(first.gold_probability, second.gold_probability),
        source=BOTH,
        evidence=f"{first.evidence}; {second.evidence}",
    )


def describe_suspects(
    suspects: Sequence[Suspect], sentences: Sequence[Sentence]
) -> Iterator[dict[str, Any]]:
    """Yield a record for each ranked suspect, with its rank, probabilities and position.

    sentences: the sentences of the treebank.
    """
    for rank, suspect in enumerate(suspects, start=1):
        sentence = sentences[suspect.sentence]
        file, line, sent_id = sentence.location(suspect.word)
        yield {
            "rank": rank,
            "score": round(suspect.score, 4),
            "source": suspect.source,
            "kind": suspect.kind,
            "form": sentence.form[suspect.word],
            "gold": suspect.gold,
            "alternative": suspect.alternative,
            "gold_head": _head_form(sentence, suspect, suspect.gold),
            "alternative_head": _head_form(sentence, suspect, suspect.alternative),
            "probability": round(suspect.probability, 4),
            "gold_probability": round(suspect.gold_probability, 4),
            "evidence": suspect.evidence,
            "file": file,
            "line": line,
            "sent_id": sent_id,
            "word": suspect.word + 1,
            "context": quote_context(sentence.form, suspect.word)[1:-1],
        }


def _head_form(sentence: Sentence, suspect: Suspect, annotation: str) -> str:
    """Return the form of the head in `4:nsubj`, "" for the root and for other kinds of suspects."""
    head = int(annotation.partition(":")[0]) if suspect.kind == "head" else 0
    return sentence.form[head - 1] if head else ""
