"""The vocabulary of a parser: the indices of words, characters, tags and relations."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from depkit.corpus.letter_case import has_dotless_i
from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest
from depkit.parsers.columns.edit_scripts import apply_script, check_script, edit_script
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary, extract_readings
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.parts import known_tables, table_rules
from depkit.parsers.inputs.tables import Table, TableRule, check_symbols, learn_tables

# Returns the symbols to learn for a column of a sentence.
Symbols = Callable[[Sentence, str], Iterable[str | None]]


@dataclass(frozen=True)
class Vocabulary:
    """The tables of a parser."""

    tables: dict[str, Table]  # what the inputs read, by name; always words and characters
    columns: dict[str, Table]  # what is predicted (relations, tags, edit scripts), by column
    lemmas: LemmaDictionary | None = None  # made by `with_lemmas`
    # What is derived from the vocabulary when it is needed first
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def words(self) -> Table:
        """The words that are frequent enough in train."""
        return self.tables["words"]

    @property
    def characters(self) -> Table:
        return self.tables["characters"]

    @property
    def dotless(self) -> bool:
        """Whether the alphabet of the words has a dotless i, see `letter_case`."""
        if "dotless" not in self.memo:
            self.memo["dotless"] = has_dotless_i(self.words.symbols)
        return bool(self.memo["dotless"])

    def with_table(self, name: str, table: Table) -> "Vocabulary":
        return replace(self, tables=self.tables | {name: table})

    def with_lemmas(self, sentences: Iterable[Sentence], tags: bool = False) -> "Vocabulary":
        """Add a dictionary of the sentences' forms, tags and lemmas, and return the result.

        There is no dictionary if no lemmas are predicted, unless `tags` is true; then it also has
        the words without a lemma.
        """
        if "lemma" not in self.columns and not tags:
            return self
        readings = (extract_readings(sentence, with_missing=tags) for sentence in sentences)
        counts = Counter(chain.from_iterable(readings))
        return replace(self, lemmas=LemmaDictionary.from_counts(counts))

    def to_json(self) -> dict[str, object]:
        return {
            **{name: table.symbols for name, table in self.tables.items()},
            "columns": {name: table.symbols for name, table in self.columns.items()},
            **({"lemmas": self.lemmas.to_json()} if self.lemmas else {}),
        }

    def digest(self) -> str:
        """Compute a digest of all symbols and lemmas, 16 hexadecimal digits.

        It does not depend on the order of the tables.
        """
        return digest(json.dumps(self.to_json(), sort_keys=True))

    @staticmethod
    def from_json(data: dict) -> "Vocabulary":
        """Make a vocabulary from the result of `to_json`.

        Raises LookupError, TypeError, AttributeError or ValueError for other data.
        """
        if not isinstance(data, dict):
            raise TypeError("it is not an object with a list for each table")
        for name in ("words", "characters", "columns"):
            if name not in data:
                raise LookupError(f"it has no table {name!r}")
        symbols = {"words": data["words"], "characters": data["characters"]}
        for name, first in known_tables().items():
            if name in data:
                symbols[name] = table = data[name]
                if table[: len(first)] != first:
                    raise ValueError(f"its tables do not begin with {first}")
                check_symbols(table)
        if not data["columns"] or not all(data["columns"].values()):
            raise ValueError("it has no symbols to predict")
        for name, column in data["columns"].items():
            check_symbols(column, in_columns=True)
            if name == "lemma":
                for script in column:
                    check_script(script)
        return Vocabulary(
            {name: Table(table) for name, table in symbols.items()},
            {name: Table(column) for name, column in data["columns"].items()},
            LemmaDictionary.from_json(data["lemmas"]) if "lemmas" in data else None,
        )


def extend_vocabulary(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """Append the symbols of a new vocabulary to an old one, whose indices do not change."""

    def extend(tables: dict[str, Table], others: dict[str, Table]) -> dict[str, Table]:
        return {name: table.extended_by(others.get(name, table)) for name, table in tables.items()}

    lemmas = old.lemmas or new.lemmas
    if old.lemmas and new.lemmas:
        # A treebank that both were made from must not count twice, because in training, an
        # occurrence is left out of the counts once.
        lemmas = LemmaDictionary.from_counts(old.lemmas.counts() | new.lemmas.counts())
    return Vocabulary(extend(old.tables, new.tables), extend(old.columns, new.columns), lemmas)


def merge_lemmas(vocabularies: Iterable[Vocabulary]) -> LemmaDictionary | None:
    """Merge the lemma dictionaries of vocabularies; None if no vocabulary has one."""
    dictionaries = [vocabulary.lemmas for vocabulary in vocabularies if vocabulary.lemmas]
    return LemmaDictionary.merge(dictionaries) if dictionaries else None


def column_symbols(sentence: Sentence, column: str) -> Sequence[str | None]:
    """Return the symbols to learn for a column: edit scripts for lemmas, else the values.

    None is returned for a word from which the column is not learned: a word without a lemma, and
    all words of a sentence without any XPOS. Treebanks that are trained on together may differ in
    what they annotate.
    """
    if column == "lemma":
        return [
            edit_script(form, lemma) if lemma != "_" or form == "_" else None
            for form, lemma in zip(sentence.form, sentence.lemma, strict=True)
        ]
    values: Sequence[str] = getattr(sentence, column)
    if column == "xpos" and set(values) == {"_"}:
        return [None] * len(sentence)
    return values


def column_values(sentence: Sentence, column: str, symbols: list[str]) -> list[str]:
    """Convert the predicted symbols of a column to values; only edit scripts change."""
    return list(map(apply_script, sentence.form, symbols)) if column == "lemma" else symbols


def build_vocabulary(
    sentences: Iterable[Sentence],
    inputs: Inputs,
    columns: Sequence[str],
    symbols: Symbols,
    *,
    lemma_min_count: int = 1,
) -> Vocabulary:
    """Build the vocabulary of a training treebank.

    Args:
        sentences: The treebank.
        inputs: The configuration of the inputs, which says what the parser reads.
        columns: The columns that are predicted.
        symbols: Returns the symbols to learn for a column of a sentence.
        lemma_min_count: Edit scripts of lemmas that occur less often are left out.
    """
    rules = table_rules(inputs)
    of_columns = [
        TableRule(
            name, _of_column(symbols, name), min_count=lemma_min_count if name == "lemma" else 1
        )
        for name in columns
    ]
    tables = learn_tables(sentences, [*rules, *of_columns])
    names = [rule.name for rule in rules]
    return Vocabulary(
        dict(zip(names, tables, strict=False)),
        dict(zip(columns, tables[len(names) :], strict=True)),
    )


def _of_column(symbols: Symbols, column: str) -> Callable[[Sentence], Iterable[str]]:
    return lambda sentence: (x for x in symbols(sentence, column) if x is not None)
