"""train, parse and eval from the command line, and their exit statuses and errors."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import pytest

import depkit
from depkit.cli.main import run
from tests.cli.commands import ON_CPU, assert_fails, set_options
from tests.conftest import TINY

SMALL = ON_CPU + set_options(
    "inputs.word=8", "inputs.char=8", "encoder.layers=1", "encoder.size=8", "scorer.arc=8",
    "scorer.label=8", "tokenizer.enabled=false",
)  # fmt: skip
DEPKIT = [sys.executable, "-m", "depkit"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model trained on the small treebank for two epochs."""
    directory = tmp_path_factory.mktemp("model") / "tiny.model"
    assert run([*train(directory), "--epochs", "2", *SMALL, "-q"]) == 0
    return directory


def test_a_trained_model_parses_and_eval_scores_its_trees(model, tmp_path, capfd):
    parsed = tmp_path / "parsed.conllu"
    assert run(["parse", str(TINY), "--model", str(model), "-o", str(parsed), "-v"]) == 0
    assert "24 sentences, 182 words" in capfd.readouterr().err
    assert run(["eval", str(TINY), str(parsed), "--json"]) == 0
    scores = json.loads(capfd.readouterr().out)
    assert scores["words"] == 182 and 0 < scores["UAS"] <= 100


def test_training_writes_the_files_of_a_model_directory(model):
    names = {path.name for path in model.iterdir()}
    assert {"config.toml", "vocab.json", "model.safetensors", "README.md", "log.jsonl"} <= names
    assert "after epoch" in (model / "README.md").read_text("utf-8")
    assert len((model / "log.jsonl").read_text("utf-8").splitlines()) == 2


def test_a_process_parses_stdin_to_stdout(model):
    result = subprocess.run(
        [*DEPKIT, "parse", "--model", str(model), "--device", "cpu"],
        stdin=TINY.open("rb"), capture_output=True, check=True,
    )  # fmt: skip
    note = b"depkit: note: 182 DEPS values were left out, where the tree is new\n"
    assert result.stderr == note
    parsed = list(depkit.read(result.stdout.decode().splitlines(keepends=True)))
    assert [sentence.form for sentence in parsed] == [s.form for s in depkit.read(TINY)]


def test_a_closed_pipe_is_not_an_error(model):
    text = TINY.read_bytes() * 200
    parse = subprocess.Popen(
        [*DEPKIT, "parse", "--model", str(model)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    head = subprocess.Popen(["head", "-1"], stdin=parse.stdout, stdout=subprocess.PIPE)
    parse.stdout.close()
    with suppress(BrokenPipeError):
        parse.stdin.write(text)
        parse.stdin.close()
    assert head.communicate()[0].startswith(b"# sent_id")
    assert (parse.stderr.read(), parse.wait()) == (b"", 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["parse", "eval", "analyze", "report", "info"])
def test_a_full_disk_is_an_error_of_one_line(model, command):
    more = {"parse": ["--model", str(model)], "report": [str(TINY), "-o", "-"]}
    more = more.get(command, [str(TINY)])
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*DEPKIT, command, *([] if command == "info" else [str(TINY), *more])],
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert result.returncode == 1
    message = "depkit: error: standard output: No space left on device"
    assert result.stderr.decode().splitlines() == [message]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGTERM, 143)]
)
def test_interrupted_parsing_leaves_no_partial_file(number, status, model, tmp_path):
    out = tmp_path / "out.conllu"
    process = subprocess.Popen(
        [*DEPKIT, "parse", "--model", str(model), "-o", str(out)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell that runs the tests in the background makes them ignore SIGINT, and nohup SIGHUP.
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),
    )  # fmt: skip
    process.stdin.write(TINY.read_bytes() * 20)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) != [out]
    process.send_signal(number)
    assert (process.wait(60), process.stderr.read()) == (status, b"")
    assert list(tmp_path.iterdir()) == []


INTERRUPTED_IMPORT = """
import signal, sys
import depkit.cli.main as program

def import_compiled_code(**arguments):
    try:
        signal.raise_signal(NUMBER)
    except BaseException:
        raise ImportError("initialization failed") from None

signal.signal(signal.SIGINT, signal.default_int_handler)
program.app = import_compiled_code
program.main()
"""


@pytest.mark.parametrize("options", [[], ["--debug"]])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_import_is_no_internal_error(number, status, options):
    program = INTERRUPTED_IMPORT.replace("NUMBER", str(int(number)))
    command = [sys.executable, "-c", program, *options]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (status, "")


def test_training_can_be_resumed(tmp_path, capfd):
    arguments = [*train(tmp_path / "m"), "--epochs", "3", *SMALL]
    assert run([*arguments, "-q"]) == 0
    assert run([*arguments, "--resume"]) == 0
    assert "depkit: note: dev: every sentence is also in train" in capfd.readouterr().err
    assert_fails(capfd, [*arguments, "-q"], 1, "--resume")


