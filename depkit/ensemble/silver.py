"""Text as a teacher parses it, in shards: each a silver treebank and the packed rows of its words.

A shard appears whole, its rows last; a run that was killed goes on behind those that are there, and
what was damaged since is made anew.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from depkit.corpus.digest import digest, digest_of_files
from depkit.corpus.errors import DataError
from depkit.corpus.files import atomic, read, write
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.text import Numbers
from depkit.ensemble.teacher import Teach, as_parsed
from depkit.parsers.base import Parser
from depkit.training.progress import Progress

SHARD_WORDS = 30_000
SHORTEST, LONGEST = 2, 150  # words of a sentence; others teach little, or cost much
SAID = 10  # shards from one line of progress to the next
SEEN = 1 << 21  # places to remember sentences at: 16 MB
MANIFEST = "text.json"
TOO_SHORT, TOO_LONG, AGAIN = "too short", "too long", "there already"


@dataclass(frozen=True)
class Shard:
    """Sentences with their rows: `path`.safetensors, and path.conllu for a text's."""

    path: Path

    def sizes(self) -> np.ndarray:
        """The sentences' numbers of words, [sentences] int64."""
        return self._tensor("sizes").astype(np.int64)

    def rows(self) -> np.ndarray:
        """[words, width] uint16; see `soft_targets.pack`."""
        return self._tensor("rows")

    def sentences(self) -> Iterator[Sentence]:
        """The sentences as the teacher parses them."""
        return read(self.path.with_suffix(".conllu"))

    def _tensor(self, name: str) -> np.ndarray:
        with safe_open(self.path.with_suffix(".safetensors"), framework="np") as file:
            found: np.ndarray = file.get_tensor(name)
            return found


@dataclass(frozen=True)
class Silver:
    """All shards of a text. key: a digest of what they depend on; left_out: numbers of sentences
    by the reason."""

    key: str
    shards: list[Shard]
    sentences: int
    words: int
    left_out: dict[str, int]


def write_rows(shard: Shard, sizes: Sequence[int], rows: np.ndarray, key: str) -> None:
    """A shard's rows, atomically, when its sentences are written; key: see `is_there`."""
    tensors = {"sizes": np.array(sizes, dtype=np.int32), "rows": rows}
    path = shard.path.with_suffix(".safetensors")
    with atomic(path) as beside, _named(path):
        beside.write_bytes(save(tensors, {"key": f"{key} {_digest_of_sentences(shard)}"}))


def is_there(shard: Shard, key: str) -> bool:
    """Whether a shard is there, whole and as it was written. Raises DataError for another key.

    key: a digest of all that the rows depend on.
    """
    path = shard.path.with_suffix(".safetensors")
    if not path.exists():
        return False
    try:
        with safe_open(path, framework="np") as file:
            found, _, sentences = (file.metadata() or {}).get("key", "").partition(" ")
    except SafetensorError:
        return False
    if found != key:
        raise _other(path)
    return bool(sentences == _digest_of_sentences(shard))


def annotate(
    teacher: Parser,
    teach: Teach,
    files: Sequence[str],
    directory: Path,
    key: str,
    input: str | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Silver:
    """The shards of some files of text, in a directory; those that are there already stay.

    key: a digest of all that they depend on but the files. In memory there is a shard at a time,
    whatever the text's size. Raises DataError for a text without a sentence, for shards of
    another; else as `Parser.read`.
    """
    progress = progress or Progress(directory, quiet=True)
    directory.mkdir(parents=True, exist_ok=True)
    key = digest(key, str(input), encoding, digest_of_files(files))
    manifest = directory / MANIFEST
    if manifest.exists():
        found = _read_manifest(manifest)
        if found and found.key != key:
            raise _other(manifest)
        if found and all(is_there(shard, key) for shard in found.shards):
            return found

    left_out: Counter[str] = Counter()
    numbers = Numbers()
    sentences = chain.from_iterable(teacher.read(f, input, encoding, numbers) for f in files)
    shards: list[Shard] = []
    count = words = new = 0
    began = time.monotonic()
    for part in windows(_chosen(sentences, left_out), SHARD_WORDS):
        shard = _shard(directory, len(shards))
        size = sum(map(len, part))
        if not is_there(shard, key):
            rows = teach(part, False)
            ends = np.cumsum([len(sentence) for sentence in part])[:-1]
            parsed = map(as_parsed, part, np.split(rows, ends), [teacher] * len(part))
            write(parsed, shard.path.with_suffix(".conllu"))
            write_rows(shard, [len(sentence) for sentence in part], rows, key)
            new += size
            speed = new / (time.monotonic() - began)
            if len(shards) % SAID == SAID - 1:
                progress.say(f"teacher: {words + size:,} words of text, {speed:,.0f} words/s")
        shards.append(shard)
        count, words = count + len(part), words + size
    if not shards:
        raise DataError(f"{' '.join(files)}: no sentence of {SHORTEST} to {LONGEST} words")
    told = {"sentences": count, "words": words, "left_out": dict(left_out)}
    with atomic(manifest) as beside, _named(manifest):
        beside.write_text(json.dumps({"key": key, "shards": len(shards), **told}), "utf-8")
    return Silver(key, shards, count, words, dict(left_out))


def _read_manifest(path: Path) -> Silver | None:
    """What `annotate` wrote; None if it is damaged."""
    try:
        told = json.loads(path.read_text("utf-8"))
        shards = [_shard(path.parent, number) for number in range(told["shards"])]
        return Silver(told["key"], shards, told["sentences"], told["words"], told["left_out"])
    except (ValueError, LookupError, TypeError):
        return None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """A full disk is told with the file that it has no room for."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _shard(directory: Path, number: int) -> Shard:
    return Shard(directory / f"shard-{number + 1:04}")


def _chosen(sentences: Iterable[Sentence], left_out: Counter[str]) -> Iterator[Sentence]:
    """The sentences to learn from, as CoNLL-U; the others are counted.

    One that comes again is told by a hash at a place of its own in a table; where two sentences
    have the same place, the later one is remembered, so that the table need not grow.
    """
    seen = np.zeros(SEEN, dtype=np.uint64)
    for sentence in sentences:
        if not SHORTEST <= len(sentence) <= LONGEST:
            left_out[TOO_SHORT if len(sentence) < SHORTEST else TOO_LONG] += 1
            continue
        forms = "\n".join(sentence.form).encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(forms, digest_size=8).digest())
        place = number % SEEN
        if int(seen[place]) == number:
            left_out[AGAIN] += 1
            continue
        seen[place] = number
        yield sentence if sentence.format == CONLLU else new_sentence(sentence.form)


def windows(sentences: Iterable[Sentence], words: int) -> Iterator[list[Sentence]]:
    """Sentences in lists of at least so many words, but the last."""
    window: list[Sentence] = []
    size = 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence)
        if size >= words:
            yield window
            window, size = [], 0
    if window:
        yield window


def _digest_of_sentences(shard: Shard) -> str:
    """Of a text's shard; a treebank's has its sentences elsewhere."""
    path = shard.path.with_suffix(".conllu")
    return digest_of_files([path]) if path.exists() else ""


def _other(path: Path) -> DataError:
    return DataError(
        f"{path} was made with another teacher, text or settings; resume with the same ones, or"
        " distill into another directory"
    )
