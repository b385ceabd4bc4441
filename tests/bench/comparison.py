"""Compare depkit with another parser on the same data, with the same number of threads.

Runs alternate, and the ratio is computed for each pair of runs. Words are those of the treebank,
even if a parser splits the raw text into other tokens.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import Bench, Measure, Peer, Row, Run, peer_program, run_alternately
from tests.bench.processes import (
    ParsePrograms,
    compare_parsers,
    parse_programs,
    train_measure,
    use_reported_seconds,
)

# Settings of the recipe bilstm that correspond to SuPar's biaffine-dep-en-char, with its recurrent
# dropout (which --set can turn off). Two differences remain: SuPar draws a dropout mask for each
# sentence of a batch, and it does not compute in bfloat16.
SAME = (
    "inputs.word=100", "inputs.word_unknown=0", "inputs.char=100", "inputs.char_embedding=50",
    "inputs.affix=0", "inputs.prior=0", "scorer.shared_attributes=false", "scorer.tag_vector=0",
    "encoder.layers=3", "encoder.size=400", "encoder.recurrent_dropout=0.33", "scorer.arc=500",
    "scorer.label=100", "scorer.predict=[]", "training.batch_tokens=5000", "training.updates=0",
    "training.schedule=exponential",
)  # fmt: skip


def supar_parse(bench: Bench) -> Iterator[Row]:
    """SuPar 1.1.4 parses CoNLL-U; depkit does so with --same-model, of the same architecture."""
    peer = peer_programs(
        bench, bench.supar, "supar_run.py", bench.file, bench.sentence, bench.threads
    )
    depkit = parse_programs(bench, bench.file, bench.sentence, bench.same_model)
    yield from compare_parsers(bench, "supar-parse", {"depkit": depkit, "SuPar": peer})


def supar_train(bench: Bench) -> Iterator[Row]:
    """SuPar 1.1.4 and depkit train for an epoch, with the same architecture and batches."""
    measures = {
        "depkit": train_measure(bench, *SAME, recipe="bilstm"),
        "SuPar": supar_measure(bench),
    }
    runs = {
        name: use_reported_seconds(reported)
        for name, reported in run_alternately(bench.runs, measures).items()
    }
    note = " ".join(bench.settings)
    yield Row("supar-train", "depkit, an epoch", runs["depkit"], bench.words, note=note)
    yield Row(
        "supar-train", "SuPar, an epoch", runs["SuPar"], bench.words,
        base="depkit", base_runs=runs["depkit"],
    )  # fmt: skip


def supar_measure(bench: Bench) -> Measure:
    """Return a measure that trains SuPar for an epoch; its model is `supar` in the folder."""

    def run() -> Run:
        arguments = bench.folder / "supar", bench.file, bench.dev_file, 1, bench.threads
        result = peer_program(bench, bench.supar, "supar_run.py", "train", *arguments)()
        epoch = next(line for line in result.output.splitlines() if line.startswith("{"))
        return result._replace(reported_seconds=json.loads(epoch)["seconds"])

    return run


def spacy(bench: Bench) -> Iterator[Row]:
    """spaCy 3.8 parses raw text, in one process and in as many as there are threads."""
    parsers = {"depkit": parse_programs(bench, bench.text, bench.sentence_text)}
    for processes in sorted({1, bench.threads}):
        name = f"spaCy, {processes} process" + "es" * (processes > 1)
        parsers[name] = peer_programs(
            bench, bench.spacy, "spacy_run.py", bench.text, bench.sentence_text, processes
        )
    yield from compare_parsers(bench, "spacy", parsers)


def udpipe(bench: Bench) -> Iterator[Row]:
    """ufal.udpipe parses raw text, always in one thread."""
    peer = peer_programs(bench, bench.udpipe, "udpipe_run.py", bench.text, bench.sentence_text)
    depkit = parse_programs(bench, bench.text, bench.sentence_text)
    yield from compare_parsers(bench, "udpipe", {"depkit": depkit, "UDPipe, 1 thread": peer})


def peer_programs(
    bench: Bench, peer: Peer, name: str, file: Path, sentence: Path, *rest: int
) -> ParsePrograms:
    """Return a peer's programs that parse a file and its first sentence."""
    output = bench.folder / "peer.conllu"
    whole_file, first_sentence = (
        peer_program(bench, peer, name, "parse", peer.model, path, output, *rest)
        for path in (file, sentence)
    )
    return whole_file, first_sentence
