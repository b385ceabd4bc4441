"""depkit and a peer in turn: the same data, the same threads, ratios run by run.

Words are the treebank's, whatever tokens a parser finds in the raw text.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import Bench, Measure, Peer, Row, Run, in_turn, script
from tests.bench.whole import Parsing, contest, inside, parsing, training

# SuPar's biaffine-dep-en-char in depkit's words, recurrent dropout included (--set it to 0 to go
# without); but that each sentence of a batch has its own mask there, and that it has no bfloat16
SAME = (
    "inputs.word=100", "inputs.char=100", "inputs.char_embedding=50", "encoder.kind=bilstm",
    "encoder.layers=3", "encoder.size=400", "encoder.recurrent_dropout=0.33", "scorer.arc=500",
    "scorer.label=100", "scorer.predict=[]", "training.batch_tokens=5000", "training.updates=0",
    "training.schedule=exponential",
)  # fmt: skip


def supar_parse(bench: Bench) -> Iterator[Row]:
    """SuPar 1.1.4 parsing CoNLL-U, against --same-model, depkit's of its architecture."""
    theirs = peers(bench, bench.supar, "supar_run.py", bench.file, bench.sentence, bench.threads)
    ours = parsing(bench, bench.file, bench.sentence, bench.same_model)
    yield from contest(bench, "supar-parse", {"depkit": ours, "SuPar": theirs})


def supar_train(bench: Bench) -> Iterator[Row]:
    """SuPar 1.1.4 training for an epoch, against depkit with its architecture and batches."""
    measures = {"depkit": training(bench, *SAME), "SuPar": supar_training(bench)}
    found = {name: inside(runs) for name, runs in in_turn(bench.runs, measures).items()}
    note = " ".join(bench.settings)
    yield Row("supar-train", "depkit, an epoch", found["depkit"], bench.words, note=note)
    yield Row(
        "supar-train", "SuPar, an epoch", found["SuPar"], bench.words,
        base="depkit", base_runs=found["depkit"],
    )  # fmt: skip


def supar_training(bench: Bench) -> Measure:
    """An epoch of SuPar on the file; its model is `supar` in the folder."""

    def run() -> Run:
        arguments = bench.folder / "supar", bench.file, bench.few, 1, bench.threads
        found = script(bench, bench.supar, "supar_run.py", "train", *arguments)()
        epoch = next(line for line in found.output.splitlines() if line.startswith("{"))
        return found._replace(inside=json.loads(epoch)["seconds"])

    return run


def spacy(bench: Bench) -> Iterator[Row]:
    """spaCy 3.8 parsing raw text, in one process and in as many as there are threads."""
    parsers = {"depkit": parsing(bench, bench.text, bench.sentence_text)}
    for processes in sorted({1, bench.threads}):
        name = f"spaCy, {processes} process" + "es" * (processes > 1)
        parsers[name] = peers(
            bench, bench.spacy, "spacy_run.py", bench.text, bench.sentence_text, processes
        )
    yield from contest(bench, "spacy", parsers)


def udpipe(bench: Bench) -> Iterator[Row]:
    """ufal.udpipe parsing raw text; it has one thread, whatever --threads says."""
    theirs = peers(bench, bench.udpipe, "udpipe_run.py", bench.text, bench.sentence_text)
    ours = parsing(bench, bench.text, bench.sentence_text)
    yield from contest(bench, "udpipe", {"depkit": ours, "UDPipe, 1 thread": theirs})


def peers(bench: Bench, peer: Peer, name: str, file: Path, sentence: Path, *rest: int) -> Parsing:
    """A peer's script parsing a file and its first sentence."""
    output = bench.folder / "peer.conllu"
    whole, one = (
        script(bench, peer, name, "parse", peer.model, path, output, *rest)
        for path in (file, sentence)
    )
    return whole, one
