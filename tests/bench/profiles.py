"""Learning the profiles of languages that `depkit.parsers.text.language` compares texts with."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from depkit.parsers.text.language import (
    MAX_CHARACTERS,
    Counts,
    Profile,
    count_scripts,
    find_script,
)

NUM_TRIGRAMS = 1000
WINDOW = 200  # characters of the texts from which a profile learns how low scores become
LOW_SHARE = 0.01  # of these texts that have a score below `low`
# The share of the letters from which on a letter belongs to the alphabet of a language; rarer ones
# are those of foreign names. If more letters than ALPHABET_SIZE have this share, all letters of the
# script belong to the alphabet.
ALPHABET_SHARE, ALPHABET_SIZE = 1 / 20_000, 100


def make_profile(name: str, texts: Iterable[str]) -> Profile:
    """Learn the profile of a language from texts; nine of ten are counted, the others scored."""
    trigrams: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    held_out: list[str] = []
    for number, text in enumerate(texts):
        if number % 10 == 9:
            held_out.append(text)
            continue
        for start in range(0, len(text), MAX_CHARACTERS):
            counts = Counts.of(text[start : start + MAX_CHARACTERS])
            trigrams.update(counts.trigrams)
            letters.update(counts.letters)
    total = trigrams.total()
    frequent = trigrams.most_common(NUM_TRIGRAMS)
    rest = max(1, total - sum(count for _, count in frequent))
    profile = Profile(
        name,
        script="",
        letters={},
        trigrams={trigram: math.log(count / total) for trigram, count in frequent},
        # The others share what is left; there are assumed to be ten times as many.
        other=math.log(rest / total / (10 * NUM_TRIGRAMS)),
        low=0.0,
    )
    whole = " ".join(held_out)
    windows = (whole[start : start + WINDOW] for start in range(0, len(whole), WINDOW))
    scores = sorted(profile.score(window) for window in windows)
    low = scores[int(len(scores) * LOW_SHARE)] if scores else profile.other
    script, alphabet = _find_alphabet(letters)
    return replace(profile, script=script, letters=alphabet, low=low)


def _find_alphabet(letters: Counter[str]) -> tuple[str, dict[str, float]]:
    """Return the most frequent script of texts, and the shares of those letters that are not rare.

    There are no letters if the script has so many that the texts may lack some.
    """
    ((script, total),) = count_scripts(letters).most_common(1)
    shares = {
        letter: count / total
        for letter, count in sorted(letters.items())
        if find_script(letter) == script and count >= ALPHABET_SHARE * total
    }
    return script, shares if len(shares) <= ALPHABET_SIZE else {}


def to_json(profile: Profile) -> str:
    """Return the text of the file of a profile."""
    letters = {letter: round(share, 6) for letter, share in profile.letters.items()}
    facts = {"name": profile.name, "script": profile.script, "letters": letters}
    trigrams = {trigram: round(value, 2) for trigram, value in profile.trigrams.items()}
    numbers = {"other": round(profile.other, 2), "low": round(profile.low, 2)}
    return json.dumps(facts | numbers | {"trigrams": trigrams}, indent=0) + "\n"
