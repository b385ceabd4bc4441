"""Bins of constituents: their sums are the scores of EVALB, and their values those of the trees."""

import random
from collections import Counter

import numpy as np
import pytest

from depkit.corpus.brackets import read_groups
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from depkit.score.constituents import GROUPINGS, analyze_constituents, read_tree_data
from depkit.score.evalb import evaluate_trees
from depkit.score.evaluators import BracketEvaluator
from depkit.score.panels import make_panel
from depkit.score.report import Options, rows

EVALUATOR = BracketEvaluator()
GOLD = "(TOP (S (NP (NP (DT the) (NN cat)) (PP (IN on) (NP (NNS mats)))) (VP (VBD sat)) (. .)))"
PRED = "(TOP (S (NP (DT the) (NN cat)) (VP (PP (IN on) (NP (NNS mats))) (VBD sat)) (. .)))"


def tree(text: str) -> Tree:
    ((found,),) = (group for group in read_groups([text]) if not isinstance(group, FormatError))
    return found


def bins(gold: list[Tree], predicted: list[Tree], *by: str) -> dict[str, list[int]]:
    """Return the counts of every bin: gold, predicted, correct among gold, among predicted."""
    data = read_tree_data(gold, [predicted])
    analysis = analyze_constituents(data, EVALUATOR.view(by, (), None))
    return {analysis.labels[b]: analysis.totals[0, b].tolist() for b in analysis.bins}


def test_trees_without_a_scored_constituent_have_no_bins() -> None:
    flat = [tree("(TOP (NN dog) (VBZ barks))")]
    data = read_tree_data(flat, [flat, flat])
    for grouping in GROUPINGS:
        analysis = analyze_constituents(data, EVALUATOR.view((grouping,), (), None))
        assert rows(analysis, Options(confidence=True, test="ar", error_reduction=True)) == []
        with pytest.raises(ValueError, match=r"nothing to plot: .* no scored constituents"):
            make_panel(analysis)


def test_constituents_are_in_the_bins_of_their_trees() -> None:
    gold, predicted = [tree(GOLD)], [tree(PRED)]
    # TOP is deleted by EVALB, and so is the full stop.
    assert bins(gold, predicted, "label") == {
        "NP": [3, 2, 2, 2], "S": [1, 1, 1, 1], "VP": [1, 1, 0, 0], "PP": [1, 1, 1, 1],
    }  # fmt: skip
    assert bins(gold, predicted, "span-length") == {
        "1": [2, 1, 1, 1], "2": [2, 2, 2, 2], "3": [0, 1, 0, 0], "4": [1, 0, 0, 0],
        "5": [1, 1, 1, 1],
    }  # fmt: skip
    assert bins(gold, predicted, "depth") == {
        "1": [1, 1, 1, 1], "2": [2, 2, 0, 1], "3": [2, 1, 2, 1], "4": [1, 1, 1, 1],
    }  # fmt: skip
    assert bins(gold, predicted, "length") == {"1-9": [6, 5, 4, 4]}
    assert bins(gold, predicted, "label", "depth")["NP × 2"] == [1, 1, 0, 1]


def random_tree(words: int, generator: random.Random) -> Tree:
    def build(start: int, end: int) -> Tree:
        children: list[Tree] = []
        position = start
        while position < end:
            size = generator.randint(1, max(1, end - position - (position == start)))
            if size == 1:
                tag = "," if position % 4 == 3 else "NN"
                children.append(Tree(tag, (), f"w{position}"))
            else:
                children.append(build(position, position + size))
            position += size
        inner = Tree(generator.choice("AB"), children)
        return Tree(generator.choice("AB"), [inner]) if generator.random() < 0.2 else inner

    return build(0, words)


@pytest.mark.parametrize("seed", range(20))
def test_the_bins_of_every_grouping_sum_to_the_scores(seed: int) -> None:
    generator = random.Random(seed)
    sizes = [generator.randint(2, 9) for _ in range(6)]
    gold, predicted = ([random_tree(size, generator) for size in sizes] for _ in range(2))
    # A word less: an error sentence, whose constituents do not count.
    predicted[0] = random_tree(sizes[0] + 20, generator)
    (evaluation,) = evaluate_trees(gold, [predicted])
    totals = evaluation.totals
    data = read_tree_data(gold, [predicted])
    for name in GROUPINGS:
        analysis = analyze_constituents(data, EVALUATOR.view([name], (), None))
        sums = analysis.totals[0].sum(axis=0).tolist()
        matched = totals["matched"]
        assert sums == [totals["gold"], totals["predicted"], matched, matched]
        by_sentence = analysis.count_by_sentence(0, analysis.bins).reshape(len(gold), -1, 4)
        columns = [list(evaluation.columns).index(key) for key in ("gold", "predicted", "matched")]
        np.testing.assert_array_equal(by_sentence.sum(axis=1)[:, :3], evaluation.counts[:, columns])


@pytest.mark.parametrize("seed", range(10))
def test_depths_and_sizes_equal_those_of_a_walk_through_the_tree(seed: int) -> None:
    gold = random_tree(12, random.Random(seed))
    expected: Counter[tuple[str, int, int]] = Counter()

    def walk(node: Tree, depth: int) -> None:
        if node.children:
            size = sum(leaf.name != "," for leaf in node.leaves())
            if size:
                expected[node.name, size, depth] += 1
            for child in node.children:
                walk(child, depth + bool(size))

    walk(gold, 1)
    data = read_tree_data([gold], [[gold]])
    (constituents,) = data.gold
    found = Counter(
        (data.labels[label], size, depth)
        for label, size, depth in zip(
            constituents.label.tolist(),
            constituents.span_length.tolist(),
            constituents.depth.tolist(),
            strict=True,
        )
    )
    assert found == expected
    assert constituents.correct.all()


def test_rows_compare_systems() -> None:
    gold = [tree(GOLD)] * 8
    data = read_tree_data(gold, [[tree(PRED)] * 8, gold])
    analysis = analyze_constituents(data, EVALUATOR.view((), (), None))
    table = rows(analysis, Options(confidence=True, test="ar", error_reduction=True))
    np_row = next(row for row in table if row["bin"] == "NP" and row["difference"] is not None)
    assert np_row["f1"] == 100.0 and np_row["error_reduction"] == 100.0
    assert np_row["difference"] == pytest.approx(20.0) and np_row["p"] < 0.02
    assert np_row["metric"] == "LF1"
    assert data.signature().endswith("|evalb:collins|sentences:8|scored:48")


def test_unknown_names_are_refused() -> None:
    data = read_tree_data([tree(GOLD)], [[tree(PRED)]])
    with pytest.raises(ValueError, match=r"no grouping 'distance'.*span-length"):
        analyze_constituents(data, EVALUATOR.view(["distance"], (), None))
    with pytest.raises(ValueError, match="no metric 'LAS'; choose from LF1"):
        analyze_constituents(data, EVALUATOR.view([], (), "LAS"))
