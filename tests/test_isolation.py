"""Commands that are called in a directory of traps: no file in it is opened, and no code is run."""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from depkit.cli.main import COMMANDS as SUBCOMMANDS
from tests.conftest import TINY, TREES

DEPKIT = Path(sys.executable).parent / "depkit"  # the console script
TORCHRUN = [sys.executable, "-P", "-m", "torch.distributed.run"]
IN_OPEN = 0x20  # <sys/inotify.h>

# Files that programs read in the current directory; a module of each importable name comes on top.
FILES = {
    ".numba_config.yaml": "cache_dir: cache\ndisable_jit: 1\n",
    "matplotlibrc": "axes.prop_cycle: cycler(color=[undefined])\nbackend: module://trap\n",
    "pyproject.toml": "[tool.depkit]\n", "setup.cfg": "[options]\n", ".env": "DEPKIT_MODEL=trap\n",
    "conftest.py": "MARK", "ray.yaml": "cluster_name: trap\n", "ray_bootstrap_config.yaml": "a: 1",
    ".netrc": "machine huggingface.co login a password b\n", "fsspec.json": '{"file": {"a": 1}}',
    "config.json": "{}", "pyvenv.cfg": "home = .\n", "python311.zip": "", "trap.pth": "import trap",
    "trap-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: trap\nVersion: 1.0\n",
    "trap-1.0.dist-info/entry_points.txt": "[torch.backends]\ntrap = trap:run\n[fsspec.specs]\n"
    "s3 = trap:run\n",
    "cache/index.nbi": "", "__pycache__/trap.pyc": "", "torch/__init__.py": "MARK",
    "lib/libomp.so": "", "libcuda.so.1": "", "libc.so.6": "", "en-ewt/config.toml": "",
    "trap.py": "MARK",
}  # fmt: skip
# What trains and parses fast, with files in the directories IN and OUT
SMALL = (
    "--recipe bilstm --epochs 1 --set encoder.layers=1 --set encoder.size=8 --set inputs.word=8"
    " --set tokenizer.epochs=1 --device cpu --threads 1 -q"
)
TRAIN = f"train IN/tiny.conllu --dev IN/tiny.conllu -o OUT/model {SMALL}"
CPU = "--device cpu --threads 1 -q"
COMMANDS = {
    "train": TRAIN,
    "train-transformer": TRAIN.replace(".conllu", ".conllx")
    + " --set inputs.context.source=transformer --set inputs.context.model=IN/bert",
    "train-elmo": TRAIN.replace(".conllu", ".conllx")
    + " --elmo IN/tiny.hdf5 --dev-elmo IN/tiny.hdf5 --set inputs.context.source=elmo"
    " --set inputs.context.layers=average --set inputs.context.top=0",
    "train-processes": f"--standalone --nproc-per-node 2 --no-python {DEPKIT} {TRAIN}",
    "ensemble": f"ensemble IN/tiny.conllx --dev IN/tiny.conllx -o OUT/model --folds 2 {SMALL}"
    " --device cpu,cpu".replace("--recipe", "--recipes"),
    "distill": f"distill en-ewt IN/text.txt --train IN/tiny.conllu --dev IN/tiny.conllu"
    f" -o OUT/model {SMALL}".replace("--recipe bilstm", ""),
    "tag": f"tag IN/text.txt -o OUT/tagged.conllu {CPU}",
    "jackknife": f"jackknife IN/tiny.conllx -o OUT/tagged.conllx --folds 2 {SMALL}",
    "parse": f"parse IN/many.conllx -o OUT/parsed.conllx {CPU}",
    "parse-files": f"parse IN/text.txt --output-dir OUT/parsed --skip-done --shard 1/2 {CPU}",
    "parse-workers": f"parse IN/text.txt -o OUT/parsed.conllu --workers 2 {CPU}",
    "parse-ray": f"parse IN/text.txt -o OUT/parsed.conllu --distribute ray {CPU}",
    "parse-parquet": f"parse IN/text.txt -o OUT/parsed.parquet {CPU}",
    "parse-url": f"parse file://IN/text.txt -o file://OUT/parsed.conllu {CPU}",
    "eval": "eval IN/tiny.conllu IN/tiny.conllu",
    "analyze": "analyze IN/tiny.conllu IN/tiny.conllu --by distance --plot OUT/plot.svg",
    "convert": "convert IN/trees.mrg --dependencies ud -o OUT/converted.conllu",
    "convert-parquet": "convert IN/tiny.conllu -o OUT/converted.parquet",
    "check": "check IN/many.conllx",
    "suspects": "suspects IN/tiny.conllu --parses IN/tiny.conllu -o OUT/suspects.html",
    "diff": "diff IN/tiny.conllu IN/tiny.conllu",
    "edit": "edit IN/rule.grs IN/tiny.conllu -o OUT/edited.conllu",
    "search": "search IN/noun.req IN/tiny.conllu -o OUT/found.conllu",
    "select": "select IN/tiny.conllu --split a=0.5,b=0.5 --output-dir OUT/parts",
    "export": "export en-ewt -o OUT/exported",
    "serve": f"serve --port 0 --check {CPU}",
    "stats": "stats IN/tiny.conllu",
    "show": "show IN/tiny.conllu --svg OUT/trees.svg",
    "report": "report IN/tiny.conllu IN/tiny.conllu -o OUT/report.html",
    "info": "info en-ewt",
    "docs": "docs -o OUT/site",
}  # fmt: skip
NEEDS = {
    "train-elmo": "h5py", "parse-ray": "ray", "parse-parquet": "pyarrow", "parse-url": "fsspec",
    "analyze": "matplotlib", "convert-parquet": "pyarrow",
}  # fmt: skip


