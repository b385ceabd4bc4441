"""How fast depkit is, stage by stage, as whole processes and beside its peers.

python -m tests.bench [ENTRY...] [--json FILE]; --list names the entries. Everything is measured
several times, in turn with what it is compared to; figures are medians. A busy machine makes rates
worthless, and with several threads, which wait for one another, shares and processor time, too;
--threads 1 leaves these nearly as they are.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depkit.corpus.files import atomic, read, write
from tests.bench.measure import ROOT, Bench, Peer, Row, machine

if TYPE_CHECKING:
    from rich.table import Table

EWT = ROOT.parent / "shared" / "data" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"
FEW = 100  # sentences of dev in training

# An entry is a function of that name in a module of this folder: a Bench to rows.
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
    "parse": "whole",
    "train": "whole",
    "evaluating": "score",
    "supar-parse": "contest",
    "supar-train": "contest",
    "spacy": "contest",
    "udpipe": "contest",
}
# What an entry cannot do without, by option.
NEEDS = {
    "supar-parse": ("supar", "supar_model", "same_model"),
    "supar-train": ("supar",),
    "spacy": ("spacy", "spacy_model"),
    "udpipe": ("udpipe", "udpipe_model"),
}
PEERS = {"supar": "SuPar 1.1.4", "spacy": "spaCy 3.8", "udpipe": "ufal.udpipe"}


def arguments_of(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.partition("\n")[0],
        epilog="python -m tests.bench gpu measures a GPU in minutes; it has its own --help.",
    )  # fmt: skip
    add = parser.add_argument
    add("entries", nargs="*", metavar="ENTRY", help="what to measure; all that can be if not given")
    add("--list", action="store_true", help="name the entries and stop")
    add("--json", metavar="FILE", help="write all runs and figures, too")
    add("--data", metavar="FILE", type=Path, default=EWT, help="a treebank; EWT dev if not given")
    add("--model", default="en-ewt", help="depkit's model")
    add("--device", default="cpu", help="depkit's: cpu, cuda; SuPar takes a GPU if it sees one")
    add("--threads", type=int, default=2, help="of everybody, 2 if not given")
    add("--runs", type=int, default=5, help="of everything, 5 if not given")
    add("--set", metavar="KEY=VALUE", action="append", default=[], help="of depkit train")
    add("--same-model", metavar="DIR", default="", help="depkit's model of SuPar's architecture")
    for name, shown in PEERS.items():
        add(f"--{name}", metavar="PYTHON", default="", help=f"the Python that has {shown}")
        add(f"--{name}-model", metavar="MODEL", default="", help="what it parses with")
    arguments = parser.parse_args(given)
    for entry in arguments.entries:
        if entry not in ENTRIES:
            parser.error(f"no entry {entry!r}; --list names them")
        if lacking := [need for need in NEEDS.get(entry, ()) if not getattr(arguments, need)]:
            parser.error(f"{entry} needs --{lacking[0].replace('_', '-')}")
    if min(arguments.threads, arguments.runs) < 1:
        parser.error("--threads and --runs are 1 or more")
    if not arguments.list and not arguments.data.is_file():
        parser.error(f"{arguments.data} is not there; name a treebank with --data")
    return arguments


def entry_of(name: str) -> Callable[[Bench], Iterator[Row]]:
    module = import_module(f"tests.bench.{ENTRIES[name]}")
    return getattr(module, name.replace("-", "_"))


def bench_of(arguments: argparse.Namespace, folder: Path) -> Bench:
    """What the entries need, the files among it written into a folder."""
    from depkit.training.tokenizer import passages

    sentences = list(read(arguments.data))
    text, sentence_text = folder / "text.txt", folder / "sentence.txt"
    paragraphs = (passage.text for passage in passages(sentences))
    text.write_text("\n\n".join(paragraphs) + "\n", "utf-8")
    sentence_text.write_text(passages(sentences[:1])[0].text + "\n", "utf-8")
    sentence, few = folder / "sentence.conllu", folder / "few.conllu"
    write(sentences[:1], sentence)
    write(sentences[:FEW], few)
    return Bench(
        arguments.data.resolve(), sentences, sum(map(len, sentences)), text, sentence,
        sentence_text, few, folder, arguments.model, arguments.device, arguments.threads,
        arguments.runs, arguments.set, arguments.same_model,
        *(
            Peer(getattr(arguments, name), getattr(arguments, f"{name}_model"))
            for name in ("supar", "spacy", "udpipe")
        ),
    )  # fmt: skip


def shown(figures: dict[str, Any], name: str, form: str) -> str:
    return format(figures[name], form) if name in figures else ""


def table(rows: Sequence[Row]) -> "Table":
    """The rows' figures; nothing where there is none."""
    from rich.table import Table

    result = Table(box=None, header_style="bold", pad_edge=False)
    result.add_column("entry")
    result.add_column("what", max_width=44)
    for name in ("words/s", "CPU µs/word", "MFLOP/word", "GFLOP/s", "of limit", "GB/s", "peak MB"):
        result.add_column(name, justify="right")
    result.add_column("time, or times (least-most)")
    result.add_column("note")
    for row in rows:
        figures = row.figures()
        times = f"{figures['seconds']:.3f} s"
        if "times" in figures:
            middle, least, most = figures["times"]
            times = f"{middle:.2f} ({least:.2f}-{most:.2f}) x {row.base}"
        result.add_row(
            row.entry,
            row.name,
            shown(figures, "words_per_second", ",.0f"),
            shown(figures, "processor_us_per_word", ".1f"),
            shown(figures, "megaflops_per_word", ".2f"),
            shown(figures, "gflops_per_second", ".0f"),
            shown(figures, "roofline", ".0%"),
            shown(figures, "gigabytes_per_second", ".2f"),
            shown(figures, "peak_megabytes", ",.0f"),
            times,
            row.note,
        )
    return result


