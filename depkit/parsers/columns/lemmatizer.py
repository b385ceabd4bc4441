"""Lemmas from the training treebank's dictionary; for other words, from plausible edit scripts.

The dictionary comes first, as in UDPipe (Straka 2018) and Stanza (Qi et al. 2020). For a word that
is not in the dictionary, the network's scores of edit scripts and tags are combined with evidence
from the dictionary: the share of words with the same tags and the same ending that have this edit
(interpolated over endings of all lengths, as in Brants 2000), and whether the result is a known
word. The tags and the lemma of an unknown word are chosen together, as in UDPipe, because a known
lemma speaks for its tags as well; but the tags of the word do not change.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product, takewhile
from math import inf, log
from operator import itemgetter

from depkit.corpus.letter_case import lower, upper
from depkit.parsers.columns.edit_scripts import (
    CASES,
    Edit,
    apply_edit,
    apply_script,
    find_case,
    parse_script,
)
from depkit.parsers.columns.lemma_dictionary import NO_LEMMA, LemmaDictionary, Tags

LONGEST_ENDING = 6  # characters
SMOOTHING = 1.0  # weight, in words, of the share among words with a shorter ending
RARE = 1e-4  # the assumed share of an edit that no word of the same class has
LAST = "\U0010ffff"  # a character that sorts behind all others
FLOOR = -5.0  # the network's log-probabilities are clipped to this value from below
CACHE_SIZE = 100_000  # of `look_up`, in words; the cache is emptied when it is full
GUESSES_SIZE = 5_000  # of the cache of words that are not in the dictionary

# Weights of the network's log-probability, and of three properties of a candidate: being the lemma
# of some word with the same UPOS, being a known word, and being the lemma of this form with another
# UPOS. They were chosen on held-out tenths and twentieths of the train parts of two treebanks (EWT
# and Latin-Perseus).
NETWORK, LEMMA, WORD, OTHER_UPOS = 0.5, 3.0, 2.0, 7.0
# Weight of the log-probability of tags, and the difference from the likeliest tags at which tags
# are ignored. They were chosen on held-out parts of two train parts (Tamil-TTB and EWT).
TAGS, TAGS_MARGIN = 0.5, 5.0

Scored = tuple[str, float]  # an edit script or a tag, and the logarithm of its probability
Edits = tuple[Counter[Edit], int]  # the number of words by edit, and of all words
# A lemma, the logarithm of the share of words with its edit, and whether it is the lemma of some
# word with the same UPOS, that of the form with another UPOS, and a known word
Found = tuple[str, float, bool, bool, bool]
WordClass = tuple[str, str]  # UPOS and XPOS, or FEATS where there is no XPOS


class _Cache(dict[tuple[str, Tags], str | None]):
    """The lemmas that `LemmaDictionary.look_up` has returned."""

    def __init__(self, dictionary: LemmaDictionary) -> None:
        super().__init__()
        self.dictionary = dictionary

    def __missing__(self, key: tuple[str, Tags]) -> str | None:
        if len(self) >= CACHE_SIZE:
            self.clear()
        self[key] = lemma = self.dictionary.look_up(*key)
        return lemma


class Lemmatizer:
    """Chooses the lemmas of words.

    dictionary: the lemma dictionary; words: the lower-case forms of known words, such as a parser's
    vocabulary.
    """

    def __init__(self, dictionary: LemmaDictionary, words: Container[str] = ()) -> None:
        self.dictionary = dictionary
        self.words = words
        self._cache = _Cache(dictionary)
        self._plausibilities: dict[tuple[str, Tags], _Plausibility] = {}

    def look_up(self, forms: Iterable[str], tags: Iterable[Tags]) -> list[str | None]:
        """Return the lemma of each word that the dictionary has, and None for other words."""
        return list(map(self._cache.__getitem__, zip(forms, tags, strict=True)))

    def guess(
        self,
        form: str,
        tags: Tags,
        scripts: Sequence[Scored],
        candidates: Mapping[str, Sequence[Scored]] | None = None,
    ) -> str:
        """Guess the lemma of a word that the dictionary does not have with this UPOS.

        Args:
            form: The word.
            tags: Its UPOS, XPOS and FEATS.
            scripts: The network's best scripts with their log-probabilities.
            candidates: The network's best values of columns with their log-probabilities, the best
                one first, which replace those of `tags`.

        Returns:
            The most plausible lemma, or the form if there is none.
        """
        best, best_score = form, -inf
        for likely_tags, value in self._likely_tags(tags, candidates or {}):
            lemma, score = self._guess_with_tags(form, likely_tags, scripts)
            score += TAGS * value
            if score > best_score:
                best, best_score = lemma, score
        return best

    def _likely_tags(
        self, tags: Tags, candidates: Mapping[str, Sequence[Scored]]
    ) -> list[tuple[Tags, float]]:
        """Return the best tags and others that are nearly as likely, with log-probabilities.

        The others are those of some word in the dictionary.
        """
        upos: Sequence[Scored]
        xpos: Sequence[Scored]
        feats: Sequence[Scored]
        upos, xpos, feats = ([(tag, 0.0)] for tag in tags)
        upos = candidates.get("upos") or upos
        if tags[1] != "_":  # see `_word_class`
            xpos = candidates.get("xpos") or xpos
        else:
            feats = candidates.get("feats") or feats
        likely: list[tuple[Tags, float]] = []
        for (first, a), (second, b), (third, c) in product(upos, xpos, feats):
            new, score = (first, second, third), a + b + c
            if not likely or (
                score > likely[0][1] - TAGS_MARGIN and _word_class(new) in self.evidence.classes
            ):
                likely.append((new, score))
        return likely

    def _guess_with_tags(
        self, form: str, tags: Tags, scripts: Sequence[Scored]
    ) -> tuple[str, float]:
        """Find the most plausible lemma of a word with these tags.

        Candidates are made by the network's scripts, by attested edits and by the scripts of the
        same form with another UPOS; see `_Plausibility`.

        Returns:
            The most plausible candidate and its score, or the form and -inf if there is none.
        """
        plausibility = self._find_plausibility(form, self.dictionary.with_usual_upos(tags))
        candidates = [(parse_script(script), max(value, FLOOR)) for script, value in scripts]
        lowest = min((value for _, value in candidates), default=0.0)
        candidates += [(edit, lowest) for edit in plausibility.others]
        best, best_score = form, -inf
        for edit, value in candidates:
            if (found := plausibility[edit]) is None:
                continue
            lemma, share, is_lemma, is_other, is_word = found
            score = (
                NETWORK * value + share + LEMMA * is_lemma + OTHER_UPOS * is_other + WORD * is_word
            )
            if score > best_score:
                best, best_score = lemma, score
        return best, best_score

    def _find_plausibility(self, form: str, tags: Tags) -> "_Plausibility":
        if (form, tags) not in self._plausibilities:
            if len(self._plausibilities) >= GUESSES_SIZE:
                self._plausibilities.clear()
            self._plausibilities[form, tags] = _Plausibility(self, form, tags)
        return self._plausibilities[form, tags]

    @cached_property
    def evidence(self) -> "_Evidence":
        """Statistics of the dictionary, computed for the first word that is not in it."""
        return _Evidence(self.dictionary)


class _Plausibility(dict[tuple[str, Edit], Found | None]):
    """The evidence for each candidate lemma of a form with some tags, computed when needed.

    The key is a case and an edit; the value is None if the lemma is not plausible. An edit is
    attested if several words of the same class with the same last character have it. A lemma is
    plausible if it is a lemma of the form with another UPOS, if it is a lemma of any word with the
    same UPOS, or if its edit is attested.
    """

    def __init__(self, lemmatizer: Lemmatizer, form: str, tags: Tags) -> None:
        super().__init__()
        evidence, word_class = lemmatizer.evidence, _word_class(tags)
        self.form, self.words, self.dotless = form, lemmatizer.words, evidence.dotless
        self.lemmas = evidence.lemmas[tags[0]]
        self.by_ending = evidence.edits_by_ending(word_class, form)
        self.attested = evidence.attested_edits(word_class, form)
        self.cases = evidence.case_shares(word_class, form)
        usual_case = max(CASES, key=self.cases.__getitem__)
        readings = lemmatizer.dictionary.readings_ignoring_case(form)
        scripts = [(spelling, script) for (spelling, _, script), _ in readings]
        self.other_lemmas = {apply_script(spelling, script) for spelling, script in scripts}
        # Cases and edits to try besides the network's scripts
        self.others = [(usual_case, edit) for edit in self.attested]
        self.others += [parse_script(script) for _, script in scripts]

    def __missing__(self, key: tuple[str, Edit]) -> Found | None:
        self[key] = found = self._evaluate(*key)
        return found

    def _evaluate(self, case: str, edit: Edit) -> Found | None:
        lemma = apply_edit(self.form, case, edit, self.dotless)
        is_other = lemma in self.other_lemmas
        if lemma is None or (is_irregular(edit) and not is_other):
            return None
        is_lemma = lemma in self.lemmas
        if not (is_other or is_lemma or edit in self.attested):
            return None
        share = RARE
        for edits, total in self.by_ending:
            share = (edits[edit] + SMOOTHING * share) / (total + SMOOTHING)
        share *= self.cases.get(find_case(self.form, edit, lemma, self.dotless), RARE)
        # A vocabulary may have been made with `str.lower`, which makes two characters of İ.
        is_word = lower(lemma, self.dotless) in self.words or lemma.lower() in self.words
        return lemma, log(share), is_lemma, is_other, is_word


class _Evidence:
    """Statistics of a dictionary that help with words not in it. Threads can share an instance.

    lemmas: the lemmas of the dictionary by UPOS; classes: the classes of its words; dotless:
    whether the alphabet has a dotless i.
    """

    def __init__(self, dictionary: LemmaDictionary) -> None:
        self.dotless = dictionary.dotless
        self.lemmas: dict[str, set[str]] = defaultdict(set)
        self._words: dict[WordClass, list[tuple[str, Edit]]] = defaultdict(list)
        # The words of a class, reversed and sorted, so that words with the same ending are
        # neighbours. A class is sorted when it is first needed.
        self._sorted: dict[WordClass, list[tuple[str, Edit]]] = {}
        self._edits: dict[tuple[WordClass, str], Edits] = {}
        self._attested: dict[tuple[WordClass, str], dict[Edit, int]] = {}
        self._cases: dict[tuple[WordClass, str], Counter[str]] = defaultdict(Counter)
        self._case_shares: dict[tuple[WordClass, str], dict[str, float]] = {}
        classes = list(map(_word_class, dictionary.tags))
        self.classes = frozenset(classes)
        scripts = [
            None if script == NO_LEMMA else parse_script(script) for script in dictionary.scripts
        ]
        for form, flat in dictionary.forms.items():
            low, shape = lower(form, self.dotless), capitalisation(form, self.dotless)
            for tags, script in zip(flat[::3], flat[1::3], strict=True):
                parsed = scripts[script]
                if parsed is None:
                    continue
                word_class, (case, edit) = classes[tags], parsed
                self.lemmas[word_class[0]].add(apply_edit(form, case, edit) or form)
                if not is_irregular(edit):
                    self._words[word_class].append((low[::-1], edit))
                    self._cases[word_class, shape][case] += 1

    def edits_by_ending(self, word_class: WordClass, form: str) -> list[Edits]:
        """Return the edits of the words of a class that share an ending with a form.

        The first item counts all words of the class, the next the words with the same last
        character, then with the same last two and so on, as long as there are any.
        """
        low, longest = lower(form, self.dotless), min(LONGEST_ENDING, len(form))
        endings = (low[len(low) - size :] for size in range(longest + 1))
        edits = (self._edits_with_ending(word_class, ending) for ending in endings)
        return list(takewhile(itemgetter(1), edits))

    def attested_edits(self, word_class: WordClass, form: str) -> dict[Edit, int]:
        """Return edits of two or more words of a class with the same last character as a form.

        The dictionary that is returned has a fixed order, which decides between equally plausible
        lemmas. The order of a set of tuples of strings would differ between processes.

        Returns:
            The number of words by edit.
        """
        key = word_class, lower(form[-1:], self.dotless)
        if key not in self._attested:
            edits, _ = self._edits_with_ending(*key) if form else (Counter[Edit](), 0)
            self._attested[key] = {edit: count for edit, count in edits.items() if count > 1}
        return self._attested[key]

    def _edits_with_ending(self, word_class: WordClass, ending: str) -> Edits:
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
        """Return the share of each script case among words of a class capitalised like a form."""
        key = word_class, capitalisation(form, self.dotless)
        if key not in self._case_shares:
            counts = self._cases[key]
            total = counts.total() + SMOOTHING
            shares = {case: (counts[case] + SMOOTHING / len(CASES)) / total for case in CASES}
            self._case_shares[key] = shares
        return self._case_shares[key]


def is_irregular(edit: Edit) -> bool:
    """Return whether an edit replaces the beginning of a word, so it suits no other word."""
    return len(edit) == 1 or bool(edit[0] and edit[1])


def _word_class(tags: Tags) -> WordClass:
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
