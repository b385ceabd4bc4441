"""Models of the Hugging Face hub: what is downloaded, when, and what happens if it cannot be."""

import os
import shutil
import subprocess
import sys

import pytest

import depkit
from depkit.cli.main import run
from depkit.files.hub import HubError, download, parse_name
from depkit.parsers.model_directory import (
    BUNDLED,
    ModelError,
    _find_on_hub,
    find_model,
    model_files,
    pin_model,
)
from depkit.serving.job import Job
from depkit.serving.plan import resolve
from depkit.serving.udpipe import name_models
from depkit.training.run import load_initial_model
from tests.cli.commands import ON_CPU, assert_fails
from tests.parsers.fake_hub import serve_hub

constants = pytest.importorskip("huggingface_hub.constants")

UPLOAD = shutil.which("hf", path=os.path.dirname(sys.executable))  # not in versions before 0.34
AFRIKAANS = {path.name: path.read_bytes() for path in model_files(BUNDLED / "af")}
# Files that are not read. Two have names that occur in the directories of transformers.
FURTHER = {
    "LICENSE": b"free", ".gitattributes": b"*.safetensors", "pytorch_model.bin": b"\x80\x04.",
    "transformer/model.pkl": b"\x80\x04.", "transformer/code/config.json": b"{}",
    "other/config.toml": b"format_version = 1", "state.pt": b"\x80\x04.",
}  # fmt: skip
TEXT = "Die hond slaap, want hy is moeg.\n"


@pytest.fixture(scope="module")
def server():
    with serve_hub() as hub:
        hub.commit("me/af", AFRIKAANS | FURTHER)
        hub.commit("me/empty", {})
        hub.commit("me/other", {"README.md": b"# Not a parser", "model.safetensors": b""})
        yield hub


@pytest.fixture
def hub(server, tmp_path, monkeypatch):
    """The server, as what huggingface_hub takes for the hub, and an empty cache."""
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    forget()
    server.requests.clear()
    yield server
    forget()


def forget():
    """Let the next call of `find_model` ask the hub again, as that of another process does."""
    _find_on_hub.cache_clear()


def files_below(directory):
    return {
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    }


def test_only_the_files_of_a_model_are_downloaded_once(hub):
    directory = find_model("hf:me/af")
    assert files_below(directory) == hub.downloads == AFRIKAANS.keys()
    assert all((directory / name).read_bytes() == AFRIKAANS[name] for name in AFRIKAANS)
    assert directory.is_relative_to(constants.HF_HUB_CACHE)
    count = len(hub.requests)
    assert find_model("hf:me/af") == directory and len(hub.requests) == count
    forget()
    hub.requests.clear()
    assert find_model("hf:me/af") == directory and hub.downloads == set()


def test_a_model_of_the_hub_parses_as_its_directory_does(hub):
    own, bundled = (
        depkit.load(name, threads=1, engine="onnx")(TEXT) for name in ("hf:me/af", "af")
    )
    assert [sentence.lines for sentence in own] == [sentence.lines for sentence in bundled]
    assert load_initial_model("hf:me/af").vocabulary.words.symbols


def test_a_downloaded_model_is_found_offline(hub, monkeypatch):
    directory = find_model("hf:me/af")
    forget()
    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find_model("hf:me/af") == directory
    assert find_model(f"hf:me/af@{directory.name}") == directory
    for name in ("hf:me/other", "hf:me/af@v1"):
        with pytest.raises(ModelError, match=f"{name}: it has not been downloaded before, and HF_"):
            find_model(name)
    assert hub.requests == []


def test_a_revision_is_pinned(hub):
    old = hub.commit("me/pinned", AFRIKAANS | {"README.md": b"# Old"})
    assert pin_model("hf:me/pinned") == f"hf:me/pinned@{old}"
    new = hub.commit("me/pinned", AFRIKAANS | {"README.md": b"# New"})
    forget()
    for name, commit, title in (
        ("hf:me/pinned", new, b"# New"),
        ("hf:me/pinned@main", new, b"# New"),
        (f"hf:me/pinned@{old}", old, b"# Old"),
    ):
        directory = find_model(name)
        assert directory.name == commit and (directory / "README.md").read_bytes() == title
        assert pin_model(name) == f"hf:me/pinned@{commit}"
    assert pin_model("af") == "af" and pin_model("") == ""


def test_all_processes_of_a_job_read_the_same_revision(hub):
    commit = find_model("hf:me/af").name
    job = resolve(Job(["in.txt"], ["hf:me/af", "is"], tokenizer="hf:me/af")).job
    assert job.models == [f"hf:me/af@{commit}", "is"]
    assert job.tokenizer == f"hf:me/af@{commit}"
    assert list(name_models(["hf:me/af@main", "is"])) == ["af", "is"]


