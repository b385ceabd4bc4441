"""depkit check: findings, their counts, and the options that select them."""

import gzip
import json
from pathlib import Path

import pytest

from depkit.files.errors import FormatError
from tests.cli.commands import Command
from tests.corpus.rows import row

run = Command("check")

GOOD = "# sent_id = s1\n# text = a b\n" + row(1, "a", 0, "root") + row(2, "b", 1, "dep")
CYCLIC = GOOD.replace("0\troot", "2\tdep")
THIRTY_CYCLIC_SENTENCES = "".join(CYCLIC.replace("s1", f"t{i}") + "\n" for i in range(30))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.conllu"
    path.write_text(GOOD + "\n")
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.conllu"
    path.write_text(THIRTY_CYCLIC_SENTENCES)
    return path


def test_a_good_file_has_no_findings(good: Path) -> None:
    assert run(good) == ("1 sentence, 2 words: 0 errors, 0 warnings, 0 notes\n", "")
    assert run(good, "-q") == ("", "")


def test_findings_are_printed_and_counted(bad: Path) -> None:
    out, err = run(bad, code=1)
    lines = out.splitlines()
    assert lines[:2] == [
        f"{bad}:3: error: t0: the heads form a cycle (word -> head): 1 -> 2 -> 1;"
        " one of the words needs another head [cycle]",
        f"{bad}:3: error: t0: no word has HEAD 0; a tree has one root [no-root]",
    ]
    # By default, 20 findings of each code are printed, and a line for the others.
    assert sum("[cycle]" in line for line in lines) == 21
    assert f"{bad}: 10 more [cycle]; --all prints them" in lines
    assert lines[-3:] == [
        "error     cycle       30",
        "error     no-root     30",
        "30 sentences, 60 words: 60 errors, 0 warnings, 0 notes",
    ]
    assert err == ""


def test_max_and_all_limit_the_printed_findings(bad: Path) -> None:
    # Two findings, and a line with the number of those that are not printed.
    assert run(bad, "--max", 2, code=1)[0].count("[cycle]") == 3
    assert run(bad, "--all", code=1)[0].count("[cycle]") == 30
    assert "--all: it contradicts --max" in run(bad, "--all", "--max", 2, code=2)[1]


def test_quiet_prints_errors_only(bad: Path, tmp_path: Path) -> None:
    without_id = tmp_path / "without_id.conllu"
    without_id.write_text(GOOD.partition("\n")[2] + "\n")
    assert run(without_id, "-q") == ("", "")
    assert run(without_id)[0].startswith(
        f"{without_id}:2: warning: the sentence has no comment # sent_id"
    )
    out = run(without_id, "-q", "--ud", code=1)[0]
    message = "the sentence has no comment # sent_id = ...; add it, for example with a number"
    assert out == f"{without_id}:2: error: {message} [no-sent-id]\n"


def test_verbose_explains_the_codes(bad: Path) -> None:
    assert "30  words whose heads form a cycle\n" in run(bad, "-v", code=1)[0]


def test_json_has_all_findings_and_counts(good: Path, bad: Path) -> None:
    record = json.loads(run(good, bad, "--json", code=1)[0])
    assert len(record["findings"]) == 60  # not limited
    keys = {"severity", "code", "file", "line", "sent_id", "message"}
    assert record["findings"][0].keys() == keys
    assert record["counts"] == {"cycle": 30, "no-root": 30}
    totals = {"sentences": 31, "words": 62, "errors": 60, "warnings": 0, "notes": 0}
    assert {name: record[name] for name in totals} == totals
    assert json.loads(run(good, "--json")[0])["findings"] == []


def test_standard_input_and_compressed_files_are_checked(good: Path, tmp_path: Path) -> None:
    assert run("-", stdin=CYCLIC + "\n", code=1)[0].startswith("-:3: error: s1: ")
    compressed = tmp_path / "x.conllu.gz"
    compressed.write_bytes(gzip.compress(CYCLIC.encode()))
    assert f"{compressed}:4: warning: no blank line follows" in run(compressed, code=1)[0]
    assert "only one file" in run("-", "--train", "-", code=2)[1]


def test_the_file_is_compared_with_the_training_file(good: Path, bad: Path) -> None:
    out = run(good, "--train", bad)[0]
    message = f"the training file has a sentence with the same words, {bad}:3"
    assert f"good.conllu:3: warning: s1: {message}" in out
    assert "DEPREL 'root' does not occur in" in out


def test_the_encoding_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "latin.conllu"
    path.write_bytes(GOOD.replace("a", "ä").encode("latin-1") + b"\n")
    assert "latin-1, with --encoding [encoding]" in run(path, code=1)[0]
    assert run(path, "--encoding", "latin-1")[0].endswith(": 0 errors, 0 warnings, 0 notes\n")


def test_a_missing_file_is_a_finding(good: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.conllu"
    out = run(missing, tmp_path, good, code=1)[0]
    assert out.splitlines()[:2] == [
        f"{missing}: error: the file cannot be opened: No such file or directory [unreadable]",
        f"{tmp_path}: error: the file cannot be opened: Is a directory [unreadable]",
    ]
    assert out.endswith("\n1 sentence, 2 words: 2 errors, 0 warnings, 0 notes\n")
    record = json.loads(run(good, missing, good, "--json", code=1)[0])
    assert [finding["code"] for finding in record["findings"]] == ["unreadable", "sent-id-again"]
    assert record["sentences"] == 2


def test_broken_training_sentences_are_a_warning(good: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.conllu"
    train.write_text(GOOD + "\ngarbage\n")
    warning = f"depkit: warning: {train}: 1 of 2 sentences is broken; see depkit check {train}\n"
    assert run(good, "--train", train)[1] == warning
    assert run(good, "--train", train, "-q")[1] == ""
    train.write_text("garbage\n")
    with pytest.raises(FormatError, match="the file has no valid sentence"):
        run(good, "--train", train)


def test_control_characters_in_file_names_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b.conllu"
    path.write_text(THIRTY_CYCLIC_SENTENCES)
    out = run(path, code=1)[0]
    assert f"{tmp_path}/a\\nb\\x1b.conllu: 10 more [cycle]" in out
    assert "a\n" not in out and "\x1b" not in out
    path.write_bytes(GOOD.replace("s1", "s\xe4").encode("latin-1") + b"\n")
    assert json.loads(run(path, "--json", code=1)[0])["findings"][0]["file"] == str(path)
    path = tmp_path / "x\udce4.conllu"
    (finding,) = json.loads(run(path, "--json", code=1)[0])["findings"]
    assert finding["file"] == str(path)
