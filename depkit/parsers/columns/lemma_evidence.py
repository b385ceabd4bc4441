"""What the words of a lemma dictionary tell about the edits of words that it does not have."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import takewhile
from math import log
from operator import eq, itemgetter

from depkit.corpus.letter_case import lower, upper
from depkit.parsers.columns.compounds import Compounds
from depkit.parsers.columns.edit_scripts import CASES, Edit, apply_edit, parse_script
from depkit.parsers.columns.lemma_dictionary import NO_LEMMA, LemmaDictionary, Tags

LONGEST_ENDING = 6  # characters
SMOOTHING = 1.0  # weight, in words, of the share among words with a shorter ending
RARE = 1e-4  # the assumed share of an edit that no word of the same class has
LAST = "\U0010ffff"  # a character that sorts behind all others

WordClass = tuple[str, str]  # UPOS and XPOS, or FEATS where there is no XPOS


class Ending:
    """The words of a class that end alike.

    edits: the number of these words by edit; shorter: the words whose ending is one character
    shorter, which include these, or None if all words of the class are counted.
    """

    def __init__(self, edits: Mapping[Edit, int], shorter: "Ending | None" = None) -> None:
        self.edits = edits
        self.shorter = shorter
        self.total = sum(edits.values())
        self._shares: dict[Edit, float] = {}

    def share(self, edit: Edit) -> float:
        """Return the share of the words with an edit, interpolated with that of shorter endings."""
        share = self._shares.get(edit)
        if share is None:
            expected = self.shorter.share(edit) if self.shorter else RARE
            share = (self.edits.get(edit, 0) + SMOOTHING * expected) / (self.total + SMOOTHING)
            self._shares[edit] = share
        return share

    @cached_property
    def attested(self) -> Mapping[Edit, int]:
        """The edits of two or more words of the class with the same last character.

        Their order decides between equally plausible lemmas. It is fixed: the order of a set of
        tuples of strings would differ between processes.
        """
        if self.shorter is None:
            return {}
        if self.shorter.shorter is not None:
            return self.shorter.attested
        return {edit: count for edit, count in self.edits.items() if count > 1}

    @cached_property
    def likeliest(self) -> list[tuple[float, Edit]]:
        """The attested edits with the logarithms of their shares, the likeliest first."""
        scored = [(log(self.share(edit)), edit) for edit in self.attested]
        return sorted(scored, key=itemgetter(0), reverse=True)


class CaseShares(dict[str, float]):
    """The share of each case of edit scripts among words of a class that are capitalised alike."""

    def __init__(self, counts: Counter[str]) -> None:
        total = counts.total() + SMOOTHING
        super().__init__({case: (counts[case] + SMOOTHING / len(CASES)) / total for case in CASES})
        self.usual = max(CASES, key=self.__getitem__)


class Evidence:
    """Statistics of a dictionary that help with words not in it. Threads can share an instance.

    lemmas: the lemmas of the dictionary by UPOS, compounds also without marks; classes: the classes
    of its words; compounds: the parts of its lemmas; dotless: whether the alphabet has a dotless i.
    """

    def __init__(self, dictionary: LemmaDictionary) -> None:
        self.dotless = dictionary.dotless
        self.lemmas: dict[str, set[str]] = defaultdict(set)
        self._words: dict[WordClass, list[tuple[str, Edit]]] = defaultdict(list)
        # The words of a class, reversed and sorted, so that words with the same ending are
        # neighbours. A class is sorted when it is first needed.
        self._sorted: dict[WordClass, list[tuple[str, Edit]]] = {}
        self._endings: dict[tuple[WordClass, str], Ending] = {}
        self._cases: dict[tuple[WordClass, str], Counter[str]] = defaultdict(Counter)
        self._case_shares: dict[tuple[WordClass, str], CaseShares] = {}
        classes = list(map(find_word_class, dictionary.tags))
        self.classes = frozenset(classes)
        scripts = [
            None if script == NO_LEMMA else parse_script(script) for script in dictionary.scripts
        ]
        words: list[tuple[str, str, WordClass, str, Edit]] = []
        form_of_lemma: dict[str, str] = {}
        for form, flat in dictionary.forms.items():
            low, shape = lower(form, self.dotless), capitalisation(form, self.dotless)
            for tags, script in zip(flat[::3], flat[1::3], strict=True):
                parsed = scripts[script]
                if parsed is None:
                    continue
                word_class, (case, edit) = classes[tags], parsed
                lemma = apply_edit(form, case, edit) or form
                form_of_lemma.setdefault(lemma, form)
                self.lemmas[word_class[0]].add(lemma)
                words.append((low, shape, word_class, case, edit))
        changes = {(low, edit) for low, _, _, _, edit in words if len(edit) == 4}
        self._changes = Counter(cut_and_added(low, edit) for low, edit in changes)
        for low, shape, word_class, case, edit in words:
            if self.attests(low, edit):
                self._words[word_class].append((low[::-1], edit))
                self._cases[word_class, shape][case] += 1
        self.compounds = Compounds(form_of_lemma)
        for lemmas in self.lemmas.values():
            unmarked = self.compounds.unmarked.items()
            lemmas.update([lemma for lemma, marked in unmarked if marked in lemmas])

    def attests(self, low: str, edit: Edit) -> bool:
        """Return whether some known word loses and gains the same characters by this edit.

        If it adds something to the beginning of the word, two words must have it. low: a lower-case
        form that is long enough for the edit.
        """
        if len(edit) == 1:
            return False
        return self._changes.get(cut_and_added(low, edit), 0) > bool(edit[1])

    def find_ending(self, word_class: WordClass, low: str) -> Ending:
        """Return the words of a class that share the longest ending with a lower-case form."""
        if word_class not in self._sorted:
            self._sorted[word_class] = sorted(self._words.get(word_class, ()))
        words = self._sorted[word_class]
        backwards = low[: -LONGEST_ENDING - 1 : -1]
        index = bisect_left(words, (backwards,))
        neighbours = words[max(0, index - 1) : index + 1]
        shared = max((_shared_length(backwards, word) for word, _ in neighbours), default=0)
        return self._make_ending(word_class, backwards[:shared])

    def _make_ending(self, word_class: WordClass, backwards: str) -> Ending:
        """backwards: the ending from the last character to the first."""
        key = word_class, backwards
        if key not in self._endings:
            words = self._sorted[word_class]
            start = bisect_left(words, (backwards,))
            stop = bisect_left(words, (backwards + LAST,))
            edits = Counter(edit for _, edit in words[start:stop])
            shorter = self._make_ending(word_class, backwards[:-1]) if backwards else None
            self._endings[key] = Ending(edits, shorter)
        return self._endings[key]

    def case_shares(self, word_class: WordClass, shape: str) -> CaseShares:
        """Return the shares of the cases of scripts; shape: the `capitalisation` of the words."""
        key = word_class, shape
        if key not in self._case_shares:
            self._case_shares[key] = CaseShares(self._cases.get(key, Counter()))
        return self._case_shares[key]


def _shared_length(a: str, b: str) -> int:
    """Return the number of characters with which both strings begin."""
    return sum(takewhile(bool, map(eq, a, b)))


def cut_and_added(low: str, edit: Edit) -> tuple[str, str, str, str]:
    """Return what an edit takes away and adds in front, and behind; low: a lower-case form."""
    assert len(edit) == 4
    cut_front, add_front, cut_behind, add_behind = edit
    return low[:cut_front], add_front, low[len(low) - cut_behind :], add_behind


def find_word_class(tags: Tags) -> WordClass:
    """Return the class of words with some tags."""
    upos, xpos, feats = tags
    return upos, xpos if xpos != "_" else feats


def capitalisation(form: str, dotless: bool = False) -> str:
    """Return the case of a form: "lower", "title" (as a lone capital), "upper" or "mixed".

    dotless: whether the alphabet has a dotless i, see `letter_case`.
    """
    if form == lower(form, dotless):
        return "lower"
    if form[1:] == lower(form[1:], dotless):
        return "title"
    return "upper" if form == upper(form, dotless) else "mixed"
