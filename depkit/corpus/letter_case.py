"""Lower and upper case of text, also for the alphabets with a dotless i.

In Turkish, Azerbaijani and some other languages, the capital letter of `ı` is `I`, and that of `i`
is `İ`. Python's `str.lower` and `str.upper` do not know this.
"""

from collections.abc import Iterable


def lower(text: str, dotless: bool = False) -> str:
    """Return a text in lower case; it has as many characters as the text.

    dotless: whether the text is written in an alphabet with a dotless i.
    """
    if dotless:
        text = text.replace("I", "ı")
    return text.replace("İ", "i").lower()  # İ is the only character that `str.lower` makes longer.


def upper(text: str, dotless: bool = False) -> str:
    """Return a text in upper case; dotless: see `lower`."""
    return (text.replace("i", "İ") if dotless else text).upper()


def has_dotless_i(texts: Iterable[str]) -> bool:
    """Return whether texts are written in an alphabet with a dotless i.

    In Turkish, about 5% of the characters are `ı`. Other languages have it only in a few names.
    """
    num_dotless = num_characters = 0
    for text in texts:
        num_dotless += text.count("ı")
        num_characters += len(text)
    return 100 * num_dotless > num_characters
