"""Detection of UTF-16 and UTF-32, which look like damaged text in other encodings."""

import codecs

from depkit.files.errors import FormatError

NAME_ENCODING = "name the file's encoding, for example latin-1, with `encoding`"  # advice
BOM = "\ufeff"  # the byte order mark, which some programs write before the first character

_BYTE_ORDER_MARKS = (  # UTF-32 comes first because one of its marks begins with one of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encoding, by which of four successive bytes are mostly zero in Latin text.
_ENCODING_BY_ZEROS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
_MIN_BYTES, _MAX_BYTES = 8, 1 << 10  # limits of the number of bytes that are examined


def check_encoding(opening: bytes, encoding: str, file: str) -> None:
    """Raise FormatError if a file is in UTF-16 or UTF-32, but another encoding was given.

    Args:
        opening: The first bytes of the file.
        encoding: The name of the given encoding. Unknown names pass this check.
        file: The name of the file, for the error.
    """
    detected = detect_wide_encoding(opening)
    try:
        codecs.lookup(encoding)
    except LookupError:
        return  # The decoder that is used later rejects unknown encodings.
    if detected and not codecs.lookup(encoding).name.startswith(detected[:6]):
        name = detected[:6].upper()
        message = f"the text is in {name}, not in {encoding}; set `encoding` to {detected}"
        raise FormatError(file, 0, "", message)


def detect_wide_encoding(opening: bytes) -> str:
    """Detect UTF-16 or UTF-32 from the first bytes of a text; "" for any other encoding.

    Without a byte order mark, the encoding is detected by the zero bytes of Latin letters; text in
    most other scripts is not detected. Bytes that are not text in this encoding, such as those of
    many programs, are not detected either.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if opening.startswith(mark):
            return name
    size = min(len(opening), _MAX_BYTES) // 4 * 4
    if size < _MIN_BYTES:
        return ""
    mostly_zero = tuple(opening[i:size:4].count(0) > size / 8 for i in range(4))
    encoding = _ENCODING_BY_ZEROS.get(mostly_zero, "")
    return encoding if encoding and _is_text(opening[:size], encoding) else ""


def _is_text(opening: bytes, encoding: str) -> bool:
    """Return whether bytes are the beginning of a text in an encoding, without null characters."""
    try:
        return "\0" not in codecs.getincrementaldecoder(encoding)().decode(opening)
    except UnicodeDecodeError:
        return False
