"""Trees or tags from one file merged into the rows of another file with the same words."""

from collections.abc import Iterable, Iterator, Sequence

from depkit.convert.formats import AUTOMATIC, ConversionReport
from depkit.corpus.pairing import Source, pair_sentences
from depkit.corpus.sentence import Sentence

ADVICE = "both files must have the same sentences with the same words"
TAGS = ("lemma", "upos", "xpos", "feats")


def merge(
    originals: Iterable[Sentence],
    others: Iterable[Sentence],
    *,
    names: tuple[str, str] = ("originals", "others"),
    tags: bool = False,
    predicted: bool = False,
    report: ConversionReport | None = None,
) -> Iterator[Sentence]:
    """Put the heads and relations of other sentences into the original sentences.

    Sentences are compared one by one, in constant memory. An original whose tree does not change
    keeps its lines, unless tags or automatic columns are written.

    Args:
        originals: The sentences whose rows are kept.
        others: The same sentences, word by word, with the trees to take over.
        names: The names of the originals and of the others in errors, such as their files.
        tags: Whether to take over LEMMA, UPOS, XPOS and FEATS as well, where the other sentence has
            a value and the original's format has the column.
        predicted: Whether to write into the automatic columns of CoNLL-09 originals.
        report: Counts what is left out because the tree has changed, such as DEPS.

    Yields:
        The merged sentences. If one of two sentences is broken, it is yielded unchanged.

    Raises:
        FormatError: The words or the numbers of sentences differ.
    """
    for original, (other,) in pair_sentences(
        Source(names[0], originals), [Source(names[1], others)], ADVICE
    ):
        broken = original if original.problem else other
        if broken.problem:
            yield broken
        else:
            yield _merge_sentence(
                original, other, tags=TAGS if tags else (), predicted=predicted, report=report
            )


def retag(
    sentences: Iterable[Sentence],
    others: Iterable[Sentence],
    names: tuple[str, str] = ("sentences", "others"),
) -> Iterator[Sentence]:
    """Yield sentences with the XPOS of other sentences that have the same words.

    names: those of both in errors, such as their files.

    In CoNLL-X, CPOSTAG changes with POSTAG where the two were equal. Broken sentences and errors
    are treated as in `merge`.
    """
    for sentence, (other,) in pair_sentences(
        Source(names[0], sentences), [Source(names[1], others)], ADVICE
    ):
        broken = sentence if sentence.problem else other
        both_tags = sentence.format.name == "conllx" and sentence.upos == sentence.xpos
        columns = dict.fromkeys(("upos", "xpos") if both_tags else ("xpos",), other.xpos)
        yield broken if broken.problem else sentence.with_columns(columns)


def _merge_sentence(
    original: Sentence,
    other: Sentence,
    *,
    tags: Sequence[str],
    predicted: bool,
    report: ConversionReport | None,
) -> Sentence:
    target_names = AUTOMATIC if predicted and original.format.has_argument_columns else {}
    columns = {}
    for name in tags:
        if name in original.format.attribute_columns:
            target = target_names.get(name, name)
            columns[target] = _overwrite(original.column(target), getattr(other, name))
    if target_names:
        heads = ["_" if head < 0 else str(head) for head in other.head]
        return original.with_columns({"phead": heads, "pdeprel": other.deprel, **columns})
    if (original.head, original.deprel) == (other.head, other.deprel):
        return original.with_columns(columns) if columns else original
    if report is not None:
        report.count_cleared(original)
    return original.with_tree(other.head, other.deprel, columns)


def _overwrite(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the new values, or the old ones where the new column has `_`."""
    return [
        new_value if new_value != "_" else old_value
        for old_value, new_value in zip(old, new, strict=True)
    ]
