"""The rows of papers: every command runs on a toy treebank, and recipes have the papers' values."""

import re
import shlex
from pathlib import Path

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.io import read, write, write_trees
from depkit.training.recipe import make_recipe, recipe_names
from depkit.training.rows import Row, all_rows, recipe_rows
from tests.conftest import TINY, TREES
from tests.parsers.inputs.elmo_files import write_features
from tests.parsers.inputs.small_transformers import save_bert

ROWS = all_rows()
KK = [name for name in recipe_names() if name.startswith("kk2018-") or name == "kk2018"]
FAST = ["--epochs", "1", "--threads", "1", "--device", "cpu", "-q"]


def row_id(row: Row) -> str:
    return f"{row.recipes[0]}: {row.table}"


def test_papers_have_rows_and_other_recipes_none():
    papers = {row.paper[:14] for row in ROWS}
    assert papers == {"Kitaev and Kle", "Li et al. (201", "Mohammadshahi "}
    assert len(ROWS) > 80
    with_rows = {name for row in ROWS for name in row.recipes}
    assert {n for n in recipe_names() if re.match("(kk|li|mh)20", n)} - with_rows == {
        "kk2018-small"
    }
    assert recipe_rows("selfatt") == []


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_the_settings_of_a_row_make_recipes(row):
    """A setting without an effect would raise an error; a placeholder names no file here."""
    settings = row.settings if not row.tests else ()
    for name in row.recipes:
        recipe = make_recipe(name, settings=settings)
        for text in settings:
            assert text.partition("=")[0].split(".")[0] in recipe.tables()
    assert re.fullmatch(r"(dev|test|LAS|not given)[-\w ./,]*", row.score)
    assert shlex.split(row.command)[0] == "depkit"


def test_hyperparameters_of_kitaev_and_klein():
    """Tables 8 and 9 and appendix A; section 5.1 for the inputs."""
    for name in KK:
        if name == "kk2018-small":
            continue
        recipe = make_recipe(name)
        encoder, training = recipe.parser.encoder, recipe.training
        assert (encoder.size, encoder.heads, encoder.head_size, encoder.feedforward) == (
            512, 8, 32, 1024
        )  # fmt: skip
        assert encoder.layers == (4 if name == "kk2018-elmo" else 8)
        assert (encoder.attention_dropout, encoder.feedforward_dropout) == (0.2, 0.1)
        assert (encoder.residual_dropout, encoder.positions) == (0.2, "learned")
        assert (training.batch_sentences, training.warmup, training.rate) == (250, 160, 8e-4)
        assert (training.decay, training.plateau, training.schedule) == (0.5, 5, "plateau")
        assert recipe.parser.scorer.hidden == 250
    inputs = make_recipe("kk2018-char").parser.inputs
    assert (inputs.word, inputs.char, inputs.char_embedding) == (0, 512, 64)
    rates = {row.table: row.settings for row in recipe_rows("kk2018-char")}
    assert rates["Table 7, Polish"] == ("training.rate=0.0015",)
    assert rates["Table 7, Hebrew and Swedish"] == ("training.rate=0.002",)
    assert rates["Table 7, Arabic"] == ("encoder.max_positions=1000",)


