"""A dictionary of the words of a treebank with their tags and lemmas."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.lemmas import apply_script, check_script, edit_script

Tags = tuple[str, str, str]  # UPOS, XPOS, FEATS
Reading = tuple[str, Tags, str]  # form, tags, edit script
T = TypeVar("T", str, Tags, Reading)


@dataclass(frozen=True)
class LemmaDictionary:
    """How often each form of a treebank occurs with which tags and lemma.

    forms: for each form the flat list [tags, script, count, tags, script, count, ...] of its
    readings; tags and script are indices into the other two lists. All lists begin with the most
    frequent entry.
    """

    tags: list[Tags]
    scripts: list[str]
    forms: dict[str, list[int]]

    def readings(self, forms: Iterable[str]) -> Iterator[tuple[Reading, int]]:
        """The readings of some forms, with their counts."""
        for form in forms:
            flat = iter(self.forms.get(form, ()))
            for tags, script, count in zip(flat, flat, flat, strict=True):
                yield (form, self.tags[tags], self.scripts[script]), count

    def __contains__(self, form: str) -> bool:
        """Whether a form is in the dictionary, in whatever case."""
        return form.lower() in self._spellings

    def spellings(self, form: str) -> list[tuple[Reading, int]]:
        """The readings of a form in whatever case."""
        return list(self.readings(self._spellings.get(form.lower(), ())))

    def look_up(self, form: str, tags: Tags) -> str | None:
        """The most frequent lemma of a form with these UPOS, XPOS and FEATS.

        If there is none with all three tags, FEATS is not compared, then XPOS neither. If there is
        still none, the form is looked up in whatever case. None if that fails, too. A UPOS that
        does not agree with XPOS is replaced first, see `agreeing`; if the dictionary has no word of
        this UPOS at all, no tags are compared.
        """
        tags = self.agreeing(tags)
        sizes = (3, 2, 1) if tags[0] in self._all_uposes else (0,)
        for readings in (list(self.readings([form])), self.spellings(form)):
            for size in sizes:
                counts: Counter[str] = Counter()
                for (known_form, known_tags, script), count in readings:
                    if known_tags[:size] == tags[:size]:
                        counts[apply_script(known_form, script)] += count
                if counts:
                    return max(counts, key=counts.__getitem__)
        return None

    def agreeing(self, tags: Tags) -> Tags:
        """The tags, with the usual UPOS of XPOS if the two given never occur together."""
        upos, xpos, feats = tags
        uposes = self._uposes.get(xpos)
        return (uposes[0], xpos, feats) if uposes and upos not in uposes else tags

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
    def _spellings(self) -> dict[str, list[str]]:
        """The forms of the dictionary, grouped by their lower-case form."""
        spellings: dict[str, list[str]] = {}
        for form in self.forms:
            spellings.setdefault(form.lower(), []).append(form)
        return spellings

    def to_json(self) -> dict[str, object]:
        """Plain data for `from_json`."""
        return {"tags": self.tags, "scripts": self.scripts, "forms": self.forms}

    @staticmethod
    def from_json(data: dict) -> "LemmaDictionary":
        """The dictionary of what `to_json` returned; raises KeyError, TypeError or ValueError."""
        tags = [(upos, xpos, feats) for upos, xpos, feats in data["tags"]]
        scripts, forms = list(data["scripts"]), dict(data["forms"])
        if not all(isinstance(tag, str) for tag in chain.from_iterable(tags)):
            raise ValueError("its lemma dictionary has tags that are no text")
        for script in scripts:
            check_script(script)
        if not all(isinstance(flat, list) and len(flat) % 3 == 0 for flat in forms.values()):
            raise ValueError("its lemma dictionary has a reading that is not three numbers")
        numbers = list(chain.from_iterable(forms.values()))
        if not all(type(number) is int and number >= 0 for number in numbers) or (
            max(numbers[::3], default=-1) >= len(tags)
            or max(numbers[1::3], default=-1) >= len(scripts)
        ):
            raise ValueError("its lemma dictionary has a wrong number for tags or a script")
        return LemmaDictionary(tags, scripts, forms)

    @staticmethod
    def from_counts(counts: Counter[Reading]) -> "LemmaDictionary":
        """The dictionary of readings with their counts."""
        of_tags: Counter[Tags] = Counter()
        of_scripts: Counter[str] = Counter()
        for (_, tags, script), count in counts.items():
            of_tags[tags] += count
            of_scripts[script] += count
        all_tags = {tags: number for number, tags in enumerate(by_frequency(of_tags))}
        scripts = {script: number for number, script in enumerate(by_frequency(of_scripts))}
        forms: dict[str, list[int]] = {}
        for form, tags, script in by_frequency(counts):
            numbers = (all_tags[tags], scripts[script], counts[form, tags, script])
            forms.setdefault(form, []).extend(numbers)
        return LemmaDictionary(list(all_tags), list(scripts), forms)

    @staticmethod
    def merged(dictionaries: Iterable["LemmaDictionary"]) -> "LemmaDictionary":
        """The readings of all dictionaries, their counts summed."""
        counts: Counter[Reading] = Counter()
        for each in dictionaries:
            for reading, count in each.readings(each.forms):
                counts[reading] += count
        return LemmaDictionary.from_counts(counts)


def readings_of(sentence: Sentence) -> Iterator[Reading]:
    """The readings of a sentence's words that have a lemma."""
    columns = (sentence.form, sentence.lemma, sentence.upos, sentence.xpos, sentence.feats)
    for form, lemma, *tags in zip(*columns, strict=True):
        if lemma != "_" or form == "_":
            yield form, (tags[0], tags[1], tags[2]), edit_script(form, lemma)


def by_frequency(counts: Counter[T]) -> list[T]:
    """The keys by falling count, those of the same count in alphabetical order."""
    return sorted(counts, key=lambda key: (-counts[key], key))
