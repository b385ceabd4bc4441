"""Recognising UTF-16 and UTF-32, which are mistaken for damaged text in other encodings."""

import codecs

from depkit.corpus.errors import FormatError

_MARKS = (  # a mark of UTF-32 begins with one of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZEROS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
_LEAST, _MOST = 8, 1 << 10  # bytes that are looked at


def check_encoding(opening: bytes, encoding: str, file: str) -> None:
    """Raises FormatError for the first bytes of a text in UTF-16 or UTF-32 that is to be read in
    another encoding."""
    found = wide_encoding(opening)
    if found and not codecs.lookup(encoding).name.startswith(found[:6]):
        raise FormatError(
            file, 0, "", f"text in {found[:6].upper()}, not in {encoding}; add --encoding {found}"
        )


def wide_encoding(opening: bytes) -> str:
    """The encoding of a text in UTF-16 or UTF-32 by its first bytes; "" for any other.

    Without a byte order mark, it is told by the zeros of the upper bytes, as far as these are
    those of Latin text.
    """
    for mark, name in _MARKS:
        if opening.startswith(mark):
            return name
    size = min(len(opening), _MOST) // 4 * 4
    if size < _LEAST:
        return ""
    zero = [opening[i:size:4].count(0) > size / 8 for i in range(4)]  # mostly so, in four bytes
    return _ZEROS.get(tuple(zero), "")