@pytest.mark.parametrize("name", [n for n in recipe_names() if n.startswith("mh2020")])
def test_hyperparameters_of_mohammadshahi_and_henderson(name):
    """Table 7 of the appendix."""
    recipe = make_recipe(name)
    training, scorer, inputs = recipe.training, recipe.parser.scorer, recipe.parser.inputs
    assert (training.rate, training.context_rate) == (1e-4, 1e-5)
    assert (training.beta1, training.beta2, training.epsilon) == (0.9, 0.999, 1e-6)
    assert (training.weight_decay, training.decay_biases) == (0.01, False)
    assert (training.clip, training.warmup, training.epochs) == (1.0, 0.01, 12)
    assert (scorer.hidden, scorer.label_hidden, scorer.dropout) == (500, 100, 0.05)
    assert scorer.history == (768 if "state" in name else 0)
    assert (inputs.context.depth, inputs.context.model[-17:]) == (6, "bert-base-uncased")
    assert inputs.context.weights == ("embeddings" if "scratch" in name else "all")
    assert (scorer.compose, scorer.own_root) == ("all", True)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The files that the words in capital letters stand for, in a folder."""
    folder = tmp_path_factory.mktemp("data")
    sentences = list(read(TINY))
    write(sentences[:20], folder / "train.conllu")
    write(sentences[20:], folder / "dev.conllu")
    trees = list(read(TREES))
    write_trees((s.constituents for s in trees[:20]), folder / "train.mrg")
    write_trees((s.constituents for s in trees[20:]), folder / "dev.mrg")
    for kind in ("mrg", "conllu"):
        for part in ("train", "dev"):
            write_features(folder / f"{part}-{kind}.hdf5", read(folder / f"{part}.{kind}"))
    (folder / "vectors.txt").write_text("the " + "0.1 " * 99 + "0.1\n")
    save_bert(folder / "bert")
    return folder


def fill_in(row: Row, folder: Path, output: Path) -> list[str]:
    """Return the arguments of the command of a row, with files of a folder."""
    kind = "mrg" if row.recipes[0] in KK else "conllu"
    files = {
        "TRAIN": folder / f"train.{kind}", "DEV": folder / f"dev.{kind}", "DIR": output,
        "TRAIN.hdf5": folder / f"train-{kind}.hdf5", "DEV.hdf5": folder / f"dev-{kind}.hdf5",
        "PARSED": output / "parsed.mrg",
        "inputs.vectors.file=VECTORS": f"inputs.vectors.file={folder / 'vectors.txt'}",
    }  # fmt: skip
    words = [str(files.get(word, word)) for word in shlex.split(row.command)[1:]]
    # The toy treebank is not in CoNLL-09; the toy transformer has four layers.
    words = ["inputs.tag_column=xpos" if w.endswith("=ppos") else w for w in words]
    words = [re.sub("(inputs.context.model)=.*", f"\\1={folder / 'bert'}", w) for w in words]
    settings = []
    if any(make_recipe(n).parser.inputs.context.source == "transformer" for n in row.recipes):
        settings = [f"inputs.context.model={folder / 'bert'}", "inputs.context.top=1"]
        depth = make_recipe(row.recipes[0]).parser.inputs.context.depth
        settings += ["inputs.context.depth=2"] if depth else []
    return [*words, *(word for text in settings for word in ("--set", text))]


@pytest.fixture(scope="module")
def trained(data):
    """The model that the rows of test time are about."""
    (row,) = pick("Table 5, factored (section 3)")
    assert run([*fill_in(row, data, data / "factored"), *FAST]) == 0
    return data / "factored"


def run_row(row: Row, folder: Path, output: Path) -> None:
    folds = ["--folds", "2"] if row.is_ensemble else []
    assert run([*fill_in(row, folder, output), *folds, *FAST]) == 0
    assert depkit.load(output, device="cpu").config


def pick(*tables: str) -> list[Row]:
    return [next(row for row in ROWS if row.table == table) for table in tables]


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if not row.tests], ids=row_id)
def test_the_command_of_a_row_runs(row, data, tmp_path):
    run_row(row, data, tmp_path / "model")


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if row.tests], ids=row_id)
def test_the_command_of_a_row_of_test_time_runs(row, data, trained):
    assert run([*fill_in(row, data, trained), "--threads", "1", "--device", "cpu", "-q"]) == 0
    assert len(list(read(trained / "parsed.mrg"))) == 6


@pytest.mark.parametrize(
    "row",
    pick(
        "Table 4, CharConcat",
        "Section 3, block-sparse matrices, added positions",
        "Table 1, BERT StateTr",
        "not in the paper, SentTr+G2GTr without BERT",
    ),
    ids=row_id,
)
def test_commands_of_some_rows_run(row, data, tmp_path):
    run_row(row, data, tmp_path / "model")
