"""Recognising UTF-16 and UTF-32, which would otherwise look like damaged text."""

import codecs

from depkit.corpus.errors import FormatError

_MARKS = (  # UTF-32 is tried first, as its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Which of four successive bytes are mostly zero in Latin text
_ZEROS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
_LEAST, _MOST = 8, 1 << 10  # at least and at most so many bytes are looked at


def check_encoding(opening: bytes, encoding: str, file: str) -> None:
    """Raises FormatError if a file is in UTF-16 or UTF-32, but `encoding` is another.

    opening: the first bytes of the file.
    """
    found = wide_encoding(opening)
    try:
        codecs.lookup(encoding)
    except LookupError:
        return  # An unknown encoding is refused by what decodes the text.
    if found and not codecs.lookup(encoding).name.startswith(found[:6]):
        raise FormatError(
            file, 0, "", f"text in {found[:6].upper()}, not in {encoding}; add --encoding {found}"
        )


def wide_encoding(opening: bytes) -> str:
    """The encoding of a text in UTF-16 or UTF-32 by its first bytes; "" for any other.

    Without a byte order mark it is recognised by the zero bytes of Latin letters, so that text in
    most other scripts is not recognised.
    """
    for mark, name in _MARKS:
        if opening.startswith(mark):
            return name
    size = min(len(opening), _MOST) // 4 * 4
    if size < _LEAST:
        return ""
    zero = [opening[i:size:4].count(0) > size / 8 for i in range(4)]  # more than half
    return _ZEROS.get(tuple(zero), "")
