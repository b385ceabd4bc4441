"""A trained graph parser: vocabulary, network and decoder; sentences in, trees out."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from typing import Any, TypeVar, get_args

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.errors import FormatError
from depkit.corpus.features import describe_features, read_features
from depkit.corpus.files import PathLike
from depkit.corpus.probabilities import with_probabilities
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import Numbers, read_text
from depkit.parsers.config import Algorithm, Inputs, ParserConfig
from depkit.parsers.device import mixed
from depkit.parsers.graph.decoding import Decoding, launch
from depkit.parsers.graph.network import BiaffineNetwork, Scores
from depkit.parsers.graph.probabilities import KINDS, admitted
from depkit.parsers.inputs.batches import Batch, Dataset, encode, make_batch
from depkit.parsers.inputs.form_cache import FormCache
from depkit.parsers.inputs.vocabulary import Vocabulary, values_of
from depkit.parsers.text.reading import find_segment, read_input
from depkit.parsers.text.tokenizer import Tokenizer
from depkit.parsers.windows import Analyse, Prepare, over_windows
from depkit.trees.decode import decode

CPU_TOKENS = 1_200  # so many fit the caches, and are a fifth faster than 4,000
GPU_TOKENS = 4_000

T = TypeVar("T")


@dataclass
class Parser:
    """A graph parser on a device.

    network: in evaluation mode when it parses. precision: of its matrix products; on a CPU `load`
    keeps their weights in it, so load the model again for another. threads: how many batches are
    parsed at a time on a CPU. tokenizer: None if the parser's treebank had no text to learn it
    from.
    """

    config: ParserConfig
    vocabulary: Vocabulary
    network: BiaffineNetwork
    device: torch.device
    precision: torch.dtype = torch.float32
    threads: int = 1
    tokenizer: Tokenizer | None = None

    def read(
        self,
        source: PathLike,
        input: str | None = None,
        encoding: str = "utf-8",
        numbers: Numbers | None = None,
    ) -> Iterator[Sentence]:
        """The sentences of a file of trees or of raw text; see `reading.read_input`."""
        return read_input(source, self.tokenizer, input, encoding, numbers)

    def tokenize(self, text: str) -> Iterator[Sentence]:
        """The sentences of a text. Raises ValueError if the parser has no tokenizer."""
        return read_text([text], find_segment("text", self.tokenizer, "text"))

    def fit(
        self, sentences: Iterable[Sentence], features: PathLike
    ) -> Iterator[tuple[Sentence, np.ndarray]]:
        """Sentences with their ELMo vectors of a file, as `parse` takes them, w0's zeros first.

        Raises FormatError at the first sentence that does not fit; ValueError for a parser that
        reads none, or others.
        """
        context = self.config.inputs.context
        if context.source != "elmo":
            raise ValueError("this model reads no ELMo vectors; leave --features out")
        found = describe_features(features)
        if (found.layers, found.width) != (context.available, context.width):
            raise ValueError(
                f"{os.fspath(features)} has {found.layers} layers of {found.width} numbers; this"
                f" model reads {context.available} of {context.width}"
            )
        one, other = tee(sentences)
        read = read_features(features, other, context.layers, context.top)
        for sentence, vectors in zip(one, read, strict=True):
            yield sentence, np.concatenate((np.zeros_like(vectors[:1]), vectors))

    def preparer(self) -> Prepare:
        """What lays sentences out for `scores_of`, with the contextual vectors of each or none.

        It remembers what characters make of words, so it is good until weights change.
        """
        self.network.eval()
        forms = FormCache(self.network.inputs) if self.config.inputs.char else None

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> Dataset:
            data = encode(
                sentences, self.vocabulary, self.config, self.device, targets=False,
                context=context or None, transformer=self.network.transformer,
            )  # fmt: skip
            if forms:
                with mixed(self.device, self.precision):
                    data = replace(data, form_vectors=forms.vectors(data))
            return data

        return prepare

    def scores_of(self, prepared: Any, numbers: np.ndarray) -> Scores:
        """The scores of some of the prepared sentences."""
        return self.score(make_batch(prepared, numbers))

    def tag_scores_of(self, prepared: Any, numbers: np.ndarray) -> dict[str, Tensor]:
        """The scores of their other columns alone, [batch, length, value] each."""
        with mixed(self.device, self.precision):
            return self.network.tag_scores(make_batch(prepared, numbers))

    @property
    def workers(self) -> int:
        """How many batches are parsed at a time.

        On a GPU three: one computes, of another the host makes trees, a third is laid out or
        written. With a transformer one: it has all threads for itself, and those of some versions
        of the library cannot be run by several at once.
        """
        if self.network.transformer is not None:
            return 1
        return {"cpu": self.threads, "cuda": 3}.get(self.device.type, 1)

    def check(self, sentence: Sentence) -> None:
        """Raises FormatError for a sentence without the tags that the parser reads."""
        check_tags(sentence, self.config.inputs)

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch; see `biaffine.Scores`."""
        with mixed(self.device, self.precision):
            scores = self.network.score(batch)

        def label_at(heads: Tensor) -> Tensor:
            with mixed(self.device, self.precision):
                return scores.label_at(heads)

        return replace(scores, label_at=label_at)

    def parse(
        self,
        sentences: Iterable[Sentence],
        tags: str = "missing",
        batch_tokens: int | None = None,
        algorithm: str | None = None,
        root: str | None = None,
        context: Iterable[np.ndarray] | None = None,
        probabilities: str = "",
    ) -> Iterator[Sentence]:
        """The sentences with the parser's trees, in input order and bounded memory.

        They are read ahead, two windows of some 40,000 words at most. tags: "missing" fills in
        a sentence's tag columns that are all `_` (FEATS and LEMMA, which may well be empty, only
        where UPOS and XPOS are too), "keep" leaves all tags alone, "predict" overwrites them.
        batch_tokens: how many padded words are scored at once, by default what suits the device; a
        batch that does not fit in memory is split.
        algorithm, root: instead of the model's own (see `config.Decoder`). context: the
        contextual vectors of each sentence, w0's first, [1 + words, layers, width]; needed by a
        parser that reads ELMo features. probabilities: "local" writes those of each word's head
        and label into MISC, calibrated as far as the model is; "marginal" takes heads' over all
        trees, in cubic time.
        Raises ValueError for other choices, FormatError at a sentence without the tags that the
        model reads, without MISC or too long for what is asked, MemoryError naming a sentence that
        does not fit in memory by itself.
        """
        if not self.config.scorer.tree:
            raise ValueError("this model is a tagger, it predicts no trees; use depkit tag")
        if tags not in ("missing", "keep", "predict"):
            raise ValueError(f"tags can be missing, keep or predict, not {tags!r}")
        if tags == "predict" and not self.config.scorer.predict:
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
            sentences = admitted(sentences, probabilities)
        decoding = Decoding(algorithm, root == "single", probabilities)
        yield from self._run(sentences, tags, batch_tokens, decoding, context)

    def tag(
        self,
        sentences: Iterable[Sentence],
        tags: str = "predict",
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[Sentence]:
        """As `parse`, but tags, features and lemmas alone; trees stay as they are."""
        if tags not in ("missing", "predict"):
            raise ValueError(f"tags can be missing or predict, not {tags!r}")
        if not self.config.scorer.predict:
            raise ValueError("this model predicts no tags")
        yield from self._run(sentences, tags, batch_tokens, None, context)

    def _run(
        self,
        sentences: Iterable[Sentence],
        tags: str,
        batch_tokens: int | None,
        decoding: Decoding | None,
        context: Iterable[np.ndarray] | None,
    ) -> Iterator[Sentence]:
        """decoding: None for no trees."""

        def analyse(
            prepared: Any, numbers: np.ndarray, batch: Sequence[Sentence]
        ) -> list[Sentence]:
            words = np.array([len(sentence) for sentence in batch])
            results = launch(self, prepared, numbers, words, decoding).finish()
            return [self._tree(each, row, results, tags) for row, each in enumerate(batch)]

        yield from self.over(sentences, analyse, batch_tokens, context)

    def over(
        self,
        sentences: Iterable[Sentence],
        analyse: Analyse[T],
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[T]:
        """What a function makes of batches of sentences, for each, in input order.

        analyse: what `preparer` prepared, as `scores_of` takes it; the numbers of a batch's
        sentences in it; these. It is called on several threads, as `workers` says. The rest is
        as for `parse`.
        """
        if context is None and self.config.inputs.context.source == "elmo":
            raise ValueError("this model reads ELMo vectors; name their file with --features")
        batch_tokens = batch_tokens or (CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS)
        yield from over_windows(
            self._checked(sentences), context, self.preparer(), analyse, batch_tokens, self.workers
        )

    def _checked(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            self.check(sentence)
            yield sentence

    def decoded(self, arc: Tensor, words: np.ndarray, decoding: Decoding) -> np.ndarray:
        """The heads of a batch, [batch, length], 0 for padding.

        arc: [batch, dependent, head]; words: [batch], how many.
        """
        scores = arc.log_softmax(-1).cpu().numpy()
        return decode(scores, words, decoding.algorithm, decoding.single_root)

    def barred(self, label: Tensor, heads: Tensor) -> Tensor:
        """Label scores, -inf but for the root's relation at the root's children and nowhere else,
        where that is the rule.

        label: [batch, length, label]; heads: [batch, length].
        """
        table = self.vocabulary.columns["deprel"]
        root = table.numbers.get(self.config.decoder.root_label)
        if root is None or len(table) < 2:
            return label
        is_root = torch.arange(len(table), device=label.device) == root
        return label.masked_fill((heads == 0)[..., None] != is_root, float("-inf"))

    def _tree(
        self, sentence: Sentence, row: int, results: dict[str, np.ndarray], tags: str
    ) -> Sentence:
        words = slice(1, len(sentence) + 1)

        def symbols(name: str) -> list[str]:
            table = self.vocabulary.columns[name]
            return list(map(table.symbols.__getitem__, results[name][row, words].tolist()))

        wanted = {name for name in self.vocabulary.columns if name in results} - {"deprel"}
        wanted &= set(sentence.format.columns)
        if tags == "keep":
            wanted = set()
        elif tags == "missing":
            if not (_is_blank(sentence.upos) and _is_blank(sentence.xpos)):
                wanted -= {"feats", "lemma"}
            wanted = {name for name in wanted if _is_blank(getattr(sentence, name))}
        columns = {name: values_of(sentence, name, symbols(name)) for name in sorted(wanted)}
        if "head" not in results:
            return sentence.with_columns(columns) if columns else sentence
        if "arc" in results:
            sure = (results[name][row, words].tolist() for name in ("arc", "label"))
            columns["misc"] = with_probabilities(sentence.column("misc"), *sure)
        heads = results["head"][row, words].tolist()
        return sentence.with_tree(heads, symbols("deprel"), columns)


def _is_blank(column: list[str]) -> bool:
    return column.count("_") == len(column)


def check_tags(sentence: Sentence, inputs: Inputs) -> None:
    """Raises FormatError for a sentence without any of the tags that the parser reads."""
    if inputs.tag and set(getattr(sentence, inputs.tag_column)) == {"_"}:
        raise FormatError(
            *sentence.place(),
            f"no {inputs.tag_column.upper()}, but the parser reads it; tag the file first, or train"
            " with another inputs.tag_column or inputs.tag=0",
        )
