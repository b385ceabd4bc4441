"""A tokenizer that splits the paragraphs of all waiting requests together.

The network of a tokenizer is run on batches, and a request is often only one sentence. So the
paragraphs of a request are found when it arrives, and the first request whose sentences are read
has the paragraphs of all others segmented with its own.
"""

from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from weakref import WeakSet

from depkit.corpus.text import Segmenter, Token, read_text

MAX_SHARED = 10_000  # characters; the paragraphs of a longer text are a batch by themselves


class _FoundParagraphs(Exception):
    """Ends the reading of a text when its paragraphs are known."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts = texts


@dataclass(eq=False)
class _Paragraphs:
    """The paragraphs of a request, and their tokens when they have been segmented."""

    texts: list[str]
    segmented: list[list[list[Token]]] | None = None


class SharedTokenizer:
    """A segmenter of a model, with the paragraphs that requests will want to have segmented."""

    def __init__(self, segment: Segmenter) -> None:
        self.segment = segment
        self.lock = Lock()
        # Paragraphs whose request has been refused or given up vanish from this set.
        self.waiting: WeakSet[_Paragraphs] = WeakSet()

    def make_segmenter(self, text: str) -> Segmenter:
        """Return a segmenter for reading one text, by blocks, with `read_text`.

        This method can be called on any thread, and the segmenters on one thread only.
        """
        if len(text) > MAX_SHARED:
            return self.segment
        paragraphs = _Paragraphs(_find_paragraphs(text))
        with self.lock:
            self.waiting.add(paragraphs)

        def segment(texts: list[str]) -> list[list[list[Token]]]:
            if texts != paragraphs.texts:
                return self.segment(texts)
            if paragraphs.segmented is None:
                with suppress(Exception):  # If it is the fault of this text, it is raised below.
                    self._segment_waiting()
            if paragraphs.segmented is None:
                return self.segment(texts)
            return paragraphs.segmented

        return segment

    def _segment_waiting(self) -> None:
        with self.lock:
            group = list(self.waiting)
            self.waiting.clear()
        if not group:
            return
        segmented = iter(self.segment([text for each in group for text in each.texts]))
        for paragraphs in group:
            paragraphs.segmented = [next(segmented) for _ in paragraphs.texts]


def _find_paragraphs(text: str) -> list[str]:
    """Return the paragraphs that `read_text` asks a segmenter to split.

    If the result is wrong, the paragraphs of this text are segmented in a call of their own, which
    is slower.
    """
    # Most short texts have one line. A printable text contains no line end.
    if (paragraph := text.strip()).isprintable():
        return [paragraph] if paragraph else []

    def stop(texts: list[str]) -> list[list[list[Token]]]:
        raise _FoundParagraphs(texts)

    try:
        list(read_text([text], stop, by_block=True))
    except _FoundParagraphs as found:
        return found.texts
    return []
