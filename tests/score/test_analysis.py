import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.score import report
from depkit.score.analysis import (
    METRICS,
    PRESETS,
    Analysis,
    View,
    analyze_view,
    precision_recall_f1,
)
from depkit.score.attachment import TAGS, Data, read_data
from depkit.score.evaluators import evaluate
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import CONFUSIONS, confusion_rows, worst_sentence_rows
from depkit.score.report import Options, bootstrap, rows, total_rows

Counts = dict[str, list[int]]  # by bin: gold, predicted, correct_gold, correct_predicted


def sentence(form: str, *columns: str) -> Sentence:
    names = ("head", "deprel", "upos", "xpos", "feats", "lemma")
    values = dict(zip(names, (column.split() for column in columns), strict=False))
    return new_sentence(form.split(), values)


def analyze_pair(gold: Sentence, predicted: Sentence, view: View, punct: str = "keep") -> Analysis:
    return analyze_view(read_data([gold], [[predicted]], punct=punct), view)


def analyze_depths(*systems: Sentence) -> Analysis:
    """Analyze predictions of GOLD by depth, with the metric UAS."""
    return analyze_view(
        read_data([GOLD], [[system] for system in systems]), View(("depth",), (), "UAS")
    )


def bin_counts(analysis: Analysis, system: int = 0) -> Counts:
    """Return the counts of the bins that are not empty for a system."""
    return {
        analysis.labels[b]: analysis.totals[system, b].tolist()
        for b in analysis.bins
        if analysis.totals[system, b].any()
    }


def parse_counts(text: str) -> Counts:
    """Parse counts such as `root 1111, 1 2100`, with one digit for each count of a bin."""
    rows = (row.strip().rsplit(" ", 1) for row in text.split(","))
    return {bin: [int(count) for count in counts] for bin, counts in rows}


# The head of c is wrong (a instead of b), so d and e are one level deeper as well. The relation of
# d is wrong.
#
#   gold:  b          predicted:  b
#         / \                     |
#        a   c                    a
#            |                    |
#            d                    c
#            |                    |
#            e                    d
#                                 |
#                                 e
GOLD = sentence("a b c d e", "2 0 2 3 4", "x root y z z")
PREDICTED = sentence("a b c d e", "2 0 1 3 4", "x root y y z")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [  # gold depths: b root; a, c 1; d 2; e 3. predicted depths: b root; a 1; c 2; d 3; e 4
        ("UAS", "root 1111, 1 2111, 2 1110, 3 1111, 4 0101"),  # correct: a, b, d, e
        ("LA", "root 1111, 1 2121, 2 1101, 3 1110, 4 0101"),  # a, b, c, e
        ("LAS", "root 1111, 1 2111, 2 1100, 3 1110, 4 0101"),  # a, b, e
        ("bin", "root 1111, 1 2111, 2 1100, 3 1100, 4 0100"),  # a, b
    ],
)
def test_a_correct_word_may_be_in_two_bins_of_depth(metric: str, expected: str) -> None:
    analysis = analyze_pair(GOLD, PREDICTED, View(("depth",), (), metric))
    assert bin_counts(analysis) == parse_counts(expected)


def test_a_correct_word_may_be_in_two_bins_of_siblings() -> None:
    # In the gold tree a and c are siblings, in the predicted tree there are none. c is wrong.
    analysis = analyze_pair(GOLD, PREDICTED, View(("siblings",), (), "UAS"))
    assert bin_counts(analysis) == parse_counts("0 3534, 1 2010")
    no_sibling, one_sibling = rows(analysis, Options())
    assert (no_sibling["precision"], no_sibling["recall"]) == (80.0, 100.0)
    assert no_sibling["f1"] == pytest.approx(2 * 80 * 100 / 180)
    assert (one_sibling["precision"], one_sibling["recall"], one_sibling["f1"]) == (None, 50.0, 0.0)


