"""Where spaces belong between Penn Treebank tokens in running text."""

from collections.abc import Sequence

BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip

# Tokens without a space before them (joined to the left) or after them (to the right), by form in
# lower case and by tag. The tag tells whether ' is a quotation mark or a possessive.
_JOINED_LEFT = {",", ".", ";", ":", "?", "!", "...", "%", ")", "]", "}"}
_JOINED_LEFT |= {"n't", "'s", "'re", "'ve", "'m", "'ll", "'d", "''"}
_JOINED_LEFT_TAGS = {"''", "POS", "HYPH"}
_JOINED_RIGHT = {"(", "[", "{", "``"}
_JOINED_RIGHT_TAGS = {"``", "$", "#", "HYPH"}
# The halves of words that the treebank's tokenizer splits in two.
_CUT = {
    ("can", "not"), ("d'", "ye"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"),
    ("more", "'n"), ("'t", "is"), ("'t", "was"), ("wan", "na"),
}  # fmt: skip


def spaces_after(forms: Sequence[str], tags: Sequence[str]) -> list[bool]:
    """Whether a space follows each word in running text; always true of the last word.

    forms: with "(" rather than "-LRB-" and so on, see `BRACKETS`; tags: those of the Penn Treebank.
    The treebank does not record the original spaces, so these are the usual ones; `--` and `&` have
    spaces on both sides.
    """
    lowered = [form.lower() for form in forms]
    spaced = [
        not (
            form in _JOINED_RIGHT
            or tag in _JOINED_RIGHT_TAGS
            or following in _JOINED_LEFT
            or following_tag in _JOINED_LEFT_TAGS
            or (form, following) in _CUT
        )
        for form, tag, following, following_tag in zip(
            lowered, tags, lowered[1:], tags[1:], strict=False
        )
    ]
    return [*spaced, True]
