"""Suspects on which parsers disagree with the treebank.

Parsers that were not trained on a sentence annotate it without knowing its annotation in the
treebank. Where they are confident and disagree, the treebank is often wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import eq
from typing import NamedTuple

from depkit.corpus.probabilities import ARC_PROB, read_probabilities
from depkit.corpus.sentence import Sentence
from depkit.treebank.suspects import KINDS, PARSER, TAGS, Spellings, Suspect

Value = str | int | None  # a tag, a relation or a head; None if there is none to compare


class _Dispute(NamedTuple):
    """A word for which a parse and the treebank differ; the sequences have one entry per parse."""

    sentence: int
    word: int
    kind: str
    gold_value: Value
    gold_text: str  # the annotation of the treebank as it is written there
    values: tuple[Value, ...]
    labels: list[str]
    probabilities: list[float | None]


def find_disagreements(
    pairs: Iterable[tuple[Sentence, Sequence[Sentence]]],
) -> Iterator[Suspect]:
    """Yield the words for which an annotation in the parses is more probable than the gold one.

    The probability of an annotation is the mean over all parses. The probability of a parse's own
    annotation is as follows, and that of all others is 0:

    - head: ArcProb in MISC;
    - relation: LabelProb; relations are compared only where the head is the same;
    - tag, or head or relation without such a probability: among the words with the same predicted
      tag or relation, the share for which the parse and the treebank agree.

    Columns that contain only `_` in the treebank or in a parse are not compared. All sentences are
    read before the first suspect is yielded.

    Args:
        pairs: Each sentence of the treebank, and its parses, in the same order for all sentences.

    Raises:
        FormatError: The probabilities of a parse are invalid, or some words have none.
    """
    filled: set[tuple[int, str]] = set()  # the columns that have values; number 0 is the treebank
    counts: defaultdict[tuple[int, str], Counter[tuple[Value, bool]]] = defaultdict(Counter)
    disputes: list[_Dispute] = []
    spellings = Spellings()
    for index, (gold, parses) in enumerate(pairs):
        values = [_values(sentence, gold, spellings) for sentence in (gold, *parses)]
        probabilities = [_probabilities(parse) for parse in parses]
        for kind in KINDS:
            columns = [columns[kind] for columns in values]
            for number, column in enumerate(columns):
                if (number, kind) not in filled and not {"_", None}.issuperset(column):
                    filled.add((number, kind))
            for number, (parse, column) in enumerate(zip(parses, columns[1:], strict=True), 1):
                groups = parse.deprel if kind == "head" else column
                counts[number, kind].update(zip(groups, map(eq, column, columns[0]), strict=True))
            for i, row in enumerate(zip(*columns, strict=True)):
                if row[0] is not None and row.count(row[0]) < len(row):
                    labels = [parse.deprel[i] for parse in parses]
                    known = [
                        column[kind][i] if kind in column else None for column in probabilities
                    ]
                    text = str(getattr(gold, kind)[i])
                    text += f":{gold.deprel[i]}" if kind == "head" else ""
                    disputes.append(_Dispute(index, i, kind, row[0], text, row[1:], labels, known))
    for dispute in disputes:
        if (0, dispute.kind) in filled:
            yield from _judge(dispute, filled, counts)


def _values(sentence: Sentence, gold: Sentence, spellings: Spellings) -> dict[str, Sequence[Value]]:
    """Return for each kind the values of a sentence that can be compared with the treebank."""
    heads = [head if head >= 0 else None for head in sentence.head]
    labels = [
        label if head == gold_head and head >= 0 else None
        for label, head, gold_head in zip(sentence.deprel, sentence.head, gold.head, strict=True)
    ]
    tags = {name: spellings.unify(name, getattr(sentence, name)) for name in TAGS}
    return {"head": heads, "deprel": labels, **tags}


def _probabilities(parse: Sentence) -> dict[str, list[float]]:
    """Return the probabilities of the heads and labels of a parse, or nothing if it has none."""
    if "misc" not in parse.format.columns or f"{ARC_PROB}=" not in "".join(parse.column("misc")):
        return {}
    arcs, labels = read_probabilities(parse).T.tolist()
    return {"head": arcs, "deprel": labels}


def _judge(
    dispute: _Dispute,
    filled: set[tuple[int, str]],
    counts: dict[tuple[int, str], Counter[tuple[Value, bool]]],
) -> Iterator[Suspect]:
    """Yield a suspect if an annotation in the parses is more probable than the gold one.

    filled, counts: as in `find_disagreements`.
    """
    sentence, word, kind, gold_value, gold_text, values, labels, known = dispute
    voters = [number for number in range(1, len(values) + 1) if (number, kind) in filled]
    weights: defaultdict[Value, float] = defaultdict(float)
    for number in voters:
        value, probability = values[number - 1], known[number - 1]
        if probability is None:
            group = labels[number - 1] if kind == "head" else value
            agreed, differed = (counts[number, kind][group, equal] for equal in (True, False))
            probability = agreed / (agreed + differed)
        weights[value] += probability / len(voters)
    gold_probability = weights.pop(gold_value, 0.0)
    weights.pop(None, None)
    if not weights:
        return
    alternative = max(weights, key=weights.__getitem__)
    probability = weights[alternative]
    if probability <= gold_probability:
        return
    text = str(alternative)
    if kind == "head":
        text += f":{labels[values.index(alternative)]}"
    agreeing = sum(values[number - 1] == alternative for number in voters)
    evidence = f"{agreeing} of {len(voters)} parse{'s' * (len(voters) > 1)}"
    yield Suspect(
        sentence, word, kind, gold_text, text, probability, gold_probability, PARSER, evidence
    )
