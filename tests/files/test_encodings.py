"""All readers recognise UTF-16 and UTF-32, and read them if the encoding is given."""

import pytest

from depkit.corpus.io import read, read_trees
from depkit.corpus.text import decode_chunks
from depkit.files.encodings import detect_wide_encoding
from depkit.files.errors import FormatError
from tests.corpus.rows import RICH

TREE = "(S (NP (DT The) (NN café)) (VP (VBZ opens)))\n"
WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
def test_wide_encodings_are_recognised_and_named(encoding, tmp_path):
    def read_text(path, encoding="utf-8"):
        return decode_chunks([path.read_bytes()], encoding, str(path))

    name = encoding[:6].upper()
    for content, reader in ((TREE, read_text), (TREE, read_trees), (RICH, read)):
        path = tmp_path / "file"
        path.write_bytes(content.encode(encoding))
        message = f"file: the text is in {name}, not in utf-8; set `encoding` to {encoding}$"
        with pytest.raises(FormatError, match=message):
            list(reader(path))
        assert list(reader(path, encoding=encoding))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00", b"a\x00", b"\x00" * 40, "naïve".encode(), "漢字かな".encode(),
        b"a NUL\x00 here and there\x00.", bytes(range(256)) * 8, "Привет".encode("cp1251"),
        b"\x7fELF" + b"\x01\0\0\0" * 8, b"a\0b\0c\0\0\0" * 4,
    ],
)  # fmt: skip
def test_other_bytes_are_not_recognised(data):
    assert detect_wide_encoding(data) == ""