def train(directory, *dev):
    """Return a command line that trains on the small treebank."""
    return ["train", str(TINY), *(dev or ("--dev", str(TINY))), "-o", str(directory)]


def test_a_new_model_can_have_the_name_of_a_bundled_one(tmp_path, monkeypatch, capfd):
    """It is calibrated and exported itself, and not the bundled model of this name."""
    monkeypatch.chdir(tmp_path)
    calibrations = []
    for name in ("new", "de"):
        assert run([*train(name), "--epochs", "1", *SMALL]) == 0
        err = capfd.readouterr().err
        assert f"parse with it: depkit parse --model {'./' * (name == 'de')}{name} " in err
        assert "bundled" not in err
        calibrations.append([line for line in err.splitlines() if line.startswith("calibration")])
    assert calibrations[0] == calibrations[1] != []


def test_several_seeds_are_summarised(tmp_path, capfd):
    arguments = train(tmp_path / "m", "--dev-split", "0.25")
    assert run([*arguments, "--epochs", "1", "--seeds", "2", *SMALL]) == 0
    assert "of 2 seeds:" in capfd.readouterr().err
    assert depkit.load(tmp_path / "m", device="cpu")
    assert depkit.load(tmp_path / "m" / "seed-2", device="cpu")


def test_more_epochs_of_several_seeds_replace_the_graphs(tmp_path, monkeypatch):
    """The graphs are those of the best seed's new weights."""
    monkeypatch.delenv("DEPKIT_ENGINE", raising=False)
    model = tmp_path / "m"
    arguments = [*train(model), "--seeds", "2", *SMALL, "-q"]
    assert run([*arguments, "--epochs", "1", "--keep-state"]) == 0
    before = (model / "model.safetensors").read_bytes()
    assert run([*arguments, "--epochs", "12", "--resume"]) == 0
    assert (model / "model.safetensors").read_bytes() != before
    depkit.export(model, tmp_path / "new")
    first, second = (
        [sentence.head for sentence in depkit.load(path, engine="onnx")(depkit.read(TINY))]
        for path in (model, tmp_path / "new")
    )
    assert first == second


def test_fine_tuning_keeps_the_settings_of_the_initial_model(model, tmp_path):
    more = ["--set", "tokenizer.enabled=false", "--epochs", "1", "--device", "cpu", "-q"]
    assert run([*train(tmp_path / "m"), *more, "--init", str(model)]) == 0
    tuned, initial = (depkit.load(path, "cpu").config for path in (tmp_path / "m", model))
    assert replace(tuned, calibration=initial.calibration) == initial


def test_fine_tuning_rejects_another_architecture(model, tmp_path, capfd):
    more = ["--init", str(model), "--set", "encoder.layers=7", "--device", "cpu", "-q"]
    assert_fails(capfd, [*train(tmp_path / "m"), *more], 2, "--init")


def test_an_output_that_is_a_file_is_rejected(capfd):
    assert_fails(capfd, train(TINY), 1, "is a file")


