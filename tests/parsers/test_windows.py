"""Windows of sentences: order, how far ahead is read, errors on whichever thread they occur."""

import threading
from concurrent.futures import wait

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


def window_ends():
    """How many sentences there are up to the end of each window."""
    ends, words, limit = [0], 0, 20
    for number, sentence in enumerate(SENTENCES, 1):
        words += len(sentence)
        if words >= limit:
            ends.append(number)
            words, limit = 0, min(windows.GROWTH * limit, 100)
    return ends


def test_what_is_computed_is_not_held_up_by_what_is_yet_to_be_read(monkeypatch):
    made = []
    make = windows._Window.__init__
    monkeypatch.setattr(
        windows._Window, "__init__", lambda self, *given: made.append(self) or make(self, *given)
    )
    before, end, following = window_ends()[9:12]
    middle = (end + following) // 2
    gate = threading.Event()
    used = 0

    def held(prepared, numbers, batch):
        if SENTENCES.index(batch[0]) >= before:
            assert gate.wait(10)
        return forms(prepared, numbers, batch)

    def slow():
        for number, sentence in enumerate(SENTENCES):
            if number == middle:
                assert used == before
                gate.set()
                wait(made[-1].batches)
            if number == middle + 1:  # one sentence later what is computed has been used
                assert used == end
            yield sentence

    for _ in run(slow(), analyse=held, workers=2):
        used += 1
    assert used == len(SENTENCES)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_batch_comes_after_the_windows_before(workers):
    def broken(prepared, numbers, batch):
        if any(sentence.form[0] == "w100" for sentence in batch):
            raise KeyError("w100")
        return forms(prepared, numbers, batch)

    found = []
    with pytest.raises(KeyError, match="w100"):
        for each in run(analyse=broken, workers=workers):
            found.append(each)
    last = max(end for end in window_ends() if end <= 100)
    assert found == [(sentence.form[0],) for sentence in SENTENCES[:last]] != []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_reading_comes_after_all_that_was_read(workers):
    def broken():
        yield from SENTENCES[:100]
        raise KeyError("the next line")

    found = []
    with pytest.raises(KeyError, match="the next line"):
        for each in run(broken(), workers=workers):
            found.append(each)
    assert found == [(sentence.form[0],) for sentence in SENTENCES[:100]]


@pytest.mark.parametrize("workers", [1, 3])
def test_torch_has_its_threads_while_results_are_used(workers):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        one, other = run(workers=workers), run(workers=workers)
        for _ in zip(one, other, strict=True):
            assert torch.get_num_threads() == 2
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


@pytest.mark.parametrize("workers", [2, 5])
def test_a_sentence_that_fits_alone_is_computed_alone(workers):
    computing, most = 0, 0
    lock = threading.Lock()

    def room_for_one(prepared, numbers, batch):
        nonlocal computing, most
        with lock:
            computing += 1
            most = max(most, computing)
            alone = computing == 1
        try:
            if not alone or len(batch) > 1:
                raise MemoryError
            return forms(prepared, numbers, batch)
        finally:
            with lock:
                computing -= 1

    found = list(run(SENTENCES[:60], analyse=room_for_one, workers=workers))
    assert found == [(sentence.form[0],) for sentence in SENTENCES[:60]]
