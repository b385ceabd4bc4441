"""Penn Treebank tokens as they stand in running text: which of them no space sets apart."""

from collections.abc import Sequence

BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip

# By form and by tag. Quotation marks are told by their tags: ' is one, but also a possessive.
_JOINED_LEFT = {",", ".", ";", ":", "?", "!", "...", "%", ")", "]", "}"}
_JOINED_LEFT |= {"n't", "'s", "'re", "'ve", "'m", "'ll", "'d", "''"}
_JOINED_LEFT_TAGS = {"''", "POS", "HYPH"}
_JOINED_RIGHT = {"(", "[", "{", "``"}
_JOINED_RIGHT_TAGS = {"``", "$", "#", "HYPH"}
# One word of the text that the treebank's tokenizer cuts in two.
_CUT = {
    ("can", "not"), ("d'", "ye"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"),
    ("more", "'n"), ("'t", "is"), ("'t", "was"), ("wan", "na"),
}  # fmt: skip


def spaces_after(forms: Sequence[str], tags: Sequence[str]) -> list[bool]:
    """Whether a space follows each word in running text; the last one counts as followed.

    forms: with brackets as such, see `BRACKETS`; tags: those of the Penn Treebank. The original
    spaces are lost, so this is the usual way of writing: `--` and `&` stand apart.
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
