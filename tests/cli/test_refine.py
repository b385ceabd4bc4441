"""Training a parser that corrects parses, and correcting with it, on the command line."""

import json

import pytest

from depkit.cli.main import run
from depkit.corpus.io import read, write
from depkit.parsers.loading import load
from depkit.score.evaluators import evaluate
from tests.cli.commands import ON_CPU, Command, assert_fails, set_options
from tests.conftest import TINY

SIZES = set_options(
    "inputs.word=8", "inputs.affix=8", "inputs.draft=8", "encoder.layers=1", "encoder.size=16",
    "encoder.heads=2", "encoder.head_size=8", "encoder.feedforward=16", "scorer.arc=8",
    "scorer.label=8", "tokenizer.enabled=false", "training.precision=float32",
)  # fmt: skip
parse = Command("parse")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with parses of TINY (flat.conllu), and a model that corrects them."""
    folder = tmp_path_factory.mktemp("refine")
    flat = [s.with_tree([0] + [1] * (len(s) - 1), ["root"] + ["dep"] * (len(s) - 1))
            for s in read(TINY)]  # fmt: skip
    write(flat, folder / "flat.conllu")
    assert run(train(folder, "--epochs", "9")) == 0
    return folder


def train(folder, *more, parses="flat.conllu", dev_parses="flat.conllu"):
    options = ["--parses", str(folder / parses)] if parses else []
    options += ["--dev-parses", str(folder / dev_parses)] if dev_parses else []
    return ["train", str(TINY), "--dev", str(TINY), "-o", str(folder / "model"), "-q",
            "--recipe", "refine", *options, *SIZES, *ON_CPU, *more]  # fmt: skip


def test_the_dev_score_is_that_of_the_corrected_dev_parses(folder):
    """It would be another score if the gold trees of dev were corrected."""
    parser = load(folder / "model", "cpu", precision="float32")
    gold = list(read(TINY))
    parsed = (parser.predict(draft) for draft in (read(folder / "flat.conllu"), gold))
    uas = [evaluate(gold, sentences).UAS for sentences in parsed]
    log = [json.loads(line) for line in (folder / "model" / "log.jsonl").read_text().splitlines()]
    logged = max(log, key=lambda row: row["LAS"])["UAS"]
    assert logged == pytest.approx(uas[0], abs=0.01) != pytest.approx(uas[1], abs=0.01)


def test_each_pass_corrects_the_result_of_the_pass_before(folder):
    model = folder / "model"
    once, _ = parse(folder / "flat.conllu", "--model", model, *ON_CPU)
    (folder / "once.conllu").write_text(once)
    twice, _ = parse(folder / "once.conllu", "--model", model, *ON_CPU)
    options = ["--model", model, *ON_CPU, "--passes", "2"]
    assert parse(folder / "flat.conllu", *options)[0] == twice != once
    out, err = parse(folder / "flat.conllu", *options, "--prob", "--verbose")
    words = sum(map(len, read(TINY)))
    assert out.count("ArcProb") == words and f"{words} words" in err


def test_what_cannot_be_corrected_is_refused(folder, capfd, tmp_path):
    model = ["--model", str(folder / "model"), *ON_CPU]
    blank = tmp_path / "blank.conllu"
    write([s.with_tree([-1] * len(s), s.deprel) for s in read(TINY)], blank)
    no_head = "the word has no HEAD, but this parser corrects parses; parse the file with another"
    assert_fails(capfd, ["parse", str(blank), *model], 1, f"{blank}:3", no_head)
    text = tmp_path / "text.txt"
    text.write_text("Dogs bark .")
    assert_fails(capfd, ["parse", str(text), *model, "--input", "tokens"], 1, no_head)
    assert_fails(capfd, ["parse", str(TINY), *ON_CPU, "--passes", "2"], 2, "not correct parses")
    assert_fails(capfd, ["parse", str(TINY), *model, "--passes", "0"], 2, "--passes")


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"parses": ""}, 2, "with --parses for each training file"),
        ({"dev_parses": ""}, 2, "--dev-parses if there is a --dev file"),
        ({"parses": "short.conllu"}, 1, "short.conllu"),
        ({"more": ["--set", "encoder.kind=stacked"]}, 2, "no other encoder reads arcs"),
        (
            {"more": ["--recipe", "selfatt", "--set", "inputs.draft=0"]},
            2,
            "choose the recipe refine",
        ),
    ],
)
def test_a_training_without_fitting_parses_is_refused(
    folder, tmp_path, capfd, changes, status, message
):
    write(list(read(folder / "flat.conllu"))[:3], folder / "short.conllu")
    more = changes.pop("more", [])
    arguments = train(folder, "-o", str(tmp_path / "m"), *more, **changes)
    assert_fails(capfd, arguments, status, message)


def test_other_trainings_cannot_read_gold_trees_as_drafts(capfd, tmp_path):
    for command in (
        ["ensemble", str(TINY), "--dev", str(TINY), "--folds", "2", "--recipes", "refine"],
        ["tag", str(TINY), "--folds", "2", "--recipe", "refine"],
    ):
        output = ["-o", str(tmp_path / "out"), "-q"]
        assert_fails(capfd, [*command, *output, *SIZES, *ON_CPU], 2, "correct")
