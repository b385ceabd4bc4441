import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import FormatError
from depkit.parsers.inputs.elmo import Shape, describe_features, read_features

SIZES = (4, 1, 3)


def sentences(*sizes: int) -> Iterator[Sentence]:
    for size in sizes or SIZES:
        yield new_sentence(["word"] * size)


def arrays(*sizes: int, layers: int = 3, width: int = 5) -> list[Any]:
    """Return [layers, words, width] for each sentence; all values of a sentence differ."""
    return [
        100.0 * np.arange(1, layers + 1)[:, None, None]
        + 10 * np.arange(size)[:, None]
        + np.arange(width)
        for size in sizes or SIZES
    ]


def store(path: Path, datasets: list[Any], **extra_datasets: Any) -> Path:
    h5py = pytest.importorskip("h5py", reason="features need the extra depkit-parser[elmo]")
    with h5py.File(path, "w") as file:
        for index, dataset in enumerate(datasets):
            file[str(index)] = dataset
        for name, dataset in extra_datasets.items():
            file[name] = dataset
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return store(tmp_path / "elmo.hdf5", arrays())


def get_error(path: Path, corpus: Iterator[Sentence] | None = None, count: int = 0) -> str:
    """Return the error after exactly `count` correct sentences, on one line without folders."""
    yielded = 0
    with pytest.raises(FormatError) as caught:
        for _ in read_features(path, corpus or sentences(), "mix", 0):
            yielded += 1
    assert yielded == count
    message = str(caught.value).replace(f"{path.parent}/", "")
    assert "\n" not in message
    return message


def test_single_layer_is_counted_from_the_top(path: Path) -> None:
    for top in (1, 2, 3):
        features = list(read_features(path, sentences(), "single", top))
        for array, stored in zip(features, arrays(), strict=True):
            assert array.dtype == np.float32 and array.flags.c_contiguous
            np.testing.assert_array_equal(array, stored[3 - top][:, None])


@pytest.mark.parametrize(("top", "layer"), [(0, 200), (1, 300), (2, 250), (3, 200)])
def test_average_is_over_the_top_layers(path: Path, top: int, layer: int) -> None:
    first = next(read_features(path, sentences(), "average", top))
    assert first.shape == (4, 1, 5)
    assert first[3, 0].tolist() == [layer + 30 + i for i in range(5)]


@pytest.mark.parametrize(
    ("top", "selected"), [(0, [100, 200, 300]), (1, [300]), (2, [200, 300]), (3, [100, 200, 300])]
)
def test_mix_keeps_the_top_layers_in_order(path: Path, top: int, selected: list[int]) -> None:
    first = next(read_features(path, sentences(), "mix", top))
    assert first.shape == (4, len(selected), 5)
    assert first.flags.c_contiguous
    assert first[2, :, 1].tolist() == [layer + 21 for layer in selected]


@pytest.mark.parametrize("layers", ["single", "average", "mix"])
def test_vectors_without_a_layer_axis_have_one_layer(tmp_path: Path, layers: Any) -> None:
    flat = [array[0].astype(np.float16) for array in arrays()]
    path = store(tmp_path / "elmo.hdf5", flat)
    assert describe_features(path) == Shape(layers=1, width=5, sentences=3)
    features = list(read_features(path, sentences(), layers, 1))
    for expected, array in zip(flat, features, strict=True):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array[:, 0], expected)


def test_order_is_by_number_not_by_name(tmp_path: Path) -> None:
    sizes = range(1, 13)  # "10" comes before "2" among the names
    path = store(tmp_path / "elmo.hdf5", arrays(*sizes))
    features = read_features(path, sentences(*sizes), "single", 1)
    assert [len(array) for array in features] == [*sizes]


def test_the_index_of_allennlp_is_ignored(tmp_path: Path) -> None:
    path = store(tmp_path / "elmo.hdf5", arrays(), sentence_to_index='{"word": "1"}')
    assert describe_features(path) == Shape(3, 5, 3)
    assert len(list(read_features(path, sentences(), "mix", 0))) == 3


def test_sentences_are_read_one_by_one(path: Path) -> None:
    consumed = []

    def corpus() -> Iterator[Sentence]:
        for sentence in sentences():
            consumed.append(len(sentence))
            yield sentence

    features = read_features(path, corpus(), "mix", 0)
    for count in (1, 2, 3):
        next(features)
        assert len(consumed) == count


