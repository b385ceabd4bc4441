import csv
import io
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from depkit.cli.analyze import analyze_command

app = typer.Typer()
app.command("analyze")(analyze_command)
runner = CliRunner()

#         gold            good            poor
# 1 They  2 nsubj         2 nsubj         3 nsubj
# 2 saw   0 root          0 root          0 root
# 3 old   4 amod          4 amod          4 amod
# 4 dogs  2 obj           2 nmod          1 obj
WORDS = [("They", "PRON"), ("saw", "VERB"), ("old", "ADJ"), ("dogs", "NOUN")]
GOLD = [("2", "nsubj"), ("0", "root"), ("4", "amod"), ("2", "obj")]
GOOD = [("2", "nsubj"), ("0", "root"), ("4", "amod"), ("2", "nmod")]
POOR = [("3", "nsubj"), ("0", "root"), ("4", "amod"), ("1", "obj")]


def write(path: Path, tree: list[tuple[str, str]], misc: str = "_") -> str:
    rows = [
        f"{i}\t{form}\t_\t{upos}\t_\t_\t{head}\t{deprel}\t_\t{misc}\n"
        for i, ((form, upos), (head, deprel)) in enumerate(zip(WORDS, tree, strict=True), start=1)
    ]
    path.write_text("# sent_id = s1\n" + "".join(rows) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    trees = {"gold": GOLD, "good": GOOD, "poor": POOR}
    gold, good, poor = (write(tmp_path / f"{name}.conllu", tree) for name, tree in trees.items())
    return gold, good, poor


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def cells(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_distance_is_what_is_shown_if_nothing_is_asked(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    out, err = run(gold, good)
    assert cells(out)[:6] == [
        ["LAS", "by", "distance:", "good"],
        ["bin", "gold", "predicted", "correct", "precision", "recall", "F1"],
        ["root", "1", "1", "1", "100.00", "100.00", "100.00"],
        ["1", "2", "2", "2", "100.00", "100.00", "100.00"],
        ["2", "1", "1", "0", "0.00", "0.00", "0.00"],
        ["all", "4", "4", "3", "75.00", "75.00", "75.00"],
    ]
    assert out.splitlines()[-1].endswith("|punct:keep|subtypes:keep|sentences:1|words:4|scored:4")
    assert err == ""


def test_several_systems_stand_side_by_side(files: tuple[str, str, str]) -> None:
    gold, good, poor = files
    out, _ = run(gold, poor, good, "--metric", "UAS", "--bins", "1,2-", "--rer", "--test", "ar")
    rows = cells(out)
    assert rows[1][:2] == ["bin", "system"]
    assert rows[1][-4:] == ["difference", "p", "p", "(Holm)"]
    assert rows[6] == [
        "2-", "poor", "1", "2", "0", "0.00", "0.00", "0.00", "-", "-", "-", "-",
    ]  # fmt: skip
    assert rows[7] == [
        "2-", "good", "1", "1", "1", "100.00", "100.00", "100.00", "100.00", "+100.00",
        "1.0000", "1.0000",
    ]  # fmt: skip
    assert "Holm's method for 3 comparisons in this table." in out


def test_groups_of_words_have_one_score(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    rows = cells(run(gold, good, "--by", "upos", "--confidence")[0])
    assert rows[1] == ["bin", "words", "correct", "accuracy", "95%", "from", "to"]
    assert ["NOUN", "1", "0", "0.00", "0.00", "0.00"] in rows
    assert rows[6] == ["all", "4", "3", "75.00", "-", "-"]


def test_json_and_csv_have_a_row_a_bin_and_system(files: tuple[str, str, str]) -> None:
    gold, good, poor = files
    rows = json.loads(run(gold, good, poor, "--by", "deprel", "--json")[0])
    assert len(rows) == 10
    assert rows[0] == {
        "system": good, "by": "deprel", "metric": "LAS", "bin": "amod", "gold": 1, "predicted": 1,
        "correct_gold": 1, "correct_predicted": 1, "precision": 100.0, "recall": 100.0, "f1": 100.0,
        "signature": rows[1]["signature"],
    }  # fmt: skip
    nmod = next(row for row in rows if row["bin"] == "nmod" and row["system"] == good)
    assert (nmod["gold"], nmod["recall"], nmod["f1"]) == (0, None, 0.0)
    table = csv.DictReader(
        io.StringIO(run(gold, good, poor, "--by", "deprel", "--format", "csv")[0])
    )
    assert [(row["system"], row["bin"]) for row in table] == [
        (row["system"], row["bin"]) for row in rows
    ]


def test_crossed_groupings(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    out = run(gold, good, "--by", "upos", "--by", "direction", "--json")[0]
    assert {row["bin"]: row["correct_gold"] for row in json.loads(out)} == {
        "ADJ × right": 1, "NOUN × left": 0, "PRON × right": 1, "VERB × root": 1,
    }  # fmt: skip


def test_presets(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    out = run(gold, good, "--preset", "mcdonald-nivre", "--metric", "UAS")[0]
    titles = [line for line in out.splitlines() if " by " in line]
    assert titles == [f"UAS by {name}: good" for name in ("length", "distance", "depth")]
    assert len(json.loads(run(gold, good, "--preset", "conllx", "--json")[0])) == 28


def test_confusion_and_the_worst(files: tuple[str, str, str]) -> None:
    gold, good, poor = files
    out = run(gold, good, "--confusion", "deprel", "--worst", "3")[0]
    assert cells(out) == [
        ["confusions", "of", "deprel:", "good"],
        ["gold", "predicted", "count", "share"],
        ["obj", "nmod", "1", "100.0"],
        [],
        ["most", "errors", "in", "LAS:", "good"],
        ["errors", "scored", "sentence", "place", "sent_id", "text"],
        ["1", "4", "1", f"{gold}:2", "s1", "They", "saw", "old", "dogs"],
        [out.splitlines()[-1]],
    ]
    heads = json.loads(run(gold, poor, "--confusion", "head", "--json")[0])
    assert [(row["gold"], row["predicted"], row["count"]) for row in heads] == [
        ("VERB", "ADJ", 1), ("VERB", "PRON", 1),
    ]  # fmt: skip


def test_the_signature_says_all_that_was_chosen(files: tuple[str, str, str]) -> None:
    gold, good, poor = files
    arguments = ["--confidence", "--test", "bootstrap", "--seed", "7"]
    out = run(gold, good, poor, *arguments)[0]
    chosen = "|subtypes:keep|bootstrap:1000|test:bootstrap-10000|seed:7|sentences:1|"
    assert chosen in out.splitlines()[-1]
    assert all(chosen in row["signature"] for row in json.loads(
        run(gold, good, poor, *arguments, "--json")[0]
    ))  # fmt: skip
    assert "|train:" in run(gold, good, "--by", "oov", "--train", poor)[0].splitlines()[-1]


def test_oddities_are_told_as_eval_tells_them(files: tuple[str, str, str], tmp_path: Path) -> None:
    cyclic = write(tmp_path / "cyclic.conllu", [("2", "x"), ("1", "x"), ("0", "x"), ("0", "x")])
    err = run(files[0], cyclic, "--punct", "upos")[1]
    assert err == (
        f"depkit: warning: {cyclic}: 1 of 1 trees have a cycle\n"
        f"depkit: warning: {cyclic}: 1 of 1 trees have several roots\n"
        "depkit: warning: --punct upos leaves out no word of the gold file\n"
    )
    assert run(files[0], cyclic, "-q")[1] == ""
    assert "UAS 1 / 4, LAS 0 / 4" not in run(files[0], files[1], "-v")[1]
    assert "UAS 4 / 4, LAS 3 / 4" in run(files[0], files[1], "-v")[1]


def test_a_file_that_is_there_twice(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    rows = cells(run(gold, good, good)[0])
    assert [row[1:3] for row in rows[2:4]] == [["good.conllu", "1"], ["good.conllu", "(2)"]]
    assert json.loads(run(gold, good, good, "--json")[0])[1]["system"] == f"{good} (2)"


def test_empty_columns_and_files(files: tuple[str, str, str], tmp_path: Path) -> None:
    gold, good, _ = files
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    for arguments, complaint in (
        (["--by", "xpos"], "XPOS is _ throughout"),
        (["--confusion", "xpos"], "XPOS is _ throughout"),
        (["--metric", "Lemmas"], "Lemmas cannot be scored"),
        (["--by", "oov", "--train", str(empty)], "no sentences to count words in"),
    ):
        result = runner.invoke(app, [gold, good, *arguments])
        assert isinstance(result.exception, ValueError)
        assert complaint in str(result.exception)


def test_nothing_to_list(files: tuple[str, str, str]) -> None:
    gold, _, _ = files
    assert run(gold, gold, "--worst", "3", "--format", "csv")[0] == (
        "errors,scored,sentence,place,sent_id,text\n"
    )
    assert run(gold, gold, "--confusion", "upos")[0].splitlines()[0] == "confusions of upos: none"


def test_latex_is_comments_and_a_table(files: tuple[str, str, str]) -> None:
    out = run(files[0], files[1], files[2], "--format", "latex", "--test", "ar")[0].splitlines()
    begin, end = (
        out.index(next(x for x in out if x.startswith(r"\begin"))),
        out.index(r"\end{tabular}"),
    )
    assert all(line.startswith("%") for line in out[:begin] + out[end + 1 :] if line)


def test_a_picture_beside_the_table(files: tuple[str, str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "a.svg"
    out = run(*files, "--plot", str(picture), "--measure", "precision")[0]
    assert out.startswith("LAS by distance")
    assert "LAS precision, %" in picture.read_text()


@pytest.fixture
def sure(tmp_path: Path) -> tuple[str, str]:
    """The two systems, with probabilities."""
    return (
        write(tmp_path / "sure.conllu", GOOD, "ArcProb=0.9|LabelProb=0.5"),
        write(tmp_path / "surer.conllu", POOR, "LabelProb=1.0000|ArcProb=0.9500"),
    )


def test_calibration(files: tuple[str, str, str], sure: tuple[str, str]) -> None:
    out = run(files[0], sure[0], "--calibration")[0]
    assert cells(out)[:4] == [
        ["calibration", "of", "LAS:", "sure"],
        ["bin", "words", "confidence", "accuracy", "gap", "ECE", "MCE", "Brier"],
        ["40-50", "4", "45.00", "75.00", "+30.00", "-", "-", "0.2775"],
        ["all", "4", "45.00", "75.00", "+30.00", "30.00", "30.00", "0.2775"],
    ]
    assert "|subtypes:keep|bins:10|sentences:1|" in out.splitlines()[4]
    arguments = ["--calibration", "--metric", "uas", "--bins", "2", "--confidence"]
    out = run(files[0], *sure, *arguments)[0]
    assert cells(out)[:4] == [
        ["calibration", "of", "UAS"],
        ["bin", "system", "words", "confidence", "accuracy", "95%", "from", "to", "gap", "ECE",
         "MCE", "Brier"],
        ["50-100", "sure", "4", "90.00", "100.00", "100.00", "100.00", "+10.00", "-", "-",
         "0.0100"],
        ["50-100", "surer", "4", "95.00", "50.00", "50.00", "50.00", "-45.00", "-", "-",
         "0.4525"],
    ]  # fmt: skip
    rows = json.loads(run(files[0], *sure, *arguments, "--json")[0])
    assert [(row["system"], row["bin"], row["ece"]) for row in rows] == [
        (sure[0], "50-100", None), (sure[1], "50-100", None),
        (sure[0], "all", pytest.approx(10)), (sure[1], "all", pytest.approx(45)),
    ]  # fmt: skip
    assert "|bootstrap:1000|seed:1|bins:2|" in rows[0]["signature"]
    table = csv.DictReader(io.StringIO(run(files[0], *sure, *arguments, "--format", "csv")[0]))
    assert [row["mce"] for row in table][:2] == ["", ""]


def test_calibration_needs_probabilities(files: tuple[str, str, str]) -> None:
    result = runner.invoke(app, [*files, "--calibration"])
    assert str(result.exception) == (
        f"{files[1]}:2: s1: no ArcProb in MISC; parse with depkit parse --prob"
    )


def test_a_reliability_diagram(
    files: tuple[str, str, str], sure: tuple[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "a.svg"
    out = run(files[0], *sure, "--calibration", "--plot", str(picture))[0]
    assert out.startswith("calibration of LAS\n")
    assert " by " not in out
    assert all(text in picture.read_text() for text in ("confidence, %", "LAS, %", ">surer<"))


def test_agreement(files: tuple[str, str, str]) -> None:
    out = run(*files, "--agreement")[0]
    # The good one has a wrong relation, the poor one two wrong heads, one at the same word.
    assert cells(out)[:7] == [
        ["LAS;", "oracle:", "some", "is", "right"],
        ["bin", "words", "good", "poor", "oracle", "all", "right"],
        ["all", "4", "75.00", "50.00", "75.00", "50.00"],
        [],
        ["pairs;", "agreement:", "the", "same", "head", "and", "relation"],
        ["A", "B", "agreement", *"A's errors right in B B's errors right in A".split()],
        ["good", "poor", "50.00", "0.00", "50.00"],
    ]
    rows = json.loads(run(*files, files[0], "--agreement", "--json")[0])
    assert [(row["system"], row["other"]) for row in rows[:2]] == [files[1:], (files[1], files[0])]
    assert [row["complementarity"] for row in rows] == [0.0, 100.0, 50.0, 100.0, None, None]
    assert {row["oracle"] for row in rows} == {100.0}


def test_agreement_in_bins_of_gold_words(files: tuple[str, str, str]) -> None:
    arguments = ["--agreement", "--by", "distance", "--bins", "1,2-", "--metric", "UAS"]
    out = run(*files, *arguments)[0]
    assert cells(out)[1:6] == [
        ["bin", "words", "good", "poor", "oracle", "all", "right"],
        ["root", "1", "100.00", "100.00", "100.00", "100.00"],
        ["1", "2", "100.00", "50.00", "100.00", "50.00"],
        ["2-", "1", "100.00", "0.00", "100.00", "0.00"],
        ["all", "4", "100.00", "50.00", "100.00", "50.00"],
    ]
    assert cells(out)[10] == ["1", "good", "poor", "50.00", "-", "100.00"]
    rows = list(csv.DictReader(io.StringIO(run(*files, *arguments, "--format", "csv")[0])))
    assert [(row["by"], row["bin"]) for row in rows[::2]] == [
        ("distance", "root"), ("distance", "1"), ("distance", "2-"),
    ]  # fmt: skip
    assert [row["complementarity"] for row in rows] == ["", "", "", "100.0", "", "100.0"]
    presets = run(*files, "--agreement", "--preset", "mcdonald-nivre")[0]
    assert [line for line in presets.splitlines() if "oracle:" in line] == [
        f"LAS by {name}; oracle: some is right" for name in ("length", "distance", "depth")
    ]


def test_several_tables_of_words(files: tuple[str, str, str], sure: tuple[str, str]) -> None:
    out = run(files[0], *sure, "--agreement", "--calibration", "--worst", "1")[0]
    titles = ["most errors in LAS", "calibration of LAS", "LAS; oracle: some is right"]
    assert [line for line in out.splitlines() if line in titles] == titles
    assert "|bins:10|" in out.splitlines()[-1]


def test_frequency_and_unknown_words(files: tuple[str, str, str], tmp_path: Path) -> None:
    gold, good, _ = files
    train = tmp_path / "train.conllu"
    train.write_text(Path(gold).read_text().replace("dogs", "cats"))
    rows = json.loads(run(gold, good, "--by", "oov", "--train", str(train), "--json")[0])
    assert {row["bin"]: (row["gold"], row["correct_gold"]) for row in rows} == {
        "known": (3, 3), "unknown": (1, 0),
    }  # fmt: skip


def test_punctuation_subtypes_and_markup(files: tuple[str, str, str]) -> None:
    gold, good, _ = files
    out = run(gold, good, "--punct", "tags:X", "--subtypes", "drop", "--format", "markdown",
              code=1)  # fmt: skip
    assert out[0] == ""  # XPOS is _ throughout
    assert "| bin | gold |" in run(gold, good, "--format", "markdown")[0]
    assert r"\begin{tabular}{lrrrrrr}" in run(gold, good, "--format", "latex")[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--by", "colour"], "no grouping 'colour'; there are distance,"),
        (["--by", "upos", "--by", "upos"], "named twice"),
        (["--by", "upos", "--bins", "1,2"], "more bins than groupings of numbers"),
        (["--bins", "1,x"], "'x' in bins '1,x' is no bin"),
        (["--bins", "1-3,3"], "overlaps"),
        (["--metric", "F1"], "no metric 'F1'"),
        (["--preset", "mine"], "no preset 'mine'; there are li2019"),
        (["--preset", "li2019", "--by", "upos"], "leave out --by"),
        (["--preset", "conllx", "--metric", "UAS"], "--preset conllx sets it"),
        (["--by", "oov"], "--train FILE"),
        (["--confusion", "lemma"], "no confusion of 'lemma'"),
        (["--worst", "0"], "greater than or equal to 1"),
        (["--test", "ar"], "goes with two PREDs"),
        (["--confusion", "upos", "--worst", "3", "--json"], "holds one table"),
        (["--format", "xml"], "xml"),
        (["--worst", "3", "--metric", "foo"], "no metric 'foo'"),
        (["--confusion", "upos", "--rer"], "goes with two PREDs"),
        (["--rer"], "goes with two PREDs"),
        (["--confusion", "upos", "--confidence"], "goes with a table of bins"),
        (["--top", "3"], "goes with --confusion"),
        (["--measure", "f1"], "goes with --plot"),
        (["--train", "x"], "goes with --by frequency"),
        (["--plot", "a.gif"], "not .gif"),
        (["--bins", ""], "is no bin"),
        (["--calibration", "--by", "distance"], "--calibration: is of all words; leave out --by"),
        (["--calibration", "--preset", "li2019"], "--calibration: is of all words"),
        (["--calibration", "--bins", "1,2"], "a number of bins, 1 to 100, not '1,2'"),
        (["--calibration", "--bins", "0"], "a number of bins, 1 to 100, not '0'"),
        (["--calibration", "--metric", "UPOS"], "--calibration is of UAS or LAS, not UPOS"),
        (["--calibration", "--worst", "3", "--json"], "holds one table"),
        (["--calibration", "--agreement", "--format", "csv"], "holds one table"),
        (["--calibration", "--plot", "a.svg", "--measure", "f1"], "goes with --plot of a table"),
        (["--calibration", "--test", "ar"], "goes with two PREDs and a table of bins"),
        (["--agreement"], "--agreement: goes with two PREDs or more"),
        (["--agreement", "--metric", "UPOS"], "--agreement is of UAS or LAS, not UPOS"),
        (["--agreement", "--preset", "conllx"], "--agreement is of UAS or LAS, not LA"),
        (["--agreement", "--bins", "1,2"], "--bins: goes with --by or --calibration"),
    ],
)
def test_bad_usage(files: tuple[str, str, str], arguments: list[str], complaint: str) -> None:
    out, err = run(files[0], files[1], *arguments, code=2)
    assert out == ""
    assert complaint in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--plot", "a.svg"], "--plot: goes with a table of bins or --calibration"),
        (["--confidence"], "--confidence: goes with a table of bins or --calibration"),
        (["--by", "upos", "--test", "ar"], "--test: goes with two PREDs and a table of bins"),
        (["--by", "upos", "--worst", "1", "--json"], "holds one table"),
        (["--by", "oov"], "--train FILE"),
        (["--by", "colour"], "no grouping 'colour'"),
    ],
)
def test_bad_usage_of_agreement(
    files: tuple[str, str, str], arguments: list[str], complaint: str
) -> None:
    out, err = run(*files, "--agreement", *arguments, code=2)
    assert out == ""
    assert complaint in " ".join(err.replace("│", " ").split())


def test_help_has_an_example() -> None:
    assert "depkit analyze --by distance" in run("--help")[0]
