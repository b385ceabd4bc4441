"""Word vectors computed beforehand, ELMo's say, from an HDF5 file: a dataset a sentence.

The datasets are named "0", "1", ... in the order of the corpus, each [layers, words, width],
as AllenNLP's `elmo` command and bilm-tf's `dump_bilm_embeddings` write them (Peters et al.
2018, Deep contextualized word representations); [words, width] is one layer.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike
from depkit.corpus.sentence import Sentence

if TYPE_CHECKING:
    from h5py import File

Layers = Literal["single", "average", "mix"]

_SCHEME = "a dataset a sentence, named 0, 1, ..., each [layers, words, width]"


@dataclass(frozen=True)
class Shape:
    """Of a file of features: layers and width of every sentence, and how many sentences."""

    layers: int
    width: int
    sentences: int


def read_features(
    path: PathLike, sentences: Iterable[Sentence], layers: Layers, top: int
) -> Iterator[np.ndarray]:
    """The features of each sentence, in order: [words, kept layers, width] float32.

    layers: "single" keeps the top-th layer from the top (1 is the last), "average" the mean
    of the `top` last layers, "mix" those layers side by side; 0 stands for all in these two.
    One sentence is held at a time, and only the layers asked for are read.
    Raises FormatError at the first sentence that the file does not fit, and, once the
    sentences have ended, if the file goes on; ValueError for layers that are not there and
    where there is no h5py; OSError.
    """
    with _opened(path) as file:
        shape = _shape(file)
        kept = _kept(layers, top, shape.layers, file.filename)
        count = 0
        for sentence in sentences:
            features = _of_sentence(file, count, shape, kept, sentence)
            yield features.mean(axis=1, keepdims=True) if layers == "average" else features
            count += 1
        if count != shape.sentences:
            message = f"{shape.sentences} sentences here, {count} in the data they are for"
            raise FormatError(file.filename, 0, "", message)


def describe_features(path: PathLike) -> Shape:
    """Layers and width, of the first sentence; and how many sentences, without reading them.

    Raises FormatError, ValueError where there is no h5py, OSError.
    """
    with _opened(path) as file:
        return _shape(file)


@contextmanager
def _opened(path: PathLike) -> Iterator["File"]:
    """The HDF5 file, to be read."""
    try:
        import h5py
    except ModuleNotFoundError:
        raise ValueError("reading features needs h5py: pip install 'depkit[elmo]'") from None
    name = os.fspath(path)
    open(name, "rb").close()  # says what the system says; HDF5's own words are for programmers
    try:
        file = h5py.File(name, "r")
    except OSError as error:
        raise FormatError(name, 0, "", f"not an HDF5 file, or not whole: {_why(error)}") from None
    with file:
        yield file


def _shape(file: "File") -> Shape:
    """As the first dataset has it; the others are counted by their names."""
    name = file.filename
    first = file.get("0")
    if first is None:
        raise FormatError(name, 0, "", f'no dataset "0" in it; features are {_SCHEME}')
    sizes = _sizes(first)
    if sizes is None:
        raise FormatError(name, 0, "", _odd(first, "0"))
    layers, _, width = sizes
    # AllenNLP's sentence_to_index is a text and no sentence
    return Shape(layers, width, sum(key.isdecimal() for key in file))


def _sizes(dataset: Any) -> tuple[int, int, int] | None:
    """Layers, words and width of a sentence's dataset; None if it is none."""
    size = getattr(dataset, "shape", None) or ()  # a group has none
    if len(size) not in (2, 3) or dataset.dtype.kind != "f":
        return None
    layers, words, width = size if len(size) == 3 else (1, *size)
    return layers, words, width


def _odd(dataset: Any, place: str) -> str:
    """What to say of a dataset that is no sentence's."""
    if getattr(dataset, "shape", None) is None:
        return f"{place} is no dataset; features are {_SCHEME}"
    size = ", ".join(map(str, dataset.shape))
    return f"{place} is [{size}] of type {dataset.dtype}; features are {_SCHEME} of floats"


def _kept(layers: Layers, top: int, count: int, name: str) -> slice:
    """Which of `count` layers are to be read."""
    if layers not in ("single", "average", "mix"):
        raise ValueError(f"layers is {layers!r}, not single, average or mix")
    least = 1 if layers == "single" else 0
    if not least <= top <= count:
        raise ValueError(f"top is {top}, not {least} to {count}, the layers of {name}")
    first = count - (top or count)
    return slice(first, first + 1 if layers == "single" else count)


def _of_sentence(
    file: "File", number: int, shape: Shape, kept: slice, sentence: Sentence
) -> np.ndarray:
    """The [words, kept layers, width] of a sentence by its number; FormatError at its place."""
    name = file.filename
    place = f"{name}:{number}"

    def error(message: str, word: int = 0) -> FormatError:
        return FormatError(*sentence.place(word), message)

    try:
        dataset = file.get(str(number))
        if dataset is None:
            raise error(f'no dataset "{number}" in {name}, which has {shape.sentences} sentences')
        sizes = _sizes(dataset)
        if sizes is None:
            raise error(_odd(dataset, place))
        layers, words, width = sizes
        if words != len(sentence):
            raise error(f"{len(sentence)} words here, {words} in {place}")
        if (layers, width) != (shape.layers, shape.width):
            there = f"{layers} layers of width {width} in {place}"
            raise error(f"{there}, {shape.layers} of {shape.width} in {name}:0")
        read = dataset[kept] if len(dataset.shape) == 3 else dataset[:][None]
    except (OSError, RuntimeError) as damage:
        raise error(f"{place} cannot be read: {_why(damage)}") from None
    with np.errstate(over="ignore"):  # doubles beyond float32 become infinite
        features = np.ascontiguousarray(read.swapaxes(0, 1), dtype=np.float32)
    finite = np.isfinite(features).all(axis=(1, 2))
    if not finite.all():
        word = int(finite.argmin())
        raise error(f"word {word + 1} has a NaN or an infinite number in {place}", word)
    return features


def _why(error: Exception) -> str:
    """The cause that HDF5 gives in brackets."""
    text = " ".join(str(error).split())
    return text.partition(" (")[2].removesuffix(")") or text
