"""The table of encoders; an encoder from outside the package needs one entry and nothing else."""

from importlib import import_module

import pytest

import depkit
from depkit.parsers.config import ParserConfig
from depkit.parsers.encoders import ENCODERS
from depkit.parsers.loading import load
from depkit.parsers.settings import ConfigError, setting_names
from depkit.training.recipe import make_recipe, recipe_settings
from tests.nn.toy_encoder import NeighboursSettings
from tests.training.small_runs import weights

SMALL = [
    "encoder.kind=neighbours", "encoder.size=8", "inputs.word=8", "scorer.arc=8", "scorer.label=4",
    "scorer.predict=[]", "training.epochs=2", "training.warmup=0", "tokenizer.enabled=false",
]  # fmt: skip


@pytest.fixture
def neighbours(monkeypatch):
    monkeypatch.setitem(ENCODERS, NeighboursSettings, "tests.nn.toy_encoder.Neighbours")


@pytest.mark.parametrize("settings", ENCODERS, ids=lambda settings: settings.kind)
def test_every_encoder_has_its_module(settings):
    module, _, name = ENCODERS[settings].rpartition(".")
    assert callable(getattr(import_module(module), name))
    assert settings().kind == settings.kind


@pytest.mark.usefixtures("neighbours")
def test_an_encoder_from_outside_is_trained_saved_and_loaded(tiny, tmp_path):
    depkit.write(tiny, tmp_path / "tiny.conllu")
    depkit.train(
        tmp_path / "tiny.conllu", tmp_path / "model", dev=tmp_path / "tiny.conllu",
        recipe="bilstm", settings=SMALL, device="cpu", quiet=True,
    )  # fmt: skip
    assert "encoder.linear.weight" in weights(tmp_path / "model")
    parser = load(tmp_path / "model", "cpu")
    assert parser.config.encoder == NeighboursSettings(size=8)
    near = [sentence.head for sentence in parser.parse(tiny)]
    assert len(near) == len(tiny)
    assert f"Encoder: {NeighboursSettings.kind}" in (tmp_path / "model" / "README.md").read_text()
    changed = load(tmp_path / "model", "cpu", settings=["encoder.reach=3"])
    assert changed.network.encoder.reach == 3
    with pytest.raises(ValueError, match=r"without encoder\.kind=neighbours"):
        load(tmp_path / "model", "cpu", precision="int8")


@pytest.mark.usefixtures("neighbours")
def test_its_settings_are_listed_and_checked():
    assert {"encoder.reach", "encoder.power"} <= set(recipe_settings())
    assert "encoder.reach" in setting_names(ParserConfig, at_test_time=True)
    for setting, message in (
        ("encoder.reach=0", "encoder.reach is 0; it takes 1 or more"),
        ("encoder.reach=9", "encoder.reach is 9, but encoder.size is 8"),
        ("encoder.power=2", "encoder.power has no effect with encoder.reach=1; leave it out, or"),
        ("encoder.layers=4", r"layers can only be set with encoder\.kind=bilstm or selfatt or"),
        ("inputs.draft=3", "needs encoder.kind=selfatt or encoder.kind=transformer, because"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_recipe("bilstm", None, [*SMALL, setting])
    with pytest.raises(ConfigError, match=r"encoder\.reach can only be set with .*=neighbours"):
        make_recipe("bilstm", None, ["encoder.reach=2"])
