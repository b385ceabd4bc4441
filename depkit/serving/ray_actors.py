"""Workers that are actors of a Ray cluster, on one machine or several.

The actors read the files themselves, and the process that started them writes the results. A task
whose actor, or whose machine, is lost is given to another actor, and its result is written once.

Ray Data is not used: it also needs pandas, and it keeps the tasks of a lost actor for the restarted
actor. They would wait forever if the remaining machines have no free processor for that actor.
"""

import logging
import os
import re
import secrets
import signal
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

from depkit.parsers.settings import ConfigError
from depkit.serving.parts import Task
from depkit.serving.plan import Plan
from depkit.serving.ray_guard import start_guard
from depkit.serving.worker import Annotate, Result, Worker

MAX_LOSSES = 3  # the job fails if actors are lost more often than this with the same task
PATIENCE = 60  # seconds of waiting for a worker to start, after which a note tells the user
# Bytes of shared memory of a local cluster for the results that have not been fetched; when it is
# full, Ray writes them to disk.
OBJECT_STORE = 100 << 20


def import_ray(address: str) -> Any:
    """Return the module ray. Raises ValueError if it is not installed.

    address: the address of the cluster to connect to; "" to start one, with a random
    authentication token.
    """
    if not address:
        # If no token is set, Ray writes one into the user's home directory.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ModuleNotFoundError:
        raise ValueError("`distribute` ray needs Ray: pip install 'depkit-parser[ray]'") from None
    return ray


@contextmanager
def start_actors(plan: Plan, note: Callable[[str], None]) -> Iterator[Annotate]:
    """Connect to a cluster, or start one on this machine, and start the job's workers as actors.

    The actors, and a cluster that was started, end after the block, which begins when one of them
    has loaded the models. note: called with a message to the user if the cluster does not start any
    worker.

    Raises:
        ConfigError: If the job names a particular GPU.
        OSError: If there is no such cluster, or, also within the block, if workers are lost too
            often; and the errors of `files.annotate_files`.
        SystemExit: If the process receives SIGTERM.
    """
    job = plan.job
    if "," in job.device or job.device.startswith("cuda:"):
        raise ConfigError("`distribute` ray chooses the GPU of each worker; give `device` cuda")
    ray = import_ray(job.address)
    threads = job.threads or 1
    if not job.address:
        threads = job.threads or max(1, (os.cpu_count() or 1) // job.workers)
    with nullcontext() if job.address else start_guard():
        try:
            _connect(ray, job.address, job.workers * threads)
            uses_gpu = job.device == "cuda"
            if job.device == "auto":
                uses_gpu = plan.uses_torch and ray.cluster_resources().get("GPU", 0) > 0
            job = replace(job, threads=threads, device="cuda" if uses_gpu else job.device)
            actors = _Actors(ray, replace(plan, job=job), note)
            actors.start()
            yield actors.annotate
        except SystemExit:
            # Ray changes the exit status of the signal's handler, even to 0.
            raise SystemExit(128 + signal.SIGTERM) from None
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str, num_cpus: int) -> None:
    """Connect to a cluster, or start one with this number of CPUs if there is no address."""
    local = {
        "num_cpus": num_cpus, "object_store_memory": OBJECT_STORE, "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
    }  # fmt: skip
    previous = signal.getsignal(signal.SIGTERM)
    try:
        if server := re.fullmatch(r"(ray://)?(.+):(\d+)", address):
            # Test the address first, because Ray would try to connect for minutes.
            socket.create_connection((server[2], int(server[3])), timeout=20).close()
        # Ray would print errors of the cluster, such as the loss of a machine, to standard output,
        # where they would be mixed with the trees.
        ray._private.worker.print_to_stdstream = lambda *arguments, **options: None
        # Ray adds the current directory to the search path of the workers, except for this
        # kind of job.
        config = ray.job_config.JobConfig(_client_job=True)
        ray.init(
            address or "local", **({} if address else local), logging_level=logging.CRITICAL,
            log_to_driver=False, job_config=config,
        )  # fmt: skip
    except Exception as error:  # Ray raises exceptions of many types
        problem = f"cannot connect to the Ray cluster {address}"
        reason = (isinstance(error, OSError) and error.strerror) or " ".join(str(error).split())
        raise OSError(f"{problem if address else 'cannot start Ray'}: {reason}") from None
    finally:
        signal.signal(signal.SIGTERM, previous)  # `ray.init` replaces it


