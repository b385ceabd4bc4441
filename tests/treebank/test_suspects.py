"""Suspects: disagreements of parsers computed by hand, variation n-grams by brute force."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import FormatError
from depkit.treebank.disagreement import find_disagreements
from depkit.treebank.suspects import (
    BOTH,
    PARSER,
    TAGS,
    VARIATION,
    Suspect,
    describe_suspects,
    rank_suspects,
)
from depkit.treebank.variation import find_variation


def make_sentence(rows: str, misc: str = "") -> Sentence:
    """Make a sentence of words such as `form/UPOS/2:nsubj`; misc: values separated by spaces."""
    form, upos, arcs = zip(*(word.split("/") for word in rows.split()), strict=True)
    heads, labels = zip(*(arc.split(":") for arc in arcs), strict=True)
    columns = {"upos": upos, "head": heads, "deprel": labels}
    return new_sentence(form, columns | ({"misc": misc.split()} if misc else {}))


def listed(suspects: Sequence[Suspect]) -> list[tuple[object, ...]]:
    return [
        (suspect.sentence, suspect.word, suspect.kind, suspect.gold, suspect.alternative,
         round(suspect.probability, 6), round(suspect.gold_probability, 6))
        for suspect in suspects
    ]  # fmt: skip


GOLD = make_sentence("old/ADJ/2:amod dogs/NOUN/3:nsubj bark/VERB/0:root")


def test_the_probabilities_of_a_parse_are_those_of_its_heads_and_labels() -> None:
    parse = make_sentence(
        "old/ADJ/3:nsubj dogs/NOUN/3:obj bark/VERB/0:root",
        "ArcProb=0.8|LabelProb=0.5 ArcProb=0.7|LabelProb=0.9 ArcProb=1|LabelProb=1",
    )
    assert listed(rank_suspects(find_disagreements([(GOLD, [parse])]))) == [
        (0, 1, "deprel", "nsubj", "obj", 0.9, 0),
        (0, 0, "head", "2:amod", "3:nsubj", 0.8, 0),
    ]


def test_several_parses_are_averaged() -> None:
    words = ("old/ADJ/3:advmod", "dogs/NOUN/3:nsubj", "bark/VERB/0:root")
    probabilities = "ArcProb={}|LabelProb=1 ArcProb=1|LabelProb={} ArcProb=1|LabelProb=1"
    parses = [
        make_sentence(" ".join(words), probabilities.format(0.9, 0.4)),
        make_sentence(" ".join(words), probabilities.format(0.6, 0.4)),
        make_sentence(" ".join(("old/ADJ/2:amod", *words[1:])), probabilities.format(0.3, 0.4)),
    ]
    (suspect,) = find_disagreements([(GOLD, parses)])
    assert listed([suspect]) == [(0, 0, "head", "2:amod", "3:advmod", 0.5, 0.1)]
    assert suspect.evidence == "2 of 3 parses"
    # The treebank's head is more probable if most parses support it.
    assert not list(find_disagreements([(GOLD, [parses[0], *[parses[2]] * 4])]))


def test_probabilities_that_are_not_given_are_measured() -> None:
    """A predicted tag or relation is as probable as the treebank agrees with it elsewhere."""
    good = make_sentence("dogs/NOUN/2:nsubj bark/VERB/0:root")
    gold = make_sentence("dogs/VERB/2:nsubj bark/VERB/0:root")
    wrong = make_sentence("dogs/NOUN/0:root bark/VERB/1:nsubj")
    suspects = rank_suspects(find_disagreements([(good, [good])] * 3 + [(gold, [good])]))
    assert listed(suspects) == [(3, 0, "upos", "VERB", "NOUN", 0.75, 0)]
    suspects = rank_suspects(find_disagreements([(good, [good]), (good, [wrong])]))
    assert listed(suspects) == [
        (1, 0, "head", "2:nsubj", "0:root", 0.5, 0),
        (1, 1, "head", "0:root", "1:nsubj", 0.5, 0),
    ]


def test_columns_without_values_are_not_compared() -> None:
    tagged = make_sentence("a/X/0:root")
    other = make_sentence("a/Y/0:root")
    blank = make_sentence("a/_/0:root").with_columns({"head": ["_"], "deprel": ["_"]})
    for gold, parses in [(blank, [tagged]), (tagged, [blank])]:
        assert not list(find_disagreements([(gold, parses)] * 2))
    # A parse without tags does not lower the probability of a tag that another parse has.
    sentences = [(tagged, [tagged, blank]), (other, [tagged, blank])]
    assert listed(list(find_disagreements(sentences))) == [(1, 0, "upos", "Y", "X", 0.5, 0)]


def test_a_part_of_the_probabilities_is_an_error() -> None:
    parse = make_sentence("a/X/0:root b/X/1:dep", "ArcProb=1|LabelProb=1 _")
    with pytest.raises(FormatError, match="there is no ArcProb in MISC"):
        list(find_disagreements([(parse, [parse])]))


def test_both_sources_are_merged_if_they_propose_the_same() -> None:
    def suspect(kind: str, alternative: str, probability: float, source: str) -> Suspect:
        return Suspect(0, 0, kind, "a", alternative, probability, 0.1, source, source)

    ranked = rank_suspects(
        [
            suspect("upos", "b", 0.5, PARSER), suspect("upos", "c", 0.9, PARSER),
            suspect("deprel", "b", 0.6, PARSER), suspect("upos", "b", 0.6, VARIATION),
            suspect("xpos", "b", 0.6, VARIATION),
        ]
    )  # fmt: skip
    assert [(s.kind, s.alternative, s.source) for s in ranked] == [
        ("upos", "c", PARSER), ("upos", "b", BOTH), ("deprel", "b", PARSER),
        ("xpos", "b", VARIATION),
    ]  # fmt: skip
    assert ranked[1].probability == pytest.approx(0.8)
    assert ranked[1].evidence == "parser; variation"


def test_a_record_says_where_the_suspect_is() -> None:
    suspects = [Suspect(0, 0, "head", "2:amod", "3:x", 0.9, 0.12345, PARSER, "1 of 1 parse")]
    (record,) = describe_suspects(suspects, [GOLD])
    assert record["rank"] == record["word"] == 1
    assert (record["score"], record["gold_probability"]) == (0.7766, 0.1235)
    assert (record["form"], record["gold_head"], record["alternative_head"]) == (
        "old", "dogs", "bark",
    )  # fmt: skip
    assert record["context"] == "[old] dogs bark"


THE_RUN = "he/PRON/4:nsubj had/AUX/4:aux a/DET/4:det {} ./PUNCT/4:punct"


def test_the_minority_of_identical_contexts_is_suspect() -> None:
    sentences = [make_sentence(THE_RUN.format("run/NOUN/0:root"))] * 3
    sentences += [make_sentence(THE_RUN.format("run/VERB/0:root")), make_sentence("run/X/0:root")]
    (suspect,) = find_variation(sentences)
    assert listed([suspect]) == [(3, 3, "upos", "VERB", "NOUN", 0.75 * 3 / 4, 0.75 / 4)]
    assert suspect.evidence == "3 of 4 occurrences of 'a run .', such as line 0"


def test_pairs_vary_in_their_relation_and_in_being_linked() -> None:
    words = "so/ADV/{} he/PRON/3:nsubj saw/VERB/0:root {} dogs/NOUN/{} ./PUNCT/3:punct"
    right = make_sentence(words.format("3:advmod", "big/ADJ/5:amod", "3:obj"))
    label = make_sentence(words.format("3:advmod", "big/ADJ/5:nmod", "3:obj"))
    link = make_sentence(words.format("3:advmod", "big/ADJ/3:amod", "3:obj"))
    assert listed(list(find_variation([right, right, right, label, link]))) == [
        (3, 3, "deprel", "nmod", "amod", 0.75 * 3 / 5, 0.75 / 5),
        (4, 3, "head", "3:amod", "5:amod", 0.75 * 3 / 5, 0.75 / 5),
    ]


def brute_force(
    sentences: Sequence[Sentence], max_distance: int, max_context: int
) -> dict[tuple[int, int, str], float]:
    """Return the score of each suspect by the definition: every n-gram is compared with all."""
    labels = list(dict.fromkeys(label for sentence in sentences for label in sentence.deprel))

    def annotate(sentence: Sentence, kind: str, left: int, distance: int) -> tuple[Any, ...]:
        """Return a tag; or a label and the offsets of dependent and head, if there are any."""
        if not distance:
            return (getattr(sentence, kind)[left],)
        if sentence.head[left] == left + distance + 1:
            return (labels.index(sentence.deprel[left]), 0, distance)
        if sentence.head[left + distance] == left + 1:
            return (labels.index(sentence.deprel[left + distance]), distance, 0)
        return ()

    scores: dict[tuple[int, int, str], float] = {}
    for distance, context in product(range(max_distance + 1), range(1, max_context + 1)):
        for kind in ["pair"] if distance else TAGS:
            groups: defaultdict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
            for index, sentence in enumerate(sentences):
                for left in range(context, len(sentence) - context - distance):
                    ngram = sentence.form[left - context : left + distance + context + 1]
                    groups[tuple(ngram)].append((index, left))
            for group in groups.values():
                annotations = {
                    (index, left): annotate(sentences[index], kind, left, distance)
                    for index, left in group
                }
                counts = Counter(annotations.values())
                for (index, left), annotation in annotations.items():
                    others = sorted((-counts[x], x) for x in counts if x != annotation)
                    if not others or -others[0][0] < counts[annotation]:
                        continue
                    count, alternative = -others[0][0], others[0][1]
                    word, found_kind = left, kind
                    if kind == "pair":
                        if not alternative:
                            continue
                        word, head = left + alternative[1], left + alternative[2]
                        linked = sentences[index].head[word] == head + 1
                        found_kind = "deprel" if linked else "head"
                    score = (1 - 0.25**context) * (count - counts[annotation]) / len(group)
                    key = (index, word, found_kind)
                    scores[key] = max(scores.get(key, 0), score)
    return scores


@pytest.mark.parametrize("seed", range(5))
def test_variation_is_that_of_the_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    sentences = []
    for _ in range(30):
        size = int(random.integers(1, 9))
        # All heads are on the same side, so that there is no cycle.
        steps = random.choice([1, 1, 1, 2], size) * random.choice([-1, 1, 1])
        heads = [head if 0 < head <= size else 0 for head in range(1, size + 1) + steps]
        columns = {
            "upos": random.choice(["A", "A", "A", "B", "C"], size).tolist(),
            "head": list(map(str, heads)),
            "deprel": random.choice(["x", "x", "y"], size).tolist(),
        }
        sentences.append(new_sentence(random.choice(["a", "b"], size).tolist(), columns))
    suspects = list(find_variation(sentences, 2, 2))
    assert {suspect.kind for suspect in suspects} == {"upos", "deprel", "head"}
    assert {
        (suspect.sentence, suspect.word, suspect.kind): suspect.score for suspect in suspects
    } == pytest.approx(brute_force(sentences, 2, 2))


def test_a_treebank_without_repetition_has_no_variation() -> None:
    assert not list(find_variation([]))
    assert not list(find_variation([GOLD]))


def test_the_order_of_features_is_no_difference() -> None:
    sentence = make_sentence(THE_RUN.format("run/NOUN/0:root"))

    def with_features(*feats: str) -> list[Sentence]:
        return [sentence.with_columns({"feats": ["_"] * 3 + [x, "_"]}) for x in feats]

    same = with_features("B=1|a=2", "a=2|B=1", "B=1|a=2")
    assert not list(find_variation(same))
    assert not list(find_disagreements([(gold, same[:2]) for gold in same]))
    # A suspect is written as in the treebank, its alternative as it was first written.
    gold = [*same, *with_features("b=1|a=2")]
    expected = (3, 3, "feats", "b=1|a=2", "B=1|a=2")
    assert listed(find_variation(gold)) == [(*expected, 0.75 * 3 / 4, 0.75 / 4)]
    parses = with_features("a=2|B=1", "a=2|B=1", "B=1|a=2", "a=2|B=1")
    assert listed(find_disagreements((x, [y]) for x, y in zip(gold, parses, strict=True))) == [
        (*expected, 0.75, 0)
    ]
