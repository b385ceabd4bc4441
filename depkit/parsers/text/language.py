"""Identifying the language of a text by its character trigrams.

The profile of a language has the logarithms of the probabilities of its most frequent trigrams. The
score of a text is their mean over its trigrams, as in the classifier of Dunning (1994), with one
value for all other trigrams. The profiles in the folder `languages` are those of open treebanks of
Universal Dependencies and, for most languages without a bundled model, of translations of manuals
and of user interfaces.
"""

import json
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from depkit.corpus.equivalents import find_equivalent
from depkit.corpus.io import PathLike
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import ModelError, bundled_models, find_model

PROFILES = Path(__file__).with_name("languages")  # a file CODE.json for each language
MIN_LETTERS = 60  # of a text that can give a warning
FEWEST_LETTERS = 5  # of a text whose language is identified
MAX_CHARACTERS = 4000  # that are read
DOCUMENT_CHARACTERS = 400  # that are read of each document if there are several
# A text whose score is not above `low` by NEAR_LOW may be in another language, whose score must be
# higher by MARGIN. MARGIN is also by how much a score below `low` is still accepted.
NEAR_LOW = 0.8
MARGIN = 0.4
# A language is clear if its score is higher than that of any other language by CLEAR, and by
# CLEAR_ROOT divided by the square root of the number of letters. Of 1,754 sentences from the dev
# parts of 26 languages, these shares were clear, and taken for another language: of 5 to 14 letters
# 71% and 1.7%, of 15 to 29 letters 83% and 1.1%, of 30 to 59 letters 91% and 0.2%, of 60 to 119
# letters 95% and 0.2%, and of more letters 97% and 0.4%.
CLEAR, CLEAR_ROOT = 0.05, 1.5
# A score below `low` counts only if it is higher than all others by this much, because the text may
# be in a similar language without a profile, such as Occitan.
LOW_LEAD = 0.4
# The scores of lists of names and of slang can be below `low` by FAR_BELOW, but hardly by UNLIKE.
FAR_BELOW, UNLIKE = 1.2, 2.0
# A language is not that of a text in which fewer than this share of the letters are of its script.
SCRIPT_SHARE = 0.2
# The score of a language is lowered by this, times the share of a text's letters that are of its
# script but not of its alphabet, as the ј of Serbian is no letter of Russian.
FOREIGN_LETTERS = 30.0
# A text is not taken for a language if its distinct words should contain more than this many
# occurrences of letters that it lacks. This was so in 0.4% of passages of 60 characters from dev
# parts in the language, and in fewer of longer ones.
MISSING_LETTERS = 13
# Among the languages that have a profile, only one is written in each of these scripts, and hardly
# any other language of the world is; a few letters are as decisive.
_SCRIPTS_OF_ONE_LANGUAGE = {"KANA": "ja", "HANGUL": "ko", "HEBREW": "he"}
_SHARED_SCRIPTS = ("LATIN", "CYRILLIC", "ARABIC", "GREEK")
_LETTERS_OF_ONE_LANGUAGE = {"uk": "ґєї"}
_NO_LETTERS = re.compile(r"[\W\d_]+")


@dataclass(frozen=True)
class Counts:
    """The frequencies of the trigrams and of the letters of a text, without their order.

    num_distinct: the number of letters of its distinct words.
    """

    trigrams: Counter[str]
    letters: Counter[str]
    num_distinct: int

    @staticmethod
    def of(text: str) -> "Counts":
        normalized = normalize(text)
        letters = Counter(normalized)
        del letters[" "]
        trigrams = Counter(normalized[i : i + 3] for i in range(len(normalized) - 2))
        return Counts(trigrams, letters, sum(map(len, set(normalized.split()))))

    @cached_property
    def scripts(self) -> Counter[str]:
        """The number of letters of each script."""
        return count_scripts(self.letters)

    def translate(self, letters: Mapping[int, str]) -> "Counts":
        """Return the counts of the text after `str.translate` by a table of single letters."""

        def translate(counts: Counter[str]) -> Counter[str]:
            result: Counter[str] = Counter()
            for key, count in counts.items():
                result[key.translate(letters)] += count
            return result

        return Counts(translate(self.trigrams), translate(self.letters), self.num_distinct)


