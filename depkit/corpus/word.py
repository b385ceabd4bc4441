"""The words of a sentence as views of its columns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depkit.corpus.sentence import Sentence


@dataclass(frozen=True, slots=True, repr=False)
class Word:
    """A syntactic word of a sentence; `index` is its position in the sentence, from 0.

    Words are created on access, by `sentence[2]` or `for word in sentence`, so that sentences need
    little memory; two objects for the same word are equal. The values of columns are strings, `_`
    where the file has no value.
    """

    sentence: "Sentence"
    index: int

    @property
    def id(self) -> int:
        """The word's number in its sentence, from 1, as in the column ID."""
        return self.index + 1

    @property
    def form(self) -> str:
        """The word as it is written."""
        return self.sentence.form[self.index]

    @property
    def lemma(self) -> str:
        """The base form."""
        return self.sentence.lemma[self.index]

    @property
    def upos(self) -> str:
        """The universal part of speech."""
        return self.sentence.upos[self.index]

    @property
    def xpos(self) -> str:
        """The language-specific part of speech."""
        return self.sentence.xpos[self.index]

    @property
    def feats(self) -> str:
        """Morphological features, `Case=Nom|Number=Sing`."""
        return self.sentence.feats[self.index]

    @property
    def head_id(self) -> int:
        """The `id` of the head; 0 if it is the artificial root, -1 if it is unknown."""
        return self.sentence.head[self.index]

    @property
    def head(self) -> "Word | None":
        """The head of the word; None if it is the artificial root or unknown."""
        return self.sentence[self.head_id - 1] if self.head_id > 0 else None

    @property
    def deprel(self) -> str:
        """The relation to the head."""
        return self.sentence.deprel[self.index]

    @property
    def children(self) -> "list[Word]":
        """The dependents of the word, in the order of the sentence."""
        return [word for word in self.sentence if word.head_id == self.id]

    def __str__(self) -> str:
        return self.form

    def __repr__(self) -> str:
        head = f"{self.deprel} of {self.head_id} {self.head}" if self.head else self.deprel
        return f"<Word {self.id} {self.form}: {self.upos}, {head}>"
