"""Parsers that predict tags, features and lemmas: taggers, and what other parsers share of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parsable, Parser, wanted_tags
from depkit.parsers.device import best_values, fetch
from depkit.parsers.inputs.lemmatizer import Lemmatizer
from depkit.parsers.inputs.vocabulary import values_of
from depkit.parsers.tagger.lemmas import best_scripts, choose_lemmas


@dataclass(repr=False)
class TaggerParser(Parser):
    """A tagger; it predicts no trees."""

    def parse(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """Raises ValueError."""
        raise ValueError("this model is a tagger, it predicts no trees; use depkit tag")

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
        """The sentences with tags, features and lemmas; trees stay as they are.

        tags: "predict" overwrites tags; "missing" fills in columns that are all `_` (FEATS and
        LEMMA, which may well be empty, only where UPOS and XPOS are too). batch_tokens: how many
        positions, padding included, are scored at once, by default what suits the device; a batch
        that does not fit in memory is split. context: the contextual vectors of each sentence,
        w0's first, [1 + words, layers, width]; needed by a parser that reads ELMo vectors.
        Sentences are read ahead, two windows of some 40,000 words at most.
        Raises ValueError for other choices, and for a parser that predicts no tags; FormatError at
        a sentence without the tags that the model reads; MemoryError naming a sentence that does
        not fit in memory by itself.
        """
        if tags not in ("missing", "predict"):
            raise ValueError(f"tags can be missing or predict, not {tags!r}")
        if not self.config.predicted_tags:
            raise ValueError("this model predicts no tags")
        compute = partial(self.tag_batch, tags=tags)
        yield from self.map_batches(sentences, compute, batch_tokens, context)

    def tag_scores(self, batch: Any) -> dict[str, Tensor]:
        """By column [batch, length, value]."""
        with self.mixed():
            scores: dict[str, Tensor] = self.network.tag_scores(batch)
            return scores

    @torch.inference_mode()
    def tag_batch(self, batch: Any, sentences: Sequence[Sentence], tags: str) -> list[Sentence]:
        """The sentences of a batch with predicted tags; tags: as for `wanted_tags`."""
        found = fetch(self.best_tags(self.tag_scores(batch), sentences)).arrays()
        tagged = []
        for row, sentence in enumerate(sentences):
            columns = self.tag_columns(sentence, row, found, tags)
            tagged.append(sentence.with_columns(columns) if columns else sentence)
        return tagged

    @cached_property
    def lemmatizer(self) -> Lemmatizer | None:
        """Chooses lemmas; None without a dictionary, when the best edit scripts are applied."""
        dictionary = self.vocabulary.lemmas
        return Lemmatizer(dictionary, self.vocabulary.words.numbers) if dictionary else None

    def best_tags(
        self, scores: dict[str, Tensor], sentences: Sequence[Sentence]
    ) -> dict[str, Tensor]:
        """The best values of a batch, as `tag_columns` takes them.

        scores: [batch, length, value] by column. Returns the indices of the best values by column,
        [batch, length] each; for lemmas, where there is a lemmatizer, what `best_scripts` returns.
        """
        lemmatizer = self.lemmatizer
        best = {
            name: best_values(each)
            for name, each in scores.items()
            if name != "lemma" or lemmatizer is None
        }
        if "lemma" in scores and lemmatizer:
            best |= best_scripts(scores["lemma"], sentences, lemmatizer.dictionary)
        return best

    def tag_columns(
        self, sentence: Sentence, row: int, found: dict[str, np.ndarray], tags: str
    ) -> dict[str, list[str]]:
        """The new columns of a sentence of a batch; found: as `best_tags` gives them; tags: as for
        `wanted_tags`."""
        names = wanted_tags(sentence, tags) & found.keys()
        columns = {
            name: self.symbols(name, found[name][row], len(sentence))
            for name in sorted(names - {"lemma"})
        }
        if "lemma" not in names:
            return columns
        if self.lemmatizer is None:
            scripts = self.symbols("lemma", found["lemma"][row], len(sentence))
            lemmas = values_of(sentence, "lemma", scripts)
        else:
            words = slice(1, len(sentence) + 1)
            lemmas = choose_lemmas(
                self.lemmatizer, sentence, columns, self.vocabulary.columns["lemma"].symbols,
                found["lemma"][row, words], found["lemma_score"][row, words],
            )  # fmt: skip
        return columns | {"lemma": lemmas}

    def symbols(self, column: str, numbers: np.ndarray, words: int) -> list[str]:
        """The symbols of a sentence's words; numbers: [length], w0's first."""
        symbols = self.vocabulary.columns[column].symbols
        return list(map(symbols.__getitem__, numbers[1 : words + 1].tolist()))
