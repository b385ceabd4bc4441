"""A sentence to be shown: what a drawing says of it, in whatever style."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.cells import visible

# missed: a gold arc that the predicted tree does not have; wrong: what it has instead
Kind = Literal["plain", "missed", "wrong"]
WRONG = "✗"
_COLOURS: dict[Kind, str] = {"missed": "\x1b[32m", "wrong": "\x1b[31m"}
_END = "\x1b[0m"


def painted(text: str, kind: Kind, colour: bool) -> str:
    """The text, in the terminal's colour for what it tells if colour is wanted."""
    return _COLOURS[kind] + text + _END if colour and text and kind in _COLOURS else text


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc of a drawing, from a word to a dependent; both are numbers from 1, 0 the root."""

    head: int
    dependent: int
    label: str
    kind: Kind = "plain"

    @property
    def upright(self) -> bool:
        """Whether no other word is at its end: the root's arc, or a word's arc to itself."""
        return self.head in (0, self.dependent)


@dataclass(frozen=True)
class Shown:
    """A sentence to draw, and perhaps another tree to compare with.

    number: its position in the file, from 1; 0 if it is not from a file.

    All its texts are safe to be printed. Words are told by their numbers, from 1.
    """

    number: int
    sentence: Sentence
    predicted: Sentence | None = None

    @cached_property
    def forms(self) -> list[str]:
        """The words."""
        return list(map(visible, self.sentence.form))

    @cached_property
    def tags(self) -> list[str]:
        """UPOS, or XPOS if the sentence has no UPOS; empty texts if it has neither."""
        for column in (self.sentence.upos, self.sentence.xpos):
            if any(tag != "_" for tag in column):
                return list(map(visible, column))
        return [""] * len(self.sentence)

    @property
    def name(self) -> str:
        """The number and the sent_id, without those that are missing."""
        parts = str(self.number or ""), visible(self.sentence.sent_id)
        return ": ".join(filter(None, parts))

    @property
    def text(self) -> str:
        """The text as the file gives it, "" if it does not."""
        return visible(self.sentence.text)

    @cached_property
    def wrong(self) -> frozenset[int]:
        """The words whose predicted head or relation is not the gold one."""
        if self.predicted is None:
            return frozenset()
        gold = zip(self.sentence.head, self.sentence.deprel, strict=True)
        predicted = zip(self.predicted.head, self.predicted.deprel, strict=True)
        both = enumerate(zip(gold, predicted, strict=True), start=1)
        return frozenset(word for word, (ours, theirs) in both if ours != theirs)

    def arcs(self) -> list[Arc]:
        """The arcs of the sentence's own tree; a word without a head has none."""
        rows = enumerate(zip(self.sentence.head, self.sentence.deprel, strict=True), start=1)
        return [
            Arc(head, word, _label(head, word, relation), self.kind(word))
            for word, (head, relation) in rows
            if head >= 0
        ]

    def kind(self, word: int) -> Kind:
        """How the gold arc of a word is to look."""
        return "missed" if word in self.wrong else "plain"

    def wrong_arcs(self) -> list[Arc]:
        """The arcs that the predicted tree has for the wrong words."""
        arcs: list[Arc] = []
        if self.predicted is None:
            return arcs
        for word in sorted(self.wrong):
            head, relation = self.predicted.head[word - 1], self.predicted.deprel[word - 1]
            label = _label(head, word, relation)
            if head < 0:
                label = "headless"
            elif head == self.sentence.head[word - 1]:
                label = f"{visible(self.sentence.deprel[word - 1])}→{visible(relation)}"
            arcs.append(Arc(max(head, 0), word, f"{WRONG}{label}", "wrong"))
        return arcs


def _label(head: int, word: int, relation: str) -> str:
    label = "" if relation == "_" else visible(relation)
    if head == word:
        return f"↻{label}"
    return label or ("root" if head == 0 else "")
