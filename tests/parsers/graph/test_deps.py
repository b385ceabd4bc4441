"""Enhanced dependencies that a parser predicts: what is learned, decoding, and training."""

import itertools

import numpy as np
import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.rules import enhance, enhance_sentence
from depkit.corpus.enhanced import collapse, read_graph
from depkit.nn.graph_scorer import GraphScorer
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family, make_parser_config
from depkit.parsers.graph.deps import (
    COLUMN,
    MOST_HEADS,
    candidate_heads,
    choose_relations,
    has_deps,
    learned_relations,
    restore,
    shorten,
    targets,
)
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.tables import Table
from depkit.training.loop import score_dev
from depkit.trees.shape import is_tree
from tests.convert.ud_trees import COORDINATION, RELATIVE, parse
from tests.parsers.small_parsers import make_parser

SENTENCES = [enhance_sentence(parse(rows)) for rows in (COORDINATION, RELATIVE)]


def test_labels_are_learned_without_their_words() -> None:
    learned = learned_relations(SENTENCES[0])
    assert learned[6] == [(2, "obj"), (3, "=:*")]  # and maps
    assert learned[8] == [(2, "=:*")]  # in bed
    assert learned[11] == [(2, "obl:*"), (9, "=:*")]  # on trains
    # The antecedent has the preposition of the relative pronoun.
    assert learned_relations(SENTENCES[1])[1] == [(5, "obl:#"), (7, "=")]
    assert learned_relations(parse(RELATIVE)) == []


def test_conjuncts_with_the_preposition_of_the_first_one() -> None:
    rows = "live 0 root VERB\nin 3 case ADP\nRome 1 obl NOUN\nor 5 cc CCONJ\nOslo 3 conj NOUN"
    assert learned_relations(enhance_sentence(parse(rows)))[4] == [(1, "obl:&"), (3, "=:*")]


def test_nothing_is_learned_relative_to_a_partial_tree() -> None:
    partial = SENTENCES[0].with_columns({"head": [-1, *SENTENCES[0].head[1:]]})
    assert has_deps(partial) and learned_relations(partial) == []
    for values in targets(partial, Table(["="]), IGNORED).values():
        assert values == [IGNORED] * len(partial)
    config = make_parser_config(PREDICT)
    assert get_family(config).resolve_auto(config, [partial]).scorer.predict == ["upos"]


@pytest.mark.parametrize("rows", [COORDINATION, RELATIVE])
def test_labels_are_restored(rows: str) -> None:
    sentence = parse(rows)
    graph = GrowingGraph(sentence)
    others = ["obl:under", "nsubj:pass", "conj:and>obj", "obl:in:acc", "obl", "ref"]
    for word, relations in enumerate(enhance(sentence), start=1):
        for head, label in [*relations, *((2, other) for other in others if word != 2)]:
            short = shorten(graph, word, head, label)
            assert restore(graph, word, head, short) == label


def test_a_text_that_is_missing_is_left_out() -> None:
    graph = GrowingGraph(parse(COORDINATION))
    assert restore(graph, 1, 2, "obl:*:&:#:$") == "obl"


def test_targets_have_one_array_for_each_head() -> None:
    table = Table(["=", "=:*", "obj"])
    arrays = targets(SENTENCES[0], table, IGNORED)
    assert len(arrays) == 2 * MOST_HEADS
    assert arrays["deps_head0"][6] == 2 and arrays["deps_head1"][6] == 3
    assert arrays["deps_label0"][6] == 2 and arrays["deps_label1"][6] == 1
    assert set(arrays["deps_head2"]) == {IGNORED}
    empty = targets(parse(RELATIVE), table, IGNORED)
    assert {value for column in empty.values() for value in column} == {IGNORED}


