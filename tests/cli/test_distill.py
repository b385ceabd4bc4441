"""depkit distill: a student from the command line, its card, its resumption, and wrong use."""

import json

import pytest
from safetensors.torch import load_file

import depkit
from depkit.cli.main import run
from depkit.corpus.files import write
from depkit.ensemble import silver
from depkit.training import tokenizer
from tests.conftest import TINY

ON_CPU = ["--device", "cpu", "--threads", "1"]
SMALL = [
    "--set", "inputs.word=24", "--set", "inputs.char=24", "--set", "encoder.layers=1",
    "--set", "encoder.size=24", "--set", "training.batch_tokens=60",
]  # fmt: skip
TEXT = (
    "The cat sleeps here. A friend chased the ball.\n\n"
    "Mary sleeps in the room!\n\nThe cat sleeps here.\n"
)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "news.txt"
    path.write_text(TEXT)
    return str(path)


def distill(directory, *more, teacher="en-ewt", train=TINY, dev=TINY, epochs=2):
    arguments = ["distill", teacher, "--train", str(train), "--dev", str(dev), "-o", str(directory)]
    return run([*arguments, "--epochs", str(epochs), *SMALL, *ON_CPU, *map(str, more)])


def failure(capfd, *arguments, **keywords):
    """The status of a command and its one line on stderr."""
    status = distill(*arguments, **keywords)
    out, err = capfd.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("depkit: error: ") and "Traceback" not in err
    return status, last


def test_a_student_of_the_bundled_model(text, tmp_path, capfd):
    student = tmp_path / "student"
    assert distill(student, text) == 0
    out, err = capfd.readouterr()
    assert out == "" and "text: 3 sentences (17 words); left out: 1 there already" in err
    card = (student / "README.md").read_text()
    assert "Distilled from en-ewt on the treebank and on 3 sentences (17 words) of news.txt" in card
    assert "Tokenizer: tokens 99" in card
    told = list(depkit.read(student / "text" / "shard-0001.conllu"))
    assert [len(each) for each in told] == [5, 6, 6]
    parser = depkit.load(student, device="cpu")
    assert [each.form for each in parser.parse(parser.tokenize("The cat sleeps."))] == [
        ["The", "cat", "sleeps", "."]
    ]
    teacher = depkit.load("en-ewt", device="cpu")
    for name, table in teacher.vocabulary.columns.items():
        assert set(table.symbols) <= set(parser.vocabulary.columns[name].symbols)


def test_a_run_goes_on(text, tmp_path, monkeypatch, capfd):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert distill(whole, text, "-q") == 0

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(silver, "write_rows", interrupted)
        assert distill(cut, text) == 130
    assert "--resume goes on" in capfd.readouterr().err
    assert not list(cut.glob("text/*.safetensors"))
    assert distill(cut, text, "-q", "--resume") == 0
    one, other = (load_file(each / "model.safetensors") for each in (whole, cut))
    assert all((one[name] == other[name]).all() for name in one)
    before = (cut / "last.safetensors").read_bytes()
    assert distill(cut, text, "-q", "--resume") == 0  # it is finished
    assert (cut / "last.safetensors").read_bytes() == before
    status, error = failure(capfd, cut, text)
    assert status == 1 and "is there already; --resume" in error
    (tmp_path / "news.txt").write_text("Something else. And more.\n")
    status, error = failure(capfd, cut, text, "--resume")
    assert status == 1 and "another teacher, text or settings" in error


def test_a_treebank_alone_and_several_at_once(tmp_path, capfd):
    sentences = list(depkit.read(TINY))
    halves = [tmp_path / "a.conllu", tmp_path / "b.conllu"]
    write(sentences[:12], halves[0])
    write(sentences[12:], halves[1])
    student = tmp_path / "student"
    more = ["--train", halves[1], "-q"]
    assert distill(student, *more, train=halves[0], epochs=1) == 0
    card = (student / "README.md").read_text()
    assert "Distilled from en-ewt on the treebank\n" in card and "Trained on 24 sentences" in card
    assert not (student / "text").exists()
    assert capfd.readouterr().err == ""


def test_a_student_of_a_teacher_without_tokenizer(tmp_path, text, monkeypatch, capfd):
    monkeypatch.setattr(tokenizer, "LEAST_UPDATES", 1)
    teacher = tmp_path / "teacher"
    off = ["--set", "tokenizer.enabled=false", *SMALL, *ON_CPU]
    train = ["train", str(TINY), "--dev", str(TINY), "-o", str(teacher), "--epochs", "1", "-q"]
    assert run([*train, *off]) == 0
    status, error = failure(capfd, tmp_path / "raw", text, "-q", teacher=str(teacher))
    assert status == 1 and "the model has no tokenizer" in error
    assert not (tmp_path / "raw").exists()
    student = tmp_path / "student"
    more = [text, "--input", "tokens", "-q", "--set", "tokenizer.epochs=1"]
    assert distill(student, *more, teacher=str(teacher), epochs=1) == 0
    assert depkit.load(student, device="cpu").tokenizer is not None
    records = (student / "log.jsonl").read_text().splitlines()
    assert json.loads(records[0])["epoch"] == 1


def test_who_cannot_teach_or_learn(tmp_path, text, capfd):
    for settings, told in (
        (["scorer.tree=false", "training.select=tags"], "a tagger"),
        (["inputs.tag=8"], "reads tags"),
    ):  # fmt: skip
        teacher = str(tmp_path / told)
        arguments = ["train", str(TINY), "--dev", str(TINY), "-o", teacher, "--epochs", "1", "-q"]
        sets = [each for setting in settings for each in ("--set", setting)]
        off = ["--set", "tokenizer.enabled=false"]
        assert run([*arguments, *SMALL, *sets, *off, *ON_CPU]) == 0
        status, error = failure(capfd, tmp_path / "student", text, teacher=teacher)
        assert status == 1 and told in error
    status, error = failure(capfd, tmp_path / "student", text, "--set", "inputs.tag=8")
    assert status == 2 and "inputs.tag" in error
    assert not (tmp_path / "student").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--dev-split", "0.1"], "name either --dev FILE or --dev-split SHARE"),
        (["-"], "name files, not stdin"),
        (["--max-time", "soon"], "--max-time 'soon' is no time"),
        (["--set", "distillation.words=2"], "no setting 'distillation.words'"),
        (["--recipe", "huge"], "no recipe 'huge'"),
    ],
)
def test_wrong_use(more, told, tmp_path, capfd):
    status, error = failure(capfd, tmp_path / "student", *more)
    assert status == 2 and told in error


def test_wrong_files(tmp_path, capfd):
    student = tmp_path / "student"
    status, error = failure(capfd, student, tmp_path / "none.txt")
    assert status == 1 and error.endswith("none.txt: No such file or directory")
    assert failure(capfd, student, teacher="no-such-model")[1].count("bundled models: en-ewt")
    (tmp_path / "empty.txt").write_text("\n")
    status, error = failure(capfd, student, tmp_path / "empty.txt")
    assert status == 1 and error.endswith("empty.txt: no sentences")
    assert not student.exists()
    (tmp_path / "empty.txt").write_text("Alone\n")
    status, error = failure(capfd, student, tmp_path / "empty.txt")
    assert status == 1 and "no sentence of 2 to 150 words" in error