def test_precision_recall_and_f1_equal_those_by_hand() -> None:
    nan = math.nan
    for counts, scores in [
        ([4, 8, 2, 2], [25.0, 50.0, 100 / 3]),
        ([2, 1, 1, 1], [100.0, 50.0, 200 / 3]),
        ([1, 2, 1, 1], [50.0, 100.0, 200 / 3]),
        ([4, 2, 3, 1], [50.0, 75.0, 60.0]),
        ([5, 5, 0, 0], [0.0, 0.0, 0.0]),
        ([0, 3, 0, 0], [0.0, nan, 0.0]),
        ([0, 3, 0, 3], [100.0, nan, 0.0]),
        ([3, 0, 0, 0], [nan, 0.0, 0.0]),
        ([0, 0, 0, 0], [nan, nan, nan]),
    ]:
        result = precision_recall_f1(np.array([[counts]]))
        assert result.shape == (1, 1, 3)
        assert result[0, 0].tolist() == pytest.approx(scores, nan_ok=True)


# The errors: the head of d is b instead of c, the dot has no head, the relation of c is wrong, UPOS
# of b and d, XPOS of c, FEATS of d and the dot, lemmas of d and the dot (b has no gold lemma).
TAGGED = sentence(
    "a b c d .", "2 0 2 3 2", "x root y z punct",
    "N V N N P", "n v n n p", "A=1|B=1 _ A=1 B=1 _", "a _ c d .",
)  # fmt: skip
TAGGED_PREDICTED = sentence(
    "a b c d .", "2 0 2 2 _", "x root z z punct",
    "N N N V P", "n v m n p", "B=1|A=1 _ A=1 A=1 C=1", "a b c e ,",
)  # fmt: skip


def tagged_counts(view: View, punct: str = "keep") -> Counts:
    return bin_counts(analyze_pair(TAGGED, TAGGED_PREDICTED, view, punct))


@pytest.mark.parametrize(
    ("metric", "correct"),
    [  # how many are correct of a, c, d; of b; of the dot
        ("UAS", (2, 1, 0)),
        ("LA", (2, 1, 1)),
        ("LAS", (1, 1, 0)),
        ("UPOS", (2, 0, 1)),
        ("XPOS", (2, 1, 1)),
        ("FEATS", (2, 1, 0)),
        ("Lemmas", (2, 1, 0)),
        ("bin", (3, 1, 1)),  # gold and predicted words are grouped by their gold tags
    ],
)
def test_metrics_count_correct_words_by_bin(metric: str, correct: tuple[int, int, int]) -> None:
    n, v, p = correct
    expected = {"N": [3, 3, n, n], "V": [1, 1, v, v], "P": [1, 1, p, p]}
    assert tagged_counts(View(("upos",), (), metric)) == expected
    if metric not in TAGS:  # metrics of tags count all words
        del expected["P"]
    assert tagged_counts(View(("upos",), (), metric), "unicode") == expected


def test_gold_and_predicted_relations_are_in_different_bins() -> None:
    labels, both = (tagged_counts(View(("deprel",), (), metric)) for metric in ("LA", "LAS"))
    assert labels == parse_counts("x 1111, root 1111, y 1000, z 1211, punct 1111")
    assert both == parse_counts("x 1111, root 1111, y 1000, z 1200, punct 1100")


def test_punctuation_is_in_the_tree_but_not_in_the_counts() -> None:
    # In the gold tree, b has three dependents including the dot, and c has one. In the predicted
    # tree, b has three: a, c and d.
    branching, direction = View(("branching",), (), "UAS"), View(("direction",), (), "UAS")
    assert tagged_counts(branching, "unicode") == parse_counts("0 2312, 1 1010, 3 1111")
    # The dot has no predicted head: it is in the bin "none", but only if punctuation counts.
    assert tagged_counts(direction, "unicode") == parse_counts("root 1111, right 1111, left 2211")
    assert tagged_counts(direction) == parse_counts("root 1111, right 1111, left 3211, none 0100")


def test_several_groupings_are_crossed() -> None:
    assert tagged_counts(View(("direction", "upos"), (), "UAS")) == parse_counts(
        "root × V 1111, right × N 1111, left × N 2211, left × P 1000, none × P 0100"
    )
    # A word is correct if both bins are the same. The relation of c differs, the depth of d is 2 in
    # the gold tree and 1 in the predicted tree, and the dot has no predicted depth.
    assert tagged_counts(View(("depth", "deprel"), (), "bin")) == parse_counts(
        "root × root 1111, 1 × x 1111, 1 × y 1000, 1 × z 0200, 1 × punct 1000, 2 × z 1000,"
        " none × punct 0100"
    )


