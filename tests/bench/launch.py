"""Starts a command and tells what it took: python launch.py LIMIT STDIN COMMAND...

A small process of its own, for Linux counts the memory of whoever starts a program towards the
program's peak, and the benchmark itself is large. Prints JSON: seconds by the clock and of
processors (with those of its own children), the peak memory in bytes (the largest process, where
there are several), the seconds till the first byte of output, and the output. A command that
fails says why on stderr, and so its exit code. LIMIT: seconds after which it is killed, 0 for none.
"""

import json
import os
import subprocess
import sys
import time
from threading import Timer


def launch(limit: float, source: str, command: list[str]) -> tuple[int, dict[str, float | str]]:
    """The exit code of the command, and what it took, as told above."""
    with open(source, "rb") as stdin:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdout
        timer = Timer(limit or 1e6, process.kill)
        timer.daemon = True
        timer.start()
        output = process.stdout.read(1)
        first = time.perf_counter() - began if output else 0.0
        with process.stdout as rest:
            while chunk := rest.read(1 << 16):
                output += chunk
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return process.returncode, {
        "seconds": time.perf_counter() - began,
        "processor": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * unit,
        "first": first,
        "output": output.decode("utf-8", "replace"),
    }


if __name__ == "__main__":
    code, took = launch(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
    if code == -9:
        print("killed, for its time was over or its memory", file=sys.stderr)
    if code:
        sys.exit(code)
    print(json.dumps(took))
