"""Test a depkit command by fault injection: kills at random times, or full disks.

The command runs in an empty directory. Name its inputs with absolute paths and its outputs with
relative ones:

    python -m tests.faults kill --times 200 --fork --again=--resume -- \
        train $PWD/train.conllu --dev $PWD/dev.conllu -o model --epochs 3 --device cpu --threads 1
    python -m tests.faults disk --times 50 --fork -- parse $PWD/text.txt -o parsed.conllu

The exit status is 1 if a fault was found.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

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
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="depkit's arguments")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that disks are unmounted
    command = Command(options.command, fork=options.fork)
    if options.fork:
        preload()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.fault == "kill":
            faults = try_kills(command, folder, options.times, options.seed, options.again)
        else:
            limit_files = options.limit_files or not can_mount(folder)
            faults = try_full_disks(
                command, folder, options.times, options.again, limit_files=limit_files
            )
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
