"""Trees or tags of one file in the rows of another, which has the same words."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from depkit.convert.formats import AUTOMATIC
from depkit.corpus.errors import FormatError
from depkit.corpus.sentence import Sentence

TAGS = ("lemma", "upos", "xpos", "feats")


def merge(
    originals: Iterable[Sentence],
    others: Iterable[Sentence],
    tags: bool = False,
    predicted: bool = False,
) -> Iterator[Sentence]:
    """The original sentences with the heads and relations of others, of the same words.

    tags: take LEMMA, UPOS, XPOS and FEATS too, where the other has any and the original's format
    has the column. predicted: write all this into the automatic columns of CoNLL-09 originals.
    Sentences are compared one by one, in constant memory. Where the tree is the same, nothing
    is touched, else as `Sentence.with_tree` does it. If one of two sentences is broken, that one
    is yielded. Raises FormatError where words or the number of sentences differ.
    """
    for original, other in _pairs(originals, others):
        broken = original if original.problem else other
        sound = not broken.problem
        yield _merged(original, other, TAGS if tags else (), predicted) if sound else broken


def retag(sentences: Iterable[Sentence], others: Iterable[Sentence]) -> Iterator[Sentence]:
    """Sentences with the XPOS of others, of the same words.

    In CoNLL-X, where CPOSTAG was the same as POSTAG, it stays the same. Broken sentences and
    errors are as with `merge`.
    """
    for sentence, other in _pairs(sentences, others):
        broken = sentence if sentence.problem else other
        both = sentence.format.name == "conllx" and sentence.upos == sentence.xpos
        columns = dict.fromkeys(("upos", "xpos") if both else ("xpos",), other.xpos)
        yield broken if broken.problem else sentence.with_columns(columns)


def _pairs(
    ours: Iterable[Sentence], theirs: Iterable[Sentence]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Sentences side by side; those of which none is broken have the same words."""
    last: tuple[Sentence | None, Sentence | None] = None, None
    for number, (our, their) in enumerate(zip_longest(ours, theirs), start=1):
        if our is None or their is None:
            raise _one_ended(our or their, last[our is not None], number)
        last = our, their
        if our.form != their.form and not (our.problem or their.problem):
            raise _other_words(our, their, number)
        yield our, their


def _merged(original: Sentence, other: Sentence, tags: Sequence[str], predicted: bool) -> Sentence:
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
    return original.with_tree(other.head, other.deprel, columns)


def _filled(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """A new column, where it has nothing the old one's."""
    return [mine if mine != "_" else other for other, mine in zip(old, new, strict=True)]


def _other_words(original: Sentence, other: Sentence, number: int) -> FormatError:
    """The first word where two sentences part, or the end of the shorter."""
    forms = zip(original.form, other.form, strict=False)
    shorter = min(len(original), len(other))
    word = next((i for i, (left, right) in enumerate(forms) if left != right), shorter)
    file, line, sent_id = other.place(min(word, len(other) - 1))
    there = _place(original, min(word, len(original) - 1))
    ours, theirs = (_quoted(sentence.form, word) for sentence in (other, original))
    message = f"sentence {number}, word {word + 1} is {ours}, but {there} has {theirs}"
    return FormatError(file, line, sent_id or original.sent_id, f"{message}; they must be the same")


def _quoted(forms: Sequence[str], word: int) -> str:
    return repr(forms[word][:40]) if word < len(forms) else "missing"


def _one_ended(longer: Sentence, last: Sentence | None, number: int) -> FormatError:
    """One file has a sentence more; last: the other's last one."""
    ends = f"{last.file or 'the other file'} ends before it" if last else "the other file is empty"
    return FormatError(*longer.place(), f"sentence {number} has no counterpart: {ends}")


def _place(sentence: Sentence, word: int) -> str:
    file, line, _ = sentence.place(word)
    return f"{file}:{line}" if line else file or "the other"
