import re

from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.indented import UNROOTED_HEADING, draw
from depkit.files.terminal import cell_width
from tests.drawing.trees.drawn_trees import (
    DOGS,
    STORY,
    make_drawn,
    numbered_sentences,
    sentence,
    tree_pairs,
    unusual_texts,
)


def test_heads_come_before_their_dependents() -> None:
    assert list(draw(make_drawn(STORY), 100, False)) == [
        "4  comes       VERB   root",
        "3  ├─ AP       PROPN  obl",
        "1  │  ├─ From  ADP    case",
        "2  │  └─ the   DET    det",
        "6  ├─ story    NOUN   nsubj",
        "5  │  └─ this  DET    det",
        "7  └─ :        PUNCT  punct",
    ]


def test_words_without_a_root_come_last() -> None:
    rows = "a X 2 x | b X 3 y | c X 2 z | d X 0 root | e X _ _ | f X 5 v | g X 7 w"
    assert list(draw(make_drawn(rows), 100, False)) == [
        "4  d     X  root",
        UNROOTED_HEADING,
        "2  b     X  y ← 3 c",
        "1  ├─ a  X  x",
        "3  └─ c  X  z",
        "5  e     X  _",
        "6  └─ f  X  v",
        "7  g     X  w ← 7 g",
    ]


def test_errors_are_marked_behind_the_gold_relation() -> None:
    gold = sentence(STORY)
    relations = [*gold.deprel[:5], "obj", "punct"]
    predicted = gold.with_tree([3, 6, 4, 4, 0, 4, -1], relations)
    assert list(draw(DrawnSentence(1, gold, predicted), 100, False)) == [
        "4  comes       VERB   root   ✗ root ← 4 comes",
        "3  ├─ AP       PROPN  obl",
        "1  │  ├─ From  ADP    case",
        "2  │  └─ the   DET    det    ✗ det ← 6 story",
        "6  ├─ story    NOUN   nsubj  ✗ obj",
        "5  │  └─ this  DET    det    ✗ det ← 0",
        "7  └─ :        PUNCT  punct  ✗ headless",
    ]


def test_missed_relations_are_green_and_errors_red() -> None:
    gold = sentence(DOGS)
    lines = list(draw(DrawnSentence(1, gold, gold.with_tree([2, 0, 1], gold.deprel)), 100, True))
    assert lines == [
        "2  bark     VERB   root",
        "1  ├─ Dogs  NOUN   nsubj",
        "3  └─ .     PUNCT  \x1b[32mpunct\x1b[0m  \x1b[31m✗ punct ← 1 Dogs\x1b[0m",
    ]


def test_lines_of_deep_trees_are_clipped_on_the_left() -> None:
    size = 10_000
    chain = new_sentence(["w"] * size, {"head": [str(number) for number in range(size)]})
    lines = list(draw(DrawnSentence(1, chain), 40, False))
    assert lines[6:9] == [
        "    7                 └─ w   _",
        "    8  …                └─ w  _ ← 7 w",
        "    9  …                └─ w  _ ← 8 w",
    ]
    assert len(lines) == size and len(lines[-1]) <= 40


def read_tree(lines: list[str]) -> dict[int, tuple[int, str]]:
    """Return head (-1 for none) and relation of each word, by its indentation."""
    tree: dict[int, tuple[int, str]] = {}
    path: list[int] = []
    has_root = True
    for line in lines:
        if line == UNROOTED_HEADING:
            has_root = False
            continue
        match = re.fullmatch(r" *([0-9]+)  ([│├└─ ]*)w\1w +(\S+)(?: ← ([0-9]+) w\4w)?", line)
        assert match
        word, depth = int(match[1]), len(match[2]) // 3
        path[depth:] = [word]
        top_head = 0 if has_root else int(match[4]) if match[4] else -1
        assert word not in tree
        tree[word] = path[-2] if depth else top_head, match[3]
    return tree


@given(numbered_sentences())
def test_any_tree_can_be_read_back(sentence: Sentence) -> None:
    lines = list(draw(DrawnSentence(1, sentence), 1000, False))
    rows = enumerate(zip(sentence.head, sentence.deprel, strict=True), start=1)
    assert read_tree(lines) == dict(rows)


@given(tree_pairs())
def test_every_difference_is_marked_once(drawn: DrawnSentence) -> None:
    marked = [line for line in draw(drawn, 100, False) if "✗" in line]
    assert {int(line.split()[0]) for line in marked} == drawn.wrong_words
    assert len(marked) == len(drawn.wrong_words)


@given(unusual_texts(), st.integers(40, 100))
def test_any_text_is_safe_to_print(drawn: DrawnSentence, width: int) -> None:
    lines = list(draw(drawn, width, False))
    assert all(make_visible(line) == line for line in lines)
    assert all(any(form.rstrip() in line for line in lines) for form in drawn.forms)
    assert cell_width(lines[0]) >= 1
