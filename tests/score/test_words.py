from pathlib import Path

import numpy as np
import pytest
from small_treebank import GOLD, PREDICTED, conllu

from depkit.corpus.pairing import make_source
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import FormatError
from depkit.score.words import Codes, Comparison, read_comparison

COLUMNS = ("form", "upos", "feats", "deprel")


def two_sentences(heads: str, deprels: str = "", feats: str = "") -> list[Sentence]:
    """Make a sentence of two words and a sentence of one word."""
    columns = {"head": heads, "deprel": deprels or "r s t", "feats": feats or "_ _ _"}
    split = {name: text.split() for name, text in columns.items()}
    return [
        new_sentence(["a", "b"], {name: values[:2] for name, values in split.items()}),
        new_sentence(["a"], {name: values[2:] for name, values in split.items()}),
    ]


def compare(*files: list[Sentence], subtypes: str = "keep") -> Comparison:
    gold, *systems = (make_source(file) for file in files)
    return read_comparison(gold, systems, COLUMNS, subtypes=subtypes)


def test_words_of_all_sentences_are_concatenated() -> None:
    words = compare(two_sentences("2 0 0"), two_sentences("_ 1 1"))
    assert (words.size, words.starts.tolist(), words.lengths.tolist()) == (3, [0, 2, 3], [2, 1])
    assert words.sentence_index.tolist() == [0, 0, 1]
    assert words.number.tolist() == [1, 2, 1]
    assert words.gold.head.tolist() == [2, 0, 0]
    assert words.systems[0].head.tolist() == [-1, 1, 1]
    forms = words.map_values(words.gold, "form", str.upper)
    assert forms.tolist() == ["A", "B", "A"]


def test_values_are_summed_by_sentence() -> None:
    words = compare(two_sentences("2 0 0"))
    assert words.sum_by_sentence(np.array([True, True, False])).tolist() == [2, 0]
    assert words.sum_by_sentence(np.array([[1, 10], [2, 20], [3, 30]])).tolist() == [
        [3, 30],
        [3, 30],
    ]


def test_a_value_has_the_same_code_in_every_file() -> None:
    words = compare(two_sentences("2 0 0", "x y x"), two_sentences("2 0 0", "y y z"))
    assert words.values["deprel"] == ["x", "y", "z"]
    assert words.gold.codes["deprel"].tolist() == [0, 1, 0]
    assert words.systems[0].codes["deprel"].tolist() == [1, 1, 2]


def test_subtypes_are_dropped_on_request() -> None:
    files = two_sentences("2 0 0", "x:a x:b y"), two_sentences("2 0 0", "x x y:c")
    full, dropped = compare(*files), compare(*files, subtypes="drop")
    assert sorted(full.values["deprel"]) == ["x", "x:a", "x:b", "y", "y:c"]
    assert dropped.values["deprel"] == ["x", "y"]
    assert dropped.gold.codes["deprel"].tolist() == dropped.systems[0].codes["deprel"].tolist()
    with pytest.raises(ValueError, match="subtypes must be 'keep' or 'drop', not 'cut'"):
        compare(*files, subtypes="cut")


def test_the_order_of_features_does_not_matter() -> None:
    words = compare(
        two_sentences("2 0 0", feats="B=1|A=1 A=1|B=1 A=1"),
        two_sentences("2 0 0", feats="A=1 _ B=1"),
    )
    assert words.values["feats"] == ["A=1|B=1", "A=1", "_", "B=1"]
    assert words.gold.codes["feats"].tolist() == [0, 0, 1]
    codes = Codes(str.lower)
    assert [codes[x] for x in ("B", "b", "A", "a", "B")] == [0, 0, 1, 1, 0]
    assert codes.values_by_code == ["b", "a"]


def test_blank_columns_are_recognised() -> None:
    words = compare(two_sentences("2 0 0", "_ _ _", "_ _ A=1"))
    assert words.is_blank(words.gold, "deprel")
    assert not words.is_blank(words.gold, "feats")


def test_comparisons_have_locations_and_reject_missing_heads(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.conllu", tmp_path / "other.conllu"
    gold.write_text(conllu(GOLD))
    system.write_text(conllu(PREDICTED))
    words = read_comparison(make_source(gold), [make_source(system)], COLUMNS, locations=True)
    assert words.locations == [(str(gold), 2, "s1"), (str(gold), 12, "s2")]
    assert words.gold.name == str(gold)
    assert [result.name for result in words.systems] == [str(system)]
    assert "form" not in words.systems[0].codes  # forms are the same in every file
    with pytest.raises(FormatError, match="word 1 of sentence 2, 'a', has no head in the gold"):
        compare(two_sentences("2 0 _"), two_sentences("2 0 0"))
    with pytest.raises(FormatError, match="no sentences to score against"):
        compare([], [])
