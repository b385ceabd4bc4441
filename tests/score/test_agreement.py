"""Agreement of pairs of systems: hand-computed values, and random parses against definitions."""

from itertools import permutations

import pytest
from random_parses import Parse, Word, compared_values, random_parses, sentences

from depkit.score.agreement import agreement_rows
from depkit.score.analysis import View, group_gold
from depkit.score.attachment import Data, read_data

# Heads and relations. FIRST has the correct head and relation for word 1, and the correct head for
# words 1 and 2. SECOND has both for words 1 and 2, and the correct head for words 1, 2 and 4.
GOLD = [[Word(2, "a"), Word(0, "b"), Word(2, "c"), Word(3, "d")]]
FIRST = [[Word(2, "a"), Word(0, "x"), Word(1, "c"), Word(1, "d")]]
SECOND = [[Word(2, "a"), Word(0, "b"), Word(1, "x"), Word(3, "x")]]


def read(gold: Parse, *systems: Parse, **options: str) -> Data:
    return read_data(sentences(gold), [sentences(system) for system in systems], **options)  # type: ignore[arg-type]


def test_agreement_of_two_systems_equals_counts_by_hand() -> None:
    first, second = agreement_rows(read(GOLD, FIRST, SECOND))
    assert first == {
        "by": None, "metric": "LAS", "bin": "all", "system": "", "other": "", "words": 4,
        "correct": 1, "agreed": 1, "common_errors": 2, "score": 25.0, "agreement": 25.0,
        "complementarity": pytest.approx(100 / 3), "oracle": 50.0, "all_right": 25.0,
    }  # fmt: skip
    assert (second["correct"], second["score"], second["complementarity"]) == (2, 50.0, 0.0)


def test_words_are_binned_by_their_gold_heads() -> None:
    # The distances of the gold heads are 1, root, 1, 1; the predicted ones differ.
    data = read(GOLD, FIRST, SECOND)
    groups = group_gold(data, View(("distance",), ("1,2",), "UAS"))
    # Each bin has a row for (first, second) and one for (second, first); compare the former.
    rows = agreement_rows(data, "UAS", groups, "distance")[::2]
    assert [(row["bin"], row["words"], row["score"], row["oracle"]) for row in rows] == [
        ("root", 1, 100.0, 100.0), ("1", 3, pytest.approx(100 / 3), pytest.approx(200 / 3)),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_agreement_of_random_parses_equals_the_definitions(seed: int) -> None:
    gold, systems = random_parses(seed, 2 + seed % 3)
    metric, subtypes = ("UAS", "LAS")[seed % 2], ("keep", "drop")[seed % 5 == 0]
    # Punctuation can be ignored only if there are other words.
    has_words = any(word.deprel != "punct" for tree in gold for word in tree)
    ignore_punct = seed % 3 == 0 and has_words
    data = read(gold, *systems, punct="deprel" if ignore_punct else "keep", subtypes=subtypes)
    groups = group_gold(data, View(("position",), ("each",), metric))
    binned = agreement_rows(data, metric, groups, "position")
    total = agreement_rows(data, metric)

    # For each bin and word, the compared values of the gold tree and of each system.
    answers_by_bin: dict[str, list[list[tuple[int, str]]]] = {"all": []}
    for trees in zip(gold, *systems, strict=True):
        for number, words in enumerate(zip(*trees, strict=True), start=1):
            if not (ignore_punct and words[0].deprel == "punct"):
                answers = [compared_values(word, metric, subtypes) for word in words]
                answers_by_bin["all"].append(answers)
                answers_by_bin.setdefault(str(number), []).append(answers)

    expected = {}
    for label, words in answers_by_bin.items():
        for i, j in permutations(range(1, len(systems) + 1), 2):
            wrong = [answers for answers in words if answers[i] != answers[0]]
            expected[label, i, j] = {
                "words": len(words),
                "correct": sum(answers[i] == answers[0] for answers in words),
                "agreed": sum(answers[i] == answers[j] for answers in words),
                "common_errors": sum(answers[j] != answers[0] for answers in wrong),
                "score": percentage([answers[i] == answers[0] for answers in words]),
                "agreement": percentage([answers[i] == answers[j] for answers in words]),
                "complementarity": percentage([answers[j] == answers[0] for answers in wrong]),
                "oracle": percentage([answers[0] in answers[1:] for answers in words]),
                "all_right": percentage([len(set(answers)) == 1 for answers in words]),
            }
    labels = sorted(set(answers_by_bin) - {"all"}, key=int)
    pairs = list(permutations(range(1, len(systems) + 1), 2))
    order = [(label, *pair) for label in [*labels, "all"] for pair in pairs]
    for row, label_and_pair in zip([*binned, *total], order, strict=True):
        values = expected[label_and_pair]
        assert row["bin"] == label_and_pair[0]
        assert {key: row[key] for key in values} == pytest.approx(values)


def percentage(outcomes: list[bool]) -> float | None:
    return 100 * sum(outcomes) / len(outcomes) if outcomes else None


def test_other_metrics_and_single_systems_are_an_error() -> None:
    with pytest.raises(ValueError, match="agreement is measured for UAS or LAS, not for UPOS"):
        agreement_rows(read(GOLD, FIRST, SECOND), "UPOS")
    with pytest.raises(ValueError, match="two systems or more"):
        agreement_rows(read(GOLD, FIRST))
