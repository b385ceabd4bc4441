"""The words of a gold file and of systems in columns: what scores and analyses count over."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.pairing import Source, pairs
from depkit.corpus.probabilities import probabilities_of
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")
SUBTYPES = ("keep", "drop")


class Codes(dict[str, int]):
    """The values of a column as numbers; texts[code] is a value.

    normal: values that it maps to the same text have the same number.
    """

    def __init__(self, normal: Callable[[str], str] = str) -> None:
        super().__init__()
        self.normal = normal
        self.texts: list[str] = []

    def __missing__(self, value: str) -> int:
        normal = self.normal(value)
        if normal == value or normal not in self:
            self[normal] = len(self.texts)
            self.texts.append(normal)
        self[value] = self[normal]
        return self[value]


def sorted_features(feats: str) -> str:
    """FEATS in alphabetical order, for their order means nothing."""
    return "|".join(sorted(set(feats.split("|"))))


def column_codes(subtypes: str = "keep") -> dict[str, Codes]:
    """Empty codes for every column; files that share them can be compared by number.

    subtypes: "drop" gives relations with the same base the same number.
    Raises ValueError for a choice that does not exist.
    """
    if subtypes not in SUBTYPES:
        raise ValueError(f"subtypes are 'keep' or 'drop', not {subtypes!r}")
    codes = {name: Codes() for name in COLUMNS}
    codes["feats"] = Codes(sorted_features)
    if subtypes == "drop":
        codes["deprel"] = Codes(base)
    return codes


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a file, sentence after sentence.

    name: the file's; head: [word] int32, the head's number in its sentence, 0 the root's and -1
    where there is none; code: by column, [word] int32, its values as numbers of `Codes`;
    probability: as in `probabilities_of`, if they were read.
    """

    name: str
    head: np.ndarray
    code: dict[str, np.ndarray]
    probability: np.ndarray | None = None


class WordsBuilder:
    """Collects the words of a file, sentence by sentence.

    columns: which to keep; probabilities: whether to keep those, too.
    """

    def __init__(
        self,
        name: str,
        columns: Iterable[str],
        codes: dict[str, Codes],
        probabilities: bool = False,
    ) -> None:
        self.name = name
        self.sizes = array("q")
        self._head = array("i")
        self._code = {column: array("i") for column in columns}
        self._codes = codes
        self._probability: list[np.ndarray] | None = [] if probabilities else None

    def add(self, sentence: Sentence) -> None:
        """The sentence's words, at the end."""
        self.sizes.append(len(sentence))
        self._head.extend(sentence.head)
        for column, code in self._code.items():
            code.extend(map(self._codes[column].__getitem__, getattr(sentence, column)))
        if self._probability is not None:
            self._probability.append(probabilities_of(sentence))

    @property
    def words(self) -> Words:
        """All the words so far."""
        code = {name: np.frombuffer(column, np.int32) for name, column in self._code.items()}
        probability = np.concatenate(self._probability) if self._probability else None
        return Words(self.name, np.frombuffer(self._head, np.int32), code, probability)

    @property
    def starts(self) -> np.ndarray:
        """Where each sentence begins, and after the last its end: [sentence + 1] int64."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Gold words and those of systems over the same text, word for word.

    starts: [sentence + 1] int64, the first word of each sentence, then the number of words;
    values: of each column by number; places: of each gold sentence, (file, line, sent_id) of its
    first word;
    train: how often a training file has a form, if there is one.
    """

    gold: Words
    systems: list[Words]
    starts: np.ndarray
    values: dict[str, list[str]]
    places: list[tuple[str, int, str]]
    train: Counter[str] | None = None

    @property
    def size(self) -> int:
        """The number of words."""
        return int(self.starts[-1])

    @property
    def lengths(self) -> np.ndarray:
        """[sentence] the number of its words."""
        return np.diff(self.starts)

    @cached_property
    def sentence(self) -> np.ndarray:
        """[word] int64, its sentence, from 0."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    @cached_property
    def number(self) -> np.ndarray:
        """[word] int64, its number in the sentence, from 1."""
        return np.arange(self.size) - self.starts[:-1][self.sentence] + 1

    def of_values(self, words: Words, column: str, function: Callable[[str], object]) -> np.ndarray:
        """[word] what a function makes of each word's value; called once for each value."""
        return np.array([function(value) for value in self.values[column]])[words.code[column]]

    def lacks(self, system: Words, column: str) -> bool:
        """Whether the gold or a system has nothing but `_` in a column."""
        return self.is_blank(self.gold, column) or self.is_blank(system, column)

    def is_blank(self, words: Words, column: str) -> bool:
        """Whether a column has nothing but `_`."""
        return not self.of_values(words, column, "_".__ne__).any()

    def sums(self, counted: np.ndarray) -> np.ndarray:
        """[sentence, ...] int64, the sum over each sentence's words of [word, ...]."""
        return np.add.reduceat(counted, self.starts[:-1], axis=0, dtype=np.int64)


def compare(
    gold: Source,
    systems: Sequence[Source],
    columns: Iterable[str],
    subtypes: str = "keep",
    places: bool = False,
    probabilities: bool = False,
) -> Comparison:
    """The words of all files side by side, read in parallel; see `pairing.pairs`.

    columns: which to keep, of `COLUMNS`; subtypes: as in `column_codes`; places: whether to
    keep where the sentences stand; probabilities: whether to keep the systems'. Raises
    FormatError where the words differ, where a gold word has no head, where there is no sentence
    and as `probabilities_of`; ValueError as `column_codes`.
    """
    codes = column_codes(subtypes)
    builders = [WordsBuilder(gold.name, columns, codes)]
    kept = [column for column in columns if column != "form"]  # the same in every system
    names = distinct([system.name for system in systems])
    builders += [WordsBuilder(name, kept, codes, probabilities) for name in names]
    found = []
    for number, (reference, predictions) in enumerate(pairs(gold, systems), start=1):
        if -1 in reference.head:
            raise headless_gold(reference, number)
        for builder, sentence in zip(builders, (reference, *predictions), strict=True):
            builder.add(sentence)
        if places:
            found.append(reference.place())
    if not builders[0].sizes:
        raise FormatError(gold.name or "gold", 0, "", "no sentences to score against")
    first, *others = (builder.words for builder in builders)
    values = {name: code.texts for name, code in codes.items()}
    return Comparison(first, others, builders[0].starts, values, found)


def distinct(names: Sequence[str]) -> list[str]:
    """Names of systems, numbered where a file is there twice."""
    return [
        f"{name} ({names[: i + 1].count(name)})" if name and name in names[:i] else name
        for i, name in enumerate(names)
    ]


def headless_gold(gold: Sentence, number: int) -> FormatError:
    """What is wrong with a gold sentence that is not annotated."""
    word = gold.head.index(-1)
    what = f"word {word + 1} of sentence {number}, {gold.form[word]!r}, has no head in the gold"
    return FormatError(*gold.place(word), f"{what}; only annotated sentences can be scored against")
