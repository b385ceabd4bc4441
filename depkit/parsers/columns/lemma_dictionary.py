"""A dictionary of the words of a treebank with their tags and lemmas."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from depkit.corpus.letter_case import has_dotless_i, lower
from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.edit_scripts import apply_script, check_script, edit_script

Tags = tuple[str, str, str]  # UPOS, XPOS, FEATS
Reading = tuple[str, Tags, str]  # form, tags, edit script
T = TypeVar("T", str, Tags, Reading)

NO_LEMMA = ""  # the edit script in readings of words without a lemma, which record tags only


@dataclass(frozen=True)
class LemmaDictionary:
    """How often each form of a treebank occurs with which tags and lemma.

    `forms` maps each form to the flat list [tags, script, count, tags, script, count, ...] of its
    readings, where tags and script are indices into the lists `tags` and `scripts`. All lists begin
    with the most frequent entry.
    """

    tags: list[Tags]
    scripts: list[str]
    forms: dict[str, list[int]]

    def readings(
        self, forms: Iterable[str], with_missing: bool = False
    ) -> Iterator[tuple[Reading, int]]:
        """Yield the readings of the given forms, with their counts.

        with_missing: whether to yield readings without a lemma.
        """
        for form in forms:
            flat = iter(self.forms.get(form, ()))
            for tags, script, count in zip(flat, flat, flat, strict=True):
                if with_missing or self.scripts[script] != NO_LEMMA:
                    yield (form, self.tags[tags], self.scripts[script]), count

    def contains(self, forms: Iterable[str]) -> Iterator[bool]:
        """Yield for each form whether the dictionary has a lemma for it, ignoring case."""
        return (self._lower(form) in self._forms_by_lower_case for form in forms)

    def readings_ignoring_case(self, form: str) -> list[tuple[Reading, int]]:
        """Return the readings of a form and of all forms that differ from it only in case."""
        return list(self.readings(self._forms_by_lower_case.get(self._lower(form), ())))

    def look_up(self, form: str, tags: Tags) -> str | None:
        """Return the most frequent lemma of a form with these UPOS, XPOS and FEATS.

        If no reading has all three tags, UPOS and XPOS are compared, then UPOS alone. If there is
        still no match, the same is tried ignoring the case of the form. The result is None if
        there is no match at all. A UPOS that contradicts XPOS is replaced first, see
        `with_usual_upos`; if the dictionary has no word with this UPOS, no tags are compared.
        """
        tags = self.with_usual_upos(tags)
        levels = (3, 2, 1) if tags[0] in self._all_uposes else (0,)  # numbers of tags to compare
        for readings in (list(self.readings([form])), self.readings_ignoring_case(form)):
            for num_compared in levels:
                counts: Counter[str] = Counter()
                for (known_form, known_tags, script), count in readings:
                    if known_tags[:num_compared] == tags[:num_compared]:
                        counts[apply_script(known_form, script)] += count
                if counts:
                    return max(counts, key=counts.__getitem__)
        return None

    def with_usual_upos(self, tags: Tags) -> Tags:
        """Replace UPOS by the most frequent UPOS of XPOS if the two never occur together."""
        upos, xpos, feats = tags
        uposes = self._uposes.get(xpos)
        return (uposes[0], xpos, feats) if uposes and upos not in uposes else tags

    @cached_property
    def dotless(self) -> bool:
        """Whether the alphabet of the forms has a dotless i."""
        return has_dotless_i(self.forms)

    def _lower(self, form: str) -> str:
        return lower(form, self.dotless)

    @cached_property
    def _uposes(self) -> dict[str, list[str]]:
        """The UPOS that occur with each XPOS, the most frequent first."""
        uposes: dict[str, list[str]] = {}
        for upos, xpos, _ in self.tags:
            uposes.setdefault(xpos, []).append(upos)
        return uposes

    @cached_property
    def _all_uposes(self) -> set[str]:
        return {upos for upos, _, _ in self.tags}

    @cached_property
    def _forms_by_lower_case(self) -> dict[str, list[str]]:
        """The forms of the dictionary that have a lemma, grouped by their lower-case form."""
        groups: dict[str, list[str]] = {}
        missing = {i for i, script in enumerate(self.scripts) if script == NO_LEMMA}
        for form, flat in self.forms.items():
            if not missing.issuperset(flat[1::3]):
                groups.setdefault(self._lower(form), []).append(form)
        return groups

    def to_json(self) -> dict[str, object]:
        return {"tags": self.tags, "scripts": self.scripts, "forms": self.forms}

    @staticmethod
    def from_json(data: dict) -> "LemmaDictionary":
        """Make a dictionary from the result of `to_json`.

        Raises KeyError, TypeError or ValueError for other data.
        """
        tags = [(upos, xpos, feats) for upos, xpos, feats in data["tags"]]
        scripts, forms = list(data["scripts"]), dict(data["forms"])
        if not all(isinstance(tag, str) for tag in chain.from_iterable(tags)):
            raise ValueError("its lemma dictionary has tags that are not strings")
        if not all(isinstance(script, str) for script in scripts):
            raise ValueError("its lemma dictionary has scripts that are not strings")
        for script in scripts:
            if script != NO_LEMMA:
                check_script(script)
        if not all(isinstance(flat, list) and len(flat) % 3 == 0 for flat in forms.values()):
            raise ValueError("its lemma dictionary has a form whose readings are not triples")
        numbers = list(chain.from_iterable(forms.values()))
        if not all(type(number) is int and number >= 0 for number in numbers) or (
            max(numbers[::3], default=-1) >= len(tags)
            or max(numbers[1::3], default=-1) >= len(scripts)
        ):
            raise ValueError("its lemma dictionary has an index of tags or a script out of range")
        return LemmaDictionary(tags, scripts, forms)

    @staticmethod
    def from_counts(counts: Counter[Reading]) -> "LemmaDictionary":
        tag_counts: Counter[Tags] = Counter()
        script_counts: Counter[str] = Counter()
        for (_, tags, script), count in counts.items():
            tag_counts[tags] += count
            script_counts[script] += count
        all_tags = {tags: i for i, tags in enumerate(sort_by_frequency(tag_counts))}
        scripts = {script: i for i, script in enumerate(sort_by_frequency(script_counts))}
        forms: dict[str, list[int]] = {}
        for form, tags, script in sort_by_frequency(counts):
            numbers = (all_tags[tags], scripts[script], counts[form, tags, script])
            forms.setdefault(form, []).extend(numbers)
        return LemmaDictionary(list(all_tags), list(scripts), forms)

    def counts(self) -> Counter[Reading]:
        """Return the counts of all readings, those without a lemma included."""
        return Counter(dict(self.readings(self.forms, with_missing=True)))

    @staticmethod
    def merge(dictionaries: Iterable["LemmaDictionary"]) -> "LemmaDictionary":
        """Merge dictionaries: the result has all readings, and the sums of their counts."""
        counts = (dictionary.counts() for dictionary in dictionaries)
        return LemmaDictionary.from_counts(sum(counts, start=Counter()))


def extract_readings(sentence: Sentence, with_missing: bool = False) -> Iterator[Reading]:
    """Yield the readings of the words of a sentence that have a lemma.

    with_missing: whether to yield those of the other words, too, with the script NO_LEMMA.
    """
    columns = (sentence.form, sentence.lemma, sentence.upos, sentence.xpos, sentence.feats)
    for form, lemma, *tags in zip(*columns, strict=True):
        has_lemma = lemma != "_" or form == "_"
        if has_lemma or with_missing:
            script = edit_script(form, lemma) if has_lemma else NO_LEMMA
            yield form, (tags[0], tags[1], tags[2]), script


def sort_by_frequency(counts: Counter[T]) -> list[T]:
    """Sort keys by falling count, and alphabetically where counts are equal."""
    return sorted(counts, key=lambda key: (-counts[key], key))
