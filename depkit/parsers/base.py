"""What every family's parser has: parse and tag, reading, threads.

The path of a batch through parsing: a family's `parse` passes sentences and its function for a
batch to `Parser.map_batches`; `windows.map_batches` collects windows of sentences, has each encoded
by the function that `Parser.preparer` returned, and calls the family's function on each batch; this
is `GraphParser.parse_batch`, which decodes trees by `graph.decoding.decode_heads` (`tag` passes
`TaggerParser.tag_batch`, which takes the best tags).
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast

import numpy as np
import torch

from depkit.corpus.errors import FormatError
from depkit.corpus.features import describe_features, read_features
from depkit.corpus.files import PathLike
from depkit.corpus.sentence import Sentence, each_sentence, new_sentence
from depkit.corpus.text import Numbers, read_text
from depkit.parsers.config import Inputs, what_it_reads
from depkit.parsers.device import mixed
from depkit.parsers.inputs.batches import Dataset, encode
from depkit.parsers.inputs.form_cache import FormCache
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.text.reading import read_input
from depkit.parsers.text.tokenizer import Tokenizer
from depkit.parsers.windows import Compute, Prepare, map_batches

if TYPE_CHECKING:
    from conllu import TokenList

CPU_TOKENS = 1_200  # so many fit the caches, and are a fifth faster than 4,000
GPU_TOKENS = 4_000
TAGS = ("lemma", "upos", "xpos", "feats")

T = TypeVar("T")

# What `parse` accepts: running text, a Sentence, or several sentences, each of which is a Sentence,
# a list of words, or a TokenList of the package conllu.
Parsable: TypeAlias = "str | Sentence | Iterable[Sentence | Sequence[str] | TokenList]"


@dataclass(repr=False)
class Parser(ABC):
    """A parser on a device; `parser("Some text.")` parses.

    network: in evaluation mode when it parses. precision: of its matrix products; on a CPU `load`
    keeps their weights in it, so load the model again for another. threads: how many batches are
    parsed at a time on a CPU. tokenizer: None if there is none: the treebank had no text to learn
    it from, or it was not wanted. computed: called with the sentences of each batch as soon as
    it is computed, on the thread that did so, and often long before `parse` yields them.
    """

    config: Any  # of the family's class of ParserConfig
    vocabulary: Vocabulary
    network: Any  # of the family's class of ParserNetwork
    device: torch.device
    precision: torch.dtype = torch.float32
    threads: int = 1
    tokenizer: Tokenizer | None = None
    computed: Callable[[Sequence[Sentence]], None] | None = field(default=None, kw_only=True)

    # Options of `parse` that only some families have
    options: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, sentences: Parsable, **options: Any) -> list[Sentence]:
        """Parse a text or sentences, and return all parsed sentences; options: as for `parse`."""
        return list(self.parse(sentences, **options))

    def __repr__(self) -> str:
        names = self.vocabulary.columns
        columns = ", ".join(["head", *names] if "deprel" in names else names)
        text = "parses" if self.tokenizer else "does not parse"
        return (
            f"<{type(self).__name__}: {self.config.encoder.kind}"
            f" over {', '.join(what_it_reads(self.config.inputs))}\n"
            f"  predicts {columns}; {text} running text\n"
            f"  on {self.device}, {self.threads} thread{'s' * (self.threads > 1)}>"
        )

    @abstractmethod
    def parse(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """The sentences with what the parser predicts, in input order and bounded memory.

        sentences: running text, which the tokenizer splits into sentences; or a `Sentence`; or
        several sentences: `Sentence`s, as `read` yields them, lists of words, `conllu.TokenList`s.
        Families that parse take `tags` ("missing", "predict" or "keep"), `batch_tokens` and
        `context`, which are as for `TaggerParser.tag`; `options` names the others.
        """

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """The sentences with all that the parser predicts in place of what stands there."""
        return self.parse(sentences, "predict", context=context)

    def tag(self, sentences: Parsable, *arguments: Any, **options: Any) -> Iterator[Sentence]:
        """The sentences with tags, features and lemmas; raises ValueError if none are predicted."""
        raise ValueError("this model predicts no tags")

    def warm_up(self) -> None:  # noqa: B027 (most parsers have nothing to compile)
        """Compile what parsing will need, so that no training time is spent on it."""

    def map_batches(
        self,
        sentences: Parsable,
        compute: Compute[T],
        batch_tokens: int | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[T]:
        """What a function makes of batches of sentences, a result a sentence, in input order.

        compute: is given a batch, as `preparer` lays it out, and its sentences; it is called on
        several threads, as `workers` says. The rest is as for `tag`.
        """
        if context is None and self.config.inputs.context.source == "elmo":
            raise ValueError("this model reads ELMo vectors; name their file with --features")
        batch_tokens = batch_tokens or (CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS)

        def compute_and_report(batch: Any, some_sentences: Sequence[Sentence]) -> Sequence[T]:
            results = compute(batch, some_sentences)
            if self.computed:
                self.computed(some_sentences)
            return results

        yield from map_batches(
            self._checked(sentences), context, self.preparer(), compute_and_report, batch_tokens,
            self.workers,
        )  # fmt: skip

    def sentences_of(self, sentences: Parsable) -> Iterable[Sentence]:
        """What `parse` accepts, as `Sentence`s. Raises TypeError for anything else."""
        if isinstance(sentences, str):
            return self.tokenize(sentences)
        if not isinstance(sentences, Iterable | Sentence):
            raise TypeError(f"give a text or sentences to parse, not {type(sentences).__name__}")
        return map(as_sentence, each_sentence(sentences))

    def _checked(self, sentences: Parsable) -> Iterator[Sentence]:
        for sentence in self.sentences_of(sentences):
            self.check(sentence)
            yield sentence

    def check(self, sentence: Sentence) -> None:
        """Raises FormatError for a sentence without the tags that the parser reads."""
        check_tags(sentence, self.config.inputs)

    def preparer(self) -> Prepare:
        """What lays a window of sentences out as a Dataset, with the contextual vectors of each
        or none.

        It remembers what characters make of words, so it is good until weights change.
        """
        network: ParserNetwork = self.network
        network.eval()
        forms = FormCache(network.inputs) if self.config.inputs.char else None

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> Dataset:
            data = encode(
                sentences, self.vocabulary, self.config.inputs, self.device,
                context=context or None, transformer=network.transformer,
            )  # fmt: skip
            if forms:
                with self.mixed():
                    data = replace(data, form_vectors=forms.vectors(data))
            return data

        return prepare

    def mixed(self) -> torch.autocast:
        """Inside it, products are computed in the parser's precision."""
        return mixed(self.device, self.precision)

    @property
    def workers(self) -> int:
        """How many batches are parsed at a time.

        On a GPU three: one computes, of another the host makes trees, a third is laid out or
        written. With a transformer one, because it uses all threads and some versions of
        transformers are not thread-safe.
        """
        if self.network.transformer is not None:
            return 1
        return {"cpu": self.threads, "cuda": 3}.get(self.device.type, 1)

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
        if not self.tokenizer:
            raise ValueError(
                "this model has no tokenizer and cannot parse running text; give it lists of words"
            )
        return read_text([text], self.tokenizer.segment)

    def attach_features(
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


def as_sentence(sentence: "Sentence | Sequence[str] | TokenList") -> Sentence:
    """A `Sentence` as it is, or one made from a list of words or a TokenList of conllu.

    Raises TypeError for anything else, ValueError for a list that makes no sentence.
    """
    if isinstance(sentence, Sentence):
        return sentence
    if not isinstance(sentence, list | tuple):  # a TokenList is a list, too
        what = "pass a text by itself, not in a list" if isinstance(sentence, str) else ""
        raise TypeError(
            f"a sentence is a depkit.Sentence, a list of words or a conllu.TokenList, not"
            f" {type(sentence).__name__}{what and '; ' + what}"
        )
    if all(isinstance(word, str) for word in sentence):
        return new_sentence(cast(Sequence[str], sentence))
    return Sentence.from_token_list(cast("TokenList", sentence))


def wanted_tags(sentence: Sentence, tags: str) -> set[str]:
    """The columns of tags that are to be replaced in a sentence.

    tags: "keep" leaves all alone; "predict" overwrites them; "missing" fills in columns that are
    all `_`, FEATS and LEMMA only where UPOS and XPOS are too.
    """
    if tags == "keep":
        return set()
    wanted = {name for name in TAGS if name in sentence.format.columns}
    if tags == "missing":
        if not (_is_blank(sentence.upos) and _is_blank(sentence.xpos)):
            wanted -= {"feats", "lemma"}
        wanted = {name for name in wanted if _is_blank(getattr(sentence, name))}
    return wanted


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
