"""Lemmas from the lemma dictionary, and from edit scripts for words that it does not have."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.device import send
from depkit.parsers.inputs.lemma_dictionary import LemmaDictionary
from depkit.parsers.inputs.lemmatizer import Lemmatizer

SCRIPTS = 4  # how many of the network's edit scripts are candidates for an unknown word's lemma
ABSENT = -1  # in place of a script's index, at words that are in the dictionary


def best_scripts(
    scores: Tensor, sentences: Sequence[Sentence], dictionary: LemmaDictionary
) -> dict[str, Tensor]:
    """Find the best edit scripts of the words that are not in the dictionary.

    Args:
        scores: The logits of edit scripts, [batch, length, script]; position 0 is w0.
        sentences: The sentences of the batch.
        dictionary: The lemma dictionary.

    Returns:
        "lemma": the indices of the best scripts; "lemma_score": their log-probabilities. Both are
        [batch, length, SCRIPTS], and ABSENT at words that are in the dictionary.
    """
    batch, length, size = scores.shape
    unknown = [
        row * length + position
        for row, sentence in enumerate(sentences)
        for position, form in enumerate(sentence.form, start=1)
        if form not in dictionary
    ]
    rows = send(torch.tensor(unknown, dtype=torch.long), scores.device)
    log_probabilities, scripts = scores.flatten(0, 1)[rows].log_softmax(-1).topk(min(SCRIPTS, size))
    best = {}
    for name, values in (("lemma", scripts), ("lemma_score", log_probabilities)):
        all_rows = values.new_full((batch * length, values.shape[1]), ABSENT)
        all_rows[rows] = values
        best[name] = all_rows.unflatten(0, (batch, length))
    return best


def choose_lemmas(
    lemmatizer: Lemmatizer,
    sentence: Sentence,
    tags: Mapping[str, list[str]],
    symbols: Sequence[str],
    scripts: np.ndarray,
    scores: np.ndarray,
) -> list[str]:
    """Choose the lemmas of a sentence.

    Args:
        lemmatizer: The lemmatizer of the model.
        sentence: A sentence.
        tags: The predicted columns by name, which are used instead of those of the sentence.
        symbols: All edit scripts.
        scripts: The "lemma" of the sentence in the result of `best_scripts`, [words, SCRIPTS].
        scores: The "lemma_score" of the sentence in that result, [words, SCRIPTS].
    """
    columns = (tags.get(name, getattr(sentence, name)) for name in ("upos", "xpos", "feats"))
    lemmas = []
    for word, (form, upos, xpos, feats) in enumerate(zip(sentence.form, *columns, strict=True)):
        lemma = lemmatizer.look_up(form, (upos, xpos, feats))
        if lemma is None:
            best = zip(scripts[word].tolist(), scores[word].tolist(), strict=True)
            candidates = [(symbols[index], score) for index, score in best if index != ABSENT]
            lemma = lemmatizer.guess(form, (upos, xpos, feats), candidates)
        lemmas.append(lemma)
    return lemmas