def test_bins_apply_to_the_numeric_groupings_in_order() -> None:
    # The gold distances are 1 for a, c and d, and 3 for the dot; predicted: 1 for a and c, 2 for d.
    assert tagged_counts(View(("upos", "distance"), ("..1,2..",), "UAS")) == parse_counts(
        "N × ..1 3222, N × 2.. 0100, P × 2.. 1000, P × none 0100, V × root 1111"
    )
    # The signed gold distances: a 1, c and d -1, the dot -3; predicted: a 1, c -1, d -2. The
    # sentence has five words.
    assert tagged_counts(
        View(("signed-distance", "upos", "length"), ("-1,1", "each"), "UAS")
    ) == parse_counts(
        "root × V × 5 1111, -1 × N × 5 2111, 1 × N × 5 1111, other × N × 5 0100,"
        " other × P × 5 1000, none × P × 5 0100"
    )
    assert tagged_counts(View(("distance", "length"), (None, "1-4,5-9"), "UAS")) == parse_counts(
        "root × 5-9 1111, 1 × 5-9 3222, 2 × 5-9 0100, 3 × 5-9 1000, none × 5-9 0100"
    )


# The counts of TAGGED by feature and direction.
FEATURES = parse_counts(
    "A=1 left 1111, A=1 right 1111, B=1 left 1100, B=1 right 1111, _ root 1111, _ left 1000,"
    " _ none 0100"
)


ORDERS = ["feats direction", "direction feats"]
ORDERS += ["feats direction upos", "direction feats upos", "direction upos feats"]


