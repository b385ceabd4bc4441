"""The bytes of a file in a .zip archive, unpacked in bounded memory.

`zipfile` unpacks whatever the bytes that it has read of a bzip2 or LZMA member contain, which can
be gigabytes; these members are unpacked here. The formats: PKWARE's APPNOTE.TXT, sections 4.4.5 and
5.8.
"""

import bz2
import copy
import io
import lzma
import os
import zipfile
import zlib
from typing import Any, BinaryIO, cast

from depkit.files.byte_source import ByteSource
from depkit.files.errors import FormatError
from depkit.files.limits import LZMA_MEMORY

_BUFFER = 1 << 16  # bytes


def split_member(file: str) -> tuple[str, str]:
    """Split `archive.zip:member`, where the member is optional; ("", "") for any other file."""
    end = file.lower().find(".zip:") + 4
    if end > 3 and not os.path.exists(file):
        return file[:end], file[end + 1 :]
    return (file, "") if file.lower().endswith(".zip") else ("", "")


def open_member(archive: zipfile.ZipFile, file: str, member: str) -> BinaryIO:
    """Open a member of an archive; "" means the only one. Raises FormatError if it is missing.

    Reading raises the errors of `zipfile` and of the compression.
    """
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if member in names or (len(names) == 1 and not member):
        try:
            return _open(archive, archive.getinfo(member or names[0]))
        except RuntimeError as error:  # A password or an unknown compression
            message = f"the archive cannot be unpacked: {error}"
            raise FormatError(file, 0, "", message) from None
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    if member or not names:
        message = f"there is no such file in the archive, which contains {listed or 'no files'}"
        raise FormatError(file, 0, "", message)
    message = f"the archive contains {len(names)} files; name one, for example {file}:{names[0]}"
    raise FormatError(file, 0, "", f"{message} ({listed})")


def _open(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    if info.compress_type not in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        return cast(BinaryIO, archive.open(info))
    # Stored, the member gives its packed bytes.
    packed: Any = copy.copy(info)
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
    packed.CRC = None
    stream = archive.open(packed)
    unpack: Any = bz2.BZ2Decompressor()
    if info.compress_type == zipfile.ZIP_LZMA:
        unpack = _lzma_decompressor(stream, info.file_size)
    return cast(BinaryIO, io.BufferedReader(_Member(stream, unpack, info.CRC), _BUFFER))


def _lzma_decompressor(stream: Any, size: int) -> lzma.LZMADecompressor:
    """Return a decompressor that has read the header; size: that of the unpacked bytes."""
    header = stream.read(9)
    if header[2:4] != b"\5\0":
        raise zipfile.BadZipFile("its LZMA header is damaged")
    unpack = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=LZMA_MEMORY)
    # The header of an .lzma file has the same properties, and the size.
    unpack.decompress(header[4:] + size.to_bytes(8, "little"))
    return unpack


class _Member(ByteSource):
    """The unpacked bytes of a member."""

    def __init__(self, packed: Any, unpack: Any, crc: int) -> None:
        self.packed, self.unpack = packed, unpack
        self.expected, self.crc = crc, 0

    def read_chunk(self, size: int) -> bytes:
        data = b""
        while not data and not self.unpack.eof:
            chunk = self.packed.read(_BUFFER) if self.unpack.needs_input else b""
            if not chunk and self.unpack.needs_input:
                raise EOFError("its end is missing")
            data = self.unpack.decompress(chunk, size)
        self.crc = zlib.crc32(data, self.crc)
        if not data and self.crc != self.expected:
            raise zipfile.BadZipFile("the checksum is wrong")
        return data
