"""Files that appear only when they are complete."""

import os
from pathlib import Path

import pytest

from depkit.corpus.io import read, write
from depkit.files.atomic import atomic, check_writable
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
