"""depkit stats: counts of a treebank in tables and JSON."""

import json
from pathlib import Path

import pytest

from depkit.files.errors import FormatError
from depkit.score.table import short_names
from tests.cli.commands import Command
from tests.conftest import TINY

run = Command("stats")


def table(text: str, title: str) -> dict[str, list[str]]:
    """Return the rows of the table with this title, by their labels."""
    (paragraph,) = (paragraph for paragraph in text.split("\n\n") if paragraph.startswith(title))
    rows = [line.split() for line in paragraph.splitlines()[1:]]
    return {row[0]: row[1:] for row in rows}


def test_tables_have_counts_and_percentages() -> None:
    out, err = run(TINY)
    words = sum(line[0].isdigit() and "-" not in line[:4] for line in TINY.open() if line.strip())
    assert err == ""
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == short_names([str(TINY)])
    counts = ("sentences 24", f"words {words}", "multiword tokens 2", "non-projective sentences 2")
    for row in (*counts, "% of sentences 8.33"):
        assert row.split() in lines
    titles = [line[0] for line in lines if line and line[-1] == "%"]
    assert titles == ["UPOS", "XPOS", "relation", "enhancement", "length", "distance", "depth"]
    assert table(out, "relation")["root"] == ["24", f"{100 * 24 / words:.2f}"]
    assert table(out, "depth")["0"][0] == "24"
    assert not any("empty" in line or "cyclic" in line for line in out.splitlines())


def test_several_files_have_a_total(tmp_path: Path) -> None:
    other = tmp_path / "other.conllu"
    other.write_text("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n")
    out = run(TINY, other)[0]
    assert out.splitlines()[0].split() == [*short_names([str(TINY), str(other)]), "total"]
    assert table(out, "UPOS")["X"][::2] == ["0", "1", "1"]
    records = json.loads(run(TINY, other, "--json")[0])
    assert [record["sentences"] for record in records] == [24, 1, 25]
    assert [record["file"] for record in records] == [str(TINY), str(other), None]
    assert [record["total"] for record in records] == [False, False, True]


def test_json_has_all_counts() -> None:
    record = json.loads(run(TINY, "--json")[0])
    assert record["file"] == str(TINY)
    assert record["sentences"] == 24
    assert record["non_projective_sentences_percent"] == pytest.approx(100 * 2 / 24)
    assert {"non_projective_arcs_percent", "words_per_sentence"} < record.keys()
    assert sum(record["upos"].values()) == sum(record["deprel"].values()) == record["words"]
    assert sum(record["length"].values()) == 24
    assert record["depth"]["0"] == 24


def test_only_frequent_labels_are_in_tables() -> None:
    out = run(TINY)[0]
    assert len(table(out, "relation")) == 21
    assert " others " in out
    assert " others " not in run(TINY, "--verbose")[0]


def test_broken_sentences_are_counted_on_stderr() -> None:
    text = TINY.read_text().replace("\tcat\tcat\t", "\tcat\t")
    out, err = run("-", stdin=text)
    assert err == ("depkit: warning: -: 1 of 24 sentences is broken; see depkit check -\n")
    assert run("-", "-q", stdin=text) == (out, "")
    err = run("-", stdin="# a\n\n# b\n\n" + TINY.read_text())[1]
    assert err == ("depkit: warning: -: 2 of 26 sentences are broken; see depkit check -\n")


def test_control_characters_in_labels_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "escapes.conllu"
    path.write_bytes(b"1\ta\ta\tX\x1b[1m\t\xe4\t_\t0\troot\t_\t_\n\n")
    out = run(path)[0]
    assert "\x1b" not in out
    assert table(out, "UPOS")["X\\x1b[1m"] == ["1", "100.00"]
    assert table(out, "XPOS")["\\udce4"] == ["1", "100.00"]
    assert json.loads(run(path, "--json")[0])["xpos"] == {"\udce4": 1}


@pytest.mark.parametrize(
    "content",
    [
        b"Time flies.\nFruit flies.\n\nMore.\n",
        b"\x7fELF\x00\xff\t\n\n\x00",
        b"<p>1</p>\n",
        b"\x00\n",
    ],
)
def test_a_file_that_is_not_a_treebank_fails_as_in_eval(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    error = run.failure(file)
    assert isinstance(error, FormatError)
    assert str(error) == str(Command("eval").failure(file, file))
    assert str(run.failure(TINY, file)) == str(error)


def test_a_file_without_sentences_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty.conllu"
    empty.write_text("\n")
    with pytest.raises(FormatError, match=r"no sentence in the file"):
        run(empty)
    run("-", "-", code=2)


def test_types_of_enhancement_have_a_table(tmp_path: Path) -> None:
    path = tmp_path / "enhanced.conllu"
    path.write_text(
        "1\ta\ta\tX\t_\t_\t2\tobl\t2:obl:in\t_\n2\tb\tb\tX\t_\t_\t0\troot\t0:root\t_\n\n"
    )
    assert table(run(path)[0], "enhancement") == {"basic": ["1", "50.00"], "case": ["1", "50.00"]}
    path.write_text("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n")
    assert "enhancement" not in run(path)[0]
