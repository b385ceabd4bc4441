"""depkit suspects: the table and JSON of planted errors, and files that it cannot use."""

import csv
import io
import json
from pathlib import Path

import pytest

from depkit.files.errors import FormatError
from tests.cli.commands import Command
from tests.conftest import TINY

run = Command("suspects")


def write(path: Path, relations: list[str], heads: str = "220", misc: str = "_") -> Path:
    """Write sentences of three words, whose second word is the head; return the path."""
    sentences = []
    for number, relation in enumerate(relations, start=1):
        rows = [
            f"{i}\t{form}\t_\tX\t_\t_\t{head}\t{label}\t_\t{misc}\n"
            for i, (form, head, label) in enumerate(
                zip(("=SUM", "go", '"'), (heads[0], "0", "2"), (relation, "root", "punct"),
                    strict=True), 1,
            )
        ]  # fmt: skip
        sentences.append(f"# sent_id = s\t{number}\n{''.join(rows)}\n")
    path.write_text("".join(sentences))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    gold = write(tmp_path / "gold.conllu", ["@x", "nsubj", "nsubj"])
    parse = write(tmp_path / "parse.conllu", ["nsubj"] * 3, misc="ArcProb=0.9|LabelProb=0.8")
    return [str(gold), "--parses", str(parse)]


def read_table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))


def test_a_planted_error_is_found(files: list[str], tmp_path: Path) -> None:
    out, err = run(*files, "--verbose")
    assert err == "1 suspect: 1 deprel (parser)\n"
    assert read_table(out) == [
        {
            "rank": "1", "score": "0.8", "source": "parser", "kind": "deprel", "form": "'=SUM",
            "gold": "'@x", "alternative": "nsubj", "gold_head": "", "alternative_head": "",
            "probability": "0.8", "gold_probability": "0.0", "evidence": "1 of 1 parse",
            "file": files[0], "line": "2", "sent_id": "s\t1", "word": "1",
            "context": '[=SUM] go "',
        }
    ]  # fmt: skip
    assert run(*files, "-o", tmp_path / "out.tsv") == ("", "")
    assert (tmp_path / "out.tsv").read_text() == out
    record = json.loads(run(*files, "--json")[0])
    (suspect,) = record.pop("suspects")
    assert record == {"sentences": 3, "words": 9, "found": 1}
    assert {name: str(value) for name, value in suspect.items()} == read_table(out)[0] | {
        "form": "=SUM", "gold": "@x",
    }  # fmt: skip


def test_the_limit_keeps_the_highest_scores(files: list[str], tmp_path: Path) -> None:
    parse = write(tmp_path / "b.conllu", ["nsubj"] * 3, "321", "ArcProb=0.95|LabelProb=0.1")
    files[2] = str(parse)
    every = read_table(run(*files)[0])
    assert [(row["kind"], row["gold"], row["alternative"]) for row in every] == [
        ("head", "2:@x", "3:nsubj"), ("head", "2:nsubj", "3:nsubj"), ("head", "2:nsubj", "3:nsubj")
    ]  # fmt: skip
    assert (every[0]["gold_head"], every[0]["alternative_head"]) == ("go", '"')
    assert read_table(run(*files, "--limit", "2")[0]) == every[:2]
    assert json.loads(run(*files, "--limit", "2", "--json")[0])["found"] == 3


def test_variation_needs_no_parser(tmp_path: Path) -> None:
    text = TINY.read_text()
    assert read_table(run(TINY)[0]) == []
    changed = text.replace("\tamod\t", "\tdet\t")
    assert changed != text
    treebank = tmp_path / "treebank.conllu"
    treebank.write_text(text * 2 + changed)
    rows = read_table(run(treebank)[0])
    assert {(row["source"], row["kind"], row["gold"], row["alternative"]) for row in rows} == {
        ("variation", "deprel", "det", "amod")
    }
    lines = treebank.read_text().splitlines()
    assert {lines[int(row["line"]) - 1].split("\t")[7] for row in rows} == {"det"}


def test_files_that_do_not_fit_are_reported(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty.conllu").write_text("")
    empty = str(tmp_path / "empty.conllu")
    short = str(write(tmp_path / "short.conllu", ["nsubj"]))
    for arguments, message in (
        ([empty], "empty.conllu: there are no sentences"),
        ([files[0], "--parses", empty], "empty.conllu: there are no sentences"),
        ([files[0], "--parses", short], "this file ends after sentence 1"),
        ([files[0], "--parses", str(TINY)], "give parses of the words of the treebank"),
    ):
        error = run.failure(*arguments)
        assert isinstance(error, FormatError)
        assert message in str(error)


def test_usage_errors(files: list[str], tmp_path: Path) -> None:
    output = tmp_path / "suspects.html"
    assert "leave it out" in run(*files, "--json", "-o", output, code=2)[1]
    assert not output.exists()
    assert "only one file can be standard input" in run("-", "--parses", "-", code=2)[1]
