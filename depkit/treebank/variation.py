"""Suspects that are annotated differently from the same words elsewhere in the treebank.

Variation n-grams of tags follow Dickinson and Meurers (2003, "Detecting errors in part-of-speech
annotation"); those of dependencies follow Boyd, Dickinson and Meurers (2008, "On detecting errors
in dependency treebanks"), the successor of Dickinson and Meurers (2005). The words whose annotation
varies are called the nucleus of the n-gram: one word with its tags, or two words, which are a
dependent and its head in some of the occurrences, with all words between them. On each side of the
nucleus, there is at least one word of identical context (the "non-fringe" heuristic).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.treebank.suspects import TAGS, VARIATION, Spellings, Suspect

MAX_DISTANCE = 10  # between a dependent and its head
MAX_CONTEXT = 4  # identical words on each side
_MAX_QUOTED = 80  # characters of an n-gram


@dataclass(frozen=True, eq=False)
class _Words:
    """All words of a treebank, with a boundary before the first and after each sentence.

    Attributes:
        form: [position] codes from 1; 0 is a boundary.
        head: [position] the position of the word's head; -1 if the word has no head or is the root.
        annotations: For "deprel" and each column of tags: [position] codes.
        names: The names of these codes.
        sentence, word: [position] the indices of the sentence, and of the word in the sentence.
    """

    form: np.ndarray
    head: np.ndarray
    annotations: dict[str, np.ndarray]
    names: dict[str, list[str]]
    sentence: np.ndarray
    word: np.ndarray


class Minority(NamedTuple):
    """Occurrences of contexts that are annotated differently from most others, as arrays."""

    occurrence: np.ndarray  # the index of the occurrence
    alternative: np.ndarray  # the most frequent annotation of the same context
    example: np.ndarray  # the index of the first occurrence that has the alternative
    num_alternative: np.ndarray  # how many occurrences have the alternative
    num_same: np.ndarray  # how many are annotated like this one, itself included
    total: np.ndarray  # how often the context occurs


class _Variation(NamedTuple):
    """What one n-gram says about the annotation of a word."""

    score: float
    weight: float  # see `find_variation`
    head: int  # the position of the alternative head; -1 for tags
    code: int  # of the alternative tag or label
    length: int  # of the n-gram
    start: int  # the position of the n-gram's first word
    example: int  # the position of the first word of an occurrence that has the alternative
    num_alternative: int
    num_same: int
    total: int


def find_variation(
    sentences: Sequence[Sentence],
    max_distance: int = MAX_DISTANCE,
    max_context: int = MAX_CONTEXT,
) -> Iterator[Suspect]:
    """Yield the words whose annotation is in the minority among the occurrences of an n-gram.

    The probability of an annotation is its share of the occurrences, multiplied by 1 - 1/4^c if c
    words on each side of the nucleus are identical: the more context is identical, the less likely
    it is that both annotations are correct. If the two most frequent annotations are equally
    frequent, both are suspect with the score 0. Of several n-grams around a word, the one with the
    highest score is chosen.

    Two words can be linked in some occurrences and not in others; occurrences without a link also
    count. But "no link" is never the alternative, because it would not say what the head should be.
    The time is O(n log n) for each length of n-grams.

    Args:
        sentences: The treebank.
        max_distance: The maximum distance between a dependent and its head.
        max_context: The maximum number of words of context on each side.
    """
    words = _concatenate(sentences)
    pairs = [_annotate_pairs(words, distance) for distance in range(1, max_distance + 1)]
    best: dict[tuple[int, str], _Variation] = {}
    for length, start, ngram in repeated_ngrams(words.form, 1 + max_distance + 2 * max_context):
        for context in range(1, max_context + 1):
            distance = length - 1 - 2 * context
            if not 0 <= distance <= max_distance:
                continue
            tags = {name: words.annotations[name] for name in TAGS}
            layers = {"": pairs[distance - 1]} if distance else tags
            for layer, annotation in layers.items():
                minority = find_minority(ngram, annotation[start + context])
                found = _read_minority(
                    minority, words, layer, start=start, length=length, context=context
                )
                for key, variation in found:
                    if key not in best or variation.score > best[key].score:
                        best[key] = variation
    for (position, kind), variation in sorted(best.items()):
        sentence = sentences[words.sentence[position]]
        if kind in TAGS or sentence.head[words.word[position]] >= 0:  # skip words without a head
            yield _make_suspect(sentences, words, position=position, kind=kind, variation=variation)


def repeated_ngrams(
    form: np.ndarray, max_length: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield for each length from 2 the n-grams that occur at least twice.

    An n-gram can only be repeated if its first n - 1 words are repeated.

    Args:
        form: [position] codes of words from 1; 0 is a boundary, which no n-gram contains and which
            is also the last entry.
        max_length: The maximum length of n-grams.

    Yields:
        The length, [occurrence] the position of the first word, ascending, and [occurrence] a
        number that identical n-grams share.
    """
    start = np.flatnonzero(form)
    ngram = form[start]
    size = int(form.max(initial=0)) + 1
    for length in range(2, max_length + 1):
        following = form[start + length - 1]
        longer = np.flatnonzero(following)
        _, ngram, counts = np.unique(
            ngram[longer] * size + following[longer], return_inverse=True, return_counts=True
        )
        repeated = counts[ngram] > 1
        start, ngram = start[longer][repeated], ngram[repeated]
        if not start.size:
            return
        yield length, start, ngram


