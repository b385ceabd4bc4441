"""How fast treebanks are read and written.

One thread; the conllu package reads the same file's first sentences in turn with depkit.
Sentences that are collected in a list take longer to read than a stream of them: memory is new,
and Python's garbage collector looks at every list again and again.
"""

import io
from collections.abc import Iterable, Iterator
from itertools import islice

from depkit.corpus.files import read, write
from tests.bench.measure import Bench, Row, in_turn, timed

SAMPLE = 2000  # sentences that the conllu package reads


def exhaust(sentences: Iterable[object]) -> None:
    for _ in sentences:
        pass


def reading(bench: Bench) -> Iterator[Row]:
    """CoNLL-U to sentences, and the conllu package beside it."""
    import conllu

    sample = list(islice(bench.sentences, SAMPLE))
    text = "".join(map(str, sample))
    found = in_turn(
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
        yield Row("reading", name, found[name], bench.words, moved=size)
    yield Row(
        "reading", "the conllu package", found["package"], sum(map(len, sample)),
        moved=len(text.encode()), base="depkit", base_runs=found["depkit"],
    )  # fmt: skip


def writing(bench: Bench) -> Iterator[Row]:
    """Sentences to CoNLL-U, as they are and with a new tree."""
    sentences = [(sentence, sentence.head, sentence.deprel) for sentence in bench.sentences]
    target = bench.folder / "copy.conllu"
    found = in_turn(
        bench.runs,
        {
            "as read": timed(lambda: write((s for s, _, _ in sentences), target)),
            "with_tree and writing": timed(
                lambda: write((s.with_tree(h, d) for s, h, d in sentences), target)
            ),
        },
    )
    size = target.stat().st_size
    for name, runs in found.items():
        step = name == "with_tree and writing"
        yield Row("writing", name, runs, bench.words, moved=size, step=step)
