"""Old names of options still work, and messages of the library name options."""

import pytest

import depkit
from depkit.cli.main import run
from depkit.cli.names import name_options, replace_old_names
from depkit.files.errors import FormatError
from depkit.serving import files
from tests.cli.commands import assert_fails


def test_old_names_are_replaced_where_a_command_has_the_new_name():
    line = ["a", "--features", "x", "--features=y", "--features-of", "--dev-features", "z"]
    assert replace_old_names(line, {"--elmo"}) == [
        "a", "--elmo", "x", "--elmo=y", "--features-of", "--dev-features", "z",
    ]  # fmt: skip
    assert replace_old_names(line, {"--output"}) == line
    assert replace_old_names(line, {"--elmo", "--features"})[1] == "--features"


def test_arguments_are_replaced_by_the_options_of_the_command():
    options = {"dev_split": "--dev-split", "settings": "--set", "decode": "--decode"}
    assert name_options("give `dev_split` or `settings`", options) == "give --dev-split or --set"
    assert name_options("`algorithm`, `batch` and `a b`", options) == "--decode, `batch` and `a b`"


@pytest.mark.parametrize(
    "error",
    [ValueError, OSError, MemoryError, lambda text: FormatError("a", 3, "s1", text)],
)
def test_messages_name_options_and_python_sees_arguments(error, monkeypatch, capfd):
    def fail(*arguments):
        raise error("change `output_dir`")

    monkeypatch.setattr(files, "annotate_files", fail)
    assert_fails(capfd, ["parse", "a"], 1, "change --output-dir")


def test_the_python_interface_names_arguments(tmp_path):
    with pytest.raises(ValueError, match="name either `dev` or `dev_split`"):
        depkit.train(train="a", output=tmp_path / "m", recipe="small", device="cpu")


def test_json_and_config_are_hidden_but_work(tmp_path, capfd):
    (tmp_path / "a.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    path = str(tmp_path / "a.conllu")
    for option in (["--json"], ["--format", "json"]):
        assert run(["eval", path, path, *option]) == 0
    first, second = capfd.readouterr().out.split("\n{")[:2]
    assert first.strip("{\n ") == second.strip("{\n ")
    for command, option in (("eval", "--json"), ("train", "--config")):
        assert run([command, "--help"]) == 0
        assert option not in capfd.readouterr().out
    (tmp_path / "wrong.toml").write_text("base = 'small'\nnonsense = 1\n")
    for option in ("--recipe", "--config"):
        arguments = ["train", path, "--dev", path, "-o", str(tmp_path / "m"), option]
        assert_fails(capfd, [*arguments, str(tmp_path / "wrong.toml")], 2, "no setting '")
