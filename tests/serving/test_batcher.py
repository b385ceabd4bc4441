"""Requests share rounds of the worker thread, and none suffers from another one."""

from threading import Event, Thread

import pytest

from depkit.corpus.sentence import Sentence
from depkit.serving import batcher as module
from depkit.serving.batcher import AbandonedError, Batcher, BusyError
from tests.serving.waiting import SECONDS, wait_for


class Annotator:
    """Counts the sentences of each call; the first call waits for `go`."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.started, self.go = Event(), Event()

    def __call__(self, sentences):
        sentences = list(sentences)
        self.calls.append([sentence.form[0] for sentence in sentences])
        self.started.set()
        assert self.go.wait(SECONDS)
        if any(sentence.form[0] == "bad" for sentence in sentences):
            raise ValueError("a bad sentence")
        return [sentence.with_columns({"upos": ["X"] * len(sentence)}) for sentence in sentences]


@pytest.fixture
def batcher():
    """Return a batcher that is stopped after the test."""
    batcher = Batcher(8)
    batcher.start()
    yield batcher
    batcher.stop()


def make_sentences(*words):
    return iter([Sentence.from_words([word]) for word in words])


class Caller(Thread):
    """A thread that annotates sentences; `result` is the list of their forms, or an error."""

    def __init__(self, batcher, annotate, *words, **options) -> None:
        super().__init__(daemon=True)
        self.arguments = batcher, annotate, words, options
        self.result: object = None
        self.start()

    def run(self) -> None:
        batcher, annotate, words, options = self.arguments
        try:
            results = batcher.annotate(
                make_sentences(*words), annotate, **{"seconds": SECONDS, **options}
            )
            self.result = [(sentence.form[0], sentence.upos[0]) for sentence in results]
        except Exception as error:
            self.result = error

    def finish(self):
        self.join(SECONDS)
        assert not self.is_alive()
        return self.result


def test_requests_that_wait_are_annotated_in_one_call(batcher):
    annotate = Annotator()
    first = Caller(batcher, annotate, "a")
    assert annotate.started.wait(SECONDS)
    others = [Caller(batcher, annotate, f"b{i}", f"c{i}") for i in range(5)]
    wait_for(lambda: len(batcher.open) == 6)
    annotate.go.set()
    assert first.finish() == [("a", "X")]
    assert [caller.finish() for caller in others] == [
        [(f"b{i}", "X"), (f"c{i}", "X")] for i in range(5)
    ]
    assert [len(call) for call in annotate.calls] == [1, 10]


def test_a_round_waits_for_the_clients_of_the_last_one(batcher, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT", 1e6)
    annotate = Annotator()
    callers = [Caller(batcher, annotate, "a")]
    assert annotate.started.wait(SECONDS)
    callers += [Caller(batcher, annotate, "b") for _ in range(3)]
    wait_for(lambda: len(batcher.open) == 4)
    annotate.go.set()
    assert all(caller.finish() for caller in callers)
    assert [len(call) for call in annotate.calls] == [1, 3]
    callers = [Caller(batcher, annotate, "c") for _ in range(2)]
    wait_for(lambda: len(batcher.open) == 2)
    callers.append(Caller(batcher, annotate, "c"))
    assert all(caller.finish() for caller in callers)
    assert [len(call) for call in annotate.calls] == [1, 3, 3]


def test_a_round_does_not_wait_if_others_have_come(batcher, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT", 1e6)
    annotate = Annotator()
    first = Caller(batcher, annotate, "a")
    assert annotate.started.wait(SECONDS)
    second = Caller(batcher, annotate, "b")
    wait_for(lambda: len(batcher.open) == 2)
    annotate.go.set()
    assert first.finish() and second.finish()


def test_a_round_does_not_wait_twice_for_a_client_that_has_come_back(batcher, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAIT", 1e6)
    first, fast, slow = Annotator(), Annotator(), Annotator()
    fast.go.set()
    callers = [Caller(batcher, first, "a")]
    assert first.started.wait(SECONDS)
    callers += [Caller(batcher, fast, "b")]
    wait_for(lambda: len(batcher.open) == 2)
    callers += [Caller(batcher, slow, "c")]
    wait_for(lambda: len(batcher.open) == 3)
    first.go.set()
    assert slow.started.wait(SECONDS)
    callers[1].finish()
    callers.append(Caller(batcher, fast, "b"))  # while the round is still computing "c"
    wait_for(lambda: len(batcher.open) == 2)
    slow.go.set()
    callers[2].finish()
    callers.append(Caller(batcher, slow, "c"))
    assert all(caller.finish() for caller in callers)
    assert len(fast.calls) == len(slow.calls) == 2


def test_the_place_of_a_request_is_free_when_its_results_are_known(batcher):
    annotate = Annotator()
    annotate.go.set()
    for _ in range(30):
        callers = [Caller(batcher, annotate, "a") for _ in range(8)]
        assert [caller.finish() for caller in callers] == [[("a", "X")]] * 8


def test_a_sentence_that_fails_fails_its_own_request_only(batcher):
    annotate = Annotator()
    first = Caller(batcher, annotate, "a")
    assert annotate.started.wait(SECONDS)
    callers = [Caller(batcher, annotate, word) for word in ("b", "bad", "c")]
    wait_for(lambda: len(batcher.open) == 4)
    annotate.go.set()
    assert first.finish() == [("a", "X")]
    b, bad, c = [caller.finish() for caller in callers]
    assert (b, c) == ([("b", "X")], [("c", "X")])
    assert str(bad) == "a bad sentence"


def test_an_error_in_reading_is_raised_in_its_request(batcher):
    def read():
        yield Sentence.from_words(["a"])
        raise ValueError("line 2")

    annotate = Annotator()
    annotate.go.set()
    with pytest.raises(ValueError, match="line 2"):
        list(batcher.annotate(read(), annotate, seconds=SECONDS))
    assert Caller(batcher, annotate, "b").finish() == [("b", "X")]


def test_no_sentences_have_no_results(batcher):
    annotate = Annotator()
    annotate.go.set()
    assert Caller(batcher, annotate).finish() == []


def test_a_large_request_does_not_delay_a_small_one_to_its_end(batcher, monkeypatch):
    monkeypatch.setattr(module, "ROUND_WORDS", 2)
    monkeypatch.setattr(module, "MIN_WORDS", 1)
    annotate = Annotator()
    large = Caller(batcher, annotate, *map(str, range(20)))
    assert annotate.started.wait(SECONDS)
    small = Caller(batcher, annotate, "small")
    wait_for(lambda: len(batcher.open) == 2)
    annotate.go.set()
    assert small.finish() == [("small", "X")]
    assert large.finish() == [(str(i), "X") for i in range(20)]
    assert "small" in annotate.calls[1]


def test_too_many_requests_are_refused(batcher):
    annotate = Annotator()
    callers = [Caller(batcher, annotate, "a") for _ in range(8)]
    wait_for(lambda: len(batcher.open) == 8)
    with pytest.raises(BusyError):
        list(batcher.annotate(make_sentences("b"), annotate, seconds=SECONDS))
    annotate.go.set()
    assert [caller.finish() for caller in callers] == [[("a", "X")]] * 8


def test_the_time_of_a_request_is_limited_and_its_place_becomes_free(batcher):
    annotate = Annotator()
    assert isinstance(Caller(batcher, annotate, "a", seconds=0.1).finish(), TimeoutError)
    assert not batcher.open  # although the worker thread is still annotating
    annotate.go.set()
    assert Caller(batcher, annotate, "b").finish() == [("b", "X")]


def test_a_client_that_has_gone_is_noticed(batcher):
    annotate = Annotator()
    caller = Caller(batcher, annotate, "a", is_gone=lambda: True)
    assert isinstance(caller.finish(), AbandonedError)
    annotate.go.set()


def test_a_request_that_is_given_up_is_annotated_to_the_end_of_its_round_only(batcher, monkeypatch):
    monkeypatch.setattr(module, "ROUND_WORDS", 2)
    monkeypatch.setattr(module, "MIN_WORDS", 1)
    annotate = Annotator()
    caller = Caller(batcher, annotate, *map(str, range(20)), is_gone=annotate.started.is_set)
    assert isinstance(caller.finish(), AbandonedError)
    callers = [Caller(batcher, annotate, "a") for _ in range(8)]
    wait_for(lambda: len(batcher.open) == 8)
    annotate.go.set()
    assert [caller.finish() for caller in callers] == [[("a", "X")]] * 8
    assert annotate.calls[:2] == [["0", "1"], ["a"] * 8]


def test_stopping_finishes_what_is_under_way_and_refuses_more():
    batcher, annotate = Batcher(8), Annotator()
    batcher.start()
    caller = Caller(batcher, annotate, "a")
    assert annotate.started.wait(SECONDS)
    stopper = Thread(target=batcher.stop, daemon=True)
    stopper.start()
    wait_for(lambda: batcher.is_stopping)
    with pytest.raises(BusyError):
        list(batcher.annotate(make_sentences("b"), annotate, seconds=SECONDS))
    annotate.go.set()
    stopper.join(SECONDS)
    assert not stopper.is_alive() and caller.finish() == [("a", "X")]
