"""ELAS and EULAS: counts by hand, and counts compared with those of udtools."""

import io
import json
import random
from typing import Any

import pytest

import depkit
from depkit.corpus.enhanced import collapse, read_graph, write_graph
from depkit.corpus.sentence import Sentence
from depkit.files.errors import ArgumentError, FormatError
from depkit.score.evaluation import Evaluation
from tests.cli.commands import Command
from tests.corpus.rows import parse

run = Command("eval")


def table(rows: str) -> str:
    """Return CoNLL-U; a row is `ID FORM HEAD DEPREL DEPS`, and a blank line ends a sentence."""
    lines = []
    for row in rows.strip().splitlines():
        cells = row.split()
        if cells:
            number, form, head, deprel, deps = cells + ["_"] * (5 - len(cells))
            cells = [number, form, *"____", head, deprel, deps, "_"]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n\n"


# "He came and left." with a shared subject
GOLD = """
1 He    2 nsubj 2:nsubj|4:nsubj
2 came  0 root  0:root
3 and   4 cc    4:cc
4 left  2 conj  0:root|2:conj:and
5 .     2 punct 2:punct
"""
# "Ana va al mar. Luis no." with a multiword token and an elided verb
ELLIPSIS = """
1   Ana  2 nsubj 2:nsubj
2   va   0 root  0:root
3-4 al
3   a    5 case  5:case
4   el   5 det   5:det
5   mar  2 obl   2:obl:a
6   .    2 punct 2:punct

1   Luis 0 root   1.1:nsubj
1.1 va   _ _      0:root
2   no   1 orphan 1.1:advmod
3   .    1 punct  1:punct
"""
# Names, gold file, system's file, and correct relations for ELAS and EULAS, gold and predicted ones
PAIRS: dict[str, tuple[str, str, tuple[int, int, int, int]]] = {
    "equal": (GOLD, GOLD, (7, 7, 7, 7)),
    "wrong heads": (GOLD, GOLD.replace("4:nsubj", "3:nsubj").replace("4:cc", "2:cc"), (5, 5, 7, 7)),
    "wrong labels": (
        # Only the subtype of "conj" is wrong, which EULAS ignores.
        GOLD, GOLD.replace("4:cc", "4:mark").replace("2:conj:and", "2:conj:or"), (5, 6, 7, 7),
    ),
    "missing relations": (GOLD, GOLD.replace("|4:nsubj", "").replace("0:root|", ""), (5, 5, 7, 5)),
    "more relations": (GOLD, GOLD.replace("4:cc", "2:cc|4:cc"), (7, 7, 7, 8)),
    "no relations of some words": (GOLD, GOLD.replace("2:nsubj|4:nsubj", "_"), (5, 5, 7, 5)),
    "no relations at all": (
        GOLD, "\n".join(" ".join(row.split()[:4]) for row in GOLD.strip().split("\n")),
        (0, 0, 7, 0),
    ),
    # Each of two equal relations is paired with each of its equals.
    "duplicates": (
        GOLD.replace("2:punct", "2:punct|2:punct"),
        GOLD.replace("2:punct", "2:punct|2:punct|2:punct").replace("0:root|", "0:root|0:root|"),
        (13, 13, 8, 10),
    ),
    # Without subtypes, both gold relations equal both predicted ones.
    "two subtypes of one relation": (
        GOLD.replace("2:conj:and", "2:conj:and|2:conj:or"),
        GOLD.replace("2:conj:and", "2:conj:and|2:conj:nor"),
        (7, 10, 8, 8),
    ),
    "the root as another head": (
        GOLD, GOLD.replace("0:root|", "0:dep|").replace("4:cc", "0:cc"), (5, 5, 7, 7)
    ),
    "self loops": (
        GOLD.replace("4:cc", "3:cc|4:cc"), GOLD.replace("4:cc", "3:cc"), (7, 7, 8, 7)
    ),
    # The parts of "came" are not aligned, so that neither the relations of "came" nor those of
    # its dependents are correct.
    "other words": (
        GOLD,
        """
        1 He    2 nsubj 2:nsubj|5:nsubj
        2 ca    0 root  0:root
        3 me    2 dep   2:dep
        4 and   5 cc    5:cc
        5 left  2 conj  0:root|2:conj:and
        6 .     2 punct 2:punct
        """,
        (3, 3, 7, 8),
    ),
    "other sentences": (
        GOLD,
        """
        1 He    2 nsubj 2:nsubj
        2 came  0 root  0:root

        1 and   2 cc    2:cc
        2 left  0 root  0:root
        3 .     2 punct 2:punct
        """,
        (4, 4, 7, 5),
    ),
    "empty nodes": (
        ELLIPSIS,
        ELLIPSIS.replace("1.1:advmod", "1:orphan"),
        (8, 8, 9, 9),
    ),
    "paths in the labels": (
        ELLIPSIS,
        ELLIPSIS.replace("1.1:advmod", "0:root:x>advmod:y").replace("2:obl:a", "2:obl"),
        (7, 9, 9, 9),
    ),
    # "al" is one word.
    "multiword tokens": (
        ELLIPSIS,
        """
        1 Ana  2 nsubj 2:nsubj
        2 va   0 root  0:root
        3 al   4 case  4:case
        4 mar  2 obl   2:obl:a
        5 .    2 punct 2:punct

        1 Luis 0 root   0:root>nsubj
        2 no   1 advmod 1:advmod
        3 .    1 punct  1:punct
        """,
        (6, 6, 9, 8),
    ),
    # "al" consists of other words, of which one has an equal form.
    "other multiword tokens": (
        ELLIPSIS, ELLIPSIS.replace("3   a ", "3   to").replace("4   el", "4   EL"), (8, 8, 9, 9)
    ),
}  # fmt: skip


