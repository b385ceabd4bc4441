"""Files of systems in CoNLL-09 whose predictions stand in PHEAD and PDEPREL."""

import pytest

import depkit
from depkit.corpus.sentence import Sentence
from depkit.score.attachment import evaluate_systems
from depkit.score.conll18 import evaluate_aligned
from tests.cli.commands import Command

FORMS, HEADS, DEPRELS = ["He", "reads", "old", "books"], [2, 0, 4, 2], ["s", "r", "m", "o"]
PREDICTED = {"phead": ["2", "0", "2", "2"], "pdeprel": ["s", "r", "m", "x"]}  # 3 heads, 2 arcs


def make(**columns):
    return Sentence.from_words(FORMS, format="conll09", **columns)


GOLD = make(head=HEADS, deprel=DEPRELS)
BOTH = make(head=HEADS, deprel=DEPRELS, **PREDICTED)
ONLY = make(**PREDICTED)


@pytest.mark.parametrize("system", [BOTH, ONLY])
def test_predicted_columns_are_scored_if_requested_and_else_a_warning(system):
    for evaluate in (evaluate_systems, evaluate_aligned):
        (plain,) = evaluate(GOLD, [system])
        (warning,) = plain.warnings
        assert "2 words" in warning if system is BOTH else "4 words" in warning
        assert "`predicted`" in warning
        (predicted,) = evaluate(GOLD, [system], predicted=True)
        assert (predicted.scores["UAS"], predicted.scores["LAS"]) == (75.0, 50.0)
        assert predicted.warnings == () and "columns:predicted" in predicted.signature
        assert "columns" not in plain.signature


def test_no_warning_without_predicted_columns_or_if_they_are_the_same():
    same = make(head=HEADS, deprel=DEPRELS, phead=list("2042"), pdeprel=DEPRELS)
    conllu = Sentence.from_words(FORMS, head=HEADS, deprel=DEPRELS)
    for system in (GOLD, same, conllu):
        assert depkit.evaluate(GOLD, system).warnings == ()
    (warning,) = depkit.evaluate(GOLD, GOLD, predicted=True).warnings
    assert "no word has a PHEAD" in warning
    (warning,) = depkit.evaluate(GOLD, conllu, predicted=True).warnings
    assert "HEAD and DEPREL are scored" in warning
    rows = depkit.analyze(GOLD, BOTH, by="direction", predicted=True)
    assert sum(row["correct_gold"] for row in rows) == 2


def test_the_commands_warn_and_take_the_option(tmp_path):
    gold, system = tmp_path / "gold.conll09", tmp_path / "system.conll09"
    depkit.write(GOLD, gold)
    depkit.write(BOTH, system)
    for name in ("eval", "analyze"):
        out, err = Command(name)(gold, system)
        assert err.count("\n") == 1 and "2 words; --predicted scores" in err
        assert "100.00" in out
        out, err = Command(name)(gold, system, "--predicted")
        assert err == "" and "columns:predicted" in out and "50.00" in out
    page = tmp_path / "page.html"
    assert "--predicted" in Command("report")(gold, system, "-o", page)[1]
    assert Command("report")(gold, system, "-o", page, "--predicted")[1] == ""
