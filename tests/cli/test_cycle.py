"""train, parse and eval from the command line, and how they end when something is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import depkit
from depkit.cli.main import run
from tests.conftest import TINY

SMALL = [
    "--set", "inputs.word=8", "--set", "inputs.char=8", "--set", "encoder.layers=1",
    "--set", "encoder.size=8", "--set", "scorer.arc=8", "--set", "scorer.label=8",
    "--set", "tokenizer.enabled=false", "--device", "cpu", "--threads", "1",
]  # fmt: skip
DEPKIT = [sys.executable, "-m", "depkit"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that has seen the small treebank once or twice."""
    directory = tmp_path_factory.mktemp("model") / "tiny.model"
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", str(directory), "--epochs", "2"]
    assert run([*arguments, *SMALL, "-q"]) == 0
    return directory


def failure(capfd, arguments):
    """The status of a command and its one line on stderr."""
    status = run(arguments)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("depkit: error: ") and err.count("\n") == 1
    return status, err


def test_the_cycle(model, tmp_path, capfd):
    parsed = tmp_path / "parsed.conllu"
    assert run(["parse", str(TINY), "--model", str(model), "-o", str(parsed), "-v"]) == 0
    assert "24 sentences, 182 words" in capfd.readouterr().err
    assert run(["eval", str(TINY), str(parsed), "--json"]) == 0
    scores = json.loads(capfd.readouterr().out)
    assert scores["words"] == 182 and 0 < scores["UAS"] <= 100


def test_what_a_model_directory_holds(model):
    names = {path.name for path in model.iterdir()}
    assert {"config.toml", "vocab.json", "model.safetensors", "README.md", "log.jsonl"} <= names
    assert "after epoch" in (model / "README.md").read_text("utf-8")
    assert len((model / "log.jsonl").read_text("utf-8").splitlines()) == 2


def test_stdin_to_stdout_in_a_process_of_its_own(model):
    done = subprocess.run(
        [*DEPKIT, "parse", "--model", str(model), "--device", "cpu"],
        stdin=TINY.open("rb"), capture_output=True, check=True,
    )  # fmt: skip
    assert done.stderr == b""
    parsed = list(depkit.read(done.stdout.decode().splitlines(keepends=True)))
    assert [sentence.form for sentence in parsed] == [s.form for s in depkit.read(TINY)]


