"""depkit tag: tagging with a model."""

import io
import json
import os

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.brackets import with_tags
from depkit.corpus.sentence import new_sentence
from depkit.corpus.tree import Tree
from depkit.ensemble import jackknife
from tests.cli.commands import ON_CPU, assert_fails
from tests.cli.tagging import QUICK, clear_columns, remove_tags, write_rich
from tests.conftest import TINY


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
    return write_rich(tmp_path)


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
    assert_fails(capfd, parse, 2, "this model is a tagger")
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
    assert_fails(capfd, ["tag", str(TINY), "--model", model, *ON_CPU], 2, "predicts no tags")
    parse = ["parse", str(TINY), "--model", model, "--tags", "predict", *ON_CPU]
    assert_fails(capfd, parse, 2, "predicts no tags; leave --tags predict out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "tagger"], "--recipe"),
        (["--set", "a=1"], "--set"),
        (["--seed", "1"], "--seed"),
        (["--resume"], "--resume"),
        (["--tags", "keep"], "--tags"),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_status_2(arguments, message, capfd):
    assert_fails(capfd, ["tag", str(TINY), *arguments], 2, message)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_reported(model, capfd):
    tag = ["tag", str(TINY), "--model", str(model), "-o", "/dev/full", *ON_CPU]
    assert_fails(capfd, tag, 1, "depkit: error: /dev/full: No space left on device\n")


def test_trees_are_kept_with_other_tags(tmp_path, capfd):
    """Labels with functions and features, brackets around trees, words, empty elements and lines
    stay as they are.
    """
    file, out = tmp_path / "in.mrg", tmp_path / "out.mrg"
    file.write_text(
        "( (S (NP-SBJ#1##f=x y## (A##g=m## The) (B dog)) (C sleeps) (D 1\\\\/2)))\n"
        "(TOP (X (A Rain)))\n(S\n  (NP (-NONE- *-1) ) (VP\n    (A sleeps) ))\n"
    )
    tag = ["tag", str(file), *ON_CPU]
    assert run([*tag, "-o", str(out)]) == 0
    assert out.read_text() == (
        "( (S (NP-SBJ#1##f=x y## (DT The) (NN dog)) (VBZ sleeps) (CD 1\\\\/2)))\n"
        "(TOP (X (NN Rain)))\n(S\n  (NP (-NONE- *-1) ) (VP\n    (VBZ sleeps) ))\n"
    )
    assert run(tag) == 0 and run([*tag, "--format", "ptb"]) == 0
    assert capfd.readouterr().out == 2 * out.read_text()
    # The files before it make no difference.
    assert run(["tag", str(TINY), *tag[1:], "--output-dir", str(tmp_path / "dir")]) == 0
    assert (tmp_path / "dir" / "in.mrg").read_text() == out.read_text()
    # The tags of trees are not missing; another format is written where it is asked for.
    assert run([*tag, "--tags", "missing", "-o", str(out)]) == 0
    assert out.read_text() == file.read_text()
    for table in (["-o", str(tmp_path / "out.conllu")], ["--format", "conllu"]):
        assert run([*tag, *table]) == 0
    text = (tmp_path / "out.conllu").read_text()
    assert "2\tdog\tdog\tNOUN\tNN\t" in text and text in capfd.readouterr().out
    mixed = [*tag, str(TINY), "-o", str(tmp_path / "mixed")]
    assert_fails(capfd, mixed, 1, "tiny.conllu is in the format conllu", "before it are in ptb")
    assert_fails(
        capfd, ["tag", str(TINY), "--format", "ptb", *ON_CPU], 1, "has no bracketed tree to write"
    )


def test_brackets_in_the_tags_of_trees_are_escaped():
    assert str(with_tags(Tree("S", [Tree("A", (), "x")]), ["$("])) == "(S ($-LRB- x))"
