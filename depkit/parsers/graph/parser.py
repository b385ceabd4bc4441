"""Graph-based dependency parsers: from scores to trees, labels, tags and probabilities."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from typing import Any, ClassVar, get_args

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.probabilities import add_probabilities
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parsable
from depkit.parsers.config import Algorithm
from depkit.parsers.engine.device import best_indices, fetch, send
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
    """A dependency parser that scores arcs and labels, and decodes the best tree."""

    options: ClassVar[frozenset[str]] = frozenset({"algorithm", "root", "probabilities", "passes"})

    def parse(
        self,
        sentences: Parsable,
        tags: str = "missing",
        batch_tokens: int | None = None,
        algorithm: str | None = None,
        root: str | None = None,
        context: Iterable[np.ndarray] | None = None,
        probabilities: str = "",
        passes: int = 1,
    ) -> Iterator[Sentence]:
        """Yield the sentences with predicted trees, in input order and with bounded memory.

        Args:
            sentences: See `Parser.parse`.
            tags: "missing" and "predict" as for `tag`; "keep" does not change tags.
            batch_tokens: As for `tag`.
            algorithm: The decoder, see `config.Decoder`; by default, that of the model.
            root: "single" or "multi", see `config.Decoder`; by default, that of the model.
            context: As for `tag`.
            probabilities: "local" writes the probabilities of the head and of the label of each
                word into MISC. They are calibrated if the model is. "marginal" writes the marginal
                probability of the head over all trees, which takes cubic time.
            passes: For a parser that corrects parses, how often the trees are corrected.

        Raises:
            ValueError: An argument is invalid, or tags are to be predicted and the parser predicts
                none.
            FormatError: A sentence lacks the tags or the parse that the parser reads, has no MISC
                column for the probabilities, or has too many words for marginals.
            MemoryError: A single sentence does not fit in memory; the message names it.
        """
        if tags not in ("missing", "keep", "predict"):
            raise ValueError(f"tags can be missing, keep or predict, not {tags!r}")
        if tags == "predict" and not self.config.predicted_tags:
            raise ValueError("this model predicts no tags")
        algorithm = algorithm or self.config.decoder.algorithm
        root = self.config.decoder.root if root in (None, "auto") else root
        if algorithm not in get_args(Algorithm) or root not in ("single", "multi"):
            raise ValueError(
                f"there is no decoder with algorithm {algorithm!r} and root {root!r}: the algorithm"
                f" can be {', '.join(get_args(Algorithm))}, and the root auto, single or multi"
            )
        if probabilities not in KINDS:
            raise ValueError(f"probabilities can be local or marginal, not {probabilities!r}")
        if passes < 1 or (passes > 1 and not self.corrects_parses):
            raise ValueError(
                f"{passes} passes are impossible"
                if passes < 1
                else "this model does not correct parses, so more passes would change nothing"
            )
        if probabilities:
            sentences = check_sentences(self.to_sentences(sentences), probabilities)
        decoding = Decoding(algorithm, root == "single")
        contexts = [None] * passes if context is None else tee(context, passes)
        # Only the last pass reports progress, and computes probabilities.
        silent = replace(self, on_batch_computed=None)
        for vectors in contexts[:-1]:
            compute = partial(self.parse_batch, tags=tags, decoding=decoding)
            sentences = silent.map_batches(sentences, compute, batch_tokens, vectors)
        decoding = decoding._replace(probabilities=probabilities)
        compute = partial(self.parse_batch, tags=tags, decoding=decoding)
        yield from self.map_batches(sentences, compute, batch_tokens, contexts[-1])

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
        """Score a batch; see `network.Scores`."""
        with self.autocast():
            scores: Scores = self.network.score(batch)

        def score_labels(heads: Tensor) -> Tensor:
            with self.autocast():
                return scores.score_labels(heads)

        return replace(scores, score_labels=score_labels)

    @property
    def decoding(self) -> Decoding:
        """The decoder settings of the model."""
        decoder = self.config.decoder
        return Decoding(decoder.algorithm, decoder.root == "single")

    def label_scores(self, scores: Scores, heads: np.ndarray) -> tuple[Tensor, Tensor]:
        """Score the labels of arcs, and mask labels as `config.Decoder.root_label` demands.

        Args:
            scores: The scores of a batch.
            heads: [batch, length]; a word without a head (below 0) is scored as a child of the
                root.

        Returns:
            The heads on the device, [batch, length], and the label scores, [batch, length, label],
            with -inf at masked labels.
        """
        device_heads = send(torch.from_numpy(heads.astype(np.int64).clip(min=0)), scores.arc.device)
        table = self.vocabulary.columns["deprel"]
        root_label = table.indices.get(self.config.decoder.root_label)
        if len(table) == 1:  # the mask would forbid all labels of words below the root
            root_label = None
        label_scores = scores.score_labels(device_heads)
        return device_heads, mask_root_label(label_scores, device_heads, root_label)

    @torch.inference_mode()
    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, decoding: Decoding
    ) -> list[Sentence]:
        """Parse a batch.

        Args:
            batch: A batch, as `make_preparer` makes it.
            sentences: The sentences of the batch.
            tags: As for `base.columns_to_predict`.
            decoding: The decoder and the kind of probabilities.

        Returns:
            The sentences with trees, tags and probabilities.
        """
        scores = self.score(batch)
        num_words = np.array([len(sentence) for sentence in sentences])
        heads = decode_heads(scores.arc, num_words, decoding)
        device_heads, label_scores = self.label_scores(scores, heads)
        labels = best_indices(label_scores)
        results = self.best_tags(scores.columns, sentences)
        results["deprel"] = labels
        temperatures = self.config.calibration
        if decoding.probabilities:
            results["label_probability"] = chosen_probabilities(
                label_scores, labels, temperatures.label
            )
        if decoding.probabilities == "local":
            results["arc_probability"] = chosen_probabilities(
                scores.arc, device_heads, temperatures.arc
            )
        if decoding.probabilities == "marginal":
            # Copy the scores together with the other results: a later copy would have to wait for
            # the batches that other threads have queued.
            results["arc"] = scores.arc
        arrays = fetch(results).wait()
        if decoding.probabilities == "marginal":
            arrays["arc_probability"] = head_marginals(
                arrays.pop("arc"), heads, num_words, decoding.single_root, temperatures.marginal
            )
        return [
            self._make_sentence(sentence, row, heads, arrays, tags)
            for row, sentence in enumerate(sentences)
        ]

    def _make_sentence(
        self,
        sentence: Sentence,
        row: int,
        heads: np.ndarray,
        arrays: dict[str, np.ndarray],
        tags: str,
    ) -> Sentence:
        """Make a sentence of a batch with its tree, tags and probabilities.

        row: the sentence's index in the batch; arrays: the results of the batch, [batch, length].
        """
        words = slice(1, len(sentence) + 1)
        columns = self.tag_columns(sentence, row, arrays, tags)
        if "arc_probability" in arrays:
            arc, label = (arrays[f"{name}_probability"][row, words] for name in ("arc", "label"))
            columns["misc"] = add_probabilities(
                sentence.column("misc"), arc.tolist(), label.tolist()
            )
        deprels = self.symbols("deprel", arrays["deprel"][row], len(sentence))
        return sentence.with_tree(heads[row, words].tolist(), deprels, columns)
