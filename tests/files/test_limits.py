"""Endless lines, sentences and trees end with an error before they fill the memory."""

import gzip
import io
import itertools
import lzma
import tracemalloc
from pathlib import Path

import pytest

from depkit.corpus.io import read, read_trees
from depkit.corpus.text import read_text, split_at_spaces
from depkit.files import limits
from depkit.files.errors import FormatError
from depkit.files.limits import limit_stream
from depkit.files.streams import open_bytes
from tests.cli.commands import Command

ROW = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
LIMIT = 2000


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", str(LIMIT))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32-le", "cp037"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("reads", [13, 100_000])
def test_many_small_sentences_are_read(encoding, end, reads, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_BUFFER", reads)
    text = (f"# a\n{ROW}" + "\n" * 3).replace("\n", end) * 200
    path = tmp_path / "small.conllu"
    path.write_bytes(text.encode(encoding))
    assert "".join(map(str, read(path, encoding=encoding))) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\0" * 3 * LIMIT, 1),
        ("x" * 3 * LIMIT, 1),
        ("# comment\n" * LIMIT, LIMIT + 1),
        (f"{ROW}\n\n{'#' * 3 * LIMIT}", 4),
        (ROW + "\n" * LIMIT, LIMIT + 2),
        (ROW + "\r\n" * LIMIT, LIMIT + 2),
        ("".join(f"{i}{ROW[1:]}" for i in range(1, LIMIT)), LIMIT),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_an_endless_sentence_is_an_error(text, line, strict, tmp_path):
    path = tmp_path / "endless.conllu"
    path.write_text(f"{ROW}\n{text}", newline="")
    with pytest.raises(FormatError, match=r"sentence has more than 2,000 bytes.*_SENTENCE") as e:
        list(read(path, strict=strict))
    assert e.value.file == str(path)
    assert 3 <= e.value.line <= line + 2  # It is noticed within the next 8 KB.


@pytest.mark.parametrize(
    ("text", "unit"),
    [("(" * 2 * LIMIT, "line"), ("(S\n" * LIMIT, "tree"), ("(S\n (NN\n" * LIMIT, "tree")],
)
def test_an_endless_tree_is_an_error(text, unit, tmp_path):
    path = tmp_path / "endless.mrg"
    path.write_text(f"(S (NN a))\n{text}".replace("\n(", "\n (").replace("\n ", "\n", 1))
    for strict in (True, False):
        with pytest.raises(FormatError, match=f"a {unit} has more than 2,000 bytes"):
            list(read_trees(path, strict=strict))


def test_unfinished_trees_are_joined_only_up_to_the_limit():
    lines = itertools.chain(["(S (NN a)\n"], itertools.repeat("(NP (NN b)\n", LIMIT))
    errors: list[FormatError] = []
    assert list(read_trees(lines, strict=False, report=errors.append)) == []
    assert len(errors) == LIMIT + 1


@pytest.mark.parametrize("text", ["x" * 2 * LIMIT, "\0" * 2 * LIMIT, " " * 2 * LIMIT])
def test_an_endless_line_of_text_is_an_error(text):
    chunks = [text[i : i + 50] for i in range(0, len(text), 50)]
    with pytest.raises(FormatError, match="f: a line has more than 2,000 bytes"):
        list(read_text(chunks, split_at_spaces, by_line=True, file="f"))


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("kind", ["zeros", "line ends", "comments"])
def test_an_archive_of_zeros_needs_little_memory(suffix, compress, kind, tmp_path, monkeypatch):
    monkeypatch.delenv("DEPKIT_MAX_SENTENCE")
    text = {"zeros": b"\0", "line ends": b"\n", "comments": b"# comment\n"}[kind] * (1 << 17)
    path = tmp_path / f"bomb.conllu{suffix}"
    path.write_bytes(compress(text) * (300_000_000 // len(text)))
    tracemalloc.start()
    with pytest.raises(FormatError, match="16,777,216 bytes"):
        list(read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000


def test_a_large_dictionary_of_xz_is_refused(tmp_path):
    path = tmp_path / "bomb.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28, "mode": lzma.MODE_FAST}]
    filters[0] |= {"mf": lzma.MF_HC3, "nice_len": 64}
    path.write_bytes(lzma.compress(b"a", filters=filters))
    with pytest.raises(FormatError, match="needs too much memory"), open_bytes(path) as binary:
        binary.read()


@pytest.mark.parametrize("padding", [b"", b"\0" * 8])
def test_archives_of_several_parts_are_read(padding, tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"one" * 99_999) + padding + lzma.compress(b"two") + padding)
    with open_bytes(path) as binary:
        assert binary.read() == b"one" * 99_999 + b"two"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="damaged"), open_bytes(path) as binary:
        binary.read()


def test_a_limited_stream_does_not_wait_for_more_than_is_available():
    class Slow(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(1)

    assert limit_stream(Slow(b"abc"), "utf-8").read1(100) == b"a"


@pytest.mark.parametrize("value", ["x", "0", "-1", "1.5", "²"])
def test_a_wrong_limit_is_an_error(value, monkeypatch, tmp_path):
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", value)
    path = tmp_path / "a.conllu"
    path.write_text(f"{ROW}\n")
    assert "set it to a number of bytes" in str(Command("stats").failure(path))


def test_a_larger_limit_can_be_set(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", str(10 * LIMIT))
    path: Path = tmp_path / "a.conllu"
    path.write_text(f"# {'x' * 5 * LIMIT}\n{ROW}\n")
    assert len(list(read(path))) == 1


@pytest.mark.parametrize("name", ["a.conllu", "a.txt"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_first_bracket_does_not_lift_the_limit_of_sentences(name, strict, tmp_path):
    path = tmp_path / name
    path.write_text("(\n" + "# x\n" * LIMIT)
    for format in ("conllu", "conllx", None):
        with pytest.raises(FormatError, match="has more than 2,000 bytes"):
            list(read(path, format, strict=strict))


@pytest.mark.parametrize("text", ["(S\n" + "ab\n" * LIMIT, "(S " + "(A b)" * (LIMIT // 10)])
def test_lines_and_brackets_of_a_tree_count_as_objects(text):
    with pytest.raises(FormatError, match="a tree has more than 2,000 bytes"):
        list(read_trees([f"{line}\n" for line in text.split("\n")]))
