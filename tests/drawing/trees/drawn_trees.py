"""Small sentences to draw, and random ones with any heads and any text."""

from hypothesis import strategies as st

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.drawing.trees.drawn_sentence import DrawnSentence

RELATIONS = ("_", "det", "nsubj:pass", "x", "主語")


def sentence(rows: str) -> Sentence:
    """Make a sentence from rows of form, UPOS, head and relation: "Dogs NOUN 2 nsubj | ..."."""
    form, upos, head, deprel = zip(*map(str.split, rows.split("|")), strict=True)
    return new_sentence(form, {"upos": upos, "head": head, "deprel": deprel})


def make_drawn(rows: str) -> DrawnSentence:
    """Make the content of a drawing of a sentence, as the first sentence of a file."""
    return DrawnSentence(1, sentence(rows))


DOGS = "Dogs NOUN 2 nsubj | bark VERB 0 root | . PUNCT 2 punct"
STORY = (
    "From ADP 3 case | the DET 3 det | AP PROPN 4 obl | comes VERB 0 root | "
    "this DET 6 det | story NOUN 4 nsubj | : PUNCT 4 punct"
)


@st.composite
def annotations(draw: st.DrawFn, size: int) -> tuple[list[int], list[str]]:
    """Draw heads and relations of `size` words, with missing heads, several roots and cycles."""
    heads = draw(st.lists(st.integers(-1, size), min_size=size, max_size=size))
    return heads, draw(st.lists(st.sampled_from(RELATIONS), min_size=size, max_size=size))


@st.composite
def numbered_sentences(draw: st.DrawFn, max_length: int = 25) -> Sentence:
    """Draw a sentence of the words w1w, w2w, ... with any heads."""
    size = draw(st.integers(1, max_length))
    heads, relations = draw(annotations(size))
    form = [f"w{number}w" for number in range(1, size + 1)]
    head_column = ["_" if head < 0 else str(head) for head in heads]
    return new_sentence(form, {"head": head_column, "deprel": relations})


@st.composite
def tree_pairs(draw: st.DrawFn) -> DrawnSentence:
    """Draw two trees over the same numbered words."""
    gold = draw(numbered_sentences())
    return DrawnSentence(1, gold, gold.with_tree(*draw(annotations(len(gold)))))


@st.composite
def unusual_texts(draw: st.DrawFn) -> DrawnSentence:
    """Draw a sentence of any characters that a file can contain, such as controls and emoji."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n")
    unusual = ["\x1b[31m", "שלום", "同樣", "e\u0301", "👨‍👩‍👧", "\u202e", "\u0301"]
    texts = st.text(characters, min_size=1) | st.sampled_from(unusual)
    size = draw(st.integers(1, 12))
    form, upos, deprel = (draw(st.lists(texts, min_size=size, max_size=size)) for _ in range(3))
    heads = draw(st.lists(st.integers(0, size), min_size=size, max_size=size))
    columns = {"upos": upos, "deprel": deprel, "head": list(map(str, heads))}
    return DrawnSentence(1, new_sentence(form, columns))
