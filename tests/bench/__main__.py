"""Measure the speed of depkit: single stages, whole processes, and comparisons with other parsers.

Run `python -m tests.bench [ENTRY...] [--json FILE]`; --list prints the entries. Everything is
measured several times, alternating with what it is compared to, and figures are medians. Words
per second are worthless on a busy machine. So are shares and processor time with several threads,
which wait for one another; with --threads 1, they hardly change.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depkit.corpus.io import read, write
from depkit.files.atomic import atomic
from tests.bench.measure import EWT, Bench, Peer, Row, describe_machine

if TYPE_CHECKING:
    from rich.table import Table

NUM_DEV_SENTENCES = 100  # in training

# The module of each entry. An entry is a function with its name that maps a Bench to rows.
ENTRIES = {
    "roofline": "roofline",
    "reading": "corpus",
    "writing": "corpus",
    "tokenizing": "stages",
    "batching": "stages",
    "encoder": "stages",
    "scoring": "stages",
    "decoding": "decode",
    "backward": "stages",
    "parse": "processes",
    "train": "processes",
    "evaluating": "score",
    "supar-parse": "comparison",
    "supar-train": "comparison",
    "spacy": "comparison",
    "udpipe": "comparison",
}
# The options that an entry requires.
REQUIRED_OPTIONS = {
    "supar-parse": ("supar", "supar_model", "same_model"),
    "supar-train": ("supar",),
    "spacy": ("spacy", "spacy_model"),
    "udpipe": ("udpipe", "udpipe_model"),
}
# Modules with a command line of their own
OWN_OPTIONS = (
    "gpu",
    "languages",
    "manuals",
    "pieces",
    "small",
    "suspects",
    "pages",
    "serve",
    "figure",
    "words",
)
PEERS = {"supar": "SuPar 1.1.4", "spacy": "spaCy 3.8", "udpipe": "ufal.udpipe"}


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.partition("\n")[0],
        epilog="python -m tests.bench gpu measures a GPU in minutes; python -m tests.bench small"
        " compares accuracies on small treebanks, and python -m tests.bench languages those of the"
        " bundled models of other languages; python -m tests.bench suspects finds planted"
        " errors; python -m tests.bench pages opens HTML pages; python -m tests.bench serve sends"
        " requests to depkit serve; python -m tests.bench figure draws the figure of README."
        " They have their own --help.",
    )  # fmt: skip
    add = parser.add_argument
    add(
        "entries",
        nargs="*",
        metavar="ENTRY",
        help="what to measure; by default, all entries whose options are given",
    )
    add("--list", action="store_true", help="print the entries and exit")
    add("--json", metavar="FILE", help="also write all runs and figures to this file")
    add("--data", metavar="FILE", type=Path, default=EWT, help="treebank; default: EWT dev")
    add("--model", default="en-ewt", help="depkit's model; default: en-ewt")
    add("--device", default="cpu", help="depkit's device: cpu, cuda; SuPar uses any GPU")
    add("--threads", type=int, default=2, help="threads of every program; default: 2")
    add("--runs", type=int, default=5, help="runs of every measurement; default: 5")
    add("--set", metavar="KEY=VALUE", action="append", default=[], help="for depkit train")
    add("--same-model", metavar="DIR", default="", help="depkit's model of SuPar's architecture")
    for name, package in PEERS.items():
        add(f"--{name}", metavar="PYTHON", default="", help=f"Python with {package}")
        add(f"--{name}-model", metavar="MODEL", default="", help=f"model of {package}")
    arguments = parser.parse_args(argv)
    for entry in arguments.entries:
        if entry not in ENTRIES:
            parser.error(f"there is no entry {entry!r}; --list prints the entries")
        required = REQUIRED_OPTIONS.get(entry, ())
        if missing := [name for name in required if not getattr(arguments, name)]:
            parser.error(f"{entry} needs --{missing[0].replace('_', '-')}")
    if min(arguments.threads, arguments.runs) < 1:
        parser.error("--threads and --runs must be 1 or more")
    if not arguments.list and not arguments.data.is_file():
        parser.error(f"{arguments.data} does not exist; name a treebank with --data")
    return arguments


def load_entry(name: str) -> Callable[[Bench], Iterator[Row]]:
    module = import_module(f"tests.bench.{ENTRIES[name]}")
    return getattr(module, name.replace("-", "_"))


def make_bench(arguments: argparse.Namespace, folder: Path) -> Bench:
    """Return the data of all entries; write its files into a folder."""
    from depkit.training.passages import make_passages

    sentences = list(read(arguments.data))
    text, sentence_text = folder / "text.txt", folder / "sentence.txt"
    paragraphs = (passage.text for passage in make_passages(sentences))
    text.write_text("\n\n".join(paragraphs) + "\n", "utf-8")
    sentence_text.write_text(make_passages(sentences[:1])[0].text + "\n", "utf-8")
    sentence, dev_file = folder / "sentence.conllu", folder / "few.conllu"
    write(sentences[:1], sentence)
    write(sentences[:NUM_DEV_SENTENCES], dev_file)
    peers = {
        name: Peer(getattr(arguments, name), getattr(arguments, f"{name}_model")) for name in PEERS
    }
    return Bench(
        arguments.data.resolve(), sentences, sum(map(len, sentences)), text, sentence,
        sentence_text, dev_file, folder, arguments.model, arguments.device, arguments.threads,
        arguments.runs, settings=arguments.set, same_model=arguments.same_model, **peers,
    )  # fmt: skip


def format_figure(figures: dict[str, Any], name: str, form: str) -> str:
    return format(figures[name], form) if name in figures else ""


def table(rows: Sequence[Row]) -> "Table":
    """Return a table of the rows' figures; missing figures are empty cells."""
    from rich.table import Table

    result = Table(box=None, header_style="bold", pad_edge=False)
    result.add_column("entry")
    result.add_column("what", max_width=44)
    for name in ("words/s", "CPU µs/word", "MFLOP/word", "GFLOP/s", "of limit", "GB/s", "peak MB"):
        result.add_column(name, justify="right")
    result.add_column("time, or ratio (min-max)")
    result.add_column("note")
    for row in rows:
        figures = row.figures()
        times = f"{figures['seconds']:.3f} s"
        if "times" in figures:
            middle, low, high = figures["times"]
            times = f"{middle:.2f} ({low:.2f}-{high:.2f}) x {row.base}"
        result.add_row(
            row.entry,
            row.name,
            format_figure(figures, "words_per_second", ",.0f"),
            format_figure(figures, "processor_us_per_word", ".1f"),
            format_figure(figures, "megaflops_per_word", ".2f"),
            format_figure(figures, "gflops_per_second", ".0f"),
            format_figure(figures, "roofline", ".0%"),
            format_figure(figures, "gigabytes_per_second", ".2f"),
            format_figure(figures, "peak_megabytes", ",.0f"),
            times,
            row.note,
        )
    return result


