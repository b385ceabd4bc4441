"""Settings of a trained parser that can be changed: attention windows, and attention to content or
positions only (Kitaev and Klein 2018, sections 4.1 and 4.2)."""

from dataclasses import replace

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.files import write
from depkit.parsers.config import BiaffineConfig, Factored, apply_test_time_settings
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import make_recipe
from tests.parsers.test_base import make, save


def heads(directory, sentences, *settings):
    parser = depkit.load(directory, "cpu", "float32", settings=settings)
    return [sentence.head for sentence in parser.parse(sentences)]


def test_settings_change_what_is_attended_to(tiny, tmp_path):
    factored = save(make(tiny, encoder="factored"), tmp_path)
    plain = heads(factored, tiny)
    assert heads(factored, tiny, "encoder.window=100") == plain
    assert heads(factored, tiny, "encoder.attend=['both']") == plain
    window, relaxed = "encoder.window=1", "encoder.relaxed=true"
    changes = [[window], [window, relaxed], ["encoder.attend=['content']"]]
    changes += [["encoder.attend=['position']"]]
    results = [plain, *(heads(factored, tiny, *settings) for settings in changes)]
    assert len({str(result) for result in results}) == len(results)


def test_nothing_else_can_be_set():
    config = BiaffineConfig(encoder=Factored(layers=2))
    assert apply_test_time_settings(config, ["encoder.window=3"]).encoder == replace(
        config.encoder, window=3
    )
    for setting in ("encoder.layers=1", "inputs.word=3", "window=3", "encoder.window"):
        with pytest.raises(ConfigError):
            apply_test_time_settings(config, [setting])
    with pytest.raises(ConfigError, match="3 entries for 2 layers"):
        apply_test_time_settings(config, ["encoder.attend=['content', 'both', 'both']"])


@pytest.mark.parametrize(
    "configured",
    [
        lambda setting: apply_test_time_settings(BiaffineConfig(), [setting]),
        lambda setting: make_recipe("bilstm", None, [setting]).parser,
    ],
    ids=["parsing", "training"],
)
def test_settings_of_another_encoder_are_refused_but_for_its_defaults(configured):
    for setting in ("encoder.attend=[]", "encoder.window=0", "encoder.relaxed=false"):
        assert configured(setting).encoder.kind == "bilstm"
    for setting, kinds in (("attend=['both']", "factored"), ("window=1", "selfatt or factored")):
        key = setting.partition("=")[0]
        with pytest.raises(ConfigError) as error:
            configured(f"encoder.{setting}")
        assert str(error.value) == f"encoder.{key} can only be set with encoder.kind={kinds}"


def test_the_command_line_says_what_cannot_be_set(tiny, tmp_path, capsys):
    write(tiny, tmp_path / "tiny.conllu")
    file = str(tmp_path / "tiny.conllu")
    assert run(["parse", file, "--set", "encoder.window=3"]) == 2
    assert "with encoder.kind=selfatt or factored" in capsys.readouterr().err
