"""depkit distill: training of a student, its card, resuming, and errors."""

import json
import os
from unittest.mock import Mock

import pytest
from safetensors.torch import load_file

import depkit
from depkit.cli.main import run
from depkit.corpus.io import write
from depkit.ensemble import silver
from depkit.ensemble.teacher import make_row_function
from depkit.parsers.ensembles import combine
from depkit.training import tokenizer
from depkit.training.checkpoint import FINISHED
from tests.cli.commands import ON_CPU, SMALL, set_options
from tests.conftest import TINY

pytestmark = pytest.mark.usefixtures("short_tokenizer_training")
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


def assert_fails(capfd, status, message, *arguments, **keywords):
    """Check that the command fails with a status and a last line on stderr with the message."""
    assert distill(*arguments, **keywords) == status
    out, err = capfd.readouterr()
    assert out == "" and "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("depkit: error: ") and message in f"{last}\n"


def test_a_student_of_the_bundled_model_parses_text(text, tmp_path, capfd):
    student = tmp_path / "student"
    assert distill(student, text) == 0
    out, err = capfd.readouterr()
    assert out == "" and "text: 3 sentences (17 words); omitted: 1 duplicate" in err
    card = (student / "README.md").read_text()
    assert "Distilled from en-ewt on the treebank and on 3 sentences (17 words) of news.txt" in card
    assert "Tokenizer: tokens 99" in card
    silver_trees = list(depkit.read(student / "text" / "shard-0001.conllu"))
    assert [len(tree) for tree in silver_trees] == [5, 6, 6]
    parser = depkit.load(student, device="cpu")
    assert [sentence.form for sentence in parser.parse(parser.tokenize("The cat sleeps."))] == [
        ["The", "cat", "sleeps", "."]
    ]
    teacher = depkit.load("en-ewt", device="cpu")
    for name, table in teacher.vocabulary.columns.items():
        assert set(table.symbols) <= set(parser.vocabulary.columns[name].symbols)


def test_an_interrupted_run_is_resumed(text, tmp_path, monkeypatch, capfd):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert distill(whole, text, "-q") == 0

    interrupt = Mock(side_effect=KeyboardInterrupt)
    with monkeypatch.context() as patch:
        patch.setattr(silver, "write_rows", interrupt)
        assert distill(cut, text) == 130
    assert "--resume continues" in capfd.readouterr().err
    assert not list(cut.glob("text/*.safetensors"))
    assert distill(cut, text, "-q", "--resume") == 0
    expected, weights = (load_file(path / "model.safetensors") for path in (whole, cut))
    assert all((expected[name] == weights[name]).all() for name in expected)
    before = (cut / FINISHED).stat().st_mtime_ns
    assert distill(cut, text, "--resume") == 0
    err = capfd.readouterr().err
    assert "the training is finished already; best epoch: " in err
    assert err.endswith(f"\nparse with it: depkit parse --model {cut} FILE\n")
    assert (cut / FINISHED).stat().st_mtime_ns == before
    assert_fails(capfd, 1, "is not empty; --resume", cut, text)
    (tmp_path / "news.txt").write_text("Something else. And more.\n")
    assert_fails(capfd, 1, "another teacher, text or settings", cut, text, "--resume")


def test_without_text_a_student_learns_from_treebanks(tmp_path, capfd):
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


def test_a_student_reads_pretrained_vectors(text, tmp_path):
    student, vectors = tmp_path / "student", tmp_path / "vectors.txt"
    vectors.write_text("the 1 2 3\ncat 3 4 5\n")
    settings = [f"inputs.vectors.file={vectors}", "inputs.vectors.combine=concat"]
    assert distill(student, text, "-q", *set_options(*settings), epochs=1) == 0
    parser = depkit.load(student, device="cpu")
    assert parser.vocabulary.tables["vectors"].symbols[-2:] == ["the", "cat"]
    assert len(parser("The cat sleeps.")) == 1


