"""Word vectors are read as they were written, in every format, or an error gives the reason."""

import bz2
import gzip
import lzma
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depkit.files.errors import FormatError
from depkit.parsers.inputs import word_vectors as vectors
from depkit.parsers.inputs.word_vectors import read_vectors

MATRIX = np.array([[0.25, -1, 3e-3], [4, 0.1, -0.7], [1e-7, 12345.5, 0]], np.float32)
WORDS = ["the", "Ünï", "."]
GLOVE = b"the 0.1 0.2\nof -0.3 4\n"


def text(words, matrix, header=False, separator=" ", tail="", end="\n") -> bytes:
    rows = [f"{len(words)} {matrix.shape[1]}"] if header else []
    for word, numbers in zip(words, matrix, strict=True):
        rows.append(separator.join([word, *(repr(float(x)) for x in numbers)]) + tail)
    return "".join(row + end for row in rows).encode()


def binary(words, matrix, end=b"") -> bytes:
    rows = [
        word.encode() + b" " + numbers.astype("<f4").tobytes() + end
        for word, numbers in zip(words, matrix, strict=True)
    ]
    return b"%d %d\n" % matrix.shape + b"".join(rows)


FORMATS = {
    "glove": lambda words, matrix: text(words, matrix),
    "no last newline": lambda words, matrix: text(words, matrix)[:-1],
    "word2vec": lambda words, matrix: text(words, matrix, header=True),
    "fasttext": lambda words, matrix: text(words, matrix, header=True, tail=" "),
    "tabs": lambda words, matrix: text(words, matrix, separator="\t"),
    "tabs with header": lambda words, matrix: text(words, matrix, header=True, separator="\t"),
    "spaces": lambda words, matrix: text(words, matrix, separator="  "),
    "dos": lambda words, matrix: text(words, matrix, header=True, end="\r\n"),
    "blank lines": lambda words, matrix: text(words, matrix, end="\n \n"),
    "byte order mark": lambda words, matrix: b"\xef\xbb\xbf" + text(words, matrix, header=True),
    "binary": lambda words, matrix: binary(words, matrix),
    "binary lines": lambda words, matrix: binary(words, matrix, b"\n"),
}


