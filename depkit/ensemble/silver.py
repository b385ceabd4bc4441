"""Raw text parsed by a teacher, stored in shards.

A shard is a silver treebank in CoNLL-U and the packed rows of its words. Both files are written
atomically, the rows last. An interrupted run resumes after the last complete shard, and damaged
shards are computed again.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from depkit.corpus.formats import CONLLU
from depkit.corpus.io import read, write
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.text import ParagraphCounter
from depkit.ensemble.teacher import RowFunction, apply_rows
from depkit.files.atomic import atomic
from depkit.files.digest import digest, digest_files
from depkit.files.errors import DataError
from depkit.parsers.base import Parser
from depkit.training.progress import Progress

SHARD_WORDS = 30_000
# Sentences of fewer words teach little; sentences of more words take too much time and memory.
MIN_WORDS, MAX_WORDS = 2, 150
SHARDS_PER_MESSAGE = 10
HASH_TABLE_SIZE = 1 << 21  # hashes of sentences, 16 MB
MANIFEST = "text.json"
TOO_SHORT, TOO_LONG, DUPLICATE = "too short", "too long", "duplicate"  # why a sentence is omitted


@dataclass(frozen=True)
class Shard:
    """Sentences with their rows.

    The rows are in `path`.safetensors. The sentences of a text are in `path`.conllu; those of a
    treebank are not stored again.
    """

    path: Path
    treebank: str = ""  # of the text, see `annotate_text`

    def lengths(self) -> np.ndarray:
        """Return the number of words of each sentence, [sentences] int64."""
        return self._read_tensor("sizes").astype(np.int64)

    def rows(self) -> np.ndarray:
        """Return the rows of all words, [words, width] uint16; see `teacher.pack`."""
        return self._read_tensor("rows")

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences with the teacher's trees and tags."""
        return _assign(self.treebank, read(self.path.with_suffix(".conllu")))

    def _read_tensor(self, name: str) -> np.ndarray:
        with safe_open(self.path.with_suffix(".safetensors"), framework="np") as file:
            tensor: np.ndarray = file.get_tensor(name)
            return tensor


@dataclass(frozen=True)
class Silver:
    """All shards of a text."""

    key: str  # digest of all that the shards depend on
    shards: list[Shard]
    num_sentences: int
    num_words: int
    omitted: dict[str, int]  # number of omitted sentences by reason


def write_rows(shard: Shard, lengths: Sequence[int], rows: np.ndarray, key: str) -> None:
    """Write a shard's rows atomically, after its sentences have been written.

    lengths: number of words of each sentence; rows: those of all words, [words, width] uint16; key:
    digest of all that the rows depend on.
    """
    tensors = {"sizes": np.array(lengths, dtype=np.int32), "rows": rows}
    path = shard.path.with_suffix(".safetensors")
    with atomic(path) as temporary:
        temporary.write_bytes(save(tensors, {"key": f"{key} {_digest_conllu(shard)}"}))


def is_complete(shard: Shard, key: str) -> bool:
    """Return whether a shard exists and is undamaged.

    Raises DataError if it was written with another key. The key is a digest of all that the rows
    depend on.
    """
    path = shard.path.with_suffix(".safetensors")
    if not path.exists():
        return False
    try:
        with safe_open(path, framework="np") as file:
            stored_key, _, conllu = (file.metadata() or {}).get("key", "").partition(" ")
    except SafetensorError:
        return False
    if stored_key != key:
        raise _mismatch_error(path)
    return bool(conllu == _digest_conllu(shard))


