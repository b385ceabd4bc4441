"""Lemmas from the lemma dictionary, and from edit scripts for words that it does not have."""

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemmatizer import TAGS_MARGIN, Lemmatizer, Scored

# How many of the network's best values are candidates for an unknown word: edit scripts and tags
CANDIDATES = {"lemma": 4, "upos": 3, "xpos": 3, "feats": 3}
ABSENT = -1  # in place of the index of a value, at words that are in the dictionary


def choose_lemmas(
    lemmatizer: Lemmatizer,
    sentence: Sentence,
    *,
    tags: Mapping[str, list[str]],
    symbols: Mapping[str, Sequence[str]],
    best: Mapping[str, np.ndarray],
) -> list[str]:
    """Choose the lemmas of a sentence.

    Args:
        lemmatizer: The lemmatizer of the model.
        sentence: A sentence.
        tags: The predicted columns by name, which are used instead of those of the sentence.
        symbols: All edit scripts ("lemma"), and all values of each predicted column.
        best: The result of `ColumnScores.best` for the words of the sentence, [words, candidates].
    """
    columns = (tags.get(name, getattr(sentence, name)) for name in ("upos", "xpos", "feats"))
    tags_of_words = list(zip(*columns, strict=True))
    lemmas = lemmatizer.look_up(sentence.form, tags_of_words)
    unknown = [word for word, lemma in enumerate(lemmas) if lemma is None]
    if unknown:
        scripts = _read_candidates("lemma", unknown, symbols, best)
        candidates = [
            _read_candidates(name, unknown, symbols, best, margin=TAGS_MARGIN) for name in tags
        ]
        for word, *values in zip(unknown, scripts, *candidates, strict=True):
            lemmas[word] = lemmatizer.guess(
                sentence.form[word], tags_of_words[word], values[0],
                dict(zip(tags, values[1:], strict=True)),
            )  # fmt: skip
    return [lemma for lemma in lemmas if lemma is not None]


def _read_candidates(
    name: str, words: Sequence[int], symbols: Mapping[str, Sequence[str]],
    best: Mapping[str, np.ndarray], *, margin: float = inf,
) -> list[list[Scored]]:  # fmt: skip
    """Return the best values of a column with their scores, for each of some words.

    The list is empty for a word that the dictionary has with another UPOS. margin: values whose
    score is lower than the highest one by this much or more are left out.
    """
    values = symbols[name]
    indices, scores = (best[f"{name}_{kind}"][words].tolist() for kind in ("best", "score"))
    return [
        [
            (values[index], score)
            for index, score in zip(row, row_scores, strict=True)
            if score > row_scores[0] - margin
        ]
        if row[0] != ABSENT
        else []
        for row, row_scores in zip(indices, scores, strict=True)
    ]
