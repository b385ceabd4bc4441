"""Detection of UTF-16 and UTF-32, which would otherwise look like damaged text."""

import codecs

from depkit.corpus.errors import FormatError

_MARKS = (  # UTF-32 comes first because its little-endian mark begins with that of UTF-16.
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
_MIN_BYTES, _MAX_BYTES = 8, 1 << 10  # how many bytes are examined


def check_encoding(opening: bytes, encoding: str, file: str) -> None:
    """Raise FormatError if a file is in UTF-16 or UTF-32, but another encoding was given.

    Args:
        opening: The first bytes of the file.
        encoding: The name of the encoding that was given. Unknown names pass this check.
        file: The name of the file, for the error.

    Raises:
        FormatError: The file is in an encoding other than the given one.
    """
    detected = wide_encoding(opening)
    try:
        codecs.lookup(encoding)
    except LookupError:
        return  # The decoder that is used later rejects unknown encodings.
    if detected and not codecs.lookup(encoding).name.startswith(detected[:6]):
        name = detected[:6].upper()
        message = f"the text is in {name}, not in {encoding}; add --encoding {detected}"
        raise FormatError(file, 0, "", message)


def wide_encoding(opening: bytes) -> str:
    """The encoding of a text in UTF-16 or UTF-32, from its first bytes; "" for any other text.

    Without a byte order mark, the encoding is detected by the zero bytes of Latin letters; text in
    most other scripts is not detected.
    """
    for mark, name in _MARKS:
        if opening.startswith(mark):
            return name
    size = min(len(opening), _MAX_BYTES) // 4 * 4
    if size < _MIN_BYTES:
        return ""
    zero = [opening[i:size:4].count(0) > size / 8 for i in range(4)]  # in more than half of them
    return _ZEROS.get(tuple(zero), "")
