"""Lemmas from the lemma dictionary, and from edit scripts for words that it does not have."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary
from depkit.parsers.columns.lemmatizer import Lemmatizer, Scored
from depkit.parsers.engine.device import send

# How many of the network's best values are candidates for an unknown word: edit scripts and tags
CANDIDATES = {"lemma": 4, "upos": 3, "xpos": 3, "feats": 3}
ABSENT = -1  # in place of the index of a value, at words that are in the dictionary


def best_candidates(
    scores: Mapping[str, Tensor], sentences: Sequence[Sentence], dictionary: LemmaDictionary
) -> dict[str, Tensor]:
    """Find the best edit scripts and tags of the words that are not in the dictionary.

    Args:
        scores: The logits of each predicted column, [batch, length, value]; position 0 is w0.
        sentences: The sentences of the batch.
        dictionary: The lemma dictionary.

    Returns:
        For each column, "COLUMN_best": the indices of the best values; "COLUMN_score": their
        log-probabilities. Both are [batch, length, CANDIDATES[column]], and ABSENT at words that
        are in the dictionary.
    """
    best = {}
    unknown: Tensor | None = None
    for name, logits in scores.items():
        batch, length, size = logits.shape
        if unknown is None:
            rows = [
                row * length + position
                for row, sentence in enumerate(sentences)
                for position, known in enumerate(dictionary.contains(sentence.form), start=1)
                if not known
            ]
            unknown = send(torch.tensor(rows, dtype=torch.long), logits.device)
        chosen = logits.flatten(0, 1)[unknown].log_softmax(-1).topk(min(CANDIDATES[name], size))
        for key, values in ((f"{name}_score", chosen.values), (f"{name}_best", chosen.indices)):
            all_rows = values.new_full((batch * length, values.shape[1]), ABSENT)
            all_rows[unknown] = values
            best[key] = all_rows.unflatten(0, (batch, length))
    return best


def choose_lemmas(
    lemmatizer: Lemmatizer,
    sentence: Sentence,
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
        best: The result of `best_candidates` for the words of the sentence, [words, candidates].
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
