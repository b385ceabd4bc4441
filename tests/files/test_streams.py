"""Streams of the lines and bytes of files."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile

import pytest

from depkit.corpus.io import read, write
from depkit.files.atomic import check_writable
from depkit.files.errors import ConfigError, FormatError
from depkit.files.streams import open_lines, watch_reading
from tests.corpus.rows import RICH


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.conllu.xz"])
def test_watched_reads_add_up_to_the_size_of_the_file(name, tmp_path):
    path, sizes = tmp_path / name, []
    write(read((RICH * 1_000).splitlines(True)), path)
    with watch_reading(sizes.append):
        assert sum(1 for _ in read(path)) == 2_000
    assert sum(sizes) == path.stat().st_size
    list(read(path))
    assert sum(sizes) == path.stat().st_size


def test_a_file_that_is_open_is_continued(tmp_path):
    path, names = (
        tmp_path / "out",
        ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr", "-"],
    )
    code = "import sys; from depkit.corpus.io import *; sentences = list(read('-'))\n"
    code += "for name in sys.argv[1:]: write(sentences, name)"
    with path.open("wb") as file:
        for command in ([sys.executable, "-c", code, *names], ["echo", "after"]):
            subprocess.run(command, input=RICH.encode(), stdout=file, stderr=file, check=True)
    assert path.read_text() == RICH * 5 + "after\n"
    with path.open("ab") as file:
        check_writable(f"/dev/fd/{file.fileno()}")
        write(read(RICH.splitlines(True)), f"/dev/fd/{file.fileno()}")
    with pytest.raises(OSError, match="Bad file descriptor: '/dev/fd/987654321'"):
        write(read(RICH.splitlines(True)), "/dev/fd/987654321")
    assert path.read_text() == RICH * 5 + "after\n" + RICH
    assert list(tmp_path.iterdir()) == [path]


def test_lines_end_only_at_newlines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a\rb\x0cc\u2028d\x85\ne\r\nf".encode())
    with open_lines(path) as lines:
        assert list(lines) == ["a\rb\x0cc\u2028d\x85\n", "e\r\n", "f"]


def test_other_compressions_are_named_and_refused(tmp_path):
    path = tmp_path / "a.conllu"
    archive, empty_archive = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.conllu", RICH)
    zipfile.ZipFile(empty_archive, "w").close()
    zstandard, lz4 = b"\x28\xb5\x2f\xfd\x04", b"\x04\x22\x4d\x18\x40"
    for name, data in (
        ("bzip2", bz2.compress(RICH.encode())),
        ("bzip2", bz2.compress(b"")),
        ("ZIP", archive.getvalue()),
        ("ZIP", empty_archive.getvalue()),
        ("Zstandard", zstandard + b"(S (NP a))"),
        ("LZ4", lz4),
        ("7-Zip", b"7z\xbc\xaf\x27\x1c\x00\x04"),
        ("gzip", gzip.compress(RICH.encode())),
        ("xz", lzma.compress(RICH.encode())),
    ):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=f"compressed with {name}, .*decompress"):
            list(read(path))
    path.write_text("BZh is not compressed")
    with open_lines(path) as lines:
        assert list(lines) == ["BZh is not compressed"]


@pytest.mark.parametrize(
    "suffix", [".bz2", ".zst", ".zstd", ".ZIP", ".lz4", ".lzma", ".7z", ".rar"]
)
def test_nothing_is_written_under_the_suffix_of_another_compression(suffix, tmp_path):
    path = tmp_path / f"a.conllu{suffix}"
    with pytest.raises(ConfigError, match=r"cannot be written: .* only files that end in \.gz"):
        write(read(RICH.splitlines(True)), path)
    assert list(tmp_path.iterdir()) == []
