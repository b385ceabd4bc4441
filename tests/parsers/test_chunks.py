"""Chunks of sentences: the order of results, reading ahead, and errors on all threads."""

import threading
from concurrent.futures import wait

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.parsers import chunks
from depkit.parsers.chunks import map_batches
from depkit.parsers.engine.torch_engine import TorchEngine

SENTENCES = [new_sentence([f"w{i}"] * (1 + i * 7 % 11)) for i in range(300)]
EXPECTED = [(f"w{i}",) for i in range(300)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "FIRST_CHUNK", 20)
    monkeypatch.setattr(chunks, "CHUNK", 100)


class PreparedChunk:
    """A stand-in for a Dataset, whose batches are lists."""

    def __init__(self, sentences, context):
        self.sentences, self.context = list(sentences), [vectors.tolist() for vectors in context]

    def batch(self, indices):
        """Return tuples of a sentence and the numbers in its context, if it has a context."""
        return [(self.sentences[i], *(self.context[i] if self.context else ())) for i in indices]


def first_forms(batch, sentences):
    """Return tuples of the first form of a sentence and the numbers in its context."""
    assert [sentence for sentence, *_ in batch] == sentences
    return [(sentence.form[0], *context) for sentence, *context in batch]


class ExactEngine(TorchEngine):
    """An engine whose results do not depend on the batches."""

    pads_batches = False


def run(
    sentences=SENTENCES, context=None, compute=first_forms, workers=1, on_wait=None,
    engine_class=TorchEngine,
):  # fmt: skip
    return map_batches(
        sentences, PreparedChunk, compute, engine_class(None, torch.device("cpu")),
        batch_tokens=40, workers=workers, context=context, on_wait=on_wait,
    )  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order(workers):
    assert list(run(workers=workers)) == EXPECTED
    context = (np.array([i]) for i in range(300))
    assert list(run(context=context, workers=workers)) == [(f"w{i}", i) for i in range(300)]


def test_no_sentences_give_no_results():
    assert list(run([])) == list(run([], workers=2)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_at_most_two_chunks_are_read_ahead(workers):
    num_read = num_used = 0  # words

    def read_sentences():
        nonlocal num_read
        for sentence in SENTENCES:
            num_read += len(sentence)
            yield sentence

    for sentence, _ in zip(SENTENCES, run(read_sentences(), workers=workers), strict=True):
        assert num_used or num_read < 20 + 11  # first chunk; sentences have 11 words at most
        num_used += len(sentence)
        assert num_read - num_used < 3 * (100 + 11)


def chunk_ends():
    """Return the number of sentences up to the end of each chunk."""
    ends, words, limit = [0], 0, 20
    for number, sentence in enumerate(SENTENCES, 1):
        words += len(sentence)
        if words >= limit:
            ends.append(number)
            words, limit = 0, min(chunks.GROWTH * limit, 100)
    return ends


def test_results_are_not_delayed_by_reading(monkeypatch):
    """Results of a chunk are yielded as soon as they are computed, while the next chunk is read.

    The batches of a chunk wait at a gate until half of the next chunk has been read.
    """
    created_chunks = []
    initialise = chunks._Chunk.__init__

    def record(self, *arguments, **named):
        created_chunks.append(self)
        initialise(self, *arguments, **named)

    monkeypatch.setattr(chunks._Chunk, "__init__", record)
    chunk_start, chunk_end, next_end = chunk_ends()[9:12]
    middle = (chunk_end + next_end) // 2
    gate = threading.Event()
    num_used = 0  # results

    def compute_behind_gate(batch, sentences):
        if SENTENCES.index(sentences[0]) >= chunk_start:
            assert gate.wait(10)
        return first_forms(batch, sentences)

    def read_sentences():
        for number, sentence in enumerate(SENTENCES):
            if number == middle:
                assert num_used == chunk_start
                gate.set()
                wait(created_chunks[-1].batches)
            if number == middle + 1:  # the results were used before the next sentence is read
                assert num_used == chunk_end
            yield sentence

    for _ in run(read_sentences(), compute=compute_behind_gate, workers=2):
        num_used += 1
    assert num_used == len(SENTENCES)


@pytest.mark.parametrize("location", ["in a batch", "in reading"])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_after_the_results_before_it(workers, location):
    def compute_or_fail(batch, sentences):
        if location == "in a batch" and SENTENCES[100] in sentences:
            raise KeyError(location)
        return first_forms(batch, sentences)

    def read_or_fail():
        yield from SENTENCES[:100]
        if location == "in reading":
            raise KeyError(location)
        yield from SENTENCES[100:]

    results = []
    with pytest.raises(KeyError, match=location):
        for result in run(read_or_fail(), compute=compute_or_fail, workers=workers):
            results.append(result)
    assert results == EXPECTED[: len(results)]
    if location == "in reading":
        assert len(results) == 100
    else:  # Only the sentences of the batch itself have no result.
        assert max(end for end in chunk_ends() if end <= 100) < len(results) <= 100


@pytest.mark.parametrize("workers", [1, 3])
def test_torch_keeps_its_threads_while_results_are_used(workers):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        first, second = run(workers=workers), run(workers=workers)
        for _ in zip(first, second, strict=True):
            assert torch.get_num_threads() == 2
        results = run(workers=workers)
        next(results)
        results.close()  # as when a caller needs no more results
        assert torch.get_num_threads() == 2
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("parser")]
    finally:
        torch.set_num_threads(before)