@dataclass(frozen=True)
class Profile:
    """The trigrams of a language.

    name: that of the language in English; script: that of most of its letters, see `find_script`;
    letters: the shares of the letters of its alphabet; empty if all of the script belong to it;
    trigrams: natural logarithms of their probabilities; other: that of any other trigram; low: a
    score that a text of this language rarely falls below.
    """

    name: str
    script: str
    letters: Mapping[str, float]
    trigrams: Mapping[str, float]
    other: float
    low: float

    def score(self, text: str | Counts) -> float:
        """Return the mean logarithm of the probability of a text's trigrams.

        It is lowered by letters of the same script that the language does not have.
        """
        counts = self.read(Counts.of(text) if isinstance(text, str) else text)
        total = counts.trigrams.total()
        if not total:
            return self.other
        get, other = self.trigrams.get, self.other
        trigrams = sum(count * get(trigram, other) for trigram, count in counts.trigrams.items())
        return trigrams / total - FOREIGN_LETTERS * self.foreign_share(counts)

    def read(self, counts: Counts) -> Counts:
        """Read each letter that is not of the alphabet as an equivalent letter that is.

        So Romanian can be written with cedillas, and Persian with the letters of Arabic.
        """
        known = self.letters.__contains__
        foreign = counts.letters.keys() - self.letters.keys()
        read = {ord(x): y for x in foreign if (y := find_equivalent(x, known)) and len(y) == 1}
        return counts.translate(read) if read else counts

    def is_script_of(self, counts: Counts) -> bool:
        """Whether enough of a text's letters are of the language's script."""
        return counts.scripts[self.script] > SCRIPT_SHARE * counts.letters.total()

    def foreign_share(self, counts: Counts) -> float:
        """Return the share of letters of the language's script that are not of its alphabet.

        counts: those of a text that was read by `read`.
        """
        if not self.letters:
            return 0.0
        others = counts.letters.keys() - self.letters.keys()
        number = sum(counts.letters[x] for x in others if find_script(x) == self.script)
        return number / max(1, counts.letters.total())

    def count_missing(self, counts: Counts) -> float:
        """Return how many letters that a text lacks would be expected in its distinct words."""
        counts = self.read(counts)
        missing = self.letters.keys() - counts.letters.keys()
        share = counts.scripts[self.script] / max(1, counts.letters.total())
        return counts.num_distinct * share * sum(self.letters[letter] for letter in missing)

    def is_similar_to(self, counts: Counts) -> bool:
        """Whether a text can be in the language, though it has names or slang."""
        is_score_high = self.score(counts) >= self.low - FAR_BELOW
        return is_score_high and self.count_missing(counts) <= MISSING_LETTERS


def count_scripts(letters: Counter[str]) -> Counter[str]:
    """Return the number of letters of each script; letters: their frequencies."""
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[find_script(letter)] += count
    return scripts


@cache
def find_script(letter: str) -> str:
    """Return the script of a letter as in its Unicode name, such as LATIN; KANA for both kinds.

    >>> [find_script(letter) for letter in "éя한あア川"]
    ['LATIN', 'CYRILLIC', 'HANGUL', 'KANA', 'KANA', 'CJK']
    """
    first_word = unicodedata.name(letter, "").partition(" ")[0]
    return "KANA" if first_word.startswith(("HIRAGANA", "KATAKANA")) else first_word


def normalize(text: str) -> str:
    """Return a text without case and addresses, with one space for all between its words.

    Letters and their accents are composed; other marks, as the points of Hebrew, are left out. The
    capital I of a text may be that of i, or of the Turkish ı, so both are read as i.
    """
    pieces = (piece for piece in text[:MAX_CHARACTERS].split() if not _is_address(piece))
    letters = " ".join(pieces).casefold().replace("ı", "i")
    if not letters.isascii():
        letters = unicodedata.normalize("NFC", letters)
        marks = [x for x in set(letters) if unicodedata.category(x) == "Mn"]
        letters = letters.translate(dict.fromkeys(map(ord, marks)))
    return f" {_NO_LETTERS.sub(' ', letters).strip()} "


