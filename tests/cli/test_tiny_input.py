"""Input of no, one or few sentences gives the same result however depkit is called."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("options", [[], ["--prob"], ["--format", "json"]])
@pytest.mark.parametrize("name", TEXTS)
def test_files_pipes_and_numbers_of_threads_make_no_difference(name, options, tmp_path):
    path = tmp_path / "in"
    path.write_text(TEXTS[name])
    results = set()
    for threads in ("1", "2"):
        common = ["--device", "cpu", "--threads", threads, *options]
        for arguments, stdin in (([path], None), (["-"], TEXTS[name]), ([], TEXTS[name])):
            out, err = parse(*arguments, *common, stdin=stdin)
            results.add((without_name(out).replace('"newdoc": "in"', '"newdoc": true'), err))
    assert len(results) == 1


@pytest.mark.parametrize("text", ["", "\n\n", "# c\n", ROW + "\n", ROW, ROW.rstrip("\n")])
@pytest.mark.parametrize("name", ["check", "stats", "show", "convert --to conllx", "eval FILE"])
def test_a_file_and_standard_input_are_treated_alike(name, text, tmp_path):
    path = tmp_path / "tiny.conllu"
    path.write_text(text)
    program = [sys.executable, "-P", "-m", "depkit", *name.replace("FILE", str(path)).split()]
    results = [
        subprocess.run([*program, argument], input=text, capture_output=True, text=True)
        for argument in (str(path), "-")
    ]
    first, second = (
        (result.returncode, (result.stdout + result.stderr).replace(str(path), "-").split())
        for result in results
    )
    second[1][:] = [word for word in second[1] if word not in ("-", "tiny")]
    first[1][:] = [word for word in first[1] if word not in ("-", "tiny")]
    assert first == second