def test_a_closed_pipe_is_no_error(model):
    text = TINY.read_bytes() * 200
    parse = subprocess.Popen(
        [*DEPKIT, "parse", "--model", str(model)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    head = subprocess.Popen(["head", "-1"], stdin=parse.stdout, stdout=subprocess.PIPE)
    parse.stdout.close()
    try:
        parse.stdin.write(text)
        parse.stdin.close()
    except BrokenPipeError:
        pass
    assert head.communicate()[0].startswith(b"# sent_id")
    assert parse.stderr.read() == b""
    assert parse.wait() == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["parse", "eval"])
def test_a_full_disk_is_one_line(model, command):
    arguments = ["parse", str(TINY), "--model", str(model)]
    if command == "eval":
        arguments = ["eval", str(TINY), str(TINY)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*DEPKIT, *arguments], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["depkit: error: No space left on device"]


def test_interrupted_parsing_leaves_no_half_file(model, tmp_path):
    out = tmp_path / "out.conllu"
    process = subprocess.Popen(
        [*DEPKIT, "parse", "--model", str(model), "-o", str(out)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(TINY.read_bytes() * 20)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) != [out]
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_a_killed_training_goes_on(tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev", str(TINY), "--epochs", "3", *SMALL]
    assert run([*arguments, "-o", str(tmp_path / "m"), "-q"]) == 0
    assert run([*arguments, "-o", str(tmp_path / "m"), "--resume"]) == 0
    capfd.readouterr()
    status, error = failure(capfd, [*arguments, "-o", str(tmp_path / "m"), "-q"])
    assert status == 1 and "--resume" in error


def test_seeds_give_mean_and_deviation(tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev-split", "0.25", "-o", str(tmp_path / "m")]
    assert run([*arguments, "--epochs", "1", "--seeds", "2", *SMALL]) == 0
    assert "of 2 seeds:" in capfd.readouterr().err
    assert depkit.load(tmp_path / "m", device="cpu")
    assert depkit.load(tmp_path / "m" / "seed-2", device="cpu")


def test_fine_tuning(model, tmp_path):
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m"), "-q"]
    arguments += ["--set", "tokenizer.enabled=false", "--epochs", "1", "--device", "cpu"]
    assert run([*arguments, "--init", str(model)]) == 0
    tuned, initial = (depkit.load(each, "cpu").config for each in (tmp_path / "m", model))
    assert replace(tuned, calibration=initial.calibration) == initial


def test_fine_tuning_refuses_other_parts(model, tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m"), "-q"]
    more = ["--init", str(model), "--set", "encoder.layers=7", "--device", "cpu"]
    status, error = failure(capfd, [*arguments, *more])
    assert status == 2 and "--init" in error


def test_an_output_that_is_a_file_is_refused(capfd):
    status, error = failure(capfd, ["train", str(TINY), "--dev", str(TINY), "-o", str(TINY)])
    assert status == 1 and "is a file" in error


def test_training_says_what_is_odd(tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m")]
    assert run([*arguments, "--epochs", "1", *SMALL]) == 0
    assert "depkit: note: dev: every sentence also stands in train" in capfd.readouterr().err


def test_several_files_and_an_output_directory(model, tmp_path):
    other = tmp_path / "other.conllu"
    other.write_bytes(TINY.read_bytes())
    out = tmp_path / "out"
    assert (
        run(["parse", str(TINY), str(other), "--model", str(model), "--output-dir", str(out)]) == 0
    )
    assert sorted(path.name for path in out.iterdir()) == ["other.conllu", "tiny.conllu"]
    both = tmp_path / "both.conllu"
    assert run(["parse", str(TINY), str(other), "--model", str(model), "-o", str(both)]) == 0
    assert len(list(depkit.read(both))) == 48


def test_compressed_in_and_out(model, tmp_path):
    packed = tmp_path / "out.conllu.xz"
    assert run(["parse", str(TINY), "--model", str(model), "-o", str(packed)]) == 0
    assert len(list(depkit.read(packed))) == 24


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "--model", "x", "--decode", "best"], "decode"),
        (["parse", "--model", "x", "-o", "a", "--output-dir", "b"], "exclude each other"),
        (["parse", "--model", "x", "--output-dir", "b"], "wants files"),
        (["parse", "a/x", "b/x", "--model", "x", "--output-dir", "b"], "two files"),
        (["train", "x", "-o", "y"], "name either --dev FILE or --dev-split SHARE"),
        (["train", "x", "-o", "y", "--dev", "z", "--max-time", "soon"], "is no time"),
        (["train"], "Missing"),
        (["nonsense"], "No such command"),
        (["eval", "x"], "Missing"),
        (["parse", "--threads", "0"], "threads"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message, capfd, monkeypatch):
    monkeypatch.delenv("DEPKIT_MODEL", raising=False)
    status, error = failure(capfd, arguments)
    assert status == 2 and message in error


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def test_bad_data_is_one_line_and_status_1(model, tmp_path, capfd):
    word = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
    for content, message in (
        (b"\x00\x7fELF\x00\n\n", ":1: 1 column"),
        (b"1\ta\t_\tX\t_\t_\t0\troot\t_\n\n", ":1: "),
        (word + b"3\tb\n\n", ":2: "),
        (word.replace(b"a", b"\xe9") + b"\n", "--encoding"),
    ):
        file = written(tmp_path / "bad.conllu", content)
        status, error = failure(capfd, ["parse", file, "--model", str(model)])
        assert status == 1 and message in error and "bad.conllu" in error


def test_an_empty_file_parses_to_nothing(model, tmp_path, capfd):
    assert run(["parse", written(tmp_path / "e.conllu", b""), "--model", str(model)]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--recipe", "best"], "no recipe 'best'"),
        (["--set", "encoder.sise=3"], "no setting 'encoder.sise'"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--init", "nowhere"], "no model 'nowhere'"),
        (["--device", "cuda:9"], "no device"),
        (["--device", "meta"], "no device"),
        (["--set", "training.accumulate=0"], "takes 1 or more"),
        (["--set", "inputs.word=0", "--set", "inputs.char=0"], "nothing to read"),
        (["--max-time", "0s"], "no time to train"),
        (["--seed", "99999999999999999"], "--seed"),
        (["--dev-split", "7", "--dev", ""], "between 0 and 1"),
    ],
)
def test_training_refuses_mistakes_before_it_starts(extra, message, tmp_path, capfd):
    base = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m")]
    status, error = failure(capfd, [*base, *extra])
    assert status == (1 if "nowhere" in message else 2)
    assert message in error
    assert not (tmp_path / "m").exists()


def test_a_missing_file_is_named(model, tmp_path, capfd):
    status, error = failure(capfd, ["parse", "nowhere.conllu", "--model", str(model)])
    assert (status, error) == (1, "depkit: error: nowhere.conllu: No such file or directory\n")
    status, error = failure(capfd, ["train", "nowhere.conllu", "--dev", "x", "-o", "y"])
    assert status == 1 and "nowhere.conllu" in error


def test_a_bug_says_how_to_see_it(capfd, monkeypatch):
    def broken(*arguments, **keywords):
        raise AttributeError("no such thing")

    monkeypatch.setattr("depkit.score.attachment.evaluate_systems", broken)
    status, error = failure(capfd, ["eval", str(TINY), str(TINY)])
    assert status == 1 and "internal error" in error and "--debug" in error
    with pytest.raises(AttributeError):
        run(["eval", str(TINY), str(TINY), "--debug"])


@pytest.mark.parametrize("command", [[], ["train"], ["parse"], ["eval"], ["analyze"]])
def test_help_has_an_example(command, capfd):
    assert run([*command, "--help"]) == 0
    assert "Example: depkit" in capfd.readouterr().out


def test_help_and_eval_start_light():
    code = (
        "import sys\nfrom depkit.cli.main import run\n"
        f"run(['--help'])\nrun(['eval', {str(TINY)!r}, {str(TINY)!r}])\n"
        "heavy = {'torch', 'numba', 'transformers', 'conllu', 'rich'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_model_from_the_environment(model, capfd, monkeypatch):
    monkeypatch.setenv("DEPKIT_MODEL", str(model))
    assert run(["parse", str(TINY)]) == 0
    assert capfd.readouterr().out.startswith("# sent_id = tiny-1")