def evaluate(gold: str, system: str, align: bool = True) -> Evaluation:
    return depkit.evaluate(parse(gold), parse(system), align=align, enhanced=True)


def get_counts(evaluation: Evaluation) -> tuple[int, int, int, int]:
    names = ("elas", "eulas", "relations_gold", "relations_predicted")
    elas, eulas, gold, predicted = (evaluation.totals[name] for name in names)
    return elas, eulas, gold, predicted


def udtools_scores(gold: str, system: str) -> dict[str, tuple[float, float, float]]:
    """Return precision, recall and F1 of udtools for files without empty nodes, in percent."""
    udeval = pytest.importorskip("udtools.udeval", exc_type=ImportError)
    files = [
        udeval.load_conllu(io.StringIO(text), "", {"no_empty_nodes": 1}) for text in (gold, system)
    ]
    scores = udeval.evaluate(*files)
    return {
        name: tuple(100 * x for x in (scores[name].precision, scores[name].recall, scores[name].f1))
        for name in ("ELAS", "EULAS")
    }


def without_empty_nodes(text: str) -> str:
    def convert(sentence: Sentence) -> Sentence:
        if not sentence.empty_nodes():
            return sentence
        return write_graph(sentence, collapse(read_graph(sentence)))

    return "".join(str(convert(sentence)) for sentence in parse(text))


@pytest.mark.parametrize("name", PAIRS)
def test_counts_equal_those_by_hand(name: str) -> None:
    gold, system, counts = PAIRS[name]
    assert get_counts(evaluate(table(gold), table(system))) == counts


@pytest.mark.parametrize("name", PAIRS)
def test_scores_equal_those_of_udtools(name: str) -> None:
    gold, system = map(table, PAIRS[name][:2])
    expected = udtools_scores(without_empty_nodes(gold), without_empty_nodes(system))
    evaluation = evaluate(gold, system)
    for metric, scores in expected.items():
        found = (*evaluation.precision_recall(metric), evaluation.score(metric))
        assert found == pytest.approx(scores, rel=1e-12)


