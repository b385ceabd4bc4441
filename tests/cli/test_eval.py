import csv
import io
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from depkit.cli.evaluate import evaluate_command
from depkit.corpus.errors import FormatError

app = typer.Typer()
app.command("eval")(evaluate_command)
runner = CliRunner()

ROW = "{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n"
WORDS = [("Dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP"), (".", "PUNCT", ".")]
GOLD = [("2", "nsubj"), ("0", "root"), ("2", "punct")]
WORSE = [("2", "obj"), ("0", "root"), ("1", "punct")]
PARTS = [("2", "nsubj:x"), ("_", "_"), ("2", "punct")]


def write(path: Path, tree: list[tuple[str, str]]) -> str:
    rows = [
        ROW.format(i, *word, *arc)
        for i, (word, arc) in enumerate(zip(WORDS, tree, strict=True), start=1)
    ]
    path.write_text("# sent_id = s1\n" + "".join(rows) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    return (
        write(tmp_path / "gold.conllu", GOLD),
        write(tmp_path / "worse.conllu", WORSE),
        write(tmp_path / "parts.conllu", PARTS),
    )


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> tuple[str, str]:
    result = runner.invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_text(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    out, err = run(gold, worse)
    header, row, signature = out.splitlines()
    assert header.split() == ["system", "UAS", "LAS", "LA", "UEM", "LEM", "scored"]
    assert row.split() == [worse, "66.67", "33.33", "66.67", "0.00", "0.00", "3"]
    assert signature.startswith("depkit:")
    assert signature.endswith("|punct:keep|subtypes:keep|sentences:1|words:3|scored:3")
    assert err == ""


def test_json_is_an_object_for_one_and_a_list_for_several(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    one = json.loads(run(gold, worse, "--json")[0])
    assert list(one) == [
        "system", "signature", "sentences", "words", "scored", "UAS", "LAS", "LA", "UEM", "LEM",
    ]  # fmt: skip
    assert one["UAS"] == 100.0 * 2 / 3
    assert (one["system"], one["sentences"], one["words"], one["scored"]) == (worse, 1, 3, 3)
    several = json.loads(run(gold, worse, gold, "--format", "json")[0])
    assert several[0] == one
    assert [record["LEM"] for record in several] == [0.0, 100.0]


def test_csv_is_not_rounded_and_has_the_signature(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    rows = list(csv.DictReader(io.StringIO(run(gold, worse, gold, "--format", "csv")[0])))
    assert [row["system"] for row in rows] == [worse, gold]
    assert float(rows[0]["LAS"]) == 100.0 / 3
    assert "|punct:keep|" in rows[0]["signature"]


def test_latex_and_markdown(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    assert " & 66.67 & 33.33 & " in run(gold, worse, "--format", "latex")[0]
    assert " | 66.67 | 33.33 | " in run(gold, worse, "--format", "markdown")[0]


def test_one_number_a_system(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    assert run(gold, worse, "-b", "LAS")[0] == "33.33\n"
    assert run(gold, worse, gold, "--metric", "las")[0] == "33.33\n100.00\n"


def test_punctuation_and_subtypes(files: tuple[str, str, str]) -> None:
    gold, worse, parts = files
    assert run(gold, worse, "--punct", "ptb", "-b", "UAS")[0] == "100.00\n"
    assert run(gold, parts, "-q", "-b", "LA")[0] == "33.33\n"
    assert run(gold, parts, "-q", "-b", "LA", "--subtypes", "drop")[0] == "66.67\n"


def test_standard_input(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    from_pipe = run(gold, "-", "-b", "UAS", stdin=Path(worse).read_text())[0]
    assert from_pipe == run(gold, worse, "-b", "UAS")[0]
    assert run("-", worse, "-b", "UAS", stdin=Path(gold).read_text())[0] == from_pipe


def test_warnings_go_to_stderr_and_can_be_silenced(files: tuple[str, str, str]) -> None:
    gold, _, parts = files
    out, err = run(gold, parts, "-b", "UAS")
    assert out == "66.67\n"
    assert err == f"depkit: warning: {parts}: 1 of 3 words have no head, so are wrong\n"
    assert run(gold, parts, "-b", "UAS", "-q") == ("66.67\n", "")
    assert "--punct ctb leaves out no word" in run(gold, gold, "--punct", "ctb")[1]


def test_verbose_tells_the_counts(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    err = run(gold, worse, "-v")[1]
    assert err == f"{worse}: UAS 2 / 3, LAS 1 / 3, LA 2 / 3, UEM 0 / 1, LEM 0 / 1\n"


def test_mismatch_is_a_format_error(files: tuple[str, str, str], tmp_path: Path) -> None:
    gold, worse, _ = files
    other = tmp_path / "other.conllu"
    other.write_text(Path(worse).read_text().replace("bark", "barks"))
    result = runner.invoke(app, [gold, str(other)])
    assert isinstance(result.exception, FormatError)
    assert str(result.exception).startswith(
        f"{other}:3: s1: sentence 1 has 'barks' '.' from word 2 on, but {gold}:3 has 'bark' '.'; "
    )
    assert result.stdout == ""


def test_missing_file_is_an_os_error(files: tuple[str, str, str]) -> None:
    result = runner.invoke(app, [files[0], "/no/such/file.conllu"])
    assert isinstance(result.exception, FileNotFoundError)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--punct", "all"],
        ["--punct", "tags:"],
        ["--subtypes", "cut"],
        ["--format", "xml"],
        ["--json", "--format", "csv"],
        ["-b", "F1"],
        ["-b", ""],
        ["-b", "UAS", "--json"],
        ["--encoding", "morse"],
        ["-", "-"],
    ],
)
def test_bad_usage(files: tuple[str, str, str], arguments: list[str]) -> None:
    gold, worse, _ = files
    out, err = run(gold, worse, *arguments, code=2)
    assert out == ""
    assert "Invalid value" in err


def test_no_prediction_is_bad_usage(files: tuple[str, str, str]) -> None:
    run(files[0], code=2)


def test_help_has_an_example() -> None:
    assert "depkit eval --punct ptb gold.conllx" in run("--help")[0]
