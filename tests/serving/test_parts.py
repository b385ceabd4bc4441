"""Shards and worker processes write the bytes of a single run, and finished files are skipped."""

import json
import shutil
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest

from depkit.cli.main import run
from depkit.convert.enhance.conventions import Conventions
from depkit.corpus import blocks, reader, text
from depkit.corpus.io import read, write
from depkit.corpus.parquet import batches, files
from depkit.parsers.engine import device
from depkit.parsers.model_directory import find_model
from depkit.serving import parts, processes
from depkit.serving import run as serving_run
from depkit.serving.job import Job
from depkit.serving.parts import FinishedFiles, divide
from depkit.serving.plan import resolve
from tests.cli.commands import ON_CPU, assert_fails
from tests.conftest import TINY

WORDS = "Dogs bark. The small cat sees an old dog near the river.\n\nTime flies.\n\n"


@pytest.fixture
def small_blocks(monkeypatch):
    """Make blocks small, in this process."""
    for module in (blocks, text):
        monkeypatch.setattr(module, "TEXT_BLOCK", 300)
    for module in (blocks, reader):
        monkeypatch.setattr(module, "ROWS_BLOCK", 900)


@pytest.fixture
def inputs(tmp_path):
    (tmp_path / "a.txt").write_text(WORDS * 40)
    write(list(read(TINY)) * 3, tmp_path / "b.conllu")
    return [str(tmp_path / "a.txt"), str(tmp_path / "b.conllu")]


def parse(*arguments):
    return run(["parse", *map(str, arguments), *ON_CPU, "-q"])