class Actor:
    """A process of the cluster that annotates parts of files."""

    def start(self, plan: Plan, directory: str, settings: dict[str, str]) -> None:
        """Load the models.

        This is not done by the constructor, because its errors would not reach the process that
        started the actor. directory: that to which the names of files are relative; settings:
        environment variables.
        """
        os.chdir(directory)
        os.environ.update(settings)
        self.worker = Worker(plan)

    def annotate(self, task: Task) -> Result:
        return self.worker.annotate(task)


class _Actors:
    """The actors of a job; ray: the module, connected to a cluster; note: as for `start_actors`."""

    def __init__(self, ray: Any, plan: Plan, note: Callable[[str], None]) -> None:
        self.ray, self.plan, self.job, self.note = ray, plan, plan.job, note
        job = plan.job
        resources = {"num_cpus": job.threads, "num_gpus": int(job.device == "cuda")}
        self.actor_class = ray.remote(**resources)(Actor)
        self.idle: list[Any] = []
        # The actor and task of each call that has not returned. The task is None if the
        # actor starts.
        self.calls: dict[Any, tuple[Any, Task | None]] = {}
        self.queue: deque[Task] = deque()  # tasks for the next idle actors
        self.losses: Counter[Task | None] = Counter()  # how often actors were lost with a task

    def start(self) -> None:
        """Start the actors; return when the first of them is ready."""
        for _ in range(self.job.workers):
            self._start_actor()
        while not self._wait():
            pass

    def annotate(self, tasks: Iterable[Task]) -> Iterator[Result]:
        tasks = iter(tasks)
        # The tasks in progress, in order, with the results or errors of those that have returned
        results: dict[Task, Result | Exception | None] = {}
        while True:
            new = list(islice(tasks, 3 * self.job.workers - len(results)))
            results |= dict.fromkeys(new)
            self.queue += new
            if not results:
                return
            while self.queue and self.idle:
                actor, task = self.idle.pop(), self.queue.popleft()
                self.calls[actor.annotate.remote(task)] = actor, task
            if (returned := self._wait()) and returned[0]:
                results[returned[0]] = returned[1]
            while results and (result := next(iter(results.values()))):
                if isinstance(result, Exception):
                    raise result
                del results[result.task]
                yield result

    def _start_actor(self) -> None:
        passed = ("DEPKIT_", "HF_HUB_OFFLINE", "HF_ENDPOINT")
        settings = {name: value for name, value in os.environ.items() if name.startswith(passed)}
        actor = self.actor_class.remote()
        self.calls[actor.start.remote(self.plan, os.getcwd(), settings)] = actor, None

    def _wait(self) -> tuple[Task | None, Any] | None:
        """Wait until a call returns; return its task, and its result or the error of the task.

        If the actor is lost, another one is started, its task is put back into the queue, and None
        is returned.
        """
        finished: list[Any] = []
        while not finished:
            finished, _ = self.ray.wait(list(self.calls), timeout=PATIENCE)
            if not finished and not any(task for _, task in self.calls.values()):
                self._note_waiting()
        actor, task = self.calls.pop(finished[0])
        try:
            result = self.ray.get(finished[0])
        except self.ray.exceptions.RayTaskError as error:
            if not task:
                raise error.cause from None
            result = error.cause
        except self.ray.exceptions.RayError as error:
            self._replace(actor, task, error)
            return None
        del self.losses[task]
        self.idle.append(actor)
        return task, result

    def _replace(self, actor: Any, task: Task | None, error: Exception) -> None:
        """Start another actor instead of a lost one; raise OSError if that happens too often."""
        self.losses[task] += 1
        if self.losses[task] > MAX_LOSSES * (1 if task else self.job.workers):
            what = f"with the same part of {self.job.files[task.index]}" if task else "at its start"
            reason = " ".join(str(error).split())[:300]
            raise OSError(
                f"a worker of the Ray cluster was lost {self.losses[task]} times {what}, perhaps"
                f" because memory ran out; use fewer `workers` ({reason})"
            )
        self.ray.kill(actor)  # It may still run, but be unreachable.
        self._start_actor()
        if task:
            self.queue.appendleft(task)

    def _note_waiting(self) -> None:
        needs = "1 CPU" if self.job.threads == 1 else f"{self.job.threads} CPUs"
        needs += " and a GPU" * (self.job.device == "cuda")
        self.note(f"no worker has started yet; the Ray cluster must have {needs} for each worker")
        self.note = lambda text: None  # once is enough
