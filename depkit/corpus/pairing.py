"""Parallel reading of files with the same words, such as a gold and several predicted files."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from depkit.corpus.io import PathLike, read
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.files.errors import FormatError

ADVICE = (
    "both must have the same words: parse the words of the gold file, or score different tokens"
    " with depkit eval --align"
)
_CONTEXT = 5  # how many words before and after the first difference an error quotes
_QUOTED_LENGTH = 40  # how many characters of a word are quoted


@dataclass(frozen=True)
class Source:
    """Sentences and their name in errors, which is "" for sentences in memory."""

    name: str
    sentences: Iterable[Sentence]


def make_source(
    sentences: PathLike | Sentence | Iterable[Sentence], encoding: str = "utf-8"
) -> Source:
    """Make a source of a path (`-` is stdin), a sentence or several sentences."""
    if isinstance(sentences, str | os.PathLike):
        return Source(os.fspath(sentences), read(sentences, encoding=encoding))
    return Source("", each_sentence(sentences))


def pair_sentences(
    gold: Source, systems: Sequence[Source], advice: str = ADVICE
) -> Iterator[tuple[Sentence, tuple[Sentence, ...]]]:
    """Yield each gold sentence with the sentences of all systems, in constant memory.

    All sources must have the same number of sentences and the same forms, except in broken
    sentences (with a `problem`).

    Args:
        gold: The gold sentences.
        systems: The sentences of each system.
        advice: The end of an error's message, which says what to do.

    Raises:
        FormatError: A system differs from the gold; the error names the line of both and quotes
            the words there.
    """
    previous_row: tuple[Sentence | None, ...] = (None,) * (1 + len(systems))
    streams = (gold.sentences, *(system.sentences for system in systems))
    for number, row in enumerate(zip_longest(*streams), start=1):
        reference: Sentence | None = row[0]
        if reference is None and number == 1:
            raise FormatError(gold.name or "gold", 0, "", "there are no sentences")
        if reference is None:
            longer = next(predicted for predicted in row[1:] if predicted is not None)
            raise _gold_ended_error(
                gold, previous_row[0], predicted=longer, number=number, advice=advice
            )
        for system, predicted, previous in zip(systems, row[1:], previous_row[1:], strict=True):
            if predicted is None and number == 1:
                raise FormatError(system.name, 0, "", "there are no sentences")
            if predicted is None:
                raise _system_ended_error(
                    system, previous, gold=reference, number=number, advice=advice
                )
            if predicted.form != reference.form and not (predicted.problem or reference.problem):
                raise _different_words_error(reference, predicted, number, advice)
        yield reference, row[1:]
        previous_row = row


def _different_words_error(
    gold: Sentence, predicted: Sentence, number: int, advice: str
) -> FormatError:
    """Return an error at the first word that differs, or at the end of the shorter sentence."""
    words = zip(gold.form, predicted.form, strict=False)
    shorter = min(len(gold), len(predicted))
    word = next((i for i, (left, right) in enumerate(words) if left != right), shorter)
    file, line, sent_id = predicted.location(min(word, len(predicted) - 1))
    location = _describe_location(gold, min(word, len(gold) - 1), number)
    look_alike = _normalize(gold.form[word : word + 1]) == _normalize(
        predicted.form[word : word + 1]
    )
    system_words, gold_words = (
        quote_context(sentence.form, word, look_alike) for sentence in (predicted, gold)
    )
    problem = f"sentence {number}, word {word + 1} differs: {system_words}, but {location} has"
    problem += f" {gold_words}"
    problem += " (they are equal except for Unicode normalisation)" if look_alike else ""
    return FormatError(file, line, sent_id or gold.sent_id, f"{problem}; {advice}")


def quote_context(forms: Sequence[str], word: int, escaped: bool = False) -> str:
    """Quote a word in square brackets with the words around it.

    Args:
        forms: The words of a sentence.
        word: The 0-based index of the word; len(forms) for the end of the sentence.
        escaped: Whether to escape characters beyond ASCII, to distinguish look-alikes.
    """
    context = forms[max(word - _CONTEXT, 0) : word + _CONTEXT + 1]
    shortened = [form[:_QUOTED_LENGTH] for form in context]
    index = min(word, _CONTEXT)  # of the word in the context
    quoted = [ascii(form)[1:-1] if escaped else form for form in shortened]
    quoted[index : index + 1] = [f"[{quoted[index]}]" if index < len(quoted) else "[end]"]
    omitted_before = ["..."] if word > _CONTEXT else []
    omitted_after = ["..."] if word + _CONTEXT + 1 < len(forms) else []
    return f"'{' '.join([*omitted_before, *quoted, *omitted_after])}'"


def _gold_ended_error(
    gold: Source, last: Sentence | None, *, predicted: Sentence, number: int, advice: str
) -> FormatError:
    location = (
        _describe_location(last, len(last) - 1, number - 1) if last else gold.name or "the gold"
    )
    problem = f"sentence {number} is one too many: {quote_context(predicted.form, 0)}"
    return FormatError(*predicted.location(), f"{problem}; the gold ends at {location}; {advice}")


def _system_ended_error(
    system: Source, last: Sentence | None, *, gold: Sentence, number: int, advice: str
) -> FormatError:
    file, line, _ = last.location(len(last) - 1) if last else (system.name, 0, "")
    location = _describe_location(gold, 0, number)
    words = quote_context(gold.form, 0)
    problem = f"this file ends after sentence {number - 1}, but {location} continues with {words}"
    return FormatError(file, line, gold.sent_id, f"{problem}; {advice}")


def _normalize(forms: Iterable[str]) -> list[str]:
    return [unicodedata.normalize("NFKC", form) for form in forms]


def _describe_location(gold: Sentence, word: int, number: int) -> str:
    file, line, _ = gold.location(word)
    return f"{file}:{line}" if line else f"gold sentence {number}"
