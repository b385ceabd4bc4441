"""Fuzz readers: `python -m tests.fuzz READER... --seconds N [--seed N]`."""

import argparse
import faulthandler
import resource
import sys
import tempfile
from pathlib import Path

from tests.fuzz.fuzzer import fuzz
from tests.fuzz.readers import READERS

_MEMORY = 2 << 30  # bytes that reading may allocate, in addition to the memory used at the start


def limit_memory() -> None:
    """Limit the address space, so that a file that needs too much memory raises MemoryError."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))


def main() -> int:
    """Print one line for each reader and one for each finding, whose files are kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)}")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader, by default 60")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=Path, default=Path(tempfile.mkdtemp(prefix="fuzz-")))
    options = parser.parse_args()
    if unknown := set(options.readers) - set(READERS):
        parser.error(f"there is no reader {', '.join(sorted(unknown))}")
    faulthandler.enable()
    limit_memory()
    count = 0
    for name in options.readers or READERS:
        directory = options.findings / name
        directory.mkdir(parents=True)
        report = fuzz(READERS[name], directory, options.seed, options.seconds)
        print(
            f"{name}: {report.read} files read, {report.refused} refused, {report.lines} lines,"
            f" {len(report.findings)} findings",
            flush=True,
        )
        for number, (finding, data) in enumerate(report.findings.items(), start=1):
            path = directory / f"finding-{number}"
            path.write_bytes(data)
            print(f"  {finding}: {path}", flush=True)
        count += len(report.findings)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
