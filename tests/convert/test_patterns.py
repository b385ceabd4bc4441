"""The steps of patterns."""

import pytest

from depkit.convert.constituents import REACH, build_nodes
from depkit.convert.coordination import PREDICATES
from depkit.convert.patterns import STEPS, read_definitions
from depkit.corpus.tree import Tree


@pytest.mark.parametrize("name", sorted({*STEPS} - {"subject-gap", "object-gap"}))
def test_a_step_in_a_wide_constituent_reaches_a_bounded_number_of_nodes(name: str) -> None:
    children = [Tree("CC" if i % 2 else "NN", word="a") for i in range(4 * REACH)]
    (phrase,), words = build_nodes(Tree("NP", children))
    phrase.head_child, phrase.head = words[0], words[0]
    for node in (phrase, words[0], words[1], words[2 * REACH], words[-2], words[-1]):
        assert len(STEPS[name](node)) <= REACH


def test_a_pattern_sees_the_nearest_siblings() -> None:
    children = [Tree(label, word="a") for label in ["DT", *["NN"] * (2 * REACH), "JJ"]]
    _, words = build_nodes(Tree("NP", children))
    definitions = read_definitions("late := *, before JJ\nearly := *, after DT\n", PREDICATES)
    assert [definitions["early"](word) for word in (words[REACH], words[REACH + 1])] == [1, 0]
    assert [definitions["late"](word) for word in (words[-REACH - 1], words[-REACH - 2])] == [1, 0]
