"""Trees in the commands of tikz-dependency."""

import re

import pytest
from hypothesis import given

from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.tikz import draw_tikz, escape
from depkit.files.errors import FormatError
from tests.conftest import TREES
from tests.drawing.trees.drawn_trees import unusual_texts

GOLD = Sentence.from_words(
    ["[50]", "%", "&c"], head=[2, 0, 2], deprel=["nummod", "root", "dep"], upos=["NUM", "SYM", "X"]
)


def test_the_commands_of_a_sentence():
    predicted = GOLD.with_tree([2, 0, 1], GOLD.deprel)
    text = "".join(draw_tikz([DrawnSentence(1, GOLD, predicted)]))
    assert text.splitlines()[2:] == [
        "% sentence 1",
        r"\begin{dependency}",
        r"  \begin{deptext}[column sep=1em]",
        r"    {[}50] \& \% \& \symbol{38}c \\",
        r"    NUM \& SYM \& X \\",
        r"  \end{deptext}",
        r"  \depedge{2}{1}{nummod}",
        r"  \deproot{2}{root}",
        r"  \depedge{2}{3}{dep}",
        r"  \depedge[edge below, dashed]{1}{3}{✗dep}",
        r"\end{dependency}",
    ]


@given(unusual_texts())
def test_no_text_is_a_command_of_latex(drawn):
    for form in drawn.forms:
        assert r"\&" not in escape(form)  # which separates the columns
        rest = re.sub(r"\\(text\w+\{\}|symbol\{38\}|[%$#_{}])|\{[\[*]\}", "", escape(form))
        assert not set("\\&%$#_{}~^[*") & set(rest)


def test_bracketed_trees_are_refused(tmp_path):
    import depkit

    (drawn, *_) = [DrawnSentence(1, sentence) for sentence in depkit.read(TREES)]
    with pytest.raises(FormatError, match="dependency trees only"):
        list(draw_tikz([drawn]))