def join(folder: Path, name: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{name}.*")))


def test_shards_one_after_another_are_the_single_run(inputs, tmp_path, small_blocks):
    assert parse(*inputs, "--output-dir", tmp_path / "whole") == 0
    for number in range(1, 12):
        assert parse(*inputs, "--output-dir", tmp_path / "out", "--shard", f"{number}/11") == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[:2] == ["a.01-of-11.conllu", "a.02-of-11.conllu"] and len(names) == 22
    for name in ("a", "b"):
        assert join(tmp_path / "out", name) == (tmp_path / "whole" / f"{name}.conllu").read_bytes()
    sent_ids = [s.sent_id for s in read(tmp_path / "out" / "a.11-of-11.conllu")]
    assert sent_ids[-3:] == ["79-1", "79-2", "80-1"]


def test_shards_of_a_parquet_file_are_the_single_run(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="Parquet needs the extra parquet")
    for module in (blocks, batches, files):
        monkeypatch.setattr(module, "BLOCK_ROWS", 20)
    path = tmp_path / "a.parquet"
    write(list(read(TINY)) * 3, path)
    assert parse(path, "--format", "conllu", "-o", tmp_path / "whole") == 0
    for number in range(1, 4):
        options = ["--format", "conllu", "--shard", f"{number}/3"]
        assert parse(path, "--output-dir", tmp_path / "out", *options) == 0
    assert join(tmp_path / "out", "a") == (tmp_path / "whole").read_bytes()


def test_offsets_of_shards_count_from_the_beginning_of_the_file(inputs, tmp_path, small_blocks):
    assert parse(inputs[0], "--format", "json", "-o", tmp_path / "whole") == 0
    for number in range(1, 4):
        options = ["--format", "json", "--shard", f"{number}/3"]
        assert parse(inputs[0], "--output-dir", tmp_path / "out", *options) == 0
    assert join(tmp_path / "out", "a") == (tmp_path / "whole").read_bytes()


def test_workers_write_what_one_process_writes(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "TASK_BLOCKS", 1)
    path = tmp_path / "c.txt"
    path.write_text(WORDS * 2000)  # three blocks
    assert parse(*inputs, path, "--output-dir", tmp_path / "one") == 0
    assert parse(*inputs, path, "--output-dir", tmp_path / "two", "--workers", "2") == 0
    for name in ("a", "b", "c"):
        expected = (tmp_path / "one" / f"{name}.conllu").read_bytes()
        assert (tmp_path / "two" / f"{name}.conllu").read_bytes() == expected


def test_urls_give_what_paths_give(tmp_path, small_blocks, monkeypatch):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    (tmp_path / "a.txt").write_text(WORDS * 40)
    memory.pipe("/in/a.txt", (WORDS * 40).encode())
    assert parse(tmp_path / "a.txt", "-o", tmp_path / "out") == 0
    expected = (tmp_path / "out").read_bytes()
    options = ["--output-dir", "memory://out", "--skip-done"]
    for number in (1, 2):
        assert parse("memory://in/a.txt", *options, "--shard", f"{number}/2") == 0
    assert b"".join(memory.cat(f"/out/a.{i}-of-2.conllu") for i in (1, 2)) == expected
    with monkeypatch.context() as context:
        context.setattr(serving_run.Run, "write", None)  # must not be called
        assert parse("memory://in/a.txt", *options, "--shard", "1/2") == 0
    memory.pipe("/in/a.txt", b"Another text.")
    assert parse("memory://in/a.txt", *options, "--shard", "2/2") == 0
    assert b"Another" in memory.cat("/out/a.2-of-2.conllu")
    memory.rm("/", recursive=True)


def test_workers_read_and_write_urls(inputs, tmp_path):
    pytest.importorskip("fsspec")
    assert parse(inputs[0], "-o", tmp_path / "one") == 0
    urls = [f"file://{inputs[0]}", "-o", f"file://{tmp_path}/two"]
    assert parse(*urls, "--workers", "2") == 0
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_shard_without_blocks_is_an_empty_file(inputs, tmp_path):
    options = ["--output-dir", tmp_path, "--shard", "1/3", "--workers", "2"]
    assert parse(inputs[0], *options) == 0
    assert (tmp_path / "a.1-of-3.conllu").read_bytes() == b""


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["cpu"]),
        ({"models": ["auto"]}, ["cpu"]),
        ({"device": "cpu", "engine": "torch"}, ["cpu"]),
        ({"engine": "onnx"}, ["cpu"]),
        ({"engine": "torch"}, ["cuda:0", "cuda:1"]),
        ({"models": ["auto"], "precision": "float32"}, ["cuda:0", "cuda:1"]),
        ({"device": "cuda:1"}, ["cuda:1"]),
    ],
)
def test_workers_have_gpus_if_torch_runs_the_model(options, names, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    monkeypatch.setattr(processes, "has_gpu", lambda: True)
    gpus = ["cuda:0", "cuda:1"]
    monkeypatch.setattr(
        device, "find_devices", lambda name: gpus if name == "auto" else name.split(",")
    )
    path = tmp_path / "a.txt"
    path.write_text("This is a sentence in English, and this is another one.\n")
    plan = resolve(Job([str(path)], **({"models": ["en-ewt"], "workers": 2} | options)))
    assert processes._find_devices(plan) == names


def test_tasks_cover_the_blocks_of_a_shard(inputs, small_blocks):
    def make_plan(**fields):
        return resolve(Job(inputs, [], output_dir="out", **fields))

    plan = make_plan(workers=2)
    whole = [list(divide(plan, [index])) for index in (0, 1)]
    assert list(divide(plan, [0, 1])) == whole[0] + whole[1]
    for index, tasks in enumerate(whole):
        assert len(tasks) > 2 and sum(t.size for t in tasks) == Path(inputs[index]).stat().st_size
        assert tasks[0].part.start.byte == 0 and tasks[-1].part.end is None
        assert all(a.part.end == b.part.start for a, b in pairwise(tasks))
    shards = [list(divide(make_plan(shard=f"{i}/2"), [0])) for i in (1, 2)]
    assert shards[0][-1].part.end == shards[1][0].part.start
    assert sum(task.size for shard in shards for task in shard) == Path(inputs[0]).stat().st_size


def test_finished_files_are_skipped(inputs, tmp_path, monkeypatch):
    options = ["--output-dir", tmp_path / "out", "--skip-done"]
    assert parse(*inputs, *options) == 0
    marker = json.loads((tmp_path / "out" / "a.conllu.done").read_text())
    assert marker["file"] == inputs[0] and marker["options"]["action"] == "parse"
    written = []
    original = serving_run.Run.write
    monkeypatch.setattr(
        serving_run.Run,
        "write",
        lambda self, i, *x: (written.append(i), original(self, i, *x)),
    )
    assert parse(*inputs, *options) == 0 and written == []
    assert parse(*inputs, *options, "--tags", "predict") == 0 and written == [[0], [1]]
    (tmp_path / "out" / "b.conllu").unlink()
    assert parse(*inputs, *options, "--tags", "predict") == 0 and written[2:] == [[1]]
    Path(inputs[0]).write_text("Another text.")
    assert parse(*inputs, *options, "--tags", "predict") == 0 and written[3:] == [[0]]


def test_a_finished_file_depends_on_every_option_of_the_job(tmp_path):
    """Also on one that is added to the job later: whatever is not excluded by name is recorded."""
    source, output = tmp_path / "in.txt", tmp_path / "out" / "in.conllu"
    source.write_text("a")
    output.parent.mkdir()
    output.write_text("a")
    job = Job([str(source)], [], output_dir=str(output.parent), skip_done=True)
    plan = resolve(job)
    FinishedFiles(plan).mark_done(0)
    assert FinishedFiles(plan).is_done(0)
    divided = {"threads": 3, "workers": 2, "distribute": "ray", "address": "auto"}
    assert FinishedFiles(replace(plan, job=replace(job, **divided))).is_done(0)
    changes = {
        "action": "tag", "tags": "predict", "options": {"best": 2}, "mean": "geometric",
        "input": "lines", "format": "json", "settings": ["decoder.root=multi"], "device": "cuda",
        "batch_tokens": 1, "encoding": "latin-1", "dependencies": "ud", "engine": "torch",
        "conventions": Conventions(), "out_of_fold": True, "shard": "1/2", "precision": "float32",
    }  # fmt: skip
    for name, value in changes.items():
        other = replace(plan, job=replace(job, **{name: value}))
        assert not FinishedFiles(other).is_done(0), name
    whole = {"files", "models", "tokenizer", "elmo", "also_read"}
    whole |= {"output", "output_dir", "skip_done"}
    assert {field.name for field in fields(Job)} == changes.keys() | divided.keys() | whole
    enhanced = replace(plan, job=replace(job, conventions=Conventions(types=("case",))))
    FinishedFiles(enhanced).mark_done(0)
    assert FinishedFiles(enhanced).is_done(0) and not FinishedFiles(plan).is_done(0)


@pytest.mark.parametrize("options", [[], ["--workers", "2"]])
def test_a_file_that_changes_while_it_is_parsed_is_parsed_again(
    options, inputs, tmp_path, monkeypatch
):
    arguments = [*inputs, "--output-dir", tmp_path / "out", "--skip-done", *options]
    original = FinishedFiles.mark_done

    def change_and_mark(self, index):
        if index == 0:
            with Path(inputs[0]).open("a") as stream:
                stream.write("A new sentence.\n")
        original(self, index)

    with monkeypatch.context() as context:
        context.setattr(FinishedFiles, "mark_done", change_and_mark)
        assert parse(*arguments) == 0
    output, other = tmp_path / "out" / "a.conllu", tmp_path / "out" / "b.conllu"
    assert "A new sentence." not in output.read_text()
    times = other.stat().st_mtime_ns
    assert parse(*arguments) == 0
    assert "A new sentence." in output.read_text() and other.stat().st_mtime_ns == times


def test_a_file_is_parsed_again_if_its_model_or_vectors_change_during_the_run(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(find_model("en-ewt"), folder)
    names = [str(tmp_path / name) for name in ("in", "vectors", "out/in.conllu")]
    (tmp_path / "out").mkdir()
    for name in names:
        Path(name).write_text("a")
    output_dir = str(tmp_path / "out")
    job = Job(names[:1], [folder], elmo=names[1:2], output_dir=output_dir, skip_done=True)
    plan = resolve(job)
    for changed in (folder / "config.toml", Path(names[1])):
        finished = FinishedFiles(plan)
        with changed.open("a") as stream:
            stream.write("\n# changed\n")
        finished.mark_done(0)
        assert finished.is_done(0) and not FinishedFiles(plan).is_done(0)


def test_a_missing_file_is_not_done(tmp_path):
    plan = resolve(Job([str(tmp_path / "in")], [], output_dir=str(tmp_path), skip_done=True))
    finished = FinishedFiles(plan)
    assert not finished.is_done(0)


@pytest.mark.parametrize("other", ["--output-dir", "-o"])
def test_a_file_that_another_command_has_written_is_not_skipped(inputs, other, tmp_path):
    folder, path = tmp_path / "out", tmp_path / "out" / "b.conllu"
    options = ["--output-dir", folder, "--skip-done"]
    assert parse(inputs[1], *options) == 0
    expected = path.read_bytes()
    target = folder if other == "--output-dir" else path
    assert parse(inputs[1], other, target, "--tags", "predict", "--decode", "argmax") == 0
    assert path.read_bytes() != expected
    assert parse(inputs[1], *options) == 0 and path.read_bytes() == expected
    path.write_text("edited")
    assert parse(inputs[1], *options, "--workers", "2") == 0 and path.read_bytes() == expected


def test_a_finished_file_depends_on_its_vectors(tmp_path):
    (tmp_path / "out").mkdir()
    names = [str(tmp_path / name) for name in ("in", "vectors", "out/in.conllu")]
    for name in names:
        Path(name).write_text("a")
    output_dir = str(tmp_path / "out")
    plan = resolve(Job(names[:1], [], elmo=names[1:2], output_dir=output_dir, skip_done=True))
    FinishedFiles(plan).mark_done(0)
    assert FinishedFiles(plan).is_done(0)
    Path(names[1]).write_text("ab")
    assert not FinishedFiles(plan).is_done(0)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["a.txt", "--shard", "3/2", "--output-dir", "out"], 2, "is no shard; write I/N"),
        (["a.txt", "--shard", "1/2"], 2, "--shard needs --output-dir"),
        (["a.txt", "--skip-done"], 2, "--skip-done needs --output-dir"),
        (["a.txt.gz", "--shard", "1/2", "--output-dir", "out"], 2, "it is compressed"),
        (["trees.mrg", "--shard", "1/2", "--output-dir", "out"], 2, "it has bracketed trees"),
        (["-", "--workers", "2"], 2, "- cannot be divided: it is standard input"),
        (["b.conllu", "--format", "json", "--workers", "2"], 2, "choose another format"),
        (["a.txt", "b.conllu", "--workers", "2"], 2, "needs --output-dir"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    inputs, arguments, status, message, tmp_path, capfd, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("a.txt.gz").write_bytes(b"")
    Path("trees.mrg").write_text("((A b))\n")
    assert_fails(capfd, ["parse", *arguments, "--device", "cpu"], status, message)


def test_an_error_in_a_worker_is_one_line(tmp_path, capfd):
    path = tmp_path / "bad.conllu"
    path.write_text(TINY.read_text() + "1\ta\n\n")
    arguments = ["parse", str(path), "--workers", "2", "--device", "cpu", "-o", str(tmp_path / "o")]
    assert_fails(capfd, arguments, 1, f"{path}:2", "column")
    assert not (tmp_path / "o").exists()
