"""Fixed arcs, several trees and minimum risk agree with brute force over all trees."""

import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from depkit.cli.main import run
from depkit.corpus.formats import CONLLX
from depkit.corpus.io import read, write
from depkit.corpus.probabilities import group_trees, tree_rank
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.parsers.ensembles import combine
from depkit.parsers.families import FAMILIES
from depkit.parsers.graph.constraints import _find_crossing
from depkit.parsers.settings import ConfigError
from tests.conftest import TINY
from tests.parsers.small_parsers import (
    WARM,
    compute_scores,
    make_parser,
    make_random_parser,
    save_parser,
    set_calibration,
    texts,
)
from tests.trees.all_trees import tree_scores, trees

BLANK = "_"


@pytest.fixture(scope="module")
def parser(tiny):
    return set_calibration(make_random_parser(tiny, 1))


def arc_scores(parser, sentence):
    """Return the arc scores of a sentence, [n + 1, n + 1] float64."""
    with_heads = sentence.with_tree([0] * len(sentence), ["dep"] * len(sentence))
    return compute_scores(parser, with_heads)[0].numpy().astype(float)


def draw_sentence(rng, n, sentences):
    """Return a sentence of n words of a treebank, without a tree."""
    words = [word for sentence in sentences for word in sentence.form]
    return new_sentence([words[i] for i in rng.integers(len(words), size=n)])


def annotate(rng, sentence, single_root, projective):
    """Annotate some words as a random tree has them; restrict others in MISC.

    Returns the sentence and a mask of all trees, which are those that agree.
    """
    n = len(sentence)
    every = trees(n, single_root, projective)
    tree = every[rng.integers(len(every))]
    heads, misc, agree = [-1] * n, [BLANK] * n, np.ones(len(every), bool)
    for i in range(n):
        draw = rng.random()
        if draw < 0.3:
            heads[i] = int(tree[i])
            agree &= every[:, i] == tree[i]
        elif draw < 0.5:
            possible = sorted({int(tree[i]), int(rng.integers(n + 1))})
            misc[i] = "X=y|Heads=" + "|".join(map(str, possible))
            agree &= np.isin(every[:, i], possible)
        elif draw < 0.6 and tree[i] != 0:
            misc[i] = "NotHead=0"
            agree &= every[:, i] != 0
    return sentence.with_columns({"head": heads, "misc": misc}), every, agree


@pytest.mark.parametrize("algorithm", ["mst", "eisner", "mbr"])
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("is_ensemble", [False, True], ids=["parser", "ensemble"])
def test_the_best_tree_that_contains_the_annotation(tiny, parser, algorithm, root, is_ensemble):
    if is_ensemble:
        parser = combine([parser, make_random_parser(tiny, 2)])
    rng = np.random.default_rng(3)
    temperature = parser.config.calibration.marginal
    annotated, expected = [], []
    for n in [1, 2, 3, 4, 5, 6] * 4:
        sentence, every, agree = annotate(
            rng, draw_sentence(rng, n, tiny), root == "single", algorithm == "eisner"
        )
        score = arc_scores(parser, sentence)
        value = tree_scores(score, every)
        value[~agree] = -np.inf
        if algorithm == "mbr":
            probability = np.exp(value / temperature - (value / temperature).max())
            probability /= probability.sum()
            marginals = np.stack([(every == h).T @ probability for h in range(n + 1)], 1)
            value = np.where(agree, marginals[np.arange(n), every].sum(1), -np.inf)
        annotated.append(sentence)
        expected.append((every, value))
    parsed = parser.parse(annotated, heads="keep", algorithm=algorithm, root=root)
    for sentence, (every, value) in zip(parsed, expected, strict=True):
        (index,) = np.flatnonzero((every == sentence.head).all(1))
        assert value[index] == pytest.approx(value.max(), rel=1e-4, abs=1e-4)


def test_annotated_labels_stay_and_restricted_ones_are_obeyed(tiny, parser):
    rng = np.random.default_rng(1)
    gold = list(tiny)
    some = [rng.random(len(sentence)) < 0.5 for sentence in gold]
    partial = [
        sentence.with_columns(
            {
                "head": [h if k else -1 for h, k in zip(sentence.head, keep, strict=True)],
                "deprel": [d if k else "_" for d, k in zip(sentence.deprel, keep, strict=True)],
            }
        )
        for sentence, keep in zip(gold, some, strict=True)
    ]
    for sentence, before, keep in zip(
        parser.parse(partial, heads="keep", probabilities="marginal"), gold, some, strict=True
    ):
        assert (np.array(sentence.head) == before.head)[keep].all()
        assert (np.array(sentence.deprel) == before.deprel)[keep].all()
        assert sentence.head.count(0) == 1
        for i in np.flatnonzero(keep):
            assert "ArcProb=1.0000|LabelProb=1.0000" in sentence.column("misc")[i]
    sentence = new_sentence(["a", "b", "c"], {"misc": ["Deprels=obj|nsubj", "_", "Deprels=root"]})
    parsed = parser([sentence], heads="keep")[0]
    assert parsed.deprel[0] in ("obj", "nsubj") and parsed.head[0] != 0
    assert (parsed.deprel[2], parsed.head[2]) == ("root", 0)
    # A label that the model does not know is kept like any other; so is one without a head.
    sentence = new_sentence(["a", "b"], {"head": [2, -1], "deprel": ["strange", "_"]})
    assert parser([sentence], heads="keep")[0].deprel == ("strange", "root")
    sentence = new_sentence(["a", "b"], {"deprel": ["root", "_"]})
    assert parser([sentence], heads="keep")[0].head == (0, 1)


