"""Lemmas from the lemma dictionary, and from edit scripts for words that it does not have."""

from collections.abc import Mapping, Sequence

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemmatizer import Lemmatizer, Scored

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
    lemmas = []
    for word, lemma in enumerate(lemmatizer.look_up(sentence.form, tags_of_words)):
        if lemma is None:
            candidates = {
                name: _read_candidates(name, word, symbols, best) for name in ("lemma", *tags)
            }
            lemma = lemmatizer.guess(
                sentence.form[word], tags_of_words[word], candidates.pop("lemma"), candidates
            )
        lemmas.append(lemma)
    return lemmas


def _read_candidates(
    name: str, word: int, symbols: Mapping[str, Sequence[str]], best: Mapping[str, np.ndarray]
) -> list[Scored]:
    """Return the best values of a column for a word with their scores; none at a known word."""
    indices, scores = (best[f"{name}_{kind}"][word].tolist() for kind in ("best", "score"))
    return [
        (symbols[name][index], score)
        for index, score in zip(indices, scores, strict=True)
        if index != ABSENT
    ]
