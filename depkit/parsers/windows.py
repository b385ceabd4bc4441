"""Sentences through a network: windows of them are read while batches of others are computed."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import repeat
from threading import Lock, Semaphore
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.parsers.device import out_of_memory
from depkit.parsers.inputs.batches import Batches, layout, length_batches

FIRST_WINDOW = 1_000  # words read before the first batch is computed
GROWTH = 8  # the larger a window is, the more alike the lengths in a batch are
WINDOW = 40_000  # the largest

# Sentences and their contextual vectors, if any, laid out for the network
Prepare = Callable[[Sequence[Sentence], Sequence[np.ndarray]], Batches]
T = TypeVar("T")
# A batch and its sentences -> a result for each
Compute = Callable[[Any, Sequence[Sentence]], Sequence[T]]


def map_batches(
    sentences: Iterable[Sentence],
    context: Iterable[np.ndarray] | None,
    prepare: Prepare,
    compute: Compute[T],
    batch_tokens: int,
    workers: int,
) -> Iterator[T]:
    """A result for each sentence, in order.

    With several workers one window is read and prepared, and the results of another are used, while
    threads compute the batches of a third; no more are ever in memory. context: the contextual
    vectors of each sentence. The first window waits for no other, so that what comes slowly is not
    held up.
    Raises MemoryError naming a sentence that does not fit in memory by itself. An error in reading
    or computing a sentence comes after the results of all windows before.
    """
    pairs: Iterable[tuple[Sentence, np.ndarray | None]] = (
        zip(sentences, context, strict=True)
        if context is not None
        else zip(sentences, repeat(None))
    )
    results = _in_order(pairs, prepare, compute, batch_tokens, workers)
    if workers == 1:
        yield from results
        return
    with closing(results):
        while True:
            before = torch.get_num_threads()
            torch.set_num_threads(1)  # the others are the workers'
            try:
                result = next(results)
            except StopIteration:
                return
            finally:
                torch.set_num_threads(before)
            yield result


def _in_order(
    pairs: Iterable[tuple[Sentence, np.ndarray | None]],
    prepare: Prepare,
    compute: Compute[T],
    batch_tokens: int,
    workers: int,
) -> Generator[T, None, None]:
    """As `map_batches`, on as many of torch's own threads as there are."""
    read: list[Sentence] = []
    vectors: list[np.ndarray] = []
    words, limit = 0, FIRST_WINDOW
    begun: deque[_Window[T]] = deque()
    reader, failed = iter(pairs), None
    with _executor(workers) as executor:
        slots = _Slots(workers)

        def begin() -> None:
            prepared = prepare(read, vectors)
            begun.append(_Window(read, prepared, compute, batch_tokens, executor, slots))

        while True:
            try:
                sentence, own = next(reader)
            except StopIteration:
                break
            except Exception as error:  # what has been read before it is parsed first
                failed = error
                break
            read.append(sentence)
            if own is not None:
                vectors.append(own)
            words += len(sentence)
            if begun and begun[0].done():
                yield from begun.popleft().results()
            if words >= limit:
                begin()
                while len(begun) > (workers > 1 and limit > FIRST_WINDOW):
                    yield from begun.popleft().results()
                read, vectors = [], []
                words, limit = 0, min(GROWTH * limit, WINDOW)
        if read:
            begin()
        while begun:
            yield from begun.popleft().results()
    if failed:
        raise failed


class _Window(Generic[T]):
    """Sentences whose batches are computed, or wait to be."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        prepared: Batches,
        compute: Compute[T],
        batch_tokens: int,
        executor: Executor,
        slots: "_Slots",
    ) -> None:
        self.sentences = sentences
        self.slots = slots
        self.found: dict[int, T] = {}
        sizes, _ = layout(sentences)
        # the largest first, so that no worker is left with one at the end
        self.batches = [
            executor.submit(self._compute, prepared, compute, numbers)
            for numbers in length_batches(sizes, batch_tokens, filled=True)[::-1]
        ]

    def done(self) -> bool:
        return all(batch.done() for batch in self.batches)

    def results(self) -> Iterator[T]:
        """A result for each sentence, once there are all."""
        for batch in self.batches:
            batch.result()
        return (self.found[number] for number in range(len(self.sentences)))

    def _compute(self, prepared: Batches, compute: Compute[T], numbers: np.ndarray) -> None:
        """One batch; if it does not fit in memory, its halves, and a sentence on its own."""
        batch = [self.sentences[number] for number in numbers.tolist()]
        try:
            with self.slots.one():
                results = compute(prepared.batch(numbers), batch)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            if len(batch) > 1:
                middle = len(numbers) // 2
                self._compute(prepared, compute, numbers[:middle])
                self._compute(prepared, compute, numbers[middle:])
                return
            results = self._alone(prepared, compute, numbers)
        self.found.update(zip(numbers.tolist(), results, strict=True))

    def _alone(self, prepared: Batches, compute: Compute[T], numbers: np.ndarray) -> Sequence[T]:
        """A sentence while nothing else is computed."""
        sentence = self.sentences[int(numbers[0])]
        try:
            with self.slots.all():
                return compute(prepared.batch(numbers), [sentence])
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            file, line, sent_id = sentence.place()
            raise MemoryError(
                f"{file}:{line}: {sent_id}: a sentence of {len(sentence)} words does not fit in"
                " memory; split it or leave it out"
            ) from error


class _Slots:
    """Workers compute side by side, or one of them alone."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.free = Semaphore(workers)
        self.turn = Lock()  # two that want all would wait for each other

    @contextmanager
    def one(self) -> Iterator[None]:
        with self.free:
            yield

    @contextmanager
    def all(self) -> Iterator[None]:
        with self.turn, ExitStack() as held:
            for _ in range(self.workers):
                held.enter_context(self.free)
            yield


@contextmanager
def _executor(workers: int) -> Iterator[Executor]:
    """What computes batches: at once or, with several workers, on threads of their own.

    A batch is too small to be shared out well among threads; a thread a batch wastes nothing.
    """
    if workers == 1:
        yield _AtOnce()
        return
    pool = ThreadPoolExecutor(workers, "parser", torch.set_num_threads, (1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class _AtOnce(Executor):
    """Calls on the calling thread."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future
