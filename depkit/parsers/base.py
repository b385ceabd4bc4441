"""The base class of the parsers of all families: input, batches, and what `parse` accepts.

How parsing proceeds: `Parser.parse` passes sentences, and the method `parse_batch` of the family,
to `Parser.map_batches`. `chunks.map_batches` reads sentences in chunks, encodes each chunk by the
function that `Parser.make_preparer` returns, and calls `parse_batch` for each batch.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, tee
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal, TypeAlias, TypeVar, Unpack, cast

import numpy as np

from depkit.corpus.blocks import Part
from depkit.corpus.brackets import with_tags
from depkit.corpus.cell_checks import check_surrogates
from depkit.corpus.io import PathLike
from depkit.corpus.notebook import Sentences
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.text import ParagraphCounter, read_text
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.parsers.chunks import Compute, Prepare, map_batches
from depkit.parsers.columns.tagging import Tagging
from depkit.parsers.engine.engine import MAX_WORDS, Engine
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.inputs.dataset import Dataset, encode
from depkit.parsers.inputs.elmo import describe_features, read_features
from depkit.parsers.inputs.parts import check_inputs, describe_inputs
from depkit.parsers.inputs.penn_escapes import PennEscapes
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.parse_options import (
    OTHER_NAMES,
    Decode,
    Heads,
    ParseOptions,
    Prob,
    Root,
    Tags,
    Valid,
    choose_decoder,
    choose_probabilities,
)
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import read_input
from depkit.parsers.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from conllu import TokenList

    from depkit.parsers.engine.torch_engine import TorchEngine

CPU_TOKENS = 1_200  # a batch of this size fits the CPU caches; 20% faster than 4,000
GPU_TOKENS = 16_000  # on an H100, 20% faster than 4,000, and 64,000 are hardly faster
# The number of words in the longest sentence for which marginals are computed. 1,600 words take
# 10 s (80 s if scores are very sharp) and 150 MB; the time is cubic and the memory quadratic.
MAX_MARGINAL_WORDS = 2_000
MAX_CUBIC_WORDS = 4_000  # with a decoder that takes cubic time, a minute at most

T = TypeVar("T")

# What `parse` accepts: running text, one Sentence, or several sentences. Each of several sentences
# is a Sentence, a list of words, or a TokenList of the package conllu.
Parsable: TypeAlias = "str | Sentence | Iterable[Sentence | Sequence[str] | TokenList]"


@dataclass(repr=False)
class Parser(ABC):
    """A trained parser on a device; `parser("Some text.")` parses a text.

    Several threads may call the same parser.
    """

    config: Any  # an instance of the family's subclass of ParserConfig
    vocabulary: Vocabulary
    engine: Engine
    threads: int = 1  # the number of batches that are parsed at the same time on a CPU
    tokenizer: Tokenizer | None = None  # None if the model was trained without a tokenizer
    # Of an ensemble: the parsers whose probabilities are averaged, and how. One batch of an
    # ensemble is a list of one batch for each member.
    members: Sequence["Parser"] = ()
    mean: Mean = "arithmetic"
    # Called with the sentences of a batch when the batch has been computed, on the thread that
    # computed it. `parse` may yield these sentences much later.
    on_batch_computed: Callable[[Sequence[Sentence]], None] | None = field(
        default=None, kw_only=True
    )

    # Called when the next sentence of a stream has not arrived, so that `parse` is about to wait
    on_wait: Callable[[], object] = field(default=lambda: None, kw_only=True)

    # What `parse` predicts: "dependencies", "constituents", or "" if there is only `tag`
    trees: ClassVar[str] = "dependencies"
    # The arguments of `parse` that not all families have, and their values
    options: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __call__(
        self, sentences: Parsable, tags: Tags = "missing", **options: Unpack[ParseOptions]
    ) -> Sentences:
        """Parse a text or sentences, and return a list; `parse` describes the arguments."""
        options.setdefault("stream", False)
        return Sentences(self.parse(sentences, tags, **options))

    def __repr__(self) -> str:
        columns = list(self.vocabulary.columns)
        if self.trees == "dependencies":
            columns = ["head", *columns]
        text = "parses" if self.tokenizer else "does not parse"
        return (
            f"<{type(self).__name__}: {self.config.encoder.kind}"
            f" over {', '.join(describe_inputs(self.config.inputs))}\n"
            f"  predicts {', '.join(columns)}; {text} running text\n"
            f"  on {self.engine.device_name}, {self.threads} thread{'s' * (self.threads > 1)}>"
        )

    @property
    def network(self) -> Any:
        return self.engine.network

    @property
    def torch_device(self) -> "torch.device | None":
        """The device of torch that the parser runs on; None if it runs without torch."""
        return getattr(self.engine, "device", None)

    @property
    def device(self) -> "torch.device":
        """The device that the engine of torch runs on."""
        return cast("TorchEngine", self.engine).device

    @property
    def precision(self) -> "torch.dtype":
        """The precision in which the engine of torch multiplies matrices."""
        return cast("TorchEngine", self.engine).precision

    def parse(
        self,
        sentences: Parsable,
        tags: Tags = "missing",
        *,
        decode: Decode | None = None,
        root: Root | None = None,
        prob: Prob = False,
        passes: int = 1,
        heads: Heads = "predict",
        best: int = 1,
        valid: Valid = "",
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
        stream: bool | None = None,
        algorithm: str | None = None,
        probabilities: str = "",
    ) -> Iterator[Sentence]:
        """Yield the sentences with predicted trees, in input order and with bounded memory.

        >>> import depkit
        >>> parser = depkit.load()
        >>> for sentence in parser.parse([["Birds", "sing", "."]], prob=True):
        ...     print(sentence[0].head, "ArcProb" in sentence[0].misc)
        sing True

        Up to three parts of about 40,000 words are read ahead of the sentences that are yielded.

        Args:
            sentences: Running text, which the tokenizer splits into sentences; or one `Sentence`;
                or several sentences: `Sentence`s, lists of words or `conllu.TokenList`s.
            tags: "predict" overwrites tags. "missing" fills in columns that are all `_`, but FEATS
                and LEMMA, which can be empty on purpose, only if UPOS and XPOS are also all `_`.
                "keep" does not change tags.
            decode: The decoder, "mst", "eisner", "argmax" or "mbr", which finds the tree with the
                highest expected number of correct heads; by default, that of the model.
            root: "single" or "multi"; by default, or if it is "auto", that of the model.
            prob: True or "local" writes the probabilities of the head and of the label of each word
                into MISC. They are calibrated if the model is. "marginal" writes the marginal
                probability of the head over all trees, which takes cubic time.
            passes: For a parser that corrects parses, how often the trees are corrected.
            heads: "keep" keeps the heads and labels that words already have, and obeys `Heads`,
                `NotHead` and `Deprels` in MISC; the tree is the best of those that agree. Options
                and probabilities are those of a tree given this annotation. If all words
                have both, DEPS and empty nodes are kept, too. "predict" replaces all.
            best: The number of trees to yield for each sentence, one after another from the best
                one. The comment `tree` says which one it is, and `prob` its probability with its
                labels. A sentence with fewer trees yields all of them.
            valid: "ud" finds a tree that is valid by those rules of UD that heads, relations and
                tags decide; see `treebank.valid_labels`. It has a single root, even if the
                default of the model is "multi".
            batch_tokens: The maximum number of positions in a batch, padding included; by default,
                what suits the device. A longer sentence is a batch by itself. A batch that does not
                fit in memory is split.
            context: The contextual vectors of each sentence, [1 + words, layers, width], those of
                w0 first. A parser that reads ELMo vectors needs them; see `attach_features`.
            stream: Whether a tree is yielded as soon as it is computed, even if the next sentence
                is late. A thread of its own then iterates over the sentences. By default, this is
                so for generators and other iterables without a length. If False, and if there is
                `context`, they are read on the calling thread, about 1,000 words before the first
                tree.
            algorithm: The former name of `decode`.
            probabilities: The former name of `prob`.

        Raises:
            ConfigError: An argument is invalid, or it does not suit the parser or its family; or
                the parser predicts no trees.
            FormatError: A sentence lacks the tags or the parse that the parser reads, has no MISC
                column for the probabilities, has too many words, or no tree agrees with heads that
                are kept; or `Deprels` has a label that the parser does not know.
            MemoryError: A single sentence does not fit in memory; the message names it.
        """
        if not self.trees:
            raise ConfigError("this model is a tagger, which predicts no trees; use depkit tag")
        _check_choice("tags", tags, ("missing", "keep", "predict"))
        if tags == "predict" and not self.config.predicted_tags:
            raise ConfigError("this model predicts no tags; leave `tags` predict out")
        algorithm = choose_decoder(decode, algorithm)
        probabilities = choose_probabilities(prob, probabilities)
        stream = is_stream(sentences, stream, context)
        options = self._check_choices(
            passes, best, heads,
            algorithm=algorithm, root=root, probabilities=probabilities, valid=valid,
        )  # fmt: skip
        if probabilities:
            sentences = check_probabilities(self.to_sentences(sentences), probabilities)
        if options:
            sentences = self.check_request(self.to_sentences(sentences), **options)
        contexts = [None] * passes if context is None else tee(context, passes)
        # Only the last pass reports progress, and computes probabilities.
        silent = replace(self, on_batch_computed=None, on_wait=lambda: None)
        decoding = {name: value for name, value in options.items() if name != "probabilities"}
        compute: Any = partial(silent.parse_batch, tags=tags, **decoding)
        for vectors in contexts[:-1]:
            sentences = silent.map_batches(sentences, compute, batch_tokens, vectors, stream=stream)
        compute = partial(self.parse_batch, tags=tags, **options)
        results = self.map_batches(sentences, compute, batch_tokens, contexts[-1], stream=stream)
        yield from chain.from_iterable(results) if best > 1 else results

    def _check_choices(
        self, passes: int, best: int, heads: str, **choices: str | None
    ) -> dict[str, Any]:
        """Check arguments of `parse`, and return those that are not the default.

        Raises ConfigError if one is invalid, or if the family does not have it.
        """
        for name, number in (("passes", passes), ("best", best)):
            if number < 1:
                raise ConfigError(f"`{name}` is {number}; it must be 1 or more")
        options: dict[str, Any] = {
            name: value for name, value in choices.items() if value and value != "auto"
        }
        if heads != "predict":
            options["heads"] = heads
        numbers = [name for name, number in (("passes", passes), ("best", best)) if number > 1]
        self.check_options([*options, *numbers])
        for name, value in options.items():
            _check_choice(name, value, self.options[name])
        if passes > 1 and (heads != "predict" or best > 1):
            raise ConfigError("`passes` excludes `heads` keep and `best`; leave one of them out")
        if passes > 1 and not self.corrects_parses:
            raise ConfigError(
                "this model does not correct parses, so more passes would change nothing"
            )
        return options | ({"best": best} if best > 1 else {})

    def check_request(self, sentences: Iterable[Sentence], **options: Any) -> Iterable[Sentence]:
        """Yield sentences, after checking that they can be parsed with some options of `parse`.

        Raises FormatError at a sentence that cannot.
        """
        return sentences

    def check_options(self, names: Iterable[str]) -> None:
        """Raise ConfigError at the name of an argument of `parse` that the family does not have."""
        shown = {other: name for name, other in OTHER_NAMES.items()}
        for name in sorted(set(names) - self.options.keys()):
            name = shown.get(name, name)
            raise ConfigError(f"models of the family {self.config.family} do not support `{name}`")

    @abstractmethod
    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, **options: Any
    ) -> list[Any]:
        """Parse the sentences of a batch, within the context of the engine.

        Args:
            batch: A batch, as `make_preparer` makes it.
            sentences: The sentences of the batch.
            tags: As for `parse`.
            **options: Those arguments of `parse` in `options` that have been given.

        Returns the parsed sentences; with `best`, for each sentence the list of its trees.
        """

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """Yield the sentences with predictions in all columns that the parser predicts."""
        if not self.trees:
            return self.tag(sentences, context=context, stream=False)
        tags: Tags = "predict" if self.config.predicted_tags else "keep"
        return self.parse(sentences, tags, context=context, stream=False)

    def tag(
        self,
        sentences: Parsable,
        tags: Literal["missing", "predict"] = "predict",
        *,
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
        stream: bool | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences with predicted tags, FEATS and lemmas; their trees do not change.

        tags: "predict" or "missing". The other arguments and the errors are those of `parse`;
        ConfigError is also raised if the parser predicts no tags.
        """
        _check_choice("tags", tags, ("missing", "predict"))
        if not self.config.predicted_tags:
            raise ConfigError("this model predicts no tags")
        stream = is_stream(sentences, stream, context)
        compute = partial(self.tag_batch, tags=tags)
        yield from self.map_batches(sentences, compute, batch_tokens, context, stream=stream)

    def tag_batch(self, batch: Any, sentences: Sequence[Sentence], tags: str) -> list[Sentence]:
        """Tag the sentences of a batch, within the context of the engine."""
        unknown = self.tagging.unknown_words(sentences)
        best = self.network.tag_scores(batch).fetch_best(unknown).wait()
        tagged = []
        all_columns = self.tagging.columns(sentences, unknown, best, tags)
        for sentence, columns in zip(sentences, all_columns, strict=True):
            result = sentence.with_columns(columns) if columns else sentence
            tree, values = sentence.constituents, columns.get("xpos", columns.get("upos"))
            if tree is not None and values and tags == "predict":
                result = result.with_constituents(with_tags(tree, values))
            tagged.append(result)
        return tagged

    @cached_property
    def tagging(self) -> Tagging:
        """What the parser predicts besides a tree."""
        return Tagging(self.vocabulary, self.config.predicted_tags)

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities that `parse` writes are calibrated."""
        return False

    def warm_up(self) -> None:  # noqa: B027 (most parsers have nothing to compile)
        """Compile the functions that parsing needs, before the time of parsing is measured."""

    def map_batches(
        self,
        sentences: Parsable,
        compute: Compute[T],
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
        *,
        stream: bool = False,
    ) -> Iterator[T]:
        """Apply a function to batches of sentences, and yield its results in input order.

        compute: a function of a batch and its sentences, which returns one result for each
        sentence. It is called on `workers` threads, within the context of the engine. The other
        arguments are those of `parse`.
        """
        if context is None and self.config.inputs.context.source == "elmo":
            raise ConfigError("this model reads ELMo vectors; give them as `context`")
        batch_tokens = batch_tokens or (CPU_TOKENS if self.engine.kind == "cpu" else GPU_TOKENS)

        def compute_and_report(batch: Any, batch_sentences: Sequence[Sentence]) -> Sequence[T]:
            with self.engine.context():
                results = compute(self.engine.send(batch), batch_sentences)
            if self.on_batch_computed:
                self.on_batch_computed(batch_sentences)
            return results

        yield from map_batches(
            self._check_sentences(sentences), self.make_preparer(), compute_and_report, self.engine,
            batch_tokens=batch_tokens, workers=self.workers, context=context,
            on_wait=(lambda: self.on_wait()) if stream else None,  # it may be set while parsing
        )  # fmt: skip

    def to_sentences(self, sentences: Parsable) -> Iterable[Sentence]:
        """Convert what `parse` accepts to `Sentence`s. Raises TypeError for anything else."""
        if isinstance(sentences, str):
            return self.tokenize(sentences)
        if not isinstance(sentences, Iterable | Sentence):
            raise TypeError(
                f"the input must be a text or sentences, not {type(sentences).__name__}"
            )
        return map(as_sentence, [sentences] if isinstance(sentences, Sentence) else sentences)

    def _check_sentences(self, sentences: Parsable) -> Iterator[Sentence]:
        for sentence in self.to_sentences(sentences):
            limit = self.engine.max_words
            advice = " (with the engine torch, more)" if limit < MAX_WORDS else ""
            check_lengths([sentence], limit, advice)
            if self.corrects_parses and sentence.draft is None:
                sentence = sentence.with_draft(sentence)
            self.check(sentence)
            yield sentence

    @property
    def corrects_parses(self) -> bool:
        """Whether the parser reads a parse of the sentences: their own, or `Sentence.draft`."""
        return any(parser.config.inputs.draft for parser in self.members or [self])

    def check(self, sentence: Sentence) -> None:
        """Raise FormatError if the parser cannot read the sentence, see `Part.check`."""
        for parser in self.members or [self]:
            check_inputs(sentence, parser.config.inputs)

    def make_preparer(self) -> Prepare:
        """Return a function that encodes sentences and their contextual vectors as a Dataset.

        The function caches the vectors that the network computes from characters, so it must not
        be used after the weights have changed. If they cannot change, each call of this method
        returns the same function, so that parsing many short texts reuses the vectors.
        """
        if self.members:
            functions = [member.make_preparer() for member in self.members]
            return lambda *arguments: MembersBatches([prepare(*arguments) for prepare in functions])
        return self._preparer if self.engine.has_fixed_weights else self.engine.start(self._encode)

    @cached_property
    def _preparer(self) -> Prepare:
        return self.engine.start(self._encode)

    def _encode(self, sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> Dataset:
        inputs = self.config.inputs
        sentences = list(map(self._undo_escapes, sentences))
        if inputs.context.source == "none":  # contextual vectors know more characters
            sentences = list(map(self.tagging.respell, sentences))
        return encode(
            sentences, self.vocabulary, inputs, context=context or None,
            transformer=self.network.transformer,
        )  # fmt: skip

    @cached_property
    def _undo_escapes(self) -> PennEscapes:
        return PennEscapes(self.vocabulary)

    @property
    def workers(self) -> int:
        """The number of batches that are parsed at the same time.

        On a GPU there are three: while the GPU computes one batch, the host decodes trees of the
        second, and encodes or writes the third.
        """
        if self.members:
            return min(member.workers for member in self.members)
        if self.engine.one_batch_at_a_time:
            return 1
        return {"cpu": self.threads, "cuda": 3}.get(self.engine.kind, 1)

    def read(
        self,
        source: PathLike,
        input: str | None = None,
        encoding: str = "utf-8",
        *,
        counter: ParagraphCounter | None = None,
        part: Part | None = None,
        stream: BinaryIO | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences of a file of trees or of raw text, see `text.reading.read_input`."""
        return read_input(
            source, self.tokenizer, input, encoding, counter=counter, part=part, stream=stream
        )

    def tokenize(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of a text, without its byte order mark.

        Raises ValueError if the parser has no tokenizer.
        """
        if not self.tokenizer:
            raise ValueError(
                "this model has no tokenizer and cannot parse running text; give it lists of words"
            )
        check_surrogates(text, "the text")
        return read_text([text.removeprefix(BOM)], self.tokenizer.segment)

    def attach_features(
        self, sentences: Iterable[Sentence], features: PathLike
    ) -> Iterator[tuple[Sentence, np.ndarray]]:
        """Yield sentences with their ELMo vectors, which are read from a file.

        The vectors have the shape that `parse` expects, [1 + words, layers, width]; those at
        position 0, the artificial root, are zeros. Raises FormatError at the first sentence that
        does not match the file, ConfigError if the parser reads no ELMo vectors, and ValueError if
        it reads vectors of another shape.
        """
        context = self.config.inputs.context
        if context.source != "elmo":
            raise ConfigError("this model reads no ELMo vectors; leave `context` out")
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


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        name = {other: name for name, other in OTHER_NAMES.items()}.get(name, name)
        *others, last = choices
        raise ConfigError(f"{name} can be {', '.join(others)} or {last}, not {value!r}")


def is_stream(sentences: Parsable, stream: bool | None, context: object) -> bool:
    """Return whether a thread of its own reads the sentences; see the arguments of `parse`."""
    if context is not None:  # The vectors may be read from a file together with the sentences.
        return False
    return not isinstance(sentences, Sized) if stream is None else stream


@dataclass(frozen=True)
class MembersBatches:
    """The same sentences, as encoded by each member of an ensemble."""

    members: list[Any]

    def batch(self, indices: np.ndarray) -> list[Any]:
        """Make one batch for each member from the sentences with these indices."""
        return [member.batch(indices) for member in self.members]


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


def check_lengths(sentences: Iterable[Sentence], limit: int, advice: str = "") -> None:
    """Raise FormatError if a sentence has so many words that parsing it would take too long.

    advice: a remark on the limit.
    """
    for sentence in sentences:
        if len(sentence) > limit:
            raise FormatError(
                *sentence.location(),
                f"a sentence of {len(sentence):,} words is too long: this model or decoder reads at"
                f" most {limit:,} words{advice}; is a blank line missing?",
            )


def check_probabilities(sentences: Iterable[Sentence], kind: str) -> Iterator[Sentence]:
    """Yield the sentences, after checking that probabilities can be computed and written.

    kind: "local" or "marginal". Raises FormatError at a sentence without the column MISC, and at a
    sentence that is too long for marginals.
    """
    for sentence in sentences:
        if "misc" not in sentence.format.columns:
            raise FormatError(
                *sentence.location(),
                f"the format {sentence.format.name} has no column MISC for probabilities; choose"
                " CoNLL-U or JSON as the output `format`",
            )
        if kind == "marginal" and len(sentence) > MAX_MARGINAL_WORDS:
            raise FormatError(
                *sentence.location(),
                f"a sentence of {len(sentence)} words is too long for marginals, which are limited"
                f" to {MAX_MARGINAL_WORDS} words; split it, or leave out marginals",
            )
        yield sentence
