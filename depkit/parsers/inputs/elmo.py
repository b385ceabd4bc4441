"""Reading of precomputed contextual vectors, such as ELMo's, from HDF5 files.

A file has one dataset per sentence. The datasets are named "0", "1", ... in the order of the corpus
and have shape [layers, words, width], as AllenNLP's `elmo` command and bilm-tf's
`dump_bilm_embeddings` write them (Peters et al. 2018, Deep contextualized word representations).
A dataset of shape [words, width] has one layer.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.inputs.context import Layers

if TYPE_CHECKING:
    from h5py import Dataset, File, Group

_MAX_NUMBERS = 1 << 26  # in the vectors of a sentence, and in a block that is compressed as a whole

_SCHEME = (
    "the file must have a dataset of floats [layers, words, width] for each sentence, named"
    f" 0, 1, ..., with at most {_MAX_NUMBERS:,} numbers"
)

_DAMAGE = (OSError, RuntimeError, LookupError, TypeError, ValueError)  # what h5py raises


@dataclass(frozen=True)
class Shape:
    """The shape of a file: layers and width of every sentence, and the number of sentences."""

    layers: int
    width: int
    sentences: int


def read_features(
    path: PathLike, sentences: Iterable[Sentence], layers: Layers, top: int
) -> Iterator[np.ndarray]:
    """Read the contextual vectors of each sentence, in order.

    Only one sentence at a time is in memory, and only the selected layers are read.

    Args:
        path: The HDF5 file.
        sentences: The sentences that the file was made for.
        layers: "single" selects one layer, "average" the mean of several layers, "mix" several
            layers, which are not combined.
        top: For "single", the layer, counted from the top (1 is the last); for the others, the
            number of layers from the top, with 0 for all.

    Yields:
        For each sentence an array [words, selected layers, width] float32.

    Raises:
        FormatError: The file does not match a sentence, or has more sentences.
        ValueError: The layers do not exist, or h5py is not installed.
        OSError: The file cannot be read.
    """
    with _open_hdf5(path) as file:
        shape = _read_shape(file)
        selected = _select_layers(layers, top, shape.layers, file.filename)
        count = 0
        for sentence in sentences:
            features = _read_sentence(
                file, count, shape=shape, selected=selected, sentence=sentence
            )
            yield features.mean(axis=1, keepdims=True) if layers == "average" else features
            count += 1
        if count != shape.sentences:
            message = f"the file has {shape.sentences} sentences, but its corpus has {count}"
            raise FormatError(file.filename, 0, "", message)


def describe_features(path: PathLike) -> Shape:
    """Read the layers and width of the first sentence and count the sentences of a file.

    Raises FormatError, OSError, and ValueError if h5py is not installed.
    """
    with _open_hdf5(path) as file:
        return _read_shape(file)


@contextmanager
def _open_hdf5(path: PathLike) -> Iterator["File"]:
    try:
        import h5py
    except ModuleNotFoundError:
        raise ValueError("reading features needs h5py: pip install 'depkit-parser[elmo]'") from None
    name = os.fspath(path)
    open(name, "rb").close()  # The system's errors are easier to understand than HDF5's.
    try:
        file = h5py.File(name, "r")
    except OSError as error:
        message = f"the file is not an HDF5 file, or it is incomplete: {_get_reason(error)}"
        raise FormatError(name, 0, "", message) from None
    with file:
        yield file


def _read_shape(file: "File") -> Shape:
    """Return the shape of the first dataset and the number of datasets named like sentences."""
    name = file.filename
    try:
        first = _get_dataset(file, "0")
        if first is None:
            raise FormatError(name, 0, "", f'there is no dataset "0"; {_SCHEME}')
        sizes = _dataset_sizes(first)
        if sizes is None:
            raise FormatError(name, 0, "", _describe_mismatch(first, '"0"'))
        layers, _, width = sizes
        # AllenNLP adds a dataset `sentence_to_index`, which is not a sentence.
        return Shape(layers, width, sum(key.isdecimal() for key in file))
    except FormatError:
        raise
    except _DAMAGE as error:
        message = f"the file is damaged: {_get_reason(error)}"
        raise FormatError(name, 0, "", message) from None


def _get_dataset(file: "File", name: str) -> "Dataset | Group | None":
    """Return the dataset with a name; None if there is none.

    Raises FormatError, before another file is opened, if the data are not in this file: a link, a
    dataset in external storage and a virtual dataset can name any file.
    """
    from h5py import Dataset, HardLink

    link = file.get(name, getlink=True)
    if link is None:
        return None
    dataset = file.get(name) if isinstance(link, HardLink) else None
    is_elsewhere = isinstance(dataset, Dataset) and (dataset.is_virtual or dataset.external)
    if dataset is None or is_elsewhere:
        message = f'the dataset "{name}" refers to data elsewhere; store its numbers in the file'
        raise FormatError(file.filename, 0, "", message)
    return dataset


def _dataset_sizes(dataset: Any) -> tuple[int, int, int] | None:
    """Return the layers, words and width of a dataset; None if it cannot be a sentence's."""
    size = getattr(dataset, "shape", None) or ()  # A group has no shape.
    if len(size) not in (2, 3) or dataset.dtype.kind != "f":
        return None
    if max(prod(size), prod(dataset.chunks or ())) > _MAX_NUMBERS:
        return None
    layers, words, width = size if len(size) == 3 else (1, *size)
    return layers, words, width


