"""Settings of a trained parser that can be changed: attention windows, and attention to content or
positions only (Kitaev and Klein 2018, sections 4.1 and 4.2)."""

from dataclasses import replace

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.io import write
from depkit.nn.settings import Factored
from depkit.parsers.config import apply_test_time_settings
from depkit.parsers.graph.config import BiaffineConfig
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import make_recipe
from tests.parsers.small_parsers import make_parser, save_parser


def heads(directory, sentences, *settings):
    parser = depkit.load(directory, "cpu", "float32", settings=settings)
    return [sentence.head for sentence in parser.parse(sentences)]


def test_attention_settings_change_the_heads(tiny, tmp_path):
    factored = save_parser(make_parser(tiny, encoder="factored"), tmp_path)
    plain = heads(factored, tiny)
    assert heads(factored, tiny, "encoder.window=100") == plain
    assert heads(factored, tiny, "encoder.attend=['both']") == plain
    window, relaxed = "encoder.window=1", "encoder.relaxed=true"
    changes = [[window], [window, relaxed], ["encoder.attend=['content']"]]
    changes += [["encoder.attend=['position']"]]
    results = [plain, *(heads(factored, tiny, *settings) for settings in changes)]
    assert len({str(result) for result in results}) == len(results)


def test_other_settings_are_rejected():
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
    "configure",
    [
        lambda setting: apply_test_time_settings(BiaffineConfig(), [setting]),
        lambda setting: make_recipe("bilstm", None, [setting]).parser,
    ],
    ids=["parsing", "training"],
)
def test_settings_of_another_encoder_are_rejected_unless_they_are_defaults(configure):
    for setting in ("encoder.attend=[]", "encoder.window=0", "encoder.relaxed=false"):
        assert configure(setting).encoder.kind == "bilstm"
    for setting, kinds in (
        ("attend=['both']", "factored"), ("window=1", "selfatt or factored or stacked"),
    ):  # fmt: skip
        key = setting.partition("=")[0]
        with pytest.raises(ConfigError) as error:
            configure(f"encoder.{setting}")
        assert str(error.value) == f"encoder.{key} can only be set with encoder.kind={kinds}"


def test_the_command_line_rejects_settings_of_another_encoder(tiny, tmp_path, capsys):
    write(tiny, tmp_path / "tiny.conllu")
    file = str(tmp_path / "tiny.conllu")
    assert run(["parse", file, "--set", "encoder.attend=['content']"]) == 2
    assert "can only be set with encoder.kind=factored" in capsys.readouterr().err
