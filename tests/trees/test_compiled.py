"""Kernels run even if numba's cache fails. Each test runs them in new processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from depkit.trees import compiled

KERNEL = """
from depkit.trees.compiled import compiled

@compiled
def double(x: int) -> int:
    return 2 * x
"""


def run(folder: Path, program: str, cache: Path, **variables: str) -> str:
    """Run a program with a cache directory and return its output; it may import from the folder."""
    root = Path(__file__).parents[2]
    environment = os.environ | variables | {
        "PYTHONPATH": f"{folder}{os.pathsep}{root}",
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }  # fmt: skip
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that contains a kernel."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path


# The program prints the result of a kernel and the number of cache hits.
NUM_CACHE_HITS = "sum(double.dispatcher.stats.cache_hits.values())"
CALL = f"from kernel import double; print(double(4), {NUM_CACHE_HITS})"


def test_kernel_is_compiled_nogil_and_cached(folder: Path) -> None:
    cache = folder / "cache"
    program = "from kernel import double; print(double.dispatcher.targetoptions['nogil']);" + CALL
    assert run(folder, program, cache) == "True\n8 0"
    assert list(cache.rglob("*.nbi"))
    assert run(folder, CALL, cache) == "8 1"


def test_kernel_runs_without_a_cache_directory(folder: Path) -> None:
    # The root user ignores permissions, but nobody can write below a regular file. numba 0.60 does
    # not know NUMBA_CACHE_LOCATOR_CLASSES, and tries the folder itself and the home directory, too.
    file = folder / "file"
    file.touch()
    (folder / "__pycache__").touch()
    home = str(file / "home")
    for _ in range(2):
        variables = {"HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
        assert run(folder, CALL, file / "cache", **variables) == "8 0"


REMOVE_CACHE = """
import pathlib, shutil
from kernel import double
double.dispatcher  # creates the cache directory
cache = pathlib.Path("{cache}")
shutil.rmtree(cache)
cache.touch()
"""
# No file may become larger than 0 bytes. Python ignores the signal SIGXFSZ, so every write fails as
# on a full disk.
FILL_DISK = """
import kernel, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


@pytest.mark.parametrize("preparation", [REMOVE_CACHE, FILL_DISK], ids=["removed", "full disk"])
def test_kernel_runs_if_its_cache_cannot_be_written(folder: Path, preparation: str) -> None:
    if preparation == FILL_DISK and sys.platform == "win32":
        pytest.skip("resource limits need Unix")
    cache = folder / "cache"
    assert run(folder, preparation.format(cache=cache) + CALL, cache) == "8 0"


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"no pickle"])
def test_damaged_cache_file_is_replaced(folder: Path, suffix: str, damage: bytes) -> None:
    cache = folder / "cache"
    run(folder, CALL, cache)
    for path in cache.rglob(f"*.{suffix}"):
        path.write_bytes(damage)
    assert run(folder, CALL, cache) == "8 0"
    assert run(folder, CALL, cache) == "8 1"


def test_importing_the_package_loads_neither_numba_nor_numpy(folder: Path) -> None:
    program = "import depkit.trees, sys; print({'numba', 'numpy'} & set(sys.modules))"
    assert run(folder, program, folder) == "set()"


def test_editing_a_kernel_recompiles_its_callers_in_other_files(tmp_path: Path) -> None:
    # The cache depends on the files in the folder of jit.py. Copy the modules, to edit files there.
    package = tmp_path / "kernels"
    package.mkdir()
    for name in ("compiled.py", "jit.py"):
        text = Path(compiled.__file__).with_name(name).read_text()
        (package / name).write_text(text.replace("depkit.trees", "kernels"))
    (package / "inner.py").write_text(KERNEL.replace("depkit.trees", "kernels"))
    # A kernel that calls the kernel in inner.py.
    outer = KERNEL.replace("depkit.trees", "kernels").replace("2 * x", "twice(x)")
    (package / "outer.py").write_text("from kernels.inner import double as twice\n" + outer)
    program = "from kernels.outer import double; print(double(4))"
    assert run(tmp_path, program, tmp_path / "cache") == "8"
    edited = (package / "inner.py").read_text().replace("2 * x", "3 * x")
    (package / "inner.py").write_text(edited)
    assert run(tmp_path, program, tmp_path / "cache") == "12"
