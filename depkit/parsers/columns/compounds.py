"""Marks between the parts of compounds in lemmas, such as `#` in the Finnish `työ#päivä`.

Only some treebanks write such marks. An edit script adds them at the ends of a word only. Inside a
word that the lemma dictionary does not have, they are added between the parts that make the lemma
most probable, if parts are drawn independently (Creutz and Lagus 2002; here, the parts are those of
the lemmas in the dictionary).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf, log

SHARE = 0.01  # of the lemmas must have a mark, so that it is added to others
# The weight of a part in another place than where it has been seen (at the end of a lemma, or
# before the end); the number of times that an unknown part without characters would have been seen;
# how much less probable each character makes an unknown part, in units of the entropy of
# characters. They were chosen on the held-out sentences of two treebanks (Finnish-TDT, Korean-GSD).
ELSEWHERE, UNKNOWN, PER_CHARACTER = 0.3, 10.0, 0.6
LONGEST = 20  # characters of a known part
CACHE_SIZE = 20_000  # in words; the cache is emptied when it is full

Scores = Mapping[str, float]  # of parts


class Compounds:
    """The parts of the lemmas of a dictionary.

    lemmas: a form of each lemma. mark: the mark between parts, "" if there is none. unmarked: the
    compounds without their marks, and the lemmas with them.
    """

    def __init__(self, lemmas: Mapping[str, str]) -> None:
        self.mark = mark = _find_mark(lemmas)
        self.unmarked = {x.replace(mark, ""): x for x in lemmas if mark and mark in x}
        self._cache: dict[tuple[str, bool], list[str]] = {}
        if self.mark:
            self._learn(lemmas)

    def _learn(self, lemmas: Iterable[str]) -> None:
        characters, inner, last = Counter[str](), Counter[str](), Counter[str]()
        for lemma in lemmas:
            *parts, end = lemma.split(self.mark)
            inner.update(parts)
            last[end] += 1
            characters.update(lemma)
        num_parts, num_characters = inner.total() + last.total(), characters.total()
        self._seen: tuple[Scores, Scores] = (inner, last)
        self._scores: tuple[Scores, Scores] = (
            _score_parts(inner, last, num_parts), _score_parts(last, inner, num_parts)
        )  # fmt: skip
        self._unknown = log(UNKNOWN / num_parts)
        self._per_character = PER_CHARACTER * sum(
            count / num_characters * log(count / num_characters) for count in characters.values()
        )

    def add_marks(self, form: str, lemma: str) -> str:
        """Add the marks to the lemma of a form that is not in the dictionary."""
        if not self.mark or self.mark in form:
            return lemma
        if lemma in self.unmarked:
            return self.unmarked[lemma]
        *chunks, end = lemma.split(self.mark)
        parts = [part for chunk in chunks for part in self._split(chunk, is_last=False)]
        return self.mark.join([*parts, *self._split(end, is_last=True)])

    def _split(self, chunk: str, is_last: bool) -> list[str]:
        if chunk in self._seen[is_last]:
            return [chunk]
        key = chunk, is_last
        if key not in self._cache:
            if len(self._cache) >= CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = self._find_parts(chunk, is_last)
        return self._cache[key]

    def _find_parts(self, chunk: str, is_last: bool) -> list[str]:
        """Find the most probable parts of a chunk (Viterbi algorithm)."""
        size = len(chunk)
        ends = [i for i in range(1, size) if _may_divide(chunk[i - 1], chunk[i])]
        scores, starts = {0: 0.0}, {0: 0}  # of the best parts that end before a character
        unknown, unknown_start = -inf, 0  # the same if the last part is unknown
        possible = {0, *ends, size}
        for end in range(1, size + 1):
            if end - 1 in possible and scores[end - 1] + self._unknown > unknown:
                unknown, unknown_start = scores[end - 1] + self._unknown, end - 1
            if not chunk[end - 2 : end].isdigit() or end == 1:
                unknown += self._per_character  # A number counts as one character.
            if end not in possible:
                continue
            table = self._scores[is_last and end == size]
            best, start = unknown, unknown_start
            for other in scores:
                if end - other <= LONGEST and (known := table.get(chunk[other:end])) is not None:
                    if scores[other] + known > best:
                        best, start = scores[other] + known, other
            scores[end], starts[end] = best, start
        parts, end = [], size
        while end:
            parts.append(chunk[starts[end] : end])
            end = starts[end]
        return parts[::-1]


def _find_mark(lemmas: Mapping[str, str]) -> str:
    """Find the mark that some lemmas have, but not their forms."""
    marks = Counter(
        character
        for lemma, form in lemmas.items()
        if not lemma.isalnum()
        for character in set(lemma[1:-1]) - set(form)
        if not character.isalnum() and not character.isspace()
    )
    mark, count = max(marks.items(), key=lambda item: item[1], default=("", 0))
    return mark if count > SHARE * len(lemmas) else ""


def _score_parts(here: Mapping[str, int], elsewhere: Mapping[str, int], num_parts: int) -> Scores:
    return {
        part: log((here.get(part, 0) + ELSEWHERE * elsewhere.get(part, 0)) / num_parts)
        for part in here.keys() | elsewhere.keys()
    }


def _may_divide(before: str, after: str) -> bool:
    """Return whether a part may end between two characters: letters, or a letter and a digit."""
    return before.isalnum() and after.isalnum() and not (before.isdigit() and after.isdigit())
