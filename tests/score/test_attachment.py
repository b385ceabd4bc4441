import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_treebank import GOLD, PREDICTED, conll09, conllu, conllx

import depkit
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import ArgumentError, FormatError
from depkit.score.attachment import COUNTS, METRICS, evaluate_systems
from depkit.score.evaluation import Evaluation, f1_scores
from depkit.score.evaluators import evaluate, find_evaluator
from depkit.score.records import evaluation_records
from tests.conftest import TREES
from tests.corpus.rows import parse


def test_counts_equal_those_by_hand() -> None:
    counts = evaluate(parse(conllu(GOLD)), parse(conllu(PREDICTED))).counts
    assert counts.dtype == np.int64
    assert dict(zip(COUNTS, counts.T.tolist(), strict=True)) == {
        "sentences": [1, 1], "words": [8, 3], "scored": [8, 3], "heads": [7, 3], "labels": [7, 2],
        "both": [6, 2], "complete_heads": [0, 1], "complete_both": [0, 0], "roots": [1, 1],
        "content_gold": [3, 2], "content_predicted": [3, 3], "content_both": [2, 2],
        "upos": [0, 1], "xpos": [0, 0], "feats": [8, 3], "lemmas": [8, 3], "headless": [0, 0],
        "cyclic": [0, 0], "many_roots": [0, 0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("punct", "subtypes", "expected"),
    [  # scored words; correct heads, labels, both; sentences with all heads and with both correct
        ("keep", "keep", (11, 10, 9, 8, 1, 0)),
        ("keep", "drop", (11, 10, 10, 9, 1, 0)),
        ("ptb", "keep", (8, 8, 7, 7, 2, 1)),
        ("ptb7", "keep", (6, 6, 5, 5, 2, 1)),
        ("ctb", "keep", (10, 9, 8, 7, 1, 0)),
        ("unicode", "keep", (5, 5, 4, 4, 2, 1)),
        ("unicode", "drop", (5, 5, 5, 5, 2, 2)),
        ("upos", "keep", (6, 6, 5, 5, 2, 1)),
        ("deprel", "keep", (6, 6, 5, 5, 2, 1)),
        ("tags:DT,$", "keep", (9, 8, 7, 6, 1, 0)),
    ],
)
def test_policies_score_as_by_hand(punct: str, subtypes: str, expected: tuple[int, ...]) -> None:
    scored, *correct, unlabelled, labelled = expected
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    result = evaluate(gold, predicted, punct, subtypes=subtypes)
    assert (result.sentences, result.words, result.scored) == (2, 11, scored)
    assert [result.UAS, result.LA, result.LAS] == pytest.approx([100 * n / scored for n in correct])
    assert (result.UEM, result.LEM) == (50 * unlabelled, 50 * labelled)
    sizes = {"sentences": 2, "words": 11, "scored": scored}
    scores = {metric: result.scores.get(metric) for metric in METRICS}
    names = {"system": "system 1", "signature": result.signature}
    assert result.as_dict() == names | sizes | scores


def test_errors_of_metrics_say_what_is_wrong() -> None:
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    words, aligned = (evaluate(gold, predicted, align=align) for align in (False, True))
    brackets = evaluate(TREES, TREES)
    assert words.score("las") == words.LAS
    assert words.precision_recall("clas") == words.precision_recall("CLAS")
    for result, name in ((words, "foo"), (aligned, "LA"), (aligned, "UEM"), (brackets, "LAS")):
        message = f"there is no metric '{name}'; choose from {', '.join(result.metrics)}"
        for find in (result.score, result.precision_recall):
            with pytest.raises(ArgumentError, match=re.escape(message)):
                find(name)
        if name != "foo":
            with pytest.raises(AttributeError, match=re.escape(message)):
                getattr(result, name)


def test_the_dict_has_intervals_and_tests() -> None:
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    result = evaluate(gold, predicted, confidence=True, test="ar", baseline=gold)
    record = result.as_dict()
    low, high = result.intervals["UAS"]
    assert record["confidence"]["UAS"] == {"low": low, "high": high}
    difference = result.differences["UAS"]
    assert record["test"]["UAS"] == {
        "difference": result.UAS - 100, "p": difference.p, "p_adjusted": difference.adjusted
    }  # fmt: skip
    evaluations = evaluate_systems(gold, [gold, predicted])
    records, _ = evaluation_records(evaluations, confidence=True, test="ar")
    assert records[1] == record | {"system": ""} and "test" not in records[0]


def test_metrics_without_their_annotation_are_not_defined() -> None:
    gold = [[word[:4] + (word[4].lower(),) for word in tree] for tree in GOLD]
    result = evaluate(parse(conllu(gold)), parse(conllu(PREDICTED)))
    assert result.undefined.keys() == {"FEATS", "Lemmas"}
    assert result.scores["CLAS"] == pytest.approx(100 * 2 * 4 / (5 + 6))
    assert result.precision_recall("CLAS") == pytest.approx((100 * 4 / 6, 100 * 4 / 5))
    assert result.scores["UPOS"] == pytest.approx(100 / 11)
    assert result.as_dict()["Lemmas"] is None
    stanford_relations = [[word[:4] + ("nn",) for word in tree] for tree in GOLD]
    assert "CLAS" not in evaluate(parse(conllu(stanford_relations)), parse(conllu(gold))).scores


def test_a_relation_outside_of_ud_is_named() -> None:
    words = list("abcdefghij")
    columns = {"head": [2, 0, *[2] * 8], "deprel": ["nsubj", "root", *["obj"] * 8]}
    right = new_sentence(words, columns)
    gold = [right, new_sentence(words, columns | {"deprel": ["nsbj", "root", *["obj"] * 8]})]
    evaluator = find_evaluator([gold, gold])
    evaluations = evaluator.evaluate(gold, [gold])
    reason = "the gold file has the relation 'nsbj' (word 1 of sentence 2), which is not one of UD"
    with pytest.raises(ValueError, match=re.escape(f"CLAS is not defined: {reason}")):
        evaluations[0].score("CLAS")
    assert evaluator.metric_warnings(evaluations) == [f"CLAS is not computed: {reason}"]
    # If more than a tenth of the relations are not of UD, they are not meant to be.
    other = [new_sentence(words[:3], {"head": [2, 0, 2], "deprel": ["SBJ", "ROOT", "OBJ"]})]
    assert evaluator.metric_warnings(evaluator.evaluate(other, [other])) == []
    only_punctuation = [new_sentence(["!"], {"head": [0], "deprel": ["punct"]})]
    with pytest.raises(ValueError, match="no content words"):
        evaluate(only_punctuation, only_punctuation).score("CLAS")
    # With `align`, a relation outside of UD is that of no content word, as in CoNLL 2018.
    aligned = evaluate(gold, [right, right], align=True)
    assert aligned.precision_recall("CLAS") == pytest.approx((100 * 19 / 20, 100.0))


def one_word_sentence(form: str, deprel: str = "root", feats: str = "_") -> Sentence:
    return new_sentence([form], {"head": ["0"], "deprel": [deprel], "feats": [feats]})


def test_root_accuracy_needs_the_same_roots() -> None:
    two_roots = [GOLD[0], [GOLD[1][0], (*GOLD[1][1][:3], 0, "dep"), GOLD[1][2]]]
    assert evaluate(parse(conllu(GOLD)), parse(conllu(two_roots))).scores["RA"] == 50.0
    assert evaluate(parse(conllu(two_roots)), parse(conllu(GOLD))).scores["RA"] == 50.0
    result = evaluate(parse(conllu(GOLD)), parse(conllu(two_roots)))
    assert (result.totals["many_roots"], result.totals["cyclic"]) == (1, 0)


def test_cycles_are_counted_by_sentence() -> None:
    cyclic = [[(*word[:3], (2, 1, 5, 5, 5, 0, 5, 5)[i], word[4]) for i, word in enumerate(GOLD[0])]]
    result = evaluate(parse(conllu(GOLD)), parse(conllu([*cyclic, GOLD[1]])))
    assert (result.totals["cyclic"], result.totals["many_roots"]) == (1, 0)


def test_the_order_of_features_does_not_matter() -> None:
    gold, reordered, wrong = (
        [one_word_sentence("a", feats=feats)]
        for feats in ("Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "Case=Nom")
    )
    assert evaluate(gold, reordered).scores["FEATS"] == 100.0
    assert evaluate(gold, wrong).scores["FEATS"] == 0.0


def test_a_sentence_without_scored_words_is_a_complete_match() -> None:
    gold = [one_word_sentence("!"), *parse(conllu(GOLD))]
    wrong = [one_word_sentence("!", "punct"), *gold[1:]]
    result = evaluate(gold, wrong, "unicode")
    assert (result.UEM, result.LEM, result.scored) == (100.0, 100.0, 5)


def test_the_signature_contains_the_settings_and_counts() -> None:
    gold = parse(conllu(GOLD))
    version = getattr(depkit, "__version__", "unknown")
    assert evaluate(gold, gold, "ptb", subtypes="drop").signature == (
        f"depkit:{version}|punct:ptb|subtypes:drop|sentences:2|words:11|scored:8"
    )
    listed = evaluate(gold, gold, "tags:PU,|,DT,%,PU").signature
    assert "|punct:tags:%25,DT,PU,%7C|" in listed


def test_predicted_word_without_a_head_is_wrong_and_counted() -> None:
    headless = [(*word[:3], -1, "_") if word[0] == "$" else word for word in GOLD[0]]
    result = evaluate(parse(conllu(GOLD)), parse(conllu([headless, GOLD[1]])))
    assert (result.totals["heads"], result.totals["labels"]) == (10, 10)
    assert result.totals["headless"] == 1


def test_a_gold_word_without_a_head_is_an_error(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conllu"
    gold.write_text(conllu([GOLD[1], [(*GOLD[1][0][:3], -1, "_"), *GOLD[1][1:]]]))
    predicted = parse(conllu([GOLD[1], GOLD[1]]))
    message = r"gold\.conllu:7: s2: word 1 of sentence 2, 'Go', has no"
    with pytest.raises(FormatError, match=message):
        evaluate(gold, predicted)


@pytest.mark.parametrize("punct", ["ptb", "ptb7", "ctb", "tags:X", "upos", "deprel"])
def test_a_policy_whose_column_is_empty_is_an_error(punct: str) -> None:
    bare = [[(form, "_", "_", head, "_") for form, _, _, head, _ in GOLD[1]]]
    gold = parse(conllu(bare))
    column = {"upos": "UPOS", "deprel": "DEPREL"}.get(punct, "XPOS")
    with pytest.raises(FormatError, match=f"reads {column}, which is _ throughout"):
        evaluate(gold, gold, punct)
    assert evaluate(gold, gold, "unicode").scored == 1
    partly_tagged = parse(conllu([*bare, GOLD[1]]))
    assert evaluate(partly_tagged, partly_tagged, punct).words == 6


def test_the_policy_upos_is_an_error_in_conll09() -> None:
    gold = parse(conll09(GOLD), "conll09")
    with pytest.raises(FormatError, match="UPOS"):
        evaluate(gold, gold, "upos")


def test_no_words_to_score_are_an_error() -> None:
    with pytest.raises(FormatError, match="gold: there are no sentences"):
        evaluate([], [])
    punctuation = [one_word_sentence("!")]
    with pytest.raises(FormatError, match="'unicode' leaves no word"):
        evaluate(punctuation, punctuation, "unicode")


def test_unknown_policies_and_subtypes_are_an_error() -> None:
    gold = parse(conllu(GOLD))
    with pytest.raises(ValueError, match="no punctuation policy 'all'"):
        evaluate(gold, gold, "all")
    with pytest.raises(ValueError, match="subtypes"):
        evaluate(gold, gold, subtypes="cut")


def test_all_formats_line_ends_and_compressions_have_the_same_scores(tmp_path: Path) -> None:
    for name, text in {
        "plain.conllu": conllu(PREDICTED),
        "crlf.conllu": conllu(PREDICTED, line_end="\r\n"),
        "bom.conllu": "\ufeff" + conllu(PREDICTED),
        "open.conllu": conllu(PREDICTED).rstrip("\n"),
        "x.conllx": conllx(PREDICTED),
        "nine.conll09": conll09(PREDICTED),
    }.items():
        (tmp_path / name).write_bytes(text.encode())
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    golds = {"g.conllu": conllu(GOLD, "\r\n"), "g.conllx": conllx(GOLD), "g.conll09": conll09(GOLD)}
    for name, text in golds.items():
        (tmp_path / name).write_bytes(text.encode())
        systems = sorted(path for path in tmp_path.iterdir() if not path.name.startswith("g."))
        assert len(systems) == 12
        for result in evaluate_systems(tmp_path / name, systems, punct="ptb"):
            assert result.totals["scored"] == 8
            assert result.totals["both"] == 7


def test_several_systems_have_the_same_scores_as_alone() -> None:
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    results = evaluate_systems(gold, [predicted, gold], punct="ptb")
    assert results[0].scores == evaluate(gold, predicted, "ptb").scores
    assert results[1].scores == dict.fromkeys(results[1].scores, 100.0)
    assert {"UAS", "LEM", "RA", "UPOS"} <= results[1].scores.keys()


def test_f1_scores_are_computed_for_many_resamples_at_once() -> None:
    gold, predicted = parse(conllu(GOLD)), parse(conllu(PREDICTED))
    counts = evaluate(gold, predicted).counts
    resampled = counts[np.array([[0, 0], [0, 1], [1, 1]])].sum(axis=1)  # [resample, count]
    shares = f1_scores(resampled, METRICS, COUNTS)["LAS"]
    assert shares.tolist() == pytest.approx([75.0, 800 / 11, 200 / 3])
    assert shares[1] == Evaluation("", counts, COUNTS, METRICS).LAS
    assert counts.shape == (2, len(COUNTS))


words = st.tuples(
    st.sampled_from(["a", "b", ",", "_", "...", "$"]),
    st.sampled_from(["NN", ",", ".", "PU"]),
    st.integers(0, 10**6),
    st.sampled_from(["root", "nsubj:pass", "punct", "dep"]),
    st.integers(0, 10**6),
    st.sampled_from(["root", "nsubj", "punct", "dep"]),
)


def make_pair(sentence: list[tuple[str, str, int, str, int, str]]) -> tuple[Sentence, Sentence]:
    form, xpos, head, deprel, other_head, other_deprel = map(list, zip(*sentence, strict=True))
    size = len(form) + 1
    gold = {"xpos": xpos, "head": [str(h % size) for h in head], "deprel": deprel}
    predicted = {"head": [str(h % size) for h in other_head], "deprel": other_deprel}
    return new_sentence(form, gold), new_sentence(form, predicted)


treebanks = st.lists(st.lists(words, min_size=1, max_size=6).map(make_pair), min_size=1, max_size=6)
policies = st.sampled_from(["keep", "ptb", "unicode", "deprel", "tags:NN,PU"])


def compute_scores(pairs: list[tuple[Sentence, Sentence]], punct: str) -> dict[str, float] | None:
    try:
        return evaluate([gold for gold, _ in pairs], [pred for _, pred in pairs], punct).scores
    except FormatError as error:
        assert "no word to score" in str(error)
        return None


@settings(max_examples=60, deadline=None)
@given(treebanks, policies)
def test_gold_against_gold_is_100(pairs: list[tuple[Sentence, Sentence]], punct: str) -> None:
    scores = compute_scores([(gold, gold) for gold, _ in pairs], punct)
    assert scores is None or scores == dict.fromkeys(scores, 100.0)


@settings(max_examples=60, deadline=None)
@given(treebanks, policies, st.randoms(use_true_random=False))
def test_order_of_sentences_changes_nothing(pairs, punct, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(pairs, len(pairs))
    assert compute_scores(shuffled, punct) == compute_scores(pairs, punct)


@settings(max_examples=60, deadline=None)
@given(treebanks)
def test_scores_are_ordered(pairs: list[tuple[Sentence, Sentence]]) -> None:
    scores = compute_scores(pairs, "keep")
    assert scores is not None
    assert scores["LAS"] <= min(scores["UAS"], scores["LA"])
    assert scores["LEM"] <= scores["UEM"]


def test_imports_stay_light() -> None:
    code = (
        "import sys, depkit.score.attachment, depkit.score.table, depkit.cli.evaluate\n"
        "print(*{'torch', 'numba', 'rich', 'transformers'} & set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert process.stdout.strip() == ""
