"""Where spaces belong between Penn Treebank tokens in running text."""

from collections.abc import Sequence

# Tokens without a space before them (joined to the left) or after them (to the right), by form in
# lower case and by tag. The tag indicates whether ' is a quotation mark or a possessive.
_JOINED_LEFT = {",", ".", ";", ":", "?", "!", "...", "%", ")", "]", "}"}
_JOINED_LEFT |= {"n't", "'s", "'re", "'ve", "'m", "'ll", "'d", "''"}
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
