"""depkit export writes the graphs of a model, and says why it cannot; the options of engines."""

import pytest

from depkit.parsers import export as exporting
from depkit.parsers.config import Inputs
from depkit.parsers.model_directory import find_graphs
from depkit.parsers.standalone import TABLES
from tests.cli.commands import Command, assert_fails
from tests.conftest import TINY
from tests.parsers.small_parsers import make_random_parser, save_parser

export, parse = Command("export"), Command("parse")


@pytest.mark.slow
def test_an_exported_model_is_run_with_onnx_runtime(tiny, tmp_path, monkeypatch):
    # A model that reads gold tags, for which no program is written that runs it without depkit
    parser = make_random_parser(tiny, 1, inputs=Inputs(word=6, tag=4), encoder="bilstm")
    directory = save_parser(parser, tmp_path / "model")
    _, err = export(directory, "--sentences", TINY)
    first, second = err.splitlines()  # and nothing of what the exporter logs
    assert first == "exporting model, so that it is run without torch"
    assert second.startswith("wrote words.onnx, scores.onnx, labels.onnx in")
    assert set(find_graphs(directory)) == {"words", "scores", "labels"}
    out, _ = parse(TINY, "--model", directory, "--engine", "onnx")
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    assert parse(TINY, "--model", directory)[0] == out
    copy = tmp_path / "copy"
    assert export(directory, "-q", "-o", copy)[1] == ""
    assert parse(TINY, "--model", copy)[0] != "" and find_graphs(copy)
    assert not (copy / TABLES).exists()


def test_what_cannot_be_exported_is_said(tiny, tmp_path, capfd):
    assert_fails(capfd, ["export", str(tmp_path / "none")], 1, "there is no model")
    assert_fails(capfd, ["export", "en-ewt"], 2, "a bundled model is not changed", "--output")
    assert_fails(capfd, ["export", "en-ewt", "-o", str(tmp_path)], 2, "exists already")
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    command = ["export", "en-ewt", "--sentences", str(empty), "-o", str(tmp_path / "copy")]
    assert_fails(capfd, command, 1, "empty.conllu: there are no sentences")
    assert not (tmp_path / "copy").exists()
    parser = make_random_parser(tiny, 1, inputs=Inputs(word=6, draft=3), encoder="selfatt")
    directory = save_parser(parser, tmp_path / "model")
    assert_fails(capfd, ["export", str(directory)], 2, "cannot be exported")
    assert not find_graphs(directory)


class Graph:
    """Stands for a graph whose serialization may fail, as on a full disk."""

    def __init__(self, content) -> None:
        self.content = content

    def SerializeToString(self):
        if self.content is None:
            raise OSError("No space left on device")
        return self.content


def test_graphs_are_replaced_together_or_not_at_all(tiny, tmp_path, monkeypatch):
    directory = save_parser(make_random_parser(tiny, 1), tmp_path / "model")
    files = ("words.onnx", "scores.onnx")

    def write(*contents):
        graphs = dict(zip(files, map(Graph, contents), strict=True))
        monkeypatch.setattr(exporting, "_make_all_graphs", lambda *arguments: graphs)
        exporting.export_model(directory)

    write(b"old", b"old")
    with pytest.raises(OSError, match="No space"):
        write(b"new", None)
    assert [(directory / name).read_bytes() for name in files] == [b"old", b"old"]
    write(b"new", b"new")
    assert [(directory / name).read_bytes() for name in files] == [b"new", b"new"]
    assert sorted(path.name for path in directory.glob("*.onnx*")) == sorted(files)


def test_the_former_name_of_distribute_is_understood():
    out, err = parse(TINY, "--engine", "processes")
    assert "--engine processes is now called --distribute processes" in err
    assert out == parse(TINY)[0]
    assert parse(TINY, "--engine", "processes", "-q")[1] == ""


def test_models_without_graphs_are_combined_with_torch(tiny, tmp_path, monkeypatch, capfd):
    """Unless the engine is prescribed, by the option or by the environment."""
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    directory = save_parser(make_random_parser(tiny, 1), tmp_path / "model")
    command = [str(TINY), "--model", str(directory), "--model", "en-ewt", "--device", "cpu"]
    expected = parse(*command, "--engine", "torch")[0]
    assert parse(*command)[0] == expected
    message = "cannot be run by the engine onnx: the model lacks the exported graph words.onnx"
    assert_fails(capfd, ["parse", *command, "--engine", "onnx"], 2, message)
    monkeypatch.setenv("DEPKIT_ENGINE", "onnx")
    assert_fails(capfd, ["parse", *command], 2, message)


def test_wrong_engines_are_refused(capfd):
    assert_fails(capfd, ["parse", str(TINY), "--engine", "tf"], 2, "'auto', 'onnx', 'torch'")
    assert_fails(capfd, ["tag", str(TINY), "--engine", "ray"], 2, "'auto', 'onnx', 'torch'")
    command = ["parse", str(TINY), "--engine", "onnx", "--precision", "float32"]
    assert_fails(capfd, command, 2, "int8 only, not in float32")
