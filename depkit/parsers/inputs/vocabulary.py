"""The vocabulary of a parser: the indices of words, characters, tags and relations."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest
from depkit.parsers.columns.edit_scripts import apply_script, breaks_rows, check_script, edit_script
from depkit.parsers.columns.lemma_dictionary import (
    LemmaDictionary,
    extract_readings,
    sort_by_frequency,
)
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.batching import LONGEST_WORD
from depkit.parsers.inputs.priors import Priors

PAD, UNKNOWN, ROOT = 0, 1, 2
SPECIAL = ["<pad>", "<unknown>", "<root>"]
BOUNDARIES = ["<start of word>", "<end of word>"]  # in the table of characters

# Returns the symbols to learn for a column of a sentence.
Symbols = Callable[[Sentence, str], Iterable[str]]


class Table:
    """Symbols in order, and the index of each."""

    def __init__(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.indices = {symbol: i for i, symbol in enumerate(symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def get(self, symbol: str) -> int:
        """Return the index of a symbol; UNKNOWN if the table does not have it."""
        return self.indices.get(symbol, UNKNOWN)


@dataclass(frozen=True)
class Vocabulary:
    """The tables of a parser."""

    words: Table
    characters: Table
    tags: Table  # of the tag column that is read as an input
    columns: dict[str, Table]  # what is predicted (relations, tags, edit scripts), by column
    vectors: Table | None = None  # the words with a pretrained vector, if there are vectors
    treebanks: Table | None = None  # the names of the treebanks, if inputs.treebank is set
    lemmas: LemmaDictionary | None = None  # made by `with_lemmas`

    def vector_row(self, form: str) -> int:
        """Return the row of the pretrained vector of a form or else of its lower case."""
        rows = self.vectors.indices if self.vectors else {}
        row = rows.get(form, rows.get(form.lower(), UNKNOWN))
        return row if row >= len(SPECIAL) else UNKNOWN  # a text may have the word "<pad>"

    def character_indices(self, form: str) -> list[int]:
        """Return the indices of at most LONGEST_WORD characters of a form; at least one.

        If the table of characters has them, the form has characters that mark its start and end.
        """
        boundaries = self.boundaries
        half = (LONGEST_WORD - len(boundaries)) // 2
        if len(form) > 2 * half:
            form = form[:half] + form[-half:]
        indices = list(map(self.characters.get, form)) or [UNKNOWN]
        return [*boundaries[:1], *indices, *boundaries[1:]]

    @cached_property
    def boundaries(self) -> list[int]:
        """The indices of the characters that mark start and end of a word; [] if there are none."""
        return [
            self.characters.indices[mark] for mark in BOUNDARIES if mark in self.characters.indices
        ]

    def character_cases(self) -> list[int]:
        """Return the index of the lower case of each character, or its own index."""
        indices = self.characters.indices
        return [indices.get(symbol.lower(), i) for i, symbol in enumerate(self.characters.symbols)]

    def character_classes(self) -> list[int]:
        """Return the class of each character.

        1: lower case, 2: upper case, 3: other letters, 4: digits, 0: all others.
        """
        kinds = (str.islower, str.isupper, str.isalpha, str.isdigit)
        return [
            next((i for i, is_kind in enumerate(kinds, start=1) if is_kind(symbol)), 0)
            if len(symbol) == 1 else 0
            for symbol in self.characters.symbols
        ]  # fmt: skip

    @cached_property
    def priors(self) -> Priors | None:
        """The distributions of the values of columns for a form; None without a dictionary."""
        return Priors(self.lemmas, self.columns) if self.lemmas else None

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
        """Return the vocabulary as data that can be written as JSON."""
        return {
            "words": self.words.symbols,
            "characters": self.characters.symbols,
            "tags": self.tags.symbols,
            "columns": {name: table.symbols for name, table in self.columns.items()},
            **({"vectors": self.vectors.symbols} if self.vectors else {}),
            **({"treebanks": self.treebanks.symbols} if self.treebanks else {}),
            **({"lemmas": self.lemmas.to_json()} if self.lemmas else {}),
        }

    def digest(self) -> str:
        """Compute a digest of all symbols and lemmas, 16 hexadecimal digits."""
        return digest(json.dumps(self.to_json()))

    @staticmethod
    def from_json(data: dict) -> "Vocabulary":
        """Make a vocabulary from the result of `to_json`.

        Raises LookupError, TypeError, AttributeError or ValueError for other data.
        """
        tables = [data["words"], data["characters"], data["tags"], data.get("vectors", SPECIAL)]
        if not all(table[: len(SPECIAL)] == SPECIAL for table in tables):
            raise ValueError(f"its tables do not begin with {SPECIAL}")
        if not data["columns"] or not all(data["columns"].values()):
            raise ValueError("it has no symbols to predict")
        for table in [*tables, data.get("treebanks", [])]:
            check_symbols(table)
        for name, symbols in data["columns"].items():
            check_symbols(symbols, in_columns=True)
            if name == "lemma":
                for script in symbols:
                    check_script(script)
        columns = {name: Table(symbols) for name, symbols in data["columns"].items()}
        return Vocabulary(
            Table(data["words"]), Table(data["characters"]), Table(data["tags"]), columns,
            Table(data["vectors"]) if "vectors" in data else None,
            Table(data["treebanks"]) if "treebanks" in data else None,
            LemmaDictionary.from_json(data["lemmas"]) if "lemmas" in data else None,
        )  # fmt: skip


def check_symbols(symbols: list[str], in_columns: bool = False) -> None:
    """Raise ValueError if a list from a file does not consist of strings.

    in_columns: whether they are written into columns of treebanks, so that no tab or line end is
    allowed.
    """
    if type(symbols) is not list or not set(map(type, symbols)) <= {str}:
        raise ValueError("it has a table that is not a list of strings")
    if in_columns and breaks_rows("".join(symbols)):
        raise ValueError("it has a symbol with a tab or a line end")


def extend_vocabulary(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """Append the symbols of a new vocabulary to an old one, whose indices do not change."""

    def extend_table(old_table: Table, new_table: Table) -> Table:
        new_symbols = [symbol for symbol in new_table.symbols if symbol not in old_table.indices]
        return Table(old_table.symbols + new_symbols)

    columns = {
        name: extend_table(table, new.columns.get(name, table))
        for name, table in old.columns.items()
    }
    lemmas = old.lemmas or new.lemmas
    if old.lemmas and new.lemmas:
        # A treebank that both were made from must not count twice, because in training, an
        # occurrence is left out of the counts once.
        lemmas = LemmaDictionary.from_counts(old.lemmas.counts() | new.lemmas.counts())
    return Vocabulary(
        extend_table(old.words, new.words), extend_table(old.characters, new.characters),
        extend_table(old.tags, new.tags), columns, old.vectors,
        extend_table(old.treebanks, new.treebanks) if old.treebanks and new.treebanks else None,
        lemmas,
    )  # fmt: skip


def merge_lemmas(vocabularies: Iterable[Vocabulary]) -> LemmaDictionary | None:
    """Merge the lemma dictionaries of vocabularies; None if no vocabulary has one."""
    dictionaries = [vocabulary.lemmas for vocabulary in vocabularies if vocabulary.lemmas]
    return LemmaDictionary.merge(dictionaries) if dictionaries else None


def column_symbols(sentence: Sentence, column: str) -> list[str]:
    """Return the symbols to learn for a column: edit scripts for lemmas, else the values."""
    if column == "lemma":
        return list(map(edit_script, sentence.form, sentence.lemma))
    values: list[str] = getattr(sentence, column)
    return values


def input_tags(sentence: Sentence, column: str) -> list[str]:
    """Return the tags that a parser reads.

    Args:
        sentence: The sentence.
        column: "upos", "xpos" or "ppos". "ppos" stands for the predicted tags of CoNLL-09; in
            other formats, all its values are `_`.
    """
    if column != "ppos":
        return getattr(sentence, column)
    if not sentence.format.has_argument_columns or sentence.problem:
        return ["_"] * len(sentence)
    index = sentence.format.index("pxpos")
    return [sentence.lines[row].split("\t", index + 1)[index] for row in sentence.rows]


def treebank_name(sentence: Sentence) -> str:
    """Return the name of the treebank of a sentence, from its file; "" if there is no file.

    The names of en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu are both en_ewt; the name of
    ewt/train.conllu is ewt.
    """
    path = Path(sentence.file)
    stem = re.sub(r"(\.conll\w*)?(\.(gz|xz))?$", "", path.name)
    if stem in ("train", "dev", "test"):
        return path.parent.name or stem
    return re.sub(r"([-_]ud)?[-_](train|dev|test)$", "", stem)


def column_values(sentence: Sentence, column: str, symbols: list[str]) -> list[str]:
    """Convert the predicted symbols of a column to values; only edit scripts change."""
    return list(map(apply_script, sentence.form, symbols)) if column == "lemma" else symbols


def build_vocabulary(
    sentences: Iterable[Sentence], inputs: Inputs, columns: Sequence[str], symbols: Symbols
) -> Vocabulary:
    """Build the vocabulary of a training treebank.

    Symbols are in order of frequency, symbols of equal frequency in alphabetical order.

    Args:
        sentences: The treebank.
        inputs: The configuration of the inputs, which says what the parser reads.
        columns: The columns that are predicted.
        symbols: Returns the symbols to learn for a column of a sentence.
    """
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    treebanks: Counter[str] = Counter()
    counters: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for sentence in sentences:
        words.update(map(str.lower, sentence.form) if inputs.lowercase else sentence.form)
        characters.update("".join(sentence.form))
        treebanks[treebank_name(sentence)] += 1
        if inputs.tag:
            tags.update(input_tags(sentence, inputs.tag_column))
        for name, counter in counters.items():
            counter.update(symbols(sentence, name))
    return Vocabulary(
        Table(SPECIAL + _frequent_symbols(words, inputs.word_min_count)),
        Table(SPECIAL + BOUNDARIES * inputs.char_boundaries + _frequent_symbols(characters)),
        Table(SPECIAL + _frequent_symbols(tags)),
        {name: Table(_frequent_symbols(counter)) for name, counter in counters.items()},
        treebanks=Table(_frequent_symbols(treebanks)) if inputs.treebank else None,
    )


def _frequent_symbols(counter: Counter[str], min_count: int = 1) -> list[str]:
    return [symbol for symbol in sort_by_frequency(counter) if counter[symbol] >= min_count]
