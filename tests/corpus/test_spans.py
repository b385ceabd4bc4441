"""Preparation of trees for parsers, and trees as labelled spans."""

import re
from pathlib import Path

import pytest
from hypothesis import given

from depkit.corpus.cleaning import clean_tree, find_wrapper, prepare_tree, restore_wrapper
from depkit.corpus.io import read_trees
from depkit.corpus.spans import Span, spans_to_tree, tree_to_spans
from depkit.corpus.tree import Tree, write_tree
from tests.corpus.random_trees import trees

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "wsj-sample"


def parse(text: str) -> Tree:
    (tree,) = read_trees([text])
    return tree


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("(TOP (S-1 (NP-SBJ=2 (PRP$ my)) (ADVP|PRT (RB b))))", "(S (NP (PRP$ my)) (ADVP (RB b)))"),
        ("( (S (NP (-NONE- *)) (PRT|ADVP (RP up))))", "(S (PRT (RP up)))"),
        ("(NP-1 (-LRB- -LRB-) (CD 1\\/2))", "(NP (-LRB- -LRB-) (CD 1\\/2))"),
        ("(NP-1 (# #) (JJ|NN x))", "(NP (# #) (JJ|NN x))"),
        ("(TOP (UH yes))", "(TOP (UH yes))"),
        ("( (NP (NN a)) (. .))", "(TOP (NP (NN a)) (. .))"),
        ("(ROOT (NP (NN a)) (. .))", "(ROOT (NP (NN a)) (. .))"),
        ("(SENT##a=b## (NP-SUJ##g=m|n=s## (NC-X##s=c## chat)))", "(SENT (NP (NC chat)))"),
    ],
)  # fmt: skip
def test_labels_are_prepared(text: str, prepared: str) -> None:
    assert write_tree(prepare_tree(parse(text))) == prepared


def test_a_tree_without_words_is_none() -> None:
    assert clean_tree(Tree("", [Tree("S", [Tree("-NONE-", (), "*")])])) is None


@pytest.mark.parametrize(
    ("text", "predicted", "restored"),
    [
        ("(S (NN a))", "(S (NN a))", "(S (NN a))"),
        ("( (S (NN a)))", "(S (NN a))", "( (S (NN a)))"),
        ("( (TOP (S (NN a))))", "(S (NN a))", "( (S (NN a)))"),
        ("(ROOT (NN a) (. .))", "(S (NN a) (. .))", "(ROOT (S (NN a) (. .)))"),
        # The root of the predicted tree is an outer bracket itself.
        ("(S (NN a))", "(TOP (NN a))", "(TOP (NN a))"),
        ("(NN a)", "(TOP (NN a))", "(TOP (NN a))"),
        ("( (NN a) (. .))", "(TOP (NN a) (. .))", "( (NN a) (. .))"),
        ("(ROOT (NN a) (. .))", "(ROOT (NN a) (. .))", "(ROOT (NN a) (. .))"),
        ("( (TOP (NN a) (. .)))", "(TOP (NN a) (. .))", "( (NN a) (. .))"),
        ("(TOP (NN a))", "(TOP (NN a))", "(TOP (NN a))"),
    ],
)  # fmt: skip
def test_a_predicted_tree_gets_the_outer_bracket_of_its_input(text, predicted, restored) -> None:
    root = parse(f"(X {predicted})").children[0]
    tree = Tree(root.name, root.children, root.word, wrapper=find_wrapper(parse(text)))
    assert write_tree(restore_wrapper(tree)) == restored


def test_unary_chains_are_single_spans() -> None:
    tree = parse("(S (NP (NP (NN a))) (VP (VBZ b) (NP (QP (CD c) (CD d)))) (. e))")
    assert tree_to_spans(tree) == [
        Span(0, 5, ("S",)), Span(0, 1, ("NP", "NP")), Span(1, 4, ("VP",)), Span(2, 4, ("NP", "QP")),
    ]  # fmt: skip


def test_children_of_empty_labels_belong_to_the_constituent_around_them() -> None:
    words = [Tree("X", (), word) for word in "abcd"]
    spans = [Span(0, 4, ("S",)), Span(0, 3, ()), Span(0, 1, ()), Span(1, 3, ("A", "B")),
             Span(1, 2, ()), Span(2, 3, ()), Span(3, 4, ())]  # fmt: skip
    assert write_tree(spans_to_tree(spans, words)) == "(S (X a) (A (B (X b) (X c))) (X d))"


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 2, ())], "must cover all words and have labels"),
        ([], "must cover all words"),
        ([Span(0, 1, ("S",))], "must cover all words"),
        ([Span(0, 3, ("S",))], "from 0 to 3 is not"),
        ([Span(0, 2, ("S",)), Span(1, 1, ("S",))], "from 1 to 1 is not"),
    ],
)
def test_spans_that_form_no_tree_are_refused(spans: list[Span], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spans_to_tree(spans, [Tree("X", (), "a"), Tree("X", (), "b")])


@given(trees)
def test_spans_are_an_exact_copy_of_a_tree(tree: Tree) -> None:
    prepared = prepare_tree(tree)
    spans = tree_to_spans(prepared)
    assert write_tree(spans_to_tree(spans, prepared.leaves())) == write_tree(prepared)
    assert len({span[:2] for span in spans}) == len(spans)


def test_deep_trees_become_spans() -> None:
    depth = 10**5
    text = "(NP (NN a) " * depth + "(NN a)" + ")" * depth
    tree = parse(text)
    spans = tree_to_spans(tree)
    assert [span[:2] for span in spans] == [(i, depth + 1) for i in range(depth)]
    assert write_tree(spans_to_tree(spans, tree.leaves())) == text


@pytest.mark.skipif(not SAMPLE.exists(), reason="no ../shared/data beside the repository")
def test_the_wsj_sample_is_prepared_and_rebuilt() -> None:
    counts = {"trees": 0, "words": 0}
    labels = set()
    for path in SAMPLE.glob("*.mrg"):
        for tree in map(prepare_tree, read_trees(path)):
            spans, words = tree_to_spans(tree), tree.leaves()
            assert write_tree(spans_to_tree(spans, words)) == write_tree(tree)
            counts["trees"] += 1
            counts["words"] += len(words)
            labels |= {label for span in spans for label in span.labels}
    assert counts == {"trees": 3396, "words": 81793}
    assert all(re.fullmatch("[A-Z]+", label) for label in labels)
