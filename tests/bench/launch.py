"""Run a command and print its costs: python launch.py LIMIT STDIN COMMAND...

This script is a small process between the benchmark and the command. Linux counts the memory of a
program's parent process towards the program's peak, and the benchmark itself is large.

It prints JSON: wall-clock seconds, processor seconds (including child processes), the peak memory
in bytes (of the largest process if there are several), the seconds until the first byte of output,
and the output. If the command fails, its stderr and exit status are passed on. It is killed after
LIMIT seconds; 0 is no limit.
"""

import json
import os
import subprocess
import sys
import time
from threading import Timer


def launch(limit: float, source: str, command: list[str]) -> tuple[int, dict[str, float | str]]:
    """Return the exit status of the command, and its costs as described above."""
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
    code, costs = launch(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
    if code == -9:
        print("killed, because it exceeded its time limit or the memory", file=sys.stderr)
    if code:
        sys.exit(code)
    print(json.dumps(costs))
