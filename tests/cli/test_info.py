"""depkit info: facts about the machine and about models, without loading weights."""

import json
import platform
import subprocess
import sys
import types
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file

import depkit
from depkit.parsers import model_directory
from depkit.parsers.model_directory import CARD, CONFIG, TOKENIZER, VOCABULARY, WEIGHTS, ModelError
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import recipe_names
from tests.cli.commands import Command, assert_fails
from tests.parsers.small_parsers import make_parser, save_parser

info = Command("info")


def run(*arguments: object) -> str:
    out, err = info(*arguments)
    assert err == ""
    return out


def load_facts(*arguments: object) -> dict:
    return json.loads(run(*arguments, "--json"))


def rows(text: str) -> dict[str, str]:
    """Return the last table of an output as values by label."""
    lines = text.rpartition("\n\n")[2].splitlines()
    return {line.split("  ")[0].strip(): line.split("  ", 1)[1].strip() for line in lines}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Use an empty cache instead of the one of this machine."""
    monkeypatch.setenv("DEPKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_cached_vectors_are_shown(cache):
    assert "cache" not in rows(run())
    (cache / "features").mkdir(parents=True)
    (cache / "features" / "one.npy").write_bytes(b"x" * 2048)
    assert rows(run())["cache"].startswith("2.0 KiB of vectors in")
    assert load_facts()["features"]["bytes"] == 2048


def test_a_tuned_transformer_is_part_of_the_model(model):
    before = load_facts(model)["bytes"]
    config = model / CONFIG
    plain = config.read_text()
    tuned = plain.replace('source = "none"\nmodel = ""', 'source = "transformer"\nmodel = "x"')
    tuned = tuned.replace("tune = false\noverlap", "tune = true\noverlap")
    config.write_text(tuned)
    with pytest.raises(ModelError, match="has no transformer"):
        run(model)
    (model / "transformer").mkdir()
    (model / "transformer" / "config.json").write_bytes(b"x" * 1000)
    facts = load_facts(model)
    assert facts["bytes"] == before + len(tuned) - len(plain) + 1000
    assert any("transformer x" in text and "tuned" in text for text in facts["inputs"])


@pytest.fixture
def model(tiny, tmp_path):
    """The directory of a parser as after training, with a card and a checkpoint."""
    directory = save_parser(make_parser(tiny), tmp_path / "tiny.model")
    (directory / CARD).write_text("# A small parser\n\nIts card.\n", "utf-8")
    (directory / "last.safetensors").write_bytes(b"x" * 10_000_000)
    return directory


def test_without_a_model_the_machine_is_described(monkeypatch):
    monkeypatch.setattr(model_directory, "bundled_models", lambda: ["aa", "bb"])
    facts = rows(run())
    assert facts["depkit"] == depkit.__version__
    assert facts["Python"] == platform.python_version()
    assert facts["numba"] == metadata.version("numba")
    assert facts["recipes"] == ", ".join(recipe_names())
    assert facts["models"] == "aa, bb"


def test_json_describes_the_machine():
    facts = load_facts()
    assert facts["packages"]["torch"] == metadata.version("torch")
    cpu = facts["devices"][0]
    assert cpu["device"] == "cpu" and cpu["threads"] == torch.get_num_threads()
    assert isinstance(cpu["bfloat16"], bool)
    assert facts["recipes"] == recipe_names()


def test_gpus_are_listed_with_their_memory(monkeypatch):
    card = types.SimpleNamespace(name="Card", total_memory=3 * 2**29)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: card)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    out = run()
    for device in ("cuda:0, Card, 1.5 GiB", "cuda:1, Card, 1.5 GiB", "mps"):
        assert f"device        {device}\n" in out
    names = [device["device"] for device in load_facts()["devices"]]
    assert names == ["cpu", "cuda:0", "cuda:1", "mps"]


def test_a_missing_package_is_not_installed(monkeypatch):
    monkeypatch.setattr("depkit.cli.info._PACKAGES", ("no-such-package",))
    assert rows(run())["no-such-package"] == "not installed"
    assert load_facts()["packages"] == {"no-such-package": None}


def test_a_model_is_described(model, tiny):
    out = run(model)
    assert out.startswith("# A small parser\n\nIts card.\n\ndirectory")
    facts = rows(out)
    assert facts["parameters"] == f"{sum(w.numel() for w in load_file(model / WEIGHTS).values()):,}"
    characters = len(set("".join(form for sentence in tiny for form in sentence.form)))
    assert facts["reads"].endswith(f" words, {characters} characters")
    relations = len({label for sentence in tiny for label in sentence.deprel})
    assert facts["predicts"].startswith(f"heads, {relations} relations, ")
    assert facts["raw text"] == "no, because the model has no tokenizer"
    assert facts["decoder"].startswith("mst, ")
    assert "[encoder]" not in out


def test_the_size_does_not_include_checkpoints(model):
    size = sum((model / name).stat().st_size for name in (CONFIG, VOCABULARY, WEIGHTS, CARD))
    assert load_facts(model)["bytes"] == size
    assert rows(run(model))["directory"] == f"{model}, {size / 1024:.1f} KiB"


def test_all_files_of_the_directory_are_listed_with_their_sizes(model):
    (model / "seed-1").mkdir()
    (model / "seed-1" / "a").write_bytes(b"x" * 20_000_000)
    sizes = load_facts(model)["files"]
    assert list(sizes)[:3] == ["seed-1", "last.safetensors", WEIGHTS]
    assert (sizes["seed-1"], sizes[CARD]) == (20_000_000, (model / CARD).stat().st_size)
    assert rows(run(model))["files"].startswith("seed-1 19.1 MiB, last.safetensors 9.5 MiB, ")


def test_verbose_prints_the_recipe_as_toml(model):
    assert run(model, "-v").endswith("\n\n" + (model / CONFIG).read_text("utf-8"))


def test_json_describes_a_model(model):
    facts = load_facts(model)
    assert facts["card"] == "# A small parser\n\nIts card.\n"
    assert facts["recipe"]["format_version"] == 1
    assert (facts["family"], facts["tokenizer"]) == ("biaffine", None)
    assert facts["recipe"]["decoder"]["root"] == facts["decoder"]["root"]
    assert "deprel" in facts["predicts"]
    assert set(facts["reads"]) == {"words", "characters"}


def test_a_model_with_a_tokenizer_reads_raw_text(model):
    (model / TOKENIZER).write_bytes((model / WEIGHTS).read_bytes())
    facts = load_facts(model)
    assert facts["tokenizer"] == {"parameters": facts["parameters"]}
    assert rows(run(model))["raw text"].startswith("yes, ")


def test_a_model_without_a_card_is_described(model):
    (model / CARD).unlink()
    assert run(model).startswith("directory")
    assert load_facts(model)["card"] is None


def test_a_bundled_model_is_named_without_a_path(model, monkeypatch):
    monkeypatch.setattr(model_directory, "BUNDLED", model.parent)
    assert run("tiny.model").startswith("# A small parser")


def test_the_weights_are_not_loaded(model, monkeypatch):
    refuse = Mock(side_effect=AssertionError("weights are loaded"))
    monkeypatch.setattr("depkit.parsers.engine.weights.load_file", refuse)
    monkeypatch.setattr(torch.nn.Linear, "__init__", refuse)
    run(model)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_missing_files_are_named(model, name):
    (model / name).unlink()
    with pytest.raises(ModelError, match=f"is not a model: it has no {name}"):
        run(model)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS, TOKENIZER])
def test_damaged_files_are_named(model, name):
    (model / name).write_bytes(b"\x00garbage = [")
    with pytest.raises(ModelError, match=name) as error:
        run(model)
    assert "\n" not in str(error.value)


def test_truncated_weights_are_damaged(model):
    (model / WEIGHTS).write_bytes((model / WEIGHTS).read_bytes()[:-1])
    with pytest.raises(ModelError, match="damaged"):
        run(model)


def test_an_unknown_model_is_an_error():
    with pytest.raises(ModelError, match="nowhere"):
        run("nowhere")


def test_the_module_does_not_import_large_packages():
    code = (
        "import sys, depkit.cli.info\n"
        "large = {'torch', 'numba', 'numpy', 'transformers', 'safetensors'} & sys.modules.keys()\n"
        "sys.exit(f'imported {large}' if large else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_directory_does_not_replace_a_bundled_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("en-ewt").mkdir()
    assert model_directory.find_model("en-ewt") == model_directory.BUNDLED / "en-ewt"
    for path in ("./en-ewt", Path("en-ewt")):
        assert model_directory.find_model(path) == Path("en-ewt")
    with pytest.raises(model_directory.ModelError, match="no directory has this name"):
        model_directory.find_model(Path("de"))
    Path("auto").mkdir()
    assert model_directory.find_model(Path("auto")) == Path("auto")
    assert model_directory.find_model(Path("en-ewt").absolute()) == tmp_path / "en-ewt"


def test_a_recipe_is_described_with_the_rows_of_its_paper():
    out = run("kk2018-char")
    assert out.startswith("The best parser of Kitaev and Klein (2018)")
    assert "Tables 4 and 5, CharLSTM: dev 93.61 F1; needs WSJ\n" in out
    arabic = "depkit train TRAIN --dev DEV -o DIR --recipe kk2018-char --set encoder.max_positions="
    assert f"    {arabic}1000\n" in out
    assert "[encoder]" not in out and 'positions = "learned"' in run("kk2018-char", "-v")
    facts = load_facts("kk2018-char")
    assert facts["recipe"] == "kk2018-char" and facts["settings"]["inputs"]["word"] == 0
    assert [row["command"] for row in facts["rows"]][3] == f"{arabic}1000"
    assert load_facts("selfatt")["rows"] == [] and "In the commands" not in run("selfatt")


def test_a_model_goes_before_a_recipe_of_the_same_name(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.rename(tmp_path / "bilstm")
    assert "# A small parser" in run("bilstm")
    assert "The inputs and the scorers of `selfatt`" not in run("bilstm")


def test_all_rows_are_listed_by_paper_and_table():
    out = run("--recipes")
    assert out.index("Kitaev and Klein (2018), Con") < out.index("Li et al. (2019), Self-attentive")
    assert out.index("Table 1, depth 10") < out.index("Table 4, 3 SelfAtt + 3 BiLSTM with BERT")
    line = "depkit ensemble TRAIN --dev DEV -o DIR --recipes li2019-bert,li2019-bilstm-bert\n"
    assert f"    {line}" in out
    facts = load_facts("--recipes")
    assert list(facts["recipes"]) == recipe_names() and len(facts["rows"]) == out.count(
        "    depkit"
    )
    _, err = Command("info")("--recipes", "selfatt", code=2)
    assert "--recipes: it lists all recipes; leave MODEL out" in err


def test_the_bundled_models_are_listed():
    lines = run("--models").splitlines()
    assert lines[0].split()[:2] == ["model", "language"]
    listed = {line.split()[0]: line for line in lines[1:-1]}
    assert listed.keys() == set(model_directory.bundled_models())
    assert "English" in listed["en-ewt"] and "UD English-EWT" in listed["en-ewt"]
    facts = {each["model"]: each for each in json.loads(run("--models", "--json"))}
    assert facts["en-ewt"]["language"] == "en" and facts["en-ewt"]["las_raw"] > 80


def test_settings_are_listed_by_section():
    out = run("--settings", "encoder")
    assert "encoder.window = 0\n    takes a whole number, 0 or more\n    only with" in out
    assert "can be changed for a trained model" in out and "training.rate" not in out
    assert max(map(len, out.splitlines())) <= 100
    (rate,) = load_facts("--settings", "training.rate")
    assert rate["default"] == 2e-3 and rate["recipes"]["selfatt"] == 3e-3
    predict = " ".join(run("--settings", "scorer.predict").split())
    assert "[upos, xpos, feats, lemma] in tagger; [xpos] in kk2018-small" in predict
    assert "has no effect without inputs.char\n" in run("--settings", "inputs.char_kind")
    assert len(load_facts("--settings")) > len(load_facts("--settings", "inputs")) > 20
    with pytest.raises(ConfigError, match="'traning'; did you mean training"):
        run("--settings", "traning")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "en-ewt"], "--models: it lists all models; leave MODEL out"),
        (["--models", "--recipes"], "--recipes and --models: they contradict each other; give"),
        (["--settings", "--models"], "--models and --settings: they contradict each other; give"),
    ],
)
def test_a_list_stands_alone(arguments, message, capfd):
    assert_fails(capfd, ["info", *arguments], 2, message)
