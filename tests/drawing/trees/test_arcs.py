import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.drawing.trees.arcs import draw
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.drawn_sentence import Arc, DrawnSentence
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
from tests.drawing.trees.read_drawing import read_drawing


def draw_plain(drawn: DrawnSentence, width: int = 100) -> list[str]:
    return list(draw(drawn, width, False))


def expected_lines(text: str) -> list[str]:
    """Return the lines of an indented drawing in this file; its first line is empty."""
    return [line.removeprefix("    ").rstrip() for line in text.splitlines()[1:-1]]


DRAWINGS = {  # a sentence and its drawing
    "projective": f"""
    {STORY}
                         root
                           │ ╭──────punct───────╮
      ╭───case───╮         │ ├───nsubj────╮     │
      │    ╭─det─┤ ╭─obl─╮ │ │    ╭─det─╮ │     │
      ▼    ▼     │ ▼     │ ▼ │    ▼     │ ▼     ▼
    From  the    AP      comes  this   story    :
     ADP  DET   PROPN    VERB    DET   NOUN   PUNCT
    """,
    "non-projective": """
    Super ADP 2 case|iuvencum NOUN 3 obl|stabat VERB 0 root|deiectum VERB 2 nmod|leo NOUN 3 nsubj
                       root
               ╭────nmod─┼────────╮
      ╭─case─╮ │ ╭─obl─╮ │ ╭──────┼─nsubj─╮
      ▼      │ │ ▼     │ ▼ │      ▼       ▼
    Super  iuvencum   stabat  deiectum   leo
     ADP     NOUN      VERB     VERB    NOUN
    """,
    "an arc shorter than those to dependents stays below them": """
    magnam ADJ 3 amod | vidit VERB 0 root | urbem NOUN 2 obj
            root
       ╭──────┼─amod────╮
       │      │ ╭─obj─╮ │
       ▼      ▼ │     ▼ │
    magnam   vidit   urbem
      ADJ    VERB    NOUN
    """,
    "a label is beside a line that crosses its line": """
    , PUNCT 3 punct | quae DET 4 det | debetur VERB 0 root | pars NOUN 3 nsubj
                  root
             ╭──────┼─det───────╮
      ╭─punct┼────╮ │ ╭─nsubj─╮ │
      ▼      ▼    │ ▼ │       ▼ │
      ,    quae  debetur     pars
    PUNCT   DET   VERB       NOUN
    """,
    "roots, loops and words without a head": """
    Yes INTJ 0 root | no INTJ 0 parataxis | um INTJ 3 x | so ADV _ _
    root   parataxis   ↻x
      ▼        ▼        ▼
     Yes      no       um   so
    INTJ     INTJ     INTJ  ADV
    """,
    "a cycle": """
    a X 2 x | b X 3 y | c X 1 z | d X 0 root
    ╭──────z──────╮
    │ ╭─x─╮ ╭─y─╮ │  root
    │ ▼   │ ▼   │ ▼    ▼
     a     b     c     d
     X     X     X     X
    """,
    "wide characters and accents": """
    同樣 ADV 2 advmod | e\u0301\u0301 X 0 root | 的 PART 2 case
               root
      ╭─advmod─╮ │ ╭─case─╮
      ▼        │ ▼ │      ▼
    同樣         é́       的
     ADV         X      PART
    """,
}


@pytest.mark.parametrize("text", DRAWINGS.values(), ids=DRAWINGS)
def test_arcs_are_drawn_as_expected(text: str) -> None:
    rows, *lines = expected_lines(text)
    assert draw_plain(make_drawn(rows)) == lines


def test_a_wide_drawing_is_wrapped_into_blocks() -> None:
    assert draw_plain(make_drawn(STORY), 40) == expected_lines(
        """
                         root
                           │ ╭────────────┄7
      ╭───case───╮         │ ├───nsubj────╮
      │    ╭─det─┤ ╭─obl─╮ │ │    ╭─det─╮ │
      ▼    ▼     │ ▼     │ ▼ │    ▼     │ ▼
    From  the    AP      comes  this   story
     ADP  DET   PROPN    VERB    DET   NOUN
      1    2      3        4      5      6

    4┄─punct─╮
             ▼
             :
           PUNCT
             7
    """
    )


def test_xpos_replaces_missing_upos() -> None:
    untagged = sentence("Dogs _ 0 root")
    assert draw_plain(DrawnSentence(1, untagged)) == ["root", "  ▼", "Dogs"]
    tagged = untagged.with_columns({"xpos": ["NNS"]})
    assert draw_plain(DrawnSentence(1, tagged)) == ["root", "  ▼", "Dogs", " NNS"]


