from pathlib import Path

import pytest
from small_treebank import GOLD, PREDICTED, conllu

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.score.attachment import Data, read_data
from depkit.score.mistakes import CONFUSIONS, confusion_rows, worst_sentence_rows
from tests.corpus.rows import parse


def sentence(*columns: str) -> Sentence:
    """Make a sentence from its forms, heads, relations, UPOS and XPOS."""
    form, *others = (column.split() for column in columns)
    names = ("head", "deprel", "upos", "xpos")
    return new_sentence(form, dict(zip(names, others, strict=True)))


# There are two systems. Below, words are named by their letters.
GOLD_TREES = [
    sentence("a b c d .", "2 0 2 3 2", "det root obj nmod punct", "D V N N P", "d v n n p"),
    sentence("e f", "0 1", "root obj", "V N", "v n"),
    sentence("g h i", "2 0 2", "det root obj", "D N N", "d n n"),
]
FIRST = [
    # Wrong heads: a for c (gold b), b for d (gold c), the root for the dot (gold b). The relation
    # obj is nmod here and in the next sentence.
    sentence("a b c d .", "2 0 1 2 0", "det root nmod nmod root", "D V N V P", "d v n v p"),
    # f has no head (gold e).
    sentence("e f", "0 _", "root nmod", "V N", "v n"),
    # Wrong heads: i for h (gold root), i for i (gold h).
    sentence("g h i", "2 3 3", "det obj dep", "N N V", "n n x"),
]
SECOND = [
    *GOLD_TREES[:2],
    # Wrong heads: i for h (gold root), i for i (gold h).
    sentence("g h i", "2 3 3", "root root obj", "D N N", "d n n"),
]


def data(punct: str = "keep") -> Data:
    return read_data(GOLD_TREES, [FIRST, SECOND], {"form"}, punct=punct)


def short_rows(confusion: str, top: int | None = None, punct: str = "keep") -> list[str]:
    """Return the rows as short texts: gold, predicted, count, share."""
    rows = confusion_rows(data(punct), confusion, top)
    assert {row["confusion"] for row in rows} == {confusion}
    assert {row["system"] for row in rows} == {""}
    return [f"{row['gold']} {row['predicted']} {row['count']} {row['share']:.4g}" for row in rows]


def test_confusions_of_relations_are_counted() -> None:
    # The gold file has three obj, three root, two det, one nmod and one punct.
    first = ["obj nmod 2 66.67", "obj dep 1 33.33", "punct root 1 100", "root obj 1 33.33"]
    assert short_rows("deprel") == [*first, "det root 1 50"]
    assert short_rows("deprel", 2) == [*first[:2], "det root 1 50"]


def test_confusions_of_tags_are_counted() -> None:
    # The gold file has five N, two D, two V and one P.
    assert short_rows("upos") == ["N V 2 40", "D N 1 50"]
    assert short_rows("xpos") == ["d n 1 50", "n v 1 20", "n x 1 20"]


def test_confusions_of_heads_are_counted_by_their_gold_tags() -> None:
    # The gold heads: b (V) of a, c and the dot; c (N) of d; e (V) of f; h (N) of g and i; the root
    # of three words. The wrong heads of the first system: a (D) of c, b (V) of d, the root of the
    # dot, none of f, i (N) of h, i (N) of i. The second system has only the last two errors.
    assert short_rows("head") == [
        "N N 1 33.33", "N V 1 33.33", "ROOT N 1 33.33",
        "V D 1 25", "V ROOT 1 25", "V none 1 25",
        "N N 1 33.33", "ROOT N 1 33.33",
    ]  # fmt: skip


def test_punctuation_is_excluded_from_confusions() -> None:
    assert "punct root 1 100" not in short_rows("deprel", punct="unicode")
    heads = short_rows("head", punct="unicode")
    # The shares are of three words, because the dot is excluded.
    assert heads[3:5] == ["V D 1 33.33", "V none 1 33.33"]


