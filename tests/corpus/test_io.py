"""Compressed, encoded, piped and damaged files; written files are complete or absent."""

import gzip
import io
import lzma
import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from depkit.corpus.io import read, write, write_as_read
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.files.streams import open_lines, open_output
from tests.corpus.rows import RICH, row

LATIN = RICH.replace("molino", "cañón")


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.conllu.xz", "A.CONLLU.GZ", "a.txt"])
def test_written_files_are_read_unchanged(tmp_path, name):
    path = tmp_path / name
    assert write(read(RICH.splitlines(True)), path) == 2
    assert "".join(map(str, read(path))) == RICH
    assert "".join(map(str, read(str(path), "conllu"))) == RICH
    open_raw = {"gz": gzip.open, "xz": lzma.open}.get(name.lower().split(".")[-1], open)
    with open_raw(path, "rb") as file:
        assert file.read() == RICH.encode()
    assert os.listdir(tmp_path) == [name]


def test_a_sentence_without_a_tree_is_not_left_out_among_trees(tmp_path):
    (tree,) = read(["(S (NP (PRP I)) (VP (VBP run)))\n"])
    with pytest.raises(FormatError, match="the sentence has no bracketed tree to write"):
        write_as_read([tree, tree.with_constituents(None)], tmp_path / "a.mrg")
    assert os.listdir(tmp_path) == []
    assert write_as_read([tree], tmp_path / "a.mrg") == 1


def test_compressed_files_do_not_depend_on_name_and_time(tmp_path):
    for name in ("a.conllu.gz", "b.conllu.gz"):
        write(read(RICH.splitlines(True)), tmp_path / name)
    assert (tmp_path / "a.conllu.gz").read_bytes() == (tmp_path / "b.conllu.gz").read_bytes()
    assert (tmp_path / "a.conllu.gz").read_bytes()[4:8] == bytes(4)


DAMAGES = {
    "truncated": lambda data: data[: len(data) // 2],
    "garbled": lambda data: data[:20] + bytes(x ^ 0x5A for x in data[20:-12]) + data[-12:],
    "not compressed": lambda data: RICH.encode(),
    "tail": lambda data: data[:-6] + b"\xff" * 6,
}


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_archives_are_format_errors(tmp_path, compress, damage):
    path = tmp_path / ("a.conllu.gz" if compress is gzip.compress else "a.conllu.xz")
    path.write_bytes(damage(compress(RICH.encode() * 50)))
    with pytest.raises(FormatError, match="the archive is damaged: ") as caught:
        list(read(path))
    assert caught.value.file == str(path)


def test_files_are_read_and_written_in_an_encoding(tmp_path):
    path, copy = tmp_path / "a.conllu", tmp_path / "b.conllu"
    path.write_bytes(LATIN.encode("latin-1"))
    assert write(read(path, encoding="latin-1"), copy, encoding="latin-1") == 2
    assert copy.read_bytes() == path.read_bytes()
    with pytest.raises(FormatError) as caught:
        list(read(path))
    assert str(caught.value) == (
        f"{path}:3: mill-1: byte 0xE1 in column 1, character 11 of the line, cannot be decoded;"
        " name the file's encoding, for example latin-1, with `encoding`"
    )
    assert write(read(path, strict=False), copy) == 2
    assert copy.read_bytes() == path.read_bytes()  # undecodable bytes survive a lenient reader


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_wide_encodings_are_read_and_written(tmp_path, encoding):
    path, copy = tmp_path / "a.conllu", tmp_path / "b.conllu"
    path.write_bytes(RICH.encode(encoding))
    assert "".join(map(str, read(path, encoding=encoding))) == RICH
    write(read(path, encoding=encoding), copy, encoding=encoding)
    assert copy.read_bytes() == path.read_bytes()


SURROGATE = row(1, "?").encode().replace(b"?", b"\xed\xa0\x80") + b"\n"


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (SURROGATE, "utf-8", "byte 0xED in column 2, character 3"),
        (b"\xff\xfe" + RICH.encode("utf-16-le"), "utf-8", "`encoding` to utf-16$"),
        (RICH.encode("utf-16")[:-1], "utf-16", "encoding"),
        (RICH.encode(), "utf-16", "encoding"),
        (b"\xff\xfe\x00\xd8", "utf-16", "encoding"),
    ],
)
def test_undecodable_files_are_format_errors(tmp_path, data, encoding, message):
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path / "a.txt", encoding=encoding))


@pytest.mark.parametrize("encoding", ["klingon", "", "hex"])
def test_unknown_encodings_are_value_errors(tmp_path, encoding):
    path = tmp_path / "a.conllu"
    path.write_text(RICH)
    for call in (
        lambda: list(read(path, encoding=encoding)),
        lambda: open_lines(path, encoding).__enter__(),
        lambda: write(read(RICH.splitlines(True)), path, encoding=encoding),
    ):
        with pytest.raises(ValueError, match=f"the text encoding {encoding!r} is unknown"):
            call()
    assert os.listdir(tmp_path) == ["a.conllu"] and path.read_text() == RICH


def test_a_form_that_the_encoding_lacks_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write(read([row(1, "猫"), "\n"]), path, encoding="latin-1")
    assert os.listdir(tmp_path) == ["a.conllu"] and path.read_text() == "old"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, FormatError, OSError])
@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.conllu.xz"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failure_midway_leaves_the_old_file_or_none(tmp_path, error, name, old):
    path = tmp_path / name
    if old is not None:
        path.write_bytes(old)

    def failing():
        yield from read(RICH.splitlines(True))
        raise error("f", 1, "", "m") if error is FormatError else error("midway")

    with pytest.raises(error, match="m"):
        write(failing(), path)
    assert os.listdir(tmp_path) == ([name] if old is not None else [])
    assert old is None or path.read_bytes() == old


