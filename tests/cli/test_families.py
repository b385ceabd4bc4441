"""Every command that takes a model, with a model of every family."""

import inspect
import json

import pytest

import depkit
from depkit.cli.main import run
from depkit.parsers.base import Parser
from depkit.parsers.families import FAMILIES
from depkit.parsers.parse_options import OTHER_NAMES
from tests.cli.commands import ON_CPU, set_options
from tests.conftest import TINY, TREES

FORMER = {former: name for name, former in OTHER_NAMES.items()}

SMALL = [
    *ON_CPU, "--epochs", "1", "-q",
    *set_options("inputs.word=8", "encoder.layers=1", "encoder.size=16", "tokenizer.epochs=1"),
]  # fmt: skip
ATTENTION = set_options("encoder.heads=2", "encoder.head_size=8", "encoder.feedforward=16")
RECIPES = {
    "biaffine": ["--recipe", "bilstm", *set_options("scorer.arc=8", "scorer.label=8")],
    "tagger": ["--recipe", "tagger"],
    "transition": ["--recipe", "g2g-sent", *ATTENTION],
    "constituency": ["--recipe", "kk2018-small", *ATTENTION, *set_options("inputs.char=8")],
}
pytestmark = pytest.mark.usefixtures("short_tokenizer_training")
PARSERS = {"biaffine", "transition", "constituency"}
# The families that a command is for. To all others, it says why not, with status 1 or 2.
COMMANDS = {
    "info MODEL": {*PARSERS, "tagger"},
    "info MODEL --json": {*PARSERS, "tagger"},
    "parse FILE --model MODEL": PARSERS,
    "parse FILE --model MODEL --model MODEL": {"biaffine", "constituency"},
    "parse FILE --model MODEL --format json": PARSERS,
    "parse FILE --model MODEL --prob --format conllu": {"biaffine"},
    "tag FILE --model MODEL": {"biaffine", "tagger", "constituency"},
    "suspects FILE --model MODEL": set(),  # it is for ensembles
}


@pytest.fixture(scope="module")
def models(tmp_path_factory, short_tokenizer_training):
    """Return a directory with a model of each family, trained for one epoch."""
    directory = tmp_path_factory.mktemp("models")
    for family, recipe in RECIPES.items():
        file = str(TREES if family == "constituency" else TINY)
        command = ["train", file, "--dev", file, "-o", str(directory / family), *recipe, *SMALL]
        assert run(command) == 0
    return directory


def test_every_family_is_tried():
    assert RECIPES.keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", RECIPES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_or_says_why_not(command, family, models, capfd):
    file = TREES if family == "constituency" and "conllu" not in command else TINY
    words = {"MODEL": str(models / family), "FILE": str(file)}
    arguments = [words.get(word, word) for word in command.split()]
    computes = [] if arguments[0] == "info" else ON_CPU
    status = run([*arguments, *computes])
    out, err = capfd.readouterr()
    assert "Traceback" not in err and "internal error" not in err
    if family in COMMANDS[command]:
        assert status == 0, err
        assert out
    else:
        assert status in (1, 2)
        assert out == "" and err.startswith("depkit: error: ") and err.count("\n") == 1
    if command == "info MODEL --json":
        assert json.loads(out)["family"] == family


@pytest.mark.parametrize("family", RECIPES)
def test_info_says_what_a_model_predicts(family, models, capfd):
    assert run(["info", str(models / family)]) == 0
    rows = dict(line.split("  ", 1) for line in capfd.readouterr().out.splitlines() if "  " in line)
    expected = {"biaffine": "mst, single root", "transition": "single root"}.get(family)
    assert rows.get("decoder", "").strip() == (expected or "")
    assert rows["predicts"].strip().startswith("heads, ") == bool(expected)


@pytest.mark.parametrize("family", RECIPES)
def test_parse_has_the_same_arguments_and_refuses_by_name(family, models):
    parser = depkit.load(models / family, "cpu")
    signature = inspect.signature(type(parser).parse)
    assert signature == inspect.signature(Parser.parse)
    given = {"algorithm": "mst", "root": "single", "probabilities": "local", "passes": 2}
    missing = {name for name in given if name not in parser.options}
    assert missing == {
        "biaffine": set(), "transition": {"algorithm", "probabilities", "passes"},
        "constituency": given.keys(), "tagger": given.keys(),
    }[family]  # fmt: skip
    for name in missing:
        shown = FORMER.get(name, name)
        message = "predicts no trees" if family == "tagger" else f"do not support `{shown}`"
        with pytest.raises(ValueError, match=message):
            next(parser.parse([["a", "b"]], **{name: given[name]}))
    for name, choices in parser.options.items():
        if choices:
            shown = FORMER.get(name, name)
            with pytest.raises(ValueError, match=f"{shown} can be .*, not 'wrong'"):
                next(parser.parse([["a", "b"]], **{name: "wrong"}))


@pytest.mark.parametrize("family", RECIPES)
def test_models_are_described_in_python(family, models):
    assert family in str(depkit.load(models / family).config.family)
    assert "predicts" in repr(depkit.load(models / family))
