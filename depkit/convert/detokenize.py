"""Where spaces belong between Penn Treebank tokens in running text."""

from collections.abc import Sequence

# Tokens without a space before them (joined to the left) or after them (to the right), by form in
# lower case and by tag. The tag indicates whether ' is a quotation mark or a possessive.
_JOINED_LEFT = {"%", ")", "]", "}"}
_FINAL_MARKS = ",.;:?!…"  # A token of such marks, as in `wait!!!`, is joined to the left.
_CLITICS = {mark + end for mark in "'’" for end in ("s", "re", "ve", "m", "ll", "d")} | {
    "n't",
    "n’t",
}
_JOINED_LEFT |= _CLITICS | {"''"}
_JOINED_LEFT_TAGS = {"''", "POS", "HYPH"}
_JOINED_RIGHT = {"(", "[", "{", "``"}
_JOINED_RIGHT_TAGS = {"``", "$", "#", "HYPH"}
# The halves of words that the treebank's tokenizer splits in two.
_SPLIT_WORDS = {
    ("can", "not"), ("d'", "ye"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"),
    ("more", "'n"), ("'t", "is"), ("'t", "was"), ("wan", "na"),
}  # fmt: skip


def spaces_after(forms: Sequence[str], tags: Sequence[str]) -> list[bool]:
    """Return for every word whether a space follows it in running text; True for the last word.

    The forms contain "(" rather than "-LRB-" and so on; the tags are those of the
    Penn Treebank. The treebank does not record the original spaces, so the result follows the usual
    conventions; `--` and `&` have spaces on both sides.
    """
    lowered = [form.lower() for form in forms]
    has_space = [
        not (
            form in _JOINED_RIGHT
            or tag in _JOINED_RIGHT_TAGS
            or next_form in _JOINED_LEFT
            or not next_form.strip(_FINAL_MARKS)
            or next_tag in _JOINED_LEFT_TAGS
            or (form, next_form) in _SPLIT_WORDS
        )
        for form, tag, next_form, next_tag in zip(
            lowered, tags, lowered[1:], tags[1:], strict=False
        )
    ]
    return [*has_space, True]


def join_words(forms: Sequence[str], spaces: Sequence[bool]) -> str:
    """Return the text of a sentence; `spaces` says for every word whether a space follows it."""
    pairs = zip(forms, spaces, strict=True)
    return "".join([form + " " * space for form, space in pairs]).rstrip()


def multiword_ranges(
    forms: Sequence[str], tags: Sequence[str], spaces: Sequence[bool]
) -> list[tuple[int, int]]:
    """Return the first and last words (0-based) of words that are written as one.

    They are a word with its clitics (`do` and `n't`, `Ann` and `'s`), and `cannot`, `gonna` and so
    on.
    """
    ranges: list[tuple[int, int]] = []
    lowered = [form.lower() for form in forms]
    for i in range(1, len(forms)):
        is_clitic = lowered[i] in _CLITICS or tags[i] == "POS"
        is_after_word = forms[i - 1][-1:].isalnum() or tags[i - 1] == "POS"
        is_attached = (is_clitic and is_after_word) or (lowered[i - 1], lowered[i]) in _SPLIT_WORDS
        if is_attached and not spaces[i - 1]:
            first = ranges.pop()[0] if ranges and ranges[-1][1] == i - 1 else i - 1
            ranges.append((first, i))
    return ranges