def test_several_teachers_teach_the_mean_of_their_probabilities(tmp_path, text, capfd):
    second = tmp_path / "second"
    train = ["train", str(TINY), "--dev", str(TINY), "-o", str(second), "--epochs", "1", "-q"]
    assert run([*train, *SMALL, *ON_CPU]) == 0
    student = tmp_path / "student"
    assert distill(student, text, "--teacher", second, "-q", epochs=1) == 0
    provenance = f"Distilled from en-ewt and {second} on the treebank and on 3 sentences"
    assert provenance in (student / "README.md").read_text()
    ensemble = combine([depkit.load(model, device="cpu") for model in ("en-ewt", second)])
    shard = silver.Shard(student / "text" / "shard-0001")
    expected = make_row_function(ensemble)(list(shard.sentences()), False)
    assert (shard.rows() == expected).all()
    single = make_row_function(ensemble.members[0])(list(shard.sentences()), False)
    assert (shard.rows() != single).any()
    message = "another teacher, text or settings"
    assert_fails(capfd, 1, message, student, text, "--resume", epochs=1)


def test_a_teacher_without_a_tokenizer_needs_tokenized_text(tmp_path, text, monkeypatch, capfd):
    monkeypatch.setattr(tokenizer, "MIN_UPDATES", 1)
    teacher = str(tmp_path / "teacher")
    off = ["--set", "tokenizer.enabled=false", *SMALL, *ON_CPU]
    train = ["train", str(TINY), "--dev", str(TINY), "-o", teacher, "--epochs", "1", "-q"]
    assert run([*train, *off]) == 0
    student = tmp_path / "student"
    assert_fails(capfd, 1, "the model has no tokenizer", student, text, "-q", teacher=teacher)
    assert not student.exists()
    more = [text, "--input", "tokens", "-q", "--set", "tokenizer.epochs=1"]
    assert distill(student, *more, teacher=teacher, epochs=1) == 0
    assert depkit.load(student, device="cpu").tokenizer is not None
    records = (student / "log.jsonl").read_text().splitlines()
    assert json.loads(records[0])["epoch"] == 1


def test_impossible_teachers_and_students_are_rejected(tmp_path, text, capfd):
    for setting, message in (
        ("family=tagger", "of the family tagger"),
        ("inputs.tag=8", "reads tags"),
    ):
        teacher = str(tmp_path / message)
        arguments = ["train", str(TINY), "--dev", str(TINY), "-o", teacher, "--epochs", "1", "-q"]
        off = set_options(setting, "tokenizer.enabled=false")
        assert run([*arguments, *SMALL, *off, *ON_CPU]) == 0
        assert_fails(capfd, 1, message, tmp_path / "student", text, teacher=teacher)
    assert_fails(capfd, 2, "inputs.tag", tmp_path / "student", text, "--set", "inputs.tag=8")
    unknown = ["--set", "inputs.treebank=4", "--set", "tokenizer.treebank=xx"]
    message = "tokenizer.treebank='xx' is not the name of a treebank of train; these are tiny"
    assert_fails(capfd, 2, message, tmp_path / "student", text, *unknown)
    assert not (tmp_path / "student").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--dev-split", "0.1"], "name either --dev or --dev-split"),
        (["-"], "-: standard input cannot be read again; name a file"),
        (["--max-time", "soon"], "--max-time 'soon' is not a time"),
        (["--set", "distillation.words=2"], "no setting 'distillation.words'"),
        (["--recipe", "huge"], "no recipe 'huge'"),
    ],
)
def test_invalid_options_are_rejected(more, message, tmp_path, capfd):
    assert_fails(capfd, 2, message, tmp_path / "student", *more)


def test_missing_and_empty_files_are_errors(tmp_path, capfd):
    student, empty = tmp_path / "student", tmp_path / "empty.txt"
    assert_fails(capfd, 1, "none.txt: No such file or directory\n", student, tmp_path / "none.txt")
    assert_fails(capfd, 1, "the bundled models are af,", student, teacher="no-such-model")
    empty.write_text("\n")
    assert_fails(capfd, 1, "empty.txt: the file contains no sentences\n", student, empty)
    assert not student.exists()
    assert_fails(capfd, 1, f"error: {tmp_path}: Is a directory\n", student, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    message = f"{tmp_path / 'pipe'}: a pipe or device cannot be read again; name a file"
    assert_fails(capfd, 2, message, student, tmp_path / "pipe")
    empty.write_text("Alone\n")
    assert_fails(capfd, 1, "no sentence of 2 to 150 words", student, empty)
