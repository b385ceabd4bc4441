"""What a newcomer meets first: help, usage errors, and tables that fit the terminal."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from depkit.cli.main import run
from tests.cli.commands import Command, assert_fails
from tests.conftest import TINY


@pytest.mark.parametrize(("columns", "longest"), [("60", 58), ("100", 98), ("300", 118)])
@pytest.mark.parametrize("name", ["parse", "train", "analyze"])
def test_help_is_as_wide_as_the_terminal_and_begins_with_options(
    name, columns, longest, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", columns)
    assert run([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert longest - 10 < max(map(len, lines)) <= longest
    sections = [line for line in lines if re.fullmatch(r"\w+:", line)]
    assert sections[0] == "Arguments:" and lines.index("Arguments:") <= 8
    text = "\n".join(lines)
    assert text.index("Example: ") > text.index("\nOther:")


def test_the_usage_of_train_shows_both_ways_to_choose_an_epoch(capsys):
    assert run(["train", "--help"]) == 0
    usage = capsys.readouterr().out.splitlines()[0]
    assert usage.endswith("TRAIN... (--dev DEV | --dev-split X) -o DIR")


@pytest.mark.parametrize("time", ["90", "1.5"])
def test_a_time_without_a_unit_is_refused(time, tmp_path, capfd):
    arguments = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m")]
    message = f"--max-time {time} has no unit; write {time}s for seconds, {time}m for minutes"
    assert_fails(capfd, [*arguments, "--max-time", time], 2, message)
    assert not (tmp_path / "m").exists()


def test_the_worst_sentences_fit_80_columns(tiny, tmp_path):
    import depkit

    wrong = [s.with_tree([*range(2, len(s) + 1), 0], s.deprel) for s in tiny]
    folder = tmp_path / "a folder with a long name" / "and another one"
    folder.mkdir(parents=True)
    shutil.copy(TINY, folder / "gold.conllu")
    depkit.write(wrong, folder / "wrong.conllu")
    out, _ = Command("analyze")(folder / "gold.conllu", folder / "wrong.conllu", "--worst", "5")
    table = out.splitlines()[2:-1]
    assert len(table) >= 5 and max(map(len, table)) <= 80
    assert "gold.conllu:" in out and str(folder) not in out
    csv, _ = Command("analyze")(
        folder / "gold.conllu", folder / "wrong.conllu", "--worst", "5", "--format", "csv"
    )
    assert str(folder) in csv  # other programs need the whole path


def test_suspects_without_a_result_say_so(tmp_path):
    path = tmp_path / "one.conllu"
    path.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    out, err = Command("suspects")(path)
    assert len(out.splitlines()) == 1 and err == "depkit: note: no suspects were found\n"
    assert Command("suspects")(path, "-q")[1] == ""


def test_images_are_chosen_by_their_suffix(tmp_path, capfd):
    for name, begin in (("a.svg", "<svg"), ("a.SVG", "<svg"), ("a.tex", "% \\usepackage{tikz")):
        assert run(["show", str(TINY), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text("utf-8").startswith(begin)
    assert run(["show", str(TINY), "--tikz", "-"]) == 0
    assert capfd.readouterr().out == (tmp_path / "a.tex").read_text("utf-8")
    for name in ("a.png", "a"):
        message = "is neither .svg nor .tex; for a PNG image"
        assert_fails(capfd, ["show", str(TINY), "-o", str(tmp_path / name)], 2, message)
        assert not (tmp_path / name).exists()
    arguments = ["show", str(TINY), "--svg", str(tmp_path / "b"), "-o", str(tmp_path / "b.tex")]
    assert_fails(capfd, arguments, 2, "--svg, --tikz, -o: give only one of them")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_shows_the_help_of_an_option_once():
    script = Path(__file__).parents[2] / "completions" / "depkit.fish"
    for line, described in (("depkit parse --decode ", False), ("depkit parse --decod", True)):
        code = f"source {script}; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True)
        rows = done.stdout.splitlines()
        assert rows and all(("\t" in row) == described for row in rows)
