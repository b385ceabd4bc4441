"""Pairing, alignment and agreement of two annotations."""

from collections import Counter
from itertools import pairwise, product

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.score.differences import Agreement, align_words, pair_by_id


def sentence(forms: str, sent_id: str = "", **columns) -> Sentence:
    comments = {"sent_id": sent_id} if sent_id else {}
    return Sentence.from_words(forms.split(), comments, **columns)


def differences(first: Sentence, second: Sentence) -> list[tuple]:
    return [
        (x.word, x.form, x.column, x.first, x.second) for x in Agreement().compare(first, second)
    ]


def test_sentences_are_paired_by_sent_id_and_then_by_text() -> None:
    first = [sentence("a", "1"), sentence("b", "2"), sentence("c"), sentence("d", "4"),
             sentence("e", "5"), sentence("f", "6")]  # fmt: skip
    second = [sentence("b", "2"), sentence("x", "1"), sentence("d", "40"), sentence("c"),
              sentence("g", "7"), sentence("f", "6"), sentence("f", "6")]  # fmt: skip
    pairs = [
        tuple(x and (x.sent_id, x.form[0]) for x in pair) for pair in pair_by_id(first, second)
    ]
    assert sorted(pairs, key=str) == sorted(
        [
            (("1", "a"), ("1", "x")), (("2", "b"), ("2", "b")), (("", "c"), ("", "c")),
            (("6", "f"), ("6", "f")), (("4", "d"), ("40", "d")), (("5", "e"), None),
            (None, ("7", "g")), (None, ("6", "f")),
        ],
        key=str,
    )  # fmt: skip


@pytest.mark.parametrize("first", ["".join(x) for n in range(4) for x in product("ab", repeat=n)])
def test_words_are_aligned_by_a_longest_common_subsequence(first: str) -> None:
    for second in ("", "a", "ab", "bab", "aabb"):
        pairs = align_words(tuple(first), tuple(second))
        assert all(first[i] == second[j] for i, j in pairs)
        assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(pairs))
        longest = max(
            sum(1 for _ in chosen)
            for mask in range(1 << len(first))
            if is_subsequence(chosen := [x for i, x in enumerate(first) if mask >> i & 1], second)
        )
        assert len(pairs) == longest


