"""Digests of data, to name cache files and to check that a resumed run has the same data.

Every digest is a string of 16 hexadecimal digits, the beginning of a SHA-256; that of an inline
style or script is written as a Content-Security-Policy needs it.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence

from depkit.files.storage import PathLike


def digest(*parts: str | bytes | memoryview) -> str:
    """Digest texts and bytes, including their order and their boundaries.

    For data that do not fit into memory, compute the digest of digests.
    """
    sha = hashlib.sha256()
    for part in parts:
        data = memoryview(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
        sha.update(data.nbytes.to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:16]


def digest_files(paths: Iterable[PathLike]) -> str:
    """Digest the contents of files, but not their names. Raises OSError."""
    return digest(*map(_digest_file, paths))


def _digest_file(path: PathLike) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def digest_forms(sentences: Iterable[Sequence[str]]) -> str:
    """Digest the forms of the sentences of a corpus, including the sentence boundaries."""
    sha = hashlib.sha256()
    for forms in sentences:  # Forms contain no newlines, so the text below is unambiguous.
        lines = "\n".join([str(len(forms)), *forms, ""])
        sha.update(lines.encode("utf-8", "surrogatepass"))
    return sha.hexdigest()[:16]


def digest_inline(text: str) -> str:
    """Digest the text of a style or script of a page, for its Content-Security-Policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
