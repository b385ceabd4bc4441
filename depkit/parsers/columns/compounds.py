"""Marks between the parts of compounds in lemmas, such as `#` in the Finnish `työ#päivä`.

Only some treebanks write such marks. An edit script adds them at the ends of a word only. Inside a
word that the lemma dictionary does not have, they are added so that its parts are most probable,
assuming that parts are independent (Creutz and Lagus 2002; here, the parts are those of the lemmas
in the dictionary).
"""

from collections import Counter
from collections.abc import Mapping
from math import inf, log
from unicodedata import category

SHARE = 0.01  # the share of lemmas that must have a mark before it is added to others
# These settings were chosen on the held-out sentences of two treebanks (Finnish-TDT, Korean-GSD).
ELSEWHERE = 0.3  # the weight of a part seen only in the other position: last, or before others
UNKNOWN = 10.0  # the count that is assumed for an unknown part without characters
PER_CHARACTER = 0.6  # the cost of each of its characters, in units of the entropy of characters
LONGEST = 20  # characters of a known part
CACHE_SIZE = 20_000  # in words; the cache is emptied when it is full

Scores = Mapping[str, float]  # of parts


class Compounds:
    """The parts of the lemmas of a dictionary.

    form_of_lemma: each lemma with one of its forms. mark: the mark between parts, "" if there is
    none. unmarked: from each compound without its marks to its lemma.
    """

    def __init__(self, form_of_lemma: Mapping[str, str]) -> None:
        self.mark = _find_mark(form_of_lemma)
        self.unmarked: dict[str, str] = {}
        self._cache: dict[tuple[str, bool], list[str]] = {}
        if self.mark:
            self._learn(form_of_lemma)

    def _learn(self, form_of_lemma: Mapping[str, str]) -> None:
        characters, inner, last = Counter[str](), Counter[str](), Counter[str]()
        for lemma, form in form_of_lemma.items():
            *parts, end = [lemma] if self.mark in form else lemma.split(self.mark)
            if not (end and all(parts)):  # a mark is not between parts
                parts, end = [], lemma
            if parts and (unmarked := "".join([*parts, end])) not in form_of_lemma:
                self.unmarked.setdefault(unmarked, lemma)
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
        if not chunk or chunk in self._seen[is_last]:
            return [chunk]
        key = chunk, is_last
        parts = self._cache.get(key)
        if parts is None:
            if len(self._cache) >= CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = parts = self._find_parts(chunk, is_last)
        return parts

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
            for other in range(max(0, end - LONGEST), end):
                known = table.get(chunk[other:end])
                if known is not None and other in scores and scores[other] + known > best:
                    best, start = scores[other] + known, other
            scores[end], starts[end] = best, start
        parts, end = [], size
        while end:
            parts.append(chunk[starts[end] : end])
            end = starts[end]
        return parts[::-1]


def _find_mark(form_of_lemma: Mapping[str, str]) -> str:
    """Find the mark that some lemmas have, but not their forms."""
    marks = Counter(
        character
        for lemma, form in form_of_lemma.items()
        if not lemma.isalnum()
        for character in set(lemma[1:-1]) - set(form)
        if category(character)[0] in "PS"  # punctuation and symbols
    )
    mark, count = max(marks.items(), key=lambda item: item[1], default=("", 0))
    return mark if count > SHARE * len(form_of_lemma) else ""


def _score_parts(here: Mapping[str, int], elsewhere: Mapping[str, int], num_parts: int) -> Scores:
    return {
        part: log((here.get(part, 0) + ELSEWHERE * elsewhere.get(part, 0)) / num_parts)
        for part in here.keys() | elsewhere.keys()
    }


def _may_divide(before: str, after: str) -> bool:
    """Return whether a part may end between two characters: letters, or a letter and a digit."""
    return before.isalnum() and after.isalnum() and not (before.isdigit() and after.isdigit())
