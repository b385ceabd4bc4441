"""The batch pipeline of parsing: read sentences in chunks, and compute batches on worker threads.

A chunk is a part of the stream of sentences, large enough that sentences of similar length can be
batched together. All of its sentences are in the same block of their file, see `corpus.blocks`,
unless the engine has the same results for any batches. Its sentences are read and encoded while
batches of the previous chunk are computed. If the sentences are a stream that waits, a chunk ends
with the last sentence that has arrived.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from itertools import repeat
from threading import Lock, Semaphore
from typing import Any, Generic, TypeVar

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.engine.engine import Engine
from depkit.parsers.inputs.batching import Batches, length_batches, similar_batches
from depkit.parsers.inputs.dataset import layout
from depkit.parsers.read_ahead import ReadAhead

FIRST_CHUNK = 1_000  # words read before the first batch is computed
GROWTH = 8  # each chunk has this many times the words of the previous one, up to CHUNK
CHUNK = 40_000  # words of the largest chunk
# Seconds that a stream must wait before a chunk ends, if results depend on the batches. As long as
# the input is faster, the chunks and the results do not depend on its speed.
PAUSE = 0.05

# Encodes the sentences of a chunk, and their contextual vectors ([] if there are none)
Prepare = Callable[[Sequence[Sentence], Sequence[np.ndarray]], Batches]
T = TypeVar("T")
# Maps a batch and its sentences to one result for each sentence
Compute = Callable[[Any, Sequence[Sentence]], Sequence[T]]


def map_batches(
    sentences: Iterable[Sentence],
    prepare: Prepare,
    compute: Compute[T],
    engine: Engine,
    *,
    batch_tokens: int,
    workers: int,
    context: Iterable[np.ndarray] | None = None,
    on_wait: Callable[[], object] | None = None,
) -> Iterator[T]:
    """Apply a function to batches of sentences, and yield its results in the sentences' order.

    With several workers, three chunks at most are in memory: one is read and prepared, batches of
    the second are computed on threads, and results of the third are consumed.

    Args:
        sentences: Any number of sentences; they are read lazily.
        prepare: Encodes the sentences of a chunk.
        compute: Computes the results of a batch; with several workers, called on several threads.
        engine: The engine that computes.
        batch_tokens: The maximum number of positions in a batch, padding included. A longer
            sentence is a batch by itself.
        workers: The number of batches that are computed at the same time.
        context: The contextual vectors of each sentence.
        on_wait: If given, the sentences are a stream, which a thread of its own reads. Whenever no
            further sentence has arrived, those before it are computed and their results yielded.
            The function is called before this function waits. If None, reading and computing take
            turns, and the first results need FIRST_CHUNK words.

    Yields:
        One result for each sentence.

    Raises:
        MemoryError: A single sentence does not fit in memory; the message names it.
        Exception: An error in reading or computing a sentence is raised after the results of all
            sentences before it. An error in computing a batch counts for all of its sentences.
    """
    pairs: Iterable[tuple[Sentence, np.ndarray | None]] = (
        zip(sentences, context, strict=True)
        if context is not None
        else zip(sentences, repeat(None))
    )
    results = _generate_results(
        pairs, prepare=prepare, compute=compute, engine=engine, batch_tokens=batch_tokens,
        workers=workers, on_wait=on_wait,
    )  # fmt: skip
    if workers == 1:
        yield from results
        return
    with closing(results):
        while True:
            threads = engine.set_threads(1)  # the other threads are for the workers
            try:
                result = next(results)
            except StopIteration:
                return
            finally:
                engine.set_threads(threads)
            yield result


def _generate_results(
    pairs: Iterable[tuple[Sentence, np.ndarray | None]],
    *,
    prepare: Prepare,
    compute: Compute[T],
    engine: Engine,
    batch_tokens: int,
    workers: int,
    on_wait: Callable[[], object] | None,
) -> Generator[T, None, None]:
    """Do what `map_batches` does, without changing the number of threads of this thread."""
    sentences: list[Sentence] = []  # the sentences of the next chunk
    context: list[np.ndarray] = []
    block, words, limit = 0, 0, FIRST_CHUNK
    started: deque[_Chunk[T]] = deque()
    stream = ReadAhead(pairs, lambda pair: len(pair[0]), CHUNK) if on_wait else None
    reader, reading_error = stream or iter(pairs), None
    with _make_executor(engine, workers) as executor, closing(stream) if stream else nullcontext():
        slots = _Slots(workers)

        def finish_chunk() -> Iterator[T]:
            """Start to compute the chunk that was read; yield the results of earlier ones."""
            nonlocal sentences, context
            prepared = prepare(sentences, context)
            chunk = _Chunk(sentences, prepared, compute=compute, engine=engine, slots=slots)
            chunk.submit(executor, batch_tokens)
            started.append(chunk)
            sentences, context = [], []
            if stream:
                for future in chunk.batches:
                    future.add_done_callback(stream.wake)
            # With several workers, one chunk may wait while the next is prepared; in a file, the
            # first results are awaited at once.
            max_waiting = 1 if workers > 1 and (stream or limit > FIRST_CHUNK) else 0
            while len(started) > max_waiting:
                yield from started.popleft().results()

        def await_sentence(stream: ReadAhead[Any], on_wait: Callable[[], object]) -> Iterator[T]:
            """Compute and yield the results of what has been read, until a sentence arrives."""
            while not stream.has_arrived():
                if started and started[0].is_done():
                    yield from started.popleft().results()
                elif not sentences or started:
                    on_wait()
                    stream.wait()
                elif not (engine.pads_batches and stream.arrives_within(PAUSE)):
                    yield from finish_chunk()

        while True:
            if stream and on_wait:
                yield from await_sentence(stream, on_wait)
            try:
                sentence, vectors = next(reader)
            except StopIteration:
                break
            except Exception as error:  # the sentences before it are parsed first
                reading_error = error
                break
            # If results depend on the batch, a block has the same chunks wherever reading began.
            if sentence.block != block and engine.pads_batches:
                if sentences:
                    yield from finish_chunk()
                block, words, limit = sentence.block, 0, CHUNK if sentence.block else FIRST_CHUNK
            sentences.append(sentence)
            if vectors is not None:
                context.append(vectors)
            words += len(sentence)
            if started and started[0].is_done():
                yield from started.popleft().results()
            if words >= limit:
                yield from finish_chunk()
                words, limit = 0, min(GROWTH * limit, CHUNK)
        if sentences:
            yield from finish_chunk()
        while started:
            yield from started.popleft().results()
    if reading_error:
        raise reading_error


class _Chunk(Generic[T]):
    """The sentences of a chunk, whose batches are submitted to an executor."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        prepared: Batches,
        *,
        compute: Compute[T],
        engine: Engine,
        slots: "_Slots",
    ) -> None:
        self.sentences, self.prepared, self.compute = sentences, prepared, compute
        self.engine, self.slots = engine, slots
        self.batches: list[Future[None]] = []
        self.results_by_index: dict[int, T] = {}

    def submit(self, executor: Executor, batch_tokens: int) -> None:
        sizes, _ = layout(self.sentences)
        batches = (
            length_batches(sizes, batch_tokens, repeat_to_fill=True)
            if self.engine.pads_batches
            else similar_batches(sizes, batch_tokens)
        )
        # The largest batch comes first: the other workers would be idle during it if it came last.
        self.batches = [executor.submit(self._compute, indices) for indices in batches[::-1]]

    def is_done(self) -> bool:
        return all(batch.done() for batch in self.batches)

    def results(self) -> Iterator[T]:
        """Wait for all batches, and yield the results in the order of the sentences.

        If batches have failed, an error is raised at the first sentence without a result.
        """
        errors = [error for batch in self.batches if (error := batch.exception())]
        for index in range(len(self.sentences)):
            if index not in self.results_by_index:
                raise errors[0]
            yield self.results_by_index[index]

    def _compute(self, indices: np.ndarray) -> None:
        """Compute a batch; if it does not fit in memory, compute its halves."""
        batch = [self.sentences[index] for index in indices.tolist()]
        try:
            with self.slots.acquire_one():
                results = self.compute(self.prepared.batch(indices), batch)
        except (RuntimeError, MemoryError) as error:
            if not self.engine.is_out_of_memory(error):
                raise
            if len(batch) > 1:
                middle = len(indices) // 2
                self._compute(indices[:middle])
                self._compute(indices[middle:])
                return
            results = self._compute_alone(indices)
        self.results_by_index.update(zip(indices.tolist(), results, strict=True))

    def _compute_alone(self, indices: np.ndarray) -> Sequence[T]:
        """Compute a batch of one sentence while no other batch is computed."""
        sentence = self.sentences[int(indices[0])]
        try:
            with self.slots.acquire_all():
                return self.compute(self.prepared.batch(indices), [sentence])
        except (RuntimeError, MemoryError) as error:
            if not self.engine.is_out_of_memory(error):
                raise
            file, line, sent_id = sentence.location()
            raise MemoryError(
                f"{file}:{line}: {sent_id}: a sentence of {len(sentence)} words does not fit in"
                " memory; split it or leave it out"
            ) from error


class _Slots:
    """A semaphore with one slot for each worker; a worker can acquire one slot, or all."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.semaphore = Semaphore(workers)
        self.acquiring_all = Lock()  # two workers that acquire all at once would deadlock

    @contextmanager
    def acquire_one(self) -> Iterator[None]:
        with self.semaphore:
            yield

    @contextmanager
    def acquire_all(self) -> Iterator[None]:
        with self.acquiring_all, ExitStack() as acquired:
            for _ in range(self.workers):
                acquired.enter_context(self.semaphore)
            yield


@contextmanager
def _make_executor(engine: Engine, workers: int) -> Iterator[Executor]:
    """Make an executor that computes batches inline or, with several workers, on threads.

    A batch is too small for its operations to be split among threads efficiently, so the engine
    uses one thread for each batch.
    """
    if workers == 1:
        yield _InlineExecutor()
        return
    pool = ThreadPoolExecutor(workers, "parser", engine.set_threads, (1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class _InlineExecutor(Executor):
    """An executor that calls each function immediately, on the calling thread."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*arguments, **keywords))
        except Exception as error:
            future.set_exception(error)
        return future
