"""The model auto: a bundled model for each file by its language, also of streams."""

import gzip
import io
import os
from threading import Thread

import pytest

import depkit
from depkit.cli.main import run
from depkit.files.streams import RecordedStream
from depkit.parsers.model_directory import ModelError
from depkit.parsers.settings import ConfigError
from depkit.parsers.text import language
from depkit.serving.job import Job
from depkit.serving.plan import resolve
from tests.cli.commands import ON_CPU, assert_fails

# Sentences of our own, by the models of their languages
TEXTS = {
    "en-ewt": "Yesterday we worked in the garden all day, and in the evening everybody was tired.",
    "is": "Í gær unnum við allan daginn í garðinum og um kvöldið voru allir mjög þreyttir.",
    "ga": "Bhíomar ag obair sa ghairdín ar feadh an lae inné, agus bhí tuirse ar gach duine.",
    "af": "Gister het ons die hele dag in die tuin gewerk, en in die aand was almal baie moeg.",
}
NAMES = {"en-ewt": "English", "is": "Icelandic", "ga": "Irish", "af": "Afrikaans"}
WELSH = "Ddoe buom ni'n gweithio yn yr ardd drwy'r dydd, a gyda'r nos roedd pawb wedi blino."
COMMAND = ["parse", *ON_CPU, "--engine", "onnx", "--model"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The paths of a file for each language, by the models."""
    folder = tmp_path_factory.mktemp("texts")
    paths = {model: folder / f"{model}.txt" for model in TEXTS}
    for model, path in paths.items():
        path.write_text(f"{TEXTS[model]}\n", "utf-8")
    return {model: str(path) for model, path in paths.items()}


@pytest.fixture(scope="module")
def trees(files):
    """What each model makes of the text of its language."""
    parsers = {model: depkit.load(model, threads=1, engine="onnx") for model in TEXTS}
    parsed = {model: parser(f"{TEXTS[model]}\n") for model, parser in parsers.items()}
    return {model: "".join(sentences[0].lines[4:]) for model, sentences in parsed.items()}


def find_models(files, **fields):
    plan = resolve(Job(files, ["auto"], **fields))
    return [file.models for file in plan.files]


def test_files_of_several_languages_are_parsed_by_their_models(files, trees, capfd):
    assert run([*COMMAND, "auto", *files.values(), files["is"]]) == 0
    out, err = capfd.readouterr()
    models = [*TEXTS, "is"]
    blocks = out.removesuffix("\n\n").split("\n\n")
    assert [f"# sent_id = {i}-1" in block for i, block in enumerate(blocks, 1)] == [True] * 5
    for model, block in zip(models, blocks, strict=True):
        assert f"{block}\n\n".endswith(trees[model])
    notes = [f"depkit: note: {files[model]}: {NAMES[model]}, model {model}\n" for model in models]
    assert err == "".join(notes)
    assert run([*COMMAND, "auto", "-q", files["ga"]]) == 0
    assert capfd.readouterr()[1] == ""


def test_each_output_file_is_that_of_its_model(files, trees, tmp_path, capfd):
    outputs = {model: tmp_path / f"{model}.conllu" for model in ("is", "ga")}
    command = [*COMMAND, "auto", "--output-dir", str(tmp_path), "--skip-done"]
    times = []
    for _ in range(2):
        assert run([*command, *(files[model] for model in outputs)]) == 0
        for model, path in outputs.items():
            assert path.read_text("utf-8").endswith(trees[model])
        times.append([path.stat().st_mtime_ns for path in outputs.values()])
    assert times[0] == times[1]
    assert run(["tag", *COMMAND[1:], "auto", files["is"]]) == 0
    assert "\tþreyttir\tþreyttur\tADJ\t" in capfd.readouterr().out


@pytest.mark.parametrize("model", ["is", "en-ewt"])
def test_the_opening_of_standard_input_is_kept(model, trees, monkeypatch, capfd):
    for text in (f"{TEXTS[model]}\n", f"# text = {TEXTS[model]}\n{trees[model]}"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert run([*COMMAND, "auto"]) == 0
        out, err = capfd.readouterr()
        assert out.endswith(trees[model])
        assert err == f"depkit: note: standard input: {NAMES[model]}, model {model}\n"


def test_pipes_are_opened_once(files, trees, tmp_path, capfd):
    for name, data in (("pipe", f"{TEXTS['ga']}\n".encode() * 400), ("pipe.gz", b"")):
        os.mkfifo(tmp_path / name)
        data = data or gzip.compress(f"{TEXTS['ga']}\n".encode())
        writer = Thread(target=(tmp_path / name).write_bytes, args=[data])
        writer.start()
        assert run([*COMMAND, "auto", "--input", "lines", str(tmp_path / name)]) == 0
        writer.join()
        out, err = capfd.readouterr()
        assert out.count("# text = ") == (400 if name == "pipe" else 1)
        assert out.count(trees["ga"].partition("\n")[0]) == out.count("# text = ")
        assert err == f"depkit: note: {tmp_path / name}: Irish, model ga\n"


def test_every_kind_of_file_has_a_language(files, trees, tmp_path):
    tokens, table, packed = (tmp_path / name for name in ("a.txt", "b.conllu", "c.txt.gz"))
    tokens.write_text(TEXTS["af"].replace(",", " ,") + "\n", "utf-8")
    table.write_text(trees["ga"], "utf-8")
    packed.write_bytes(gzip.compress(TEXTS["is"].encode()))
    assert find_models([str(tokens)], input="tokens") == [("af",)]
    assert find_models([str(table), str(packed)]) == [("ga",), ("is",)]
    options = {"workers": 2, "output_dir": str(tmp_path / "out")}
    assert find_models([str(table), files["en-ewt"]], **options) == [("ga",), ("en-ewt",)]
    tokens.write_text(TEXTS["is"], "latin-1")
    assert find_models([str(tokens)], encoding="latin-1") == [("is",)]


def test_the_beginning_of_a_file_decides(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(f"{TEXTS['is']}\n" * 40 + f"\n{TEXTS['en-ewt']}\n" * 400, "utf-8")
    assert find_models([str(path)]) == [("is",)]


def test_an_empty_file_is_no_error(tmp_path, capfd):
    path = tmp_path / "empty.txt"
    path.write_text("\n \n")
    assert run([*COMMAND, "auto", str(path)]) == 0
    assert capfd.readouterr() == ("", f"depkit: note: {path} is empty\n")


@pytest.mark.parametrize("text", [WELSH, "Hi!", "12345, 67890. " * 90])
def test_a_text_without_a_clear_language_is_an_error(text, tmp_path, capfd):
    path = tmp_path / "in.txt"
    path.write_text(text)
    problem = f"{path}: it is not clear in which language the text is; name a model"
    parsed = ("English (en-ewt)", "Icelandic (is)", "Irish (ga)")
    assert_fails(capfd, [*COMMAND, "auto", str(path)], 1, problem, *parsed)


def test_a_language_without_a_model_is_an_error(files, monkeypatch):
    monkeypatch.setattr(language, "bundled_models", lambda: ["af", "ga"])
    message = (
        "the text seems to be Icelandic, for which no model is bundled; name a model; the bundled"
        " ones parse Afrikaans (af), Irish (ga)"
    )
    with pytest.raises(ModelError) as raised:
        find_models([files["af"], files["is"]])
    assert str(raised.value) == f"{files['is']}: {message}"


def test_auto_is_no_model_of_other_commands(files, capfd):
    with pytest.raises(ModelError, match="the model auto needs a text"):
        depkit.load("auto")
    with pytest.raises(ConfigError, match="`models` auto is one model for each file"):
        resolve(Job([files["is"]], ["auto", "is"]))
    assert_fails(capfd, [*COMMAND, "is", "--model", "auto", files["is"]], 2, "--model auto is one")
    assert_fails(capfd, ["info", "auto"], 1, "the model auto needs a text")


class SlowStream(io.BytesIO):
    """A stream that gives at most three bytes at once, and ends once."""

    def read1(self, size=-1):
        assert not self.closed
        data = super().read1(3)
        if not data:
            self.close()
        return data


@pytest.mark.parametrize("size", [0, 4, 9, 10, -1])
def test_what_is_read_of_a_recorded_stream_is_read_again(size):
    record = RecordedStream(SlowStream(b"0123456789"))
    beginning = record.open()
    assert beginning.read(size) == b"0123456789"[: size if size >= 0 else None]
    del beginning
    assert record.rewind().read() == b"0123456789"
