"""Items of lists in running text."""

import textwrap
from itertools import pairwise

import pytest

from depkit.corpus.list_items import find_list_items


def mark(text):
    offsets = set(find_list_items(text))
    return "".join(f"<{x}>" if i in offsets else x for i, x in enumerate(text))


@pytest.mark.parametrize(
    "marked",
    [
        "Buy<:>\n* apple<s>  \n* milk",
        "Bu<y>\n- long apple<s>\n- milk",
        "Buy<:>\n- milk",
        "りんご<：>\n- 梨",
        "We bring apple<s>\n - mil<k>\n\t* tea",
        "Bu<y>\n– milk\nThis line is longer.",
        "Steps<:>\n1. Ope<n>\n2. Close",
        "Steps<:>\n1. Ope<n>\n   - slowl<y>\n   - wid<e>\n2. Close",
        "Step<s>\n0) Ope<n>\n1) Close\nThis line is longer.",
        "We choose betwee<n>\na. tea and mil<k>\nb. coffee",
        "りん<ご>\n・みか<ん>\n・柿\n梨<は>\n●柿",
        "We choose<:>\n(1) tea and mil<k>\n(2) coffee",
        "Берём<:>\nа) ча<й>\nб) кофе",
        "Steps<:>\n1. Ope<n>\n1. Close",
        "3. Ope<n>\n4. Close",
        "1. Open\nThen wait for a long time\nand clos<e>\n2. Repeat step 1. and wait",
        "- a tea that i<s>\n- b",
        "- a tea that is\n  warm enoug<h>\n- a milk that is\n  as war<m>\n- b",
        "Buy, say<,>\n- tea<,>\n- milk",
        "Spiel<e>\n– Aachen 3, 2<0>\n– Köln",
        "He came i<n>\n• very late and said nothing",
    ],
)
def test_items_are_lines_with_marks(marked):
    assert mark(marked.replace("<", "").replace(">", "")) == marked


@pytest.mark.parametrize(
    "text",
    [
        "- tea",
        "They all came home\n- as always - late",
        "We came home on\n12. May and left",
        "We came on the\n12. May\n14. June",
        "We came on the\n12. May\nor on the\n13. May",
        "We came on\n12. May\n13. June\nThis line is longer.",
        "We came on\n97. May\n98. June\nThis line is longer.",
        "I think that he\n- my best friend -\nwill come to the party tomorrow",
        "— Yes,\n— said he.\nThis line is longer.",
        "From 2010\n– 2015 and\nThis line is longer.",
        "- a tea that is\nwarm to us all\n- a milk is",
        "彼は株式会社\n○○の社長で、ジョン\n・スミス",
        "# This is\n# a comment",
        "> tea\n> milk",
        "Options\n-x tea\n--y milk",
        "The years\n1984. And\n1985. And",
        "3\n. milk\n) tea\n-",
        "We met her at\n- https://example.org/" + "a" * 50,
        "See https://example.org/" + "a" * 50 + "\nThey all came home\n- as always - late",
    ],
)
def test_other_lines_are_no_items(text):
    assert mark(text) == text


def test_lines_of_a_wrapped_text_are_no_items():
    words = "We came home - as always - late on the 12. or 14. May a) tired * b) but * happy"
    starting = set()
    for width in range(10, 80):
        lines = textwrap.wrap(f"{words} " * 9, width, break_on_hyphens=False)
        first_words = [line.split()[0] for line in lines]
        is_mark = [word in {"-", "*", "12.", "14.", "a)", "b)"} for word in first_words]
        if not any(a and b for a, b in pairwise(is_mark)):
            starting |= set(first_words)
            assert not list(find_list_items("\n".join(lines)))
    assert starting >= {"-", "*", "12.", "a)", "b)"}