def _describe_mismatch(dataset: Any, location: str) -> str:
    """Return a message about a dataset or group that cannot be a sentence's."""
    if getattr(dataset, "shape", None) is None:
        return f"{location} is not a dataset; {_SCHEME}"
    size = ", ".join(map(str, dataset.shape))
    return f"{location} is [{size}] of type {dataset.dtype}; {_SCHEME}"


def _select_layers(layers: Layers, top: int, count: int, name: str) -> slice:
    """Return the slice of `count` layers to be read. Raises ValueError for invalid settings."""
    if layers not in ("single", "average", "mix"):
        raise ValueError(f"layers is {layers!r}, but must be single, average or mix")
    minimum = 1 if layers == "single" else 0
    if not minimum <= top <= count:
        raise ValueError(f"top is {top}, but {name} allows {minimum} to {count}, its layers")
    first = count - (top or count)
    return slice(first, first + 1 if layers == "single" else count)


def _read_sentence(
    file: "File", number: int, *, shape: Shape, selected: slice, sentence: Sentence
) -> np.ndarray:
    """Read the [words, selected layers, width] of a sentence. Raises FormatError at its line."""
    name = file.filename
    location = f"{name}:{number}"

    def error(message: str, word: int = 0) -> FormatError:
        return FormatError(*sentence.location(word), message)

    try:
        dataset = _get_dataset(file, str(number))
        if dataset is None:
            message = f'there is no dataset "{number}" in {name}'
            raise error(f"{message}, which has {shape.sentences} sentences")
        sizes = _dataset_sizes(dataset)
        if sizes is None:
            raise error(_describe_mismatch(dataset, location))
        layers, words, width = sizes
        if words != len(sentence):
            raise error(f"the sentence has {len(sentence)} words, but {location} has {words}")
        if (layers, width) != (shape.layers, shape.width):
            actual = f"{location} has {layers} layers of width {width}"
            raise error(f"{actual}, but {name}:0 has {shape.layers} of width {shape.width}")
        values = dataset[selected] if len(dataset.shape) == 3 else dataset[:][None]
    except FormatError:
        raise
    except _DAMAGE as cause:
        raise error(f"{location} cannot be read: {_get_reason(cause)}") from None
    with np.errstate(over="ignore"):  # Doubles beyond the range of float32 become infinite.
        features = np.ascontiguousarray(values.swapaxes(0, 1), dtype=np.float32)
    finite = np.isfinite(features).all(axis=(1, 2))
    if not finite.all():
        word = int(finite.argmin())
        raise error(f"word {word + 1} has a NaN or an infinite number in {location}", word)
    return features


def _get_reason(error: Exception) -> str:
    """Return the reason in brackets at the end of an HDF5 error message, or the whole message."""
    text = " ".join(str(error).split())
    return text.partition(" (")[2].removesuffix(")") or text