def trees(size: int):
    """Yield the heads of all trees of a number of words."""
    for heads in itertools.product(range(size + 1), repeat=size):
        if is_tree(np.array(heads, dtype=np.int32)):
            yield heads


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_word_is_reachable(size: int) -> None:
    """For all trees of up to 4 words, with random scores and labels."""
    random = np.random.default_rng(size)
    for heads in trees(size):
        scores = random.normal(-0.5, 1, (size + 1, size + 1))
        scores[0] = -np.inf
        np.fill_diagonal(scores, -np.inf)
        candidates = candidate_heads(scores, heads)
        for row, found, head in zip(scores[1:], candidates, heads, strict=True):
            assert found == sorted({*np.flatnonzero(row > 0), head})
        labels = random.choice(["=", "obj", "=:*|obj"], (size + 1, size + 1))
        labelled = [[(h, labels[w, h]) for h in found] for w, found in enumerate(candidates, 1)]
        chosen = choose_relations(scores, heads, labelled)
        assert reachable([[h for h, _ in pairs] for pairs in chosen]) == set(range(size + 1))
        for pairs, before, head in zip(chosen, labelled, heads, strict=True):
            others = [(h, label.removeprefix("=:*|")) for h, label in before if h != head]
            others = [(h, label) for h, label in others if label != "="]
            # All but the relation of the tree is certain; without another one, it is there, too.
            assert [(h, label) for h, label in pairs if h != head] == others
            assert others or [h for h, _ in pairs] == [head]


def test_the_relation_of_the_tree_can_be_replaced() -> None:
    """As that of a relative pronoun by `ref`, where the word is reachable without it."""
    scores = np.full((4, 4), -1.0)
    scores[1, 0] = scores[2, 1] = scores[3, 1] = scores[1, 2] = 1
    candidates = candidate_heads(scores, [0, 1, 2])
    assert candidates == [[0, 2], [1], [1, 2]]
    labelled = [[(0, "="), (2, "obj")], [(1, "=")], [(1, "ref"), (2, "=")]]
    expected = [[(0, "="), (2, "obj")], [(1, "=")], [(1, "ref")]]
    assert choose_relations(scores, [0, 1, 2], labelled) == expected
    labelled[0][0] = (0, "=")
    scores[1, 0] = -1  # Without the root's relation, no word would be reachable.
    assert choose_relations(scores, [0, 1, 2], labelled) == expected


def reachable(heads) -> set[int]:
    found = {0}
    while new := {word for word, hs in enumerate(heads, 1) if found & set(hs)} - found:
        found |= new
    return found


def test_the_loss_is_that_of_each_arc() -> None:
    """The loss of a padded batch, beside sums over all pairs of words in Python."""
    torch.manual_seed(1)
    scorer = GraphScorer(4, arc=3, label=3, labels=2, dropout=0).eval()
    for weight in scorer.parameters():
        torch.nn.init.normal_(weight)
    words, lengths = torch.randn(2, 4, 4), torch.tensor([4, 3])
    heads = torch.full((2, 4, 2), IGNORED)
    labels = heads.clone()
    heads[0, 1, 0], labels[0, 1, 0] = 0, 1
    heads[0, 2], labels[0, 2] = torch.tensor([1, 3]), torch.tensor([0, IGNORED])
    scores = scorer.arc_scores(words, lengths)
    assert scores.isfinite().sum() == 3 * 3 + 2 * 2
    expected, gold = 0.0, {(1, 0), (2, 1), (2, 3)}
    for dependent in (1, 2, 3):
        for head in {0, 1, 2, 3} - {dependent}:
            logit = scores[0, dependent, head] * (1 if (dependent, head) in gold else -1)
            expected -= torch.nn.functional.logsigmoid(logit)
    for dependent, head, label in ((1, 0, 1), (2, 1, 0)):
        pair = scorer.label_dependent(words)[0, dependent], scorer.label_head(words)[0, head]
        expected -= scorer.label(*(x[None, None] for x in pair))[0, 0].log_softmax(-1)[label]
    # The second sentence has no gold heads, so it does not count.
    loss = scorer.loss(words, lengths, heads=heads, labels=labels, ignored=IGNORED)
    torch.testing.assert_close(loss, expected / 3)
    nothing = scorer.loss(
        words, lengths, heads=torch.full_like(heads, IGNORED), labels=labels, ignored=IGNORED
    )
    assert nothing == 0


SETTINGS = [
    "inputs.word=16", "inputs.char=0", "encoder.layers=1", "encoder.size=32", "encoder.dropout=0",
    "scorer.arc=24", "scorer.label=16", "scorer.dropout=0", "training.batch_tokens=60",
    "training.rate=1e-2", "training.select=ELAS", "tokenizer.enabled=false",
]  # fmt: skip
PREDICT = {"scorer": {"predict": ["upos", "deps"]}}


