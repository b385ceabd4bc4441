"""The words of a sentence as views of its columns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, overload

from depkit.corpus.formats import ATTRIBUTE_COLUMNS
from depkit.corpus.universal import sort_features

if TYPE_CHECKING:
    from depkit.corpus.sentence import Sentence


class _Cell:
    """The value of a word in the column of the same name; assigning to it changes the sentence."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, word: None, owner: type) -> Self: ...
    @overload
    def __get__(self, word: "Word", owner: type) -> str: ...
    def __get__(self, word: "Word | None", owner: type) -> "Self | str":
        if word is None:
            return self
        sentence = word.sentence
        if self.name in ATTRIBUTE_COLUMNS:
            return getattr(sentence, self.name)[word.index]
        if self.name not in sentence.format.columns:
            return "_"
        cells = sentence.lines[sentence.rows[word.index]].rstrip("\r\n").split("\t")
        return cells[sentence.format.index(self.name)]

    def __set__(self, word: "Word", value: str) -> None:
        word.sentence.change({self.name: [value]}, word.index, word.index + 1)


class Word:
    """A syntactic word of a sentence; `index` is its position in the sentence, from 0.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(
    ...     ["The", "cat", "sat"], head=[2, 3, 0], deprel=["det", "nsubj", "root"],
    ...     feats=["_", "Number=Sing", "_"], misc=["_", "Gloss=chat", "_"],
    ... )
    >>> cat = sentence[1]
    >>> cat.head, cat.children, cat.root.form
    (<Word 3 sat: _, root>, [<Word 1 The: _, det of 2 cat>], 'sat')
    >>> cat.features, cat.misc, cat.deps, [word.form for word in cat.subtree]
    ({'Number': 'Sing'}, 'Gloss=chat', '_', ['The', 'cat'])
    >>> cat.upos = "NOUN"  # this changes the sentence
    >>> sentence.upos
    ('_', 'NOUN', '_')

    Words are created on access, by `sentence[2]` or `for word in sentence`, so that sentences need
    little memory; two objects for the same word are equal. The values of columns are strings, `_`
    where the file has no value. Assigning to them, as in `word.deprel = "obj"`, changes the
    sentence, and what is written of it; it raises the errors of `Sentence.with_columns`. DEPS does
    not change with the head.
    """

    __slots__ = ("index", "sentence")

    def __init__(self, sentence: "Sentence", index: int) -> None:
        self.sentence = sentence
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Word):
            return NotImplemented
        return self.sentence is other.sentence and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.sentence), self.index))

    @property
    def id(self) -> int:
        """The word's number in its sentence, from 1, as in the column ID."""
        return self.index + 1

    form = _Cell("The word as it is written.")
    lemma = _Cell("The base form.")
    upos = _Cell("The universal part of speech.")
    xpos = _Cell("The language-specific part of speech.")
    feats = _Cell("Morphological features, `Case=Nom|Number=Sing`.")
    deprel = _Cell("The relation to the head.")
    deps = _Cell("The enhanced dependencies, `2:nsubj|4:nsubj`; `_` if the format has none.")
    misc = _Cell("Other annotation, `SpaceAfter=No|Gloss=dog`; `_` if the format has none.")

    @property
    def head_id(self) -> int:
        """The `id` of the head; 0 if it is the artificial root, -1 if it is unknown."""
        return self.sentence.head[self.index]

    @head_id.setter
    def head_id(self, value: int) -> None:
        self.sentence.change({"head": [value]}, self.index, self.index + 1)

    @property
    def head(self) -> "Word | None":
        """The head of the word; None if it is the artificial root or unknown.

        Assigning None makes the word a child of the artificial root.
        """
        return self.sentence[self.head_id - 1] if self.head_id > 0 else None

    @head.setter
    def head(self, value: "Word | None") -> None:
        if value is not None and (
            not isinstance(value, Word) or value.sentence is not self.sentence
        ):
            raise TypeError(
                "a head is a word of the same sentence, or None; assign a number to head_id"
            )
        self.head_id = value.id if value else 0

    @property
    def children(self) -> "list[Word]":
        """The dependents of the word, in the order of the sentence."""
        return [word for word in self.sentence if word.head_id == self.id]

    @property
    def ancestors(self) -> "list[Word]":
        """The head, its head and so on; if there is a cycle, each of its words once."""
        chain: dict[int, None] = {}
        number = self.head_id
        while number > 0 and number not in chain:
            chain[number] = None
            number = self.sentence.head[number - 1]
        return [self.sentence[number - 1] for number in chain]

    @property
    def root(self) -> "Word":
        """The last of the `ancestors`, or the word itself: the root of the tree of the word."""
        return (self.ancestors or [self])[-1]

    @property
    def subtree(self) -> "list[Word]":
        """The word and all words below it, in the order of the sentence."""
        dependents: dict[int, list[int]] = {}
        for number, head in enumerate(self.sentence.head, start=1):
            dependents.setdefault(head, []).append(number)
        found, stack = {self.id}, [self.id]
        while stack:
            new = [number for number in dependents.get(stack.pop(), ()) if number not in found]
            found.update(new)
            stack += new
        return [self.sentence[number - 1] for number in sorted(found)]

    @property
    def start(self) -> int:
        """The offset of the word in the text; see `Sentence.text_with_offsets`, also for errors.

        The offsets of all words of a sentence are computed anew each time.
        """
        return self.sentence.text_with_offsets()[1][self.index][0]

    @property
    def end(self) -> int:
        """The offset after the last character of the word; see `start`."""
        return self.sentence.text_with_offsets()[1][self.index][1]

    @property
    def features(self) -> dict[str, str]:
        """FEATS as a new dict, `{"Case": "Nom", "Number": "Sing"}`.

        Assigning a dict changes FEATS; the features are sorted as UD requires.
        """
        pairs = (feature.partition("=") for feature in self.feats.split("|"))
        return {name: value for name, equals, value in pairs if equals}

    @features.setter
    def features(self, features: Mapping[str, str]) -> None:
        for name, value in features.items():
            if not name or not value or {"|", "="} & set(name) or "|" in value:
                raise ValueError(f"{name!r}: {value!r} cannot be a feature of FEATS")
        parts = sort_features(f"{name}={value}" for name, value in features.items())
        self.feats = "|".join(parts) or "_"

    def __str__(self) -> str:
        return self.form

    def __repr__(self) -> str:
        head = f"{self.deprel} of {self.head_id} {self.head}" if self.head else self.deprel
        return f"<Word {self.id} {self.form}: {self.upos}, {head}>"
