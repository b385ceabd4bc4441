"""Recognition of compressed files that depkit cannot decompress, and of names it cannot write."""

import re
from typing import BinaryIO

from depkit.files.errors import ConfigError, FormatError

# The first bytes of compressed files. gzip and xz are among them, because a file is decompressed
# only if its name ends in .gz or .xz.
_FIRST_BYTES = {
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
    "ZIP": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    "LZ4": re.compile(rb"\x04\x22\x4d\x18"),
    "7-Zip": re.compile(rb"7z\xbc\xaf\x27\x1c"),
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
}
_MAX_FIRST_BYTES = 10
_SUFFIX = re.compile(r"\.(bz2|zst|zstd|zip|lz4|lzma|7z|rar)$", re.I)


def check_first_bytes(binary: BinaryIO, file: str) -> None:
    """Raise FormatError if the next bytes of a stream begin a compressed file.

    The bytes are not consumed. Streams without `peek` are not checked. file: the name of the
    stream, for the error.
    """
    peek = getattr(binary, "peek", None)
    opening: bytes = peek(_MAX_FIRST_BYTES) if peek else b""
    for name, first_bytes in _FIRST_BYTES.items():
        if first_bytes.match(opening):
            advice = "which depkit does not decompress here; decompress it first"
            if suffix := {"gzip": ".gz", "xz": ".xz"}.get(name):
                advice = f"but its name does not end in {suffix}; decompress or rename it"
            raise FormatError(file, 0, "", f"the file is compressed with {name}, {advice}")


def check_output_suffix(file: str) -> None:
    """Raise ConfigError if the name of a file to write asks for another compression."""
    if match := _SUFFIX.search(file):
        message = f"{file} cannot be written: depkit compresses only files that end in .gz or .xz"
        raise ConfigError(f"{message}, not in {match[0]}")
