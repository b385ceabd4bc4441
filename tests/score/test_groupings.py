"""All groupings on trees drawn by hand; the expected bins follow from the definitions."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from depkit.corpus.pairing import make_source
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.score.groupings import GROUPINGS, Groups, cross_groups, group_words
from depkit.score.words import Comparison, Words, read_comparison

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")


def treebank(*trees: str) -> list[Sentence]:
    """Parse trees of the form `word:head word:head ...`."""
    pairs = [[word.split(":") for word in tree.split()] for tree in trees]
    return [new_sentence([w for w, _ in tree], {"head": [h for _, h in tree]}) for tree in pairs]


# 1. A tree with one arc that is not projective, 6 -> 3, because 6 does not dominate 4 and 5.
#
#        4           predicted: 2 is the head of 3 and 3 the head of 2; 2 is the head of 1; 4 is the
#      / | \         root; 5 has no head; 6 is its own head; 4 is the head of 7, and does not
#     2  5  6        dominate 5 and 6 in between.
#     |    / \
#     1   3   7
#
# 2. The roots are 1 and 3, and there are the arcs 3 -> 4 and 4 -> 2, which crosses 3. Predicted:
#    the roots are 2 and 4, and there are the arcs 2 -> 1 and 4 -> 3.
# 3. Twelve words, of which each is the head of the next. Predicted: the first is the head of all.
CHAIN = " ".join(f"{chr(97 + i)}:{i}" for i in range(12))
FLAT = "a:0 " + " ".join(f"{chr(97 + i)}:1" for i in range(1, 12))
GOLD = treebank("a:2 b:4 c:6 d:0 e:4 f:4 g:6", "a:0 b:4 c:0 d:3", CHAIN)
PREDICTED = treebank("a:2 b:3 c:2 d:0 e:_ f:6 g:4", "a:2 b:0 c:4 d:0", FLAT)


def make_sentence(*rows: str) -> Sentence:
    """Make a sentence from its words: form, head, relation, UPOS, XPOS and FEATS."""
    form, *columns = map(list, zip(*(row.split() for row in rows), strict=True))
    return new_sentence(
        form, dict(zip(("head", "deprel", "upos", "xpos", "feats"), columns, strict=True))
    )


def compare(gold: list[Sentence], *systems: list[Sentence]) -> Comparison:
    return read_comparison(make_source(gold), [make_source(system) for system in systems], COLUMNS)


def get_bins(groups: Groups) -> list[str]:
    """Return the bin of each word, for single-valued groups."""
    assert groups.word_index.tolist() == list(range(len(groups.bin_index)))
    return [groups.labels[bin_index] for bin_index in groups.bin_index]


def group_bins(
    name: str, words: Comparison, bins: str | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return the bins of the gold words and of every system's words."""
    gold, systems = group_words(name, words, np.ones(words.size, bool), bins)
    assert all(groups.labels == gold.labels for groups in systems)
    return get_bins(gold), [get_bins(groups) for groups in systems]


