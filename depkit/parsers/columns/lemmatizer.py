"""Lemmas from the training treebank's dictionary; for other words, from plausible edit scripts.

The dictionary comes first, as in UDPipe (Straka 2018) and Stanza (Qi et al. 2020). For a word that
is not in the dictionary, the network's scores of edit scripts and tags are combined with evidence
from the dictionary: the share of words with the same tags and the same ending that have this edit
(interpolated over endings of all lengths, as in Brants 2000), and whether the result is a known
word. The tags and the lemma of an unknown word are chosen together, as in UDPipe, because a known
lemma speaks for its tags as well; but the tags of the word do not change. In treebanks that mark
the parts of compounds, marks are added, see `compounds`.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from functools import cached_property
from math import inf, log
from typing import NamedTuple

from depkit.corpus.letter_case import lower, upper
from depkit.corpus.patterns import is_name
from depkit.parsers.columns.edit_scripts import (
    KEEP,
    LOWER,
    Edit,
    apply_edit,
    apply_script,
    find_case,
    parse_script,
)
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary, Tags
from depkit.parsers.columns.lemma_evidence import (
    RARE,
    Evidence,
    capitalisation,
    find_word_class,
)

FLOOR = -5.0  # the network's log-probabilities are clipped to this value from below
CACHE_SIZE = 100_000  # of `look_up`, in words; the cache is emptied when it is full
GUESSES_SIZE = 20_000  # of the cache of words that are not in the dictionary

# Weights of the network's log-probability, and of three properties of a candidate: being the lemma
# of some word with the same UPOS, being a known word, and being the lemma of this form with another
# UPOS. They were chosen on the held-out twentieths of the train parts of 24 bundled models.
NETWORK, LEMMA, WORD, OTHER_UPOS = 0.5, 4.5, 2.0, 5.0
# Weight of the log-probability of tags, and the difference from the likeliest tags at which tags
# are ignored. They were chosen on held-out parts of two train parts (Tamil-TTB and EWT).
TAGS, TAGS_MARGIN = 0.5, 5.0

_CONSONANTS = "bcçčćdďđfgğhjkľlĺłmnňńpqrřŕsšśştťțvwxzžźżбвгґджзйклмнпрстфхцчшщ"
# An abbreviation in lower or upper case, such as `kg`
_NO_VOWEL = re.compile(rf"[{_CONSONANTS}]{{2,}}|[{_CONSONANTS.upper()}]{{2,}}")
_CONSONANTS_ONLY = re.compile(rf"[{_CONSONANTS}]+")
# A Czech word such as `trh`, or an abbreviation
_SYLLABIC = re.compile(rf"(?=\w+[lr]\w)[{_CONSONANTS}]{{3,}}")
MIN_SYLLABIC = 3  # such words in a dictionary whose language has syllabic consonants

Scored = tuple[str, float]  # an edit script or a tag, and the logarithm of its probability
Script = tuple[str, Edit]  # a case and an edit


class Made(NamedTuple):
    """What a script makes of a form."""

    lemma: str
    case: str  # the case that the script of the lemma needs
    is_other: bool  # whether it is the lemma of this form with another UPOS
    is_word: bool  # whether it is a known word


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
        self._words: dict[str, _UnknownWord] = {}

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
                ones first, which replace those of `tags`.

        Returns:
            The most plausible lemma, or the form if there is none.
        """
        word = self._find_word(form)
        network = [(parse_script(script), NETWORK * max(value, FLOOR)) for script, value in scripts]
        lowest = min((value for _, value in network), default=0.0)
        network = [scored for scored in network if word.make(scored[0])]
        best, best_score = form, -inf
        for likely_tags, value in self._likely_tags(tags, candidates or {}):
            plausibility = word.plausibility(self.dictionary.with_usual_upos(likely_tags))
            for script, script_value in network:
                lemma, score = plausibility[script]
                score += script_value + TAGS * value
                if score > best_score:
                    best, best_score = lemma, score
            lemma, score = plausibility.best_of_dictionary
            score += lowest + TAGS * value
            if score > best_score:
                best, best_score = lemma, score
        if not word.other_lemmas and lower(best, self.dictionary.dotless) != word.low:
            is_plural = tags[0] == "NOUN" and f"{best}s" == form and best in self.dictionary.forms
            if is_name(form) or (self._is_abbreviation(form) and not is_plural):
                return form
        if best in word.other_lemmas or tags[0] == "PROPN":  # names are rarely compounds
            return best
        return self.evidence.compounds.add_marks(form, best)

    def _is_abbreviation(self, form: str) -> bool:
        """Whether a form in lower or upper case has several letters, but no vowel, as `грн`.

        It has no `l` or `r` between others if these are syllabic in the language, as in `skvrn`.
        """
        is_word = _SYLLABIC.fullmatch(form) and self.has_syllabic_consonants
        return bool(_NO_VOWEL.fullmatch(form)) and not is_word

    @cached_property
    def has_syllabic_consonants(self) -> bool:
        """Whether words such as the Czech `trh` have no vowel."""
        forms = self.dictionary.forms
        return sum(map(bool, map(_SYLLABIC.fullmatch, forms))) >= MIN_SYLLABIC

    def _likely_tags(
        self, tags: Tags, candidates: Mapping[str, Sequence[Scored]]
    ) -> list[tuple[Tags, float]]:
        """Return the best tags and others that are nearly as likely, with log-probabilities.

        The others are those of some word in the dictionary. candidates: the values of each column,
        the best ones first.
        """
        upos, xpos, feats = tags
        has_xpos = xpos != "_"  # see `find_word_class`
        kept = xpos if has_xpos else feats
        rest = candidates.get("xpos" if has_xpos else "feats") or [(kept, 0.0)]
        likely: list[tuple[Tags, float]] = []
        limit = -inf
        for first, a in candidates.get("upos") or [(upos, 0.0)]:
            for second, b in rest:
                if a + b <= limit:
                    break
                new = (first, second, feats) if has_xpos else (first, xpos, second)
                if not likely:
                    limit = a + b - TAGS_MARGIN
                elif find_word_class(new) not in self.evidence.classes:
                    continue
                likely.append((new, a + b))
        return likely

    def _find_word(self, form: str) -> "_UnknownWord":
        word = self._words.get(form)
        if word is None:
            if len(self._words) >= GUESSES_SIZE:
                self._words.clear()
            self._words[form] = word = _UnknownWord(self, form)
        return word

    @cached_property
    def evidence(self) -> Evidence:
        """Statistics of the dictionary, computed for the first word that is not in it."""
        return Evidence(self.dictionary)