def row_to_json(row: Row) -> dict[str, Any]:
    """Return a row for JSON: its runs and its figures."""
    runs = [
        {"seconds": run.seconds, "processor": run.processor, "peak": run.peak} for run in row.runs
    ]
    names = {name: getattr(row, name) for name in ("entry", "name", "base", "note", "words")}
    return names | {"runs": runs, "figures": row.figures()}


def describe_shares(rows: Sequence[Row]) -> str:
    """Return the shares of the steps in the processor time of parsing raw text, slowest first."""
    costs: dict[str, float] = {
        f"{row.entry} ({row.name})": row.figures()["processor_us_per_word"]
        for row in rows
        if row.step
    }
    total = sum(costs.values())
    slowest = sorted(costs, key=lambda name: -costs[name])
    return ", ".join(f"{name} {costs[name] / total:.0%}" for name in slowest)


def main(argv: Sequence[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in OWN_OPTIONS:
        import_module(f"tests.bench.{argv[0]}").main(argv[1:])
        return
    from rich.console import Console

    arguments = parse_arguments(argv)
    if arguments.list:
        for name in ENTRIES:
            print(f"{name:12} {(load_entry(name).__doc__ or '').splitlines()[0]}")
        return
    entries = arguments.entries or [
        entry
        for entry in ENTRIES
        if all(getattr(arguments, name) for name in REQUIRED_OPTIONS.get(entry, ()))
    ]
    rows: list[Row] = []
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        bench = make_bench(arguments, Path(folder))
        for name in entries:
            print(f"measuring {name}", file=sys.stderr)
            try:
                rows += load_entry(name)(bench)
            except (ValueError, OSError) as error:
                failed = True
                print(f"error: {name}: {error}", file=sys.stderr)
    print(
        f"{bench.file.name}: {len(bench.sentences):,} sentences, {bench.words:,} words;"
        f" {bench.threads} threads, {bench.device}"
    )
    Console(width=None if sys.stdout.isatty() else 200).print(table(rows))
    if sum(row.step for row in rows) > 1:
        print(f"\nprocessor time of the steps of parsing raw text: {describe_shares(rows)}")
    if arguments.json:
        report = {
            "machine": describe_machine(),
            "arguments": vars(arguments) | {"data": str(arguments.data)},
            "words": bench.words,
            "rows": [row_to_json(row) for row in rows],
        }
        with atomic(arguments.json) as temporary:
            temporary.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
