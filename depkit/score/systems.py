"""The sentences of systems to be scored, and which columns of CoNLL-09 have their trees."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from depkit.convert.formats import with_predicted
from depkit.corpus.io import PathLike
from depkit.corpus.pairing import Source, make_source
from depkit.corpus.probabilities import best_trees
from depkit.corpus.sentence import Sentence

PREDICTED = (("columns", "predicted"),)  # the choice to name in signatures


@dataclass(frozen=True)
class System(Source):
    """The sentences of a system.

    A CoNLL-09 file of a system may have its predictions in PHEAD and PDEPREL, and in HEAD and
    DEPREL nothing, or the gold tree. `counts` has the number of CoNLL-09 sentences, of their words
    that have a PHEAD, and of those where PHEAD or PDEPREL is another than HEAD or DEPREL; it is
    complete when all sentences have been read.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def warnings(self, predicted: bool) -> tuple[str, ...]:
        """Return warnings if other columns may have the system's tree than those that were scored.

        predicted: whether PHEAD and PDEPREL were scored.
        """
        if predicted and not self.counts["CoNLL-09"]:
            return ("HEAD and DEPREL are scored, because `predicted` needs CoNLL-09",)
        if predicted and not self.counts["with PHEAD"]:
            return ("no word has a PHEAD, which `predicted` scores",)
        if predicted or not self.counts["different"]:
            return ()
        return (
            f"PHEAD or PDEPREL differ from HEAD and DEPREL, which are scored, in"
            f" {self.counts['different']:,} words; `predicted` scores PHEAD and PDEPREL",
        )


def make_system(
    sentences: PathLike | Sentence | Iterable[Sentence],
    encoding: str = "utf-8",
    predicted: bool = False,
) -> System:
    """Make the source of a system's sentences, as `pairing.make_source` does.

    If a sentence has several trees, see `probabilities.add_tree_rank`, the first one is scored.

    predicted: whether to score the automatic columns of CoNLL-09 (PHEAD, PDEPREL, PLEMMA, PPOS and
    PFEAT) instead of the gold ones.
    """
    source = make_source(sentences, encoding)
    counts: Counter[str] = Counter()
    return System(source.name, _read(source.sentences, predicted, counts), counts)


def _read(
    sentences: Iterable[Sentence], predicted: bool, counts: Counter[str]
) -> Iterator[Sentence]:
    for sentence in best_trees(sentences):
        if sentence.format.has_argument_columns and not sentence.problem:
            _count(sentence, counts)
            if predicted:
                sentence = with_predicted(sentence, rewrite=False)
                if sentence.problem:
                    raise sentence.problem
        yield sentence


def _count(sentence: Sentence, counts: Counter[str]) -> None:
    counts["CoNLL-09"] += 1
    heads, deprels = sentence.column("phead"), sentence.column("pdeprel")
    if heads.count("_") == deprels.count("_") == len(sentence):
        return
    counts["with PHEAD"] += len(sentence) - heads.count("_")
    rows = zip(sentence.column("head"), sentence.deprel, heads, deprels, strict=True)
    counts["different"] += sum(row[:2] != row[2:] for row in rows)
