"""The words of a gold file and of systems' files as arrays, on which all scores are computed."""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from depkit.corpus.pairing import Source, pair_sentences
from depkit.corpus.probabilities import has_probabilities, read_probabilities
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation, normalize_features
from depkit.files.errors import FormatError
from depkit.score.enhanced import Relations, RelationsBuilder, require_relations

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")
DEPS = "deps"  # a column that is stored as relations, not as codes
SUBTYPES = ("keep", "drop")


class Codes(dict[str, int]):
    """Assigns integer codes to the values of a column; values_by_code is the reverse mapping.

    normalize: a function; values that it maps to the same text have the same code.
    """

    def __init__(self, normalize: Callable[[str], str] = str) -> None:
        super().__init__()
        self.normalize = normalize
        self.values_by_code: list[str] = []

    def __missing__(self, value: str) -> int:
        normalized = self.normalize(value)
        if normalized == value or normalized not in self:
            self[normalized] = len(self.values_by_code)
            self.values_by_code.append(normalized)
        self[value] = self[normalized]
        return self[value]

    def add(self, values: Iterable[str]) -> list[int]:
        """Return the codes of values; each new value gets the next code."""
        return [self[value] for value in values]


def column_codes(subtypes: str = "keep") -> dict[str, Codes]:
    """Return empty codes for every column; files that share them can be compared by code.

    subtypes: "drop" gives relations with the same base relation the same code.
    Raises ValueError for any value except "keep" and "drop".
    """
    if subtypes not in SUBTYPES:
        raise ValueError(f"subtypes must be 'keep' or 'drop', not {subtypes!r}")
    codes = {name: Codes() for name in (*COLUMNS, DEPS)}
    codes["feats"] = Codes(normalize_features)
    if subtypes == "drop":
        codes["deprel"] = Codes(base_relation)
    return codes


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a file, sentence after sentence.

    name: the name of the file; head: [word] int32, the number of the head in its sentence, 0 for
    the root and -1 for no head; codes: for each column, [word] int32, codes as in `Codes`;
    probability: as in `read_probabilities`, None if they were not read; relations: the enhanced
    dependencies, None if they were not read.
    """

    name: str
    head: np.ndarray
    codes: dict[str, np.ndarray]
    probability: np.ndarray | None = None
    relations: Relations | None = None


class WordsBuilder:
    """Collects the words of a file, sentence by sentence.

    columns: those to store, from `COLUMNS`, and "deps" to store the enhanced dependencies; codes:
    for each column, shared by the files of a comparison;
    probabilities: whether to store the probabilities of heads and labels as well; None to do so if
    the first sentence has them.
    """

    def __init__(
        self,
        name: str,
        columns: Collection[str],
        codes: dict[str, Codes],
        probabilities: bool | None = False,
    ) -> None:
        self.name = name
        self.lengths = array("q")
        self._head = array("i")
        self._columns = {column: array("i") for column in columns if column != DEPS}
        self._relations = RelationsBuilder(codes[DEPS]) if DEPS in columns else None
        self._codes = codes
        self._reads_probabilities = probabilities
        self._probability: list[np.ndarray] = []

    def add(self, sentence: Sentence) -> None:
        """Append the words of a sentence."""
        self.lengths.append(len(sentence))
        self._head.extend(sentence.head)
        for column, codes in self._columns.items():
            codes.extend(map(self._codes[column].__getitem__, getattr(sentence, column)))
        if self._relations is not None:
            self._relations.add(sentence)
        if self._reads_probabilities is None:
            self._reads_probabilities = has_probabilities(sentence)
        if self._reads_probabilities:
            self._probability.append(read_probabilities(sentence))

    @property
    def words(self) -> Words:
        """The words that have been added so far."""
        codes = {name: np.frombuffer(column, np.int32) for name, column in self._columns.items()}
        probability = np.concatenate(self._probability) if self._probability else None
        relations = self._relations.relations if self._relations is not None else None
        head = np.frombuffer(self._head, np.int32)
        return Words(self.name, head, codes, probability, relations)

    @property
    def starts(self) -> np.ndarray:
        """The first word of each sentence, then the number of words: [sentence + 1] int64."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Comparison:
    """The words of the gold file and of systems, which have the same forms.

    starts: [sentence + 1] int64, the first word of each sentence, then the number of words;
    values: for each column, its values by code; locations: for each gold sentence, (file, line,
    sent_id) of its first word, if they were stored; texts: the comment `# text` of each of these
    sentences, "" if it has none; train_frequencies: how often each form occurs in the training
    file, if there is one.
    """

    gold: Words
    systems: list[Words]
    starts: np.ndarray
    values: dict[str, list[str]]
    locations: list[tuple[str, int, str]]
    texts: list[str]
    train_frequencies: Counter[str] | None = None

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    @property
    def lengths(self) -> np.ndarray:
        """The number of words of each sentence: [sentence] int64."""
        return np.diff(self.starts)

    @cached_property
    def sentence_index(self) -> np.ndarray:
        """The sentence of each word, counted from 0: [word] int64."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    @cached_property
    def number(self) -> np.ndarray:
        """The number of each word in its sentence, counted from 1: [word] int64."""
        return np.arange(self.size) - self.starts[:-1][self.sentence_index] + 1

    def describe_word(self, word: int) -> str:
        """Say in which sentence a gold word is, by file and line if they are known."""
        sentence = int(self.sentence_index[word])
        file, line, _ = self.locations[sentence] if self.locations else ("", 0, "")
        location = f"the sentence at {file}:{line}" if line else f"sentence {sentence + 1}"
        return f"word {self.number[word]} of {location}"

    def map_values(
        self, words: Words, column: str, function: Callable[[str], object]
    ) -> np.ndarray:
        """Apply a function to each word's value in a column: [word].

        The function is called only once for each distinct value.
        """
        return np.array([function(value) for value in self.values[column]])[words.codes[column]]

    def is_missing(self, system: Words, column: str) -> bool:
        """Whether the gold file or the system's has nothing but `_` in a column."""
        return self.is_blank(self.gold, column) or self.is_blank(system, column)

    def is_blank(self, words: Words, column: str) -> bool:
        """Whether a column has nothing but `_`."""
        if column == DEPS:
            return words.relations is None or not words.relations.word.size
        return not self.map_values(words, column, "_".__ne__).any()

    def sum_by_sentence(self, values: np.ndarray) -> np.ndarray:
        """Sum the values of each sentence's words: [word, ...] -> [sentence, ...] int64."""
        return np.add.reduceat(values, self.starts[:-1], axis=0, dtype=np.int64)


