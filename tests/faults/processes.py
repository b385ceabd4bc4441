"""Runs of a command in a session of their own, so that all their processes are known."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import process
from pathlib import Path

DEPKIT = [sys.executable, "-m", "depkit"]
_CHECKOUT = str(Path(__file__).parents[2])
_POLL = 0.005  # seconds
_PATIENCE = 5.0


@dataclass(frozen=True)
class Command:
    """A command line, which writes only to its working directory and to temporary directories."""

    arguments: Sequence[str]
    program: Sequence[str] = tuple(DEPKIT)
    fork: bool = False  # run depkit in a fork of this process, which `preload` has prepared

    def start(
        self, folder: Path, errors: Path, more: Sequence[str] = (), max_size: int | None = None
    ) -> "Run":
        """Start the command in a directory, which also contains its temporary directories.

        Args:
            folder: The working directory, which is made if it does not exist. Standard output is
                the file `stdout` in it.
            errors: The file for standard error.
            more: Further arguments.
            max_size: The maximum size of a file in bytes.
        """
        for name in ("tmp", "cache", "home"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                self._enter(folder, errors, max_size)
                status = self._execute([*self.arguments, *more])
            finally:
                os._exit(status)
        return Run(pid, errors)

    def _enter(self, folder: Path, errors: Path, max_size: int | None) -> None:
        os.setsid()
        os.chdir(folder)
        os.environ |= {
            "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
            "DEPKIT_CACHE": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join(filter(None, (_CHECKOUT, os.environ.get("PYTHONPATH")))),
        }  # fmt: skip
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open("stdout", flags), 1)
        os.dup2(os.open(errors, flags), 2)
        if max_size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_size, max_size))

    def _execute(self, arguments: list[str]) -> int:
        if not self.fork:
            os.execvp(self.program[0], [*self.program, *arguments])
        process.ORIGINAL_DIR = os.getcwd()  # for processes that the command spawns
        sys.argv = ["depkit", *arguments]
        try:
            import_module("depkit.__main__").main()
        except SystemExit as end:
            with suppress(OSError):
                sys.stdout.flush()
            # Do not exit here: inherited atexit functions would remove the directory of the tests.
            return int(end.code or 0)
        return 0


def preload() -> None:
    """Import the modules that commands need, so that a fork starts quickly."""
    commands = import_module("depkit.cli.main").COMMANDS
    for name in (
        "serving.files", "ensemble.training", "ensemble.distillation", "ensemble.jackknife",
        "trees.jit", *(f"cli.{'evaluate' if name == 'eval' else name}" for name in commands),
    ):  # fmt: skip
        import_module(f"depkit.{name}")


class Run:
    """A started command."""

    def __init__(self, pid: int, errors: Path) -> None:
        self.pid = pid
        self.errors = errors

    def wait(
        self, seconds: float = float("inf"), watch: Callable[[], object] = lambda: None
    ) -> int | None:
        """Wait until the process has ended and return its status; None after `seconds`.

        watch: a function that is called every few milliseconds.
        """
        end = time.monotonic() + seconds
        try:
            while True:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    return os.waitstatus_to_exitcode(status)
                if time.monotonic() >= end:
                    return None
                watch()
                time.sleep(_POLL)
        except BaseException:  # the trials were interrupted
            self.kill(only_first=False)
            raise

    def kill(self, only_first: bool) -> int:
        """Kill all processes, or only the first one, and wait until all have ended.

        Returns the number of processes that do not end within 5 seconds when the first one is
        killed; they are killed as well.
        """
        for pid in [self.pid] if only_first else self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return self.end_session()

    def end_session(self) -> int:
        """Wait 5 seconds for all processes to end; kill the others and return their number."""
        end = time.monotonic() + _PATIENCE
        while self.processes() and time.monotonic() < end:
            time.sleep(_POLL)
        orphans = self.processes()
        for pid in orphans:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(orphans)

    def processes(self) -> list[int]:
        """Return the processes of the session that have not ended."""
        pids = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                state, _, _, session, *_ = stat.read_text().rpartition(")")[2].split()
                if int(session) == self.pid and state not in "ZX":
                    pids.append(int(stat.parent.name))
        return pids

    def describe_errors(self) -> str:
        """Return the last lines of standard error."""
        return " | ".join(self.errors.read_text("utf-8", "replace").splitlines()[-3:])
