"""A trained parser looked at in another way: windows, and content or positions alone (Kitaev and
Klein 2018, sections 4.1 and 4.2)."""

from dataclasses import replace

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.files import write
from depkit.parsers.config import ConfigError, Encoder, ParserConfig, at_test_time
from depkit.parsers.model_directory import write_description, write_weights
from tests.parsers.test_base import make


@pytest.fixture
def factored(tiny, tmp_path):
    parser = make(tiny, encoder="factored")
    write_description(tmp_path, parser.config, parser.vocabulary)
    write_weights(tmp_path, parser.network)
    return tmp_path


def heads(directory, sentences, *settings):
    parser = depkit.load(directory, "cpu", "float32", settings=settings)
    return [sentence.head for sentence in parser.parse(sentences)]


def test_settings_change_what_is_attended_to(factored, tiny):
    plain = heads(factored, tiny)
    assert heads(factored, tiny, "encoder.window=100") == plain
    assert heads(factored, tiny, "encoder.attend=['both']") == plain
    window = heads(factored, tiny, "encoder.window=1")
    relaxed = heads(factored, tiny, "encoder.window=1", "encoder.relaxed=true")
    content = heads(factored, tiny, "encoder.attend=['content']")
    position = heads(factored, tiny, "encoder.attend=['position']")
    found = [plain, window, relaxed, content, position]
    assert len({str(each) for each in found}) == len(found)


def test_nothing_else_can_be_set(tiny):
    config = ParserConfig(encoder=Encoder(kind="factored", layers=2))
    assert at_test_time(config, ["encoder.window=3"]).encoder == replace(config.encoder, window=3)
    for setting in ("encoder.layers=1", "inputs.word=3", "window=3", "encoder.window"):
        with pytest.raises(ConfigError):
            at_test_time(config, [setting])
    with pytest.raises(ConfigError, match="3 entries for 2 layers"):
        at_test_time(config, ["encoder.attend=['content', 'both', 'both']"])


def test_the_command_line_says_what_cannot_be_set(tiny, tmp_path, capsys):
    write(tiny, tmp_path / "tiny.conllu")
    file = str(tmp_path / "tiny.conllu")
    assert run(["parse", file, "--set", "encoder.window=3"]) == 2
    assert "for encoder.kind=selfatt or factored" in capsys.readouterr().err
