"""The base class of the parsers of all families: input, batches, devices.

How parsing proceeds: the method `parse` of a family passes sentences, and a function that parses
one batch, to `Parser.map_batches`. `chunks.map_batches` reads sentences in chunks, encodes each
chunk by the function that `Parser.make_preparer` returns, and calls the family's function for each
batch. For a graph-based parser, this function is `GraphParser.parse_batch`, which decodes trees by
`graph.decoding.decode_heads`; for a tagger, it is `TaggerParser.tag_batch`.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast

import numpy as np
import torch

from depkit.corpus.blocks import Part
from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence, as_iterable, check_surrogates, new_sentence
from depkit.corpus.text import ParagraphCounter, read_text
from depkit.files.errors import FormatError
from depkit.parsers.chunks import Compute, Prepare, map_batches
from depkit.parsers.config import Inputs, describe_inputs
from depkit.parsers.engine.device import autocast
from depkit.parsers.engine.form_cache import FormCache
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.inputs.dataset import Dataset, encode
from depkit.parsers.inputs.elmo import describe_features, read_features
from depkit.parsers.inputs.penn_escapes import PennEscapes
from depkit.parsers.inputs.vocabulary import Vocabulary, input_tags
from depkit.parsers.network import ParserNetwork
from depkit.parsers.text.reading import read_input
from depkit.parsers.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from conllu import TokenList

CPU_TOKENS = 1_200  # a batch of this size fits the CPU caches; 20% faster than 4,000
GPU_TOKENS = 4_000
TAGS = ("lemma", "upos", "xpos", "feats")

T = TypeVar("T")

# What `parse` accepts: running text, one Sentence, or several sentences. Each of several sentences
# is a Sentence, a list of words, or a TokenList of the package conllu.
Parsable: TypeAlias = "str | Sentence | Iterable[Sentence | Sequence[str] | TokenList]"


@dataclass(repr=False)
class Parser(ABC):
    """A trained parser on a device; `parser("Some text.")` parses a text."""

    config: Any  # an instance of the family's subclass of ParserConfig
    vocabulary: Vocabulary
    network: Any  # an instance of the family's subclass of ParserNetwork
    device: torch.device
    # The precision of matrix products. On a CPU, `load` converts the weights to it; to change it,
    # load the model again.
    precision: torch.dtype = torch.float32
    threads: int = 1  # the number of batches that are parsed at the same time on a CPU
    tokenizer: Tokenizer | None = None  # None if the model was trained without a tokenizer
    # Called with the sentences of a batch when the batch has been computed, on the thread that
    # computed it. `parse` may yield these sentences much later.
    on_batch_computed: Callable[[Sequence[Sentence]], None] | None = field(
        default=None, kw_only=True
    )

    # Names of arguments of `parse` that only some families have
    options: ClassVar[frozenset[str]] = frozenset()
    # Whether `parse` predicts `Sentence.constituents`, not heads
    has_constituents: ClassVar[bool] = False

    def __call__(self, sentences: Parsable, **options: Any) -> list[Sentence]:
        """Parse a text or sentences; `parse` describes the arguments."""
        return list(self.parse(sentences, **options))

    def __repr__(self) -> str:
        names = self.vocabulary.columns
        columns = ", ".join(["head", *names] if "deprel" in names else names)
        text = "parses" if self.tokenizer else "does not parse"
        return (
            f"<{type(self).__name__}: {self.config.encoder.kind}"
            f" over {', '.join(describe_inputs(self.config.inputs))}\n"
            f"  predicts {columns}; {text} running text\n"
            f"  on {self.device}, {self.threads} thread{'s' * (self.threads > 1)}>"
        )

    @abstractmethod
    def parse(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """Yield the sentences with predicted trees, in input order and with bounded memory.

        Args:
            sentences: Running text, which the tokenizer splits into sentences; or one `Sentence`;
                or several sentences: `Sentence`s, lists of words or `conllu.TokenList`s.
            *arguments: See the subclass. The parsers of all families that parse have the arguments
                `tags`, `batch_tokens` and `context` of `TaggerParser.tag`; `tags` can also be
                "keep".
            **options: Further arguments of the family; the attribute `options` lists their names.
        """

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """Yield the sentences with predictions in all columns that the parser predicts."""
        return self.parse(sentences, "predict", context=context)

    def tag(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """Yield the sentences with tags, FEATS and lemmas.

        Raises ValueError if the parser predicts no tags; see `TaggerParser.tag`.
        """
        raise ValueError("this model predicts no tags")

    def warm_up(self) -> None:  # noqa: B027 (most parsers have nothing to compile)
        """Compile the functions that parsing needs, before the time of parsing is measured."""

    def map_batches(
        self,
        sentences: Parsable,
        compute: Compute[T],
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[T]:
        """Apply a function to batches of sentences, and yield its results in input order.

        Args:
            sentences: As for `parse`.
            compute: A function of a batch and its sentences. It returns one result for each
                sentence, and is called on `workers` threads.
            batch_tokens: As for `TaggerParser.tag`.
            context: As for `TaggerParser.tag`.
        """
        if context is None and self.config.inputs.context.source == "elmo":
            raise ValueError(
                "this model reads ELMo vectors; give the file that has them with --features"
            )
        batch_tokens = batch_tokens or (CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS)

        def compute_and_report(batch: Any, batch_sentences: Sequence[Sentence]) -> Sequence[T]:
            results = compute(send_batch(batch, self.device), batch_sentences)
            if self.on_batch_computed:
                self.on_batch_computed(batch_sentences)
            return results

        yield from map_batches(
            self._check_sentences(sentences), context, self.make_preparer(), compute_and_report,
            batch_tokens, self.workers,
        )  # fmt: skip

    def to_sentences(self, sentences: Parsable) -> Iterable[Sentence]:
        """Convert what `parse` accepts to `Sentence`s. Raises TypeError for anything else."""
        if isinstance(sentences, str):
            return self.tokenize(sentences)
        if not isinstance(sentences, Iterable | Sentence):
            raise TypeError(
                f"the input must be a text or sentences, not {type(sentences).__name__}"
            )
        return map(as_sentence, as_iterable(sentences))

    def _check_sentences(self, sentences: Parsable) -> Iterator[Sentence]:
        for sentence in self.to_sentences(sentences):
            if self.corrects_parses and sentence.draft is None:
                sentence = sentence.with_draft(sentence)
            self.check(sentence)
            yield sentence

    @property
    def corrects_parses(self) -> bool:
        """Whether the parser reads a parse of the sentences: their own, or `Sentence.draft`."""
        return bool(self.config.inputs.draft)

    def check(self, sentence: Sentence) -> None:
        """Raise FormatError if the parser cannot read the sentence, see `check_inputs`."""
        check_inputs(sentence, self.config.inputs)

    def make_preparer(self) -> Prepare:
        """Return a function that encodes sentences and their contextual vectors as a Dataset.

        The function caches the vectors that the network computes from characters, so it must not
        be used after the weights have changed.
        """
        network: ParserNetwork = self.network
        network.eval()
        forms = FormCache(network.inputs) if self.config.inputs.reads_forms else None
        undo_escapes = PennEscapes(self.vocabulary)

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> Dataset:
            plain = list(map(undo_escapes, sentences))
            data = encode(
                plain, self.vocabulary, self.config.inputs,
                context=context or None, transformer=network.transformer,
            )  # fmt: skip
            if forms:
                with self.autocast():
                    vectors = forms.vectors(data, self.device)
                data = replace(data, form_arrays={}, shared={"form_vectors": vectors})
            return data

        return prepare

    def autocast(self) -> torch.autocast:
        """Return a context manager that computes matrix products in the parser's precision."""
        return autocast(self.device, self.precision)

    @property
    def workers(self) -> int:
        """The number of batches that are parsed at the same time.

        On a GPU there are three: while the GPU computes one batch, the host decodes trees of the
        second, and encodes or writes the third. With a transformer there is one, because it uses
        all threads, and some versions of the package transformers are not thread-safe.
        """
        if self.network.transformer is not None:
            return 1
        return {"cpu": self.threads, "cuda": 3}.get(self.device.type, 1)

    def read(
        self,
        source: PathLike,
        input: str | None = None,
        encoding: str = "utf-8",
        counter: ParagraphCounter | None = None,
        part: Part | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences of a file of trees or of raw text, see `text.reading.read_input`."""
        return read_input(source, self.tokenizer, input, encoding, counter, part)

    def tokenize(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of a text. Raises ValueError if the parser has no tokenizer."""
        if not self.tokenizer:
            raise ValueError(
                "this model has no tokenizer and cannot parse running text; give it lists of words"
            )
        check_surrogates(text, "the text")
        return read_text([text], self.tokenizer.segment)

    def attach_features(
        self, sentences: Iterable[Sentence], features: PathLike
    ) -> Iterator[tuple[Sentence, np.ndarray]]:
        """Yield sentences with their ELMo vectors, which are read from a file.

        The vectors have the shape that `parse` expects, [1 + words, layers, width]; those at
        position 0, the artificial root, are zeros. Raises FormatError at the first sentence that
        does not match the file, and ValueError if the parser reads no ELMo vectors or vectors of
        another shape.
        """
        context = self.config.inputs.context
        if context.source != "elmo":
            raise ValueError("this model reads no ELMo vectors; leave --features out")
        shape = describe_features(features)
        if (shape.layers, shape.width) != (context.available, context.width):
            raise ValueError(
                f"{os.fspath(features)} has {shape.layers} layers of {shape.width} numbers, but"
                f" this model reads {context.available} layers of {context.width} numbers"
            )
        to_yield, to_look_up = tee(sentences)
        all_vectors = read_features(features, to_look_up, context.layers, context.top)
        for sentence, vectors in zip(to_yield, all_vectors, strict=True):
            yield sentence, np.concatenate((np.zeros_like(vectors[:1]), vectors))


def as_sentence(sentence: "Sentence | Sequence[str] | TokenList") -> Sentence:
    """Convert a list of words or a TokenList of conllu to a `Sentence`.

    A `Sentence` is returned unchanged. Raises TypeError for anything else, and ValueError for a
    list that is not a valid sentence.
    """
    if isinstance(sentence, Sentence):
        return sentence
    if not isinstance(sentence, list | tuple):  # a TokenList is also a list
        advice = "pass a text by itself, not in a list" if isinstance(sentence, str) else ""
        raise TypeError(
            f"a sentence is a depkit.Sentence, a list of words or a conllu.TokenList, not"
            f" {type(sentence).__name__}{advice and '; ' + advice}"
        )
    if all(isinstance(word, str) for word in sentence):
        return new_sentence(cast(Sequence[str], sentence))
    return Sentence.from_token_list(cast("TokenList", sentence))


def columns_to_predict(sentence: Sentence, tags: str) -> set[str]:
    """Return the names of the columns of tags that predictions replace in a sentence.

    tags: "keep" replaces no columns; "predict" replaces all; "missing" replaces the columns that
    are all `_`, but FEATS and LEMMA only if UPOS and XPOS are also all `_`.
    """
    if tags == "keep":
        return set()
    columns = {name for name in TAGS if name in sentence.format.columns}
    if tags == "missing":
        if not (_is_blank(sentence.upos) and _is_blank(sentence.xpos)):
            columns -= {"feats", "lemma"}
        columns = {name for name in columns if _is_blank(getattr(sentence, name))}
    return columns


def _is_blank(column: Sequence[str]) -> bool:
    return column.count("_") == len(column)


def check_inputs(sentence: Sentence, inputs: Inputs) -> None:
    """Raise FormatError if a sentence lacks tags, or a parse, that the parser reads."""
    draft = sentence.draft
    if inputs.draft and draft and -1 in draft.head:
        raise FormatError(
            *draft.location(draft.head.index(-1)),
            "the word has no HEAD, but this parser corrects parses; parse the file with another"
            " model first",
        )
    if inputs.tag and set(input_tags(sentence, inputs.tag_column)) == {"_"}:
        needs_conll09 = inputs.tag_column == "ppos"
        advice = "give a CoNLL-09 file with this column" if needs_conll09 else "tag the file first"
        raise FormatError(
            *sentence.location(),
            f"the sentence has no {inputs.tag_column.upper()}, but the parser reads it; {advice},"
            " or train a parser with another inputs.tag_column or with inputs.tag=0",
        )