def make_random(generator: random.Random, words: list[str], is_merged: bool) -> str:
    """Return sentences with random DEPS; is_merged: whether some words form multiword tokens."""
    rows, labels = [], ("nsubj", "conj:and", "conj:or", "conj:and>obj", "conj:or>obj", "obl:a:b")
    while words:
        length = min(generator.randint(1, 6), len(words))
        number = 1
        for form in words[:length]:
            relations = [
                f"{generator.randint(0, length)}:{generator.choice(labels)}"
                for _ in range(generator.randint(0, 4))
            ]
            if is_merged and number < length and generator.random() < 0.2:
                rows.append(f"{number}-{number + 1} {form}{words[number]}")
            head = "0 root" if number == 1 else "1 dep"
            rows.append(f"{number} {form} {head} {'|'.join(relations) or '_'}")
            number += 1
        words = words[length:]
        rows.append("")
    return table("\n".join(rows))


@pytest.mark.parametrize("seed", range(20))
def test_random_files_are_scored_as_by_udtools(seed: int) -> None:
    generator = random.Random(seed)
    words = [generator.choice("abc") for _ in range(30)]
    merged = [words[0] + words[1], *words[2:]] if seed % 2 else words
    gold = make_random(generator, words, is_merged=False)
    system = make_random(generator, merged, is_merged=False)
    evaluation = evaluate(gold, system)
    for metric, scores in udtools_scores(gold, system).items():
        found = (*evaluation.precision_recall(metric), evaluation.score(metric))
        assert found == pytest.approx(scores, rel=1e-12)


def test_the_same_words_are_scored_alike_with_and_without_alignment() -> None:
    for gold, system, counts in PAIRS.values():
        first, second = parse(table(gold)), parse(table(system))
        if [x.form for x in first] == [x.form for x in second]:
            evaluation = evaluate(table(gold), table(system), align=False)
            assert get_counts(evaluation) == counts
            assert evaluation.metrics.keys() >= {"UAS", "LA", "ELAS", "EULAS"}


def test_counts_of_sentences_add_up() -> None:
    gold, system, _ = PAIRS["empty nodes"]
    for align in (True, False):
        evaluation = evaluate(table(gold), table(system), align=align)
        index = [evaluation.columns.index(x) for x in ("elas", "relations_gold")]
        assert evaluation.counts[:, index].tolist() == [[6, 6], [2, 3]]


def test_a_gold_file_without_relations_is_an_error() -> None:
    gold = table(PAIRS["no relations at all"][1])
    for align in (True, False):
        with pytest.raises(FormatError, match="gold: DEPS is _ throughout"):
            evaluate(gold, table(GOLD), align=align)


def test_a_format_without_deps_is_an_error() -> None:
    gold = parse(table(GOLD))
    system = parse(table(GOLD), "conllx")
    with pytest.raises(FormatError, match="conllx has no enhanced dependencies"):
        depkit.evaluate(gold, system, enhanced=True)


def test_brackets_have_no_enhanced_dependencies(tmp_path: Any) -> None:
    path = tmp_path / "trees.ptb"
    path.write_text("(S (NP (N x)) (VP (V y)))\n")
    with pytest.raises(ArgumentError, match="no enhanced dependencies"):
        depkit.evaluate(path, path, enhanced=True)


