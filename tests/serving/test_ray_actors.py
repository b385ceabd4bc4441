"""Ray actors give the same output as a single process, even if machines are lost."""

import os
import random
import secrets
import subprocess
import sys
from importlib.util import find_spec
from itertools import islice
from types import SimpleNamespace

import pytest

from depkit.cli.main import run
from depkit.convert.formats import ConversionReport
from depkit.corpus.blocks import Part
from depkit.corpus.io import read, write
from depkit.serving import parts, ray_actors
from depkit.serving.job import Job, Totals
from depkit.serving.parts import Task
from depkit.serving.plan import FilePlan, Plan
from depkit.serving.worker import Result
from tests.cli.commands import ON_CPU, assert_fails
from tests.conftest import TINY
from tests.corpus.rows import row
from tests.parsers.small_parsers import make_parser, save_parser

needs_ray = pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed")


class FakeRay:
    """A stand-in for the module ray, whose calls return in random order.

    is_lost: a function that tells whether the actor of a call is lost; the argument is the number
    of the task, or None if the actor starts.
    """

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            def __init__(self, cause):
                super().__init__(cause)
                self.cause = cause

    _private = SimpleNamespace(worker=SimpleNamespace())
    job_config = SimpleNamespace(JobConfig=lambda **options: None)

    def __init__(self, seed=0, is_lost=lambda number: False):
        self.random, self.is_lost = random.Random(seed), is_lost
        self.killed = 0

    def remote(self, **resources):
        self.resources = resources
        return lambda actor_class: FakeActorClass

    def wait(self, calls, timeout):
        return [self.random.choice(calls)], []

    def get(self, call):
        task, function = call
        if self.is_lost(task and task.index):
            raise self.exceptions.RayError("The actor died")
        try:
            return function()
        except ValueError as error:
            raise self.exceptions.RayTaskError(error) from None

    def kill(self, actor):
        self.killed += 1

    def shutdown(self):
        pass


class FakeActorClass:
    @staticmethod
    def remote():
        return FakeActor()


class FakeActor:
    def __init__(self):
        self.start, self.annotate = self, self  # both have a method `remote`

    def remote(self, task, *arguments):
        if not isinstance(task, Task):
            return None, lambda: None
        return task, lambda: make_result(task)


def make_plan(job):
    files = tuple(FilePlan(name, "-", None, "", tuple(job.models)) for name in job.files)
    return Plan(job, files, None, None)


def make_result(task):
    if task.size:
        raise ValueError(f"error {task.index}")
    return Result(task, str(task.index), Totals(), ConversionReport(), [])


def make_tasks(count, errors=()):
    return [Task(number, Part(), int(number in errors)) for number in range(count)]


def start(ray, workers=3):
    job = Job([str(i) for i in range(100)], [], workers=workers)
    actors = ray_actors._Actors(ray, make_plan(job), print)
    actors.start()
    return actors


@pytest.mark.parametrize("seed", range(5))
def test_every_task_has_one_result_in_order_whatever_is_lost(seed):
    chooser = random.Random(seed)
    attempts = {}
    submitted = 0

    def is_lost(number):
        attempts[number] = attempts.get(number, 0) + 1
        return attempts[number] <= chooser.choice((0, 0, 1, 3)) if number is not None else False

    def generate():
        nonlocal submitted
        for submitted, task in enumerate(make_tasks(60), start=1):  # noqa: B007
            yield task

    ray = FakeRay(seed, is_lost)
    texts = []
    for result in start(ray).annotate(generate()):
        texts.append(result.text)
        assert submitted - len(texts) < 9  # the number of tasks in progress is bounded
    assert texts == [str(number) for number in range(60)]
    assert ray.killed == sum(attempts[number] - 1 for number in range(60)) > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_first_error_in_order_is_raised_after_the_results_before_it(seed):
    results = start(FakeRay(seed)).annotate(make_tasks(20, errors=(4, 5, 9)))
    assert [result.text for result in islice(results, 4)] == list("0123")
    with pytest.raises(ValueError, match="error 4"):
        next(results)


def test_a_task_or_a_start_that_is_always_lost_is_an_error():
    results = start(FakeRay(is_lost=lambda number: number == 2)).annotate(make_tasks(5))
    with pytest.raises(OSError, match="lost 4 times with the same part of 2, perhaps because mem"):
        list(results)
    with pytest.raises(OSError, match=r"lost 10 times at its start.*\(The actor died\)"):
        start(FakeRay(is_lost=lambda number: number is None))