class Where(NamedTuple):
    """Which sentences are compared: those that a function of the gold sentence accepts.

    text: what is accepted, for people.
    """

    text: str
    accepts: Callable[[Sentence], bool]


def read_comparison(
    gold: Source,
    systems: Sequence[Source],
    columns: Collection[str],
    *,
    subtypes: str = "keep",
    locations: bool = False,
    probabilities: bool | None = False,
    where: Where | None = None,
) -> Comparison:
    """Read all files in parallel and collect their words; see `pairing.pair_sentences`.

    columns: as for `WordsBuilder`; subtypes: as in `column_codes`; locations: whether to
    store the file, the line and the text of every gold sentence; probabilities: whether to store
    those of the systems, None for the files whose first sentence has them; where: which sentences
    to store.

    Raises FormatError if the words differ, a gold word has no head, there is no sentence, the gold
    file has no enhanced dependencies to be stored, or `read_probabilities` or `read_graph` fails;
    ValueError for another value of `subtypes`.
    """
    codes = column_codes(subtypes)
    builders = [WordsBuilder(gold.name, columns, codes)]
    system_columns = [column for column in columns if column != "form"]  # forms are the gold ones
    names = number_duplicates([system.name for system in systems])
    builders += [WordsBuilder(name, system_columns, codes, probabilities) for name in names]
    stored_locations, texts = [], []
    for number, (reference, predictions) in enumerate(pair_sentences(gold, systems), start=1):
        if where and not where.accepts(reference):
            continue
        if -1 in reference.head:
            raise headless_gold_error(reference, number)
        for builder, sentence in zip(builders, (reference, *predictions), strict=True):
            builder.add(sentence)
        if locations:
            stored_locations.append(reference.location())
            texts.append(reference.text)
    if not builders[0].lengths:
        message = "there are no sentences to score against"
        message = f"no sentence matches {where.text}" if where else message
        raise FormatError(gold.name or "gold", 0, "", message)
    gold_words, *system_words = (builder.words for builder in builders)
    if gold_words.relations is not None:
        require_relations(gold_words.name, gold_words.relations)
    values = {name: code.values_by_code for name, code in codes.items()}
    return Comparison(gold_words, system_words, builders[0].starts, values, stored_locations, texts)


def number_duplicates(names: Sequence[str]) -> list[str]:
    """Return the names of systems, with a number if a name occurs again: `a`, `a (2)`."""
    return [
        f"{name} ({names[: i + 1].count(name)})" if name and name in names[:i] else name
        for i, name in enumerate(names)
    ]


def headless_gold_error(gold: Sentence, number: int) -> FormatError:
    """Return the error for a gold sentence with a word that has no head."""
    word = gold.head.index(-1)
    if gold.constituents:
        message = "the gold file has bracketed trees; only depkit eval scores them"
        return FormatError(*gold.location(word), message)
    message = (
        f"word {word + 1} of sentence {number}, {gold.form[word]!r}, has no head in the gold file;"
        " only annotated sentences can be scored against"
    )
    return FormatError(*gold.location(word), message)
