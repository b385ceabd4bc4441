"""Words and labels of the Penn Treebank: quotation marks `` and '', -LRB- and -RRB-, features."""

import re
from collections.abc import Sequence

BRACKETS = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip
_UNESCAPED = {escape.strip("-"): bracket for bracket, escape in BRACKETS.items()}
_ESCAPED_BRACKET = re.compile(r"([-=])([LR][RSC]B)\1")
QUOTES = {"“": "``", "”": "''", "‘": "`", "’": "'"}
QUOTATION_MARKS = {"``": '"', "''": '"', "`": "'"}  # those of running text, by those of trees
_OPENING_AND_CLOSING = {'"': ("``", "''"), "'": ("`", "'")}
# Features after a label, as in the treebanks of SPMRL: NP##f=s##. They may contain any character.
FEATURES = r"##(?:(?!##)[^\n])*+##"
_BEFORE_FEATURES = re.compile(rf"(\(\s*+[^\s()#]++(?:#[^\s()#]++)*+){FEATURES}", re.ASCII)


def remove_features(text: str) -> str:
    """Return bracketed trees without the features of labels, which may contain brackets."""
    return _BEFORE_FEATURES.sub(r"\1", text) if "##" in text else text


def penn_quotes(forms: Sequence[str], space_after: Sequence[bool]) -> list[str]:
    """Replace quotation marks that are words by those of the Penn Treebank.

    A straight double mark opens a quotation if there is a space only before it, and closes one if
    there is a space only after it. Otherwise it closes the quotation that is open, or opens one. A
    straight single mark opens a quotation only if there is a space only before it, because it can
    also be an apostrophe.

    Args:
        forms: The words of a sentence.
        space_after: Whether there is a space after each word.

    Returns:
        The words.
    """
    words = [QUOTES.get(form, form) for form in forms]
    is_open = False
    for i, form in enumerate(forms):
        if form in _OPENING_AND_CLOSING:
            before, after = i == 0 or space_after[i - 1], i + 1 == len(forms) or space_after[i]
            opens = before and not after
            if form == '"' and before == after:
                opens = not is_open
            words[i] = _OPENING_AND_CLOSING[form][not opens]
        if words[i] in ("``", "''"):
            is_open = words[i] == "``"
    return words


def unescape_brackets(word: str) -> str:
    """Return a word of a tree with its brackets as in running text.

    `-LRB-` and, as in some treebanks, `=LRB=` stand for `(`, also inside words: `t-LRB-est-RRB-` is
    `t(est)`.
    """
    if "B-" not in word and "B=" not in word:
        return word
    return _ESCAPED_BRACKET.sub(lambda match: _UNESCAPED[match[2]], word)