def save(tmp_path, data: bytes, name="vectors"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def save_compressed(path, data: bytes):
    """Compress data as the suffix of the path says; a zip archive gets it in a folder."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("folder")
            archive.writestr("folder/a.txt", data)
    else:
        module = {".gz": gzip, ".xz": lzma, ".bz2": bz2}[path.suffix.lower()]
        path.write_bytes(module.compress(data))
    return path


def check(result, words, matrix) -> None:
    assert (result.words, result.notes) == (words, [])
    assert result.count == len(matrix)
    assert result.matrix.dtype == result.mean.dtype == np.float32
    assert np.array_equal(result.matrix, matrix)
    wide = matrix.astype(np.float64)
    np.testing.assert_allclose(
        result.mean, wide.mean(0), rtol=1e-6, atol=1e-12 * abs(wide).max() + 1e-44
    )
    np.testing.assert_allclose(result.std, wide.std(), rtol=1e-9, atol=1e-9 * abs(wide).max())


def get_error(path) -> str:
    """Return the error message about a file without its name; it must be one line."""
    with pytest.raises(FormatError) as caught:
        read_vectors(path)
    assert caught.value.file == str(path)
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(f"{path}:").strip()


@pytest.mark.parametrize("format", FORMATS)
def test_formats_are_recognised_by_content(tmp_path, format):
    path = save(tmp_path, FORMATS[format](WORDS, MATRIX))
    check(read_vectors(path), WORDS, MATRIX)
    check(read_vectors(str(path)), WORDS, MATRIX)


@pytest.mark.parametrize("format", ["glove", "binary"])
@pytest.mark.parametrize("name", ["a.gz", "a.xz", "a.bz2", "A.BZ2", "a.zip"])
def test_compressed_files_are_read(tmp_path, format, name):
    data = FORMATS[format](WORDS, MATRIX)
    check(read_vectors(save_compressed(tmp_path / name, data)), WORDS, MATRIX)


def test_files_in_zip_archives_are_read_by_name(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.50d.txt", b"the 1\n")
        archive.writestr("b/a.100d.txt", text(WORDS, MATRIX))
    check(read_vectors(f"{path}:b/a.100d.txt"), WORDS, MATRIX)
    message = f"the archive contains 2 files; name one, for example {path}:a.50d.txt"
    assert get_error(path) == f"{message} (a.50d.txt, b/a.100d.txt)"
    assert "no such file in the archive, which contains a.50d.txt, b/" in get_error(f"{path}:c.txt")
    member = save(tmp_path, text(WORDS, MATRIX), "b.zip:x")  # such a file takes precedence
    check(read_vectors(member), WORDS, MATRIX)
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    message = "there is no such file in the archive, which contains no files"
    assert get_error(tmp_path / "empty.zip") == message


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (6, 99, "zip file version 9.9"),
        (10, 77, "compression method is not supported"),
        (8, 1, "is encrypted"),
        (8, 32, "patched data"),
        (46, 255, "can't decode byte 0xff"),
        (45, 255, "Truncated file header"),
        (67, 255, "Invalid argument"),  # the offset of the directory
    ],
)
def test_zip_archives_of_unknown_kinds_are_an_error(tmp_path, offset, value, reason):
    """The offsets are in the entry of the archive's directory."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", FORMATS["glove"](WORDS, MATRIX))
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\1\2")
    content[entry + 9] |= 8  # The name is in UTF-8.
    content[entry + offset] = value
    path.write_bytes(content)
    error = get_error(path)
    assert error.startswith("the archive") and reason in error


@pytest.mark.parametrize("name", ["a.gz", "a.xz", "a.bz2", "a.zip"])
@pytest.mark.parametrize("damage", ["truncated", "not compressed"])
def test_damaged_archives_are_reported(tmp_path, name, damage):
    data = text([f"word{i}" for i in range(3000)], np.random.default_rng(1).normal(size=(3000, 4)))
    path = save_compressed(tmp_path / name, data)
    content = bytearray(path.read_bytes())
    if name == "a.zip":
        content[len(content) // 2] ^= 0xFF  # A truncated zip file has no directory.
    else:
        del content[-len(content) // 10 :]
    path.write_bytes(content if damage == "truncated" else data)
    assert get_error(path).startswith("the archive is damaged: ")


def test_missing_files_are_not_found(tmp_path):
    for name in ("a.txt", "a.gz", "a.bz2", "a.zip", "a.zip:b"):
        with pytest.raises(FileNotFoundError):
            read_vectors(tmp_path / name)


def test_words_with_spaces_or_digits_are_read(tmp_path):
    words = [". . .", "at name@domain.com", "nan", "12", "a\u00a0b", "\u2028", "\u0085", "of nan"]
    matrix = np.arange(2.0 * len(words), dtype=np.float32).reshape(-1, 2)
    for header in (False, True):
        for tail in ("", " "):
            path = save(tmp_path, text(words, matrix, header, tail=tail))
            check(read_vectors(path), words, matrix)


def test_two_integers_are_a_header(tmp_path):
    assert read_vectors(save(tmp_path, b"the 0.1\n5 3\n")).words == ["the", "5"]
    result = read_vectors(save(tmp_path, b"2 1\n5 3\n6 4\n"))
    assert (result.words, result.count, result.notes) == (["5", "6"], 2, [])


def test_headers_with_wrong_counts_are_noted(tmp_path):
    for announced in (1, 3):
        result = read_vectors(save(tmp_path, b"%d 2\n" % announced + GLOVE))
        assert result.words == ["the", "of"]
        assert result.notes == [f"the header announces {announced} rows, but there are 2"]
    data = binary(WORDS, MATRIX, b"\n")
    result = read_vectors(save(tmp_path, data.replace(b"3 3", b"2 3", 1)))
    assert (result.words, result.count) == (WORDS[:2], 2)
    assert result.notes == [
        "the file continues after the 2 rows that its header announces; the rest is ignored"
    ]


def test_duplicate_words_are_ignored_and_noted(tmp_path):
    words = ["x", "y", "x", "z", "y", "x", 'q"', 'q"']
    matrix = np.arange(16, dtype=np.float32).reshape(-1, 2)
    note = "4 rows repeat earlier words and are ignored"
    note += ': "x" at line 3, "y" at line 5, "x" at line 6'
    result = read_vectors(save(tmp_path, text(words, matrix)))
    assert (result.words, result.notes) == (["x", "y", "z", 'q"'], [f"{note}, ..."])
    assert np.array_equal(result.matrix, matrix[[0, 1, 3, 6]])
    assert result.count == 8
    assert np.array_equal(result.mean, matrix.mean(0))
    assert result.std == pytest.approx(matrix.std())
    result = read_vectors(save(tmp_path, binary(words, matrix)), {'q"', "z"})
    assert (result.words, result.count) == (["z", 'q"'], 8)
    assert result.notes == ['1 row repeats an earlier word and is ignored: "q\\"" at row 8']


def test_unreadable_words_are_ignored_and_noted(tmp_path):
    rows = [b"caf\xe9 9 9", b"the 1 2", b" 9 9", b"\xed\xa0\x80 9 9", b"of 3 4"]
    expected = "rows whose word is empty or not UTF-8 are ignored: 3, the first at line "
    for header, first in ((b"", 1), (b"5 2\n", 2)):
        result = read_vectors(save(tmp_path, header + b"\n".join(rows)))
        assert (result.words, result.notes) == (["the", "of"], [f"{expected}{first}"])
        assert (result.count, result.mean.tolist()) == (2, [2, 3])
    data = binary(["caf?", "the"], MATRIX[:2]).replace(b"?", b"\xe9")
    assert read_vectors(save(tmp_path, data)).notes == [expected.replace("3", "1")[:-5] + "row 1"]
    assert get_error(save(tmp_path, rows[0])) == NO_VECTORS


ADVICE = "; correct or remove the line"
NO_VECTORS = "there are no word vectors; is this the right file?"
QUESTION = "; is this a file of word vectors?"
INVALID = ["a", "nan", "1,5", "1_5", "-inf", "1e39", "0x1f", "\x1b[1m"]
ERRORS = {
    **dict.fromkeys((b"2 2\n", b"2 2", b"\n \n", b""), NO_VECTORS),
    **{GLOVE + f"to 1 {x}\n".encode(): f"3: {x!r} is not a finite number{ADVICE}" for x in INVALID},
    GLOVE + b"to 1\n": f"3: the line has 1 number, but the first row has 2{ADVICE}",
    GLOVE + b"to 1 2 3\n": f"3: the line has 3 numbers, but the first row has 2{ADVICE}",
    GLOVE + b"\nto\n": f"4: the line has 0 numbers, but the first row has 2{ADVICE}",
    GLOVE + b"to a 1\n": f"3: 'a' is not a finite number{ADVICE}",
    GLOVE + b"to 1 a 2\n": f"3: 'a' is not a finite number{ADVICE}",
    GLOVE + b"to 1 \xff" + b"a" * 99: f"3: '\ufffd{'a' * 29}...' is not a finite number{ADVICE}",
    b"the 0.1 a 2\n": f"1: 'a' is not a finite number{ADVICE}",
    b"2 3\n" + GLOVE: f"2: the line has 2 numbers, but the header announces 3{ADVICE}",
    b"2 2\nthe 0.1 a\n": f"2: 'a' is not a finite number{ADVICE}",
    b"2 0\n" + GLOVE: "1: the header announces 0 numbers per word; correct the header",
    b"2 999999999\n" + GLOVE:
        "1: the header announces 999999999 numbers per word; correct the header",
    b"\xba\x16\x4f\x2f\x0c\0\0\0":
        "this is a fastText model; use the .vec file with its vectors instead",
    b"1\tA\ta\tDET\t_\t_\t0\troot\t_\t_\n":
        f"1: the line is not a word with numbers, as it ends in '_'{QUESTION}",
    b"# text = A b\n":
        f"1: the line is not a word with numbers, as it ends in 'b'{QUESTION}",
    b"word": f"1: the line is not a word with numbers, as it ends in 'word'{QUESTION}",
}  # fmt: skip


@pytest.mark.parametrize("data", ERRORS)
def test_errors_are_reported_with_their_line(tmp_path, data):
    assert get_error(save(tmp_path, data)) == ERRORS[data]


def test_errors_in_later_chunks_are_reported_with_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "_CHUNK", 1 << 10)
    rows = [b"word%d 0.5 0.25" % i for i in range(1000)]
    rows[776] += b" 7"
    assert get_error(save(tmp_path, b"\n".join(rows))).startswith(
        "777: the line has 3 numbers, but the first"
    )
    rows[776] = b"\xff 0.5 0.25"
    result = read_vectors(save(tmp_path, b"\r\n".join([b"1000 2", *rows])))
    assert (len(result.words), len(result.notes)) == (999, 1)
    assert result.notes[0].endswith("the first at line 778")


def test_too_long_lines_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "_CHUNK", 1 << 10)
    monkeypatch.setattr(vectors, "_MAX_ROW_LENGTH", 1 << 12)
    expected = "1: the line is too long for word vectors; is this the right file?"
    assert get_error(save(tmp_path, b"x" * 9000)) == expected


def test_truncated_binary_files_are_reported(tmp_path):
    data = binary(["the", "of", "to"], MATRIX)
    second = data.index(b"of ")
    ends = {
        second: "row 2 of 3, at its start",
        second + 2: "row 2 of 3, after 0 of 12 bytes of the numbers of 'of'",
        second + 3: "row 2 of 3, after 0 of 12 bytes of the numbers of 'of'",
        len(data) - 1: "row 3 of 3, after 11 of 12 bytes of the numbers of 'to'",
    }
    for end, where in ends.items():
        expected = f"the file ends in {where}; download it again"
        assert get_error(save(tmp_path, data[:end])) == expected


def test_damaged_binary_files_are_reported(tmp_path):
    for number in (np.nan, np.inf):
        matrix = MATRIX.copy()
        matrix[1, 2] = number
        expected = "row 2, 'Ünï', has a number that is not finite; "
        assert get_error(save(tmp_path, binary(WORDS, matrix))).startswith(expected)
    data = binary(WORDS, MATRIX).replace(b"3 3", b"3 4", 1)  # the header's width is wrong
    assert get_error(save(tmp_path, data)).endswith("the file is damaged or its header is wrong")
    data = b"3 3\nthe " + bytes(12) + b"x" * (1 << 17)
    assert "row 2 begins with 'xxxxx" in get_error(save(tmp_path, data))


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_not_vectors(tmp_path, seed):
    data = np.random.default_rng(seed).bytes(20000)
    for start in (b"", b"100 50\n"):
        assert get_error(save(tmp_path, start + data))


random_words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\0"), min_size=1
)
random_shapes = st.tuples(st.integers(1, 12), st.integers(1, 5))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), shape=random_shapes, format=st.sampled_from(list(FORMATS)))
def test_random_vectors_are_read_as_written(tmp_path, monkeypatch, data, shape, format):
    rows, width = shape
    words = data.draw(st.lists(random_words, min_size=rows, max_size=rows, unique=True))
    words[0] = "first"  # without a byte order mark
    number = st.floats(width=32, allow_nan=False, allow_infinity=False)
    flat = data.draw(st.lists(number, min_size=rows * width, max_size=rows * width))
    matrix = np.array(flat, np.float32).reshape(shape)
    matrix[0] = -0.0  # in binary it has bytes that are not text
    monkeypatch.setattr(vectors, "_CHUNK", data.draw(st.integers(40, 200)))
    path = save(tmp_path, FORMATS[format](words, matrix))
    check(read_vectors(path), words, matrix)
    vocabulary = set(data.draw(st.lists(st.sampled_from(words)))) | {"absent"}
    selected = read_vectors(path, vocabulary)
    selected_rows = [row for row, word in enumerate(words) if word in vocabulary]
    assert selected.words == [words[row] for row in selected_rows]
    assert np.array_equal(selected.matrix, matrix[selected_rows])
    assert selected.matrix.shape == (len(selected_rows), width)


