"""Sentences of several requests, annotated together on one thread.

One worker thread calls all parsers. It works in rounds: it takes some sentences of every open
request, annotates them in one call for each model, and hands the results back. Requests that arrive
meanwhile take part in the next round. So the sentences of small requests share batches, and a large
request delays the others by one round, not by its size.

Clients that send one request after the other read their results at the end of a round, and then
send the next request. If few requests are open at that time, the next round waits for these
clients a little, because large rounds take less time for each sentence.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Any

from depkit.corpus.sentence import Sentence

ROUND_WORDS = 2_000  # of all requests together; rounds of 8,000 take 10% less time for a word
MIN_WORDS = 200  # of one request in a round, even if there are many requests
MAX_WAIT = 0.5  # for the clients of the previous round, as a share of the time that it took
_POLL = 0.25  # seconds between two looks at whether the client is still there

# Annotates sentences, which can be those of several requests; one result for each: a sentence, or a
# list of the trees of a sentence
Annotate = Callable[[Iterable[Sentence]], Iterable[Any]]


class BusyError(Exception):
    """There are too many open requests, or the server is stopping."""


class AbandonedError(Exception):
    """The results of a request are not needed any more: the client has gone."""


@dataclass(eq=False)
class Request:
    """Sentences to annotate.

    Attributes:
        sentences: The sentences. They are read on the worker thread, which also runs tokenizers.
        annotate: Annotates them. Requests with equal functions are annotated together.
        answers: Lists of results; at the end None, or the error that ended the request.
        is_read: Whether all sentences have been read.
    """

    sentences: Iterator[Sentence]
    annotate: Annotate
    answers: SimpleQueue[list[Any] | Exception | None] = field(default_factory=SimpleQueue)
    is_read: bool = False


class Batcher:
    """The worker thread and the open requests."""

    def __init__(self, max_requests: int) -> None:
        self.max_requests = max_requests
        self.open: list[Request] = []
        self.is_stopping = False
        self.expected = 0  # the number of open requests that the worker thread waits for
        self.most_open = 0  # the largest number of requests open at once since the round began
        self.changed = Condition()
        self.thread = Thread(target=self._work, name="parser", daemon=True)

    def start(self) -> None:
        """Start the worker thread."""
        self.thread.start()

    def stop(self) -> None:
        """Refuse new requests, finish the open ones and end the thread."""
        with self.changed:
            self.is_stopping = True
            self.changed.notify_all()
        self.thread.join()

    def annotate(
        self,
        sentences: Iterator[Sentence],
        annotate: Annotate,
        *,
        seconds: float,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> Iterator[Any]:
        """Yield annotated sentences, in their order; may be called on any thread.

        Args:
            sentences: Read on the worker thread.
            annotate: See `Request`.
            seconds: The time for all of it.
            is_gone: Called now and then; if it returns true, the request is given up.

        Raises:
            BusyError: There are too many open requests.
            TimeoutError: The time is over.
            AbandonedError: The client has gone.
            Exception: What reading or annotating the sentences has raised.
        """
        request = Request(sentences, annotate)
        deadline = time.monotonic() + seconds
        with self.changed:
            if self.is_stopping or len(self.open) >= self.max_requests:
                raise BusyError
            self.open.append(request)
            self.most_open = max(self.most_open, len(self.open))
            if len(self.open) >= self.expected:
                self.changed.notify_all()
        try:
            while True:
                try:
                    answer = request.answers.get(timeout=_POLL)
                except Empty:
                    if is_gone():
                        raise AbandonedError from None
                    if time.monotonic() > deadline:
                        raise TimeoutError from None
                    continue
                if answer is None:
                    return
                if isinstance(answer, Exception):
                    raise answer
                yield from answer
                if request.is_read:
                    continue  # The end follows soon, and looking at the client takes time.
                if time.monotonic() > deadline:
                    raise TimeoutError
                if is_gone():
                    raise AbandonedError
        finally:
            self._close(request)

    def _work(self) -> None:
        requests: list[Request] = []
        seconds = 0.0  # that the last round took
        while requests := self._await_round(requests, MAX_WAIT * seconds):
            began = time.monotonic()
            try:
                self._do_round(requests)
            except Exception as error:  # a bug; without this thread, all clients would wait
                for request in requests:
                    self._end(request, error)
            seconds = time.monotonic() - began

    def _await_round(self, last: Sequence[Request], seconds: float) -> list[Request]:
        """Wait for the requests of a round; return [] if the server is stopping and none is open.

        last: the requests of the previous round; seconds: the maximum time to wait for the next
        requests of their clients, if fewer than in that round are open.
        """
        with self.changed:
            if len(self.open) < len(last):
                # There are at least as many clients as requests were open at once. The requests of
                # the round and those that are open now must not be added up: a client whose request
                # ended early in the round may have sent its next one already.
                self.expected = self.most_open
                self.changed.wait_for(self._has_expected, seconds)
            self.expected = 1
            self.changed.wait_for(self._has_expected)
            self.most_open = len(self.open)
            return list(self.open)

    def _has_expected(self) -> bool:
        return len(self.open) >= self.expected or self.is_stopping

    def _end(self, request: Request, error: Exception | None = None) -> None:
        """Close a request and hand out its end, or its error."""
        self._close(request)
        request.answers.put(error)

    def _close(self, request: Request) -> None:
        """Make room for another request. The request may be closed already."""
        with self.changed:
            if request in self.open:
                self.open.remove(request)

    def _do_round(self, requests: Sequence[Request]) -> None:
        """Annotate some sentences of each request."""
        quota = max(MIN_WORDS, ROUND_WORDS // max(1, len(requests)))
        groups: dict[Annotate, list[tuple[Request, list[Sentence]]]] = {}
        for request in requests:
            try:
                sentences = _take(request, quota)
            except Exception as error:
                self._end(request, error)
                continue
            groups.setdefault(request.annotate, []).append((request, sentences))
        for annotate, group in groups.items():
            self._annotate_group(annotate, group)

    def _annotate_group(
        self, annotate: Annotate, group: list[tuple[Request, list[Sentence]]]
    ) -> None:
        """Annotate sentences of several requests in one call, and hand the results to each."""
        try:
            results = iter(list(annotate([x for _, sentences in group for x in sentences])))
        except Exception as error:
            if len(group) == 1:
                self._end(group[0][0], error)
                return
            # One request has sentences that cannot be parsed; the others must not suffer from it.
            for pair in group:
                self._annotate_group(annotate, [pair])
            return
        for request, sentences in group:
            if sentences:
                request.answers.put([next(results) for _ in sentences])
            if request.is_read:
                self._end(request)


def _take(request: Request, quota: int) -> list[Sentence]:
    """Read sentences of a request until they have at least `quota` words."""
    sentences: list[Sentence] = []
    words = 0
    for sentence in request.sentences:
        sentences.append(sentence)
        words += len(sentence)
        if words >= quota:
            return sentences
    request.is_read = True
    return sentences
