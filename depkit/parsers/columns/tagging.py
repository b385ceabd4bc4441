"""From the best values of a network to the columns of sentences: tags, FEATS and lemmas."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemmas import choose_lemmas
from depkit.parsers.columns.lemmatizer import Lemmatizer
from depkit.parsers.inputs.known_characters import KnownCharacters
from depkit.parsers.inputs.vocabulary import Vocabulary, column_values

TAGS = ("lemma", "upos", "xpos", "feats")


class Tagging:
    """What a parser predicts besides a tree; names: the predicted columns among TAGS."""

    def __init__(self, vocabulary: Vocabulary, names: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.names = frozenset(names)
        self.respell = KnownCharacters(vocabulary)

    @cached_property
    def lemmatizer(self) -> Lemmatizer | None:
        """The lemmatizer; None if there is no lemma dictionary, only the network's edit scripts."""
        dictionary = self.vocabulary.lemmas
        return Lemmatizer(dictionary, self.vocabulary.words.indices) if dictionary else None

    def unknown_words(self, sentences: Sequence[Sentence]) -> np.ndarray | None:
        """Return the row and position of each word that is not in the dictionary, [2, words].

        Position 0 is w0. None means that lemmas are not predicted by a dictionary.
        """
        if "lemma" not in self.names or self.lemmatizer is None:
            return None
        contains = self.lemmatizer.dictionary.contains
        unknown = [
            (row, position)
            for row, sentence in enumerate(map(self.respell, sentences))
            for position, known in enumerate(contains(sentence.form), start=1)
            if not known
        ]
        return np.array(unknown, dtype=np.int64).reshape(-1, 2).T.copy()

    def columns(
        self, sentence: Sentence, row: int, best: Mapping[str, np.ndarray], tags: str
    ) -> dict[str, list[str]]:
        """Return the predicted columns of a sentence, without those that it keeps.

        Args:
            sentence: A sentence of a batch.
            row: Its index in the batch.
            best: The result of `ColumnScores.best` for the batch.
            tags: As for `columns_to_predict`.
        """
        names = columns_to_predict(sentence, tags) & self.names
        columns = {
            name: self.symbols(name, best[name][row], len(sentence))
            for name in sorted(names - {"lemma"})
        }
        if "lemma" not in names:
            return columns
        known = self.respell(sentence)
        if self.lemmatizer is None:
            scripts = self.symbols("lemma", best["lemma"][row], len(sentence))
            return columns | {"lemma": column_values(known, "lemma", scripts)}
        words = slice(1, len(sentence) + 1)
        symbols = {name: self.vocabulary.columns[name].symbols for name in ("lemma", *columns)}
        candidates = {key: array[row, words] for key, array in best.items()}
        lemmas = choose_lemmas(
            self.lemmatizer, known, tags=columns, symbols=symbols, best=candidates
        )
        if known is not sentence:
            lemmas = [
                lemma if lemma != spelling or any(map(str.isalnum, form)) else form
                for form, spelling, lemma in zip(sentence.form, known.form, lemmas, strict=True)
            ]  # punctuation stays its own lemma
        return columns | {"lemma": lemmas}

    def symbols(self, column: str, indices: np.ndarray, words: int) -> list[str]:
        """Return the values of a column of a sentence of some words.

        indices: those of the values in the vocabulary, [length]; position 0 is w0.
        """
        symbols = self.vocabulary.columns[column].symbols
        return list(map(symbols.__getitem__, indices[1 : words + 1].tolist()))


def columns_to_predict(sentence: Sentence, tags: str) -> set[str]:
    """Return the names of the columns of tags that predictions replace in a sentence.

    tags: "keep" replaces no columns; "predict" replaces all; "missing" replaces the columns that
    are all `_`, but FEATS and LEMMA only if UPOS and XPOS are also all `_`.
    """
    if tags == "keep":
        return set()
    columns = {name for name in TAGS if name in sentence.format.columns}
    if tags == "missing":
        if not (_is_blank(sentence.upos) and _is_blank(sentence.xpos)):
            columns -= {"feats", "lemma"}
        columns = {name for name in columns if _is_blank(getattr(sentence, name))}
    return columns


def _is_blank(column: Sequence[str]) -> bool:
    return column.count("_") == len(column)
