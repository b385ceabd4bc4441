"""depkit tag: tagging with a model, and jack-knifing of a training file."""

import io
import json
import os
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
from tests.cli.commands import ON_CPU, SMALL, assert_fails, set_options
from tests.conftest import TINY
from tests.files.access import refuse_access
from tests.training.small_runs import kill_training_at

QUICK = [*SMALL, *set_options("training.updates=0")]
FOLDS = ["--folds", "3", "--epochs", "1", *QUICK, *ON_CPU]
TAGS = (2, 3, 4, 5)  # LEMMA, UPOS, XPOS, FEATS

# A sentence with parts that tagging must not change: comments, a range, an empty node, MISC, CRLF.
RICH = (
    "# sent_id = rich-{i}\r\n# text = Don't  go.\r\n"
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\\s\r\n"
    "1\tDo\tdo\tAUX\tVB\tVerbForm=Fin\t3\taux\t3:aux|0:x\tA=1\r\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\r\n"
    "2.1\tyou\tyou\tPRON\t_\t_\t_\t_\t3:nsubj\t_\r\n"
    "3\tgo\tgo\tVERB\tVB\t_\t_\t_\t0:root\tSpaceAfter=No\r\n"
    "4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_ \r\n\r\n"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tagger trained on the small treebank."""
    directory = tmp_path_factory.mktemp("model") / "tagger.model"
    settings = ["--set", "tokenizer.enabled=false", "--set", "inputs.part_dropout=0"]
    fast = ["--set", "training.rate=1e-2", "--epochs", "20", "-q", *QUICK, *ON_CPU]
    arguments = ["train", str(TINY), "--dev", str(TINY), "--recipe", "tagger", *settings, *fast]
    assert run([*arguments, "-o", str(directory)]) == 0
    return directory


@pytest.fixture
def rich(tmp_path):
    """A file with the sentence RICH nine times."""
    path = tmp_path / "rich.conllu"
    path.write_text("".join(RICH.format(i=i) for i in range(9)), "utf-8", newline="")
    return path


@pytest.fixture
def temporary_directory(tmp_path, monkeypatch):
    """The directory of temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def remove_tags(path):
    """Return the rows of a file without the columns that a tagger may change."""
    rows = [line.split("\t") for line in path.read_bytes().decode().split("\n")]
    return [
        [cell for i, cell in enumerate(row) if i not in TAGS] if row[0].isdigit() else row
        for row in rows
    ]


def clear_columns(sentences, *columns):
    """Return the sentences with _ in these columns."""
    return [s.with_columns(dict.fromkeys(columns, ["_"] * len(s))) for s in sentences]


def test_a_tagger_changes_only_tags(model, rich, tmp_path, capfd):
    out = tmp_path / "out.conllu"
    columns = ("upos", "xpos", "feats", "lemma")
    depkit.write(clear_columns(depkit.read(TINY), *columns), tmp_path / "untagged.conllu")
    tag = ["tag", "--model", str(model), "-o", str(out), "-v", *ON_CPU]
    assert run([*tag, str(tmp_path / "untagged.conllu")]) == 0
    assert "24 sentences, 182 words" in capfd.readouterr().err
    assert remove_tags(out) == remove_tags(TINY)
    gold, tagged = list(depkit.read(TINY)), list(depkit.read(out))
    assert min(jackknife.accuracies(gold, tagged, columns).values()) > 60
    assert run([*tag, str(rich)]) == 0
    assert remove_tags(out) == remove_tags(rich) and out.read_bytes() != rich.read_bytes()


def test_the_option_tags_missing_keeps_existing_tags(model, tmp_path):
    file, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    wrong = new_sentence(["the", "cat"], {"upos": ["X", "_"], "lemma": ["y", "_"]})
    depkit.write([wrong, new_sentence(["The", "cat"])], file)
    common = ["tag", str(file), "--model", str(model), "-o", str(out), *ON_CPU]
    assert run([*common, "--tags", "missing"]) == 0
    first, second = depkit.read(out)
    assert (first.upos, first.lemma) == (["X", "_"], ["y", "_"])
    assert "_" not in first.xpos + second.upos + second.lemma
    assert run(common) == 0
    assert "X" not in next(depkit.read(out)).upos


def test_a_parser_tags_text_without_trees(monkeypatch, capfd):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The cat sleeps.\n")))
    assert run(["tag", "--format", "json", *ON_CPU]) == 0
    words = json.loads(capfd.readouterr().out)["words"]
    assert [word["upos"] for word in words] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert {word["head"] for word in words} == {word["deprel"] for word in words} == {None}


def test_several_files_are_written_to_a_directory(model, rich, tmp_path):
    out = tmp_path / "out"
    arguments = ["--model", str(model), "--output-dir", str(out), *ON_CPU]
    assert run(["tag", str(rich), str(TINY), *arguments]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["rich.conllu", "tiny.conllu"]


def test_a_tagger_does_not_parse(model, capfd):
    parse = ["parse", str(TINY), "--model", str(model), *ON_CPU]
    assert_fails(capfd, parse, 1, "this model is a tagger")
    for option, name in (("--decode=mst", "--decode"), ("--prob", "--prob")):
        message = f"models of the family tagger do not support {name}"
        assert_fails(capfd, [*parse, option], 2, message)
    assert run(["info", str(model), "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["family"], facts["decoder"]) == ("tagger", None)


def test_a_model_without_tags_does_not_tag(tmp_path, capfd):
    model = str(tmp_path / "m")
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", model, "--epochs", "1", "-q"]
    settings = ["--set", "scorer.predict=[]", "--set", "tokenizer.enabled=false"]
    assert run([*arguments, *settings, *QUICK, *ON_CPU]) == 0
    assert_fails(capfd, ["tag", str(TINY), "--model", model, *ON_CPU], 1, "predicts no tags")


def test_jack_knifing_changes_only_tags(rich, tmp_path, temporary_directory, capfd):
    out = tmp_path / "out.conllu"
    assert run(["tag", str(rich), "-o", str(out), *FOLDS]) == 0
    assert remove_tags(out) == remove_tags(rich)
    err = capfd.readouterr().err
    assert [line for line in err.splitlines() if line.startswith("fold ")] == [
        f"fold {number} of 3: a tagger trained on 6 sentences tags the other 3"
        for number in (1, 2, 3)
    ]
    assert not list(temporary_directory.iterdir())
    accuracies = dict(re.findall(r"(UPOS|XPOS|FEATS|LEMMA) ([\d.]+)", err.splitlines()[-1]))
    assert list(accuracies) == ["UPOS", "XPOS", "FEATS", "LEMMA"] and "% of 36 words" in err
    gold, tagged = list(depkit.read(rich)), list(depkit.read(out))
    accuracy = jackknife.accuracies(gold, tagged, ["upos"])["upos"]
    assert accuracies["UPOS"] == f"{accuracy:.2f}" and accuracy < 100


def test_jack_knifing_predicts_only_columns_with_values(tmp_path, capfd):
    """Columns without values are not reported; stdout contains only sentences."""
    file = tmp_path / "in.conllx"
    reduced = clear_columns(islice(depkit.read(TINY), 6), "lemma", "feats", "xpos")
    depkit.write(reduced, file)
    assert run(["tag", str(file), "-q", *FOLDS]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    tagged = list(depkit.read(io.StringIO(out, newline="\n"), "conllx"))
    assert [sentence.form for sentence in tagged] == [sentence.form for sentence in reduced]
    assert {tag for s in tagged for tag in s.lemma + s.feats + s.xpos} == {"_"}
    assert run(["tag", str(file), "-o", str(tmp_path / "out"), *FOLDS]) == 0
    assert re.search(r"words: UPOS [\d.]+\n$", capfd.readouterr().err)


def test_a_tagger_needs_no_trees(tmp_path):
    file = tmp_path / "in.conllu"
    depkit.write([new_sentence(s.form, {"upos": s.upos}) for s in depkit.read(TINY)], file)
    assert run(["tag", str(file), "-o", str(tmp_path / "out"), "-q", *FOLDS]) == 0
    assert all(set(s.head) == {-1} for s in depkit.read(tmp_path / "out", "conllu"))


def test_an_interrupted_run_is_resumed(tmp_path, capfd):
    expected, resumed = tmp_path / "expected.conllu", tmp_path / "resumed.conllu"
    arguments = ["tag", str(TINY), *FOLDS]
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
    assert run(["tag", str(TINY), *FOLDS, "-q", "-o", str(tmp_path / "out")]) == 130
    assert folds and not list(temporary_directory.iterdir()) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "tagger"], "--recipe"),
        (["--set", "a=1"], "--set"),
        (["--seed", "1"], "--seed"),  # rejected although it is the default
        (["--resume"], "--resume"),
        (["--folds", "3", "--model", "en-ewt"], "--model"),
        (["--folds", "3", "--tags", "predict"], "--tags"),
        (["--folds", "3", "--output-dir", "x"], "--output-dir"),
        (["--folds", "3", "--resume"], "--work"),
        (["--folds", "1"], "--folds 1: give a whole number, 2 or more"),
        (["--folds", "3", str(TINY)], "one file"),
        (["--folds", "3", "--recipe", "best"], "no recipe 'best'"),
        (["--folds", "3", "--recipe", "li2019-bilstm"], "nothing to jack-knife"),
        (["--folds", "3", "--set", "inputs.tag=9"], "inputs.tag"),
        (["--folds", "3", "--features", "x"], "elmo"),
        (["--folds", "3", "--device", "meta"], "no device"),
        (["--folds", "3", "-o", str(TINY)], "one of the files to read"),
        (["--tags", "keep"], "--tags"),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_status_2(arguments, message, capfd):
    assert_fails(capfd, ["tag", str(TINY), *arguments], 2, message)


def test_environment_variables_of_unused_options_are_ignored(rich, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPKIT_MODEL", "nowhere")
    monkeypatch.setenv("DEPKIT_SEED", "3")
    assert run(["tag", str(rich), "-q", "-o", str(tmp_path / "out"), *FOLDS]) == 0
    assert run(["tag", str(rich), "-q", "-o", str(tmp_path / "out"), *ON_CPU]) == 1  # no such model


def test_bad_data_and_paths_are_reported_in_one_line_with_status_1(tmp_path, capfd):
    word = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    contents = {
        "no sentences": "",
        "there are no tags to learn: UPOS, XPOS, FEATS, LEMMA are all _": word * 9,
        ": 2 sentences are too few for 3 folds": word.replace("_\t_\t_\t_\t0", "a\tX\t_\t_\t0") * 2,
        ":1: ": "Time flies.\n" * 9,
    }
    for message, content in contents.items():
        (tmp_path / "in.conllu").write_text(content)
        assert_fails(capfd, ["tag", str(tmp_path / "in.conllu"), *FOLDS], 1, message, "in.conllu")
    common = ["tag", str(TINY), *FOLDS]
    for arguments, message in (
        (["-o", str(tmp_path)], "is a directory"),
        (["-o", str(TINY / "a" / "b")], "tiny.conllu: Not a directory"),
        (["--work", str(TINY)], "is a file"),
        (["--work", str(tmp_path)], "is not empty; --resume"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
    ):
        assert_fails(capfd, [*common, *arguments], 1, message)
    error = "depkit: error: nowhere.conllu: No such file or directory\n"
    assert_fails(capfd, ["tag", "nowhere.conllu", *FOLDS], 1, error)


def test_a_directory_without_access_is_reported_before_the_training(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(Path, "touch", refuse_access)
    monkeypatch.setattr(jackknife, "jackknife_file", None)  # calling it would be a TypeError
    output = tmp_path / "new" / "out.conllu"
    error = f"depkit: error: {output}: Permission denied\n"
    assert_fails(capfd, ["tag", str(TINY), *FOLDS, "-o", str(output)], 1, error)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_reported(model, capfd):
    tag = ["tag", str(TINY), "--model", str(model), "-o", "/dev/full", *ON_CPU]
    assert_fails(capfd, tag, 1, "depkit: error: /dev/full: No space left on device\n")