def test_wrong_arcs_are_drawn_below_the_words() -> None:
    gold = sentence(STORY)
    predicted = gold.with_tree(
        [3, 3, 4, 0, 6, 3, -1], [*gold.deprel[:2], "nsubj", *gold.deprel[3:]]
    )
    assert draw_plain(DrawnSentence(1, gold, predicted)) == expected_lines(
        """
                              root
                                │ ╭───────punct────────╮
      ╭───case───╮              │ ├───nsubj────╮       │
      │    ╭─det─┤ ╭───obl────╮ │ │    ╭─det─╮ │       │
      ▼    ▼     │ ▼          │ ▼ │    ▼     │ ▼       ▼
    From  the    AP           comes  this   story      :
     ADP  DET   PROPN         VERB    DET   NOUN     PUNCT
                 │ ▲            │             ▲        ▲
                 │ ╰─✗obl→nsubj─╯             │    ✗headless
                 ╰───────────✗nsubj───────────╯
    """
    )


def test_missed_arcs_are_green_and_wrong_arcs_red() -> None:
    gold = sentence(DOGS)
    different = DrawnSentence(1, gold, gold.with_tree([2, 0, 1], gold.deprel))
    coloured = list(draw(different, 100, True))
    assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == draw_plain(different)
    assert "\x1b[32m╭─punct─╮\x1b[0m" in coloured[1]
    assert coloured[-1] == "  \x1b[31m╰──────✗punct───────╯\x1b[0m"
    assert not any("\x1b" in line for line in draw(make_drawn(DOGS), 100, True))


def test_a_shared_stem_has_the_colour_of_the_missed_arc() -> None:
    gold = sentence("a X 0 root | b X 1 x | c X 1 y")
    lines = list(draw(DrawnSentence(1, gold, gold.with_tree([0, 1, 2], gold.deprel)), 100, True))
    assert "\x1b[32m├\x1b[0m─x──╮" in lines[2]
    lines = list(draw(DrawnSentence(1, gold, gold.with_tree([0, 3, 1], gold.deprel)), 100, True))
    assert "\x1b[32m├─x──╮\x1b[0m" in lines[2]


def readable_arcs(arcs: Iterable[Arc]) -> dict[int, tuple[int, str]]:
    """Return what a drawing of arcs must be read as; a self-loop looks like a root arc."""
    return {arc.dependent: (0 if arc.is_vertical else arc.head, arc.label) for arc in arcs}


@given(numbered_sentences(), st.integers(40, 160))
def test_any_tree_can_be_read_back(sentence: Sentence, width: int) -> None:
    drawn = DrawnSentence(1, sentence)
    lines = draw_plain(drawn, width)
    assert read_drawing(lines) == (readable_arcs(drawn.arcs()), {})
    assert max(map(cell_width, lines)) <= width


@given(tree_pairs(), st.integers(60, 160))
def test_any_difference_can_be_read_back(drawn: DrawnSentence, width: int) -> None:
    lines = draw_plain(drawn, width)
    assert read_drawing(lines) == (readable_arcs(drawn.arcs()), readable_arcs(drawn.wrong_arcs()))
    assert max(map(cell_width, lines)) <= width


@given(numbered_sentences(), st.integers(40, 60))
def test_long_labels_are_clipped(sentence: Sentence, width: int) -> None:
    relabelled = sentence.with_tree(sentence.head, ["y" * 80] * len(sentence))
    drawn = DrawnSentence(1, relabelled)
    lines = draw_plain(drawn, width)
    assert max(map(cell_width, lines)) <= width
    read, _ = read_drawing(lines)
    assert {word: head for word, (head, _) in read.items()} == {
        word: head for word, (head, _) in readable_arcs(drawn.arcs()).items()
    }


@given(unusual_texts(), st.integers(40, 100))
def test_any_text_fits_and_is_safe_to_print(drawn: DrawnSentence, width: int) -> None:
    lines = draw_plain(drawn, width)
    widest = max(map(cell_width, (*drawn.forms, *drawn.tags)))
    # The numbers of words in other blocks may be beside every word; if a word is too wide, these
    # numbers are outside the given width.
    marks = 16 + 3 * len(str(len(drawn.forms)))
    limit = width if widest < width - marks else max(width, widest) + marks
    assert max(map(cell_width, lines)) <= limit
    assert all(make_visible(line) == line for line in lines)
    text = "".join(lines)
    assert all(form.rstrip() in text for form in drawn.forms)


def test_chains_and_stars_of_2000_words_can_be_read_back() -> None:
    size = 2_000
    form = [f"w{number}w" for number in range(1, size + 1)]
    for heads in (range(size), [0] + [1] * (size - 1)):
        drawn = DrawnSentence(1, new_sentence(form, {"head": list(map(str, heads))}))
        read, _ = read_drawing(draw_plain(drawn))
        assert [head for head, _ in read.values()] == list(heads)