@pytest.mark.parametrize("kind", ["local", "marginal"])
def test_probabilities_are_those_given_the_annotation(tiny, parser, kind):
    rng = np.random.default_rng(2)
    for n in (2, 3, 4, 5):
        sentence, every, agree = annotate(rng, draw_sentence(rng, n, tiny), True, False)
        score = arc_scores(parser, sentence)
        parsed = parser([sentence], heads="keep", probabilities=kind)[0]
        written = [float(cell.split("ArcProb=")[1][:6]) for cell in parsed.column("misc")]
        if kind == "marginal":
            weight = np.exp(tree_scores(score / WARM.marginal, every)) * agree
            expected = (every == parsed.head).T @ weight / weight.sum()
            assert written == pytest.approx(expected.tolist(), abs=6e-5)
        else:
            fixed = np.array(sentence.head) >= 0
            assert np.array(written)[fixed].tolist() == [1.0] * fixed.sum()


def test_without_annotation_nothing_changes(tiny, parser):
    blank = [sentence.with_tree([-1] * len(sentence), ["_"] * len(sentence)) for sentence in tiny]
    for options in ({}, {"algorithm": "eisner"}, {"probabilities": "marginal"}):
        expected = texts(parser.parse(blank, **options))
        assert texts(parser.parse(blank, heads="keep", **options)) == expected
    two_threads = replace(parser, threads=2)
    expected = texts(parser.parse(blank, best=3))
    assert texts(two_threads.parse(blank, best=3, batch_tokens=30)) == expected


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"head": [2, 1, -1]}, {}, r"2: s: the annotated heads form a cycle through word 1"),
        ({"head": [-1, 2, -1]}, {}, r"3: s: .* cycle through word 2"),
        ({"head": [0, -1, 0]}, {}, r"4: s: words 1 and 3 have the head 0"),
        ({"head": [3, 0, -1]}, {"algorithm": "eisner"}, "arcs of words 2 and 1 cross"),
        ({"deprel": ["_", "root", "root"]}, {}, r"4: s: words 2 and 3 have the head 0 because of"),
        (
            {"head": [-1, 0, -1], "misc": ["_", "_", "Deprels=root,root"]},
            {},
            "4: s: words 2 and 3 have the head 0",
        ),
        ({"misc": ["Heads=0", "_", "Heads=0"]}, {}, r"4: s: words 1 and 3 have the head 0"),
        ({"misc": ["Heads=2", "Heads=1", "_"]}, {}, r"2: s: no tree agrees with HEAD and DEPREL"),
        ({"misc": ["Heads=2", "Heads=1", "_"]}, {"algorithm": "eisner"}, "2: s: no projective"),
        ({"misc": ["Heads=9", "_", "_"]}, {}, "Heads in MISC is '9', not a word's number"),
        ({"misc": ["_", "NotHead=x", "_"]}, {}, r"3: s: NotHead in MISC is 'x'"),
        ({"misc": ["_", "Deprels=none", "_"]}, {}, "3: s: Deprels of word 2 in MISC has 'none'"),
        (
            {"misc": ["_", "Deprels=nsbj|obj", "_"]},
            {},
            "3: s: Deprels of word 2 in MISC has 'nsbj'",
        ),
        ({"misc": ["_", "_", "Deprels=root,foo"]}, {}, "4: s: Deprels of word 3 in MISC has 'foo'"),
        ({"misc": ["_", "Deprels=", "_"]}, {}, "3: s: Deprels of word 2 in MISC has ''"),
        ({"misc": ["_", "Heads=", "_"]}, {}, "3: s: no head of word 2 agrees with its DEPREL"),
        ({"misc": ["_", "Heads=2", "_"]}, {}, "3: s: no head of word 2 agrees"),
        (
            {"deprel": ["_", "_", "obj"], "misc": ["_", "_", "Heads=0"]},
            {},
            "4: s: no head of word 3 agrees",
        ),
    ],
)
def test_contradictions_are_errors(parser, tmp_path, columns, options, message):
    sentence = new_sentence(["a", "b", "c"], columns, comments=["# sent_id = s\n"])
    write([sentence], tmp_path / "in.conllu")
    with pytest.raises(FormatError, match=message):
        parser(read(tmp_path / "in.conllu"), heads="keep", **options)


