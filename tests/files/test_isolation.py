"""Files in the current directory are hidden, but not from other threads or after the block."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from depkit.files.isolation import hide_local_files, safe_search_path


def test_relative_paths_are_hidden_in_one_thread(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with ThreadPoolExecutor(1) as pool:
        with hide_local_files():
            assert not os.path.exists("file") and not os.path.exists(b"./file")
            assert os.path.exists(tmp_path / "file") and os.path.exists(sys.__stderr__.fileno())
            assert not os.path.exists(tmp_path / "none")
            assert pool.submit(os.path.exists, "file").result()
            with hide_local_files():
                assert not os.path.exists("file")
            assert not os.path.exists("file")
        assert os.path.exists("file")


@pytest.mark.parametrize("before", [None, "", "1"])
def test_the_environment_is_restored(before, monkeypatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    with safe_search_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ.get("PYTHONSAFEPATH") == before
