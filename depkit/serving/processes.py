"""Workers that are processes of this machine."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.queues import Queue
from typing import TypeVar

from depkit.files.children import Bond, run_child
from depkit.files.system import without_interrupts
from depkit.parsers.loading import has_gpu
from depkit.serving.parts import Task
from depkit.serving.plan import Plan
from depkit.serving.worker import Annotate, Result, Worker

T = TypeVar("T")

# The worker of this process, if it is a worker process, or why its models cannot be loaded
_worker: Worker | Exception | None = None


@contextmanager
def start_processes(plan: Plan) -> Iterator[Annotate]:
    """Start as many processes as the job has workers, and end them after the block.

    The block begins when one of them has loaded the models.

    Raises OSError within the block if a process is killed, and the errors of
    `files.annotate_files`.
    """
    job, context = plan.job, multiprocessing.get_context("spawn")
    devices: Queue[str] = context.Queue()
    names = _find_devices(plan)
    for number in range(job.workers):
        devices.put(names[number % len(names)])
    job = replace(job, threads=job.threads or max(1, (os.cpu_count() or 1) // job.workers))
    executor = ProcessPoolExecutor(
        job.workers, context, run_child, (Bond(), _start_worker, replace(plan, job=job), devices)
    )
    try:
        _submit(executor, _wait_for_worker).result()
        yield partial(_annotate_tasks, executor, 2 * job.workers)
    except BrokenProcessPool:
        raise OSError(
            "a worker process was killed, perhaps because memory ran out; use fewer `workers`"
        ) from None
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


def _find_devices(plan: Plan) -> list[str]:
    """Return the devices of the workers; torch is imported only to look for GPUs."""
    name = plan.job.device
    if name == "cpu" or (name == "auto" and not (plan.uses_torch and has_gpu())):
        return ["cpu"]
    from depkit.parsers.engine.device import find_devices

    return [str(device) for device in find_devices(name)]


def _annotate_tasks(
    executor: ProcessPoolExecutor, ahead: int, tasks: Iterable[Task]
) -> Iterator[Result]:
    """Yield the results of tasks in order; at most `ahead` of them are submitted in advance."""
    futures: deque[Future[Result]] = deque()
    for task in tasks:
        futures.append(_submit(executor, _annotate, task))
        if len(futures) > ahead:
            yield futures.popleft().result()
    while futures:
        yield futures.popleft().result()


def _submit(
    executor: ProcessPoolExecutor, function: Callable[..., T], *arguments: Task
) -> Future[T]:
    """Submit a call, which may start a process.

    A terminal sends Ctrl-C to all processes, but only the parent may react. The processes inherit
    the mask of signals, so that they do not receive this one even while they start.
    """
    with without_interrupts():
        return executor.submit(function, *arguments)


def _start_worker(plan: Plan, devices: "Queue[str]") -> None:
    """Load the models in a new process.

    An error raised here would look like that of a process that is killed, so `_get_worker` raises
    it.
    """
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # needed on Windows only, see `_submit`
    try:
        _worker = Worker(replace(plan, job=replace(plan.job, device=devices.get())))
    except Exception as error:
        _worker = error


def _get_worker() -> Worker:
    if isinstance(_worker, Exception):
        raise _worker
    assert _worker is not None
    return _worker


def _wait_for_worker() -> None:
    """Raise the error that a process had when it loaded the models."""
    _get_worker()


def _annotate(task: Task) -> Result:
    return _get_worker().annotate(task)