def test_a_repeated_root_label_is_the_only_one(tiny):
    sentence = new_sentence(["a", "b", "c"], {"misc": ["Deprels=root,root", "_", "NotHead=0"]})
    for seed in range(5):
        parser = make_random_parser(tiny, seed)
        for root in ("single", "multi"):
            for parsed in parser.parse([sentence], heads="keep", best=3, root=root):
                assert (parsed.head[0], parsed.deprel[0]) == (0, "root")
                assert "root" not in [parsed.deprel[i] for i in (1, 2) if parsed.head[i]]


def test_crossing_arcs_are_found_by_definition():
    for n in range(1, 6):
        for heads in product(range(-1, n + 1), repeat=n):
            arcs = [sorted((word, head)) for word, head in enumerate(heads, 1) if head >= 0]
            crosses = any(a < c < b < d for a, b in arcs for c, d in arcs)
            found = _find_crossing(heads)
            assert bool(found) == crosses
            if found:
                (a, b), (c, d) = sorted(sorted((word, heads[word - 1])) for word in found)
                assert a < c < b < d


def test_two_roots_are_kept_if_a_tree_may_have_several(parser):
    sentence = new_sentence(["a", "b", "c"], {"head": [0, -1, 0]})
    assert parser([sentence], heads="keep", root="multi")[0].head[::2] == (0, 0)


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("keeps", [False, True])
def test_the_best_trees_have_their_probabilities(tiny, parser, root, keeps):
    rng = np.random.default_rng(6)
    sentences = [draw_sentence(rng, n, tiny) for n in (1, 2, 3, 4, 5)]
    annotated = [annotate(rng, sentence, root == "single", False) for sentence in sentences]
    every = [trees(len(sentence), root == "single", False) for sentence in sentences]
    agrees = [agree if keeps else np.ones(len(agree), bool) for _, _, agree in annotated]
    if keeps:
        sentences = [sentence for sentence, _, _ in annotated]
    options = {"heads": "keep"} if keeps else {}
    groups = list(group_trees(parser.parse(sentences, best=6, root=root, **options)))
    for sentence, group, possible, agree in zip(sentences, groups, every, agrees, strict=True):
        score = arc_scores(parser, sentence)
        value = np.where(agree, tree_scores(score / WARM.marginal, possible), -np.inf)
        order = np.argsort(-value)[:6]
        order = order[value[order] > -np.inf]
        assert [tree.head for tree in group] == [tuple(possible[i].tolist()) for i in order]
        assert [tree_rank(tree) for tree in group] == list(range(1, len(order) + 1))
        total = np.logaddexp.reduce(value)
        for index, tree in zip(order, group, strict=True):
            labels = (compute_scores(parser, tree)[1] / WARM.label).log_softmax(-1).numpy()
            chosen = [parser.vocabulary.columns["deprel"].indices[x] for x in tree.deprel]
            log_label = labels[np.arange(1, len(tree) + 1), chosen].sum()
            expected = np.exp(value[index] - total + log_label)
            assert float(tree.comment("prob")) == pytest.approx(expected, rel=2e-3)


def test_all_trees_with_all_labels_have_a_total_probability_of_one(tiny):
    parser = make_random_parser(tiny, 4, root_label="")
    sentence = new_sentence(["a", "b", "c"])
    total = 0.0
    labels = len(parser.vocabulary.columns["deprel"].symbols)
    for tree in parser.parse([sentence], best=100):
        scores = compute_scores(parser, tree)[1].log_softmax(-1).numpy()[1:]
        best = scores.max(-1).sum()
        every = np.exp([sum(row[i] for row, i in zip(scores, choice, strict=True))
                        for choice in product(range(labels), repeat=3)])  # fmt: skip
        total += float(tree.comment("prob")) * every.sum() / np.exp(best)
    assert total == pytest.approx(1.0, abs=2e-3)


def test_what_cannot_be_combined_is_refused(tiny, parser):
    sentence = new_sentence(["a", "b"])
    for options, message in (
        ({"best": 0}, "`best` is 0"),
        ({"best": 2, "algorithm": "argmax"}, "`best` needs a decoder of trees"),
        ({"heads": "drop"}, "heads can be "),
        ({"heads": "keep", "passes": 2}, "`passes` excludes `heads`"),
    ):
        with pytest.raises(ValueError, match=message):
            parser([sentence], **options)
    with pytest.raises(FormatError, match="need CoNLL-U or JSON"):
        parser([new_sentence(["a"], format=CONLLX)], best=2)