def test_several_files_are_parsed_into_a_directory_or_one_file(model, tmp_path):
    other, out = tmp_path / "other.conllu", tmp_path / "out"
    other.write_bytes(TINY.read_bytes())
    parse = ["parse", "--model", str(model), str(TINY)]
    assert run([*parse, str(other), "--output-dir", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["other.conllu", "tiny.conllu"]
    for files, target, count in (([str(other)], "both.conllu", 48), ([], "packed.conllu.xz", 24)):
        assert run([*parse, *files, "-o", str(tmp_path / target)]) == 0
        assert len(list(depkit.read(tmp_path / target))) == count


@pytest.mark.parametrize(
    "line",
    [
        "parse {tiny} --model {model} -o {new}", "parse {tiny} --model {model} --output-dir {new}",
        "tag {tiny} --model {model} -o {new}", "convert {tiny} --to conllx -o {new}",
        "jackknife {tiny} --folds 2 --epochs 1 -o {new} --work {new}.work",
        "show {tiny} --svg {new}", "report {tiny} {tiny} -o {new}",
        "analyze {tiny} {tiny} --plot {new}.svg",
        "train {tiny} {training} -o {new}", "distill {model} --train {tiny} {training} -o {new}",
        "ensemble {tiny} {training} --folds 2 --recipes bilstm -o {new}",
    ],
)  # fmt: skip
def test_missing_output_directories_are_created(line, model, tmp_path):
    training = f"--dev {TINY} --epochs 1 {' '.join(SMALL)}"
    new = tmp_path / "new" / "er" / "out"
    words = line.format(tiny=TINY, model=model, new=new, training=training).split()
    assert run([*words, "-q"]) == 0
    assert new.exists() or new.with_suffix(".svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "--model", "x", "--decode", "best"], "decode"),
        (["parse", "--model", "x", "-o", "a", "--output-dir", "b"], "exclude each other"),
        (["parse", "--model", "x", "--output-dir", "b"], "cannot be used with standard input"),
        (["parse", "a/x", "b/x", "--model", "en-ewt", "--output-dir", "b"], "two files"),
        (["train", "x", "-o", "y"], "name either --dev or --dev-split"),
        (["train", "x", "-o", "y", "--dev", "z", "--max-time", "soon"], "is not a time"),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_status_2(arguments, message, capfd, monkeypatch):
    monkeypatch.delenv("DEPKIT_MODEL", raising=False)
    assert_fails(capfd, arguments, 2, message)


def test_bad_data_is_reported_in_one_line_with_status_1(model, tmp_path, capfd):
    word = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
    for content, message in (
        (b"\x00\x7fELF\x00\n\n", ":1: the line has 1 column"),
        (b"1\ta\t_\tX\t_\t_\t0\troot\t_\n\n", ":1: "),
        (word + b"3\tb\n\n", ":2: "),
        (word.replace(b"a", b"\xe9") + b"\n", "--encoding"),
    ):
        (tmp_path / "bad.conllu").write_bytes(content)
        parse = ["parse", str(tmp_path / "bad.conllu"), "--model", str(model)]
        assert_fails(capfd, parse, 1, message, "bad.conllu")


def test_an_empty_file_parses_to_nothing(model, tmp_path, capfd):
    (tmp_path / "empty.conllu").touch()
    assert run(["parse", str(tmp_path / "empty.conllu"), "--model", str(model)]) == 0
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
        (
            ["--set", "inputs.word=0", "--set", "inputs.affix=0", "--set", "inputs.prior=0"],
            "nothing to read",
        ),
        (["--max-time", "0s"], "no time to train"),
        (["--seed", "99999999999999999"], "--seed"),
    ],
)
def test_invalid_options_are_rejected_before_training(extra, message, tmp_path, capfd):
    assert_fails(capfd, [*train(tmp_path / "m"), *extra], 1 if "nowhere" in message else 2, message)
    assert not (tmp_path / "m").exists()


def test_the_share_of_dev_is_checked(tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev-split", "7", "-o", str(tmp_path / "m")]
    assert_fails(capfd, arguments, 2, "between 0 and 1")
    assert not (tmp_path / "m").exists()


def test_a_missing_file_is_named(model, tmp_path, capfd):
    error = "depkit: error: nowhere.conllu: No such file or directory\n"
    assert_fails(capfd, ["parse", "nowhere.conllu", "--model", str(model)], 1, error)
    assert_fails(capfd, ["train", "nowhere.conllu", "--dev", "x", "-o", "y"], 1, "nowhere.conllu")


def test_an_internal_error_mentions_debug(capfd, monkeypatch):
    broken = Mock(side_effect=AttributeError("no such thing"))
    monkeypatch.setattr("depkit.score.attachment.evaluate_systems", broken)
    assert_fails(capfd, ["eval", str(TINY), str(TINY)], 1, "internal error", "--debug")
    with pytest.raises(AttributeError):
        run(["eval", str(TINY), str(TINY), "--debug"])


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ("", ""), ("train", ""), ("parse", ""), ("tag", ""), ("distill", ""), ("ensemble", ""),
        ("eval", "--punct ptb --test ar gold.conllx"), ("analyze", "--by distance"),
        ("convert", "en.conllu -o en.conllx"), ("show", "parsed.conllu --sentence 3"),
        ("info", "en-ewt"), ("check", ""), ("stats", ""),
        ("report", "new.conllu -o report.html"),
    ],
)  # fmt: skip
def test_help_has_an_example(command, example, capfd):
    assert run([*command.split(), "--help"]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert f"Example: depkit {command}" in out and example in out


def test_help_and_eval_do_not_import_large_packages():
    code = (
        "import sys\nfrom depkit.cli.main import run\n"
        "run(['--help'])\nif {'numpy', 'pydantic'} & sys.modules.keys(): sys.exit('help is slow')\n"
        f"tiny = {str(TINY)!r}\nrun(['eval', tiny, tiny])\n"
        "large = {'torch', 'numba', 'transformers', 'conllu', 'rich'} & sys.modules.keys()\n"
        "for command in ('check', 'stats', 'analyze', 'convert'):\n"
        "    run([command, *[tiny] * (1 + (command == 'analyze')), '--quiet'])\n"
        "large |= {'rich'} & sys.modules.keys()\n"
        "sys.exit(f'imported {large}' if large else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_model_is_taken_from_the_environment(model, capfd, monkeypatch):
    monkeypatch.setenv("DEPKIT_MODEL", str(model))
    assert run(["parse", str(TINY)]) == 0
    assert capfd.readouterr().out.startswith("# sent_id = tiny-1")