def write_traps(folder: Path, marks: Path) -> None:
    """Fill a directory with modules that leave a file in `marks`, and configuration files."""
    names = {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"}
    files = FILES | {f"{name}.py": "MARK" for name in names if name.isidentifier()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = str(marks / name.replace("/", "-"))
        path.write_text(text.replace("MARK", f"open({mark!r}, 'w').close()\n"))


class Watch:
    """Notices which files in a directory and its subdirectories are opened, by any process."""

    def __init__(self, folder: Path) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.file = self.libc.inotify_init1(os.O_NONBLOCK)
        self.folders = {
            self.libc.inotify_add_watch(self.file, os.fsencode(path), IN_OPEN): path
            for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        }

    def opened(self) -> set[str]:
        """Return the names of the files and directories that were opened since the last call."""
        found, data = set(), b""
        try:
            while chunk := os.read(self.file, 1 << 16):
                data += chunk
        except BlockingIOError:
            pass
        while data:
            watch, _, _, size = struct.unpack_from("iIII", data)
            name = os.fsdecode(data[16 : 16 + size].rstrip(b"\0"))
            found.add(str(self.folders[watch] / name) if watch > 0 else "too many to be counted")
            data = data[16 + size :]
        return found


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copy(TINY, folder)
    shutil.copy(TREES, folder)
    text = "Dogs bark at the small cat near the river."
    (folder / "text.txt").write_text(f"{text}\n\n" * 4)
    (folder / "noun.req").write_text("pattern { X [upos=NOUN] }")
    (folder / "rule.grs").write_text("pattern { X [upos=NOUN] } commands { X.upos = X }")
    subprocess.run([DEPKIT, "convert", TINY, "-o", folder / "tiny.conllx"], check=True)
    # So many words that functions are compiled
    rows = (f"{i}\tdog\t_\tNOUN\tNOUN\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, 21))
    (folder / "many.conllx").write_text(f"{''.join(rows)}\n" * 300)
    return folder


@pytest.fixture(scope="module")
def traps(tmp_path_factory) -> tuple[Path, Path]:
    folder, marks = tmp_path_factory.mktemp("traps"), tmp_path_factory.mktemp("marks")
    write_traps(folder, marks)
    return folder, marks


def run(name: str, inputs: Path, outputs: Path, folder: Path) -> subprocess.CompletedProcess:
    command = COMMANDS[name].replace("IN/", f"{inputs}/").replace("OUT/", f"{outputs}/")
    program = TORCHRUN if name == "train-processes" else [DEPKIT]
    environment = {
        **os.environ, "HOME": str(outputs), "NUMBA_CACHE_DIR": str(inputs / "numba")
    }  # fmt: skip
    return subprocess.run(
        [*program, *command.split()], cwd=folder, env=environment, capture_output=True, text=True
    )


def make_inputs_of(name: str, inputs: Path) -> None:
    """Write inputs that need optional packages."""
    if name == "train-transformer" and not (inputs / "bert").exists():
        from tests.parsers.inputs.small_transformers import save_bert

        save_bert(inputs / "bert")
    if name == "train-elmo" and not (inputs / "tiny.hdf5").exists():
        import h5py
        import numpy as np

        from depkit.corpus.io import read

        with h5py.File(inputs / "tiny.hdf5", "w") as file:
            for number, sentence in enumerate(read(TINY)):
                file[str(number)] = np.ones((3, len(sentence), 4))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_runs_and_reads_nothing_in_its_directory(name, inputs, traps, tmp_path) -> None:
    if not find_spec(NEEDS.get(name, "depkit")):
        pytest.skip(f"{NEEDS[name]} is not installed")
    make_inputs_of(name, inputs)
    folder, marks = traps
    for mark in marks.iterdir():
        mark.unlink()
    watch = Watch(folder) if sys.platform == "linux" else None
    result = run(name, inputs, tmp_path, folder)
    assert sorted(path.name for path in marks.iterdir()) == []
    assert watch is None or watch.opened() == set()
    assert result.returncode == 0, result.stderr


def test_every_subcommand_is_called_among_traps() -> None:
    assert {command.split()[0] for command in COMMANDS.values()} >= SUBCOMMANDS.keys()