BY_HAND = {
    "distance": (
        "1 2 3 root 1 2 1   root 2 root 1   root 1 1 1 1 1 1 1 1 1 1 1",
        "1 1 1 root none other 3   1 root 1 root   root 1 2 3 4 5 6 7 8 9 10- 10-",
    ),
    "signed-distance": (
        "1 2 3..6 root -1 -2 -1   root 2 root -1   root -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
        "1 1 -1 root none other -6..-3   1 root 1 root"
        "   root -1 -2 -6..-3 -6..-3 -6..-3 -6..-3 ..-7 ..-7 ..-7 ..-7 ..-7",
    ),
    "direction": (
        "right right right root left left left   root right root left   root" + 11 * " left",
        "right right left root none self left   right root right root   root" + 11 * " left",
    ),
    "depth": (  # 4 depends on the root, 2, 5, 6 depend on 4, and 1, 3, 7 depend on those
        "2 1 2 root 1 1 2   root 2 root 1   root 1 2 3 4 5 6 7 8 9 10- 10-",
        "none none none root none none 1   1 root 1 root   root 1 1 1 1 1 1 1 1 1 1 1",
    ),
    "branching": (
        "0 1 0 3 0 2 0   0 0 1 1   1 1 1 1 1 1 1 1 1 1 1 0",
        "0 2 1 1 0 1 0   0 1 0 1   5- 0 0 0 0 0 0 0 0 0 0 0",
    ),
    "siblings": (
        "0 2 1 0 2 2 1   1 0 1 0   0 0 0 0 0 0 0 0 0 0 0 0",
        "1 0 1 0 none 0 0   0 1 0 1   0 5- 5- 5- 5- 5- 5- 5- 5- 5- 5- 5-",
    ),
    "projectivity": (
        "+ + - + + + +   + - + +   + + + + + + + + + + + +",
        "+ + + + none + -   + + + +   + + + + + + + + + + + +",
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_bins_of_arcs_equal_those_by_hand(name: str) -> None:
    names = {"+": "projective", "-": "non-projective"} if name == "projectivity" else {}
    gold, predicted = ([names.get(x, x) for x in text.split()] for text in BY_HAND[name])
    assert group_bins(name, compare(GOLD, PREDICTED, GOLD)) == (gold, [predicted, gold])
    assert GROUPINGS[name].groups_arcs


def test_projectivity_of_all_head_vectors_equals_the_definition() -> None:
    """The vectors include cycles and words without a head; all are in one comparison.

    The published code of MaltEval differs: it reports some non-projective arcs with the head on the
    left as projective.
    """
    vectors = [heads for n in range(1, 6) for heads in product(range(-1, n + 1), repeat=n)]
    assert len(vectors) == 3 + 4**2 + 5**3 + 6**4 + 7**5
    starts = np.cumsum([0, *map(len, vectors)])
    gold = Words("", np.concatenate(vectors).astype(np.int32), {})
    words = Comparison(gold, [], starts, {}, [], [])
    expected = []
    for heads in vectors:
        ancestors = [find_ancestors(heads, word) for word in range(1, len(heads) + 1)]
        for word, head in enumerate(heads, 1):
            between = ancestors[min(word, head) : max(word, head) - 1]
            dominated = head <= 0 or all(head in words_above for words_above in between)
            expected.append(2 if head < 0 else int(not dominated))
    groups, _ = group_words("projectivity", words, np.ones(words.size, bool))
    assert groups.labels == ("projective", "non-projective", "none")
    assert groups.bin_index.tolist() == expected


def find_ancestors(heads: tuple[int, ...], word: int) -> set[int]:
    """Return the ancestors of a word."""
    result: set[int] = set()
    while (word := heads[word - 1]) > 0 and word not in result:
        result.add(word)
    return result


def test_bins_of_the_caller_are_used() -> None:
    words = compare(GOLD[:2], PREDICTED[:2])
    gold, systems = group_bins("distance", words, "1,2..")
    assert gold == "1 2.. 2.. root 1 2.. 1 root 2.. root 1".split()
    assert systems == ["1 1 1 root none other 2.. 1 root 1 root".split()]
    assert group_bins("signed-distance", words, "..-2,3-")[0] == (
        "other other 3- root other ..-2 other root other root other".split()
    )
    first, _ = group_words("signed-distance", words, np.ones(words.size, bool), "each")
    assert first.labels == ["root", "-3", "-2", "-1", "0", "1", "2", "3", "other", "none"]
    assert group_bins("signed-distance", words, "each")[1] == (
        ["1 1 -1 root none 0 -3 1 root 1 root".split()]
    )
    with pytest.raises(ValueError, match="bin '2-3' overlaps"):
        group_words("depth", words, np.ones(words.size, bool), "1-2,2-3")


# Nine words in sentences of five, one and three; all predicted tags and features are wrong. A row
# is form, head, relation, UPOS, XPOS and FEATS.
TAGGED = [
    make_sentence(
        "the 2 det DET DT Def=Def",
        "cats 3 nsubj:pass NOUN NNS Num=Plur|Case=Nom",
        "saw 0 root VERB VBD _",
        "the 5 det DET DT Def=Def",
        "dog 3 obj NOUN NN Num=Sing|Case=Acc",
    ),
    make_sentence("no 0 root INTJ _ _"),
    make_sentence(
        "The 2 det DET DT _",
        "cats 0 root NOUN NNS Case=Nom|Num=Plur",
        "! 2 punct PUNCT . _",
    ),
]
WRONG = {"upos": ["X"], "xpos": ["Y"], "feats": ["Z=1"]}
TAGGED_WRONGLY = [
    sentence.with_columns(
        {name: value * len(sentence) for name, value in WRONG.items()}
        | {"deprel": ["nsubj:outer" if x == "obj" else x for x in sentence.deprel]}
    )
    for sentence in TAGGED
]


RELATIONS_AND_TAGS = {
    "deprel": "det nsubj:pass root det obj  root  det root punct",
    "base-deprel": "det nsubj root det obj  root  det root punct",
    "upos": "DET NOUN VERB DET NOUN  INTJ  DET NOUN PUNCT",
    "xpos": "DT NNS VBD DT NN  _  DT NNS .",
}
# The predicted relation of the word whose gold relation is obj.
PREDICTED_RELATION = {"deprel": "nsubj:outer", "base-deprel": "nsubj"}


@pytest.mark.parametrize("name", RELATIONS_AND_TAGS)
def test_words_are_grouped_by_relations_and_tags(name: str) -> None:
    gold = RELATIONS_AND_TAGS[name].split()
    predicted = [PREDICTED_RELATION[name] if label == "obj" else label for label in gold]
    assert group_bins(name, compare(TAGGED, TAGGED_WRONGLY)) == (gold, [predicted])


def test_a_word_is_in_the_group_of_each_of_its_features() -> None:
    words = compare(TAGGED, TAGGED_WRONGLY)
    gold, (predicted,) = group_words("feats", words, np.ones(words.size, bool))
    word_digits = {label: "".join(map(str, words)) for label, words in words_by_bin(gold).items()}
    first = {"Def=Def": "03", "Case=Nom": "17", "Num=Plur": "17", "Case=Acc": "4"}
    assert word_digits == first | {"Num=Sing": "4", "_": "2568", "Z=1": ""}  # Z=1 is only predicted
    assert words_by_bin(predicted) == words_by_bin(gold)


def words_by_bin(groups: Groups) -> dict[str, list[int]]:
    """Return the words of each bin."""
    result: dict[str, list[int]] = {label: [] for label in groups.labels}
    for code, word in zip(groups.bin_index.tolist(), groups.word_index.tolist(), strict=True):
        result[groups.labels[code]].append(word)
    return result


def test_bins_are_ordered_by_scored_gold_words_then_alphabetically() -> None:
    words = compare(TAGGED, TAGGED_WRONGLY)

    def order(name: str, scored: list[int]) -> list[str]:
        return list(group_words(name, words, np.isin(np.arange(9), scored))[0].labels)

    indices = list(range(9))
    assert order("deprel", indices) == "det root nsubj:pass obj punct nsubj:outer".split()
    assert order("deprel", [1, 2]) == "nsubj:pass root det nsubj:outer obj punct".split()
    assert order("upos", indices) == "DET NOUN INTJ PUNCT VERB X".split()
    assert order("feats", indices) == ("_ Case=Nom Def=Def Num=Plur Case=Acc Num=Sing Z=1".split())
    assert order("feats", [1, 7]) == "Case=Nom Num=Plur Case=Acc Def=Def Num=Sing Z=1 _".split()


def test_words_are_grouped_by_length_and_position() -> None:
    words = compare([*GOLD, TAGGED[1]], [*PREDICTED, TAGGED[1]])
    lengths = ["1-9"] * 11 + ["10-19"] * 12 + ["1-9"]
    assert group_bins("length", words) == (lengths, [lengths])
    positions = (
        "1 2 3-5 3-5 3-5 6-10 6-10   1 2 3-5 3-5"
        "   1 2 3-5 3-5 3-5 6-10 6-10 6-10 6-10 6-10 11-20 11-20   1"
    ).split()
    assert group_bins("position", words) == (positions, [positions])
    assert group_bins("length", words, "each")[0] == ["7"] * 7 + ["4"] * 4 + ["12"] * 12 + ["1"]


def test_words_are_grouped_by_training_frequency() -> None:
    train = Counter({"the": 2, "cats": 3, "dog": 1, "saw": 0, "no": 101})
    words = replace(compare(TAGGED, TAGGED_WRONGLY), train_frequencies=train)
    bins = "2 3-5 0 2 1   101-   0 3-5 0".split()  # "The" and "the" are different forms
    assert group_bins("frequency", words) == (bins, [bins])
    known = ["unknown" if bin == "0" else "known" for bin in bins]
    assert group_bins("oov", words) == (known, [known])
    assert group_bins("frequency", words, "0,1-")[0] == "1- 1- 0 1- 1-  1-  0 1- 0".split()


def test_crossed_groups_are_all_pairs() -> None:
    words = compare(TAGGED, TAGGED_WRONGLY)
    all_words = np.ones(words.size, bool)
    direction, (predicted_direction,) = group_words("direction", words, all_words)
    relation, (predicted_relation,) = group_words("deprel", words, all_words)
    gold = cross_groups(direction, relation)
    assert gold.labels[:2] == ["root × det", "root × root"]
    assert len(gold.labels) == 5 * 6
    sides = "right right root right left root right root left".split()
    relations = "det nsubj:pass root det obj root det root punct".split()
    assert get_bins(gold) == [" × ".join(pair) for pair in zip(sides, relations, strict=True)]
    assert (
        get_bins(cross_groups(predicted_direction, predicted_relation))[4] == "left × nsubj:outer"
    )


@pytest.mark.parametrize("feats_first", [True, False])
def test_crossing_with_features_repeats_the_words(feats_first: bool) -> None:
    words = compare(TAGGED, TAGGED_WRONGLY)
    all_words = np.ones(words.size, bool)
    feats, _ = group_words("feats", words, all_words)
    direction, _ = group_words("direction", words, all_words)
    both = cross_groups(feats, direction) if feats_first else cross_groups(direction, feats)
    nonempty_bins = {label: word for label, word in words_by_bin(both).items() if word}
    case = {"Case=Nom right": [1], "Case=Nom root": [7], "Case=Acc left": [4]}
    number = {"Num=Plur right": [1], "Num=Plur root": [7], "Num=Sing left": [4]}
    others = {"Def=Def right": [0, 3], "_ root": [2, 5], "_ right": [6], "_ left": [8]}
    pairs = case | number | others
    step = 1 if feats_first else -1
    assert nonempty_bins == {" × ".join(pair.split()[::step]): word for pair, word in pairs.items()}


def test_unknown_groupings_and_unused_bins_are_an_error() -> None:
    words = compare(GOLD, PREDICTED)
    all_words = np.ones(words.size, bool)
    with pytest.raises(
        ValueError, match="there is no grouping 'colour'; choose from distance, signed-dist"
    ):
        group_words("colour", words, all_words)
    for name in GROUPINGS:
        if GROUPINGS[name].compute_groups:
            with pytest.raises(
                ValueError, match=f"'{name}' is not by a number, so it cannot have bins"
            ):
                group_words(name, words, all_words, "1,2")


def test_every_grouping_is_tested() -> None:
    others = "deprel base-deprel upos xpos feats length position frequency oov enhancement"
    assert set(GROUPINGS) == {*BY_HAND, *others.split()}
    assert {name for name in GROUPINGS if GROUPINGS[name].groups_arcs} == {
        *BY_HAND, "deprel", "base-deprel", "enhancement",
    }  # fmt: skip
