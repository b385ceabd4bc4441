"""Identifying the language of a text by its character trigrams.

The profile of a language has the logarithms of the probabilities of its most frequent trigrams. The
score of a text is their mean over its trigrams, as in the classifier of Dunning (1994), with one
value for all other trigrams. The profiles in the folder `languages` are those of open treebanks of
Universal Dependencies.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from depkit.corpus.io import PathLike
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import ModelError, bundled_models, find_model

PROFILES = Path(__file__).with_name("languages")  # a file CODE.json for each language
NUM_TRIGRAMS = 1000
MIN_LETTERS = 60  # of a text that can give a warning
FEWEST_LETTERS = 5  # of a text whose language is identified
MAX_CHARACTERS = 4000  # that are read
WINDOW = 200  # characters of the texts from which a profile learns how low scores become
LOW_SHARE = 0.01  # of these texts that have a score below `low`
# A text whose score is not above `low` by this much may be in another language, whose score must be
# higher by MARGIN. On 2,998 passages of 250 characters from the dev parts of 25 languages, each
# compared with every language, this gave no wrong warning and missed 1% of the texts.
NEAR_LOW = 0.8
MARGIN = 0.4
# A language is clear if its score is higher than that of any other language by CLEAR, and by
# CLEAR_ROOT divided by the square root of the number of letters. Of 3,043 sentences from the same
# dev parts, these shares were clear, and taken for another language: of 5 to 14 letters 44% and
# 2.0%, of 15 to 29 letters 70% and none, of 30 to 59 letters 88% and 0.3%, of 60 to 119 letters 96%
# and 0.3%, and of more letters 98% and 0.2%.
CLEAR, CLEAR_ROOT = 0.05, 1.5
_NO_LETTERS = re.compile(r"[\W\d_]+")


@dataclass(frozen=True)
class Profile:
    """The trigrams of a language.

    name: that of the language in English; trigrams: natural logarithms of their probabilities;
    other: that of any other trigram; low: a score that a text of this language rarely falls below.
    """

    name: str
    trigrams: Mapping[str, float]
    other: float
    low: float

    def score(self, text: str) -> float:
        """Return the mean logarithm of the probability of a text's trigrams."""
        letters = normalize(text)
        values = [
            self.trigrams.get(letters[i : i + 3], self.other) for i in range(len(letters) - 2)
        ]
        return sum(values) / len(values) if values else self.other

    def to_json(self) -> str:
        trigrams = {trigram: round(value, 2) for trigram, value in self.trigrams.items()}
        numbers = {"other": round(self.other, 2), "low": round(self.low, 2)}
        return json.dumps({"name": self.name} | numbers | {"trigrams": trigrams}, indent=0) + "\n"


def normalize(text: str) -> str:
    """Return a text without case and addresses, with one space for all between its words."""
    pieces = (piece for piece in text[:MAX_CHARACTERS].split() if not _is_address(piece))
    return f" {_NO_LETTERS.sub(' ', ' '.join(pieces).casefold()).strip()} "


def _is_address(piece: str) -> bool:
    return "://" in piece or "@" in piece or piece.startswith("www.")


def make_profile(name: str, texts: Iterable[str]) -> Profile:
    """Learn the profile of a language from texts; nine of ten are counted, the others scored."""
    counts: Counter[str] = Counter()
    held_out: list[str] = []
    for number, text in enumerate(texts):
        if number % 10 == 9:
            held_out.append(text)
            continue
        for start in range(0, len(text), MAX_CHARACTERS):
            letters = normalize(text[start : start + MAX_CHARACTERS])
            counts.update(letters[i : i + 3] for i in range(len(letters) - 2))
    total = sum(counts.values())
    frequent = counts.most_common(NUM_TRIGRAMS)
    rest = max(1, total - sum(count for _, count in frequent))
    profile = Profile(
        name,
        {trigram: math.log(count / total) for trigram, count in frequent},
        # The others share what is left; there are assumed to be ten times as many.
        math.log(rest / total / (10 * NUM_TRIGRAMS)),
        low=0.0,
    )
    whole = " ".join(held_out)
    windows = (whole[start : start + WINDOW] for start in range(0, len(whole), WINDOW))
    scores = sorted(profile.score(window) for window in windows)
    return replace(profile, low=scores[int(len(scores) * LOW_SHARE)] if scores else profile.other)


@cache
def read_profiles() -> dict[str, Profile]:
    """Read the profiles of all languages, by their ISO 639 codes."""
    return {path.stem: _read_profile(path.stem) for path in sorted(PROFILES.glob("*.json"))}


@cache
def _read_profile(code: str) -> Profile:
    return Profile(**json.loads((PROFILES / f"{code}.json").read_text("utf-8")))


def count_letters(text: str) -> int:
    """Return the number of letters from which the language of a text is identified."""
    return sum(map(str.isalpha, normalize(text)))


def find_language(text: str, profiles: Mapping[str, Profile]) -> str:
    """Return the code of the language with the highest score."""
    return max(profiles, key=lambda code: profiles[code].score(text))


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
    if not (PROFILES / f"{language}.json").is_file():
        return None
    profile = _read_profile(language)
    score = profile.score(text)
    if score >= profile.low + NEAR_LOW:
        return None
    if count_letters(text) < MIN_LETTERS:
        return None
    best = find_language(text, read_profiles())
    if best == language:
        return None
    other = read_profiles()[best]
    return best if other.score(text) > max(score + MARGIN, other.low - MARGIN) else None


def find_clear_language(text: str) -> str | None:
    """Return the code of the language that a text is clearly in; None if there is none.

    A text in a language without a profile is not clear, unless a profile is that of a very similar
    language, as Norwegian is for Danish.
    """
    profiles, letters = read_profiles(), count_letters(text)
    if letters < FEWEST_LETTERS:
        return None
    best = find_language(text, profiles)
    scores = {code: profile.score(text) for code, profile in profiles.items()}
    score, own = scores.pop(best), profiles[best]
    # If the scores of a language vary little, as in Japanese, those of texts in other languages are
    # not much lower; the limit is then halfway between them.
    lowest = max(own.low - MARGIN, (own.low + own.other) / 2)
    margin = max(CLEAR, CLEAR_ROOT / math.sqrt(letters))
    return best if score >= max(lowest, max(scores.values()) + margin) else None


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

    Raises ModelError if it is not clear in which language the text is, or if there is no model.
    """
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


def find_language_warning(text: str, model: PathLike) -> str:
    """Warn of a text that is clearly not in the language of a model; "" if it may be.

    The language of a model is that in the front matter of its card. text: its beginning.
    """
    expected = str(read_card_facts(find_model(model)).get("language", ""))
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
