"""What a parser learns from beside the treebank: pretrained vectors, a transformer, ELMo features,
a lexicon of lemmas."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from depkit.corpus.digest import digest, digest_of_files, digest_of_forms
from depkit.corpus.feature_cache import cached
from depkit.corpus.features import describe_features, read_features
from depkit.corpus.files import read
from depkit.corpus.sentence import Sentence
from depkit.corpus.vectors import Vectors, read_vectors
from depkit.parsers.base import Parser
from depkit.parsers.config import Context
from depkit.parsers.device import mixed, named_precision
from depkit.parsers.inputs.batches import (
    Gathered,
    Laid,
    layout,
    length_batches,
    make_cut,
    rounded_length,
)
from depkit.parsers.inputs.layer import context_layers, part_sizes
from depkit.parsers.inputs.lemma_dictionary import readings_of
from depkit.parsers.inputs.transformer import Transformer, load_transformer
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import Recipe

BATCH_TOKENS = 2_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class FeatureFile:
    """A file of ELMo vectors, and the sentences that it is for, in order."""

    features: str
    sentences: Sequence[Sentence]


@dataclass(frozen=True)
class Sources:
    """vectors: those that are kept; transformer: frozen, or to be trained; train, dev: contextual
    vectors laid out as a Dataset, [total, layers, width], where they are not trained; lexicon:
    sentences whose words join the lemma dictionary; key: a digest of the contents of all these."""

    vectors: Vectors | None = None
    transformer: Transformer | None = None
    train: Laid | None = None
    dev: Laid | None = None
    lexicon: Sequence[Sentence] = ()
    key: str = ""

    def of_some(self, sizes: np.ndarray, train: Sequence[int], dev: Sequence[int]) -> "Sources":
        """Sources found for all sentences, of some of them to train on and some as dev.

        sizes: of `batches.layout`, of the sentences of `self.train`; train, dev: their numbers.
        """
        if self.train is None:
            return self
        kept = self.train
        assert isinstance(kept, np.ndarray)
        parts = [Gathered(kept, _rows(sizes, part)) for part in (train, dev)]
        return replace(self, train=parts[0], dev=parts[1])


def find_sources(
    recipe: Recipe,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    device: torch.device,
    files: Sequence[FeatureFile] = (),
    initial: Parser | None = None,
    say: Say = lambda text: None,
) -> tuple[Recipe, Sources]:
    """What the recipe names, and the recipe with what is learnt of it: widths, a digest.

    files: for inputs.context.source = "elmo", those of all sentences of train and dev.
    initial: a parser that is gone on from, which brings its vectors and transformer. Frozen
    vectors are computed once and kept on disk, see `feature_cache`.
    Raises FormatError, ConfigError, TransformerError, OSError.
    """
    inputs, key = recipe.parser.inputs, ""
    vectors = None
    transformer = initial.network.transformer if initial else None
    if inputs.vectors.file and not initial:
        wanted = None if inputs.vectors.keep == "all" else words_of([*train, *dev])
        vectors = read_vectors(inputs.vectors.file, wanted)
        for note in vectors.notes:
            say(f"depkit: note: {inputs.vectors.file}: {note}")
        say(f"vectors: {len(vectors.words):,} of {vectors.count:,} are kept")
        key += _digest_of_vectors(vectors)
        width = vectors.matrix.shape[1]
        inputs = replace(inputs, vectors=replace(inputs.vectors, width=width))
    lexicon: list[Sentence] = []
    if inputs.lexicon:
        lexicon = list(read(inputs.lexicon))
        if not any(True for sentence in lexicon for _ in readings_of(sentence)):
            raise ConfigError(f"inputs.lexicon={inputs.lexicon}: no word there has a lemma")
        key += digest_of_files([inputs.lexicon])
    context = inputs.context
    if context.source == "transformer":
        if transformer is None:
            transformer = load_transformer(context.model, context.revision)
        if os.path.isdir(context.model):  # parsing may be done from elsewhere
            context = replace(context, model=os.path.abspath(context.model))
        context = replace(
            context, revision=transformer.revision or context.revision,
            digest=transformer.digest or context.digest,
            available=transformer.layers, width=transformer.width,
        )  # fmt: skip
    if files and context.source != "elmo":
        raise ConfigError("--features is for inputs.context.source=elmo; leave it out")
    if context.source == "elmo":
        if not files:
            raise ConfigError("inputs.context.source is elmo; name the files with --features")
        context, told = _describe(context, files)
        key += told
    if context.source != "none" and context.top > context.available:
        raise ConfigError(
            f"inputs.context.top is {context.top}, but there are {context.available} layers"
        )
    inputs = replace(inputs, context=context)
    recipe = replace(recipe, parser=replace(recipe.parser, inputs=inputs))
    part_sizes(inputs)  # says what does not fit
    if context.source == "none" or context.tune:
        return recipe, Sources(vectors, transformer, lexicon=lexicon, key=key)
    precision = named_precision(recipe.training.precision, device)

    def kept(part: Sequence[Sentence]) -> np.ndarray:
        if transformer is None:
            return _kept_features(context, files, part, say)
        return _kept_vectors(context, transformer, part, device, precision, say)

    train_vectors, dev_vectors = kept(train), kept(dev) if dev else None
    return recipe, Sources(vectors, transformer, train_vectors, dev_vectors, lexicon, key)


def words_of(sentences: Sequence[Sentence]) -> set[str]:
    """Every form, and every form in lower case."""
    forms = {form for sentence in sentences for form in sentence.form}
    return forms | set(map(str.lower, forms))


def _rows(sizes: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
    """The rows of some sentences of a Dataset, the one of padding first."""
    starts = 1 + np.cumsum(sizes) - sizes
    spans = [np.arange(starts[i], starts[i] + sizes[i]) for i in chosen]
    return np.concatenate(([0], *spans)).astype(np.int64)


def scaled(vectors: Vectors, scale: bool) -> np.ndarray:
    """The rows of `Vocabulary.vectors`: nothing for padding and w0, the mean of all for an
    unknown word; scale: divided by the standard deviation of all numbers (Li et al.'s code)."""
    nothing = np.zeros_like(vectors.mean)
    table = np.concatenate((np.stack((nothing, vectors.mean, nothing)), vectors.matrix))
    if scale and vectors.std > 0:
        table /= vectors.std
    return table


def _digest_of_vectors(vectors: Vectors) -> str:
    matrix, mean = (np.ascontiguousarray(each).data for each in (vectors.matrix, vectors.mean))
    return digest("\n".join(vectors.words), matrix, mean, repr(vectors.std))


def _describe(context: Context, files: Sequence[FeatureFile]) -> tuple[Context, str]:
    """The context with layers and width of the files, which agree; what tells the files apart,
    wherever they lie."""
    shapes = [describe_features(each.features) for each in files]
    for each, shape in zip(files, shapes, strict=True):
        if (shape.layers, shape.width) != (shapes[0].layers, shapes[0].width):
            raise ConfigError(
                f"{each.features} has {shape.layers} layers of {shape.width} numbers,"
                f" {files[0].features} {shapes[0].layers} of {shapes[0].width}"
            )
    key = "".join(f"{os.path.getsize(each.features)} {shape}\n" for each, shape in
                  zip(files, shapes, strict=True))  # fmt: skip
    return replace(context, available=shapes[0].layers, width=shapes[0].width), key


def _kept_features(
    context: Context, files: Sequence[FeatureFile], part: Sequence[Sentence], say: Say
) -> np.ndarray:
    """ELMo features of some of the files' sentences."""
    number = {id(sentence): i for i, sentence in enumerate(part)}
    files = [each for each in files if any(id(one) in number for one in each.sentences)]
    told = [(os.stat(each.features), os.path.realpath(each.features)) for each in files]
    key = "".join(f"{path} {stat.st_size} {stat.st_mtime_ns}\n" for stat, path in told)

    def produce() -> Iterator[tuple[int, np.ndarray]]:
        for each in files:
            found = read_features(each.features, each.sentences, context.layers, context.top)
            for sentence, features in zip(each.sentences, found, strict=True):
                if id(sentence) in number:
                    yield number[id(sentence)], features

    key = f"elmo {key} {context.layers} {context.top} {digest_of_forms(part)}"
    return cached(key, layout(part)[0], _shape(context), produce, say)


def _kept_vectors(
    context: Context,
    transformer: Transformer,
    part: Sequence[Sentence],
    device: torch.device,
    precision: torch.dtype,
    say: Say,
) -> np.ndarray:
    """The vectors that a frozen transformer gives to sentences."""
    sizes, starts = layout(part)

    def produce() -> Iterator[tuple[int, np.ndarray]]:
        cut = make_cut(part, transformer, context, device)
        for numbers in length_batches(sizes, BATCH_TOKENS):
            length = rounded_length(int(sizes[numbers].max()))
            pieces = cut(starts[numbers], sizes[numbers], length)
            with mixed(device, precision), torch.inference_mode():
                found = context_layers(transformer, context, pieces, (len(numbers), length))
            for number, vectors in zip(numbers.tolist(), found.float().cpu().numpy(), strict=True):
                yield number, vectors[: sizes[number]]

    key = (
        f"{transformer.digest} {context.layers} {context.top} {context.pooling} {context.overlap}"
        f" {precision} {digest_of_forms(part)}"
    )
    return cached(key, sizes, _shape(context), produce, say)


def _shape(context: Context) -> tuple[int, int]:
    """Layers and width of what is kept of a word."""
    layers = (context.top or context.available) if context.layers == "mix" else 1
    return layers, context.width
