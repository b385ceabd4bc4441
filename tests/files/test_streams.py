"""Streams of the lines and bytes of files."""

import pytest

from depkit.corpus.io import read, write
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


def test_lines_end_only_at_newlines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a\rb\x0cc\u2028d\x85\ne\r\nf".encode())
    with open_lines(path) as lines:
        assert list(lines) == ["a\rb\x0cc\u2028d\x85\n", "e\r\n", "f"]
