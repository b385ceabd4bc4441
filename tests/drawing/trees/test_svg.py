import re
from xml.etree import ElementTree

from hypothesis import given

from depkit.drawing.trees.shown import Shown
from depkit.drawing.trees.svg import picture
from tests.drawing.trees.drawn_trees import DOGS, STORY, messy, pairs, sentence, shown

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*sentences: Shown) -> ElementTree.Element:
    return ElementTree.fromstring("".join(picture(sentences)))


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def test_words_tags_and_labels_of_all_sentences() -> None:
    both = drawn(shown(DOGS), Shown(2, sentence(STORY)))
    assert [title.text for title in both.iter(f"{SVG}title")] == [
        "Dogs bark .",
        "From the AP comes this story :",
    ]
    first = ["1", "nsubj", "root", "punct", "Dogs", "bark", ".", "NOUN", "VERB", "PUNCT"]
    assert texts(both)[: len(first)] == first


def test_arcs_and_arrows_meet_the_words() -> None:
    """Each word has one arc in, so that the arrow stands at its middle or beside its stems."""
    picture = drawn(shown(DOGS))
    words = [float(text.get("x", "")) for text in picture.iter(f"{SVG}text")][4:7]
    *arcs, arrows = [path.get("d", "") for path in picture.iter(f"{SVG}path")]
    assert [float(x) for x in re.findall(r"L([0-9]+)", arrows)] == words
    assert len(arcs) == 3


def test_a_wrong_arc_is_dashed_and_below_the_words() -> None:
    gold = sentence(DOGS)
    same = drawn(Shown(1, gold, gold))
    other = drawn(Shown(1, gold, gold.with_tree([2, 0, 1], gold.deprel)))
    assert not [g for g in same.iter(f"{SVG}g") if g.get("stroke-dasharray")]
    [dashed] = [g for g in other.iter(f"{SVG}g") if g.get("stroke-dasharray")]
    [arc] = dashed
    [word] = [text for text in other.iter(f"{SVG}text") if text.text == "bark"]
    heights = [int(y) for y in re.findall(r"V([0-9]+)", arc.get("d", ""))]
    assert min(heights) > int(word.get("y", ""))
    assert "✗punct" in texts(other)


def test_nothing_to_draw() -> None:
    assert texts(drawn()) == []


@given(messy())
def test_any_text_is_well_formed_and_whole(shown: Shown) -> None:
    found = texts(drawn(shown))
    assert all(found.count(form) >= shown.forms.count(form) for form in shown.forms)


@given(pairs())
def test_every_arc_is_drawn_inside_the_picture(shown: Shown) -> None:
    picture = drawn(shown)
    width, height = int(picture.get("width", "")), int(picture.get("height", ""))
    paths = [p for g in picture.iter(f"{SVG}g") if g.get("stroke") for p in g]
    assert len(paths) == len(shown.arcs()) + len(shown.wrong_arcs())
    for path in paths:
        numbers = list(map(int, re.findall("-?[0-9]+", path.get("d", ""))))
        assert min(numbers) >= 0 and max(numbers) <= max(width, height)


def test_nothing_comes_from_outside() -> None:
    text = "".join(picture([shown(STORY)]))
    assert text.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in text
    assert not re.search("href|url|script|import|<style", text)
