import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.drawing.trees.arcs import draw
from depkit.drawing.trees.cells import cell_width, visible
from depkit.drawing.trees.shown import Arc, Shown
from tests.drawing.trees.drawn_trees import DOGS, STORY, messy, numbered, pairs, sentence, shown
from tests.drawing.trees.read_drawing import read_drawing


def plain(shown: Shown, width: int = 100) -> list[str]:
    return list(draw(shown, width, False))


def picture(text: str) -> list[str]:
    """The lines of a drawing in this file, whose first is empty and which is indented."""
    return [line.removeprefix("    ").rstrip() for line in text.splitlines()[1:-1]]


PICTURES = {  # the sentence, and how it is drawn
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
    "an arc shorter than those to dependents stays under them": """
    magnam ADJ 3 amod | vidit VERB 0 root | urbem NOUN 2 obj
            root
       ╭──────┼─amod────╮
       │      │ ╭─obj─╮ │
       ▼      ▼ │     ▼ │
    magnam   vidit   urbem
      ADJ    VERB    NOUN
    """,
    "a label stands beside a line that crosses its own": """
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


@pytest.mark.parametrize("text", PICTURES.values(), ids=PICTURES)
def test_pictures(text: str) -> None:
    rows, *drawn = picture(text)
    assert plain(shown(rows)) == drawn


def test_wrapped() -> None:
    assert plain(shown(STORY), 40) == picture(
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


def test_fine_tags_without_universal_ones_and_none_without_any() -> None:
    untagged = sentence("Dogs _ 0 root")
    assert plain(Shown(1, untagged)) == ["root", "  ▼", "Dogs"]
    fine = untagged.with_columns({"xpos": ["NNS"]})
    assert plain(Shown(1, fine)) == ["root", "  ▼", "Dogs", " NNS"]


def test_differences() -> None:
    gold = sentence(STORY)
    predicted = gold.with_tree(
        [3, 3, 4, 0, 6, 3, -1], [*gold.deprel[:2], "nsubj", *gold.deprel[3:]]
    )
    assert plain(Shown(1, gold, predicted)) == picture(
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


def test_colours() -> None:
    gold = sentence(DOGS)
    different = Shown(1, gold, gold.with_tree([2, 0, 1], gold.deprel))
    coloured = list(draw(different, 100, True))
    assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == plain(different)
    assert "\x1b[32m╭─punct─╮\x1b[0m" in coloured[1]
    assert coloured[-1] == "  \x1b[31m╰──────✗punct───────╯\x1b[0m"
    assert not any("\x1b" in line for line in draw(shown(DOGS), 100, True))


def test_a_shared_stem_has_the_colour_of_what_is_wrong() -> None:
    gold = sentence("a X 0 root | b X 1 x | c X 1 y")
    lines = list(draw(Shown(1, gold, gold.with_tree([0, 1, 2], gold.deprel)), 100, True))
    assert "\x1b[32m├\x1b[0m─x──╮" in lines[2]
    lines = list(draw(Shown(1, gold, gold.with_tree([0, 3, 1], gold.deprel)), 100, True))
    assert "\x1b[32m├─x──╮\x1b[0m" in lines[2]


def expected(arcs: Iterable[Arc]) -> dict[int, tuple[int, str]]:
    """What is to be read back; a word's arc to itself is drawn straight up."""
    return {arc.dependent: (0 if arc.upright else arc.head, arc.label) for arc in arcs}


@given(numbered(), st.integers(40, 160))
def test_any_tree_can_be_read_back(sentence: Sentence, width: int) -> None:
    shown = Shown(1, sentence)
    lines = plain(shown, width)
    assert read_drawing(lines) == (expected(shown.arcs()), {})
    assert max(map(cell_width, lines)) <= width


@given(pairs(), st.integers(60, 160))
def test_any_difference_can_be_read_back(shown: Shown, width: int) -> None:
    lines = plain(shown, width)
    assert read_drawing(lines) == (expected(shown.arcs()), expected(shown.wrong_arcs()))
    assert max(map(cell_width, lines)) <= width


@given(numbered(), st.integers(40, 60))
def test_long_labels_are_clipped(sentence: Sentence, width: int) -> None:
    long = sentence.with_tree(sentence.head, ["y" * 80] * len(sentence))
    shown = Shown(1, long)
    lines = plain(shown, width)
    assert max(map(cell_width, lines)) <= width
    read, _ = read_drawing(lines)
    assert {word: head for word, (head, _) in read.items()} == {
        word: head for word, (head, _) in expected(shown.arcs()).items()
    }


@given(messy(), st.integers(40, 100))
def test_any_text_stays_within_the_width_and_drives_nothing(shown: Shown, width: int) -> None:
    lines = plain(shown, width)
    widest = max(map(cell_width, (*shown.forms, *shown.tags)))
    # beside every word may stand the numbers of words in other blocks, outside if it is too wide
    marks = 16 + 3 * len(str(len(shown.forms)))
    limit = width if widest < width - marks else max(width, widest) + marks
    assert max(map(cell_width, lines)) <= limit
    assert all(visible(line) == line for line in lines)
    drawn = "".join(lines)
    assert all(form.rstrip() in drawn for form in shown.forms)


def test_wide_trees_at_once() -> None:
    """A chain and a star of 2 000 words, in blocks."""
    size = 2_000
    form = [f"w{number}w" for number in range(1, size + 1)]
    for heads in (range(size), [0] + [1] * (size - 1)):
        shown = Shown(1, new_sentence(form, {"head": list(map(str, heads))}))
        read, _ = read_drawing(plain(shown))
        assert [head for head, _ in read.values()] == list(heads)
