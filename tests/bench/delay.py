"""The delay of `depkit parse` on a pipe: python -m tests.bench.delay [--lines N] [OPTION...].

A line is written every 100 ms or less, at random. Its delay is the time until the whole tree has
been read. Prints the median and the largest delay of N lines. Further options are for depkit parse.
"""

import argparse
import random
import statistics
import subprocess
import sys
import time

LINES = {
    "lines": "The committee that met on Tuesday has not yet decided what to do about it.",
    "tokens": "The committee that met on Tuesday has not yet decided what to do about it .",
}
LINES["conllu"] = "".join(
    "\t".join([str(number), form, *"_" * 8]) + "\n"
    for number, form in enumerate(LINES["tokens"].split(), 1)
)


def measure_delays(input: str, count: int, options: list[str]) -> list[float]:
    """Return the delays of some lines in milliseconds, after one line that is not counted."""
    command = [sys.executable, "-m", "depkit", "parse", "--input", input, *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, bufsize=0, **pipes) as process:
        delays = []
        for _ in range(count + 1):
            time.sleep(random.random() / 10)
            began = time.perf_counter()
            process.stdin.write(f"{LINES[input]}\n".encode())
            tree = b""
            while not tree.endswith(b"\n\n"):
                tree += process.stdout.read(1 << 16)
            delays.append(1000 * (time.perf_counter() - began))
        process.stdin.close()
    return delays[1:]


def main() -> None:
    """Measure the delays of all kinds of input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100)
    arguments, options = parser.parse_known_args()
    for input in LINES:
        delays = measure_delays(input, arguments.lines, options)
        print(f"{input}: median {statistics.median(delays):.1f} ms, worst {max(delays):.1f} ms")


if __name__ == "__main__":
    main()
