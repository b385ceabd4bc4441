"""Reading and writing of treebanks, in one thread.

The conllu package reads the first sentences of the same file, alternating with depkit. Collecting
sentences in a list takes longer than reading a stream of them: the list needs new memory, and
Python's garbage collector examines it again and again.
"""

import io
from collections.abc import Iterable, Iterator
from itertools import islice

from depkit.corpus.io import read, write
from tests.bench.measure import Bench, Row, run_alternately, timed

SAMPLE = 2000  # number of sentences that the conllu package reads


def exhaust(sentences: Iterable[object]) -> None:
    for _ in sentences:
        pass


def reading(bench: Bench) -> Iterator[Row]:
    """CoNLL-U to sentences, with depkit and with the conllu package."""
    import conllu

    sample = list(islice(bench.sentences, SAMPLE))
    text = "".join(map(str, sample))
    runs = run_alternately(
        bench.runs,
        {
            "streaming": timed(lambda: exhaust(read(bench.file))),
            "into a list": timed(lambda: list(read(bench.file))),
            "depkit": timed(lambda: exhaust(read(io.StringIO(text, newline="\n"), "conllu"))),
            "package": timed(lambda: exhaust(conllu.parse_incr(io.StringIO(text)))),
        },
    )
    size = bench.file.stat().st_size
    for name in ("streaming", "into a list"):
        yield Row("reading", name, runs[name], bench.words, moved=size)
    yield Row(
        "reading", "the conllu package", runs["package"], sum(map(len, sample)),
        moved=len(text.encode()), base="depkit", base_runs=runs["depkit"],
    )  # fmt: skip


def writing(bench: Bench) -> Iterator[Row]:
    """Sentences to CoNLL-U, unchanged and with a new tree."""
    sentences = [(sentence, sentence.head, sentence.deprel) for sentence in bench.sentences]
    target = bench.folder / "copy.conllu"
    runs = run_alternately(
        bench.runs,
        {
            "as read": timed(lambda: write((s for s, _, _ in sentences), target)),
            "with_tree and writing": timed(
                lambda: write((s.with_tree(h, d) for s, h, d in sentences), target)
            ),
        },
    )
    size = target.stat().st_size
    for name, name_runs in runs.items():
        step = name == "with_tree and writing"
        yield Row("writing", name, name_runs, bench.words, moved=size, step=step)