OUT_OF_MEMORY = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", [*OUT_OF_MEMORY, RuntimeError("shapes do not match")], ids=str)
def test_a_batch_that_does_not_fit_is_split_and_other_errors_are_raised(tiny, error):
    capacity, sizes = 2, []

    def compute_in_small_memory(batch, sentences):
        if len(sentences) > capacity:
            raise error
        sizes.append(len(sentences))
        return first_forms(batch, sentences)

    if error not in OUT_OF_MEMORY:
        with pytest.raises(RuntimeError, match="shapes"):
            list(run(compute=compute_in_small_memory))
        return
    assert list(run(compute=compute_in_small_memory)) == EXPECTED
    assert max(sizes) == 2
    capacity = 0
    with pytest.raises(
        MemoryError, match=r"tiny-.* a sentence of \d+ words does not fit in memory"
    ):
        list(run(tiny, compute=compute_in_small_memory))


@pytest.mark.parametrize("workers", [2, 5])
def test_a_sentence_that_fits_alone_is_computed_alone(workers):
    computing, maximum = 0, 0
    lock = threading.Lock()

    def compute_one_at_a_time(batch, sentences):
        nonlocal computing, maximum
        with lock:
            computing += 1
            maximum = max(maximum, computing)
            alone = computing == 1
        try:
            if not alone or len(sentences) > 1:
                raise MemoryError
            return first_forms(batch, sentences)
        finally:
            with lock:
                computing -= 1

    results = list(run(SENTENCES[:60], compute=compute_one_at_a_time, workers=workers))
    assert results == EXPECTED[:60]


@pytest.mark.parametrize("engine_class", [TorchEngine, ExactEngine])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_stream_has_the_results_of_all_sentences_in_order(workers, engine_class):
    options = {"workers": workers, "engine_class": engine_class, "on_wait": lambda: None}
    assert list(run(iter(SENTENCES), **options)) == EXPECTED
    assert list(run(iter([]), **options)) == []


@pytest.mark.parametrize("engine_class", [TorchEngine, ExactEngine])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_has_arrived_of_a_stream_is_computed_while_it_waits(workers, engine_class):
    """The source sends bursts of sentences, and waits for all their results before the next one."""
    used, waited = threading.Semaphore(0), 0

    def read_slowly():
        start = 0
        for size in (1, 2, 30, 1, 7):
            yield from SENTENCES[start : start + size]
            for _ in range(size):
                assert used.acquire(timeout=20), "a result is late"
            start += size

    def count_wait():
        nonlocal waited
        waited += 1

    results = []
    for result in run(
        read_slowly(), workers=workers, engine_class=engine_class, on_wait=count_wait
    ):
        results.append(result)
        used.release()
    assert results == EXPECTED[:41]
    assert waited >= 4  # after each burst but the last, there is nothing to do


def test_a_fast_stream_is_computed_in_the_batches_of_a_list():
    """With an engine whose results depend on the batches, so that they do not change."""

    def sizes_of_batches(**options):
        sizes = []

        def compute(batch, sentences):
            sizes.append([len(sentence) for sentence in sentences])
            return first_forms(batch, sentences)

        list(run(compute=compute, **options))
        return sizes

    assert sizes_of_batches(on_wait=lambda: None) == sizes_of_batches()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_stream_is_raised_after_the_results_before_it(workers):
    def read_or_fail():
        yield from SENTENCES[:100]
        raise KeyError("in reading")

    results = []
    with pytest.raises(KeyError, match="in reading"):
        for result in run(read_or_fail(), workers=workers, on_wait=lambda: None):
            results.append(result)
    assert results == EXPECTED[:100]
