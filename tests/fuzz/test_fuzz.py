"""Readers read some mutated files; the fuzzer finds a fault that random files do not reach."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.fuzzer import Reader, fuzz
from tests.fuzz.readers import READERS

SLOW = ("transformer", "config", "vocabulary", "weights", "tokenizer")  # they build networks
PACKAGES = {"hdf5": "h5py", "parquet": "pyarrow"}


@pytest.mark.parametrize("name", READERS)
def test_readers_raise_only_errors_of_depkit(name, tmp_path):
    if package := PACKAGES.get(name):
        pytest.importorskip(package)
    report = fuzz(READERS[name], tmp_path, seed=1, count=12 if name.startswith(SLOW) else 60)
    assert not report.findings
    assert report.read  # at least the correct files


def read_planted(path: Path) -> None:
    """Fail for a text that is found in three steps, one byte at a time."""
    data = path.read_bytes()
    if data[:1] != b"(":
        raise ValueError
    if data[1:2] != b"[":
        raise ValueError
    if data[2:3] == b"#":
        raise KeyError(data)


def append_byte(random: Random, data: bytes, other: bytes) -> bytes:
    return data + bytes([random.choice(b"abcdefghijklm([#")])


PLANTED = Reader("f", lambda directory: [b""], read_planted, lambda: (ValueError,), append_byte)


def test_a_fault_behind_several_conditions_is_found(tmp_path):
    """Each mutation appends one byte, so files that reach new lines must be kept."""
    report = fuzz(PLANTED, tmp_path, count=600)
    ((finding, data),) = report.findings.items()
    assert finding.startswith("KeyError at /tests/fuzz/test_fuzz.py:")
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(KeyError):
        read_planted(tmp_path / "f")


def read_without_end(path: Path) -> None:
    while path.name:
        pass


def test_a_file_that_takes_too_long_is_found(tmp_path):
    report = fuzz(replace(PLANTED, read=read_without_end), tmp_path, count=1, limit=0.05)
    assert [finding.partition(" ")[0] for finding in report.findings] == ["TimeLimitError"]