def test_confusions_of_tags_are_counted_in_all_words() -> None:
    for kind in ("upos", "xpos"):
        assert short_rows(kind, punct="tags:v") == short_rows(kind)
    gold = [sentence("a .", "0 1", "root punct", "N P", "n p")]
    predicted = [sentence("a .", "0 1", "root punct", "N X", "n x")]
    (row,) = confusion_rows(read_data(gold, [predicted], punct="unicode"), "upos")
    assert (row["gold"], row["predicted"], row["count"], row["share"]) == ("P", "X", 1, 100.0)


def test_a_wrong_head_with_the_correct_tag_is_a_confusion() -> None:
    gold = [sentence("a b c", "0 1 1", "r s t", "N N N", "_ _ _")]
    predicted = [sentence("a b c", "0 1 2", "r s t", "N N N", "_ _ _")]
    (row,) = confusion_rows(read_data(gold, [predicted]), "head")
    assert row == {
        "system": "", "confusion": "head", "gold": "N", "predicted": "N", "count": 1, "share": 50.0,
    }  # fmt: skip


def test_subtypes_are_confused_only_if_they_are_kept() -> None:
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    full, dropped = (read_data(gold, [predicted], subtypes=x) for x in ("keep", "drop"))
    assert [(row["gold"], row["predicted"]) for row in confusion_rows(full, "deprel")] == [
        ("nsubj:pass", "nsubj"), ("punct", "dep"),
    ]  # fmt: skip
    assert [(row["gold"], row["predicted"]) for row in confusion_rows(dropped, "deprel")] == [
        ("punct", "dep")
    ]


def test_an_unknown_confusion_is_an_error() -> None:
    assert list(CONFUSIONS) == ["deprel", "upos", "xpos", "head"]
    with pytest.raises(ValueError, match="no confusion of 'lemma'; choose from deprel, upos"):
        confusion_rows(data(), "lemma")


def worst_sentences(metric: str, top: int, punct: str = "keep") -> list[tuple[int, int, int, str]]:
    rows = worst_sentence_rows(data(punct), metric, top)
    assert {(row["system"], row["metric"], row["place"]) for row in rows} == {("", metric, "")}
    return [(row["errors"], row["scored"], row["sentence"], row["text"]) for row in rows]


def test_worst_sentences_have_the_most_errors() -> None:
    long, short, last = (5, 1, "a b c d ."), (2, 2, "e f"), (3, 3, "g h i")
    # The first system has three wrong heads in the first sentence, one in the second and two in the
    # third; the second system has two in the third.
    assert worst_sentences("UAS", 3) == [(3, *long), (2, *last), (1, *short), (2, *last)]
    assert worst_sentences("UAS", 1) == [(3, *long), (2, *last)]
    # The first system has two, one and two wrong relations, and the shorter sentence comes first;
    # the second system has one.
    assert worst_sentences("LA", 9) == [(2, *last), (2, *long), (1, *short), (1, *last)]
    # The first system has head and relation correct for a, b, e and g, the second for all words
    # except the three of the third sentence.
    assert worst_sentences("LAS", 9) == [(3, *long), (2, *last), (1, *short), (3, *last)]
    assert worst_sentences("XPOS", 9) == [(2, *last), (1, *long)]


def test_worst_sentences_do_not_count_excluded_punctuation() -> None:
    long, short, last = (4, 1, "a b c d ."), (2, 2, "e f"), (3, 3, "g h i")
    assert worst_sentences("UAS", 2, "unicode") == [(2, *last), (2, *long), (2, *last)]
    assert worst_sentences("LA", 9, "unicode") == [(2, *last), (1, *short), (1, *long), (1, *last)]


def test_worst_sentences_have_their_location(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    gold.write_text(conllu(GOLD))
    system.write_text(conllu(PREDICTED))
    assert worst_sentence_rows(read_data(gold, [system], {"form"}), "LAS", 5) == [
        {
            "system": str(system), "metric": "LAS", "errors": 2, "scored": 8, "sentence": 1,
            "place": f"{gold}:2", "sent_id": "s1", "text": "The cats , ( sleep ) $ .",
        },
        {
            "system": str(system), "metric": "LAS", "errors": 1, "scored": 3, "sentence": 2,
            "place": f"{gold}:12", "sent_id": "s2", "text": "Go _ !",
        },
    ]  # fmt: skip
