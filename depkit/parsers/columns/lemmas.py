"""Lemmas from the lemma dictionary, and from edit scripts for words that it does not have."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemmatizer import TAGS_MARGIN, Lemmatizer, Scored

# How many of the network's best values are candidates for an unknown word: edit scripts and tags
CANDIDATES = {"lemma": 4, "upos": 3, "xpos": 3, "feats": 3}

Candidates = dict[str, list[Scored]]  # of a word: the best values of each column, with their scores


def choose_lemmas(
    lemmatizer: Lemmatizer,
    sentence: Sentence,
    *,
    tags: Mapping[str, list[str]],
    candidates: Mapping[int, Candidates],
) -> list[str]:
    """Choose the lemmas of a sentence.

    Args:
        lemmatizer: The lemmatizer of the model.
        sentence: A sentence.
        tags: The predicted columns by name, which are used instead of those of the sentence.
        candidates: Those of the words that the dictionary does not have, by their 0-based indices.
            Words that the dictionary has with another UPOS only are not among them.
    """
    columns = (tags.get(name, getattr(sentence, name)) for name in ("upos", "xpos", "feats"))
    tags_of_words = list(zip(*columns, strict=True))
    lemmas = lemmatizer.look_up(sentence.form, tags_of_words)
    chosen = []
    for word, lemma in enumerate(lemmas):
        if lemma is None:
            values = candidates.get(word, {})
            lemma = lemmatizer.guess(
                sentence.form[word], tags_of_words[word], values.get("lemma", ()),
                {name: values[name] for name in tags if name in values},
            )  # fmt: skip
        chosen.append(lemma)
    return chosen


def read_candidates(
    best: Mapping[str, np.ndarray], symbols: Mapping[str, Sequence[str]]
) -> Iterator[Candidates]:
    """Yield the candidates of each unknown word of a batch.

    Tags whose score is lower than the highest one by TAGS_MARGIN or more are left out.

    Args:
        best: The result of `ColumnScores.best`.
        symbols: All edit scripts ("lemma"), and all values of each predicted column.
    """
    scored = [
        _read_values(best[f"{name}_best"], best[f"{name}_score"], values, name == "lemma")
        for name, values in symbols.items()
    ]
    for values in zip(*scored, strict=True):
        yield dict(zip(symbols, values, strict=True))


def _read_values(
    indices: np.ndarray, scores: np.ndarray, values: Sequence[str], keeps_all: bool
) -> Iterator[list[Scored]]:
    """Yield the best values of a column for each word; indices and scores: [words, candidates]."""
    margin = inf if keeps_all else TAGS_MARGIN
    for row, row_scores in zip(indices.tolist(), scores.tolist(), strict=True):
        lowest = row_scores[0] - margin
        yield [
            (values[index], score)
            for index, score in zip(row, row_scores, strict=True)
            if score > lowest
        ]