def test_statistics_are_precise_and_include_all_rows(tmp_path):
    matrix = np.random.default_rng(2).normal(1000, 1e-2, (20000, 8)).astype(np.float32)
    words = [f"word{i}" for i in range(len(matrix))]
    path = save(tmp_path, binary(words, matrix))
    complete = read_vectors(path)
    check(complete, words, matrix)
    for vocabulary in (set(words[5:7]), set()):
        selected = read_vectors(path, vocabulary)
        assert selected.words == [word for word in words if word in vocabulary]
        assert np.array_equal(selected.mean, complete.mean)
        assert (selected.std, selected.count) == (complete.std, complete.count)
        assert np.array_equal(selected.matrix, complete.matrix[5:7][: len(vocabulary)])


# Peak memory is measured in a new process, because that of the test process includes other tests.
MEASURE = """
import re, sys
from depkit.parsers.inputs.word_vectors import read_vectors
def peak():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) * 1024
before = peak()
read = read_vectors(sys.argv[1])
print(peak() - before, read.matrix.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("format", ["binary", "text"])
def test_memory_is_hardly_more_than_the_matrix(tmp_path, format):
    if format == "binary":
        matrix = np.arange(40000.0 * 256, dtype=np.float32).reshape(-1, 256)
        data = binary([f"word{i}" for i in range(len(matrix))], matrix)
    else:
        data = b"".join(b"word%d" % i + b" 0" * 1000 + b"\n" for i in range(4000))
    command = [sys.executable, "-c", MEASURE, save(tmp_path, data)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    growth, size = map(int, output.split())
    assert size >= 16e6
    assert growth < 1.6 * size