class _UnknownWord:
    """A form that the dictionary does not have with some UPOS, and what scripts make of it.

    scripts: those of the form with other UPOS.
    """

    def __init__(self, lemmatizer: Lemmatizer, form: str) -> None:
        self.form, self.known_words = form, lemmatizer.words
        self.evidence = lemmatizer.evidence
        self.has_syllabic_consonants = lemmatizer.has_syllabic_consonants
        self.low, self.digits = lower(form, self.evidence.dotless), _digits(form)
        self.capitalisation = capitalisation(form, self.evidence.dotless)
        readings = lemmatizer.dictionary.readings_ignoring_case(form)
        self.scripts = [parse_script(script) for (_, _, script), _ in readings]
        self.other_lemmas = {apply_script(known, script) for (known, _, script), _ in readings}
        self._made: dict[Script, Made | None] = {}
        self._plausibilities: dict[Tags, _Plausibility] = {}

    def make(self, script: Script) -> Made | None:
        """Apply a script to the form.

        The result is None unless the edit changes a known word in the same way and keeps all
        digits, or the lemma is that of the form with another UPOS.
        """
        if script not in self._made:
            self._made[script] = self._apply(*script)
        return self._made[script]

    def _apply(self, case: str, edit: Edit) -> Made | None:
        dotless = self.evidence.dotless
        is_attested = self.evidence.attests(self.low, edit)
        if not (is_attested or self.other_lemmas):
            return None
        lemma = apply_edit(self.form, case, edit, dotless)
        if lemma and case == KEEP and len(self.form) > 1 and self.form.isupper():
            lemma = upper(lemma, dotless)  # what is added, too
        is_other = lemma in self.other_lemmas
        if lemma is None or not (is_other or (is_attested and _digits(lemma) == self.digits)):
            return None
        if case != LOWER:  # the first case that `find_case` tries
            case = find_case(self.form, edit, lemma, dotless)
        return Made(lemma, case, is_other, self.is_known(lemma))

    def is_known(self, lemma: str) -> bool:
        """Whether a lemma is a known word."""
        # A vocabulary may have been made with `str.lower`, which makes two characters of İ.
        low = lower(lemma, self.evidence.dotless)
        return low in self.known_words or lemma.lower() in self.known_words

    def loses_vowels(self, edit: Edit) -> bool:
        """Whether an edit cuts off vowels and consonants but keeps no vowel: `sing` to `s`.

        Words with syllabic consonants and abbreviations with an ending, as `KGBen`, need no vowel.
        """
        assert len(edit) == 4
        cut_front, _, cut_behind, _ = edit
        end = len(self.form) - cut_behind
        kept, cut = self.low[cut_front:end], self.low[end:]
        if len({x in _CONSONANTS for x in cut if x.isalpha()}) < 2:  # no vowel, or nothing else
            return False
        is_abbreviation = len(kept) > 1 and self.form[cut_front:end].isupper()
        if is_abbreviation and not (self.form.isupper() and cut[0].isalpha()):
            return False
        is_syllabic = self.has_syllabic_consonants and _SYLLABIC.fullmatch(kept)
        return bool(_CONSONANTS_ONLY.fullmatch(kept)) and not is_syllabic

    def plausibility(self, tags: Tags) -> "_Plausibility":
        if tags not in self._plausibilities:
            self._plausibilities[tags] = _Plausibility(self, tags)
        return self._plausibilities[tags]


