"""Members of .zip archives are unpacked in bounded memory."""

import tracemalloc
import zipfile

import pytest

from depkit.files.errors import FormatError
from depkit.parsers.inputs.word_vectors import read_vectors

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", METHODS)
def test_every_compression_is_read(method, tmp_path):
    path = tmp_path / "a.zip"
    text = "".join(f"w{i} {i} 0.5\n" for i in range(50_000))
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.txt", text)
    vectors = read_vectors(path)
    assert vectors.count == 50_000 and vectors.matrix[-1].tolist() == [49_999, 0.5]
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(FormatError):
        read_vectors(path)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_small_member_does_not_fill_the_memory(method, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive, archive.open("a.txt", "w") as file:
        for _ in range(60):
            file.write(b"x" * 1_000_000)
    tracemalloc.start()
    with pytest.raises(FormatError, match="too long for word vectors"):
        read_vectors(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
