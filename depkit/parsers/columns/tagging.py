"""From the best values of a network to the columns of sentences: tags, FEATS and lemmas."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemmas import Candidates, choose_lemmas, read_candidates
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
        self,
        sentences: Sequence[Sentence],
        unknown: np.ndarray | None,
        best: Mapping[str, np.ndarray],
        tags: str,
    ) -> Iterator[dict[str, list[str]]]:
        """Yield the predicted columns of each sentence of a batch, without those that it keeps.

        Args:
            sentences: The sentences of the batch.
            unknown: Their `unknown_words`.
            best: The result of `ColumnScores.best`.
            tags: As for `columns_to_predict`.
        """
        rows, positions = np.empty((2, 0), dtype=np.int64) if unknown is None else unknown
        starts = np.searchsorted(rows, np.arange(len(sentences) + 1)).tolist()
        indices = (positions - 1).tolist()  # of the words that are not in the dictionary
        candidates = [] if unknown is None else list(self._candidates(best))
        for row, sentence in enumerate(sentences):
            names = columns_to_predict(sentence, tags) & self.names
            columns = {
                name: self.symbols(name, best[name][row], len(sentence))
                for name in sorted(names - {"lemma"})
            }
            if "lemma" in names and self.lemmatizer is None:
                scripts = self.symbols("lemma", best["lemma"][row], len(sentence))
                columns["lemma"] = column_values(self.respell(sentence), "lemma", scripts)
            elif "lemma" in names:
                words = slice(starts[row], starts[row + 1])
                of_words = dict(zip(indices[words], candidates[words], strict=True))
                columns["lemma"] = self._lemmas(sentence, columns, of_words)
            yield columns

    def _candidates(self, best: Mapping[str, np.ndarray]) -> Iterator[Candidates]:
        """Yield the candidates of each unknown word; best: the result of `ColumnScores.best`."""
        symbols = {name: self.vocabulary.columns[name].symbols for name in sorted(self.names)}
        return read_candidates(best, symbols)

    def _lemmas(
        self,
        sentence: Sentence,
        tags: Mapping[str, list[str]],
        candidates: Mapping[int, Candidates],
    ) -> list[str]:
        """Choose the lemmas of a sentence; see `choose_lemmas`."""
        assert self.lemmatizer
        known = self.respell(sentence)
        lemmas = choose_lemmas(self.lemmatizer, known, tags=tags, candidates=candidates)
        if known is not sentence:
            lemmas = [
                lemma if lemma != spelling or any(map(str.isalnum, form)) else form
                for form, spelling, lemma in zip(sentence.form, known.form, lemmas, strict=True)
            ]  # punctuation stays its own lemma
        return lemmas

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