@pytest.fixture(scope="module")
def model(tiny, tmp_path_factory):
    return str(save_parser(make_parser(tiny), tmp_path_factory.mktemp("model")))


def test_the_command_writes_several_trees(model, tiny, tmp_path, capfd):
    out = tmp_path / "trees.conllu"
    command = ["parse", str(TINY), "--model", model, "--device", "cpu", "-q", "--best", "3"]
    assert run([*command, "-o", str(out)]) == 0
    groups = list(group_trees(read(out)))
    assert [group[0].form for group in groups] == [sentence.form for sentence in tiny]
    assert {len(group) for group in groups if len(group[0]) > 2} == {3}
    assert run([*command, "--format", "json"]) == 0
    records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(records) == sum(map(len, groups))
    first = [record for record in records if record["rank"] == 1]
    assert len({record["start"] for record in first}) == len(tiny)
    assert [record["start"] for record in records[:3]] == [records[0]["start"]] * 3
    assert run([*command, "--format", "conllx"]) == 2


def test_the_command_completes_a_treebank(model, tiny, tmp_path, capfd):
    partial = [
        sentence.with_tree([*sentence.head[:1], *[-1] * (len(sentence) - 1)], sentence.deprel)
        for sentence in tiny
    ]
    write(partial, tmp_path / "in.conllu")
    out = tmp_path / "out.conllu"
    command = ["parse", str(tmp_path / "in.conllu"), "--model", model, "--device", "cpu", "-q"]
    assert run([*command, "--heads", "keep", "-o", str(out)]) == 0
    for before, after in zip(tiny, read(out), strict=True):
        assert after.head[0] == before.head[0] and after.deprel == before.deprel
    assert capfd.readouterr().err == ""


ELLIPSIS = """\
# sent_id = whole
1	We	we	PRON	_	_	2	nsubj	2:nsubj	_
2	sing	sing	VERB	_	_	0	root	0:root	_
2.1	sing	sing	VERB	_	_	_	_	2:conj	_
3	they	they	PRON	_	_	2	conj	2.1:nsubj	_

# sent_id = part
1	We	we	PRON	_	_	_	_	2:nsubj	_
2	sing	sing	VERB	_	_	0	root	0:root	_
2.1	sing	sing	VERB	_	_	_	_	2:conj	_
3	they	they	PRON	_	_	2	conj	2.1:nsubj	_

"""
AUTOMATIC = "1\tWe\t_\tP\tP\t_\t2\tnsubj\t2\tobj\n2\tsing\t_\tV\tV\t_\t0\troot\t0\tdep\n\n"


def test_what_belongs_to_a_tree_that_is_kept_stays(model, parser, tmp_path, capfd):
    (whole, part), (x,) = read(ELLIPSIS.splitlines(True)), read(AUTOMATIC.splitlines(True))
    options = {"tags": "keep", "heads": "keep"}
    for sentence in (whole, x):
        (kept,) = parser.parse([sentence], **options)
        assert kept.lines == sentence.lines
        # A tree that is predicted has no DEPS, even if it is the same tree.
        (predicted,) = parser.parse([sentence])
        column = sentence.format.derived_columns[0]
        assert set(predicted.column(column)) == {"_"} and not predicted.empty_nodes()
    (completed,) = parser.parse([part], **options)
    assert set(completed.column("deps")) == {"_"} and not completed.empty_nodes()
    (tree,) = parser.parse([whole], "keep", heads="keep", best=3, prob=True)
    assert tree.column("deps") == whole.column("deps") and tree.empty_nodes()

    (tmp_path / "in.conllu").write_text(ELLIPSIS)
    command = ["parse", str(tmp_path / "in.conllu"), "--model", model, "--device", "cpu"]
    left_out = "were left out, where the tree is new"
    for arguments, note in (
        (["--heads", "keep"], f"3 DEPS values, 1 empty node {left_out}"),
        ([], f"6 DEPS values, 2 empty nodes {left_out}"),
        # New values take the place of the old ones.
        (["--enhance", "conj"], f"2 empty nodes {left_out}"),
    ):
        assert run([*command, *arguments]) == 0
        assert capfd.readouterr().err == f"depkit: note: {note}\n"


@pytest.mark.parametrize("family", ["transition", "constituency"])
def test_other_families_refuse_by_name(family):
    parser_class = FAMILIES[family].parser
    assert not {"heads", "best"} & parser_class.options.keys()
    parser = SimpleNamespace(options=parser_class.options, config=SimpleNamespace(family=family))
    with pytest.raises(ConfigError, match=f"family {family} do not support `heads`"):
        parser_class.check_options(parser, ["heads"])
