"""Drawings of constituency trees, as text and as SVG."""

import re
from xml.etree import ElementTree

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees import outline
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.svg import draw_svg
from depkit.drawing.trees.terminal import read_drawn_sentences
from depkit.files.errors import FormatError
from tests.conftest import TREES

GOLD = "(S (NP-SBJ (DT the) (NN cat)) (VP (VBD saw) (NP (PRP me))) (. .))"
PRED = "(S (NP (DT the) (NN cat)) (VP (VP (VBD saw) (NP (PRP me))) (. .)))"
SVG = "{http://www.w3.org/2000/svg}"


def sentence(text: str, tmp_path) -> Sentence:  # type: ignore[no-untyped-def]
    path = tmp_path / "tree.mrg"
    path.write_text(f"(TOP {text})\n")
    (found,) = read(path)
    return found


def test_every_constituent_and_word_has_a_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = DrawnSentence(1, sentence(GOLD, tmp_path))
    assert drawn.is_bracketed and not drawn.has_errors
    assert list(outline.draw(drawn, 60, False)) == [
        "S",
        "├─ NP-SBJ",
        "│  ├─ DT the",
        "│  └─ NN cat",
        "├─ VP",
        "│  ├─ VBD saw",
        "│  └─ NP",
        "│     └─ PRP me",
        "└─ . .",
    ]


def test_differences_are_marked_without_functions(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = DrawnSentence(1, sentence(GOLD, tmp_path), sentence(PRED, tmp_path))
    lines = list(outline.draw(drawn, 60, False))
    assert [line for line in lines if "missed" in line] == []
    assert lines[-1] == "✗ VP 3-5: saw me ."
    opposite = DrawnSentence(1, sentence(PRED, tmp_path), sentence(GOLD, tmp_path))
    assert [line for line in outline.draw(opposite, 60, False) if "missed" in line] == [
        "└─ VP  (missed)"
    ]
    assert opposite.has_errors and not opposite.constituents[1]
    coloured = "\n".join(outline.draw(opposite, 60, True))
    assert "\x1b[32mVP  (missed)\x1b[0m" in coloured


def test_of_equal_constituents_the_surplus_is_wrong(tmp_path) -> None:  # type: ignore[no-untyped-def]
    gold = sentence("(S (NP (NP (NN a) (NN b))) (. .))", tmp_path)
    pred = sentence("(S (NP (NN a) (NN b)) (. .))", tmp_path)
    kinds = [node.kind for node in DrawnSentence(1, gold, pred).constituents[0]]
    assert kinds.count("missed") == 1
    assert [node[:3] for node in DrawnSentence(1, pred, gold).constituents[1]] == [("NP", 0, 2)]


def test_lines_fit_the_width_and_texts_are_safe(tmp_path) -> None:  # type: ignore[no-untyped-def]
    deep = "(A " * 100 + f"(NN {'x' * 99}\x1b[31m)" + ")" * 100
    drawn = DrawnSentence(1, sentence(deep, tmp_path))
    lines = list(outline.draw(drawn, 40, False))
    assert len(lines) == 101 and max(map(len, lines)) <= 40
    assert not any("\x1b" in line for line in lines)
    assert "\x1b" not in "".join(draw_svg([drawn]))


def test_a_predicted_sentence_needs_a_tree(tmp_path) -> None:  # type: ignore[no-untyped-def]
    gold = sentence(GOLD, tmp_path)
    with pytest.raises(FormatError, match="has no constituency tree"):
        list(read_drawn_sentences(gold, gold.with_constituents(None)))


@pytest.mark.parametrize("index", range(26))
def test_svg_has_parents_above_children_and_no_overlapping_words(index: int) -> None:
    drawn = DrawnSentence(1, list(read(TREES))[index])
    root = ElementTree.fromstring("".join(draw_svg([drawn])))
    nodes, _ = drawn.constituents
    lines = [path.get("d", "") for path in root.iter(f"{SVG}path")]
    assert len(lines) == len(nodes) - 1
    for line in lines:
        start, end = re.findall(r"([0-9]+) ([0-9]+)", line)
        assert int(start[1]) < int(end[1])
    texts = [(text.text, int(text.get("x", ""))) for text in root.iter(f"{SVG}text")]
    words = [node.word for node in nodes if node.word]
    assert [text for text, _ in texts[-len(words) :]] == words
    centres = [x for _, x in texts[-len(words) :]]
    assert all(
        right - left >= 4 * (len(first) + len(second)) / 2
        for left, right, first, second in zip(centres, centres[1:], words, words[1:], strict=False)
    )
    assert max(centres) < int(root.get("width", ""))


def test_wrong_constituents_are_below_the_words_without_overlap(tmp_path) -> None:  # type: ignore[no-untyped-def]
    gold = sentence("(S (A a) (B b) (C c) (D d))", tmp_path)
    pred = sentence("(S (X (Y (A a) (B b)) (C c)) (Z (D d)))", tmp_path)
    root = ElementTree.fromstring("".join(draw_svg([DrawnSentence(1, gold, pred)])))
    dashed = [p.get("d", "") for p in root.iter(f"{SVG}path") if p.get("stroke-dasharray")]
    spans = [tuple(map(int, re.findall("[0-9]+", line))) for line in dashed]
    (x_left, x_y, x_right), (y_left, y_y, y_right), (z_left, z_y, _) = spans
    assert (x_left, x_y) == (y_left, z_y) and y_y > x_y and y_right < x_right < z_left
    bottom = max(int(text.get("y", "")) for text in root.iter(f"{SVG}text") if text.text == "a")
    assert min(x_y, y_y) > bottom