def annotate_text(
    teacher: Parser,
    compute_rows: RowFunction,
    files: Sequence[str],
    directory: Path,
    *,
    key: str,
    treebank: str = "",
    input: str | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Silver:
    """Parse text with a teacher and write it in shards; complete shards are not computed again.

    Only one shard is in memory at a time, whatever the size of the text.

    Args:
        teacher: The parser that reads the text.
        compute_rows: The same parser's row function, see `teacher.make_row_function`.
        files: Text files.
        directory: Directory of the shards.
        key: Digest of all that the shards depend on besides the text and how it is read.
        treebank: The name of the treebank whose style the text is parsed in, if the teacher reads
            the treebank of a sentence; "" is the largest one.
        input: Format of the files, as for `Parser.read`.
        encoding: Character encoding of the files.
        progress: Receives messages.

    Raises:
        DataError: If the text contains no sentence to learn from, or if the shards in the directory
            are of another text or teacher.
        ValueError, OSError: As `Parser.read`.
    """
    progress = progress or Progress(directory, quiet=True)
    directory.mkdir(parents=True, exist_ok=True)
    key = digest(key, treebank, str(input), encoding, digest_files(files))
    manifest = directory / MANIFEST
    if manifest.exists():
        silver = _read_manifest(manifest, treebank)
        if silver and silver.key != key:
            raise _mismatch_error(manifest)
        if silver and all(is_complete(shard, key) for shard in silver.shards):
            return silver

    omitted: Counter[str] = Counter()
    sentence_counter = ParagraphCounter()
    sentences = chain.from_iterable(
        teacher.read(f, input, encoding, counter=sentence_counter) for f in files
    )
    shards: list[Shard] = []
    num_sentences = num_words = num_new_words = 0
    began = time.monotonic()
    kept = _assign(treebank, _filter_sentences(sentences, omitted))
    for chunk in split_into_chunks(kept, SHARD_WORDS):
        shard = _make_shard(directory, len(shards), treebank)
        chunk_words = sum(map(len, chunk))
        if not is_complete(shard, key):
            rows = compute_rows(chunk, False)
            ends = np.cumsum([len(sentence) for sentence in chunk])[:-1]
            parsed = map(apply_rows, chunk, np.split(rows, ends), [teacher] * len(chunk))
            write(parsed, shard.path.with_suffix(".conllu"))
            write_rows(shard, [len(sentence) for sentence in chunk], rows, key)
            num_new_words += chunk_words
            speed = num_new_words / (time.monotonic() - began)
            if len(shards) % SHARDS_PER_MESSAGE == SHARDS_PER_MESSAGE - 1:
                progress.say(
                    f"the teacher has parsed {num_words + chunk_words:,} words of text"
                    f" ({speed:,.0f} words/s)"
                )
        shards.append(shard)
        num_sentences, num_words = num_sentences + len(chunk), num_words + chunk_words
    if not shards:
        raise DataError(
            f"{' '.join(files)}: there is no sentence of {MIN_WORDS} to {MAX_WORDS} words to learn"
            " from"
        )
    counts = {"sentences": num_sentences, "words": num_words, "left_out": dict(omitted)}
    with atomic(manifest) as temporary:
        temporary.write_text(json.dumps({"key": key, "shards": len(shards), **counts}), "utf-8")
    return Silver(key, shards, num_sentences, num_words, dict(omitted))


def _read_manifest(path: Path, treebank: str) -> Silver | None:
    """Return what `annotate_text` wrote, or None if the manifest is damaged."""
    try:
        manifest = json.loads(path.read_text("utf-8"))
        shards = [_make_shard(path.parent, index, treebank) for index in range(manifest["shards"])]
        return Silver(
            manifest["key"], shards, manifest["sentences"], manifest["words"], manifest["left_out"]
        )
    except (ValueError, LookupError, TypeError):
        return None


def _make_shard(directory: Path, index: int, treebank: str) -> Shard:
    return Shard(directory / f"shard-{index + 1:04}", treebank)


def _assign(treebank: str, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences of a text as sentences of this treebank; see `inputs.treebank`."""
    for sentence in sentences:
        if treebank:
            sentence.file = f"{treebank}.conllu"
        yield sentence


def _filter_sentences(sentences: Iterable[Sentence], omitted: Counter[str]) -> Iterator[Sentence]:
    """Yield the sentences to learn from, as CoNLL-U, and count the others by reason.

    Duplicates are recognised by a hash table of fixed size. Where two sentences share an entry, the
    later one overwrites the earlier one, whose next duplicate is then not recognised.
    """
    hashes = np.zeros(HASH_TABLE_SIZE, dtype=np.uint64)
    for sentence in sentences:
        if not MIN_WORDS <= len(sentence) <= MAX_WORDS:
            omitted[TOO_SHORT if len(sentence) < MIN_WORDS else TOO_LONG] += 1
            continue
        forms = "\n".join(sentence.form).encode("utf-8", "surrogatepass")
        sentence_hash = int.from_bytes(blake2b(forms, digest_size=8).digest())
        index = sentence_hash % HASH_TABLE_SIZE
        if int(hashes[index]) == sentence_hash:
            omitted[DUPLICATE] += 1
            continue
        hashes[index] = sentence_hash
        yield sentence if sentence.format == CONLLU else new_sentence(sentence.form)


def split_into_chunks(sentences: Iterable[Sentence], min_words: int) -> Iterator[list[Sentence]]:
    """Yield lists of consecutive sentences of at least min_words words; the last may have fewer."""
    chunk: list[Sentence] = []
    num_words = 0
    for sentence in sentences:
        chunk.append(sentence)
        num_words += len(sentence)
        if num_words >= min_words:
            yield chunk
            chunk, num_words = [], 0
    if chunk:
        yield chunk


def _digest_conllu(shard: Shard) -> str:
    """Return a digest of the shard's CoNLL-U file, or "" if it has none, as for a treebank."""
    path = shard.path.with_suffix(".conllu")
    return digest_files([path]) if path.exists() else ""


def _mismatch_error(path: Path) -> DataError:
    return DataError(
        f"{path} was made with another teacher, text or settings; resume with the same ones, or"
        " distill into another directory"
    )
