"""Taggers, and the prediction of tags, FEATS and lemmas that other parsers inherit from them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parsable, Parser, columns_to_predict
from depkit.parsers.columns.lemmas import best_candidates, choose_lemmas
from depkit.parsers.columns.lemmatizer import Lemmatizer
from depkit.parsers.engine.device import best_indices, fetch
from depkit.parsers.inputs.vocabulary import column_values


@dataclass(repr=False)
class TaggerParser(Parser):
    """A parser that predicts tags, FEATS and lemmas, but no trees."""

    def parse(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """Raise ValueError, because a tagger predicts no trees."""
        raise ValueError("this model is a tagger, which predicts no trees; use depkit tag")

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """See `Parser.predict`."""
        return self.tag(sentences, context=context)

    def tag(
        self,
        sentences: Parsable,
        tags: str = "predict",
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences with predicted tags, FEATS and lemmas; their trees do not change.

        Up to two chunks of about 40,000 words are read ahead of the sentences that are yielded.

        Args:
            sentences: As for `Parser.parse`.
            tags: "predict" overwrites tags. "missing" fills in columns that are all `_`, but FEATS
                and LEMMA, which can be empty on purpose, only if UPOS and XPOS are also all `_`.
            batch_tokens: The maximum number of positions in a batch, padding included; by default,
                what suits the device. A longer sentence is a batch by itself. A batch that does not
                fit in memory is split.
            context: The contextual vectors of each sentence, [1 + words, layers, width], those of
                w0 first. A parser that reads ELMo vectors needs them; see `attach_features`.

        Raises:
            ValueError: The parser predicts no tags, or `tags` has another value.
            FormatError: A sentence has no tags, and the parser reads tags.
            MemoryError: A single sentence does not fit in memory; the message names it.
        """
        if tags not in ("missing", "predict"):
            raise ValueError(f"tags can be missing or predict, not {tags!r}")
        if not self.config.predicted_tags:
            raise ValueError("this model predicts no tags")
        compute = partial(self.tag_batch, tags=tags)
        yield from self.map_batches(sentences, compute, batch_tokens, context)

    def tag_scores(self, batch: Any) -> dict[str, Tensor]:
        """Compute the scores of each predicted column, [batch, length, value]."""
        with self.autocast():
            scores: dict[str, Tensor] = self.network.tag_scores(batch)
            return scores

    @torch.inference_mode()
    def tag_batch(self, batch: Any, sentences: Sequence[Sentence], tags: str) -> list[Sentence]:
        """Tag the sentences of a batch; tags: as for `base.columns_to_predict`."""
        best = fetch(self.best_tags(self.tag_scores(batch), sentences)).wait()
        tagged = []
        for row, sentence in enumerate(sentences):
            columns = self.tag_columns(sentence, row, best, tags)
            tagged.append(sentence.with_columns(columns) if columns else sentence)
        return tagged

    @cached_property
    def lemmatizer(self) -> Lemmatizer | None:
        """The lemmatizer; None if there is no lemma dictionary, only the network's edit scripts."""
        dictionary = self.vocabulary.lemmas
        return Lemmatizer(dictionary, self.vocabulary.words.indices) if dictionary else None

    def best_tags(
        self, scores: dict[str, Tensor], sentences: Sequence[Sentence]
    ) -> dict[str, Tensor]:
        """Find the best values of a batch, for `tag_columns`.

        scores: [batch, length, value] for each column. Returns the indices of the best values of
        each column, [batch, length]; for lemmas, if there is a lemmatizer, see `best_candidates`.
        """
        lemmatizer = self.lemmatizer
        best = {
            name: best_indices(column_scores)
            for name, column_scores in scores.items()
            if name != "lemma" or lemmatizer is None
        }
        if "lemma" in scores and lemmatizer:
            best |= best_candidates(scores, sentences, lemmatizer.dictionary)
        return best

    def tag_columns(
        self, sentence: Sentence, row: int, best: dict[str, np.ndarray], tags: str
    ) -> dict[str, list[str]]:
        """Return the predicted columns of a sentence, without those that it keeps.

        Args:
            sentence: A sentence of a batch.
            row: Its index in the batch.
            best: The result of `best_tags` for the batch.
            tags: As for `base.columns_to_predict`.
        """
        names = columns_to_predict(sentence, tags) & set(self.config.predicted_tags)
        columns = {
            name: self.symbols(name, best[name][row], len(sentence))
            for name in sorted(names - {"lemma"})
        }
        if "lemma" not in names:
            return columns
        if self.lemmatizer is None:
            scripts = self.symbols("lemma", best["lemma"][row], len(sentence))
            lemmas = column_values(sentence, "lemma", scripts)
        else:
            words = slice(1, len(sentence) + 1)
            lemmas = choose_lemmas(
                self.lemmatizer,
                sentence,
                columns,
                {name: self.vocabulary.columns[name].symbols for name in ("lemma", *columns)},
                {key: array[row, words] for key, array in best.items()},
            )
        return columns | {"lemma": lemmas}

    def symbols(self, column: str, indices: np.ndarray, words: int) -> list[str]:
        """Return the values of a column of a sentence.

        Args:
            column: The name of the column.
            indices: The indices of the values in the vocabulary, [length]; position 0 is w0.
            words: The number of words in the sentence.
        """
        symbols = self.vocabulary.columns[column].symbols
        return list(map(symbols.__getitem__, indices[1 : words + 1].tolist()))