def find_minority(context: np.ndarray, annotation: np.ndarray) -> Minority:
    """Find occurrences whose annotation is at most as frequent as another one of the same context.

    Args:
        context: [occurrence] int64; occurrences with the same number have the same context.
        annotation: [occurrence] codes from 0.
    """
    size = int(annotation.max(initial=0)) + 1
    pairs, first, pair_of, counts = np.unique(
        context * size + annotation, return_index=True, return_inverse=True, return_counts=True
    )
    # The pairs of a context and an annotation are sorted by context; groups are contexts.
    bounds = np.flatnonzero(np.diff(pairs // size, prepend=-1, append=-1))
    starts, sizes = bounds[:-1], np.diff(bounds)
    group = np.repeat(np.arange(starts.size), sizes)
    by_frequency = np.lexsort((-counts, group))
    most_frequent = by_frequency[starts]
    second = by_frequency[np.minimum(starts + 1, counts.size - 1)]
    alternative = np.where(
        np.arange(pairs.size) == most_frequent[group], second[group], most_frequent[group]
    )
    is_minority = (sizes[group] > 1) & (counts <= counts[alternative])
    occurrence = np.flatnonzero(is_minority[pair_of])
    pair = pair_of[occurrence]
    other = alternative[pair]
    totals = np.bincount(group, counts).astype(np.int64)
    return Minority(
        occurrence,
        pairs[other] % size,
        first[other],
        counts[other],
        counts[pair],
        totals[group[pair]],
    )


def _concatenate(sentences: Sequence[Sentence]) -> _Words:
    codes: dict[str, dict[str, int]] = {name: {} for name in ("form", "deprel", *TAGS)}
    columns: dict[str, list[int]] = {name: [0] for name in codes}
    head, sentence_index, word_index = [-1], [0], [0]
    spellings = Spellings()
    for index, sentence in enumerate(sentences):
        start = len(head)
        head += [start + number - 1 if number > 0 else -1 for number in sentence.head] + [-1]
        sentence_index += [index] * (len(sentence) + 1)
        word_index += range(len(sentence) + 1)
        for name, known in codes.items():
            # Codes of forms start at 1, because 0 is a boundary.
            shift = name == "form"
            columns[name] += [
                known.setdefault(text, len(known) + shift)
                for text in spellings.unify(name, getattr(sentence, name))
            ]
            columns[name].append(0)
    arrays = {name: np.array(column) for name, column in columns.items()}
    names = {name: list(known) for name, known in codes.items()}
    return _Words(
        arrays.pop("form"), np.array(head), arrays, names, np.array(sentence_index),
        np.array(word_index),
    )  # fmt: skip


def _annotate_pairs(words: _Words, distance: int) -> np.ndarray:
    """Return how each word is linked to the word `distance` positions to its right: [position].

    0: not at all; 1 + 2 * label if the left word is the dependent, 2 + 2 * label if it is the head.
    """
    annotation = np.zeros_like(words.head)
    position = np.arange(words.head.size)
    for shift, sign in enumerate((1, -1), start=1):
        dependent = np.flatnonzero((words.head >= 0) & (words.head - position == sign * distance))
        left = np.minimum(dependent, words.head[dependent])
        annotation[left] = shift + 2 * words.annotations["deprel"][dependent]
    return annotation


def _read_minority(
    minority: Minority, words: _Words, layer: str, *, start: np.ndarray, length: int, context: int
) -> Iterator[tuple[tuple[int, str], _Variation]]:
    """Yield the position and the kind of each suspect, and its variation.

    Args:
        minority: The occurrences, as indices into `start`.
        words: All words.
        layer: The column of tags; "" for pairs of words.
        start: [occurrence] the positions of the first words of the n-grams.
        length: The length of the n-grams.
        context: The number of words on each side of the nucleus.
    """
    weight = 1 - 0.25**context
    distance = length - 1 - 2 * context
    for occurrence, code, example, num_alternative, num_same, total in zip(
        *(column.tolist() for column in minority), strict=True
    ):
        position, head, kind = int(start[occurrence]) + context, -1, layer
        if not layer:
            if not code:
                continue
            code, left_is_head = divmod(code - 1, 2)
            position, head = (
                position + distance * left_is_head,
                position + distance * (not left_is_head),
            )
            kind = "deprel" if words.head[position] == head else "head"
        score = weight * (num_alternative - num_same) / total
        yield (position, kind), _Variation(
            score, weight, head, code, length, int(start[occurrence]), int(start[example]),
            num_alternative, num_same, total,
        )  # fmt: skip


def _make_suspect(
    sentences: Sequence[Sentence], words: _Words, *, position: int, kind: str, variation: _Variation
) -> Suspect:
    index, word = int(words.sentence[position]), int(words.word[position])
    sentence = sentences[index]
    gold = getattr(sentence, "deprel" if kind == "head" else kind)[word]
    alternative = words.names["deprel" if kind == "head" else kind][variation.code]
    if kind == "head":
        gold = f"{sentence.head[word]}:{gold}"
        alternative = f"{words.word[variation.head] + 1}:{alternative}"
    first = word - (position - variation.start)
    ngram = " ".join(sentence.form[first : first + variation.length])
    ngram = ngram if len(ngram) <= _MAX_QUOTED else f"{ngram[:_MAX_QUOTED]}..."
    example = variation.example + position - variation.start
    _, line, _ = sentences[words.sentence[example]].location(int(words.word[example]))
    evidence = (
        f"{variation.num_alternative} of {variation.total} occurrences of '{ngram}',"
        f" such as line {line}"
    )
    share = variation.weight / variation.total
    return Suspect(
        index, word, kind, gold, alternative, share * variation.num_alternative,
        share * variation.num_same, VARIATION, evidence,
    )  # fmt: skip
