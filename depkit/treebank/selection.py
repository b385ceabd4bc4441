"""Selection of the sentences of treebanks: samples, splits, and what must not occur twice."""

import heapq
import math
import os
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from depkit.corpus.sentence import Sentence, find_boundary, find_comment
from depkit.corpus.surface import surface_tokens

_LENGTHS = (5, 10, 15, 20, 30, 40, 50, 100)  # the longest sentences of the strata by length
_BOUNDARIES = ("newdoc", "newpar")


@dataclass(frozen=True)
class Item:
    """A sentence and where it stands.

    Attributes:
        sentence: The sentence.
        document: A name of its document that no other document has.
        boundaries: For newdoc and newpar, the number of the document or paragraph and the comment
            that begins it, "" if there is none.
    """

    sentence: Sentence
    document: str
    boundaries: tuple[tuple[int, str], ...]


def read_items(files: Iterable[tuple[str, Iterable[Sentence]]]) -> Iterator[Item]:
    """Yield the sentences of files, given by name, with their documents and paragraphs.

    A file begins a new document. Documents without an id are named by file and number.
    """
    numbers = [0, 0]
    for file, sentences in files:
        comments = ["", ""]
        numbers = [number + 1 for number in numbers]
        name = os.path.basename(file)
        document = f"{name}\n{numbers[0]}"
        for sentence in sentences:
            for i, key in enumerate(_BOUNDARIES):
                if found := find_boundary(sentence.lines, key):
                    for j in range(i, len(_BOUNDARIES)):  # A new document begins a new paragraph.
                        numbers[j] += 1
                        comments[j] = ""
                    comments[i] = found
            if find_boundary(sentence.lines, "newdoc"):
                document = find_comment(sentence.lines, "newdoc id") or f"{name}\n{numbers[0]}"
            yield Item(sentence, document, tuple(zip(numbers, comments, strict=True)))


class Boundaries:
    """Keeps the boundaries of documents and paragraphs when sentences are left out.

    If the sentence that begins a document is not written, the first one that is gets its comment.
    """

    def __init__(self) -> None:
        self._last = [0] * len(_BOUNDARIES)

    def restore(self, item: Item) -> Sentence:
        """Return the sentence of the next item that is written, with the comments it needs."""
        sentence, missing = item.sentence, []
        for i, (key, (number, comment)) in enumerate(
            zip(_BOUNDARIES, item.boundaries, strict=True)
        ):
            if number != self._last[i] and comment and not find_boundary(sentence.lines, key):
                missing.append(comment)
            self._last[i] = number
        return sentence.with_first_lines(missing) if missing else sentence


class UniqueIds:
    """Gives a sentence another sent_id if an earlier sentence has the same: a-1 becomes a-1-2."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.changed = 0

    def keep(self, sentence: Sentence) -> Sentence:
        """Return the sentence, with another sent_id if necessary."""
        name = sentence.sent_id
        if name and name in self._seen:
            number = 2
            while f"{name}-{number}" in self._seen:
                number += 1
            name = f"{name}-{number}"
            sentence = sentence.with_comment("sent_id", name)
            self.changed += 1
        self._seen.add(name)
        return sentence


def text_digest(sentence: Sentence) -> bytes:
    """Return a digest of the text of a sentence without its white space.

    The text is that of the comment `text`, or else that of the tokens, so that sentences with the
    same text have the same digest even if they are divided into words in another way.
    """
    text = sentence.text or "".join(token.text for token in surface_tokens(sentence))
    return _digest("".join(text.split()))


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogateescape"), digest_size=16).digest()


def text_number(text: bytes, seed: int) -> float:
    """Return a number from 0 up to 1 that depends only on a digest and the seed."""
    digest = blake2b(text, digest_size=8, key=str(seed).encode()[:64]).digest()
    return int.from_bytes(digest, "big") / 2**64


def item_number(item: Item, by: str, seed: int) -> float:
    """Return the number from 0 up to 1 by which an item is assigned to a part.

    by: "text" or "document". Sentences with the same text, or of the same document, have the same
    number, whatever other sentences there are.
    """
    text = text_digest(item.sentence) if by == "text" else _digest(item.document)
    return text_number(text, seed)


def choose_part(number: float, shares: Sequence[float]) -> int:
    """Return the index of the part to which a number from 0 up to 1 belongs; -1 for none."""
    total = 0.0
    for index, share in enumerate(shares):
        total += share
        if number < total:
            return index
    # The shares may add up to a little less than 1 because of rounding.
    return len(shares) - 1 if total > 1 - 1e-9 else -1


def smallest_numbers(items: Iterable[Item], count: int, by: str, seed: int) -> list[Item]:
    """Return the items with the smallest numbers, in their order; see `item_number`.

    Only they are held in memory. If a few items are added, most of the result stays the same.
    """
    heap: list[tuple[float, int, Item]] = []
    for index, item in enumerate(items):
        entry = (-item_number(item, by, seed), -index, item)
        if len(heap) < count:
            heapq.heappush(heap, entry)
        elif count and entry > heap[0]:
            heapq.heapreplace(heap, entry)
    return [item for _, _, item in sorted(heap, key=lambda entry: -entry[1])]


def stratum_function(stratify: str) -> Callable[[Sentence], str]:
    """Return the function that gives the stratum of a sentence.

    stratify: "length" for the number of words in bins, "" for no strata, or else the key of a
    comment, such as genre.
    """
    if not stratify:
        return lambda sentence: ""
    if stratify == "length":
        return lambda sentence: str(bisect_left(_LENGTHS, len(sentence)))
    return lambda sentence: sentence.comment(stratify)


def assign_randomly(
    strata: Sequence[str], quotas: Sequence[float], generator: random.Random
) -> list[int]:
    """Assign items to parts at random, each stratum in about the same proportions.

    Args:
        strata: [items] the stratum of each item.
        quotas: [parts] how many items each part gets; the rest belongs to no part. Fractions are
            rounded so that their sum stays.
        generator: The source of random numbers.

    Returns:
        [items] the index of the part, -1 for none.
    """
    order = list(range(len(strata)))
    generator.shuffle(order)
    order.sort(key=strata.__getitem__)
    sizes = _round_quotas([*quotas, len(order) - sum(quotas)])
    counts = [0] * len(sizes)
    result = [-1] * len(order)
    for number, index in enumerate(order, start=1):
        # The part that has the fewest items compared with its share gets the next one. It has not
        # reached its size, so in the end all sizes are exact.
        part = max(range(len(sizes)), key=lambda i: number * sizes[i] - counts[i] * len(order))
        counts[part] += 1
        result[index] = part if part < len(quotas) else -1
    return result


def _round_quotas(quotas: Sequence[float]) -> list[int]:
    """Round numbers to integers with the same sum: those with the largest fractions upwards."""
    sizes = [math.floor(quota + 1e-9) for quota in quotas]
    by_fraction = sorted(range(len(sizes)), key=lambda i: sizes[i] - quotas[i])
    for i in by_fraction[: round(sum(quotas)) - sum(sizes)]:
        sizes[i] += 1
    return sizes
