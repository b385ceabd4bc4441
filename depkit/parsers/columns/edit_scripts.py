"""Lemmas as edit scripts, which can also be applied to unseen forms.

A script cuts and adds characters at both ends of a form, around the longest substring that form
and lemma share, then sets the case (after Chrupala 2006 and UDPipe, Straka 2018).
"""

import json
from functools import lru_cache

from depkit.corpus.letter_case import lower, upper

LOWER, KEEP, TITLE, UPPER, WHOLE = "lower", "keep", "title", "upper", "whole"
CASES = (LOWER, KEEP, TITLE, UPPER)

# A script without the case: number of characters to cut in front, string to add there, number of
# characters to cut behind, string to add there. If the case is WHOLE, there is only the lemma.
Edit = tuple[int, str, int, str] | tuple[str]


@lru_cache(maxsize=100_000)
def edit_script(form: str, lemma: str) -> str:
    """Find the script that turns a form into its lemma, as a line of JSON.

    The line is [case, cut in front, add in front, cut behind, add behind], or ["whole", lemma] if
    there is no such script, for example because form and lemma have no substring in common.
    """
    start, lemma_start, size = _longest_common_substring(lower(form), lower(lemma))
    if not size:
        return _to_json(WHOLE, (lemma,))
    edit = (start, lemma[:lemma_start], len(form) - start - size, lemma[lemma_start + size :])
    case = find_case(form, edit, lemma)
    return _to_json(WHOLE, (lemma,)) if case == WHOLE else _to_json(case, edit)


def _to_json(case: str, edit: Edit) -> str:
    return json.dumps([case, *edit], ensure_ascii=False)


@lru_cache(maxsize=100_000)
def parse_script(script: str) -> tuple[str, Edit]:
    """Parse a script into its case and its edit."""
    case, *edit = json.loads(script)
    return case, tuple(edit)


def check_script(script: object) -> None:
    """Raise ValueError if the argument is not an edit script."""
    try:
        case, edit = parse_script(script)
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{script!r} is not an edit script") from None
    kinds = [str] if case == WHOLE else [int, str, int, str] if case in CASES else None
    if list(map(type, edit)) != kinds or any(
        breaks_rows(part) if isinstance(part, str) else part < 0 for part in edit
    ):
        raise ValueError(f"{script!r} is not an edit script")


def breaks_rows(text: str) -> bool:
    """Return whether a text cannot be written into a column, because of a tab or a line end."""
    return "\t" in text or "\n" in text or "\r" in text


def find_case(form: str, edit: Edit, lemma: str, dotless: bool = False) -> str:
    """Find the first case with which an edit turns a form into its lemma, or WHOLE.

    dotless: whether the alphabet has a dotless i, see `letter_case`.
    """
    unchanged = apply_edit(form, KEEP, edit, dotless)
    if unchanged is None or len(edit) == 1:
        return CASES[0] if unchanged == lemma else WHOLE
    cases = (case for case in CASES if set_case(unchanged, case, dotless) == lemma)
    return next(cases, WHOLE)


def apply_script(form: str, script: str, dotless: bool = False) -> str:
    """Apply a script to a form: the lemma, or the form itself if it is too short for the script.

    dotless: whether the alphabet has a dotless i, see `letter_case`.
    """
    lemma = apply_edit(form, *parse_script(script), dotless)
    return form if lemma is None else lemma


def apply_edit(form: str, case: str, edit: Edit, dotless: bool = False) -> str | None:
    """Apply an edit to a form, then set the case.

    Args:
        form: The form.
        case: One of CASES, or WHOLE.
        edit: The edit.
        dotless: Whether the alphabet has a dotless i, see `letter_case`.

    Returns:
        The lemma, or None if the form is too short for the edit.
    """
    if len(edit) == 1:
        return edit[0]
    cut_front, add_front, cut_behind, add_behind = edit
    if cut_front + cut_behind >= len(form):
        return None
    lemma = f"{add_front}{form[cut_front : len(form) - cut_behind]}{add_behind}"
    return set_case(lemma, case, dotless)


def set_case(text: str, case: str, dotless: bool = False) -> str:
    """Set the case of a text that is not empty; case: one of CASES; dotless: see `apply_edit`."""
    if case == LOWER:
        return lower(text, dotless)
    if case == TITLE:
        return upper(text[0], dotless) + lower(text[1:], dotless)
    return upper(text, dotless) if case == UPPER else text


def _longest_common_substring(form: str, lemma: str) -> tuple[int, int, int]:
    """Find the first longest common substring: its start in form and lemma, and its length."""
    best = (0, 0, 0)
    # lengths[j] is the length of the common substring that ends at form[i - 1] and lemma[j - 1].
    lengths = [0] * (len(lemma) + 1)
    for i, form_character in enumerate(form, start=1):
        previous = lengths
        lengths = [0] * (len(lemma) + 1)
        for j, lemma_character in enumerate(lemma, start=1):
            if form_character == lemma_character:
                lengths[j] = previous[j - 1] + 1
                if lengths[j] > best[2]:
                    best = (i - lengths[j], j - lengths[j], lengths[j])
    return best
