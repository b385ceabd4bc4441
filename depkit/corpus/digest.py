"""Digests, which tell data apart: in names of cache files, and in what a run goes on from."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depkit.corpus.files import PathLike
    from depkit.corpus.sentence import Sentence


def digest(*parts: str | bytes | memoryview) -> str:
    """16 hexadecimal digits that tell some texts and bytes, their order and where each ends.

    For what is too large to be held at once, take the digest of digests.
    """
    whole = hashlib.sha256()
    for part in parts:
        data = memoryview(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
        whole.update(data.nbytes.to_bytes(8, "little"))
        whole.update(data)
    return whole.hexdigest()[:16]


def digest_of_files(paths: Iterable["PathLike"]) -> str:
    """As `digest`, of the contents of files, whatever their names. Raises OSError."""
    return digest(*map(_digest_of_file, paths))


def _digest_of_file(path: "PathLike") -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def digest_of_forms(sentences: Iterable["Sentence"]) -> str:
    """16 hexadecimal digits that tell the words of a corpus, and where sentences end."""
    whole = hashlib.sha256()
    for sentence in sentences:  # forms hold no line ends, and the number tells where they stop
        lines = "\n".join([str(len(sentence)), *sentence.form, ""])
        whole.update(lines.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:16]