def _is_address(piece: str) -> bool:
    return "://" in piece or "@" in piece or piece.startswith("www.")


@cache
def read_profiles() -> dict[str, Profile]:
    """Read the profiles of all languages, by their ISO 639 codes."""
    return {path.stem: _read_profile(path.stem) for path in sorted(PROFILES.glob("*.json"))}


@cache
def _read_profile(code: str) -> Profile:
    return Profile(**json.loads((PROFILES / f"{code}.json").read_text("utf-8")))


def count_letters(text: str) -> int:
    """Return the number of letters from which the language of a text is identified."""
    return Counts.of(text).letters.total()


def _find_profile(language: str) -> Profile | None:
    return _read_profile(language) if (PROFILES / f"{language}.json").is_file() else None


def find_other_language(text: str, language: str) -> str | None:
    """Return the code of the language that a text is clearly in instead of an expected one.

    The profiles of other languages are read only if the text is unlike the expected language.

    Args:
        text: The beginning of a text.
        language: The code of the expected language.

    Returns:
        The code; None if the text may be in the expected language, is too short, or if there is no
        profile of either language.
    """
    profile, counts = _find_profile(language), Counts.of(text)
    if profile is None or counts.letters.total() < MIN_LETTERS:
        return None
    is_written = profile.is_script_of(counts)
    score = profile.score(counts)
    if is_written and score >= profile.low + NEAR_LOW:
        return None
    if code := _find_by_letters(counts):
        return code if code != language else None
    best = _find_best(counts)
    if best is None or best.code == language:
        return None
    is_likelier = not is_written or best.score > score + MARGIN
    return best.code if best.is_likely and is_likelier else None


def may_be_language(text: str, language: str) -> bool:
    """Whether a text is as much like a language as like any other that has a profile.

    Lists of names and messages in slang are, although most of their trigrams are rare.
    """
    counts = Counts.of(text)
    profile, best = _find_profile(language), _find_best(counts)
    return (
        profile is not None
        and best is not None
        and profile.is_script_of(counts)
        and profile.is_similar_to(counts)
        and profile.score(counts) >= best.score - _clear_lead(counts.letters.total())
    )


def is_unlike_language(text: str, language: str) -> bool:
    """Whether a text is not in a language that has a profile, whatever else it may be in."""
    profile, counts = _find_profile(language), Counts.of(text)
    if profile is None or counts.letters.total() < MIN_LETTERS:
        return False
    return profile.score(counts) < profile.low - UNLIKE


def find_clear_language(text: str) -> str | None:
    """Return the code of the language that a text is clearly in; None if there is none.

    A text in a language without a profile is not clear, unless a profile is that of a very similar
    language, as Icelandic is for Faroese.
    """
    counts = Counts.of(text)
    if code := _find_by_letters(counts):
        return code
    best, letters = _find_best(counts), counts.letters.total()
    if best is None or not best.is_likely or letters < FEWEST_LETTERS:
        return None
    return best.code if best.lead >= _clear_lead(letters) else None


@dataclass(frozen=True)
class _Best:
    """The language of a text that has the highest score.

    lead: how much higher it is than the score of any other language; is_likely: whether the text is
    in this language or in a similar one, and not in some language that has no profile.
    """

    code: str
    score: float
    lead: float
    is_likely: bool


def _find_best(counts: Counts) -> _Best | None:
    """Return the best of the languages that are written in a script of the text."""
    profiles = read_profiles()
    scores = {
        code: profile.score(counts)
        for code, profile in profiles.items()
        if profile.is_script_of(counts)
    }
    if not scores:
        return None
    code = max(scores, key=scores.__getitem__)
    score, own = scores.pop(code), profiles[code]
    lead = score - max(scores.values(), default=-math.inf)
    # If the scores of a language vary little, as in Japanese, those of texts in other languages are
    # not much lower; the limit is then halfway between them.
    lowest = max(own.low - MARGIN, (own.low + own.other) / 2)
    is_likely = (
        score >= lowest
        and (score >= own.low or lead >= LOW_LEAD)
        and own.count_missing(counts) <= MISSING_LETTERS
    )
    return _Best(code, score, lead, is_likely)