def test_a_signal_is_no_success(monkeypatch):
    """Ray calls sys.exit with other values than the handler of depkit."""
    ray = FakeRay()
    ray.init = lambda *arguments, **options: sys.exit(0)
    monkeypatch.setattr(ray_actors, "import_ray", lambda address: ray)
    with pytest.raises(SystemExit) as error, ray_actors.start_actors(make_plan(Job([], [])), print):
        pass
    assert error.value.code == 143


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["--distribute", "ray"],
            1,
            "--distribute ray needs Ray: pip install 'depkit-parser[ray]'",
        ),
        (["--address", "auto"], 2, "--address: it needs --distribute ray as well"),
        (["--distribute", "ray", "--address", "127.0.0.1:1"], 1, "127.0.0.1:1: Connection refused"),
        (["--distribute", "ray", "--device", "cuda:1"], 2, "give --device cuda"),
        (["--distribute", "ray", "-o", "out.parquet"], 2, "--distribute ray cannot write Parquet"),
    ],
)
def test_mistakes_are_one_line(arguments, status, message, monkeypatch, capfd):
    is_missing = "needs Ray" in message
    monkeypatch.setitem(sys.modules, "ray", None if is_missing else FakeRay())
    monkeypatch.setattr(os, "environ", dict(os.environ))  # `import_ray` changes it
    assert_fails(capfd, ["parse", str(TINY), *arguments], status, message)


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two machines, with one processor each."""
    settings = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(),
        # A lost machine is noticed soon, and a slow one is not taken for lost.
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "60000",
        "RAY_worker_register_timeout_seconds": "600",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        options = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster()
        try:
            cluster.add_node(**options, include_dashboard=False)
            cluster.add_node(**options)
            yield cluster
        except Exception as error:
            skip_if_too_slow(str(error))
            raise
        finally:
            cluster.shutdown()


def skip_if_too_slow(message):
    """Skip the test if Ray has not started within the 30 seconds that it has for this."""
    if "timed out during startup" in message:
        pytest.skip("the machine is too slow, or too busy, to start Ray")


@pytest.fixture
def inputs(tmp_path):
    """Return a text, a CoNLL-U and a Parquet file of several blocks; all sentences differ."""
    text = "".join(f"Dog {n} barks. The cat sees it, but it sleeps.\n\n" for n in range(5000))
    rows = "".join(row(i, f"word{i}", i - 1) for i in range(1, 8))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.conllu").write_text("".join(f"# sent_id = {n}\n{rows}\n" for n in range(6000)))
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.conllu")]
    if find_spec("pyarrow"):
        files.append(str(tmp_path / "c.parquet"))
        write(islice(read(files[1]), 1200), files[2])
    return files


@pytest.fixture
def options(tiny, tmp_path):
    """Return options that choose a small model, and the tokenizer of the bundled one."""
    model = save_parser(make_parser(tiny), tmp_path / "model")
    return ["--model", str(model), "--tokenizer", "en-ewt", *ON_CPU, "-q"]


def parse_on(cluster, *arguments):
    engine = ["--distribute", "ray", "--address", cluster.address, "--workers", "2"]
    return run(["parse", *map(str, arguments), *engine])


@pytest.mark.slow
@needs_ray
def test_a_cluster_that_loses_a_machine_writes_what_one_process_writes(
    cluster, inputs, options, tmp_path, monkeypatch, capfd
):
    from ray._private import worker
    from ray._private.utils import publish_error_to_driver

    monkeypatch.setattr(parts, "TASK_BLOCKS", 1)
    annotate, replace = ray_actors._Actors.annotate, ray_actors._Actors._replace
    lost = []

    def lose_machine(self, tasks):
        for number, result in enumerate(annotate(self, tasks)):
            if number == 3:
                # By default, Ray prints the errors of a cluster to standard output.
                client = worker.global_worker.gcs_client
                publish_error_to_driver("", "an error of the cluster", client)
                cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
            yield result

    def count(self, actor, task, error):
        lost.append(task)
        replace(self, actor, task, error)

    options = [*options, "--format", "conllu", "--output-dir"]
    assert run(["parse", *inputs, *options, str(tmp_path / "one")]) == 0
    expected = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    for folder in ("two", "lost"):
        assert parse_on(cluster, *inputs, *options, tmp_path / folder) == 0
        assert capfd.readouterr() == ("", "")
        written = {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        assert written == expected and len(written) == len(inputs)
        monkeypatch.setattr(ray_actors._Actors, "annotate", lose_machine)
        monkeypatch.setattr(ray_actors._Actors, "_replace", count)
    assert lost and lost[0]


@pytest.mark.slow
@needs_ray
def test_an_error_in_the_input_is_that_of_one_process(cluster, inputs, options, tmp_path, capfd):
    with open(inputs[1], "a") as file:
        file.write("1\ta\n\n")
    arguments = [inputs[1], *options, "-o", str(tmp_path / "out")]
    assert run(["parse", *arguments]) == 1
    expected = capfd.readouterr()
    assert "b.conllu:54001: " in expected.err
    assert parse_on(cluster, *arguments) == 1
    assert capfd.readouterr() == expected
    assert not (tmp_path / "out").exists()


@needs_ray
def test_a_cluster_of_this_machine_is_started_and_prints_nothing(options, tmp_path):
    (tmp_path / "in.txt").write_text("Dogs bark.\n")
    command = [sys.executable, "-m", "depkit", "parse", "in.txt", *options[:-1]]
    one = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    two = subprocess.run([*command, "--distribute", "ray"], cwd=tmp_path, capture_output=True)
    skip_if_too_slow(two.stderr.decode())
    notes = two.stderr.decode().splitlines()
    # On a busy machine, the worker may start after PATIENCE.
    assert not [note for note in notes if "no worker has started yet" not in note]
    assert (two.returncode, two.stdout) == (0, one.stdout)
