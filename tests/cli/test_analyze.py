"""depkit analyze: tables of bins, confusions, calibration and agreement, in all formats."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from depkit.score.oracle import oracle_panel, oracle_rows
from tests.cli.commands import Command, write_tree
from tests.conftest import HERE

run = Command("analyze")
FILE = HERE / "data" / "search.conllu"

#         gold            good            poor
# 1 They  2 nsubj         2 nsubj         3 nsubj
# 2 saw   0 root          0 root          0 root
# 3 old   4 amod          4 amod          4 amod
# 4 dogs  2 obj           2 nmod          1 obj
WORDS = [("They", "PRON", "_"), ("saw", "VERB", "_"), ("old", "ADJ", "_"), ("dogs", "NOUN", "_")]
GOLD, GOOD, POOR = FILES = tuple(f"in/{name}.conllu" for name in ("gold", "good", "poor"))
TREES = {
    GOLD: [("2", "nsubj"), ("0", "root"), ("4", "amod"), ("2", "obj")],
    GOOD: [("2", "nsubj"), ("0", "root"), ("4", "amod"), ("2", "nmod")],
    POOR: [("3", "nsubj"), ("0", "root"), ("4", "amod"), ("1", "obj")],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a file for each tree in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, tree in TREES.items():
        write_tree(name, WORDS, tree)


def cells(out: str) -> list[str]:
    """Return the lines with one space between cells."""
    return [" ".join(line.split()) for line in out.splitlines()]


def test_the_signature_has_the_query() -> None:
    query = "pattern { X [upos=NOUN|VERB] }"
    out, _ = run(GOLD, GOOD, "--where", query)
    assert f"|where:{query.replace('|', '%7C')}|" in out.splitlines()[-1]


def test_the_default_table_is_by_distance() -> None:
    out, err = run(GOLD, GOOD)
    assert cells(out)[:6] == [
        "LAS by distance: good",
        "bin gold predicted correct precision recall F1",
        "root 1 1 1 100.00 100.00 100.00",
        "1 2 2 2 100.00 100.00 100.00",
        "2 1 1 0 0.00 0.00 0.00",
        "all 4 4 3 75.00 75.00 75.00",
    ]
    assert out.splitlines()[-1].endswith("|punct:keep|subtypes:keep|sentences:1|words:4|scored:4")
    assert err == ""


def test_several_systems_are_in_one_table() -> None:
    out, _ = run(GOLD, POOR, GOOD, "--metric", "UAS", "--bins", "1,2-", "--rer", "--test", "ar")
    rows = cells(out)
    assert rows[1].startswith("bin system ") and rows[1].endswith(" difference p p (Holm)")
    assert rows[6] == "2- poor 1 2 0 0.00 0.00 0.00 - - - -"
    assert rows[7] == "2- good 1 1 1 100.00 100.00 100.00 100.00 +100.00 1.0000 1.0000"
    assert "Holm's method for 3 comparisons in this table." in out


def test_groups_of_words_have_an_accuracy() -> None:
    rows = cells(run(GOLD, GOOD, "--by", "upos", "--confidence")[0])
    assert rows[1] == "bin words correct accuracy 95% from to"
    assert "NOUN 1 0 0.00 0.00 0.00" in rows
    assert rows[6] == "all 4 3 75.00 - -"


def test_json_and_csv_have_a_row_per_bin_and_system() -> None:
    rows = json.loads(run(GOLD, GOOD, POOR, "--by", "deprel", "--json")[0])
    assert len(rows) == 10
    counts = dict.fromkeys(["gold", "predicted", "correct_gold", "correct_predicted"], 1)
    scores = dict.fromkeys(["precision", "recall", "f1"], 100.0)
    names = {"system": GOOD, "by": "deprel", "metric": "LAS", "bin": "amod"}
    assert rows[0] == names | counts | scores | {"signature": rows[1]["signature"]}
    nmod = next(row for row in rows if row["bin"] == "nmod" and row["system"] == GOOD)
    assert (nmod["gold"], nmod["recall"], nmod["f1"]) == (0, None, 0.0)
    table = csv.DictReader(io.StringIO(run(*FILES, "--by", "deprel", "--format", "csv")[0]))
    for row, line in zip(rows, table, strict=True):
        assert (line["system"], line["bin"]) == (row["system"], row["bin"])


def test_crossed_groupings_have_a_bin_per_combination() -> None:
    out = run(GOLD, GOOD, "--by", "upos", "--by", "direction", "--json")[0]
    correct = {row["bin"]: row["correct_gold"] for row in json.loads(out)}
    assert correct == {"ADJ × right": 1, "NOUN × left": 0, "PRON × right": 1, "VERB × root": 1}


def test_a_preset_gives_several_tables() -> None:
    out = run(GOLD, GOOD, "--preset", "mcdonald-nivre", "--metric", "UAS")[0]
    titles = [line for line in out.splitlines() if " by " in line]
    assert titles == [f"UAS by {name}: good" for name in ("length", "distance", "depth")]
    assert len(json.loads(run(GOLD, GOOD, "--preset", "conllx", "--json")[0])) == 28


def test_confusions_and_worst_sentences_are_listed() -> None:
    out = run(GOLD, GOOD, "--confusion", "deprel", "--worst", "3")[0]
    assert cells(out) == [
        "confusions of deprel: good",
        "gold predicted count share",
        "obj nmod 1 100.0",
        "",
        "sentences with the most errors in LAS: good",
        "errors scored sentence place sent_id text",
        f"1 4 1 {GOLD}:2 s1 They saw old dogs",
        out.splitlines()[-1],
    ]
    heads = json.loads(run(GOLD, POOR, "--confusion", "head", "--json")[0])
    counts = [(row["gold"], row["predicted"], row["count"]) for row in heads]
    assert counts == [("VERB", "ADJ", 1), ("VERB", "PRON", 1)]


def test_the_signature_has_all_options() -> None:
    arguments = ["--confidence", "--test", "bootstrap", "--seed", "7"]
    out = run(*FILES, *arguments)[0]
    signature = "|subtypes:keep|bootstrap:1000|test:bootstrap-10000|seed:7|sentences:1|"
    assert signature in out.splitlines()[-1]
    records = json.loads(run(*FILES, *arguments, "--json")[0])
    assert all(signature in row["signature"] for row in records)
    assert "|train:" in run(GOLD, GOOD, "--by", "oov", "--train", POOR)[0].splitlines()[-1]


def test_analyze_warns_like_eval() -> None:
    cyclic = write_tree("cyclic", WORDS, [("2", "x"), ("1", "x"), ("0", "x"), ("0", "x")])
    assert run(GOLD, cyclic, "--punct", "upos")[1] == (
        f"depkit: warning: {cyclic}: 1 of 1 tree has a cycle\n"
        f"depkit: warning: {cyclic}: 1 of 1 tree has several roots\n"
        "depkit: warning: --punct upos leaves out no word of the gold file\n"
    )
    assert run(GOLD, cyclic, "-q")[1] == ""
    assert "UAS 1 / 4, LAS 0 / 4" not in run(GOLD, GOOD, "-v")[1]
    assert "UAS 4 / 4, LAS 3 / 4" in run(GOLD, GOOD, "-v")[1]


def test_a_file_named_twice_gets_a_number() -> None:
    rows = cells(run(GOLD, GOOD, GOOD)[0])
    assert rows[2].startswith("root good.conllu 1 ")
    assert rows[3].startswith("root good.conllu (2) 1 ")
    assert json.loads(run(GOLD, GOOD, GOOD, "--json")[0])[1]["system"] == f"{GOOD} (2)"


def test_empty_columns_and_files_are_errors() -> None:
    Path("empty.conllu").write_text("")
    for arguments, message in (
        (["--by", "xpos"], "XPOS is _ throughout"),
        (["--confusion", "xpos"], "XPOS is _ throughout"),
        (["--metric", "Lemmas"], "Lemmas cannot be scored"),
        (["--worst", "1", "--metric", "Lemmas"], "Lemmas cannot be scored"),
        (["--by", "oov", "--train", "empty.conllu"], "no sentences to count words in"),
    ):
        with pytest.raises(ValueError, match=message):
            run(GOLD, GOOD, *arguments)


def test_empty_tables_have_only_a_header_or_none() -> None:
    assert run(GOLD, GOLD, "--worst", "3", "--format", "csv")[0] == (
        "errors,scored,sentence,place,sent_id,text\n"
    )
    assert run(GOLD, GOLD, "--confusion", "upos")[0].splitlines()[0] == "confusions of upos: none"


def test_latex_output_is_a_table_with_comments() -> None:
    out = run(*FILES, "--format", "latex", "--test", "ar")[0].splitlines()
    begin = next(i for i, line in enumerate(out) if line.startswith(r"\begin"))
    outside = out[:begin] + out[out.index(r"\end{tabular}") + 1 :]
    assert all(line.startswith("%") for line in outside if line)


def test_plot_draws_the_table_that_is_printed() -> None:
    pytest.importorskip("matplotlib")
    out = run(*FILES, "--plot", "a.svg", "--measure", "precision")[0]
    assert out.startswith("LAS by distance")
    assert "LAS precision, %" in Path("a.svg").read_text()


@pytest.fixture
def probability_files() -> tuple[str, str]:
    """Files of the two systems with probabilities of arcs and labels."""
    return (
        write_tree("in/sure.conllu", WORDS, TREES[GOOD], "ArcProb=0.9|LabelProb=0.5"),
        write_tree("in/surer.conllu", WORDS, TREES[POOR], "LabelProb=1.0000|ArcProb=0.9500"),
    )


def test_calibration_compares_confidence_and_accuracy(probability_files: tuple[str, str]) -> None:
    out = run(GOLD, probability_files[0], "--calibration")[0]
    assert cells(out)[:4] == [
        "calibration of LAS: sure",
        "bin words confidence accuracy gap ECE MCE Brier",
        "40-50 4 45.00 75.00 +30.00 - - 0.2775",
        "all 4 45.00 75.00 +30.00 30.00 30.00 0.2775",
    ]
    assert "|subtypes:keep|bins:10|sentences:1|" in out.splitlines()[4]
    arguments = ["--calibration", "--metric", "uas", "--bins", "2", "--confidence"]
    out = run(GOLD, *probability_files, *arguments)[0]
    assert cells(out)[:4] == [
        "calibration of UAS",
        "bin system words confidence accuracy 95% from to gap ECE MCE Brier",
        "50-100 sure 4 90.00 100.00 100.00 100.00 +10.00 - - 0.0100",
        "50-100 surer 4 95.00 50.00 50.00 50.00 -45.00 - - 0.4525",
    ]
    rows = json.loads(run(GOLD, *probability_files, *arguments, "--json")[0])
    assert [row["system"] for row in rows] == [*probability_files, *probability_files]
    assert [row["bin"] for row in rows] == ["50-100"] * 2 + ["all"] * 2
    assert [row["ece"] for row in rows] == [None, None, pytest.approx(10), pytest.approx(45)]
    assert "|bootstrap:1000|seed:1|bins:2|" in rows[0]["signature"]
    table = csv.DictReader(
        io.StringIO(run(GOLD, *probability_files, *arguments, "--format", "csv")[0])
    )
    assert [row["mce"] for row in table][:2] == ["", ""]


def test_calibration_needs_probabilities() -> None:
    assert str(run.failure(*FILES, "--calibration")) == (
        f"{GOOD}:2: s1: there is no ArcProb in MISC; create the file with depkit parse --prob"
    )


def test_plot_of_calibration_is_a_reliability_diagram(probability_files: tuple[str, str]) -> None:
    pytest.importorskip("matplotlib")
    out = run(GOLD, *probability_files, "--calibration", "--plot", "a.svg")[0]
    assert out.startswith("calibration of LAS\n")
    assert " by " not in out
    assert all(text in Path("a.svg").read_text() for text in ("confidence, %", "LAS, %", ">surer<"))


def test_agreement_reports_an_oracle_and_pairs() -> None:
    out = run(*FILES, "--agreement")[0]
    # The good system has one wrong relation. The poor system has two wrong heads, one at this word.
    assert cells(out)[:7] == [
        "LAS; oracle: at least one system is right",
        "bin words good poor oracle all right",
        "all 4 75.00 50.00 75.00 50.00",
        "",
        "pairs of systems; agreement: both give the same head and relation",
        "A B agreement A's errors right in B B's errors right in A",
        "good poor 50.00 0.00 50.00",
    ]
    rows = json.loads(run(*FILES, GOLD, "--agreement", "--json")[0])
    assert [(row["system"], row["other"]) for row in rows[:2]] == [(GOOD, POOR), (GOOD, GOLD)]
    assert [row["complementarity"] for row in rows] == [0.0, 100.0, 50.0, 100.0, None, None]
    assert {row["oracle"] for row in rows} == {100.0}


def test_agreement_is_reported_per_bin() -> None:
    arguments = ["--agreement", "--by", "distance", "--bins", "1,2-", "--metric", "UAS"]
    out = run(*FILES, *arguments)[0]
    assert cells(out)[1:6] == [
        "bin words good poor oracle all right",
        "root 1 100.00 100.00 100.00 100.00",
        "1 2 100.00 50.00 100.00 50.00",
        "2- 1 100.00 0.00 100.00 0.00",
        "all 4 100.00 50.00 100.00 50.00",
    ]
    assert cells(out)[10] == "1 good poor 50.00 - 100.00"
    rows = list(csv.DictReader(io.StringIO(run(*FILES, *arguments, "--format", "csv")[0])))
    assert [row["by"] for row in rows] == ["distance"] * 6
    assert [row["bin"] for row in rows[::2]] == ["root", "1", "2-"]
    assert [row["complementarity"] for row in rows] == ["", "", "", "100.0", "", "100.0"]
    presets = run(*FILES, "--agreement", "--preset", "mcdonald-nivre")[0]
    assert [line for line in presets.splitlines() if "oracle:" in line] == [
        f"LAS by {name}; oracle: at least one system is right"
        for name in ("length", "distance", "depth")
    ]


def test_several_tables_are_printed_one_after_another(probability_files: tuple[str, str]) -> None:
    out = run(GOLD, *probability_files, "--agreement", "--calibration", "--worst", "1")[0]
    titles = [
        "sentences with the most errors in LAS", "calibration of LAS",
        "LAS; oracle: at least one system is right",
    ]  # fmt: skip
    assert [line for line in out.splitlines() if line in titles] == titles
    assert "|bins:10|" in out.splitlines()[-1]


def test_unknown_words_are_counted_against_the_training_file() -> None:
    Path("train").write_text(Path(GOLD).read_text().replace("dogs", "cats"))
    rows = json.loads(run(GOLD, GOOD, "--by", "oov", "--train", "train", "--json")[0])
    counts = {row["bin"]: (row["gold"], row["correct_gold"]) for row in rows}
    assert counts == {"known": (3, 3), "unknown": (1, 0)}


def test_punctuation_and_formats_are_those_of_eval() -> None:
    error = run.failure(GOLD, GOOD, "--punct", "tags:X", "--subtypes", "drop")
    assert "XPOS, which is _ throughout" in str(error)
    assert "| bin | gold |" in run(GOLD, GOOD, "--format", "markdown")[0]
    assert r"\begin{tabular}{lrrrrrr}" in run(GOLD, GOOD, "--format", "latex")[0]


NEEDS_BINS, NEEDS_PAIR = "needs a table of bins", "needs two or more PRED files and a table of bins"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "colour"], "there is no grouping 'colour'; choose from distance,"),
        (["--by", "distnce"], "there is no grouping 'distnce'; did you mean distance?"),
        (["--by", "upos", "--by", "upos"], "named twice"),
        (["--by", "upos", "--bins", "1,2"], "more bins than groupings of numbers"),
        (["--bins", "1,x"], "'x' in bins '1,x' is not a bin"),
        (["--bins", "1-3,3"], "overlaps"),
        (["--metric", "F1"], "no metric 'F1'"),
        (["--preset", "mine"], "no preset 'mine'; choose from li2019"),
        (["--preset", "li2019", "--by", "upos"], "leave out --by"),
        (["--preset", "conllx", "--metric", "UAS"], "--preset conllx sets it"),
        (["--by", "oov"], "--train FILE"),
        (["--confusion", "lemma"], "no confusion of 'lemma'"),
        (["--worst", "0"], "greater than or equal to 1"),
        (["--test", "ar"], "needs two or more PRED files"),
        (["--confusion", "upos", "--worst", "3", "--json"], "only one table"),
        (["--format", "xml"], "xml"),
        (["--worst", "3", "--metric", "foo"], "no metric 'foo'"),
        (
            ["--worst", "3", "--by", "upos", "--metric", "bin"],
            "--metric: --worst needs UAS, LAS, LA, UPOS, XPOS, FEATS or Lemmas, not bin",
        ),
        (
            ["--confusion", "upos", "--metric", "UAS"],
            "--metric: it needs a table of bins, --worst, --calibration or --agreement",
        ),
        (["--confusion", "upos", "--rer"], "needs two or more PRED files"),
        (["--rer"], "needs two or more PRED files"),
        (["--confusion", "upos", "--confidence"], "needs a table of bins"),
        (["--top", "3"], "needs --confusion"),
        (["--measure", "f1"], "needs --plot"),
        (["--seed", "5"], "needs --confidence, the --test ar or bootstrap"),
        (["--oracle", "2", "--seed", "5"], "no effect on --oracle"),
        (["--train", "x"], "needs --by frequency"),
        (["--plot", "a.gif"], "not .gif"),
        (
            ["--calibration", "--by", "distance"],
            "--calibration: it covers all words; leave out --by",
        ),
        (["--calibration", "--preset", "li2019"], "--calibration: it covers all words"),
        (["--calibration", "--bins", "1,2"], "a number of bins, 1 to 100, not '1,2'"),
        (["--calibration", "--bins", "0"], "a number of bins, 1 to 100, not '0'"),
        (["--calibration", "--metric", "UPOS"], "--calibration needs UAS or LAS, not UPOS"),
        (["--calibration", "--worst", "3", "--json"], "only one table"),
        (["--calibration", "--agreement", "--format", "csv"], "only one table"),
        (["--calibration", "--plot", "a.svg", "--measure", "f1"], "needs --plot of a table"),
        (["--calibration", "--test", "ar"], NEEDS_PAIR),
        (["--agreement"], "--agreement: it needs two or more PRED files"),
        (["--agreement", "--metric", "UPOS"], "--agreement needs UAS or LAS, not UPOS"),
        (["--agreement", "--preset", "conllx"], "--agreement needs UAS or LAS, not LA"),
        (["--agreement", "--bins", "1,2"], "--bins: it needs --by or --calibration"),
        (
            [POOR, "--agreement", "--plot", "a.svg"],
            "--plot: it needs a table of bins, --calibration or --confusion",
        ),
        ([POOR, "--agreement", "--confidence"], f"--confidence: it {NEEDS_BINS} or --calibration"),
        ([POOR, "--agreement", "--by", "upos", "--test", "ar"], f"--test: it {NEEDS_PAIR}"),
        ([POOR, "--agreement", "--by", "upos", "--worst", "1", "--json"], "only one table"),
        ([POOR, "--agreement", "--by", "oov"], "--train FILE"),
        ([POOR, "--agreement", "--by", "colour"], "there is no grouping 'colour'"),
    ],
)
def test_bad_usage_is_rejected(arguments: list[str], message: str) -> None:
    out, err = run(GOLD, GOOD, *arguments, code=2)
    assert out == "" and message in err


def write_trees(name: str, sentences: list[list[list[tuple[str, str]]]]) -> None:
    """Write a file with several trees of each sentence, as depkit parse --best does."""
    parts = []
    for trees in sentences:
        for rank, tree in enumerate(trees, start=1):
            write_tree("tree.conllu", WORDS, tree)
            comments = f"# tree = {rank} of {len(trees)}\n# prob = 0.1\n" if len(trees) > 1 else ""
            parts.append(comments + Path("tree.conllu").read_text())
    Path(name).write_text("".join(parts))


def test_the_oracle_chooses_the_best_of_the_first_trees(tmp_path: Path) -> None:
    gold, good, poor = (TREES[name] for name in FILES)
    write_trees("gold2.conllu", [[gold], [gold], [gold]])
    write_trees("trees.conllu", [[poor, good, gold], [good], [poor, poor]])
    out, err = run("gold2.conllu", "trees.conllu", "--oracle", "9")
    assert err == "depkit: warning: trees.conllu: 2 of 3 trees have a cycle\n"
    assert run("gold2.conllu", "trees.conllu", "--oracle", "9", "--quiet") == (out, "")
    assert "LAS 7 / 12" in run("gold2.conllu", "trees.conllu", "--oracle", "9", "-v")[1]
    assert cells(out)[1:5] == [
        "trees sentences correct scored oracle",
        "1 3 7 12 58.33",
        "2 2 8 12 66.67",
        "3 1 9 12 75.00",
    ]
    assert "punct:keep|subtypes:keep|sentences:3" in out
    out, _ = run("gold2.conllu", "trees.conllu", "--oracle", "2", "--metric", "uas",
                         "--format", "json")  # fmt: skip
    assert [row["correct"] for row in json.loads(out)] == [8, 10]


def test_the_oracle_is_drawn_over_the_number_of_trees(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    gold, good, poor = (TREES[name] for name in FILES)
    write_trees("gold2.conllu", [[gold], [gold]])
    write_trees("trees.conllu", [[poor, good, gold], [good]])
    arguments = ["gold2.conllu", "trees.conllu", "gold2.conllu", "--oracle", "3"]
    run(*arguments, "--plot", str(tmp_path / "curve.svg"))
    image = (tmp_path / "curve.svg").read_text()
    for text in ("LAS of the best tree, %", "first trees of a sentence", "gold sentences"):
        assert text in image
    assert "intervals" not in image and "punct: keep" in image
    rows, evaluations = oracle_rows("gold2.conllu", ["trees.conllu", "gold2.conllu"], 3, "LAS")
    panel = oracle_panel(rows, evaluations[0].choices)
    assert panel.choices == (("punct", "keep"), ("subtypes", "keep"))
    assert panel.sizes.tolist() == [2, 1, 1] and panel.names == ["trees", "gold2"]
    assert panel.values[0, 0] < panel.values[0, 1] < panel.values[0, 2]
    assert panel.values[1, 0] == 100 and np.isnan(panel.values[1, 1:]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oracle", "3", "--by", "distance"], "--by: it has no effect on --oracle; leave it out"),
        (["--oracle", "3", "--where", "*"], "--where: it has no effect on --oracle"),
        (["--oracle", "3", "--metric", "UPOS"], "--metric: there is no metric 'UPOS'"),
        (["--oracle", "0"], "greater than or equal to 1"),
    ],
)
def test_options_without_effect_on_the_oracle_are_refused(
    arguments: list[str], message: str
) -> None:
    out, err = run(GOLD, GOOD, *arguments, code=2)
    assert out == "" and message in err


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("analyze", [FILE, FILE, "--where"]),
        ("report", [FILE, FILE, "-o", "report.html", "--where"]),
        ("show", [FILE, "--where"]),
        ("suspects", [FILE, "--where"]),
        ("select", [FILE, "--where"]),
    ],
)
def test_notes_on_patterns_are_printed(command, arguments, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = [*arguments, "pattern { X [lemma=dog] } without { X [deprel=det] }"]
    note = "depkit: note: deprel is a column, not a feature of a node"
    assert note in Command(command)(*options)[1]
    assert note not in Command(command)(*options, "-q")[1]


def test_a_pattern_of_where_can_name_enhanced_relations() -> None:
    out, _ = run(FILE, FILE, "--where", "pattern { X -[E:conj:and]-> Y }")
    assert "|sentences:1|" in out
