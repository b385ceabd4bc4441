"""Lemmas as edit scripts: what to do to a form, so that unseen forms get lemmas too.

After Chrupala (2006) and UDPipe (Straka 2018): cut and add at both ends of the longest part
that form and lemma share, then set the case.
"""

import json
from functools import lru_cache

LOWER, KEEP, TITLE, UPPER, WHOLE = "lower", "keep", "title", "upper", "whole"


@lru_cache(maxsize=100_000)
def edit_script(form: str, lemma: str) -> str:
    """The script that turns a form into its lemma, as a line of JSON.

    [case, cut in front, add in front, cut behind, add behind], or ["whole", lemma] where the
    two share nothing.
    """
    low_form, low_lemma = form.lower(), lemma.lower()
    start, lemma_start, size = _shared(low_form, low_lemma)
    if len(low_form) != len(form) or len(low_lemma) != len(lemma) or not size:
        return json.dumps([WHOLE, lemma], ensure_ascii=False)
    edit = [
        start, lemma[:lemma_start],
        len(form) - start - size, lemma[lemma_start + size :],
    ]  # fmt: skip
    for case in (LOWER, KEEP, TITLE, UPPER):
        script = json.dumps([case, *edit], ensure_ascii=False)
        if apply_script(form, script) == lemma:
            return script
    return json.dumps([WHOLE, lemma], ensure_ascii=False)


@lru_cache(maxsize=100_000)
def apply_script(form: str, script: str) -> str:
    """The lemma that a script makes of a form; the form itself where it does not apply."""
    case, *edit = json.loads(script)
    if case == WHOLE:
        return str(edit[0])
    cut_front, front, cut_behind, behind = edit
    if cut_front + cut_behind >= len(form):
        return form
    kept = form[cut_front : len(form) - cut_behind]
    lemma = f"{front}{kept}{behind}"
    if case == LOWER:
        return lemma.lower()
    if case == TITLE:
        return lemma[0].upper() + lemma[1:].lower()
    return lemma.upper() if case == UPPER else lemma


def _shared(form: str, lemma: str) -> tuple[int, int, int]:
    """The longest common substring, the first of them: its place in each, and its length."""
    best = (0, 0, 0)
    ends = [0] * (len(lemma) + 1)  # how long a common part ends at form[i - 1], lemma[j - 1]
    for i, character in enumerate(form, start=1):
        before = ends
        ends = [0] * (len(lemma) + 1)
        for j, other in enumerate(lemma, start=1):
            if character == other:
                ends[j] = before[j - 1] + 1
                if ends[j] > best[2]:
                    best = (i - ends[j], j - ends[j], ends[j])
    return best
