"""depkit jackknife: the tags of a training file by taggers that have not seen them."""

import io
import re
import tempfile
from itertools import islice
from pathlib import Path

import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.corpus.sentence import new_sentence
from depkit.ensemble import jackknife
from tests.cli.commands import ON_CPU, assert_fails
from tests.cli.tagging import (
    QUICK,
    clear_columns,
    remove_tags,
    remove_tags_of_trees,
    write_rich,
)
from tests.conftest import TINY, TREES
from tests.files.access import refuse_access
from tests.training.small_runs import kill_training_at

FOLDS = ["--folds", "3", "--epochs", "1", *QUICK, *ON_CPU]


@pytest.fixture
def rich(tmp_path):
    return write_rich(tmp_path)


@pytest.fixture
def temporary_directory(tmp_path, monkeypatch):
    """The directory of temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def left_over(directory):
    """Return the files in a directory, without the cache that torch makes when it is imported."""
    names = (path.name for path in directory.iterdir())
    return [name for name in names if not name.startswith("torchinductor")]


def test_jack_knifing_changes_only_tags(rich, tmp_path, temporary_directory, capfd):
    out = tmp_path / "out.conllu"
    assert run(["jackknife", str(rich), "-o", str(out), *FOLDS]) == 0
    assert remove_tags(out) == remove_tags(rich)
    err = capfd.readouterr().err
    assert [line for line in err.splitlines() if line.startswith("fold ")] == [
        f"fold {number} of 3: a tagger trained on 6 sentences tags the other 3"
        for number in (1, 2, 3)
    ]
    assert left_over(temporary_directory) == []
    accuracies = dict(re.findall(r"(UPOS|XPOS|FEATS|LEMMA) ([\d.]+)", err.splitlines()[-1]))
    assert list(accuracies) == ["UPOS", "XPOS", "FEATS", "LEMMA"] and "% of 36 words" in err
    gold, tagged = list(depkit.read(rich)), list(depkit.read(out))
    accuracy = jackknife.accuracies(gold, tagged, ["upos"])["upos"]
    assert accuracies["UPOS"] == f"{accuracy:.2f}" and accuracy < 100


def test_jack_knifing_predicts_only_columns_with_values(tmp_path, capfd):
    """Columns without values are not reported; stdout contains only sentences."""
    file = tmp_path / "in.conllx"
    reduced = clear_columns(islice(depkit.read(TINY), 6), "lemma", "feats", "xpos")
    depkit.write(depkit.convert(reduced, "conllx"), file)
    assert run(["jackknife", str(file), "-q", *FOLDS]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    tagged = list(depkit.read(io.StringIO(out, newline="\n"), "conllx"))
    assert [sentence.form for sentence in tagged] == [sentence.form for sentence in reduced]
    assert {tag for s in tagged for tag in s.lemma + s.feats + s.xpos} == {"_"}
    assert run(["jackknife", str(file), "-o", str(tmp_path / "out"), *FOLDS]) == 0
    assert re.search(r"words: UPOS [\d.]+\n$", capfd.readouterr().err)


def test_a_tagger_needs_no_trees(tmp_path):
    file = tmp_path / "in.conllu"
    depkit.write([new_sentence(s.form, {"upos": s.upos}) for s in depkit.read(TINY)], file)
    assert run(["jackknife", str(file), "-o", str(tmp_path / "out"), "-q", *FOLDS]) == 0
    assert all(set(s.head) == {-1} for s in depkit.read(tmp_path / "out", "conllu"))


def test_an_interrupted_run_is_resumed(tmp_path, capfd):
    expected, resumed = tmp_path / "expected.conllu", tmp_path / "resumed.conllu"
    arguments = ["jackknife", str(TINY), *FOLDS]
    assert run([*arguments, "-o", str(expected), "-q"]) == 0
    work = tmp_path / "work"
    # The training of each fold takes two to four updates. The fifth is in the second fold.
    with kill_training_at(5, KeyboardInterrupt):
        assert run([*arguments, "--work", str(work), "-o", str(resumed)]) == 130
    assert "--resume continues" in capfd.readouterr().err and not resumed.exists()
    models = sorted(work.iterdir())
    assert len(models) == 2
    modification_time = (models[0] / "model.safetensors").stat().st_mtime_ns
    again = [*arguments, "--work", str(work), "-o", str(resumed)]
    assert_fails(capfd, again, 1, "--resume")
    assert run([*again, "--resume"]) == 0
    assert resumed.read_bytes() == expected.read_bytes()
    assert (models[0] / "model.safetensors").stat().st_mtime_ns == modification_time
    assert depkit.load(work / "fold-03", device="cpu").config.family == "tagger"
    capfd.readouterr()
    assert_fails(capfd, [*again, "--resume", "--seed", "2", "-q"], 1, "--seed 1 (now 2)")


def test_an_interrupt_leaves_no_temporary_files(tmp_path, temporary_directory, monkeypatch):
    folds = []

    def interrupt(self, *args, **kwargs):
        folds.extend(temporary_directory.rglob("fold-01"))
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.Adam, "step", interrupt)
    assert run(["jackknife", str(TINY), *FOLDS, "-q", "-o", str(tmp_path / "out")]) == 130
    assert folds and not left_over(temporary_directory) and not (tmp_path / "out").exists()


def test_the_old_spelling_says_the_new_one_unless_it_is_quiet(rich, tmp_path, capfd):
    for command in ("tag", "jackknife"):
        arguments = [command, str(rich), "-q", "-o", str(tmp_path / command), *FOLDS]
        assert run(arguments) == 0
    assert (tmp_path / "tag").read_bytes() == (tmp_path / "jackknife").read_bytes()
    assert not capfd.readouterr().err
    assert run(["tag", "nowhere.conllu", "--folds=3", *ON_CPU]) == 1
    note, error = capfd.readouterr().err.splitlines()
    assert note == "depkit: note: depkit tag --folds is now depkit jackknife --folds"
    assert "nowhere" in error
    assert_fails(capfd, ["jackknife", "nowhere.conllu", "--folds=3", *ON_CPU], 1, "nowhere")
    assert_fails(capfd, ["tag", "-q", "a", "--folds", "1"], 2, "; see depkit jackknife --help")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "en-ewt"], "--model"),
        (["--tags", "predict"], "--tags"),
        (["--output-dir", "x"], "--output-dir"),
        (["--resume"], "--work"),
        (["--folds", "1"], "--folds 1: give a whole number, 2 or more"),
        ([str(TINY)], "unexpected extra argument"),
        (["--recipe", "best"], "no recipe 'best'"),
        (["--recipe", "li2019-bilstm"], "nothing to jack-knife"),
        (["--set", "inputs.tag=9"], "inputs.tag"),
        (["--elmo", "x"], "--elmo requires inputs.context.source=elmo"),
        (["--features", "x"], "--elmo requires inputs.context.source=elmo"),
        (["--device", "meta"], "no device"),
        (["-o", str(TINY)], "one of the files to read"),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_status_2(arguments, message, capfd):
    assert_fails(capfd, ["jackknife", str(TINY), "--folds", "3", *arguments], 2, message)


def test_environment_variables_of_unused_options_are_ignored(rich, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPKIT_MODEL", "nowhere")
    monkeypatch.setenv("DEPKIT_SEED", "3")
    assert run(["jackknife", str(rich), "-q", "-o", str(tmp_path / "out"), *FOLDS]) == 0
    assert run(["tag", str(rich), "-q", "-o", str(tmp_path / "out"), *ON_CPU]) == 1  # no such model


def test_bad_data_and_paths_are_reported_in_one_line_with_status_1(tmp_path, capfd):
    word = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    contents = {
        "no sentences": "",
        "there are no tags to learn: UPOS, XPOS, FEATS, LEMMA are all _": word * 9,
        ": too few different sentences (1) for 3 folds": word.replace(
            "_\t_\t_\t_\t0", "a\tX\t_\t_\t0"
        )
        * 2,
        ":1: ": "Time flies.\n" * 9,
    }
    for message, content in contents.items():
        (tmp_path / "in.conllu").write_text(content)
        assert_fails(
            capfd, ["jackknife", str(tmp_path / "in.conllu"), *FOLDS], 1, message, "in.conllu"
        )
    common = ["jackknife", str(TINY), *FOLDS]
    for arguments, message in (
        (["-o", str(tmp_path)], "is a directory"),
        (["-o", str(TINY / "a" / "b")], "tiny.conllu: Not a directory"),
        (["--work", str(TINY)], "is a file"),
        (["--work", str(tmp_path)], "is not empty; --resume"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
    ):
        assert_fails(capfd, [*common, *arguments], 1, message)
    error = "depkit: error: nowhere.conllu: No such file or directory\n"
    assert_fails(capfd, ["jackknife", "nowhere.conllu", *FOLDS], 1, error)


def test_a_directory_without_access_is_reported_before_the_training(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(Path, "touch", refuse_access)
    monkeypatch.setattr(jackknife, "jackknife_file", None)  # calling it would be a TypeError
    output = tmp_path / "new" / "out.conllu"
    error = f"depkit: error: {output}: Permission denied\n"
    assert_fails(capfd, ["jackknife", str(TINY), *FOLDS, "-o", str(output)], 1, error)
    assert not list(tmp_path.iterdir())


def test_jack_knifing_keeps_trees(tmp_path):
    """The trees of a bracketed file are written with other tags, also by a constituency parser."""
    out, table = tmp_path / "out.mrg", tmp_path / "out.conllu"
    recipes = (["--recipe", "kk2018-small"], ["--recipe", "tagger"])
    for recipe in recipes:
        assert run(["jackknife", str(TREES), "-o", str(out), *recipe, *FOLDS]) == 0
        gold, tagged = list(depkit.read(TREES)), list(depkit.read(out))
        assert remove_tags_of_trees(gold) == remove_tags_of_trees(tagged)
        assert [s.form for s in gold] == [s.form for s in tagged]
        assert [s.xpos for s in gold] != [s.xpos for s in tagged]
    assert run(["jackknife", str(TREES), "-o", str(table), *recipes[1], *FOLDS]) == 0
    assert [s.xpos for s in depkit.read(table)] == [s.xpos for s in tagged]
