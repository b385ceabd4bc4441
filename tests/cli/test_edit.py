"""depkit edit: treebanks are rewritten, and every change is listed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from depkit.corpus.io import read
from tests.cli.commands import Command
from tests.conftest import HERE

run = Command("edit")
FILE = HERE / "data" / "search.conllu"
RULE = "rule tag { pattern { X [upos=INTJ] } commands { X.upos = X } }"


def test_only_what_rules_change_differs(tmp_path: Path) -> None:
    out, err = run(RULE, FILE, "--verbose")
    assert out == FILE.read_text().replace("INTJ\tUH", "X\tUH")
    assert err == "tag: 2 applications\n1 sentence changed\n"
    path, changes = tmp_path / "new.conllu", tmp_path / "changes.tsv"
    assert run(RULE, FILE, "-o", path, "--changes", changes) == ("", "")
    assert path.read_text() == out
    rows = [line.split("\t") for line in changes.read_text().splitlines()]
    assert rows[0] == ["file", "line", "sent_id", "word", "form", "column", "old", "new"]
    last = len(FILE.read_text().splitlines()) - 1
    assert rows[1:] == [
        [str(FILE), str(last - 1), "b-3", "1", "Oh", "upos", "INTJ", "X"],
        [str(FILE), str(last), "b-3", "2", "no", "upos", "INTJ", "X"],
    ]


def test_a_dry_run_prints_the_changes() -> None:
    out, err = run(RULE, FILE, "--dry-run")
    assert [line.split("\t")[5:] for line in out.splitlines()[1:]] == [["upos", "INTJ", "X"]] * 2
    assert err == ""
    rule = "pattern { X [upos=ZZZ] } commands { X.upos = X }"
    out, err = run(rule, FILE, "-n")
    assert len(out.splitlines()) == 1
    assert err == "depkit: note: nothing has changed\n"


def test_changed_trees_with_enhanced_dependencies_are_noted() -> None:
    rule = "pattern { e: X -[obj]-> Y } commands { e.label = iobj }"
    out, err = run(rule, FILE)
    assert "1 tree changed, but not the column DEPS" in err
    assert [x.deprel.count("iobj") for x in read(out.splitlines(keepends=True))] == [1, 0, 0, 1, 0]


def test_the_table_of_diff_after_parsing_is_applied(tmp_path: Path) -> None:
    """The parse has no enhanced dependencies and no empty nodes, and other heads."""
    rows = "1\tGo\t_\t_\t_\tA=1\t0\troot\t0:root|2.1:x\t_\n2\thome\t_\t_\t_\t_\t1\t{}\t{}\t_\n"
    gold, parsed, table = (tmp_path / name for name in ("a.conllu", "b.conllu", "d.tsv"))
    node = "2.1\tgo\t_\t_\t_\t_\t_\t_\t1:conj\t_\n"
    gold.write_text(f"# sent_id = s\n{rows.format('obj', '1:obj')}{node}\n")
    parsed.write_text(f"# sent_id = s\n{rows.format('advmod', '_').replace('0:root|2.1:x', '_')}\n")
    table.write_text(Command("diff")(gold, parsed, "--format", "tsv", code=1)[0])
    message = str(run.failure(table, gold))
    assert "only values of words can be corrected" in message
    columns = message.rpartition(" ")[2]
    options = ("--format", "tsv", "--columns", columns)
    table.write_text(Command("diff")(gold, parsed, *options, code=1)[0])
    out, err = run(table, gold)
    assert out == parsed.read_text().removesuffix("\n") + f"{node}\n" and err == ""


def test_changed_forms_with_a_text_are_noted() -> None:
    rule = "pattern { X [form=dog] } commands { X.form = cat }"
    text = "# text = The dog\n1\tdog\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    message = "the forms of 1 sentence have changed, but its comment # text has not"
    assert message in run(rule, "-", stdin=text)[1]
    assert run(rule, "-", stdin=text.removeprefix("# text = The dog\n"))[1] == ""


def test_notes_on_the_patterns_of_rules_are_printed() -> None:
    rule = "pattern { X [deprel=obj, upos=ZZZ] } commands { X.upos = X }"
    assert run(rule, FILE, "-n")[1].startswith("depkit: note: deprel is a column, not a feature")


def test_rules_can_be_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.grs"
    for mark in ("", "\ufeff"):
        path.write_text(mark + RULE)
        assert run(path, FILE)[0] == run(RULE, FILE)[0]


def test_files_that_are_read_are_not_replaced_by_others(tmp_path: Path) -> None:
    treebank, rules, new = tmp_path / "a.conllu", tmp_path / "rules.grs", tmp_path / "b.conllu"
    treebank.write_text(FILE.read_text())
    rules.write_text(RULE)
    twice = ["-o", new, "--changes", tmp_path / "." / "b.conllu"]
    assert "also the file of --output" in run(rules, treebank, *twice, code=2)[1]
    for options in (["--changes", treebank], ["--changes", rules], ["-o", rules]):
        error = run.failure(rules, treebank, *options)
        assert f"{options[-1]} is one of the files to read" in str(error)
    assert (treebank.read_text(), rules.read_text()) == (FILE.read_text(), RULE)
    assert not new.exists()
    run(rules, treebank, "-o", treebank)
    assert treebank.read_text() == run(RULE, FILE)[0]


def test_stdin_and_stdout_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("not read")
    text = FILE.read_text()
    out = run(RULE, "-", "-o", "new.conllu", "--changes", "-", stdin=text)[0]
    assert len(out.splitlines()) == 3
    assert Command("convert")("-", "--to", "conllu", stdin=text)[0] == text
    assert Path("-").read_text() == "not read"


def test_an_error_leaves_the_output_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new.conllu"
    path.write_text("old")
    error = run.failure("pattern { e: X -[obj]-> Y } commands { del_edge e }", FILE, "-o", path)
    assert "has no head" in str(error)
    assert path.read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("times", [1, 300])  # The error occurs at the end, or during writing.
@pytest.mark.parametrize("full", ["-o", "--changes"])
def test_both_outputs_are_written_or_none(times: int, full: str, tmp_path: Path) -> None:
    source, new = tmp_path / "old.conllu", tmp_path / "new"
    source.write_text(FILE.read_text() * times)
    new.write_text("old")
    other = "--changes" if full == "-o" else "-o"
    error = run.failure(RULE, source, full, "/dev/full", other, new)
    assert isinstance(error, OSError) and error.filename == "/dev/full"
    assert new.read_text() == "old"


@pytest.mark.parametrize("times", [1, 300])
def test_the_treebank_is_written_if_nobody_reads_the_changes(times: int, tmp_path: Path) -> None:
    source, new = tmp_path / "old.conllu", tmp_path / "new.conllu"
    source.write_text(FILE.read_text() * times)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "depkit", "edit", RULE, source, "-o", new, "--changes", "-"]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (result.returncode, result.stderr) == (0, b"")
    assert new.read_text() == source.read_text().replace("INTJ\tUH", "X\tUH")


def test_mistakes_in_the_usage() -> None:
    assert "line 1, column" in run("pattern { X [] } commands { Y.upos = A }", FILE, code=2)[1]
    assert "name a file" in run(RULE, FILE, "--changes", "-", code=2)[1]
    assert "writes no file" in run(RULE, FILE, "-n", "-o", "x.conllu", code=2)[1]
    assert "no such file" in run("rules.grs", FILE, code=2)[1]


def test_a_walk_from_suspects_to_a_corrected_treebank(tmp_path: Path) -> None:
    """The suspects of a treebank with an error are applied, and the result is the right one."""
    right, wrong = tmp_path / "right.conllu", tmp_path / "wrong.conllu"
    sentences = FILE.read_text().split("\n\n")[0]
    rows = [sentences.replace("a-1", f"a-{i}").replace("# newdoc\n# newpar\n", "")
            for i in range(9)]  # fmt: skip
    right.write_text("\n\n".join(rows) + "\n\n")
    rows[4] = rows[4].replace("3\tdet\t", "2\tadvmod\t").replace("\tNOUN\t", "\tVERB\t")
    wrong.write_text("\n\n".join(rows) + "\n\n")
    suspects, corrected = tmp_path / "suspects.tsv", tmp_path / "corrected.conllu"
    Command("suspects")(wrong, "--parses", right, "-o", suspects)
    # The annotator keeps the rows of the parser's proposals for two words.
    header, *lines = suspects.read_text().splitlines()
    kept = [line for line in lines if "\ta-4\t" in line]
    suspects.write_text("\n".join([header, *kept]) + "\n")
    err = run(suspects, wrong, "-o", corrected, "-v")[1]
    assert corrected.read_text() == right.read_text()
    assert f"{suspects} has no decisions; all {len(kept)} rows are taken as right" in err
    assert "1 sentence changed" in err
    assert run(suspects, corrected, "-o", tmp_path / "again.conllu")[1].endswith(
        "nothing has changed\n"
    )
    differences = Command("diff")(wrong, right, "--format", "tsv", code=1)[0]
    (tmp_path / "diff.tsv").write_text(differences)
    assert run(tmp_path / "diff.tsv", wrong)[0] == right.read_text()
