"""Sentences that are read ahead on a thread of their own, so that slow input delays no results."""

import contextvars
import sys
from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class ReadAhead(Generic[T]):
    """An iterator over items that a thread of its own reads ahead.

    Other than an ordinary iterator, it says whether the next item has arrived, and its reader can
    be woken while it waits. The thread ends when the items end or, after `close`, when it has read
    the next item. It does not keep Python from exiting.

    Args:
        items: The items, which are iterated over, and closed, on the thread only.
        size: A function that returns the size of an item.
        limit: The thread reads on while the items ahead are smaller than this in total.
    """

    def __init__(self, items: Iterable[T], size: Callable[[T], int], limit: int) -> None:
        self.items, self.size, self.limit = items, size, limit
        self.ahead: deque[T] = deque()
        self.size_ahead = 0
        self.error: BaseException | None = None  # what the items have ended with
        self.has_ended = self.is_closed = self.is_woken = False
        self.changed = Condition()
        context = contextvars.copy_context()  # such as that of `streams.watch_reading`
        # Nobody can interrupt a thread that waits for input, so Python must not wait for it.
        Thread(target=context.run, args=(self._read,), name="reader", daemon=True).start()

    def _read(self) -> None:
        # If Python exits while this thread waits for stdin, nobody must close stdin, whose lock is
        # held by this thread. Python closes a stream when nothing refers to it any more.
        stdin, error = sys.stdin, None
        try:
            for item in self.items:
                with self.changed:
                    self.changed.wait_for(lambda: self.is_closed or self.size_ahead < self.limit)
                    if self.is_closed:
                        break
                    self.ahead.append(item)
                    self.size_ahead += self.size(item)
                    self.changed.notify_all()
            if close := getattr(self.items, "close", None):
                close()
        except BaseException as raised:  # raised again by __next__
            error = raised
        with self.changed:
            self.error, self.has_ended = error, True
            self.changed.notify_all()
        del stdin

    def has_arrived(self) -> bool:
        """Return whether the next item, or the end, can be read without waiting."""
        return bool(self.ahead) or self.has_ended

    def arrives_within(self, seconds: float) -> bool:
        """Wait for the next item or the end, and return whether it has arrived in time."""
        with self.changed:
            return self.changed.wait_for(self.has_arrived, seconds)

    def wait(self) -> None:
        """Wait until the next item or the end has arrived, or until `wake` is called."""
        with self.changed:
            self.changed.wait_for(lambda: self.has_arrived() or self.is_woken)
            self.is_woken = False

    def wake(self, _: object = None) -> None:
        """End the present or the next `wait`. The argument is for callbacks of futures."""
        with self.changed:
            self.is_woken = True
            self.changed.notify_all()

    def close(self) -> None:
        """Read no more items."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def __iter__(self) -> "ReadAhead[T]":
        return self

    def __next__(self) -> T:
        """Return the next item. An error of the items is raised after the items before it."""
        with self.changed:
            self.changed.wait_for(self.has_arrived)
            if self.ahead:
                item = self.ahead.popleft()
                self.size_ahead -= self.size(item)
                self.changed.notify_all()
                return item
        if self.error:
            raise self.error
        raise StopIteration
