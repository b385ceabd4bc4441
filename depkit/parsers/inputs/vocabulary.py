"""Words, characters, tags and relations as numbers."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from depkit.corpus.digest import digest
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.lemma_dictionary import LemmaDictionary, by_frequency, readings_of
from depkit.parsers.inputs.lemmas import apply_script, edit_script

PAD, UNKNOWN, ROOT = 0, 1, 2
SPECIAL = ["<pad>", "<unknown>", "<root>"]
LONGEST_WORD = 32  # characters that are read of a word, from both ends

Symbols = Callable[[Sentence, str], Iterable[str]]  # what is learned of a column of a sentence


class Table:
    """Symbols in order, their numbers, and the number of an unknown one."""

    def __init__(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.numbers = {symbol: i for i, symbol in enumerate(symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def get(self, symbol: str) -> int:
        return self.numbers.get(symbol, UNKNOWN)


@dataclass(frozen=True)
class Vocabulary:
    """The tables of a parser.

    columns: what is predicted (relations, tags), by column; vectors: the words with a
    pretrained vector, None where the parser has none; lemmas: the lemma dictionary, None
    where it has none, see `with_lemmas`.
    """

    words: Table
    characters: Table
    tags: Table
    columns: dict[str, Table]
    vectors: Table | None = None
    lemmas: LemmaDictionary | None = None

    def vector_of(self, form: str) -> int:
        """The row of a form's pretrained vector: its own, or that of its lower case."""
        numbers = self.vectors.numbers if self.vectors else {}
        number = numbers.get(form, numbers.get(form.lower(), UNKNOWN))
        return number if number >= len(SPECIAL) else UNKNOWN  # "<pad>" may be a word, too

    def characters_of(self, form: str) -> list[int]:
        """A form's characters, the middle of a very long one left out; never empty."""
        if len(form) > LONGEST_WORD:
            form = form[: LONGEST_WORD // 2] + form[-LONGEST_WORD // 2 :]
        return list(map(self.characters.get, form)) or [UNKNOWN]

    def with_lemmas(self, sentences: Iterable[Sentence]) -> "Vocabulary":
        """A copy with the lemma dictionary of some sentences; itself if no lemmas are predicted."""
        if "lemma" not in self.columns:
            return self
        counts = Counter(chain.from_iterable(map(readings_of, sentences)))
        return replace(self, lemmas=LemmaDictionary.from_counts(counts))

    def to_json(self) -> dict[str, object]:
        """Plain data for `from_json`."""
        return {
            "words": self.words.symbols,
            "characters": self.characters.symbols,
            "tags": self.tags.symbols,
            "columns": {name: table.symbols for name, table in self.columns.items()},
            **({"vectors": self.vectors.symbols} if self.vectors else {}),
            **({"lemmas": self.lemmas.to_json()} if self.lemmas else {}),
        }

    def digest(self) -> str:
        """16 hexadecimal digits that tell its symbols."""
        return digest(json.dumps(self.to_json()))

    @staticmethod
    def from_json(data: dict) -> "Vocabulary":
        """The vocabulary that `to_json` described; KeyError, TypeError or ValueError if not."""
        tables = [data["words"], data["characters"], data["tags"], data.get("vectors", SPECIAL)]
        if not all(table[: len(SPECIAL)] == SPECIAL for table in tables):
            raise ValueError(f"its tables do not begin with {SPECIAL}")
        if not data["columns"] or not all(data["columns"].values()):
            raise ValueError("it has nothing to predict")
        columns = {name: Table(symbols) for name, symbols in data["columns"].items()}
        return Vocabulary(
            Table(data["words"]), Table(data["characters"]), Table(data["tags"]), columns,
            Table(data["vectors"]) if "vectors" in data else None,
            LemmaDictionary.from_json(data["lemmas"]) if "lemmas" in data else None,
        )  # fmt: skip


def extended(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """An old vocabulary with a new one's further symbols behind, so that old numbers stay."""

    def both(one: Table, other: Table) -> Table:
        return Table(one.symbols + [each for each in other.symbols if each not in one.numbers])

    columns = {
        name: both(table, new.columns.get(name, table)) for name, table in old.columns.items()
    }
    return Vocabulary(
        both(old.words, new.words), both(old.characters, new.characters),
        both(old.tags, new.tags), columns, old.vectors, merged_lemmas([old, new]),
    )  # fmt: skip


def merged_lemmas(vocabularies: Iterable[Vocabulary]) -> LemmaDictionary | None:
    """The lemma dictionaries of some vocabularies as one; None if none has any."""
    dictionaries = [each.lemmas for each in vocabularies if each.lemmas]
    return LemmaDictionary.merged(dictionaries) if dictionaries else None


def symbols_of(sentence: Sentence, column: str) -> list[str]:
    """What is learned of a column: its values, but of lemmas the scripts that make them."""
    if column == "lemma":
        return list(map(edit_script, sentence.form, sentence.lemma))
    values: list[str] = getattr(sentence, column)
    return values


def values_of(sentence: Sentence, column: str, symbols: list[str]) -> list[str]:
    """The values of a column from its symbols, the other way round."""
    return list(map(apply_script, sentence.form, symbols)) if column == "lemma" else symbols


def build_vocabulary(
    sentences: Iterable[Sentence], inputs: Inputs, columns: Sequence[str], symbols: Symbols
) -> Vocabulary:
    """Count a training treebank. Symbols stand in order of frequency, ties alphabetically.

    columns: the names of what is predicted; symbols: what a sentence has of each.
    """
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    counters: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for sentence in sentences:
        words.update(map(str.lower, sentence.form) if inputs.lowercase else sentence.form)
        characters.update("".join(sentence.form))
        if inputs.tag:
            tags.update(getattr(sentence, inputs.tag_column))
        for name, counter in counters.items():
            counter.update(symbols(sentence, name))
    return Vocabulary(
        Table(SPECIAL + _ordered(words, inputs.word_min_count)),
        Table(SPECIAL + _ordered(characters)),
        Table(SPECIAL + _ordered(tags)),
        {name: Table(_ordered(counter)) for name, counter in counters.items()},
    )


def _ordered(counter: Counter[str], least: int = 1) -> list[str]:
    return [symbol for symbol in by_frequency(counter) if counter[symbol] >= least]
