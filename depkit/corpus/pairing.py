"""Sentences of several files side by side, the same words in each: gold and predicted, say."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.sentence import Sentence, each_sentence

ADVICE = (
    "trees are compared over the same words: parse the gold file's own, or score other tokens"
    " with depkit eval --align"
)
_AROUND = 5  # how many words before and after the first difference an error quotes
_LONG = 40  # characters of a word that are quoted


@dataclass(frozen=True)
class Source:
    """Sentences and the name to call them by, "" for sentences in memory."""

    name: str
    sentences: Iterable[Sentence]


def source(sentences: PathLike | Sentence | Iterable[Sentence], encoding: str = "utf-8") -> Source:
    """A file by its path (`-` is stdin), a sentence, or several."""
    if isinstance(sentences, str | os.PathLike):
        return Source(os.fspath(sentences), read(sentences, encoding=encoding))
    return Source("", each_sentence(sentences))


def pairs(
    gold: Source, systems: Sequence[Source], advice: str = ADVICE
) -> Iterator[tuple[Sentence, tuple[Sentence, ...]]]:
    """Each gold sentence with every system's, all read in parallel, in constant memory.

    Forms must be equal, character by character, and so must the number of sentences; the words
    of broken sentences (with a `problem`) may be others. Raises FormatError at the first place
    where they are not, naming the system's line, the gold line and the words there; advice:
    what to do then.
    """
    before: tuple[Sentence | None, ...] = (None,) * (1 + len(systems))
    streams = (gold.sentences, *(system.sentences for system in systems))
    for number, row in enumerate(zip_longest(*streams), start=1):
        reference: Sentence | None = row[0]
        if reference is None and number == 1:
            raise FormatError(gold.name or "gold", 0, "", "no sentences in it")
        if reference is None:
            longer = next(predicted for predicted in row[1:] if predicted is not None)
            raise _gold_ended(gold, before[0], longer, number, advice)
        for system, predicted, previous in zip(systems, row[1:], before[1:], strict=True):
            if predicted is None and number == 1:
                raise FormatError(system.name, 0, "", "no sentences in it")
            if predicted is None:
                raise _system_ended(system, previous, reference, number, advice)
            if predicted.form != reference.form and not (predicted.problem or reference.problem):
                raise _other_words(reference, predicted, number, advice)
        yield reference, row[1:]
        before = row


def _other_words(gold: Sentence, predicted: Sentence, number: int, advice: str) -> FormatError:
    """The first word where two sentences part, or the end of the shorter."""
    together = zip(gold.form, predicted.form, strict=False)
    shorter = min(len(gold), len(predicted))
    word = next((i for i, (left, right) in enumerate(together) if left != right), shorter)
    file, line, sent_id = predicted.place(min(word, len(predicted) - 1))
    there = _place(gold, min(word, len(gold) - 1), number)
    look_alike = _normal(gold.form[word : word + 1]) == _normal(predicted.form[word : word + 1])
    ours, theirs = (around(sentence.form, word, look_alike) for sentence in (predicted, gold))
    what = f"sentence {number}, word {word + 1} is another: {ours}, but {there} has {theirs}"
    what += " (equal but for Unicode normalisation)" if look_alike else ""
    return FormatError(file, line, sent_id or gold.sent_id, f"{what}; {advice}")


def around(forms: Sequence[str], word: int, escaped: bool = False) -> str:
    """A word in brackets among the words around it; escaped: in ASCII, for look-alikes."""
    cut = [form[:_LONG] for form in forms[max(word - _AROUND, 0) : word + _AROUND + 1]]
    place = min(word, _AROUND)
    shown = [ascii(form)[1:-1] if escaped else form for form in cut]
    shown[place:] = [f"[{shown[place]}]" if place < len(cut) else "[end]", *shown[place + 1 :]]
    before = ["..."] if word > _AROUND else []
    after = ["..."] if word + _AROUND + 1 < len(forms) else []
    return f"'{' '.join([*before, *shown, *after])}'"


def _gold_ended(
    gold: Source, last: Sentence | None, predicted: Sentence, number: int, advice: str
) -> FormatError:
    there = _place(last, len(last) - 1, number - 1) if last else gold.name or "the gold"
    what = f"sentence {number} is one too many: {around(predicted.form, 0)}; {there} ends before it"
    return FormatError(*predicted.place(), f"{what}; {advice}")


def _system_ended(
    system: Source, last: Sentence | None, gold: Sentence, number: int, advice: str
) -> FormatError:
    file, line, _ = last.place(len(last) - 1) if last else (system.name, 0, "")
    there = _place(gold, 0, number)
    what = f"ends after sentence {number - 1}, but {there} goes on with {around(gold.form, 0)}"
    return FormatError(file, line, gold.sent_id, f"{what}; {advice}")


def _normal(forms: list[str]) -> list[str]:
    return [unicodedata.normalize("NFKC", form) for form in forms]


def _place(gold: Sentence, word: int, number: int) -> str:
    file, line, _ = gold.place(word)
    return f"{file}:{line}" if line else f"gold sentence {number}"
