"""depkit eval: scores, tests, alignment and warnings, in all formats."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest

from depkit.files.errors import FormatError
from tests.cli.commands import Command, assert_fails, write_tree

run = Command("eval")

WORDS = [("Dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP"), (".", "PUNCT", ".")]
GOLD, WORSE, PARTS = (f"in/{name}.conllu" for name in ("gold", "worse", "parts"))
TREES = {
    GOLD: [("2", "nsubj"), ("0", "root"), ("2", "punct")],
    WORSE: [("2", "obj"), ("0", "root"), ("1", "punct")],
    PARTS: [("2", "nsubj:x"), ("_", "_"), ("2", "punct")],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a file for each tree in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, tree in TREES.items():
        write_tree(name, WORDS, tree)


def test_text_is_a_table_and_a_signature() -> None:
    out, err = run(GOLD, WORSE)
    header, row, signature = out.splitlines()
    assert header.split() == "system UAS LAS LA UEM LEM RA CLAS scored".split()
    assert row.split() == "worse 66.67 33.33 66.67 0.00 0.00 100.00 50.00 3".split()
    assert signature.startswith("depkit:")
    assert signature.endswith("|punct:keep|subtypes:keep|sentences:1|words:3|scored:3")
    assert err == ""


def test_json_is_an_object_for_one_system_and_a_list_for_several() -> None:
    record = json.loads(run(GOLD, WORSE, "--json")[0])
    metrics = "UAS LAS LA UEM LEM RA CLAS UPOS XPOS FEATS Lemmas".split()
    assert list(record) == ["system", "signature", "sentences", "words", "scored", *metrics]
    assert (record["UPOS"], record["FEATS"], record["UAS"]) == (100.0, None, 100.0 * 2 / 3)
    facts = [record[name] for name in ("system", "sentences", "words", "scored")]
    assert facts == [WORSE, 1, 3, 3]
    several = json.loads(run(GOLD, WORSE, GOLD, "--format", "json")[0])
    assert several[0] == record
    assert [record["LEM"] for record in several] == [0.0, 100.0]


def test_csv_is_not_rounded_and_has_the_signature() -> None:
    rows = list(csv.DictReader(io.StringIO(run(GOLD, WORSE, GOLD, "--format", "csv")[0])))
    assert [row["system"] for row in rows] == [WORSE, GOLD]
    assert float(rows[0]["LAS"]) == 100.0 / 3
    assert "|punct:keep|" in rows[0]["signature"]


def test_latex_and_markdown_tables_have_the_scores() -> None:
    assert " & 66.67 & 33.33 & " in run(GOLD, WORSE, "--format", "latex")[0]
    assert " | 66.67 | 33.33 | " in run(GOLD, WORSE, "--format", "markdown")[0]


def test_a_single_metric_with_and_without_punctuation_and_subtypes() -> None:
    assert run(GOLD, WORSE, "-b", "LAS")[0] == "33.33\n"
    assert run(GOLD, WORSE, GOLD, "--metric", "las")[0] == "33.33\n100.00\n"
    assert run(GOLD, WORSE, "--punct", "ptb", "-b", "UAS")[0] == "100.00\n"
    assert run(GOLD, PARTS, "-q", "-b", "LA")[0] == "33.33\n"
    assert run(GOLD, PARTS, "-q", "-b", "LA", "--subtypes", "drop")[0] == "66.67\n"


def test_either_file_can_be_standard_input() -> None:
    from_pipe = run(GOLD, "-", "-b", "UAS", stdin=Path(WORSE).read_text())[0]
    assert from_pipe == run(GOLD, WORSE, "-b", "UAS")[0]
    assert run("-", WORSE, "-b", "UAS", stdin=Path(GOLD).read_text())[0] == from_pipe


def test_warnings_go_to_stderr_and_can_be_silenced() -> None:
    warning = f"depkit: warning: {PARTS}: 1 of 3 words has no head, which counts as a wrong head\n"
    assert run(GOLD, PARTS, "-b", "UAS") == ("66.67\n", warning)
    assert run(GOLD, PARTS, "-b", "UAS", "-q") == ("66.67\n", "")
    assert "--punct ctb leaves out no word" in run(GOLD, GOLD, "--punct", "ctb")[1]


def test_a_bootstrap_test_of_few_sentences_has_a_warning() -> None:
    arguments = (GOLD, GOLD, WORSE, "--test", "bootstrap")
    assert run(*arguments)[1] == (
        f"depkit: warning: {WORSE}: fewer than 10 sentences differ from those of the first system"
        " in UAS, LAS, LA, UEM, LEM, CLAS; the p values of --test bootstrap are too small there\n"
    )
    assert run(*arguments, "-q")[1] == run(*arguments[:3], "--test", "ar")[1] == ""


def test_verbose_prints_the_counts() -> None:
    assert run(GOLD, WORSE, "-v")[1] == (
        f"{WORSE}: UAS 2 / 3, LAS 1 / 3, LA 2 / 3, UEM 0 / 1, LEM 0 / 1, RA 1 / 1, CLAS 1 / 2,"
        " UPOS 3 / 3, XPOS 3 / 3\n"
    )


def test_cycles_and_several_roots_are_counted() -> None:
    cyclic = write_tree("cyclic", WORDS, [("2", "nsubj"), ("1", "root"), ("0", "punct")])
    roots = write_tree("roots", WORDS, [("0", "nsubj"), ("0", "root"), ("2", "punct")])
    assert run(GOLD, cyclic, roots)[1] == (
        f"depkit: warning: {cyclic}: 1 of 1 tree has a cycle\n"
        f"depkit: warning: {roots}: 1 of 1 tree has several roots\n"
    )


def test_tag_columns_are_printed_if_tags_differ() -> None:
    Path("tagged").write_text(Path(WORSE).read_text().replace("NOUN", "VERB"))
    header, row, _ = run(GOLD, "tagged")[0].splitlines()
    assert (header.split()[-2], row.split()[-2]) == ("UPOS", "66.67")
    assert run(GOLD, "tagged", "-b", "upos")[0] == "66.67\n"


def test_a_metric_without_its_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="Lemmas is not defined"):
        run(GOLD, WORSE, "-b", "Lemmas")


def test_relations_prints_scores_per_relation() -> None:
    lines = run(GOLD, WORSE, "--relations")[0].splitlines()
    assert [" ".join(line.split()) for line in lines[:5]] == [
        "relation gold predicted correct precision recall F1",
        "nsubj 1 0 0 - 0.00 0.00",
        "obj 0 1 0 0.00 - 0.00",
        "punct 1 1 0 0.00 0.00 0.00",
        "root 1 1 1 100.00 100.00 100.00",
    ]
    assert lines[6].startswith("system")
    record = json.loads(run(GOLD, WORSE, "--relations", "--json")[0])
    zeros = {"gold": 0, "correct": 0, "precision": 0.0, "f1": 0.0}
    assert record["relations"]["obj"] == zeros | {"predicted": 1, "recall": None}


def test_confidence_and_test_add_columns() -> None:
    out, _ = run(GOLD, GOLD, WORSE, GOLD, "--test", "ar", "--confidence")
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "metric"
    equal = "UAS gold.conllu (2) 100.00 100.00 100.00 +0.00 1.0000 1.0000"
    assert lines[3].split() == equal.split()
    assert lines[-2] == (
        "Difference from the first system; p: paired approximate randomisation over sentences"
        " (10,000 trials, two-sided, seed 1), adjusted by Holm's method"
        " for 2 comparisons per metric."
    )
    assert "|bootstrap:1000|test:ar-10000|seed:1|sentences:1|" in lines[-1]
    arguments = ["--test", "mcnemar", "--confidence", "--json"]
    first, second, _ = json.loads(run(GOLD, GOLD, WORSE, GOLD, *arguments)[0])
    assert "test" not in first
    uas = second["UAS"]
    assert second["test"]["UAS"] == {"difference": uas - 100.0, "p": 1.0, "p_adjusted": 1.0}
    assert second["confidence"]["UAS"] == {"low": uas, "high": uas}
    row = next(csv.DictReader(io.StringIO(run(GOLD, WORSE, "--confidence", "--format", "csv")[0])))
    assert float(row["confidence_LAS_low"]) == 100 / 3


def test_align_scores_files_with_different_words() -> None:
    """One word is split into two."""
    words = [(form, "_", "_") for form in ("Do", "gs", "bark", ".")]
    arcs = [("2", "det"), ("3", "nsubj"), ("0", "root"), ("3", "punct")]
    split = write_tree("cut.conllu", words, arcs)
    lines = run(GOLD, split, "--align")[0].splitlines()
    assert lines[0].split() == ["metric", "precision", "recall", "F1"]
    assert lines[1].split() == ["Tokens", "50.00", "66.67", "57.14"]
    assert lines[-1].endswith("|align:characters|subtypes:drop|sentences:1|words:3|scored:3")
    assert run(GOLD, split, "--align", "-b", "las")[0] == "57.14\n"
    record = json.loads(run(GOLD, split, "--align", "--json")[0])
    assert record["UAS"]["recall"] == 200 / 3
    metrics = "Tokens Sentences Words UPOS XPOS UFeats AllTags Lemmas UAS LAS CLAS MLAS BLEX"
    assert list(record)[5:] == metrics.split()
    tested = run(GOLD, split, GOLD, "--align", "--test", "bootstrap", "--confidence")[0]
    assert tested.splitlines()[0].split()[:5] == ["metric", "system", "precision", "recall", "F1"]


def test_a_mismatch_is_a_format_error_and_a_missing_file_an_os_error() -> None:
    Path("in/other").write_text(Path(WORSE).read_text().replace("bark", "barks"))
    error = run.failure(GOLD, "in/other")
    assert isinstance(error, FormatError) and str(error).startswith(
        "in/other:3: s1: sentence 1, word 2 differs: 'Dogs [barks] .', but in/gold.conllu:3 has"
        " 'Dogs [bark] .'; "
    )
    assert isinstance(run.failure(GOLD, "/no/such/file.conllu"), FileNotFoundError)


@pytest.mark.parametrize(
    "words",
    [
        "--punct all", "--punct tags:", "--subtypes cut", "--format xml", "--json --format csv",
        "-b F1", "-b UAS --json", "-b UAS --relations", "-b Tokens", "-b LA --align",
        "--align --punct ptb", "--align --relations", "--test ar", "--test t", "--seed -1",
        "--seed 5",
        "--encoding morse", "- -",
    ],
)  # fmt: skip
def test_bad_usage_is_rejected(words: str) -> None:
    out, err = run(GOLD, WORSE, *shlex.split(words), code=2)
    assert out == "" and "Invalid value" in err


def test_no_prediction_is_bad_usage() -> None:
    run(GOLD, code=2)


BRACKETS = {
    "gold.mrg": "(TOP (S (NP-SBJ (DT the) (NN cat)) (VP (VBD sat) ) (. .) ))\n(TOP (X (UH oh)))\n",
    "pred.mrg": "(TOP (S (NP (DT the)) (NP (NN cat)) (VP (NN sat)) (. .)))\n(TOP (X (UH oh)))\n",
    "other": "\n( (S (NP (DT a) (NN cat)) (VP (VBD sat)) (. .)))\n(S1 (X (UH oh)))\n",
    "none.ptb": "(())\n(TOP (X (UH oh)))\n",
}


@pytest.fixture
def trees() -> None:
    for name, text in BRACKETS.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("trees")
def test_bracketed_trees_are_scored_as_by_evalb() -> None:
    out, err = run("gold.mrg", "pred.mrg")
    header, row, signature = out.splitlines()
    names = "system LP LR LF1 EM Tags Crossing NoCrossing TwoCrossing scored".split()
    assert header.split() == names
    assert row.split() == "pred 60.00 75.00 66.67 50.00 75.00 0.00 100.00 100.00 4".split()
    assert signature.endswith("|evalb:collins|sentences:2|words:5|scored:4|errors:0|skipped:0")
    assert err == ""
    record = json.loads(run("gold.mrg", "pred.mrg", "--evalb", "spmrl", "--json")[0])
    assert (record["LP"], record["LR"], record["scored"]) == (60.0, 75.0, 5)
    assert record["LF1"] == pytest.approx(200 / 3)
    assert run("gold.mrg", "pred.mrg", "gold.mrg", "-b", "lf1")[0] == "66.67\n100.00\n"


@pytest.mark.usefixtures("trees")
def test_trees_that_are_not_scored_are_listed() -> None:
    out, err = run("gold.mrg", "other", "none.ptb", "-b", "LR")
    assert out == "100.00\n100.00\n"
    assert err == (
        "depkit: warning: other: 1 of 2 trees has other words than the gold tree: tree 1\n"
        "depkit: warning: none.ptb: 1 of 2 trees has no words that are scored: tree 1\n"
    )
    assert run("gold.mrg", "other", "none.ptb", "-b", "LR", "-q")[1] == ""


@pytest.mark.usefixtures("trees")
def test_the_report_of_evalb_is_printed_with_verbose() -> None:
    err = run("gold.mrg", "other", "-b", "LF1", "-v", "--evalb", "new")[1]
    assert "other:\n1 : Words unmatch (the|a)\n  Sent. " in err
    assert "\n   1    4    1    0.00   0.00     0      0    0      0      0     0     0.00\n" in err
    assert "\nBracketing FMeasure       = 100.00\n" in err


@pytest.mark.usefixtures("trees")
def test_trees_have_intervals_and_tests() -> None:
    out, _ = run(
        "gold.mrg", "pred.mrg", "gold.mrg", "--confidence", "--test", "bootstrap", "--json"
    )
    records = json.loads(out)
    assert records[0]["confidence"]["LF1"]["high"] == 100.0
    assert records[1]["test"]["LF1"]["difference"] == pytest.approx(100 / 3)


@pytest.mark.usefixtures("trees")
def test_a_parameter_file_is_read_and_trees_can_come_from_stdin() -> None:
    Path("my.prm").write_text("DELETE_LABEL TOP\nDELETE_LABEL NP\n")
    arguments = ["-", "pred.mrg", "--evalb", "my.prm"]
    out, _ = run(*arguments, stdin=Path("gold.mrg").read_text())
    assert out.splitlines()[1].split()[1:4] == ["100.00"] * 3
    assert "|evalb:my.prm|" in out


@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--evalb", "colins"], 2, "choose from collins, nk, new, spmrl"),
        (["--punct", "ptb"], 2, "which words count; see --evalb"),
        (["--subtypes", "drop"], 2, "no subtypes"),
        (["--align"], 2, "must have the same words"),
        (["--relations"], 2, "no dependency relations"),
        (["--test", "mcnemar", "gold.mrg"], 2, "choose ar or bootstrap"),
        (["-b", "UAS"], 2, "choose from LP, LR, LF1, EM"),
        ([GOLD], 1, "bracketed trees, but gold.mrg has; both must have them"),
        (["short.mrg"], 1, "this file ends after tree 1, but gold.mrg has a tree 2"),
        (["broken.mrg"], 1, "broken.mrg:1: tree 1: the tree that begins here is not finished"),
    ],
)
def test_mistakes_with_trees_are_reported(arguments: list[str], code: int, message: str) -> None:
    Path("short.mrg").write_text("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .)))")
    Path("broken.mrg").write_text("(TOP (S (DT the)\n")
    if code == 2:
        assert message in run("gold.mrg", "pred.mrg", *arguments, code=2)[1]
    else:
        assert message in str(run.failure("gold.mrg", *arguments))


@pytest.mark.usefixtures("trees")
def test_parameters_of_evalb_are_refused_for_dependency_trees() -> None:
    assert f"but {GOLD} has none" in run(GOLD, WORSE, "--evalb", "collins", code=2)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-b", "mlas"], "--metric: MLAS needs --align;"),
        (["-b", "ELAS"], "--metric: ELAS needs --enhanced;"),
        (["-b", "FEATS", "--align"], "--metric: there is no metric 'FEATS'; choose from"),
    ],
)
def test_a_metric_names_the_option_that_it_needs(arguments, message, capfd) -> None:
    assert_fails(capfd, ["eval", GOLD, WORSE, *arguments], 2, message)