def is_subsequence(letters: list[str], text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def test_differences_name_the_word_and_the_column() -> None:
    first = sentence(
        "the dog barks", "1", upos=["DET", "NOUN", "VERB"], head=[2, 3, 0],
        deprel=["det", "nsubj", "root"],
    )  # fmt: skip
    second = sentence(
        "the dog barks", "1", upos=["DET", "NOUN", "NOUN"], head=[3, 3, 0],
        deprel=["det", "obj", "root"],
    )  # fmt: skip
    assert differences(first, second) == [
        (3, "barks", "upos", "VERB", "NOUN"),
        (1, "the", "head", "2:dog", "3:barks"),
        (2, "dog", "deprel", "nsubj", "obj"),
    ]
    assert differences(first, first) == []


def test_a_head_is_the_same_word_even_if_its_number_changes() -> None:
    first = sentence("dogs bark", head=[2, 0], deprel=["nsubj", "root"])
    second = sentence("The dogs bark", head=[2, 3, 0], deprel=["det", "nsubj", "root"])
    assert differences(first, second) == [(0, "The", "words", "", "The")]
    third = sentence("dogs bark bark", head=[3, 0, 2], deprel=["nsubj", "root", "dep"])
    assert differences(first, third) == [
        (0, "bark", "words", "", "bark"),
        (1, "dogs", "head", "2:bark", "3:bark (not aligned)"),
    ]
    # Another head has its number in the first sentence.
    first = sentence("dogs bark", head=[0, 1], deprel=["root", "dep"])
    assert differences(first, second)[1] == (1, "dogs", "head", "0:root", "2:bark")


def rows(*lines: str) -> Sentence:
    (result,) = read([line.replace(" ", "\t") + "\n" for line in lines], "conllu")
    return result


def test_deps_and_multiword_tokens_are_the_same_if_only_numbers_of_words_change() -> None:
    first = rows(
        "1 vamos _ _ _ _ 0 root 0:root _",
        "2-3 al _ _ _ _ _ _ _ _",
        "2 a _ _ _ _ 3 case 3:case|3.1:x _",
        "3 el _ _ _ _ 1 obl 1:obl|2:x _",
        "3.1 e _ _ _ _ _ _ 3:dep _",
    )
    second = rows(
        "1 Nos _ _ _ _ 2 obj 2:obj _",
        "2 vamos _ _ _ _ 0 root 0:root _",
        "3-4 al _ _ _ _ _ _ _ _",
        "3 a _ _ _ _ 4 case 4.1:x|4:case _",
        "4 el _ _ _ _ 2 obl 2:obl|3:x _",
        "4.1 e _ _ _ _ _ _ 4:dep _",
    )
    assert differences(first, second) == [(0, "Nos", "words", "", "Nos")]
    other = second.with_columns(
        {"deps": ["2:obj", "0:root", "4:case|4.1:x", "1:obl|3:x"]}  # a word that is not in `first`
    )
    assert differences(first, other)[1:] == [
        (3, "el", "deps", "1:obl|2:x", "1 not aligned:obl|2:x")
    ]


def test_of_several_relations_the_one_with_a_head_that_is_not_aligned_differs() -> None:
    first = rows(
        "1 a _ _ _ _ 0 root 0:root _", "2 b _ _ _ _ 1 x 1:x _", "3 c _ _ _ _ 1 x 1:x|2:y _"
    )
    second = rows(
        "1 z _ _ _ _ 2 x 2:x _", "2 a _ _ _ _ 0 root 0:root _", "3 b _ _ _ _ 2 x 2:x _",
        "4 c _ _ _ _ 2 x 1:x|3:y _",
    )  # fmt: skip
    assert differences(first, second) == [
        (0, "z", "words", "", "z"),
        (3, "c", "deps", "1:x|2:y", "1 not aligned:x|2:y"),
    ]


def test_the_order_of_features_is_no_difference() -> None:
    first = sentence("a", feats=["Mood=Ind|Tense=Pres"])
    assert differences(first, sentence("a", feats=["Tense=Pres|Mood=Ind"])) == []
    assert differences(first, sentence("a", feats=["Tense=Past|Mood=Ind"])) == [
        (1, "a", "feats", "Mood=Ind|Tense=Pres", "Mood=Ind|Tense=Past")
    ]


def test_comments_and_multiword_tokens_are_compared() -> None:
    first = sentence("do n't", "1").with_comment("text", "don't")
    second = sentence("do n't", "1").with_comment("text", "do n't")
    assert differences(first, second) == [(0, "", "comments", "# text = don't", "# text = do n't")]


def test_kappa_is_that_of_the_definition() -> None:
    agreement = Agreement()
    labels = [("A", "A")] * 20 + [("A", "B")] * 5 + [("B", "A")] * 10 + [("B", "B")] * 15
    for first, second in labels:
        list(agreement.compare(sentence("x", upos=[first]), sentence("x", upos=[second])))
    # The example of the article on Cohen's kappa in Wikipedia: 0.7 observed, 0.5 expected.
    assert agreement.kappa("upos") == pytest.approx(0.4)
    assert agreement.share("upos") == pytest.approx(70)
    assert agreement.pairs["upos"] == Counter(labels)
    assert agreement.kappa("head") is None
    # All labels are the same, so chance explains the agreement.
    assert agreement.kappa("xpos") is None


def test_attachment_agreement() -> None:
    agreement = Agreement()
    first = sentence("a b c d", head=[2, 0, 2, 3], deprel=["x", "root", "y", "z"])
    second = sentence("a b c d", head=[2, 0, 2, 2], deprel=["x", "root", "x", "z"])
    list(agreement.compare(first, second))
    assert [agreement.share(name) for name in ("head", "deprel", "arc")] == [75, 75, 50]
    assert agreement.relations == {
        "x": [1, 0, 0], "root": [1, 0, 0], "y": [1, 0, 1], "z": [1, 1, 0]
    }  # fmt: skip


class CountingLine(str):
    """A line that counts how often lines are compared."""

    __slots__ = ()
    __hash__ = str.__hash__
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountingLine.comparisons += 1
        return str.__eq__(self, other)


def test_other_comments_are_not_searched_in_all_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {
        side: [CountingLine(f"# {i} = {i if i % 50 else side}") for i in range(200)]
        for side in ("a", "b")
    }
    monkeypatch.setattr(
        "depkit.score.differences._other_lines",
        lambda sentence, name: lines[sentence.form[0]] if name == "comments" else [],
    )
    first, second = (Sentence.from_words([side]) for side in lines)
    found = [x for x in Agreement().compare(first, second) if x.column == "comments"]
    assert [(x.first, x.second) for x in found] == [
        tuple(" ".join(f"# {i} = {side}" for i in range(0, 200, 50)) for side in lines)
    ]
    assert CountingLine.comparisons < 1000
