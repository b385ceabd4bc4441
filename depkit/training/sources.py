"""The sources of a training besides the treebank.

These are pretrained word vectors, a transformer, ELMo vectors and a lexicon of lemmas.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest, digest_files, digest_forms
from depkit.files.errors import FormatError
from depkit.parsers.base import Parser
from depkit.parsers.columns.lemma_dictionary import extract_readings
from depkit.parsers.engine.precision import autocast, resolve_precision
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.inputs.batching import Batch, length_batches, rounded_length
from depkit.parsers.inputs.context import Context, make_piece_batcher
from depkit.parsers.inputs.dataset import layout
from depkit.parsers.inputs.elmo import describe_features, read_features
from depkit.parsers.inputs.hidden_layers import context_layers
from depkit.parsers.inputs.part import Rows, SelectedRows
from depkit.parsers.inputs.parts import make_groups
from depkit.parsers.inputs.transformer import Transformer, load_transformer
from depkit.parsers.inputs.vector_cache import RangeError, load_or_compute
from depkit.parsers.inputs.word_vectors import WordVectors, read_vectors
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import Recipe

BATCH_TOKENS = 2_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class VectorFile:
    """A file of ELMo vectors with the sentences that it belongs to."""

    path: str
    sentences: Sequence[Sentence]  # in the order of the file


@dataclass(frozen=True)
class Sources:
    """The contents of the sources that a recipe names."""

    vectors: WordVectors | None = None  # pretrained word vectors
    transformer: Transformer | None = None  # frozen, or to be fine-tuned
    # Contextual vectors of the training and dev sentences, [total, layers, width], in the order of
    # a Dataset's entries; None if there are none, or if the transformer is fine-tuned.
    train: Rows | None = None
    dev: Rows | None = None
    lexicon: Sequence[Sentence] = ()  # their words are added to the lemma dictionary
    key: str = ""  # a digest of the contents of vectors, ELMo vectors and lexicon

    def select_sentences(
        self, sizes: np.ndarray, train: Sequence[int], dev: Sequence[int]
    ) -> "Sources":
        """Select sentences of `self.train`, by index, as training and dev sentences.

        sizes: those of all sentences of `self.train`, see `dataset.layout`.
        """
        if self.train is None:
            return self
        context = self.train
        assert isinstance(context, np.ndarray)
        parts = [SelectedRows(context, _rows(sizes, part)) for part in (train, dev)]
        return replace(self, train=parts[0], dev=parts[1])


def load_sources(
    recipe: Recipe,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    device: torch.device,
    *,
    files: Sequence[VectorFile] = (),
    initial: Parser | None = None,
    say: Say = lambda text: None,
) -> tuple[Recipe, Sources]:
    """Load the sources that a recipe names.

    Contextual vectors that are not trained are computed once and cached on disk, see
    `vector_cache`.

    Args:
        recipe: The recipe. It is returned with facts about the sources (widths, a digest).
        train: The training sentences.
        dev: The dev sentences, if any.
        device: Where a frozen transformer runs.
        files: For inputs.context.source=elmo, the files of all sentences of train and dev.
        initial: A parser to start from; its vectors and its transformer are used.
        say: Receives notes and progress.

    Raises:
        ConfigError: For settings that do not fit the sources.
        FormatError: For a damaged file, and for a sentence with a vector that cannot be stored.
        TransformerError: For a transformer that cannot be loaded.
        OSError: For a file that cannot be read.
    """
    inputs: Any = recipe.parser.inputs
    key = ""
    vectors = None
    transformer = initial.network.transformer if initial else None
    if inputs.vectors.file and not initial:
        words = None if inputs.vectors.keep == "all" else collect_words([*train, *dev])
        vectors = read_vectors(inputs.vectors.file, words)
        for note in vectors.notes:
            say(f"depkit: note: {inputs.vectors.file}: {note}")
        say(f"read {len(vectors.words):,} of {vectors.count:,} vectors of {inputs.vectors.file}")
        key += _digest_of_vectors(vectors)
        width = vectors.matrix.shape[1]
        inputs = replace(inputs, vectors=replace(inputs.vectors, width=width))
    lexicon: list[Sentence] = []
    if inputs.lexicon:
        lexicon = list(read(inputs.lexicon))
        if not any(True for sentence in lexicon for _ in extract_readings(sentence)):
            raise ConfigError(
                f"inputs.lexicon={inputs.lexicon}: no word there has a lemma; name a CoNLL-U file"
                " with lemmas"
            )
        key += digest_files([inputs.lexicon])
    context = inputs.context
    if context.source == "transformer":
        if transformer is None:
            transformer = load_transformer(context.model, context.revision, context.depth)
        if os.path.isdir(context.model):  # the parser may be used from another directory
            context = replace(context, model=os.path.abspath(context.model))
        context = replace(
            context, revision=transformer.revision or context.revision,
            digest=transformer.digest or context.digest,
            available=transformer.layers, width=transformer.width,
        )  # fmt: skip
    if files and context.source != "elmo":
        raise ConfigError("`elmo` requires inputs.context.source=elmo; set it, or omit `elmo`")
    if context.source == "elmo":
        if not files:
            raise ConfigError(
                "inputs.context.source=elmo requires ELMo vectors; name the files with `elmo`"
            )
        context, elmo_key = _describe_files(context, files)
        own = inputs.context  # with `initial`, the settings of that model
        if initial and (context.available, context.width) != (own.available, own.width):
            raise ConfigError(
                f"{files[0].path} has {context.available} layers of {context.width} numbers, but"
                f" the initial model reads {own.available} layers of {own.width} numbers"
            )
        key += elmo_key
    context = _limit_layers(context, files)
    inputs = replace(inputs, context=context)
    recipe = replace(recipe, parser=replace(recipe.parser, inputs=inputs))
    make_groups(inputs)  # raises ConfigError for sizes that do not fit
    if context.source == "none" or context.tune:
        return recipe, Sources(vectors, transformer, lexicon=lexicon, key=key)
    precision = resolve_precision(recipe.training.precision, device)

    def contextual_vectors(sentences: Sequence[Sentence]) -> np.ndarray:
        if transformer is None:
            return _elmo_vectors(context, files, sentences, say)
        return _transformer_vectors(
            context, transformer, sentences, device=device, precision=precision, say=say
        )

    train_vectors = contextual_vectors(train)
    dev_vectors = contextual_vectors(dev) if dev else None
    return recipe, Sources(vectors, transformer, train_vectors, dev_vectors, lexicon, key)


def collect_words(sentences: Sequence[Sentence]) -> set[str]:
    """Return all forms, and all forms in lower case."""
    forms = {form for sentence in sentences for form in sentence.form}
    return forms | set(map(str.lower, forms))


def _rows(sizes: np.ndarray, indices: Sequence[int]) -> np.ndarray:
    """Return the rows of these sentences in a Dataset, after row 0, which is padding."""
    starts = 1 + np.cumsum(sizes) - sizes
    spans = [np.arange(starts[i], starts[i] + sizes[i]) for i in indices]
    return np.concatenate(([0], *spans)).astype(np.int64)


def make_vector_table(vectors: WordVectors, scale: bool) -> np.ndarray:
    """Make the table of pretrained vectors, one row per symbol of the table "vectors".

    Padding and w0 have zeros, the unknown word has the mean of all vectors. scale: divide by the
    standard deviation of all numbers, as in the code of Li et al. (2019).
    """
    zeros = np.zeros_like(vectors.mean)
    table = np.concatenate((np.stack((zeros, vectors.mean, zeros)), vectors.matrix))
    if scale and vectors.std > 0:
        table /= vectors.std
    return table


def _digest_of_vectors(vectors: WordVectors) -> str:
    matrix, mean = (np.ascontiguousarray(array).data for array in (vectors.matrix, vectors.mean))
    return digest("\n".join(vectors.words), matrix, mean, repr(vectors.std))


def _describe_files(context: Context, files: Sequence[VectorFile]) -> tuple[Context, str]:
    """Complete the settings by the layers and width of the files; also return the files' digest.

    Raises ConfigError if layers or width differ.
    """
    shapes = [describe_features(file.path) for file in files]
    for file, shape in zip(files, shapes, strict=True):
        if (shape.layers, shape.width) != (shapes[0].layers, shapes[0].width):
            raise ConfigError(
                f"{file.path} has {shape.layers} layers of {shape.width} numbers, but"
                f" {files[0].path} has {shapes[0].layers} layers of {shapes[0].width};"
                " all files must have the same number of layers and the same width"
            )
    key = digest_files(file.path for file in files)
    return replace(context, available=shapes[0].layers, width=shapes[0].width), key


def _limit_layers(context: Context, files: Sequence[VectorFile]) -> Context:
    """Lower the default of `top` to the number of layers.

    Raises ConfigError if another value of `top` exceeds it.
    """
    if context.source == "none" or context.top <= context.available:
        return context
    if context.layers == "single" or context.top != Context.top:
        name = files[0].path if files else context.model
        raise ConfigError(
            f"inputs.context.top is {context.top}, but {name} has {context.available} layers;"
            f" set it to {context.available} or less"
        )
    return replace(context, top=context.available)


def _elmo_vectors(
    context: Context, files: Sequence[VectorFile], sentences: Sequence[Sentence], say: Say
) -> np.ndarray:
    """Return the ELMo vectors of sentences, from the files that contain any of them."""
    indices = {id(sentence): i for i, sentence in enumerate(sentences)}
    files = [file for file in files if any(id(sentence) in indices for sentence in file.sentences)]
    stats = [(os.stat(file.path), os.path.realpath(file.path)) for file in files]
    key = "".join(f"{path} {stat.st_size} {stat.st_mtime_ns}\n" for stat, path in stats)

    def produce() -> Iterator[tuple[int, np.ndarray]]:
        for file in files:
            vectors = read_features(file.path, file.sentences, context.layers, context.top)
            for sentence, layers in zip(file.sentences, vectors, strict=True):
                if id(sentence) in indices:
                    yield indices[id(sentence)], layers

    forms = digest_forms(sentence.form for sentence in sentences)
    key = f"elmo {key} {context.layers} {context.top} {forms}"
    try:
        return load_or_compute(key, layout(sentences)[0], _shape(context), produce, report=say)
    except RangeError as error:
        raise FormatError(
            *sentences[error.sentence].location(),
            f"the ELMo vectors of the sentence {error.problem}; divide all vectors by the same"
            " number",
        ) from None


def _transformer_vectors(
    context: Context,
    transformer: Transformer,
    sentences: Sequence[Sentence],
    *,
    device: torch.device,
    precision: torch.dtype,
    say: Say,
) -> np.ndarray:
    """Return the vectors that a frozen transformer computes for sentences."""
    sizes, starts = layout(sentences)

    def produce() -> Iterator[tuple[int, np.ndarray]]:
        make_pieces = make_piece_batcher(sentences, transformer, context)
        for indices in length_batches(sizes, BATCH_TOKENS):
            length = rounded_length(int(sizes[indices].max()))
            pieces = make_pieces(starts[indices], sizes[indices], length)
            batch = send_batch(Batch(sizes[indices], length, 0, pieces), device)
            with autocast(device, precision), torch.inference_mode():
                layers = context_layers(transformer, context, batch)
            for index, vectors in zip(indices.tolist(), layers.float().cpu().numpy(), strict=True):
                yield index, vectors[: sizes[index]]

    forms = digest_forms(sentence.form for sentence in sentences)
    key = (
        f"{transformer.digest} {context.layers} {context.top} {context.pooling} {context.overlap}"
        f" {precision} {forms}{f' {context.depth}' if context.depth else ''}"
    )
    try:
        return load_or_compute(key, sizes, _shape(context), produce, report=say)
    except RangeError as error:
        raise FormatError(
            *sentences[error.sentence].location(),
            f"the sentence's vectors from the transformer {context.model} {error.problem}; read"
            " other layers (inputs.context.layers, inputs.context.top), or set"
            " inputs.context.tune=true, with which vectors are not stored",
        ) from None


def _shape(context: Context) -> tuple[int, int]:
    """Return the number of layers and the width of a word's contextual vectors."""
    layers = (context.top or context.available) if context.layers == "mix" else 1
    return layers, context.width