@pytest.fixture
def files(tmp_path: Any) -> list[str]:
    """A gold file, one without relations, and one with an error, with 20 sentences each."""
    texts = {
        "gold": GOLD,
        "none": PAIRS["no relations at all"][1],
        "good": PAIRS["wrong labels"][1],
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.conllu").write_text(table(text) * 20)
    return [str(tmp_path / f"{name}.conllu") for name in texts]


def test_the_command_prints_both_scores(files: list[str]) -> None:
    out, err = run("--enhanced", *files)
    lines = [line.split() for line in out.splitlines()]
    assert ["ELAS", "good", "71.43", "71.43", "71.43"] in lines
    assert ["EULAS", "none", "0.00", "0.00", "0.00"] in lines
    assert not any(line[0] == "UPOS" for line in lines)  # It is hidden, as it is perfect.
    assert "|enhanced:collapsed|" in out
    assert "DEPS is _ throughout" in err
    assert run("-b", "elas", "--enhanced", *files, "-q") == ("0.00\n71.43\n", "")


@pytest.mark.parametrize("align", [[], ["--align"]])
def test_intervals_and_tests(files: list[str], align: list[str]) -> None:
    out, _ = run("--enhanced", *align, "--confidence", "--test", "ar", "--json", *files)
    record = json.loads(out)[1]
    assert record["ELAS"] == dict.fromkeys(("precision", "recall", "f1"), pytest.approx(500 / 7))
    ends = dict.fromkeys(("low", "high"), pytest.approx(600 / 7))  # All sentences are equal.
    assert record["confidence"]["EULAS"] == ends
    assert record["test"]["ELAS"]["difference"] == pytest.approx(500 / 7)
    assert record["test"]["ELAS"]["p"] < 0.001


#                              ELAS, by type of the gold and of the predicted relations
# 1 He    2:nsubj|4:nsubj      basic, shared
# 2 came  0:root               basic
# 3 and   4:cc -> 4:mark       basic -> other
# 4 left  0:root|2:conj:and -> 0:root|2:conj:or   conj, case
# 5 .     2:punct              basic
def analyze(metric: str | None = None, by: Any = "enhancement") -> dict[str, tuple[int, ...]]:
    """Return the counts of each bin for "wrong labels": gold, predicted, and correct of both."""
    gold, system, _ = PAIRS["wrong labels"]
    rows = depkit.analyze(parse(table(gold)), parse(table(system)), by=by, metric=metric)
    names = ("gold", "predicted", "correct_gold", "correct_predicted")
    return {row["bin"]: tuple(row[name] for name in names) for row in rows}


def test_analysis_by_enhancement() -> None:
    assert analyze() == {
        "basic": (4, 3, 3, 3), "case": (1, 1, 0, 0), "conj": (1, 1, 1, 1),
        "shared": (1, 1, 1, 1), "other": (0, 1, 0, 0),
    }  # fmt: skip
    assert analyze("EULAS")["case"] == (1, 1, 1, 1)
    for metric, index in (("ELAS", 0), ("EULAS", 1)):
        gold, predicted, *correct = map(sum, zip(*analyze(metric).values(), strict=True))
        counts = PAIRS["wrong labels"][2]
        assert (gold, predicted, correct) == (*counts[2:], [counts[index]] * 2)


@pytest.mark.parametrize("by", [["enhancement", "length"], ["length", "enhancement"]])
def test_relations_are_crossed_with_bins_of_their_words(by: list[str]) -> None:
    crossed = analyze(by=by)
    expected = {
        " × ".join({"enhancement": name, "length": "1-9"}[x] for x in by): counts
        for name, counts in analyze().items()
    }
    assert crossed == expected


def test_fewer_relations_than_words_are_crossed_with_bins_of_words() -> None:
    gold = parse(table(GOLD))
    system = parse(table(PAIRS["no relations of some words"][1]))
    rows = depkit.analyze(gold, system, by=["position", "enhancement"])
    counts = {row["bin"]: (row["gold"], row["predicted"]) for row in rows}
    assert counts["1 × basic"] == (1, 0)
    assert counts["3-5 × case"] == (1, 1)


def test_metrics_and_groupings_of_relations_belong_together() -> None:
    for arguments in (("LAS",), ("ELAS", "upos"), ("ELAS", ["enhancement", "feats"])):
        with pytest.raises(ArgumentError):
            analyze(*arguments)


def test_analysis_as_a_table(files: list[str]) -> None:
    out, _ = Command("analyze")("--by", "enhancement", *files, "--test", "ar")
    lines = [line.split() for line in out.splitlines()]
    assert "conj good 20 20 20 100.00 100.00 100.00 +100.00 0.0001 0.0004".split() in lines
    assert "all good 140 140 100 71.43 71.43 71.43 - - -".split() in lines
    assert "|enhanced:collapsed|" in lines[-1][0]