def told(row: Row) -> dict[str, Any]:
    """A row for JSON: all its runs and what follows from them."""
    runs = [
        {"seconds": run.seconds, "processor": run.processor, "peak": run.peak} for run in row.runs
    ]
    names = {name: getattr(row, name) for name in ("entry", "name", "base", "note", "words")}
    return names | {"runs": runs, "figures": row.figures()}


def shares(rows: Sequence[Row]) -> str:
    """What the steps of parsing raw text take of its processor time, the slowest first."""
    costs: dict[str, float] = {
        f"{row.entry} ({row.name})": row.figures()["processor_us_per_word"]
        for row in rows
        if row.step
    }
    total = sum(costs.values())
    slowest = sorted(costs, key=lambda name: -costs[name])
    return ", ".join(f"{name} {costs[name] / total:.0%}" for name in slowest)


def main(given: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if given is None else given
    if given[:1] == ["gpu"]:
        from tests.bench import gpu

        gpu.main(given[1:])
        return
    from rich.console import Console

    arguments = arguments_of(given)
    if arguments.list:
        for name in ENTRIES:
            print(f"{name:12} {(entry_of(name).__doc__ or '').splitlines()[0]}")
        return
    chosen = arguments.entries or [
        name for name in ENTRIES if all(getattr(arguments, need) for need in NEEDS.get(name, ()))
    ]
    rows: list[Row] = []
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        bench = bench_of(arguments, Path(folder))
        for name in chosen:
            print(f"measuring {name}", file=sys.stderr)
            try:
                rows += entry_of(name)(bench)
            except (ValueError, OSError) as error:
                failed = True
                print(f"error: {name}: {error}", file=sys.stderr)
    print(
        f"{bench.file.name}: {len(bench.sentences):,} sentences, {bench.words:,} words;"
        f" {bench.threads} threads, {bench.device}"
    )
    Console(width=None if sys.stdout.isatty() else 200).print(table(rows))
    if sum(row.step for row in rows) > 1:
        print(f"\nprocessor time of the steps of parsing raw text: {shares(rows)}")
    if arguments.json:
        found = {
            "machine": machine(),
            "arguments": vars(arguments) | {"data": str(arguments.data)},
            "words": bench.words,
            "rows": [told(row) for row in rows],
        }
        with atomic(arguments.json) as beside:
            beside.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
