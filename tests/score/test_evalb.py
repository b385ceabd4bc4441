"""Scores of constituency trees: EVALB's own reports, cases counted by hand, and definitions."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.io import read_tree_groups
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from depkit.score import evalb
from depkit.score.evalb import TreeEvaluation, evaluate_trees
from depkit.score.evalb_parameters import BUILT_IN, Parameters, get_parameters, parse_parameters
from depkit.score.evalb_report import format_report
from depkit.score.significance import compare_systems, intervals

ORACLES = Path(__file__).parents[3] / "shared" / "oracles" / "constituency"
with_oracles = pytest.mark.skipif(
    not ORACLES.exists(), reason="no ../shared/oracles/constituency beside the repository"
)


@with_oracles
@pytest.mark.parametrize("files", ["", "-awkward"])
@pytest.mark.parametrize("name", ["COLLINS", "nk", "new", "spmrl"])
def test_the_report_is_that_of_evalb(name: str, files: str) -> None:
    paths = ORACLES / f"gold{files}.ptb", ORACLES / f"pred{files}.ptb"
    (result,) = evaluate_trees(paths[0], [paths[1]], get_parameters(name.lower()))
    expected = (ORACLES / f"evalb-{name}{files}.txt").read_text()
    assert format_report(result) == expected
    assert f"Bracketing FMeasure       = {result.scores['LF1']:6.2f}" in expected


@with_oracles
@pytest.mark.parametrize("name", ["COLLINS", "nk", "new", "spmrl"])
def test_parameter_files_have_the_built_in_parameters(name: str) -> None:
    built_in = BUILT_IN[name.lower()]
    read = get_parameters(str(ORACLES / f"{name}.prm"))
    assert read.name == f"{name}.prm"
    assert replace(read, name=built_in.name, spmrl=built_in.spmrl) == built_in


def trees(text: str) -> list[Tree]:
    return [tree for group in read_tree_groups(text.splitlines(True)) for tree in group]


def evaluate_one(gold: str, pred: str, parameters: Parameters | str = "collins") -> TreeEvaluation:
    """Evaluate one pair of trees, followed by a pair that is equal, so that something is scored."""
    parameters = BUILT_IN[parameters] if isinstance(parameters, str) else parameters
    texts = [[tree] for tree in trees(gold)], [[tree] for tree in trees(pred)]
    equal = trees("(X (Y y))")
    (result,) = evaluate_trees(
        [tree for group in [*texts[0], equal] for tree in group],
        [[tree for group in [*texts[1], equal] for tree in group]],
        parameters,
    )
    return result


FIGURES = ("matched", "gold", "predicted", "crossings", "scored", "tags")
# Gold tree, predicted tree, parameters, and the figures in the order above, counted by hand.
CASES = {
    "equal": ("(TOP (S (A (x a)) (B (x b))))", "(TOP (S (A (x a)) (B (x b))))", "collins",
              (3, 3, 3, 0, 2, 2)),
    "label": ("(S (A (x a)) (B (x b)))", "(S (A (x a)) (C (x b)))", "collins", (2, 3, 3, 0, 2, 2)),
    "adverb": ("(S (ADVP (x a)) (b b))", "(S (PRT (y a)) (b b))", "collins", (2, 2, 2, 0, 2, 1)),
    "spmrl adverb": ("(S (ADVP (x a)) (b b))", "(S (PRT (x a)) (b b))", "spmrl",
                     (1, 2, 2, 0, 2, 2)),
    "unary": ("(NP (NP (x a)))", "(NP (x a))", "collins", (1, 2, 1, 0, 1, 1)),
    "unary order": ("(A (B (x a)))", "(B (A (x a)))", "collins", (2, 2, 2, 0, 1, 1)),
    "crossing": ("(S (A (x a) (x b)) (x c))", "(S (x a) (B (x b) (x c)))", "collins",
                 (1, 2, 2, 1, 3, 3)),
    "crossing twice": ("(S (A (x a) (x b)) (x c) (x d))", "(S (x a) (B (C (x b) (x c)) (x d)))",
                       "collins", (1, 2, 3, 2, 4, 4)),
    "crossed twice": ("(S (A (x a) (x b)) (B (x c) (x d)))", "(S (x a) (C (x b) (x c)) (x d))",
                      "collins", (1, 3, 2, 1, 4, 4)),
    "crossed by a deleted one": ("(S (TOP (x a) (x b)) (x c))", "(S (x a) (B (x b) (x c)))",
                                 "collins", (1, 1, 2, 0, 3, 3)),
    "punctuation": ("(S (A (x a)) (. .))", "(S (A (x a) (. .)))", "collins", (2, 2, 2, 0, 1, 1)),
    "spmrl punctuation": ("(S (A (x a)) (. .))", "(S (A (x a) (. .)))", "spmrl",
                          (1, 2, 2, 0, 2, 2)),
    "nothing but punctuation": ("(S (A (x a)) (B (, ,)))", "(S (A (x a)) (, ,))", "collins",
                                (2, 2, 2, 0, 1, 1)),
    "exclamation": ("(S (A (x a)) (! !))", "(S (A (x a) (! !)))", "collins", (1, 2, 2, 0, 2, 2)),
    "nk exclamation": ("(S (A (x a)) (! !))", "(S (A (x a) (! !)))", "nk", (2, 2, 2, 0, 1, 1)),
    "functions": ("(TOP (S-1 (NP-SBJ=2 (x a) (-NONE- *))))", "(TOP (S (NP (x a))))", "collins",
                  (2, 2, 2, 0, 1, 1)),
    "tags are not cut": ("(S (x-1 a))", "(S (x a))", "collins", (1, 1, 1, 0, 1, 0)),
    "spmrl tags are cut": ("(S (x#a=b# a))", "(S (x a))", "spmrl", (1, 1, 1, 0, 1, 1)),
    "spmrl features": ("(S##a## (NP-SUJ##g=m## (x a)))", "(S (NP (x a)))", "spmrl",
                       (2, 2, 2, 0, 1, 1)),
    "features": ("(S (NP##g## (x a)))", "(S (NP (x a)))", "collins", (1, 2, 2, 0, 1, 1)),
    "S1": ("(TOP (S (x a)))", "(S1 (S (x a)))", "collins", (1, 1, 2, 0, 1, 1)),
    "new S1": ("(TOP (S (x a)))", "(S1 (S (x a)))", "new", (1, 1, 1, 0, 1, 1)),
    "no label": ("(TOP (S (x a)))", "( (S (x a)))", "collins", (1, 1, 1, 0, 1, 1)),
    "spmrl no label": ("(TOP (S (x a)))", "( (S (x a)))", "spmrl", (1, 1, 1, 0, 1, 1)),
    "quote": ("(S (A (x a) (POS ')) (x b))", "(S (A (x a) ('' ')) (x b))", "nk",
              (2, 2, 2, 0, 3, 2)),
    "gold quote": ("(S (A (x a)) ('' ') (x b))", "(S (A (x a) (POS ')) (x b))", "new",
                   (1, 2, 2, 0, 3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_figures_equal_those_counted_by_hand(name: str) -> None:
    gold, pred, parameters, expected = CASES[name]
    result = evaluate_one(gold, pred, parameters)
    counts = dict(zip(result.columns, result.counts[0].tolist(), strict=True))
    assert tuple(counts[figure] for figure in FIGURES) == expected
    matched, gold_size, predicted_size, crossings, *_ = expected
    assert counts["complete"] == (matched == gold_size == predicted_size)
    assert (counts["no_crossing"], counts["few_crossings"]) == (crossings == 0, crossings <= 2)
    assert (counts["valid"], counts["errors"], counts["skipped"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("gold", "pred", "parameters", "problem", "status"),
    [
        ("(S (x a) (x b))", "(S (x a))", "collins", "Length unmatch (2|1)", "errors"),
        ("(S (x a) (x b))", "(S (x a) (x c))", "collins", "Words unmatch (b|c)", "errors"),
        ("(S (x 1\\/2))", "(S (x 1/2))", "collins", "Words unmatch (1\\/2|1/2)", "errors"),
        ("(S (x a) (. b))", "(S (x a) (x b))", "collins", "Length unmatch (1|2)", "errors"),
        ("(S (x a) (POS '))", "(S (x a) ('' '))", "collins", "Length unmatch (2|1)", "errors"),
        ("(S (x a) (x b))", "(S (x a))", "spmrl", "Length unmatch (2|1)", "valid"),
        ("(S (x a) (x b))", "(S (x a) (x c))", "spmrl", "Words unmatch (b|c)", "errors"),
        ("(S (x a) (x b))", "(())", "collins", "", "skipped"),
        ("(S (x a) (x b))", "(S (. a))", "collins", "", "skipped"),
    ],
)
def test_sentences_with_other_words_are_not_scored(
    gold: str, pred: str, parameters: str, problem: str, status: str
) -> None:
    result = evaluate_one(gold, pred, parameters)
    counts = dict(zip(result.columns, result.counts[0].tolist(), strict=True))
    statuses = {name: counts[name] for name in ("valid", "errors", "skipped")}
    assert statuses == {name: int(name == status) for name in statuses}
    assert result.problems == ({1: problem} if problem else {})
    assert not any(counts[figure] for figure in FIGURES)
    assert result.scores["LF1"] == 100


PRM = """\
# a comment
DEBUG 0
LABELED 1
CUTOFF_LEN 70
DELETE_LABEL TOP

