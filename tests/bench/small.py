"""Train depkit and UDPipe 1 on the same treebanks, and compare the scores on their dev parts.

python -m tests.bench small TREEBANK... --udpipe PYTHON --max-time 15m

A TREEBANK is TRAIN:DEV, two CoNLL files, or one file, a tenth of which becomes the dev part.
Sentences that break the format are left out. If UPOS is empty, XPOS is copied to it, because UDPipe
needs it. UDPipe is trained with the options of its published models, without word vectors from
other texts, and on one thread, as it always is. Both programs read gold words, and predict tags and
lemmas. depkit selects its best epoch on the dev part; UDPipe does not need one.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from depkit import Sentence, evaluate, read, write
from depkit.training.data import split_dev
from depkit.trees.shape import has_crossing_arcs

METRICS = ("UAS", "LAS", "UPOS", "XPOS", "FEATS", "Lemmas")
NON_PROJECTIVE = 0.01  # with a greater share of non-projective sentences, UDPipe swaps words
UDPIPE = Path(__file__).parent / "peers" / "udpipe_run.py"


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench small", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("treebanks", nargs="+", metavar="TREEBANK", help="TRAIN:DEV, or one file")
    parser.add_argument("--udpipe", metavar="PYTHON", default="", help="Python with ufal.udpipe")
    parser.add_argument("--max-time", default="15m", help="of depkit train; default: 15m")
    parser.add_argument("--threads", default="2", help="of depkit; default: 2")
    parser.add_argument("--recipe", default="selfatt", help="of depkit; default: selfatt")
    parser.add_argument("--set", action="append", default=[], help="a setting of depkit train")
    arguments = parser.parse_args(argv)
    print("treebank | program | seconds | UAS | LAS | UPOS | XPOS | FEATS | lemmas")
    for treebank in arguments.treebanks:
        with TemporaryDirectory() as folder:
            for row in compare(treebank, Path(folder), arguments):
                print(" | ".join(row), flush=True)


def read_treebank(file: str, folder: Path) -> list[Sentence]:
    """Read a file in any CoNLL format, with XPOS in place of a missing UPOS."""
    converted = folder / "converted.conllu"
    converted.unlink(missing_ok=True)
    command = [sys.executable, "-m", "depkit", "convert", file, "-o", converted, "--quiet"]
    if subprocess.run(command, check=False).returncode > 1:  # 1: sentences are left out
        sys.exit(f"{file} cannot be converted")
    return [
        sentence.with_columns({"upos": sentence.xpos}) if {"_"} == set(sentence.upos) else sentence
        for sentence in read(converted)
    ]


def compare(
    treebank: str, folder: Path, arguments: argparse.Namespace
) -> Iterator[tuple[str, ...]]:
    train_file, _, dev_file = treebank.partition(":")
    train = read_treebank(train_file, folder)
    train, dev = (train, read_treebank(dev_file, folder)) if dev_file else split_dev(train, 0.1)
    train_file, dev_file = folder / "train.conllu", folder / "dev.conllu"
    write(train, train_file)
    write(dev, dev_file)
    model, parsed = folder / "model", folder / "parsed.conllu"
    settings = [part for setting in arguments.set for part in ("--set", setting)]
    depkit = [sys.executable, "-m", "depkit"]
    programs = {
        "depkit": [
            [*depkit, "train", train_file, "--dev", dev_file, "-o", model, "--recipe",
             arguments.recipe, "--max-time", arguments.max_time, "--threads", arguments.threads,
             *settings, "--quiet"],
            [*depkit, "parse", dev_file, "--model", model, "--tags", "predict", "-o", parsed, "-q"],
        ],
    }  # fmt: skip
    if arguments.udpipe:
        crossing = sum(
            has_crossing_arcs(np.array(sentence.head, dtype=np.int32)) for sentence in train
        )
        system = "swap" if crossing > NON_PROJECTIVE * len(train) else "projective"
        programs[f"UDPipe, {system}"] = [
            [arguments.udpipe, UDPIPE, "train", folder / "udpipe", train_file, system],
            [arguments.udpipe, UDPIPE, "annotate", folder / "udpipe", dev_file, parsed],
        ]
    for name, (training, parsing) in programs.items():
        began = time.perf_counter()
        subprocess.run(training, check=True)
        seconds = time.perf_counter() - began
        subprocess.run(parsing, check=True)
        scores = evaluate(dev, read(parsed)).scores
        yield (
            Path(treebank.partition(":")[0]).name,
            name,
            f"{seconds:.0f}",
            *(f"{scores[metric]:.2f}" for metric in METRICS),
        )