def test_only_the_selected_layers_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    h5py = pytest.importorskip("h5py")
    read_shapes = []
    original = h5py.Dataset.__getitem__

    def record_shape(self: Any, key: Any, *rest: Any, **options: Any) -> Any:
        values = original(self, key, *rest, **options)
        read_shapes.append(values.shape)
        return values

    monkeypatch.setattr(h5py.Dataset, "__getitem__", record_shape)
    list(read_features(path, sentences(), "average", 2))
    assert read_shapes == [(2, 4, 5), (2, 1, 5), (2, 3, 5)]


def test_describe_features_reads_no_values(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    h5py = pytest.importorskip("h5py")
    monkeypatch.delattr(h5py.Dataset, "__getitem__")
    assert describe_features(path) == Shape(layers=3, width=5, sentences=3)


def test_a_different_number_of_words_is_reported_at_the_sentence(
    path: Path, tmp_path: Path
) -> None:
    rows = [f"{i}\tword" + "\t_" * 8 + "\n" for i in range(1, 5)]
    corpus = tmp_path / "a.conllu"
    corpus.write_text("".join(rows) + "\n# sent_id = s2\n" + "".join(rows[:2]) + "\n")
    message = "a.conllu:7: s2: the sentence has 2 words, but elmo.hdf5:1 has 1"
    assert get_error(path, read(corpus), count=1).replace(f"{tmp_path}/", "") == message


def test_missing_vectors_are_an_error(path: Path) -> None:
    message = 'there is no dataset "3" in elmo.hdf5, which has 3 sentences'
    assert get_error(path, sentences(*SIZES, 2), count=3) == message


def test_superfluous_vectors_are_an_error(path: Path) -> None:
    message = "elmo.hdf5: the file has 3 sentences, but its corpus has 2"
    assert get_error(path, sentences(4, 1), count=2) == message


@pytest.mark.parametrize(
    ("third", "message"),
    [
        (
            arrays(3, layers=2)[0],
            "elmo.hdf5:2 has 2 layers of width 5, but elmo.hdf5:0 has 3 of width 5",
        ),
        (
            arrays(3, width=4)[0],
            "elmo.hdf5:2 has 3 layers of width 4, but elmo.hdf5:0 has 3 of width 5",
        ),
        (np.zeros(3), "elmo.hdf5:2 is [3] of type float64"),
        (np.zeros((3, 3, 5, 1)), "elmo.hdf5:2 is [3, 3, 5, 1] of type float64"),
        (np.zeros((3, 3, 5), dtype=int), "elmo.hdf5:2 is [3, 3, 5] of type int64"),
        ("text", "elmo.hdf5:2 is [] of type object"),
    ],
)
def test_a_sentence_of_another_shape_is_an_error(tmp_path: Path, third: Any, message: str) -> None:
    path = store(tmp_path / "elmo.hdf5", [*arrays(4, 1), third])
    assert get_error(path, count=2).startswith(message)


SCHEME = "the file must have a dataset of floats"


@pytest.mark.parametrize(
    ("first", "extra_datasets", "message"),
    [
        ([np.zeros(3)], {}, f'elmo.hdf5: "0" is [3] of type float64; {SCHEME}'),
        (arrays(4), {"1/inner": np.zeros(2)}, f"elmo.hdf5:1 is not a dataset; {SCHEME}"),
        (
            arrays(4, 1),
            {"3": arrays(3)[0]},
            'there is no dataset "2" in elmo.hdf5, which has 3 sentences',
        ),
        ([], {"other": np.zeros(3)}, f'elmo.hdf5: there is no dataset "0"; {SCHEME}'),
    ],
)
def test_hdf5_files_with_other_contents_are_an_error(
    tmp_path: Path, first: list[Any], extra_datasets: dict[str, Any], message: str
) -> None:
    path = store(tmp_path / "elmo.hdf5", first, **extra_datasets)
    count = 0 if message.startswith("elmo.hdf5: ") else len(first)
    assert get_error(path, count=count).startswith(message)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_numbers_that_are_not_finite_are_an_error(tmp_path: Path, value: float) -> None:
    broken = arrays()
    broken[2][1, 2, 4] = value
    path = store(tmp_path / "elmo.hdf5", broken)
    message = "word 3 has a NaN or an infinite number in elmo.hdf5:2"
    assert get_error(path, count=2) == message


def test_files_that_are_not_hdf5_are_an_error(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(b"word 0.1 0.2\n" * 100)
    message = "elmo.hdf5: the file is not an HDF5 file, or it is incomplete: "
    assert get_error(path) == f"{message}file signature not found"
    path.write_bytes(content[: len(content) // 2])
    assert get_error(path).startswith(f"{message}truncated file")
    with pytest.raises(FormatError, match="truncated"):
        describe_features(path)


def test_a_damaged_sentence_is_an_error(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "elmo.hdf5"
    with h5py.File(path, "w") as file:
        for index, array in enumerate(arrays()):
            file.create_dataset(str(index), data=array, compression="gzip")
        offset = file["1"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert get_error(path, count=1).startswith("elmo.hdf5:1 cannot be read: ")


def link(file: Any, other: Path) -> None:
    import h5py

    file["1"] = h5py.ExternalLink(other, "1")


def link_softly(file: Any, other: Path) -> None:
    import h5py

    file["other"] = h5py.ExternalLink(other, "/")
    file["1"] = h5py.SoftLink("/other/1")


def store_externally(file: Any, other: Path) -> None:
    storage = [(str(other), 0, 60)]
    file.create_dataset("1", (3, 1, 5), "float32", external=storage)


def make_virtual(file: Any, other: Path) -> None:
    import h5py

    layout = h5py.VirtualLayout((3, 1, 5), "float64")
    layout[:] = h5py.VirtualSource(other, "1", (3, 1, 5))
    file.create_virtual_dataset("1", layout)


@pytest.mark.parametrize("refer", [link, link_softly, store_externally, make_virtual])
def test_a_file_reads_no_other_file(tmp_path: Path, path: Path, refer: Any) -> None:
    """The other file is a pipe: opening it would never end."""
    import h5py

    hostile = store(tmp_path / "hostile.hdf5", arrays(4))
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(hostile, "a") as file:
        refer(file, tmp_path / "pipe")
    error = get_error(hostile, sentences(4, 1), count=1)
    assert error.startswith('hostile.hdf5: the dataset "1" refers to data elsewhere; ')
    with h5py.File(hostile, "a") as file:
        del file["0"]
        file.move("1", "0")
    assert 'the dataset "0" refers to data elsewhere' in get_error(hostile, sentences(4))


@pytest.mark.parametrize("sizes", [{"shape": (3, 4, 1 << 40)}, {"chunks": (3, 4, 1 << 26)}])
def test_a_dataset_that_does_not_fit_in_memory_is_refused(tmp_path: Path, sizes: Any) -> None:
    """What was never written takes no place in a file, and zeros take little place."""
    path = store(tmp_path / "large.hdf5", [])
    import h5py

    settings = {"shape": (3, 4, 5), "chunks": (1, 1, 1), "maxshape": (3, 4, None)} | sizes
    with h5py.File(path, "a") as file:
        file.create_dataset("0", dtype="float32", **settings)
    assert "with at most 67,108,864 numbers" in get_error(path)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    for call in (describe_features, lambda path: next(read_features(path, [], "mix", 0))):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "none.hdf5")
        assert caught.value.filename == str(tmp_path / "none.hdf5")


@pytest.mark.parametrize(
    ("layers", "top", "message"),
    [
        ("mix", 4, "top is 4, but .*elmo.hdf5 allows 0 to 3, its layers"),
        ("average", -1, "top is -1, but .* allows 0 to 3"),
        ("single", 0, "top is 0, but .* allows 1 to 3"),
        ("single", 4, "top is 4, but .* allows 1 to 3"),
        ("sum", 1, "layers is 'sum', but must be single, average or mix"),
    ],
)
def test_invalid_layers_are_an_error(path: Path, layers: Any, top: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(read_features(path, sentences(), layers, top))


def test_a_missing_h5py_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"needs h5py: pip install 'depkit-parser\[elmo\]'"):
        describe_features(tmp_path / "elmo.hdf5")
