"""Files that appear only when they are complete."""

import os
from pathlib import Path

import pytest

from depkit.corpus.io import read, write
from depkit.files.atomic import atomic, atomic_directory, check_writable
from tests.corpus.rows import RICH
from tests.files.access import refuse_access


def test_atomic_renames_a_complete_file(tmp_path):
    with atomic(tmp_path / "a") as temporary:
        assert not temporary.exists()
        temporary.write_text("new")
        assert not (tmp_path / "a").exists()
    assert os.listdir(tmp_path) == ["a"]


def test_missing_directories_are_made_and_removed_after_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target in (tmp_path / "one" / "two" / "a", Path("three/four/a"), Path("three/b")):
        with pytest.raises(ZeroDivisionError), atomic(target):
            _ = 1 / 0
        assert os.listdir(tmp_path) == []
    for target in (tmp_path / "one" / "two" / "a", Path("three/four/a"), Path("three/b")):
        assert write(read(RICH.splitlines(True)), target) == 2
    with pytest.raises(ZeroDivisionError), atomic("three/five/c"):
        _ = 1 / 0
    assert sorted(os.listdir("three")) == ["b", "four"]


def write_directory(path, names):
    with atomic_directory(path) as temporary:
        for name in names:
            (temporary / name).mkdir()
            (temporary / name / "file").write_text(name)


def test_a_directory_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "a" / "new"
    with pytest.raises(ZeroDivisionError), atomic_directory(target):
        assert not target.exists()
        _ = 1 / 0
    assert os.listdir(tmp_path) == []
    write_directory(target, ["one"])
    assert (target / "one" / "file").read_text() == "one" and os.listdir(target.parent) == ["new"]


@pytest.mark.parametrize("name", [".", "../old", "../link"])
def test_a_directory_that_exists_is_kept_and_its_contents_are_replaced(tmp_path, monkeypatch, name):
    target = tmp_path / "old"
    target.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("old")
    write_directory(target, ["one", "two"])
    before = target.stat()
    monkeypatch.chdir(target)
    write_directory(name, ["two", "three"])
    after = os.stat(".")
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert sorted(os.listdir(".")) == ["three", "two"]
    assert sorted(os.listdir(tmp_path)) == ["link", "old"]
    with pytest.raises(ZeroDivisionError), atomic_directory(name):
        _ = 1 / 0
    assert sorted(os.listdir(".")) == ["three", "two"]


@pytest.mark.parametrize("number", range(1, 5))
def test_an_error_while_contents_are_replaced_is_undone(tmp_path, monkeypatch, number):
    target, rename, calls = tmp_path / "old", os.rename, []
    write_directory(target, ["one", "two"])
    before = {path: path.read_text() for path in target.glob("*/*")}

    def fail_once(*paths):
        calls.append(paths)
        if len(calls) == number:
            raise PermissionError(13, "Permission denied", str(paths[0]))
        rename(*paths)

    monkeypatch.setattr(os, "rename", fail_once)
    with pytest.raises(PermissionError):
        write_directory(target, ["two", "three"])
    assert {path: path.read_text() for path in target.glob("*/*")} == before
    assert sorted(os.listdir(target)) == ["one", "two"] and os.listdir(tmp_path) == ["old"]


def test_a_check_whether_a_file_can_be_written_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "new", "one/two/a", "-", os.devnull):
        check_writable(path)
    assert os.listdir(tmp_path) == []
    Path("old").write_text("old")
    check_writable("old")
    with pytest.raises(NotADirectoryError, match="'old'"):
        check_writable("old/a")
    monkeypatch.setattr(Path, "touch", refuse_access)
    for path in ("a", "old", "one/two/a"):
        with pytest.raises(PermissionError, match=f"'{path}'"):
            check_writable(path)
    assert os.listdir(tmp_path) == ["old"] and Path("old").read_text() == "old"
