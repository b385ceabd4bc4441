"""depkit diff: differences and agreement of two files."""

import json
from pathlib import Path

from depkit.corpus.io import read, write
from tests.cli.commands import Command
from tests.conftest import HERE

run = Command("diff")
FILE = HERE / "data" / "search.conllu"


def changed(folder: Path) -> Path:
    """Write another version: without the first sentence, with two changes and a new sent_id."""
    sentences = list(read(FILE))[1:]
    sentences[0][0].upos = "X"
    sentences[0][2].head = sentences[0][5]
    sentences[3] = sentences[3].with_comment("sent_id", "new")
    path = folder / "new.conllu"
    write(sentences[::-1], path)
    return path


def rows(text: str) -> dict[str, list[str]]:
    lines = (line.rsplit(maxsplit=4) for line in text.splitlines() if line)
    return {line[0]: line[1:] for line in lines}


def test_the_same_files_do_not_differ() -> None:
    out, err = run(FILE, FILE)
    assert "identical sentences" in out
    assert err == f"depkit: note: {FILE} and {FILE} do not differ\n"
    assert rows(out)["DEPREL"] == ["43", "0", "100.00", "1.0000"]


def test_differences_are_counted(tmp_path: Path) -> None:
    out, _ = run(FILE, changed(tmp_path), code=1)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "sentences in both 4", "identical sentences 2", "sentences only in A 1",
        "sentences only in B 0", "HEAD (UAS) 35 1 97.14 -", "UPOS in A UPOS in B words",
        "NOUN X 1", "acl:relcl 1 1 100.00 0 0.00",
    ):  # fmt: skip
        assert line in lines, line


def test_differences_are_listed(tmp_path: Path) -> None:
    new = changed(tmp_path)
    out, _ = run(FILE, new, "--format", "tsv", code=1)
    header, *body = [line.split("\t") for line in out.splitlines()]
    assert header == ["file", "line", "sent_id", "word", "form", "column", "a", "b"]
    assert sorted(row[2:] for row in body) == [
        ["a-1", "0", "", "sentence", "The old dog did n't see it .", ""],
        ["a-2", "1", "Cats", "upos", "NOUN", "X"],
        ["a-2", "3", "sleep", "head", "1:Cats", "6:eat"],
        ["b-3", "0", "", "comments", "# sent_id = b-3", "# sent_id = new"],
    ]
    assert {row[2]: row[1] for row in body}["a-2"] in ("17", "19")
    out, _ = run(FILE, new, "--format", "tsv", "--columns", "upos,deprel", code=1)
    assert [line.split("\t")[5] for line in out.splitlines()[1:]] == ["upos"]
    assert run(FILE, new, "--columns", "xpos")[1].endswith("do not differ\n")


def test_json_has_counts_and_differences(tmp_path: Path) -> None:
    out, _ = run(FILE, changed(tmp_path), "--format", "json", code=1)
    record = json.loads(out)
    assert (record["sentences"], record["sentences_only_in"]) == (4, [1, 0])
    assert record["columns"]["upos"]["compared"] - record["columns"]["upos"]["same"] == 1
    assert record["relations"]["acl:relcl"] == {"words": 1, "other_head": 1, "other_relation": 0}
    assert len(record["differences"]) == 4


def test_mistakes_in_the_usage() -> None:
    assert "there is no column" in run(FILE, FILE, "--columns", "tag", code=2)[1]
    run("-", "-", code=2)
