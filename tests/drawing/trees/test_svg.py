import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.svg import MARGIN, MAX_WIDTH, draw_svg
from tests.drawing.trees.drawn_trees import (
    DOGS,
    STORY,
    make_drawn,
    sentence,
    tree_pairs,
    unusual_texts,
)

SVG = "{http://www.w3.org/2000/svg}"


def parse_svg(*sentences: DrawnSentence) -> ElementTree.Element:
    return ElementTree.fromstring("".join(draw_svg(sentences)))


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def test_words_tags_and_labels_of_all_sentences_are_drawn() -> None:
    root = parse_svg(make_drawn(DOGS), DrawnSentence(2, sentence(STORY)))
    assert [title.text for title in root.iter(f"{SVG}title")] == [
        "Dogs bark .",
        "From the AP comes this story :",
    ]
    first = ["sentence 1", "nsubj", "root", "punct", "Dogs", "bark", ".", "NOUN", "VERB", "PUNCT"]
    assert texts(root)[: len(first)] == first


def test_arcs_and_arrows_meet_the_words() -> None:
    """Every word has one incoming arc, so its arrow is in the middle or beside the stems."""
    root = parse_svg(make_drawn(DOGS))
    words = [float(text.get("x", "")) for text in root.iter(f"{SVG}text")][4:7]
    *arcs, arrows = [path.get("d", "") for path in root.iter(f"{SVG}path")]
    assert [float(x) for x in re.findall(r"L([0-9]+)", arrows)] == words
    assert len(arcs) == 3


def test_a_wrong_arc_is_dashed_and_below_the_words() -> None:
    gold = sentence(DOGS)
    same = parse_svg(DrawnSentence(1, gold, gold))
    different = parse_svg(DrawnSentence(1, gold, gold.with_tree([2, 0, 1], gold.deprel)))
    assert not [g for g in same.iter(f"{SVG}g") if g.get("stroke-dasharray")]
    [dashed] = [g for g in different.iter(f"{SVG}g") if g.get("stroke-dasharray")]
    [arc] = dashed
    [word] = [text for text in different.iter(f"{SVG}text") if text.text == "bark"]
    heights = [int(y) for y in re.findall(r"V([0-9]+)", arc.get("d", ""))]
    assert min(heights) > int(word.get("y", ""))
    assert "✗punct" in texts(different)


def test_no_sentences_make_an_empty_image() -> None:
    assert texts(parse_svg()) == []


@given(unusual_texts())
def test_any_text_is_well_formed_and_complete(drawn: DrawnSentence) -> None:
    drawn_texts = texts(parse_svg(drawn))
    assert all(drawn_texts.count(form) >= drawn.forms.count(form) for form in drawn.forms)


@given(tree_pairs())
def test_every_arc_is_drawn_inside_the_image(drawn: DrawnSentence) -> None:
    root = parse_svg(drawn)
    width, height = int(root.get("width", "")), int(root.get("height", ""))
    paths = [p for g in root.iter(f"{SVG}g") if g.get("stroke") for p in g]
    arcs = len(drawn.arcs()) + len(drawn.wrong_arcs())
    # In a wrapped sentence, an arc can have two parts.
    assert len(paths) == arcs or (len(paths) > arcs and width > 500)
    for path in paths:
        numbers = list(map(int, re.findall("-?[0-9]+", path.get("d", ""))))
        assert min(numbers) >= 0 and max(numbers) <= max(width, height)


def test_a_long_sentence_is_wrapped() -> None:
    size = 60
    words = [f"word{number}" for number in range(1, size + 1)]
    long = Sentence.from_words(
        words, head=[0, *range(1, size)], deprel=["root"] + ["dep"] * (size - 1)
    )
    root = parse_svg(DrawnSentence(1, long), DrawnSentence(2, sentence(DOGS)))
    assert int(root.get("width", "")) <= MAX_WIDTH + 2 * MARGIN
    shown = texts(root)
    assert [text for text in shown if text.startswith("word")] == words
    assert all(str(number) in shown for number in range(1, size + 1))
    assert shown.count("dep") == size - 1
    places = {
        text.text: (int(text.get("x", "")), int(text.get("y", "")))
        for text in root.iter(f"{SVG}text")
    }
    rows = [places[word][1] for word in words]
    assert rows == sorted(rows) and len(set(rows)) > 3
    alone = parse_svg(DrawnSentence(2, sentence(DOGS)))
    assert "1" not in texts(alone)


def test_the_file_refers_to_no_other_file() -> None:
    text = "".join(draw_svg([make_drawn(STORY)]))
    assert text.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in text
    assert not re.search("href|url|script|import|<style", text)


def test_the_picture_of_the_readme_is_current() -> None:
    data = Path(__file__).parents[2] / "data"
    drawn = [DrawnSentence(n, s) for n, s in enumerate(read(data / "drawn-tree.conllu"), 1)]
    assert "".join(draw_svg(drawn)) == (data / "drawn-tree.svg").read_text("utf-8")