def test_a_broken_input_leaves_no_output(tmp_path):
    with pytest.raises(FormatError):
        write(read([*RICH.splitlines(True), "broken\n"]), tmp_path / "a.conllu")
    assert os.listdir(tmp_path) == []


def test_a_file_can_be_rewritten_in_place(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(RICH)
    write((sentence.with_columns({"lemma": sentence.form}) for sentence in read(path)), path)
    assert [sentence.lemma == sentence.form for sentence in read(path)] == [True, True]


def test_a_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.conllu").write_text("old")
    (tmp_path / "link.conllu").symlink_to(tmp_path / "there" / "a.conllu")
    write(read(RICH.splitlines(True)), tmp_path / "link.conllu")
    assert (tmp_path / "link.conllu").is_symlink()
    assert (tmp_path / "there" / "a.conllu").read_text() == RICH
    assert os.listdir(tmp_path / "there") == ["a.conllu"]


def test_errors_name_the_requested_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for target, filename in (("file/no/a.conllu", "file"), ("file/a.conllu.gz", "file")):
        with pytest.raises(NotADirectoryError) as caught:
            write([], target)
        assert caught.value.filename == filename
    with pytest.raises(FileNotFoundError):
        list(read(tmp_path / "a.conllu"))
    for call in (lambda: write([], tmp_path), lambda: list(read(tmp_path))):
        with pytest.raises(IsADirectoryError):
            call()


def test_devices_are_written_to_and_stay_devices():
    assert write(read(RICH.splitlines(True)), "/dev/null") == 2
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    for times in (1, 2000):  # The error occurs at the end, or during writing.
        with pytest.raises(OSError, match="No space left"):
            write(read(RICH.splitlines(True) * times), "/dev/full")


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.conllu.xz"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, name):
    """A limit on the size of files has the same effect; archives are written when closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write(read(RICH.splitlines(True)), tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_named_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    sentences = []
    reader = threading.Thread(target=lambda: sentences.extend(read(tmp_path / "pipe")), daemon=True)
    reader.start()
    write(read(RICH.splitlines(True)), tmp_path / "pipe")
    reader.join(10)
    assert "".join(map(str, sentences)) == RICH


def test_standard_streams_are_utf8_in_any_locale():
    code = "from depkit.corpus.io import *; write(read('-'), '-'); print('more')"
    command, environment = [sys.executable, "-c", code], {"LC_ALL": "C"}
    process = subprocess.run(command, input=RICH.encode(), capture_output=True, env=environment)
    assert (process.stdout, process.stderr) == (RICH.encode() + b"more\n", b"")


def test_a_pipe_that_is_closed_early_is_broken():
    code = "from depkit.corpus.io import *; from itertools import cycle;"
    code += "write(cycle(list(read('-'))), '-')"
    command = ["bash", "-c", f'"{sys.executable}" -c "{code}" | head -c 100']
    process = subprocess.run(command, input=RICH.encode(), capture_output=True, timeout=60)
    assert process.stdout == RICH.encode()[:100]
    assert b"BrokenPipeError" in process.stderr


def test_several_writes_to_a_stream_are_appended():
    stream = io.StringIO(newline="")
    assert write(read(RICH.splitlines(True)), stream) == 2
    assert write([], stream) == 0
    assert write(read(RICH.splitlines(True)), stream) == 2
    assert stream.getvalue() == RICH * 2


def test_an_abandoned_reader_closes_its_file(tmp_path, recwarn):
    (tmp_path / "a.conllu").write_text(RICH)
    stream = read(tmp_path / "a.conllu")
    next(stream)
    stream.close()
    with open_output(tmp_path / "b.conllu") as out:
        out.write("x")
    assert not recwarn.list and (tmp_path / "b.conllu").read_text() == "x"


ROWS = [row(1, "a", 0, "root"), "\n"]


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.conllx", "conllu"), ("a.conllu.gz", "conllx"), ("a.mrg", "conllu"), ("a.ptb", "conllx")],
)
def test_the_suffix_of_another_format_is_refused(tmp_path, name, format):
    (tmp_path / name).write_text("old")
    with pytest.raises(ValueError, match=r"ends like a file of .* depkit convert"):
        write(read(ROWS, format), tmp_path / name)
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.conll", "conllx"), ("a", "conllu"), ("a.cupt", "conllu"), ("a.conllu", "conllup")],
)
def test_other_suffixes_are_written(tmp_path, name, format):
    assert write(read(ROWS, format), tmp_path / name) == 1
    assert (tmp_path / name).read_text() == "".join(ROWS)


def test_missing_line_ends_after_a_byte_order_mark(tmp_path):
    text = "\ufeff" + ROWS[0].rstrip()
    stream = io.StringIO(newline="\n")
    first = next(read([f"{text}\r\n"]))
    write([first, first], stream)
    assert stream.getvalue() == f"{text}\r\n\r\n{text[1:]}\r\n\r\n"


@pytest.mark.parametrize("name", ["x.json", "x.JSONL", "x.json.gz"])
def test_rows_are_not_written_under_the_suffix_of_json(name: str, tmp_path: Path) -> None:
    sentence = Sentence.from_words(["a"])
    with pytest.raises(ValueError, match=r"ends like a JSON file, but the sentences are in conllu"):
        write(sentence, tmp_path / name)
    assert not list(tmp_path.iterdir())
