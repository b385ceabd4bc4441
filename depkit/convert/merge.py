"""Trees or tags of one file in the rows of another, which has the same words."""

from collections.abc import Iterable, Iterator, Sequence

from depkit.convert.formats import AUTOMATIC, Account
from depkit.corpus.pairing import Source, pairs
from depkit.corpus.sentence import Sentence

ADVICE = "what is merged, or gives its tags, has the same words in the same sentences"
TAGS = ("lemma", "upos", "xpos", "feats")


def merge(
    originals: Iterable[Sentence],
    others: Iterable[Sentence],
    tags: bool = False,
    predicted: bool = False,
    account: Account | None = None,
) -> Iterator[Sentence]:
    """The original sentences with the heads and relations of others, of the same words.

    tags: take LEMMA, UPOS, XPOS and FEATS too, where the other has any and the original's format
    has the column. predicted: write all this into the automatic columns of CoNLL-09 originals.
    account: where to count DEPS that no longer fit.
    Sentences are compared one by one, in constant memory. Where the tree is the same, nothing
    is touched, else as `Sentence.with_tree` does it. If one of two sentences is broken, that one
    is yielded. Raises FormatError where words or the number of sentences differ.
    """
    for original, (other,) in pairs(Source("ORIGINAL", originals), [Source("IN", others)], ADVICE):
        broken = original if original.problem else other
        if broken.problem:
            yield broken
        else:
            yield _merged(original, other, TAGS if tags else (), predicted, account)


def retag(sentences: Iterable[Sentence], others: Iterable[Sentence]) -> Iterator[Sentence]:
    """Sentences with the XPOS of others, of the same words.

    In CoNLL-X, where CPOSTAG was the same as POSTAG, it stays the same. Broken sentences and
    errors are as with `merge`.
    """
    for sentence, (other,) in pairs(Source("IN", sentences), [Source("--tags", others)], ADVICE):
        broken = sentence if sentence.problem else other
        both = sentence.format.name == "conllx" and sentence.upos == sentence.xpos
        columns = dict.fromkeys(("upos", "xpos") if both else ("xpos",), other.xpos)
        yield broken if broken.problem else sentence.with_columns(columns)


def _merged(
    original: Sentence,
    other: Sentence,
    tags: Sequence[str],
    predicted: bool,
    account: Account | None,
) -> Sentence:
    to = AUTOMATIC if predicted and original.format.repeats else {}
    columns = {
        to.get(name, name): _filled(original.column(to.get(name, name)), getattr(other, name))
        for name in tags
        if name in original.format.held
    }
    if to:
        heads = ["_" if head < 0 else str(head) for head in other.head]
        return original.with_columns({"phead": heads, "pdeprel": other.deprel} | columns)
    if (original.head, original.deprel) == (other.head, other.deprel):
        return original.with_columns(columns) if columns else original
    if account is not None and original.format.stale:
        account.stale += sum(deps != "_" for deps in original.column("deps"))
    return original.with_tree(other.head, other.deprel, columns)


def _filled(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """A new column, where it has nothing the old one's."""
    return [mine if mine != "_" else other for other, mine in zip(old, new, strict=True)]