def test_members_of_an_ensemble_are_downloaded(hub):
    member = {"config.toml": b"", "model.safetensors": b"", "log.jsonl": b""}
    files = {
        f"{folder}/{name}": content
        for folder in ("a[1]", "b", "a1")
        for name, content in member.items()
    }
    ensemble = b'format_version = 1\nmembers = ["a[1]", "b"]\n'
    hub.commit("me/ensemble", files | {"ensemble.toml": ensemble, "tokenizer.safetensors": b""})
    directory = find_model("hf:me/ensemble")
    expected = {f"{folder}/{name}" for folder in ("a[1]", "b") for name in list(member)[:2]}
    assert files_below(directory) == expected | {"ensemble.toml", "tokenizer.safetensors"}
    assert {str(path.relative_to(directory)) for path in model_files(directory)} == (
        files_below(directory)
    )


def test_the_description_of_a_transformer_is_downloaded(hub):
    names = {"config.json", "tokenizer.json", "tokenizer_config.json"}
    files = {f"transformer/{name}": name.encode() for name in names} | FURTHER
    hub.commit("me/tuned", AFRIKAANS | files)
    find_model("hf:me/tuned")
    assert hub.downloads == AFRIKAANS.keys() | {f"transformer/{name}" for name in names}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:me/none", "hf:me/none: the hub has no such repository"),
        ("hf:me/af@v9", "hf:me/af@v9: the repository has no revision 'v9'"),
        (f"hf:me/af@{'0' * 40}", "the repository has no revision '0000"),
        ("hf:me/empty", "hf:me/empty: there is no model of depkit in the repository"),
        ("hf:me/other", "hf:me/other: there is no model of depkit in the repository"),
        ("hf:af", "hf:af does not name a model of the Hugging Face hub; write hf:USER/NAME or"),
        ("hf:me/../af", "does not name a model"),
        ("hf:", "does not name a model"),
        ("hf:me/-.-", "hf:me/-.-: it cannot be downloaded from http"),
    ],
)
def test_a_model_that_cannot_be_read_is_one_clear_line(name, message, hub):
    with pytest.raises(ModelError, match=r"^[^\n]+$") as raised:
        find_model(name)
    assert message in str(raised.value)


def test_a_hub_that_cannot_be_reached(hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"^hf:me/af: it cannot be downloaded from http://127.*:9"):
        find_model("hf:me/af")


def test_an_interrupted_download_is_no_model(hub, monkeypatch):
    directory = download("me/af", "", ["config.toml", "README.md"])
    assert files_below(directory) == {"config.toml", "README.md"}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="hf:me/af: it has not been downloaded before"):
        find_model("hf:me/af")


def test_the_package_of_the_hub_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubError, match="need huggingface_hub: pip install huggingface_hub"):
        download("me/af", "", ["*"])


def test_names():
    assert parse_name("hf:me/af") == ("me/af", "")
    assert parse_name("hf:me/af@refs/pr/1") == ("me/af", "refs/pr/1")


def test_a_model_of_the_hub_is_not_changed(hub, capfd):
    assert_fails(capfd, ["export", "hf:me/af"], 2, "a model of the hub is not changed", "--output")


def test_the_command_line_parses_with_models_of_the_hub(hub, tmp_path, monkeypatch, capfd):
    (tmp_path / "in.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "in.txt"), *ON_CPU, "--engine", "onnx"]
    assert run([*command, "--model", "af"]) == 0
    expected = capfd.readouterr().out
    arguments = ["--model", "hf:me/af", "--tokenizer", "hf:me/af"]
    assert run([*command, *arguments]) == 0
    assert capfd.readouterr() == (expected, "")
    monkeypatch.setenv("DEPKIT_MODEL", "hf:me/af")
    assert run(command) == 0
    assert capfd.readouterr() == (expected, "")
    monkeypatch.setenv("DEPKIT_MODEL", os.pathsep.join(["is", "hf:me/none", "af"]))
    assert_fails(capfd, command, 1, "hf:me/none: the hub has no such repository")
    assert run(["info", "hf:me/af"]) == 0
    assert "This model parses Afrikaans" in capfd.readouterr().out


def test_a_new_process_reads_what_was_downloaded_offline(hub):
    find_model("hf:me/af")
    environment = os.environ | {"HF_HUB_CACHE": constants.HF_HUB_CACHE, "HF_HUB_OFFLINE": "1"}
    command = ["parse", *ON_CPU, "--engine", "onnx", "--model", "hf:me/af"]
    result = subprocess.run(
        [sys.executable, "-m", "depkit", *command], input=TEXT, text=True, capture_output=True,
        check=True, env=environment | {"HF_ENDPOINT": "http://127.0.0.1:9"},
    )  # fmt: skip
    assert result.stdout.count("\n") > 10 and result.stderr == ""


@pytest.mark.skipif(not UPLOAD, reason="this version of huggingface_hub has no command hf")
def test_a_model_directory_is_shared_as_it_is(hub, tmp_path):
    shutil.copytree(BUNDLED / "af", tmp_path / "af.model")
    subprocess.run(
        [UPLOAD, "upload", "me/shared", "af.model"], cwd=tmp_path, capture_output=True, check=True,
        env=os.environ | {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_test"},
    )  # fmt: skip
    directory = find_model("hf:me/shared")
    assert all((directory / name).read_bytes() == AFRIKAANS[name] for name in AFRIKAANS)
    (files,) = hub.repositories["me/shared"].values()
    assert "LICENSE" in files