class _Plausibility(dict[Script, Scored]):
    """The lemmas that scripts make of a word with some tags, and their scores without the network.

    An edit is attested if several words of the same class with the same last character have it. A
    lemma is plausible if it is a lemma of the form with another UPOS, if it is a lemma of any word
    with the same UPOS, or if its edit is attested and keeps a vowel of the form, as in most words.
    The score of other lemmas is -inf.
    """

    def __init__(self, word: _UnknownWord, tags: Tags) -> None:
        super().__init__()
        word_class = find_word_class(tags)
        self.word = word
        self.lemmas: Set[str] = word.evidence.lemmas.get(tags[0], frozenset())
        self.ending = word.evidence.find_ending(word_class, word.low)
        self.cases = word.evidence.case_shares(word_class, word.capitalisation)

    def __missing__(self, script: Script) -> Scored:
        self[script] = scored = self._evaluate(script)
        return scored

    def _evaluate(self, script: Script) -> Scored:
        made = self.word.make(script)
        if made is None:
            return self.word.form, -inf
        lemma, case, is_other, is_word = made
        edit, is_lemma = script[1], lemma in self.lemmas
        is_attested = edit in self.ending.attested
        if not (is_other or is_lemma or (is_attested and not self.word.loses_vowels(edit))):
            return lemma, -inf
        share = self.ending.share(edit) * self.cases.get(case, RARE)
        return lemma, log(share) + LEMMA * is_lemma + OTHER_UPOS * is_other + WORD * is_word

    @cached_property
    def best_of_dictionary(self) -> Scored:
        """The best lemma by an attested edit, or by a script of the form with another UPOS."""
        best, best_score = self.word.form, -inf
        properties = LEMMA + WORD + OTHER_UPOS * bool(self.word.other_lemmas)
        for log_share, edit in self.ending.likeliest:
            if log_share + properties <= best_score:
                break  # no score can be higher
            if log_share + self._bonus(edit) <= best_score:
                continue
            lemma, score = self[self.cases.usual, edit]
            if score > best_score:
                best, best_score = lemma, score
        for script in self.word.scripts:
            lemma, score = self[script]
            if score > best_score:
                best, best_score = lemma, score
        return best, best_score

    def _bonus(self, edit: Edit) -> float:
        """Return an upper limit of what the properties of the lemma by an edit add to its score.

        It does not check whether the edit is plausible, and takes much less time than `_evaluate`.
        """
        word, case = self.word, self.cases.usual
        if word.other_lemmas or word.form.isupper():
            return inf
        lemma = apply_edit(word.form, case, edit, word.evidence.dotless)
        if lemma is None:
            return -inf
        return LEMMA * (lemma in self.lemmas) + WORD * word.is_known(lemma)


def _digits(text: str) -> str:
    return "" if text.isalpha() else "".join(filter(str.isdigit, text))