def _clear_lead(letters: int) -> float:
    """Return by how much a score must be higher than all others not to be so by chance."""
    return max(CLEAR, CLEAR_ROOT / math.sqrt(max(1, letters)))


def _find_by_letters(counts: Counts) -> str | None:
    """Return the code of the only language that has the letters of a text, if there is one.

    A language without a profile can have the same letters, as Yiddish has those of Hebrew. A text
    of MIN_LETTERS is then found to be too different from the profile.
    """
    total, scripts = counts.letters.total(), counts.scripts
    shared = sum(scripts[script] for script in _SHARED_SCRIPTS)
    for script, code in _SCRIPTS_OF_ONE_LANGUAGE.items():
        if scripts[script] > SCRIPT_SHARE * total and 2 * shared < total:
            return code if _is_short_or_similar(counts, code) else None
    for code, letters in _LETTERS_OF_ONE_LANGUAGE.items():
        profile = read_profiles()[code]
        own = {*letters, *profile.letters}
        is_own = all(x in own or find_script(x) != profile.script for x in counts.letters)
        if is_own and 2 * scripts[profile.script] > total and set(letters) & counts.letters.keys():
            return code if _is_short_or_similar(counts, code) else None
    return None


def _is_short_or_similar(counts: Counts, code: str) -> bool:
    is_short = counts.letters.total() < MIN_LETTERS
    return is_short or read_profiles()[code].is_similar_to(counts)


def bundled_languages() -> dict[str, str]:
    """Return the names of the bundled models by the ISO codes of their languages."""
    return {str(read_card_facts(find_model(name))["language"]): name for name in bundled_models()}


def choose_model(text: str) -> str:
    """Return the name of the bundled model for the language of a text.

    >>> import depkit
    >>> text = "Í gær unnum við allan daginn í garðinum og um kvöldið voru allir mjög þreyttir."
    >>> depkit.choose_model(text)
    'is'
    >>> parser = depkit.load(depkit.choose_model(text))

    text: its beginning is enough, best a few hundred letters; most sentences are enough, too.

    Raises ModelError if it is not clear in which language the text is, or if there is no model, and
    TypeError if the text is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text must be a string, not {type(text).__name__}")
    models, profiles = bundled_languages(), read_profiles()
    code = find_clear_language(text)
    if code in models:
        return models[code]
    problem = "it is not clear in which language the text is"
    if code:
        problem = f"the text seems to be {profiles[code].name}, for which no model is bundled"
    listed = ", ".join(f"{profiles[code].name} ({name})" for code, name in sorted(models.items()))
    raise ModelError(f"{problem}; name a model; the bundled ones parse {listed}")


def describe_model(model: str) -> str:
    """Say what language a bundled model was chosen for."""
    return f"{read_card_facts(find_model(model))['language_name']}, model {model}"


def read_language(model: PathLike) -> str:
    """Return the code of the language of a model, from the front matter of its card, or ""."""
    return str(read_card_facts(find_model(model)).get("language", ""))


def find_language_warning(text: str, model: PathLike) -> str:
    """Warn of a text that is clearly not in the language of a model; "" if it may be.

    text: its beginning.
    """
    expected = read_language(model)
    code = find_other_language(text, expected) if expected else None
    if code is None:
        return ""
    profiles = read_profiles()
    advice = ""
    if name := bundled_languages().get(code):
        advice = f"; the model {name} parses {profiles[code].name}"
    return (
        f"the text seems to be {profiles[code].name}, and the model {os.fspath(model)} parses"
        f" {profiles[expected].name}{advice}"
    )


def find_document_warning(documents: Sequence[str], model: PathLike) -> str:
    """Warn of documents that are clearly not in the language of a model; "" if all may be."""
    expected = read_language(model)
    found = (find_other_language(text[:DOCUMENT_CHARACTERS], expected) for text in documents)
    codes = sorted({code for code in found if code})
    if not codes:
        return ""
    profiles = read_profiles()
    return (
        f"not all documents seem to be in one language: some are in"
        f" {', '.join(profiles[code].name for code in codes)}, and the model {os.fspath(model)}"
        f" parses {profiles[expected].name}"
    )