@pytest.mark.parametrize("by", ORDERS)
def test_features_are_crossed_in_any_order(by: str) -> None:
    tags = {"right": "N", "root": "V", "none": "P"}
    expected = {}
    for label, counts in FEATURES.items():
        feature, side = label.split()
        tag = tags.get(side, "P" if feature == "_" else "N")
        bin = {"feats": feature, "direction": side, "upos": tag}
        expected[" × ".join(bin[name] for name in by.split())] = counts
    counts_by_bin = tagged_counts(View(tuple(by.split()), (), "UAS"))
    assert counts_by_bin == expected
    if by == "feats direction":
        assert list(counts_by_bin) == list(expected)  # in this order


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View(("colour",)), "there is no grouping 'colour'; choose from distance"),
        (View(("upos", "depth", "upos")), "grouping 'upos' is named twice"),
        (View(("upos",), (), "CLAS"), "no metric 'CLAS'; choose from UAS, LAS, LA, UPOS"),
        (View(("upos",), ("1,2",)), r"more bins than groupings of numbers \(none\)"),
        (View(("depth", "upos"), ("1", "2")), r"more bins than groupings of numbers \(depth\)"),
        (View(("depth",), ("1-3,3-",)), "bin '3-' overlaps"),
        (View(("depth", "length"), (None, "x")), "'x' in bins 'x' is not a bin"),
        (View(("oov",)), "oov needs a training file"),
        (View(("oov", "upos", "frequency")), "frequency needs a training file"),
    ],
)
def test_invalid_views_are_rejected(view: View, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        analyze_pair(GOLD, PREDICTED, view)


def test_presets_are_valid_and_have_the_bins_of_the_papers() -> None:
    for views in PRESETS.values():
        for view in views:
            view.check()
    li2019, mcdonald_nivre = (
        [analyze_pair(GOLD, PREDICTED, view).labels[1:-2] for view in PRESETS[name]]
        for name in ("li2019", "mcdonald-nivre")
    )
    assert li2019 == ["1 2 3 4 5-6 7-10 11-".split()]
    tens, *ones = mcdonald_nivre
    assert tens == "1-9 10-19 20-29 30-39 40-49 50-".split()
    assert ones == ["1 2 3 4 5 6 7 8 9 10-".split()] * 2


def test_the_training_file_gives_known_words_and_frequencies(tmp_path: Path) -> None:
    train = tmp_path / "train.conllu"
    train.write_text(f"{GOLD}{sentence('c c', '2 0')}")
    gold, predicted = sentence("c d A", "2 0 2"), sentence("c d A", "2 0 1")
    data = read_data([gold], [[predicted]], {"form"}, train=train)
    known = analyze_view(data, View(("oov",), (), "UAS"))
    assert bin_counts(known) == parse_counts("known 2222, unknown 1100")
    frequencies = analyze_view(data, View(("frequency",), ("0,1,2-",), "UAS"))
    assert bin_counts(frequencies) == parse_counts("0 1100, 1 1111, 2- 1111")


def test_rows_are_ordered_by_bin_and_within_a_bin_by_system(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("gold", "z", "a")]
    for name, tree in zip(names, (GOLD, PREDICTED, GOLD), strict=True):
        Path(name).write_text(str(tree))
    gold, first, second = names
    data = read_data(gold, [first, second])
    table = rows(analyze_view(data, View(("depth", "direction"), ("2,1,3..",))), Options())
    assert [(row["bin"], row["system"]) for row in table] == [
        (bin, system)
        for bin in ("root × root", "2 × left", "1 × left", "1 × right", "3.. × left")
        for system in (first, second)
    ]
    assert table[4] == {
        "system": first, "by": "depth × direction", "metric": "LAS", "bin": "1 × left",
        "gold": 1, "predicted": 0, "correct_gold": 0, "correct_predicted": 0,
        "precision": None, "recall": 0.0, "f1": 0.0,
    }  # fmt: skip
    assert (table[7]["precision"], table[7]["recall"], table[7]["f1"]) == (100.0, 100.0, 100.0)


def test_total_rows_sum_all_bins() -> None:
    (row,) = total_rows(analyze_depths(PREDICTED))
    assert row == {
        "system": "", "bin": "all", "gold": 5, "predicted": 5, "correct_gold": 4,
        "correct_predicted": 4, "precision": 80.0, "recall": 80.0, "f1": 80.0,
        "error_reduction": None,
    }  # fmt: skip
    totals = total_rows(analyze_depths(PREDICTED, GOLD, WORSE))
    assert [row["f1"] for row in totals] == [80.0, 100.0, 20.0]
    assert [row["error_reduction"] for row in totals] == [None, 100.0, -300.0]
    by_feature = analyze_pair(TAGGED, TAGGED_PREDICTED, View(("upos", "feats")))
    assert total_rows(by_feature) == []  # a is in two bins


WORSE = sentence("a b c d e", "0 1 2 2 1", "x root y y z")


def column(table: list[dict[str, object]], name: str, systems: int) -> list[list[object]]:
    """Return a column of the rows as [bin][system]."""
    values = [row[name] for row in table]
    return [values[i : i + systems] for i in range(0, len(values), systems)]


def test_relative_error_reduction_equals_that_by_hand() -> None:
    # The F1 of UAS in the depths root, 1, 2, 3, 4 is 100, 66.7, 0, 100, 0 for PREDICTED. For GOLD
    # it is 100 everywhere, but undefined in 4. In WORSE a is the root, b and e depend on a, c and d
    # on b, so that only c is correct; its depth is 1 in the gold tree and 2 in WORSE. In bin 1 its
    # recall is 50 and its precision 0.
    table = rows(analyze_depths(PREDICTED, GOLD, WORSE), Options(error_reduction=True))
    assert column(table, "f1", 3) == [
        [100.0, 100.0, 0.0], [pytest.approx(200 / 3), 100.0, 0.0], [0.0, 100.0, 0.0],
        [100.0, 100.0, 0.0], [0.0, None, None],
    ]  # fmt: skip
    # In the bins root and 3 the baseline has no error; in bin 4 the other systems have no F1.
    reduced = [[None, pytest.approx(100.0), pytest.approx(-200.0)], [None, 100.0, 0.0]]
    none = [[None] * 3]
    assert column(table, "error_reduction", 3) == none + reduced + none + none
    # Now the F1 of the baseline is undefined in the bin 4.
    table = rows(analyze_depths(GOLD, PREDICTED), Options(error_reduction=True))
    assert column(table, "f1", 2)[-1] == [None, 0.0]
    assert column(table, "error_reduction", 2) == [[None, None]] * 5


def single_words(correct: str) -> list[Sentence]:
    """Return one-word sentences (eight A, four B, two C); the tags in `correct` have head 0."""
    heads = {tag: "0" if tag in correct else "1" for tag in "ABC"}
    return [sentence("w", heads[tag], "r", tag) for tag in "AAAAAAAABBBBCC"]


def test_differences_and_p_equal_those_by_hand() -> None:
    """If all words of a bin differ, a trial is as extreme only if it swaps all of them or none."""
    data = read_data(single_words("ABC"), [single_words(x) for x in ("C", "ABC", "C")])
    view = View(("upos",), (), "UAS")
    table = rows(analyze_view(data, view), Options(test="ar"))
    assert column(table, "f1", 3) == [[0.0, 100.0, 0.0], [0.0, 100.0, 0.0], [100.0, 100.0, 100.0]]
    assert column(table, "difference", 3) == [[None, 100.0, 0.0]] * 2 + [[None, 0.0, 0.0]]
    (_, a, _), (_, b, _), _ = p = column(table, "p", 3)
    assert isinstance(a, float) and isinstance(b, float)
    assert (a, b) == (pytest.approx(2 / 2**8, abs=0.003), pytest.approx(2 / 2**4, abs=0.01))
    assert p == [[None, a, 1.0], [None, b, 1.0], [None, 1.0, 1.0]]
    adjusted = [pytest.approx(6 * a), pytest.approx(5 * b), 1.0]  # there are six tests in all
    assert column(table, "p_adjusted", 3) == [[None, x, 1.0] for x in adjusted]
    assert rows(analyze_view(data, view), Options(test="ar")) == table


def test_p_is_that_of_f1() -> None:
    """In the bin r the baseline has a recall of 50%; the precision of both systems is 100%."""
    gold, half = (sentence("a b", "0 1", deprels) for deprels in ("r r", "r s"))
    data = read_data([gold] * 8, [[half] * 8, [gold] * 8])
    view = View(("deprel",), (), "LA")
    first, second, *others = rows(analyze_view(data, view), Options(test="ar"))
    assert (first["precision"], first["recall"], second["f1"]) == (100.0, 50.0, 100.0)
    assert second["difference"] == pytest.approx(100 / 3)
    assert second["p"] == pytest.approx(2 / 2**8, abs=0.003)
    assert second["p_adjusted"] == second["p"]  # s is not tested, because it is not a gold relation
    assert [(row["bin"], row["predicted"], row["p"]) for row in others] == [
        ("s", 8, None), ("s", 0, None),
    ]  # fmt: skip


def test_paired_bootstrap_equals_that_by_hand() -> None:
    data = read_data(single_words("ABC")[:8], [single_words(x)[:8] for x in ("C", "A", "C")])
    options = Options(test="bootstrap", trials=99)
    table = rows(analyze_view(data, View(("upos",), (), "UAS")), options)
    # In every sample the difference is the same 100 points, so no sample is extreme.
    assert [row["p"] for row in table] == [None, 1 / 100, 1.0]
    assert [row["p_adjusted"] for row in table] == [None, 2 / 100, 1.0]


def test_undefined_differences_are_not_tested() -> None:
    table = rows(analyze_depths(PREDICTED, GOLD), Options(test="ar", trials=99))[1::2]
    assert [row["bin"] for row in table] == ["root", "1", "2", "3", "4"]
    differences = [0.0, pytest.approx(100 / 3), 100.0, 0.0, None]
    assert [row["difference"] for row in table] == differences
    # With one sentence, a swap can only change the sign of the difference.
    for name in ("p", "p_adjusted"):
        assert [row[name] for row in table] == [1.0, 1.0, 1.0, 1.0, None]


def test_confidence_intervals_equal_those_by_hand() -> None:
    # A quarter of the samples have the correct sentence twice, a quarter the wrong one twice.
    gold = [sentence("a", "0", "r", "N"), sentence("b c", "0 1", "r s", "N V")]
    data = read_data(gold, [[sentence("a", "1", "r", "N"), gold[1]]])
    noun, verb = rows(analyze_view(data, View(("upos",), (), "UAS")), Options(confidence=True))
    assert (noun["f1"], noun["f1_low"], noun["f1_high"]) == (50.0, 0.0, 100.0)
    assert (verb["f1"], verb["f1_high"]) == (100.0, 100.0)
    # With one sentence all samples are the same. Undefined scores have no interval.
    analysis = analyze_depths(PREDICTED, GOLD)
    for row in rows(analysis, Options(confidence=True, resamples=50)):
        assert row["f1_low"] == row["f1"] == row["f1_high"]
    low, high = bootstrap(analysis, 0, resamples=50)
    np.testing.assert_array_equal(low, precision_recall_f1(analysis.totals[0, analysis.bins]))
    np.testing.assert_array_equal(high, low)


def test_splitting_the_bins_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [PREDICTED, GOLD, WORSE]
    data = read_data([GOLD] * 6, [[*trees, *trees], [GOLD, *trees, GOLD, GOLD]])
    analysis = analyze_view(data, View(("depth", "deprel"), (), "UAS"))
    options = Options(confidence=True, test="ar", resamples=50, trials=50)
    unsplit = rows(analysis, options)
    monkeypatch.setattr(report, "_split_bins", lambda analysis: [[b] for b in analysis.bins])
    assert rows(analysis, options) == unsplit


# Random trees, and what must hold for all of them.

tags = st.sampled_from(["N", "V"])
relations = st.sampled_from(["x", "x:s", "y"])
numbers = st.integers(0, 10**4)
features = st.sampled_from(["_", "A=1", "B=1|A=1"])
words = st.tuples(
    st.sampled_from(["a", "b", "."]), features, tags, tags, numbers, relations, numbers, relations
)
Pair = tuple[Sentence, Sentence]


def make_pair(rows: list[tuple[str, str, str, str, int, str, int, str]]) -> Pair:
    """Return a gold and a predicted sentence, whose trees may have cycles and several roots.

    The first word has a feature, because an empty column cannot be analyzed.
    """
    form, feats, upos, other_upos, head, deprel, other_head, other_deprel = map(
        list, zip(*rows, strict=True)
    )
    form[0] = "a"  # at least one word is not punctuation
    feats[0] = "A=1"
    size = len(form) + 1
    first, second = ([str(h % size) for h in heads] for heads in (head, other_head))
    gold = {"lemma": form, "feats": feats, "upos": upos, "xpos": upos}
    gold |= {"head": first, "deprel": deprel}
    predicted = {"upos": other_upos, "head": second, "deprel": other_deprel}
    return new_sentence(form, gold), new_sentence(form, gold | predicted)


treebanks = st.lists(st.lists(words, min_size=1, max_size=7).map(make_pair), min_size=1, max_size=4)
policies = st.sampled_from(["keep", "unicode"])
OF_WORDS = [name for name in GROUPINGS if name != "enhancement"]
groupings = st.sampled_from(OF_WORDS)
quick = settings(max_examples=40, deadline=None)


def read_pairs(pairs: Sequence[Pair], punct: str = "keep") -> Data:
    """Compare the gold trees with the predictions and with themselves, given training counts."""
    gold, predicted = map(list, zip(*pairs, strict=True))
    data = read_data(gold, [predicted, gold], {"form"}, punct=punct)
    return replace(data, words=replace(data.words, train_frequencies=Counter(a=3)))


def views(metrics: Sequence[str] = METRICS) -> list[View]:
    return [View((name,), (), metric) for name in OF_WORDS for metric in metrics]


@quick
@given(treebanks, policies)
def test_gold_against_gold_is_100_in_every_bin(pairs: list[Pair], punct: str) -> None:
    data = read_pairs(pairs, punct)
    for view in views():
        totals = analyze_view(data, view).totals[1]
        nonempty = totals[totals.any(axis=-1)]
        assert len(nonempty)
        np.testing.assert_array_equal(precision_recall_f1(nonempty), 100.0)


@quick
@given(treebanks, policies)
def test_bins_sum_to_the_scores_of_evaluate(pairs: list[Pair], punct: str) -> None:
    data = read_pairs(pairs, punct)
    whole = evaluate([gold for gold, _ in pairs], [other for _, other in pairs], punct)
    names = {"UAS": "heads", "LA": "labels", "LAS": "both"}
    for view in views([*names, "bin"]):
        if view.by == ("feats",):
            continue
        totals = analyze_view(data, view).totals[0]
        gold, predicted, correct_gold, correct_predicted = totals.sum(axis=0).tolist()
        assert gold == predicted == whole.scored
        assert correct_gold == correct_predicted
        if view.metric != "bin":
            assert correct_gold == whole.totals[names[view.metric]]
        else:
            np.testing.assert_array_equal(totals[:, 2], totals[:, 3])  # words in the same bin


@quick
@given(treebanks)
def test_swapping_gold_and_predicted_swaps_precision_and_recall(pairs: list[Pair]) -> None:
    data = read_pairs(pairs)
    swapped = read_pairs([(other, gold) for gold, other in pairs])
    for view in views(["UAS", "LA", "LAS", "bin"]):
        if GROUPINGS[view.by[0]].groups_arcs:
            expected = {bin: [p, g, cp, cg] for bin, (g, p, cg, cp) in
                      bin_counts(analyze_view(swapped, view)).items()}  # fmt: skip
            assert bin_counts(analyze_view(data, view)) == expected


@quick
@given(treebanks, policies, st.randoms(use_true_random=False))
def test_order_of_sentences_changes_nothing(pairs, punct, random) -> None:  # type: ignore[no-untyped-def]
    data = read_pairs(pairs, punct)
    shuffled = read_pairs(random.sample(pairs, len(pairs)), punct)
    for view in views(["LAS"]):
        first, second = analyze_view(data, view), analyze_view(shuffled, view)
        # The order of the bins is also the same.
        assert list(bin_counts(first).items()) == list(bin_counts(second).items())
    for confusion in CONFUSIONS:
        assert confusion_rows(data, confusion) == confusion_rows(shuffled, confusion)

    def sentences(data: Data) -> list[tuple[int, int, str]]:
        table = worst_sentence_rows(data, "LAS", len(pairs))
        return sorted((row["errors"], row["scored"], row["text"]) for row in table)

    assert sentences(data) == sentences(shuffled)


@quick
@given(treebanks, policies)
def test_counts_of_sentences_sum_to_the_totals(pairs: list[Pair], punct: str) -> None:
    data = read_pairs(pairs, punct)
    data_by_sentence = [read_pairs([pair]) for pair in pairs] if punct == "keep" else []
    for view in views(["UAS"]):
        analysis = analyze_view(data, view)
        parts = analysis.count_by_sentence(0, analysis.bins).reshape(
            len(pairs), len(analysis.bins), 4
        )
        assert parts.dtype == np.int64
        np.testing.assert_array_equal(parts.sum(axis=0), analysis.totals[0, analysis.bins])
        reversed_parts = analysis.count_by_sentence(0, analysis.bins[::-1]).reshape(parts.shape)
        np.testing.assert_array_equal(reversed_parts, parts[:, ::-1])
        for part, single in zip(parts, data_by_sentence, strict=False):
            counts_by_bin = zip(
                (analysis.labels[b] for b in analysis.bins), part.tolist(), strict=True
            )
            assert bin_counts(analyze_view(single, view)) == {
                name: counts for name, counts in counts_by_bin if any(counts)
            }


@quick
@given(treebanks, groupings, groupings, policies)
def test_crossed_bins_sum_to_those_of_each_grouping(
    pairs: list[Pair], first: str, second: str, punct: str
) -> None:
    if first == second:
        return
    data = read_pairs(pairs, punct)
    crossed = bin_counts(analyze_view(data, View((first, second))))
    for position, (name, other) in enumerate(((first, second), (second, first))):
        if other == "feats":  # a word may be in several bins of features
            continue
        summed: Counts = {}
        for bin, counts in crossed.items():
            counts_so_far = summed.setdefault(bin.split(" × ")[position], [0, 0, 0, 0])
            counts_so_far[:] = [a + b for a, b in zip(counts_so_far, counts, strict=True)]
        assert summed == bin_counts(analyze_view(data, View((name,))))
