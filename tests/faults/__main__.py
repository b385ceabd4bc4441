"""Test a depkit command by fault injection: kills at random times, or full disks.

The command runs in an empty directory. Name its inputs with absolute paths and its outputs with
relative ones:

    python -m tests.faults kill --times 200 --fork --again=--resume -- \
        train $PWD/train.conllu --dev $PWD/dev.conllu -o model --epochs 3 --device cpu --threads 1
    python -m tests.faults disk --times 50 --fork -- parse $PWD/text.txt -o parsed.conllu

Small commands and their inputs are in tests/faults/commands.py. Without --, arguments are names of
these commands:

    python -m tests.faults kill --times 30 --fork train train-tuned ensemble

The exit status is 1 if a fault was found.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.faults.commands import COMMANDS, make_arguments, make_inputs
from tests.faults.disk import can_mount, try_full_disks
from tests.faults.kill import try_kills
from tests.faults.processes import Command, preload


def main(arguments: list[str]) -> int:
    """Run the tests of a command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("fault", choices=["kill", "disk"])
    parser.add_argument("--times", type=int, default=10, help="number of kills or of disks")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random times of the kills")
    parser.add_argument(
        "--again", action="append", default=[], metavar="ARGUMENT",
        help="add this argument to continue a command, for example --again=--resume",
    )  # fmt: skip
    parser.add_argument("--fork", action="store_true", help="import depkit only once")
    parser.add_argument(
        "--limit-files", action="store_true", help="limit the size of each file instead of the disk"
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="DIR", help="keep the files that the named commands read"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"commands of {', '.join(COMMANDS)}"
    )
    given, command_line = _partition(arguments)
    options = parser.parse_intermixed_args(given)
    if unknown := set(options.names) - COMMANDS.keys():
        parser.error(f"there is no command {', '.join(sorted(unknown))}")
    if bool(options.names) == bool(command_line):
        parser.error("give either names of commands, or -- and the arguments of depkit")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that disks are unmounted
    with tempfile.TemporaryDirectory() as name:
        inputs = options.inputs or Path(name)
        if options.names and not (inputs / "parsed.conllu").exists():
            inputs.mkdir(exist_ok=True)
            make_inputs(inputs)
        if options.fork:
            preload()
        faults = []
        if command_line:
            faults = _try(command_line, options.again, options)
        for name in options.names:
            arguments, again = COMMANDS[name]
            print(f"{name}:", flush=True)
            faults += _try(make_arguments(arguments, inputs.resolve()), again.split(), options)
    return 1 if faults else 0


def _partition(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before and after `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:end], arguments[end + 1 :]


def _try(command_line: list[str], again: list[str], options: argparse.Namespace) -> list[str]:
    """Run the trials of a command; return the faults."""
    command = Command(command_line, fork=options.fork)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.fault == "kill":
            faults = try_kills(command, folder, options.times, options.seed, again)
        else:
            limit_files = options.limit_files or not can_mount(folder)
            faults = try_full_disks(command, folder, options.times, again, limit_files=limit_files)
    for fault in faults:
        print(fault, flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
