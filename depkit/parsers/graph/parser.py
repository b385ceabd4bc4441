"""Graph-based dependency parsers: from scores to trees, labels, tags and probabilities."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from depkit.corpus.enhanced import write_graph
from depkit.corpus.probabilities import add_probabilities
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_universal
from depkit.files.errors import FormatError
from depkit.parsers.base import MAX_CUBIC_WORDS, MAX_MARGINAL_WORDS, Parser, check_lengths
from depkit.parsers.graph.candidates import MBR, Request, parse_candidates
from depkit.parsers.graph.config import Algorithm, Calibration
from depkit.parsers.graph.constraints import check_constraints, check_labels, read_constraints
from depkit.parsers.graph.decoding import Decoding, decode_heads
from depkit.parsers.graph.deps import (
    COLUMN,
    SAME,
    candidate_heads,
    choose_relations,
    has_deps,
    needs_label,
    restore_relations,
)
from depkit.parsers.graph.probabilities import head_marginals
from depkit.parsers.root import index_root_label
from depkit.parsers.settings import ConfigError
from depkit.treebank.valid_labels import ValidLabels
from depkit.trees.decode import decode
from depkit.trees.shape import is_tree


@dataclass(repr=False)
class GraphParser(Parser):
    """A dependency parser that scores arcs and labels, and decodes the best tree."""

    options: ClassVar[Mapping[str, Sequence[str]]] = {
        "algorithm": (*get_args(Algorithm), MBR), "root": ("single", "multi"),
        "probabilities": ("local", "marginal"), "passes": (), "heads": ("keep",), "best": (),
        "valid": ("ud",),
    }  # fmt: skip

    @property
    def is_calibrated(self) -> bool:
        """Whether temperatures have been fitted."""
        return bool(self.config.calibration != Calibration())

    def warm_up(self) -> None:
        scores = np.zeros((1, 3, 3), dtype=np.float32)
        decode(scores, np.array([2]), self.config.decoder.algorithm, compile=True)

    def decode(self, scores: Any, num_words: np.ndarray, **options: str) -> np.ndarray:
        """Decode the heads of a batch; options: `algorithm` and `root`, as for `parse`."""
        return decode_heads(
            scores, num_words, self._choose_decoding(**options), self.engine.kind == "cuda"
        )

    def _choose_decoding(self, algorithm: str = "", root: str = "", valid: str = "") -> Decoding:
        decoder = self.config.decoder
        # A valid tree has a single root, even if the training trees have several.
        root = "single" if valid else root or decoder.root
        return Decoding(algorithm or decoder.algorithm, root == "single")

    @cached_property
    def valid_labels(self) -> ValidLabels:
        """The rules of UD for the relations that the parser predicts."""
        return ValidLabels(self.vocabulary.columns["deprel"].symbols)

    @property
    def root_label(self) -> int | None:
        """The index of the label that only children of the root have, None if there is none."""
        decoder = self.config.decoder
        return index_root_label(decoder.root_label, self.vocabulary.columns["deprel"])

    @property
    def root_deprel(self) -> str | None:
        """The label that only children of the root have, None if there is none."""
        return None if self.root_label is None else self.config.decoder.root_label

    def check_request(
        self, sentences: Iterable[Sentence], *, heads: str = "", best: int = 1, **options: str
    ) -> Iterator[Sentence]:
        decoding = self._choose_decoding(options.get("algorithm", ""), options.get("root", ""))
        if best > 1 and decoding.algorithm == "argmax":
            raise ConfigError("`best` needs a decoder of trees; argmax finds one head of each word")
        if options.get("valid"):
            if heads or best > 1 or decoding.algorithm == "argmax":
                raise ConfigError("`valid` excludes `heads` keep, `best`, and the decoder argmax")
            if options.get("root") == "multi":
                raise ConfigError("`valid` excludes `root` multi, because UD requires one root")
            labels = self.vocabulary.columns["deprel"].symbols
            if strange := next((label for label in labels if not is_universal(label)), ""):
                raise ConfigError(
                    f"`valid` ud needs a model with the relations of UD; {strange!r} is none"
                )
        known = self.vocabulary.columns["deprel"].indices
        for sentence in sentences:
            if (best > 1 or decoding.algorithm == MBR) and len(sentence) > MAX_MARGINAL_WORDS:
                check_lengths([sentence], MAX_MARGINAL_WORDS)
            if best > 1 and "misc" not in sentence.format.columns:
                raise FormatError(
                    *sentence.location(),
                    f"several trees of a sentence need CoNLL-U or JSON as the output `format`, not"
                    f" {sentence.format.name}",
                )
            if heads == "keep":
                constraints = read_constraints(sentence)
                check_labels(sentence, constraints, known)
                check_constraints(
                    sentence, constraints, single_root=decoding.single_root,
                    projective=decoding.algorithm == "eisner", root_label=self.root_deprel,
                )  # fmt: skip
            yield sentence

    def parse_batch(
        self,
        batch: Any,
        sentences: Sequence[Sentence],
        tags: str,
        *,
        probabilities: str = "",
        heads: str = "",
        best: int = 1,
        valid: str = "",
        **options: str,
    ) -> list[Any]:
        decoding = self._choose_decoding(**options, valid=valid)
        if decoding.algorithm == "eisner":
            check_lengths(sentences, MAX_CUBIC_WORDS)
        if heads or valid or best > 1 or decoding.algorithm == MBR:
            request = Request(*decoding, best, heads == "keep", valid == "ud", probabilities)
            results = parse_candidates(self, batch, sentences, tags, request=request)
            return results if best > 1 else [trees[0] for trees in results]
        return self._parse_one_tree(batch, sentences, tags, probabilities=probabilities, **options)

    def _parse_one_tree(
        self,
        batch: Any,
        sentences: Sequence[Sentence],
        tags: str,
        *,
        probabilities: str,
        **options: str,
    ) -> list[Sentence]:
        """Parse a batch with scores and labels that stay on the device."""
        scores = self.network.score(batch)
        num_words = np.array([len(sentence) for sentence in sentences])
        heads = self.decode(scores, num_words, **options)
        temperatures = self.config.calibration
        unknown = self.tagging.unknown_words(sentences)
        arrays = scores.annotate(
            heads, root_label=self.root_label, unknown=unknown, probabilities=probabilities,
            temperatures=temperatures,
        )  # fmt: skip
        if probabilities == "marginal":
            single_root = self._choose_decoding(**options).single_root
            arrays["arc_probability"] = head_marginals(
                arrays.pop("arc"), heads, num_words, single_root, temperature=temperatures.marginal
            )
        all_columns = self.tagging.columns(sentences, unknown, arrays, tags)
        parsed = [
            self._make_sentence(sentence, row, heads, arrays=arrays, columns=columns)
            for row, (sentence, columns) in enumerate(zip(sentences, all_columns, strict=True))
        ]
        return self.add_deps(scores.graph, parsed)

    def add_deps(self, scores: Any, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Add enhanced dependencies to the parsed sentences of a batch in CoNLL-U.

        scores: The `GraphScores` of the batch; None if the parser does not predict them. Sentences
        that have enhanced dependencies, sentences in other formats, and results of the decoder
        argmax that are not trees, are returned unchanged.
        """
        if scores is None:
            return list(sentences)
        arcs = scores.fetch_arcs()
        candidates = {
            row: candidate_heads(arcs[row, : len(sentence) + 1, : len(sentence) + 1], sentence.head)
            for row, sentence in enumerate(sentences)
            if "deps" in sentence.format.columns
            and not has_deps(sentence)
            and is_tree(np.array(sentence.head, dtype=np.int32))
        }
        # The enhanced labels of most relations of the tree follow from the tree; see `needs_label`.
        unlabelled = [
            (row, word, head)
            for row, heads in candidates.items()
            for word, word_heads in enumerate(heads, start=1)
            for head in word_heads
            if needs_label(sentences[row], word, head)
        ]
        arcs_to_label = np.array(unlabelled, dtype=np.int64).reshape(-1, 3).T
        best = scores.fetch_labels(*arcs_to_label).tolist() if unlabelled else []
        symbols = self.vocabulary.columns[COLUMN].symbols
        labels = {arc: symbols[index] for arc, index in zip(unlabelled, best, strict=True)}
        results = list(sentences)
        for row, heads in candidates.items():
            labelled = [
                [(head, labels.get((row, word, head), SAME)) for head in word_heads]
                for word, word_heads in enumerate(heads, start=1)
            ]
            chosen = choose_relations(arcs[row], sentences[row].head, labelled)
            results[row] = write_graph(sentences[row], restore_relations(sentences[row], chosen))
        return results

    def _make_sentence(
        self,
        sentence: Sentence,
        row: int,
        heads: np.ndarray,
        *,
        arrays: dict[str, np.ndarray],
        columns: dict[str, list[str]],
    ) -> Sentence:
        """Make a sentence of a batch with its tree, tags and probabilities.

        Args:
            sentence: The sentence.
            row: Its index in the batch.
            heads: The heads of the batch, [batch, length].
            arrays: The results of the batch.
            columns: The predicted columns of the sentence, to which MISC is added if it changes.
        """
        words = slice(1, len(sentence) + 1)
        if "arc_probability" in arrays:
            arc, label = (arrays[f"{name}_probability"][row, words] for name in ("arc", "label"))
            columns["misc"] = add_probabilities(
                sentence.column("misc"), arc.tolist(), label.tolist()
            )
        deprels = self.tagging.symbols("deprel", arrays["deprel"][row], len(sentence))
        return sentence.with_tree(heads[row, words].tolist(), deprels, columns)
