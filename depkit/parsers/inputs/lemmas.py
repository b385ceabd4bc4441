"""Lemmas as edit scripts: what to do to a form, so that unseen forms get lemmas too.

After Chrupala (2006) and UDPipe (Straka 2018): cut and add at both ends of the longest part
that form and lemma share, then set the case.
"""

import json
from functools import lru_cache

LOWER, KEEP, TITLE, UPPER, WHOLE = "lower", "keep", "title", "upper", "whole"
CASES = (LOWER, KEEP, TITLE, UPPER)

# What a script has besides the case: how many characters to cut in front, what to add there, how
# many to cut behind, what to add there; only the lemma where the case is WHOLE
Edit = tuple[int, str, int, str] | tuple[str]


@lru_cache(maxsize=100_000)
def edit_script(form: str, lemma: str) -> str:
    """The script that turns a form into its lemma, as a line of JSON.

    [case, cut in front, add in front, cut behind, add behind], or ["whole", lemma] where the
    two share nothing.
    """
    low_form, low_lemma = form.lower(), lemma.lower()
    start, lemma_start, size = _shared(low_form, low_lemma)
    if len(low_form) != len(form) or len(low_lemma) != len(lemma) or not size:
        return _write(WHOLE, (lemma,))
    edit = (start, lemma[:lemma_start], len(form) - start - size, lemma[lemma_start + size :])
    case = case_of(form, edit, lemma)
    return _write(WHOLE, (lemma,)) if case == WHOLE else _write(case, edit)


def _write(case: str, edit: Edit) -> str:
    return json.dumps([case, *edit], ensure_ascii=False)


@lru_cache(maxsize=100_000)
def parse_script(script: str) -> tuple[str, Edit]:
    """The case and the edit of a script."""
    case, *edit = json.loads(script)
    return case, tuple(edit)


def check_script(script: object) -> None:
    """Raises ValueError for what is no edit script."""
    try:
        case, edit = parse_script(script)
    except (ValueError, TypeError):
        raise ValueError(f"{script!r} is no edit script") from None
    kinds = [str] if case == WHOLE else [int, str, int, str] if case in CASES else None
    if list(map(type, edit)) != kinds or any(type(n) is int and n < 0 for n in edit):
        raise ValueError(f"{script!r} is no edit script")


def case_of(form: str, edit: Edit, lemma: str) -> str:
    """The first case with which an edit turns a form into its lemma; WHOLE if there is none."""
    return next((case for case in CASES if apply_edit(form, case, edit) == lemma), WHOLE)


def apply_script(form: str, script: str) -> str:
    """The lemma that a script makes of a form; the form itself where it does not apply."""
    lemma = apply_edit(form, *parse_script(script))
    return form if lemma is None else lemma


def apply_edit(form: str, case: str, edit: Edit) -> str | None:
    """The lemma that an edit and a case make of a form; None where the form is too short."""
    if len(edit) == 1:
        return edit[0]
    cut_front, front, cut_behind, behind = edit
    if cut_front + cut_behind >= len(form):
        return None
    lemma = f"{front}{form[cut_front : len(form) - cut_behind]}{behind}"
    if case == LOWER:
        return lemma.lower()
    if case == TITLE:
        return lemma[0].upper() + lemma[1:].lower()
    return lemma.upper() if case == UPPER else lemma


def _shared(form: str, lemma: str) -> tuple[int, int, int]:
    """The longest common substring, the first of them: its start in each, and its length."""
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
