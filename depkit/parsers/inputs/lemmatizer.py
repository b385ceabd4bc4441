"""Lemmas from the training treebank's dictionary; for other words, from plausible edit scripts.

The dictionary comes first, as in UDPipe (Straka 2018) and Stanza (Qi et al. 2020). For a word that
it does not have, the network's scores of edit scripts are combined with evidence from the
dictionary: the share of words with the same tags and the same ending that have this edit
(interpolated over endings of all lengths, as in Brants 2000), and whether the result is a known
word.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import takewhile
from math import inf, log
from operator import itemgetter

from depkit.parsers.inputs.lemma_dictionary import LemmaDictionary, Tags
from depkit.parsers.inputs.lemmas import (
    CASES,
    Edit,
    apply_edit,
    apply_script,
    case_of,
    parse_script,
)

LONGEST_ENDING = 6  # characters
SMOOTHING = 1.0  # weight of the share among words with a shorter ending, as a number of words
RARE = 1e-4  # the share of an edit that no word of the same class has
LAST = "\U0010ffff"  # sorts behind all other characters
FLOOR = -5.0  # the network's log-probabilities are clipped to this value from below
KEPT = 100_000  # size of the cache of `look_up`, in words

# Weights of the network's log-probability, and of three properties of a candidate: being the lemma
# of some word with the same UPOS, being a known word, and being the lemma of this form with another
# UPOS. They were chosen on held-out tenths and twentieths of the train parts of two treebanks (EWT
# and Latin-Perseus).
NETWORK, LEMMA, WORD, OTHER_UPOS = 0.5, 3.0, 2.0, 7.0

Script = tuple[str, float]  # an edit script and the logarithm of its probability
Edits = tuple[Counter[Edit], int]  # the number of words by edit, and of all words
WordClass = tuple[str, str]  # UPOS and XPOS, or FEATS where there is no XPOS


class Lemmatizer:
    """Chooses the lemmas of words.

    words: forms in lower case that are known to be words, such as a parser's vocabulary.
    """

    def __init__(self, dictionary: LemmaDictionary, words: Container[str] = ()) -> None:
        self.dictionary = dictionary
        self.words = words
        self._known: dict[tuple[str, Tags], str | None] = {}

    def look_up(self, form: str, tags: Tags) -> str | None:
        """The lemma that the dictionary has for a word; None if it has none."""
        try:
            return self._known[form, tags]
        except KeyError:
            lemma = self.dictionary.look_up(form, tags)
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[form, tags] = lemma
        return lemma

    def guess(self, form: str, tags: Tags, scripts: Sequence[Script]) -> str:
        """The most plausible lemma of a word that the dictionary does not have with its UPOS.

        Candidates are made by the network's scripts, by the attested edits, which are those of
        several words of the same class with the same last character, and by the scripts of the
        same form with another UPOS. A candidate is plausible if it is a lemma of the form with
        another UPOS, if it is a lemma of any word with the same UPOS, or if its edit is attested.
        Without a plausible candidate the form is its own lemma.
        """
        tags = self.dictionary.agreeing(tags)
        lemmas = self.evidence.lemmas[tags[0]]
        by_ending = self.evidence.by_ending(_class_of(tags), form)
        attested = self.evidence.rules(_class_of(tags), form)
        cases = self.evidence.case_shares(_class_of(tags), form)
        usual = max(CASES, key=cases.__getitem__)
        others = [
            (script, apply_script(spelling, script))
            for (spelling, _, script), _ in self.dictionary.spellings(form)
        ]
        candidates = [(*parse_script(script), max(value, FLOOR)) for script, value in scripts]
        least = min((value for _, _, value in candidates), default=0.0)
        candidates += [(usual, edit, least) for edit in attested]
        candidates += [(*parse_script(script), least) for script, _ in others]
        other_lemmas = {lemma for _, lemma in others}
        best, best_score = form, -inf
        for case, edit, value in candidates:
            lemma = apply_edit(form, case, edit)
            is_other = lemma in other_lemmas
            if lemma is None or (is_irregular(edit) and not is_other):
                continue
            is_lemma = lemma in lemmas
            if not (is_other or is_lemma or edit in attested):
                continue
            share = RARE
            for edits, total in by_ending:
                share = (edits[edit] + SMOOTHING * share) / (total + SMOOTHING)
            share *= cases.get(case_of(form, edit, lemma), RARE)
            score = (
                NETWORK * value + log(share) + LEMMA * is_lemma + OTHER_UPOS * is_other
                + WORD * (lemma.lower() in self.words)
            )  # fmt: skip
            if score > best_score:
                best, best_score = lemma, score
        return best

    @cached_property
    def evidence(self) -> "_Evidence":
        """Computed for the first word that is not in the dictionary."""
        return _Evidence(self.dictionary)


class _Evidence:
    """Statistics of a dictionary that help with words it does not have; threads can share it.

    lemmas: the lemmas of the dictionary by UPOS.
    """

    def __init__(self, dictionary: LemmaDictionary) -> None:
        self.lemmas: dict[str, set[str]] = defaultdict(set)
        self._words: dict[WordClass, list[tuple[str, Edit]]] = defaultdict(list)
        # The words of a class, reversed and sorted, so that those with the same ending are
        # neighbours. A class is sorted when it is first needed.
        self._sorted: dict[WordClass, list[tuple[str, Edit]]] = {}
        self._edits: dict[tuple[WordClass, str], Edits] = {}
        self._rules: dict[tuple[WordClass, str], set[Edit]] = {}
        self._cases: dict[tuple[WordClass, str], Counter[str]] = defaultdict(Counter)
        self._case_shares: dict[tuple[WordClass, str], dict[str, float]] = {}
        classes = list(map(_class_of, dictionary.tags))
        scripts = list(map(parse_script, dictionary.scripts))
        for form, flat in dictionary.forms.items():
            low, shape = form.lower(), capitalisation(form)
            for tags, script in zip(flat[::3], flat[1::3], strict=True):
                word_class, (case, edit) = classes[tags], scripts[script]
                self.lemmas[word_class[0]].add(apply_edit(form, case, edit) or form)
                if not is_irregular(edit):
                    self._words[word_class].append((low[::-1], edit))
                    self._cases[word_class, shape][case] += 1

    def by_ending(self, word_class: WordClass, form: str) -> list[Edits]:
        """The edits of the words of a class that share an ending with a form.

        First come those of all words of the class, then of those with the same last character,
        with the same last two and so on, as long as there are any.
        """
        low, longest = form.lower(), min(LONGEST_ENDING, len(form))
        found = (self._edits_of(word_class, low[len(low) - size :]) for size in range(longest + 1))
        return list(takewhile(itemgetter(1), found))

    def rules(self, word_class: WordClass, form: str) -> set[Edit]:
        """The edits of more than one word of a class with the same last character as a form."""
        key = word_class, form[-1:].lower()
        if key not in self._rules:
            edits, _ = self._edits_of(*key) if form else (Counter[Edit](), 0)
            self._rules[key] = {edit for edit, count in edits.items() if count > 1}
        return self._rules[key]

    def _edits_of(self, word_class: WordClass, ending: str) -> Edits:
        """The edits of the words of a class with an ending."""
        if (word_class, ending) in self._edits:
            return self._edits[word_class, ending]
        if word_class not in self._sorted:
            self._sorted[word_class] = sorted(self._words[word_class])
        words = self._sorted[word_class]
        start = bisect_left(words, (ending[::-1],))
        stop = bisect_left(words, (ending[::-1] + LAST,))
        edits = Counter(edit for _, edit in words[start:stop])
        if edits:  # Endings of no word are not cached; there are too many of them.
            self._edits[word_class, ending] = edits, stop - start
        return edits, stop - start

    def case_shares(self, word_class: WordClass, form: str) -> dict[str, float]:
        """The shares of the cases of scripts, among words of a class capitalised like a form."""
        key = word_class, capitalisation(form)
        if key not in self._case_shares:
            counts = self._cases[key]
            total = counts.total() + SMOOTHING
            shares = {case: (counts[case] + SMOOTHING / len(CASES)) / total for case in CASES}
            self._case_shares[key] = shares
        return self._case_shares[key]


def is_irregular(edit: Edit) -> bool:
    """Whether an edit replaces the beginning of a word, and thus does not apply to other words."""
    return len(edit) == 1 or bool(edit[0] and edit[1])


def _class_of(tags: Tags) -> WordClass:
    upos, xpos, feats = tags
    return upos, xpos if xpos != "_" else feats


def capitalisation(form: str) -> str:
    """Whether a form is in "lower", "title", "upper" or "mixed" case; a lone capital is "title"."""
    if form == form.lower():
        return "lower"
    if form[1:] == form[1:].lower():
        return "title"
    return "upper" if form == form.upper() else "mixed"