def test_a_treebank_without_deps_predicts_none() -> None:
    config = make_parser_config(PREDICT)
    family = get_family(config)
    basic = [parse(COORDINATION)]
    assert family.resolve_auto(config, basic).scorer.predict == ["upos"]
    assert family.resolve_auto(config, SENTENCES).scorer.predict == ["upos", "deps"]
    assert COLUMN in family.columns(config) and COLUMN not in config.predicted_tags


def _check_kept_heads(parser) -> None:
    """A tree that is annotated as a whole keeps its graph, or receives one if it has none."""
    other = SENTENCES[0].with_columns({"deps": ["0:root"] * len(SENTENCES[0])})
    bare = SENTENCES[0].with_columns({"deps": ["_"] * len(SENTENCES[0])})
    partial = other.with_columns({"head": [-1, *other.head[1:]]})
    kept, new, completed = parser.parse([other, bare, partial], heads="keep")
    assert kept.lines == other.lines
    for sentence in (new, completed):
        assert sentence.head == SENTENCES[0].head
        assert collapse(read_graph(sentence)) == collapse(read_graph(SENTENCES[0]))


def _check_notes(model, treebank, capfd) -> None:
    """Values of DEPS are not said to be left out if the model replaces them."""
    command = [
        "parse",
        str(treebank),
        "--engine",
        "torch",
        "--device",
        "cpu",
        "--model",
        str(model),
    ]
    assert run(command) == 0
    assert capfd.readouterr().err == ""
    assert run([*command, "--model", str(model)]) == 0
    note, cleared = capfd.readouterr().err.splitlines()
    assert note == (
        "depkit: note: this combination of models does not predict DEPS; only its members by"
        " themselves do"
    )
    assert cleared.endswith("DEPS values were left out, where the tree is new")


def test_training_and_parsing(tmp_path, capfd) -> None:
    """A parser learns the graphs of two sentences; its model is loaded and parses them."""
    path, model = tmp_path / "train.conllu", tmp_path / "model"
    depkit.write(SENTENCES * 8, path)
    depkit.train(
        [path], model, dev=path, recipe="small", epochs=60, seed=1, threads=1, device="cpu",
        quiet=True, settings=["scorer.predict=['upos','deps']", *SETTINGS],
    )  # fmt: skip
    parser = depkit.load(model, engine="torch")
    bare = [parse(rows) for rows in (COORDINATION, RELATIVE)]
    parsed = list(parser.parse(bare))
    for sentence, gold in zip(parsed, SENTENCES, strict=True):
        assert collapse(read_graph(sentence)) == collapse(read_graph(gold))
    assert parsed[0].head == SENTENCES[0].head
    # The decoder that finds no tree leaves DEPS empty where its result is none.
    for sentence in parser.parse(bare, decode="argmax"):
        assert has_deps(sentence) == is_tree(np.array(sentence.head, dtype=np.int32))
    for options in ({"decode": "mbr"}, {"decode": "eisner"}, {"valid": "ud"}, {"prob": "marginal"}):
        for sentence, gold in zip(parser.parse(bare, **options), SENTENCES, strict=True):
            assert collapse(read_graph(sentence)) == collapse(read_graph(gold))
    first, *others = parser.parse(bare[:1], best=3)
    assert collapse(read_graph(first)) == collapse(read_graph(SENTENCES[0]))
    assert len(others) == 2 and not any(map(has_deps, others))
    _check_kept_heads(parser)
    _check_notes(model, path, capfd)
    (conllx,) = parser.parse([next(iter(depkit.convert(bare[:1], "conllx")))])
    assert "deps" not in conllx.format.columns
    depkit.export(model, sentences=SENTENCES)
    for sentence, gold in zip(
        depkit.load(model, engine="onnx").parse(bare), SENTENCES, strict=True
    ):
        assert collapse(read_graph(sentence)) == collapse(read_graph(gold))
    _check_kept_heads(depkit.load(model, engine="onnx"))
    # Ensembles predict no graphs, whichever of their members do.
    without = make_parser(SENTENCES)
    for members in ([parser, parser], [parser, without], [without, parser]):
        ensemble = combine(members)
        assert not any(map(has_deps, ensemble.parse(bare)))
        assert "ELAS" not in score_dev(ensemble, SENTENCES, None)
        assert ensemble.config.scorer.predict[0] == "upos"
    assert score_dev(parser, SENTENCES, None)["ELAS"] == 100
