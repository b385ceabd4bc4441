"""URLs are read and written like paths; their errors are one line; written files are complete."""

import os
import sys
from pathlib import Path

import pytest

from depkit.corpus.io import read, write
from depkit.files.atomic import atomic_directory
from depkit.files.storage import check_overwriting, file_identity, file_size, file_version, is_url
from depkit.files.streams import open_output
from depkit.parsers.settings import ConfigError
from tests.cli.commands import assert_fails
from tests.corpus.rows import RICH

fsspec = pytest.importorskip("fsspec", reason="URLs need fsspec")


@pytest.fixture
def memory():
    """The store of the URLs memory://..., empty."""
    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


@pytest.fixture
def objects():
    """A store that shows only complete objects, with the URLs objects://..."""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.implementations.memory import MemoryFileSystem

    class ObjectStore(AsyncFileSystem):
        protocol, cachable = "objects", False

        async def _put_file(self, path, name, **options):
            MemoryFileSystem().put_file(path, name)

    fsspec.register_implementation("objects", ObjectStore, clobber=True)


def test_urls_are_told_from_paths():
    for url in ("s3://a/b", "memory://a", "simplecache::s3://a/b", "git+ssh://a"):
        assert is_url(url)
    for path in ("a/b", "/a://b", "-", "a:b", "c:/d", "s3:/a", ""):
        assert not is_url(path)


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.conllu.xz", "new/a.parquet"])
@pytest.mark.parametrize("scheme", ["memory", "file", "path"])
def test_files_are_read_as_they_were_written(scheme, name, memory, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs the extra parquet")
    path = tmp_path / name
    target = {"memory": f"memory://{name}", "file": f"file://{path}", "path": path}[scheme]
    assert write(read(RICH.splitlines(True)), target) == 2
    assert "".join(map(str, read(target))) == RICH
    data = memory.cat(f"/{name}") if scheme == "memory" else path.read_bytes()
    assert file_size(target) == len(data)
    files = memory.find("/") if scheme == "memory" else list(path.parent.iterdir())
    assert len(files) == 1  # nothing temporary is left
    version = file_version(target)
    assert file_version(target) == version
    write(list(read(target)) * 2, target)
    assert file_version(target) != version


def test_an_object_is_uploaded_under_its_own_name(objects, memory):
    write(read(RICH.splitlines(True)), "objects://b/a.conllu")
    assert memory.find("/") == ["/b/a.conllu"]


def test_the_same_file_is_recognised(tmp_path):
    path = tmp_path / "a"
    assert file_identity(path) is None and file_identity(tmp_path) is None
    path.write_text("")
    (tmp_path / "b").hardlink_to(path)
    assert file_identity(path) == file_identity(tmp_path / "b") == file_identity(f"file://{path}")
    assert file_identity("memory://a") == file_identity("memory://a") != file_identity("memory://b")


@pytest.mark.parametrize("existing", [None, b"old"])
def test_a_failure_leaves_what_was_there(existing, memory, monkeypatch):
    if existing:
        memory.pipe("/a/b.txt", existing)
    before = {name: memory.cat(name) for name in memory.find("/")}
    with pytest.raises(RuntimeError), open_output("memory://a/b.txt") as stream:
        stream.write("new")
        raise RuntimeError

    def write_half(file, data):
        type(file).__base__.write(file, data[: len(data) // 2])
        raise RuntimeError("the connection\nis lost")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.write", write_half, raising=False)
    with pytest.raises(OSError) as error, open_output("memory://a/b.txt") as stream:
        stream.write("new" * 1000)
    assert error.value.filename == "memory://a/b.txt"
    assert error.value.strerror == "the connection is lost"
    assert {name: memory.cat(name) for name in memory.find("/")} == before


@pytest.mark.parametrize(
    ("package", "url", "message"),
    [
        ("fsspec.core", "memory://a.txt", "URLs need fsspec: pip install fsspec"),
        ("s3fs", "s3://a/b.txt", "Install s3fs to access S3"),
        ("none", "nosuch://a.txt", "Protocol not known: nosuch"),
    ],
)
def test_a_missing_package_is_one_line(package, url, message, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, package, None)
    for arguments in ([url], ["a.txt", "-o", url], ["a.txt", "--output-dir", url]):
        assert_fails(capfd, ["parse", *arguments], 1, f"{url}: {message}")


def test_a_missing_file_is_one_line(memory, capfd):
    message = "memory://a.conllu: No such file or directory"
    assert_fails(capfd, ["stats", "memory://a.conllu"], 1, message)


def test_an_error_while_reading_is_one_line(memory, monkeypatch, capfd):
    def fail(file, size):
        raise TimeoutError("no answer\nafter 5 s")

    memory.pipe("/a.conllu", RICH.encode())
    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", fail, raising=False)
    message = "memory://a.conllu: no answer after 5 s"
    assert_fails(capfd, ["convert", "memory://a.conllu", "-o", "a.conllx"], 1, message)


@pytest.mark.parametrize(
    "command",
    [
        "train a --dev b -o",
        "docs -o",
        "export en-ewt -o",
        "jackknife a --work",
        "parse --output-dir",
        "select a --split b=1 --output-dir",
    ],
)
def test_directories_are_not_written_to_urls_or_stdout(command, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not command.startswith("parse"):  # which uploads each file
        message = "s3://a/b is a URL; name a directory of this machine"
        assert_fails(capfd, [*command.split(), "s3://a/b"], 2, message)
    assert_fails(capfd, [*command.split(), "-"], 2, "- is stdout, which is one file")
    assert os.listdir() == []


@pytest.mark.parametrize("directory", ["s3://a/b", "gs://a"])
def test_a_url_is_no_directory_to_write(directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"{directory} is a URL"), atomic_directory(directory):
        pass
    assert os.listdir() == []


def test_a_file_named_like_stdin_and_stdout_is_neither_read_nor_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-").touch()
    check_overwriting(["-"], ["-"])
    with pytest.raises(ConfigError, match="one of the files to read"):
        check_overwriting(["./-"], ["./-"])
