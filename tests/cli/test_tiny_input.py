"""Input of no, one or few sentences gives the same result however depkit is called."""

import sys

import pytest

from depkit.cli.main import run
from tests.cli.commands import Command

TEXTS = {
    "empty": "", "blank": "\n \n", "word": "Yes", "sentence": "Time flies.",
    "paragraphs": "Hello world.\n\nHow are you today? I am fine, thanks a lot.\n\nBye.\n",
    "table": "1\tTime\t_\t_\t_\t_\t_\t_\t_\t_\n2\tflies\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
}  # fmt: skip
ROW = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
parse = Command("parse")


def without_name(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith("# newdoc"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, []) for name in TEXTS),
        ("blank", ["--prob"]), ("paragraphs", ["--prob"]),
        ("empty", ["--format", "json"]), ("sentence", ["--format", "json"]),
    ],
)  # fmt: skip
def test_files_pipes_and_numbers_of_threads_make_no_difference(name, options, tmp_path):
    path = tmp_path / "in"
    path.write_text(TEXTS[name])
    results = set()
    for arguments, threads in (([path], 1), (["-"], 2), ([], 1), ([path], 2)):
        stdin = None if path in arguments else TEXTS[name]
        out, err = parse(*arguments, "--device", "cpu", "--threads", threads, *options, stdin=stdin)
        results.add((without_name(out).replace('"newdoc": "in"', '"newdoc": true'), err))
    assert len(results) == 1


@pytest.mark.parametrize("text", ["", "\n\n", "# c\n", ROW + "\n", ROW, ROW.rstrip("\n")])
@pytest.mark.parametrize("name", ["check", "stats", "show", "convert --to conllx", "eval FILE"])
def test_a_file_and_standard_input_are_treated_alike(name, text, tmp_path, monkeypatch, capfd):
    path = tmp_path / "tiny.conllu"
    path.write_text(text)
    results = []
    for argument in (str(path), "-"):
        with path.open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            status = run([*name.replace("FILE", str(path)).split(), argument])
        output = "".join(capfd.readouterr()).replace(str(path), "-").split()
        results.append((status, [word for word in output if word not in ("-", "tiny")]))
    assert results[0] == results[1]
