"""Kill a training run (SIGKILL) at ten random moments, resume each time, compare the models.

    python -m tests.training.kill_and_resume TRAIN DEV [depkit train options]

The run that was killed must end with exactly the same weights as an undisturbed run. It runs on
the CPU, without --max-time. The output of one execution is in kill_and_resume.txt.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file

KILLS = 10


def start(arguments: list[str], directory: Path, *more: str) -> subprocess.Popen:
    """Start a training in another process."""
    command = [sys.executable, "-m", "depkit", "train", *arguments, "-o", str(directory)]
    return subprocess.Popen([*command, "--device", "cpu", "--threads", "1", "-q", *more])


def count_epochs(directory: Path) -> int:
    """Return the number of epochs in the log."""
    log = directory / "log.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def main(arguments: list[str]) -> int:
    """Return 0 if the weights are the same."""
    train, dev, *options = arguments
    arguments = [train, "--dev", dev, *options]
    random_times = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        whole, cut = Path(folder) / "whole", Path(folder) / "cut"
        started = time.monotonic()
        assert start(arguments, whole).wait() == 0
        length = time.monotonic() - started
        print(f"undisturbed: {count_epochs(whole)} epochs in {length:.1f} s", flush=True)
        kills = 0
        while kills < KILLS:
            process = start(arguments, cut, *(["--resume"] if cut.exists() else []))
            try:
                # Kill the process after its start-up of some seconds and before its end.
                process.wait(timeout=random_times.uniform(2.0, 2.0 + length / 4))
                print(f"finished after {kills} kills: the run is too short for {KILLS}")
                return 1
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            kills += 1
            state = "checkpoint" if (cut / "last.safetensors").exists() else "no checkpoint yet"
            print(f"kill {kills}: {count_epochs(cut)} epochs logged, {state}", flush=True)
        assert start(arguments, cut, "--resume").wait() == 0
        expected, resumed = (load_file(path / "model.safetensors") for path in (whole, cut))
        differing = [name for name in expected if not torch.equal(expected[name], resumed[name])]
        parts = list(cut.glob(".*.part"))
        num_epochs = count_epochs(cut)
        print(f"{len(expected)} tensors, {len(differing)} differ; {num_epochs} epochs in the log")
        print(f"files left incomplete by the kills: {len(parts)}")
        return 1 if differing or num_epochs != count_epochs(whole) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