EQ_LABEL A B
EQ_LABEL B  C
EQ_WORD one two
"""


def parse(text: str) -> Parameters:
    return parse_parameters(text.splitlines(True), "dir/my.prm")


def test_parameter_files_are_parsed() -> None:
    expected = Parameters("my.prm", frozenset({"TOP"}), equal_labels=(("A", "B"), ("B", "C")),
                          equal_words=(("one", "two"),), cutoff=70)  # fmt: skip
    assert parse(PRM) == expected
    assert not parse(PRM.replace("LABELED 1", "LABELED 0")).labelled


@pytest.mark.parametrize(
    ("gold", "pred", "matched"),
    [
        ("(A (x one))", "(B (x two))", 1),
        ("(A (x one))", "(C (x one))", 0),  # The relation is not transitive.
        ("(A (B (x one)))", "(B (C (x one)))", 2),
        ("(B (A (x one)))", "(B (C (x one)))", 1),  # B takes the first equal bracket, not C.
        ("(D (TOP (x one)))", "(TOP (E (x one)))", 0),
    ],
)
def test_labels_and_words_that_count_as_the_same(gold: str, pred: str, matched: int) -> None:
    assert evaluate_one(gold, pred, parse(PRM)).counts[0, evalb.COUNTS.index("matched")] == matched


def test_labels_are_ignored_if_the_parameters_say_so() -> None:
    unlabelled = parse("LABELED 0\nDELETE_LABEL TOP\n")
    result = evaluate_one("(TOP (A (B (x a)) (x b)))", "(C (D (x a)) (x b))", unlabelled)
    assert result.counts[0, evalb.COUNTS.index("matched")] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DELETE_LABEL TOP\nDELETE_LABELS X\n", r"my.prm:2: there is no keyword 'DELETE_LABELS'"),
        ("DELETE_LABEL\n", "my.prm:1: DELETE_LABEL must be followed by one value"),
        ("EQ_LABEL A\n", "EQ_LABEL must be followed by two values"),
        ("CUTOFF_LEN x\n", "CUTOFF_LEN must be followed by a number"),
        (f"CUTOFF_LEN {'9' * 5000}\n", "CUTOFF_LEN must be followed by a number"),
    ],
)
def test_mistakes_in_parameter_files_are_reported(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse(text)


def test_unknown_parameters_are_reported() -> None:
    assert get_parameters("COLLINS") == BUILT_IN["collins"]
    with pytest.raises(ValueError, match=r"no parameters 'colins'.*choose from collins, nk, new"):
        get_parameters("colins")


@pytest.mark.parametrize(
    ("gold", "pred", "message"),
    [
        ("(A (x a))\n\n(A (x b))", "(A (x a))",
         r"pred:1: this file ends after tree 1, but .*gold has a tree 2; .*\(\(\)\)"),
        ("(A (x a))", "(A (x a))\n(A (x b))\n", "pred:2: tree 2: this tree is one too many"),
        ("(A (x a))", "", "pred: there are no trees, but .*gold has a tree 1"),
        ("", "(A (x a))", "gold: there are no trees"),
        ("(A (x a))", "(A (x b))", r"pred: no tree has the words .*tree 1: Words unmatch \(a\|b\)"),
        ("(A (x a))", "(())", "pred: no tree has the words of its gold tree; "),
        ("(A (x a))\n(A (x a)", "(A (x a))\n(A (x a))", "gold:2: tree 2: the tree that begins"),
    ],
)  # fmt: skip
def test_files_that_do_not_match_are_reported(
    tmp_path: Path, gold: str, pred: str, message: str
) -> None:
    (tmp_path / "gold").write_text(gold)
    (tmp_path / "pred").write_text(pred)
    with pytest.raises(FormatError, match=message):
        evaluate_trees(tmp_path / "gold", [tmp_path / "pred"])


def test_several_trees_of_a_line_are_one_sentence_and_a_tree_may_have_several_lines(
    tmp_path: Path,
) -> None:
    (tmp_path / "gold").write_text("(TOP (A (x a))\n  (B (x b)))\n(C (x c))\n")
    (tmp_path / "pred").write_text("(A (x a)) (B (x b))\n( (D (C (x c))))\n")
    (result,) = evaluate_trees(tmp_path / "gold", [tmp_path / "pred"])
    assert result.sentences == 2
    assert (result.scores["LR"], result.scores["LP"]) == (100, 75)


def test_systems_are_compared_and_have_intervals() -> None:
    gold = trees("(S (A (x a) (x b)) (x c))" * 20)
    worse = trees("(S (x a) (A (x b) (x c)))" * 10 + "(S (A (x a) (x b)) (x c))" * 10)
    first, second = evaluate_trees(gold, [worse, gold])
    (differences,) = compare_systems([first, second], trials=500)
    assert differences["LF1"].difference == 25
    assert differences["LF1"].p < 0.01
    assert differences["Crossing"].difference == -0.5
    low, high = intervals(first, trials=200)["LF1"]
    assert 50 < low < 75 < high < 100
    assert second.signature.endswith(
        "|evalb:collins|sentences:20|words:60|scored:60|errors:0|skipped:0"
    )


labels = st.sampled_from(["A", "B", "ADVP", "PRT", "TOP"])
sizes = st.integers(1, 7)


@st.composite
def brackets(draw: st.DrawFn, start: int, end: int) -> str:
    """Draw the text of a tree over the words from start to end, with unary chains."""
    if end - start == 1 and draw(st.booleans()):
        return f"({draw(st.sampled_from('xy'))} w{start})"
    cuts = draw(st.sets(st.integers(start + 1, end - 1))) if end - start > 1 else set()
    ends = sorted({start, end} | cuts)
    parts = [
        draw(brackets(left, right))
        if (left, right) != (start, end)
        else " ".join(f"(x w{i})" for i in range(start, end))
        for left, right in pairwise(ends)
    ]
    text = f"({draw(labels)} {' '.join(parts)})"
    return f"({draw(labels)} {text})" if draw(st.booleans()) else text


@given(st.data(), sizes, st.sampled_from(["collins", "spmrl"]))
def test_matches_and_crossings_are_those_of_the_definition(
    data: st.DataObject, size: int, name: str
) -> None:
    gold, pred = (f"(S {data.draw(brackets(0, size))})" for _ in range(2))
    parameters = BUILT_IN[name]
    sides = [
        evalb._kept_brackets(evalb._make_sentence(trees(text)).brackets, [1] * size, parameters)
        for text in (gold, pred)
    ]
    taken: set[int] = set()
    for label, start, end in sides[0]:
        for index, (other, *span) in enumerate(sides[1]):
            if index not in taken and span == [start, end] and parameters.same_tags(label, other):
                taken.add(index)
                break
    crossings = sum(
        any(a < start < b < end or start < a < end < b for _, a, b in sides[0])
        for _, start, end in sides[1]
    )
    counts = evaluate_one(gold, pred, name).counts[0]
    assert counts[evalb.COUNTS.index("matched")] == len(taken)
    assert counts[evalb.COUNTS.index("crossings")] == crossings


def test_deep_trees_are_scored() -> None:
    depth = 30_000
    left = "(NP " * depth + "(NN a)" + " (NN a))" * depth
    right = "(NP (NN a) " * depth + "(NN a)" + ")" * depth
    unary = "(NP " * depth + "(NN a)" + ")" * depth
    counts = evaluate_one(left, right).counts[0]
    assert counts[evalb.COUNTS.index("matched")] == 1
    assert counts[evalb.COUNTS.index("crossings")] == depth - 1
    assert evaluate_one(unary, unary).scores["EM"] == 100


def test_a_blank_line_is_a_sentence_without_a_parse_if_the_files_have_lines_in_common(tmp_path):
    gold, pred = tmp_path / "gold.mrg", tmp_path / "pred.mrg"
    tree = "(S (A (P this)) (B (Q is)))\n"
    other = tree.replace("B", "C")
    for lines, matched in (
        ([tree, "\n", other], [2, 0, 1]),
        (["\n", tree, tree], [0, 2, 2]),
        ([tree, other, "\n"], [2, 1, 0]),
        (["\n", " \t\n", tree], [0, 0, 2]),
        ([tree, "(())\n", tree], [2, 0, 2]),
    ):
        gold.write_text(tree * 3)
        pred.write_text("".join(lines))
        (evaluation,) = evaluate_trees(gold, [pred])
        counts = evaluation.counts[:, evalb.COUNTS.index("matched")]
        assert [count - 1 if count else 0 for count in counts.tolist()] == matched
        assert evaluation.totals["skipped"] == matched.count(0)
    # These blank lines only separate trees.
    pred.write_text("\n".join([tree, tree, tree]))
    assert evaluate_trees(gold, [pred])[0].totals["skipped"] == 0
    gold.write_text("\n".join([tree, tree, tree]))
    assert evaluate_trees(gold, [pred])[0].totals["skipped"] == 0
    pred.write_text(tree + "\n" + tree)
    with pytest.raises(FormatError, match="ends after tree 2"):
        evaluate_trees(gold, [pred])


SPMRL_HEBREW = """# Delete labels
DELETE_LABEL TOP
DELETE_LABEL ROOT
DELETE_LABEL S1
DELETE_LABEL -NONE-
DELETE_LABEL VROOT
DELETE_LABEL_FOR_LENGTH -NONE-
DELETE_LABEL SYN_NN
"""


def test_a_parameter_file_of_spmrl_is_read_as_such() -> None:
    """It deletes no words, and cuts labels at `#`."""
    parameters = parse_parameters(SPMRL_HEBREW.splitlines(), "hebrew.prm")
    assert parameters.spmrl and parameters.deleted_words == frozenset()
    gold = "(S##a b## (NP##g=f x## (SYN_NN##n=s## (SYN_NN##g=f## a))) (VROOT b))"
    totals = evaluate_one(gold, "(S (NP (x a)) (y b))", parameters).counts[0]
    counts = dict(zip(evalb.COUNTS, totals, strict=True))
    assert (counts["matched"], counts["gold"], counts["predicted"], counts["scored"]) == (
        2,
        2,
        2,
        2,
    )
    # The name tells it as well; other files that delete VROOT may delete words.
    assert parse_parameters(["DELETE_LABEL X"], "a/spmrl_x.prm").spmrl
    tiger = parse_parameters(["DELETE_LABEL VROOT", "DELETE_LABEL $,"], "tiger.prm")
    assert not tiger.spmrl and "$," in tiger.deleted_words
