"""Reading ahead on a thread: order, limit, waiting, errors, and the end of the thread."""

import contextvars
import threading
from queue import SimpleQueue

import pytest

from depkit.parsers.read_ahead import ReadAhead

SECONDS = 20  # a wait that takes this long fails the test


def test_items_come_in_order_and_an_error_after_them():
    def items():
        yield from range(100)
        raise KeyError("broken")

    stream, results = ReadAhead(items(), lambda item: 1, 7), []
    with pytest.raises(KeyError, match="broken"):
        for item in stream:
            results.append(item)
    assert results == list(range(100))
    assert list(ReadAhead(iter([]), len, 1)) == []


def test_it_says_whether_the_next_item_has_arrived():
    source = SimpleQueue()
    stream = ReadAhead(iter(source.get, None), lambda item: 1, 10)
    assert not stream.has_arrived()
    assert not stream.arrives_within(0.01)
    source.put("a")
    assert stream.arrives_within(SECONDS) and next(stream) == "a"
    stream.wake()
    assert not stream.arrives_within(0.01)
    stream.wait()  # it would wait for ever without `wake`
    source.put(None)
    stream.wait()
    assert stream.has_arrived()
    with pytest.raises(StopIteration):
        next(stream)


def test_the_thread_waits_when_it_is_far_enough_ahead():
    read = []

    def items():
        for size in [3, 4, 5, 1, 1]:
            read.append(size)
            yield size

    stream = ReadAhead(items(), lambda item: item, 6)
    results = []
    while not stream.has_ended:
        with stream.changed:  # until the thread waits for space, or has ended
            full = stream.changed.wait_for(
                lambda: stream.size_ahead >= 6 or stream.has_ended, SECONDS
            )
        assert full
        assert sum(read) - sum(results) <= 6 + 5 + 5  # the limit, the last item, the next one
        if stream.ahead:
            results.append(next(stream))
    assert [*results, *stream] == [3, 4, 5, 1, 1]


def test_after_close_the_items_are_closed_on_their_thread():
    ended = threading.Event()
    threads = set()

    def items():
        try:
            for number in range(1000):
                threads.add(threading.current_thread())
                yield number
        finally:
            threads.add(threading.current_thread())
            ended.set()

    stream = ReadAhead(items(), lambda item: 1, 5)
    assert next(stream) == 0
    stream.close()
    assert ended.wait(SECONDS)
    assert len(threads) == 1 and threading.current_thread() not in threads
    list(stream)  # this ends, too


def test_the_thread_has_the_context_of_its_maker():
    variable = contextvars.ContextVar("variable", default="other")
    variable.set("own")
    assert list(ReadAhead((variable.get() for _ in range(1)), len, 9)) == ["own"]
