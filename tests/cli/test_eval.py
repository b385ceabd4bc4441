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
    assert header.split() == [
        "system", "UAS", "LAS", "LA", "UEM", "LEM", "RA", "CLAS", "scored",
    ]  # fmt: skip
    assert row.split() == [
        "worse", "66.67", "33.33", "66.67", "0.00", "0.00", "100.00", "50.00", "3",
    ]  # fmt: skip
    assert signature.startswith("depkit:")
    assert signature.endswith("|punct:keep|subtypes:keep|sentences:1|words:3|scored:3")
    assert err == ""


def test_json_is_an_object_for_one_and_a_list_for_several(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    one = json.loads(run(gold, worse, "--json")[0])
    assert list(one) == [
        "system", "signature", "sentences", "words", "scored", "UAS", "LAS", "LA", "UEM", "LEM",
        "RA", "CLAS", "UPOS", "XPOS", "FEATS", "Lemmas",
    ]  # fmt: skip
    assert (one["UPOS"], one["FEATS"]) == (100.0, None)
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
    assert err == (
        f"{worse}: UAS 2 / 3, LAS 1 / 3, LA 2 / 3, UEM 0 / 1, LEM 0 / 1, RA 1 / 1, CLAS 1 / 2,"
        " UPOS 3 / 3, XPOS 3 / 3\n"
    )


def test_cycles_and_several_roots_are_counted(files: tuple[str, str, str], tmp_path: Path) -> None:
    cyclic = write(tmp_path / "cyclic.conllu", [("2", "nsubj"), ("1", "root"), ("0", "punct")])
    roots = write(tmp_path / "roots.conllu", [("0", "nsubj"), ("0", "root"), ("2", "punct")])
    err = run(files[0], cyclic, roots)[1]
    assert err == (
        f"depkit: warning: {cyclic}: 1 of 1 trees have a cycle\n"
        f"depkit: warning: {roots}: 1 of 1 trees have several roots\n"
    )


def test_tags_are_shown_where_they_differ(files: tuple[str, str, str], tmp_path: Path) -> None:
    gold, worse, _ = files
    tagged = tmp_path / "tagged.conllu"
    tagged.write_text(Path(worse).read_text().replace("NOUN", "VERB"))
    header, row, _ = run(gold, str(tagged))[0].splitlines()
    assert (header.split()[-2], row.split()[-2]) == ("UPOS", "66.67")
    assert run(gold, str(tagged), "-b", "upos")[0] == "66.67\n"


def test_a_metric_without_its_column(files: tuple[str, str, str]) -> None:
    result = runner.invoke(app, [files[0], files[1], "-b", "Lemmas"])
    assert isinstance(result.exception, ValueError)
    assert "Lemmas is not defined" in str(result.exception)


def test_relations(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    lines = run(gold, worse, "--relations")[0].splitlines()
    assert [line.split() for line in lines[:5]] == [
        ["relation", "gold", "predicted", "correct", "precision", "recall", "F1"],
        ["nsubj", "1", "0", "0", "-", "0.00", "0.00"],
        ["obj", "0", "1", "0", "0.00", "-", "0.00"],
        ["punct", "1", "1", "0", "0.00", "0.00", "0.00"],
        ["root", "1", "1", "1", "100.00", "100.00", "100.00"],
    ]
    assert lines[6].startswith("system")
    record = json.loads(run(gold, worse, "--relations", "--json")[0])
    assert record["relations"]["obj"] == {
        "gold": 0, "predicted": 1, "correct": 0, "precision": 0.0, "recall": None, "f1": 0.0,
    }  # fmt: skip


def test_confidence_and_tests(files: tuple[str, str, str]) -> None:
    gold, worse, _ = files
    out, _ = run(gold, gold, worse, gold, "--test", "ar", "--confidence")
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "metric"
    assert lines[3].split() == [
        "UAS", "gold.conllu", "(2)", "100.00", "100.00", "100.00", "+0.00", "1.0000", "1.0000",
    ]  # fmt: skip
    assert lines[-2] == (
        "Difference from the first system; p: paired approximate randomisation over sentences"
        " (10,000 trials, two-sided, seed 1), adjusted by Holm's method for 2 comparisons a metric."
    )
    assert "|bootstrap:1000|test:ar-10000|seed:1|sentences:1|" in lines[-1]
    first, second, _ = json.loads(
        run(gold, gold, worse, gold, "--test", "mcnemar", "--confidence", "--json")[0]
    )
    assert "test" not in first
    assert second["test"]["UAS"] == {
        "difference": second["UAS"] - 100.0, "p": 1.0, "p_adjusted": 1.0,
    }  # fmt: skip
    assert second["confidence"]["UAS"] == {"low": second["UAS"], "high": second["UAS"]}
    row = next(csv.DictReader(io.StringIO(run(gold, worse, "--confidence", "--format", "csv")[0])))
    assert float(row["confidence_LAS_low"]) == 100 / 3


def test_alignment(files: tuple[str, str, str], tmp_path: Path) -> None:
    """One word cut in two."""
    gold, _, _ = files
    cut = tmp_path / "cut.conllu"
    rows = [("Do", "2", "det"), ("gs", "3", "nsubj"), ("bark", "0", "root"), (".", "3", "punct")]
    cut.write_text(
        "".join(f"{i}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_\n"
                for i, (form, head, deprel) in enumerate(rows, start=1)) + "\n"
    )  # fmt: skip
    lines = run(gold, str(cut), "--align")[0].splitlines()
    assert lines[0].split() == ["metric", "precision", "recall", "F1"]
    assert lines[1].split() == ["Tokens", "50.00", "66.67", "57.14"]
    assert lines[-1].endswith("|align:characters|subtypes:drop|sentences:1|words:3|scored:3")
    assert run(gold, str(cut), "--align", "-b", "las")[0] == "57.14\n"
    record = json.loads(run(gold, str(cut), "--align", "--json")[0])
    assert record["UAS"]["recall"] == 200 / 3
    assert list(record)[5:] == [
        "Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas",
        "UAS", "LAS", "CLAS", "MLAS", "BLEX",
    ]  # fmt: skip
    tested = run(gold, str(cut), gold, "--align", "--test", "bootstrap", "--confidence")[0]
    assert tested.splitlines()[0].split()[:5] == ["metric", "system", "precision", "recall", "F1"]


def test_mismatch_is_a_format_error(files: tuple[str, str, str], tmp_path: Path) -> None:
    gold, worse, _ = files
    other = tmp_path / "other.conllu"
    other.write_text(Path(worse).read_text().replace("bark", "barks"))
    result = runner.invoke(app, [gold, str(other)])
    assert isinstance(result.exception, FormatError)
    assert str(result.exception).startswith(
        f"{other}:3: s1: sentence 1, word 2 is another: 'Dogs [barks] .', but {gold}:3 has"
        " 'Dogs [bark] .'; "
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
        ["-b", "UAS", "--relations"],
        ["-b", "Tokens"],
        ["-b", "LA", "--align"],
        ["--align", "--punct", "ptb"],
        ["--align", "--relations"],
        ["--test", "ar"],
        ["--test", "t"],
        ["--seed", "-1"],
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
    assert "depkit eval --punct ptb --test ar gold.conllx" in run("--help")[0]
