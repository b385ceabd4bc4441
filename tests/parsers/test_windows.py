"""Windows of sentences: order, how far ahead is read, errors on whichever thread they occur."""

import threading

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.parsers import windows
from depkit.parsers.windows import over_windows

SENTENCES = [new_sentence([f"w{i}"] * (1 + i * 7 % 11)) for i in range(300)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(windows, "FIRST_WINDOW", 20)
    monkeypatch.setattr(windows, "WINDOW", 100)


def prepare(sentences, context):
    return list(sentences), list(context)


def forms(prepared, numbers, batch):
    """The first form of each sentence, and what of its context there is."""
    sentences, context = prepared
    assert batch == [sentences[number] for number in numbers]
    return [
        (sentences[number].form[0], *(context[number].tolist() if context else ()))
        for number in numbers.tolist()
    ]


def run(sentences=SENTENCES, context=None, analyse=forms, workers=1, tokens=40):
    return over_windows(sentences, context, prepare, analyse, tokens, workers)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order(workers):
    assert list(run(workers=workers)) == [(sentence.form[0],) for sentence in SENTENCES]
    context = [np.array([i]) for i in range(300)]
    found = list(run(context=iter(context), workers=workers))
    assert found == [(sentence.form[0], i) for i, sentence in enumerate(SENTENCES)]


def test_no_sentences_no_results():
    assert list(run([])) == list(run([], workers=2)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_two_windows_are_read_ahead_at_most(workers):
    words = used = 0

    def read():
        nonlocal words
        for sentence in SENTENCES:
            words += len(sentence)
            yield sentence

    for sentence, _ in zip(SENTENCES, run(read(), workers=workers), strict=True):
        used += len(sentence)
        assert words - used < 3 * (100 + 11)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_window_waits_for_no_other(workers):
    read: list[Sentence] = []

    def slow():
        for sentence in SENTENCES:
            read.append(sentence)
            yield sentence

    next(run(slow(), workers=workers))
    assert sum(map(len, read)) < 20 + 11


def test_what_is_computed_is_not_held_up_by_what_is_yet_to_be_read():
    computed = threading.Semaphore(0)
    used = 0

    def announced(prepared, numbers, batch):
        try:
            return forms(prepared, numbers, batch)
        finally:
            computed.release()

    def slow():
        """Waits, in the middle of a window, until the windows before are computed."""
        batches = 0
        for number, sentence in enumerate(SENTENCES):
            if number == 150:
                while computed.acquire(timeout=0.5):
                    batches += 1
                assert batches > 4
            yield sentence
            if number == 151:  # one sentence later all of these have been used
                assert used > 100

    for _ in run(slow(), analyse=announced, workers=2):
        used += 1
    assert used == len(SENTENCES)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_batch_is_raised_here(workers):
    def broken(prepared, numbers, batch):
        if any(sentence.form[0] == "w100" for sentence in batch):
            raise KeyError("w100")
        return forms(prepared, numbers, batch)

    found = []
    with pytest.raises(KeyError, match="w100"):
        found += run(analyse=broken, workers=workers)
    assert ("w0",) in found or not found


@pytest.mark.parametrize("workers", [1, 3])
def test_what_was_set_is_set_back(workers):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        results = run(workers=workers)
        next(results)
        results.close()  # as a reader that has seen enough
        assert torch.get_num_threads() == 2
        assert not [each for each in threading.enumerate() if each.name.startswith("parser")]
    finally:
        torch.set_num_threads(before)


def test_a_batch_that_does_not_fit_is_split():
    sizes = []

    def small_memory(prepared, numbers, batch):
        if len(batch) > 2:
            raise MemoryError
        sizes.append(len(batch))
        return forms(prepared, numbers, batch)

    assert list(run(analyse=small_memory)) == [(sentence.form[0],) for sentence in SENTENCES]
    assert max(sizes) == 2

    def no_memory(prepared, numbers, batch):
        raise MemoryError

    with pytest.raises(MemoryError, match=r"a sentence of \d+ words does not fit in memory"):
        list(run(analyse=no_memory))
