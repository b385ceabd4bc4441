"""Graph-based dependency parsers: scores in, trees, labels, tags and probabilities out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.probabilities import with_probabilities
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parsable
from depkit.parsers.config import Algorithm
from depkit.parsers.device import best_values, fetch, send
from depkit.parsers.graph.decoding import Decoding, decode_heads, mask_root_label
from depkit.parsers.graph.network import Scores
from depkit.parsers.graph.probabilities import (
    KINDS,
    check_sentences,
    chosen_probabilities,
    head_marginals,
)
from depkit.parsers.tagger.parser import TaggerParser
from depkit.trees.decode import decode


@dataclass(repr=False)
class GraphParser(TaggerParser):
    """A parser that scores arcs and labels."""

    options: ClassVar[frozenset[str]] = frozenset({"algorithm", "root", "probabilities"})

    def parse(
        self,
        sentences: Parsable,
        tags: str = "missing",
        batch_tokens: int | None = None,
        algorithm: str | None = None,
        root: str | None = None,
        context: Iterable[np.ndarray] | None = None,
        probabilities: str = "",
    ) -> Iterator[Sentence]:
        """The sentences with the parser's trees, in input order and bounded memory.

        tags: "missing" and "predict" as for `tag`, "keep" leaves all tags alone. algorithm, root:
        instead of the model's own (see `config.Decoder`). probabilities: "local" writes those of
        each word's head and label into MISC, calibrated as far as the model is; "marginal" takes
        heads' over all trees, in cubic time. The rest is as for `tag`.
        Raises as `tag`, and FormatError at a sentence without MISC or too long for what is asked.
        """
        if tags not in ("missing", "keep", "predict"):
            raise ValueError(f"tags can be missing, keep or predict, not {tags!r}")
        if tags == "predict" and not self.config.predicted_tags:
            raise ValueError("this model predicts no tags")
        algorithm = algorithm or self.config.decoder.algorithm
        root = self.config.decoder.root if root in (None, "auto") else root
        if algorithm not in get_args(Algorithm) or root not in ("single", "multi"):
            raise ValueError(
                f"no decoding with algorithm {algorithm!r}, root {root!r}: they can be"
                f" {', '.join(get_args(Algorithm))}; auto, single, multi"
            )
        if probabilities not in KINDS:
            raise ValueError(f"probabilities can be local or marginal, not {probabilities!r}")
        if probabilities:
            sentences = check_sentences(self.sentences_of(sentences), probabilities)
        decoding = Decoding(algorithm, root == "single", probabilities)
        compute = partial(self.parse_batch, tags=tags, decoding=decoding)
        yield from self.map_batches(sentences, compute, batch_tokens, context)

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """See `Parser.predict`."""
        tags = "predict" if self.config.predicted_tags else "keep"
        return self.parse(sentences, tags, context=context)

    def warm_up(self) -> None:
        """See `Parser.warm_up`."""
        scores = np.zeros((1, 3, 3), dtype=np.float32)
        decode(scores, np.array([2]), self.decoding.algorithm, compile=True)

    def score(self, batch: Any) -> Scores:
        """The scores of a batch; see `network.Scores`."""
        with self.mixed():
            scores: Scores = self.network.score(batch)

        def label_at(heads: Tensor) -> Tensor:
            with self.mixed():
                return scores.label_at(heads)

        return replace(scores, label_at=label_at)

    @property
    def decoding(self) -> Decoding:
        """The model's own way of making trees."""
        decoder = self.config.decoder
        return Decoding(decoder.algorithm, decoder.root == "single")

    def label_scores(self, scores: Scores, heads: np.ndarray) -> tuple[Tensor, Tensor]:
        """Heads on the device, [batch, length], and the label scores at them, [batch, length,
        label], -inf where the root's relation must or must not stand.

        heads: [batch, length]; words without a head (below 0) get any.
        """
        at = send(torch.from_numpy(heads.astype(np.int64).clip(min=0)), scores.arc.device)
        table = self.vocabulary.columns["deprel"]
        root = table.numbers.get(self.config.decoder.root_label) if len(table) > 1 else None
        return at, mask_root_label(scores.label_at(at), at, root)

    @torch.inference_mode()
    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, decoding: Decoding
    ) -> list[Sentence]:
        """The sentences of a batch with trees, and with tags and probabilities as asked for."""
        scores = self.score(batch)
        words = np.array([len(sentence) for sentence in sentences])
        heads = decode_heads(scores.arc, words, decoding)
        at, label = self.label_scores(scores, heads)
        labels = best_values(label)
        results = self.best_tags(scores.columns, sentences)
        results["deprel"] = labels
        temperatures = self.config.calibration
        if decoding.probabilities:
            results["label_probability"] = chosen_probabilities(label, labels, temperatures.label)
        if decoding.probabilities == "local":
            results["arc_probability"] = chosen_probabilities(scores.arc, at, temperatures.arc)
        if decoding.probabilities == "marginal":
            # Fetched with the rest: to ask for them later is to wait for the batches behind.
            results["arc"] = scores.arc
        found = fetch(results).arrays()
        if decoding.probabilities == "marginal":
            found["arc_probability"] = head_marginals(
                found.pop("arc"), heads, words, decoding.single_root, temperatures.marginal
            )
        return [
            self._with_tree(sentence, row, heads, found, tags)
            for row, sentence in enumerate(sentences)
        ]

    def _with_tree(
        self,
        sentence: Sentence,
        row: int,
        heads: np.ndarray,
        found: dict[str, np.ndarray],
        tags: str,
    ) -> Sentence:
        """A sentence of a batch with its results; found: [batch, length] each."""
        words = slice(1, len(sentence) + 1)
        columns = self.tag_columns(sentence, row, found, tags)
        if "arc_probability" in found:
            arc, label = (found[f"{name}_probability"][row, words] for name in ("arc", "label"))
            columns["misc"] = with_probabilities(
                sentence.column("misc"), arc.tolist(), label.tolist()
            )
        deprels = self.symbols("deprel", found["deprel"][row], len(sentence))
        return sentence.with_tree(heads[row, words].tolist(), deprels, columns)
