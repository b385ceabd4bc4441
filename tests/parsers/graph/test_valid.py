"""Valid trees are valid whatever the scores and the tags, by plain definitions of the rules."""

import numpy as np
import pytest

from depkit.cli.main import run
from depkit.corpus.io import read
from depkit.corpus.sentence import new_sentence
from depkit.parsers.ensembles import combine
from depkit.parsers.graph.valid import attach_punctuation, attach_to_nearest
from depkit.trees.shape import is_tree
from tests.conftest import TINY
from tests.parsers.small_parsers import make_random_parser, save_parser
from tests.treebank.ud_rules import find_broken_rules

UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _".split()
LABELS = """
acl advcl advmod amod appos aux case cc ccomp compound conj cop csubj det discourse fixed flat
goeswith iobj mark nmod nsubj nsubj:pass nummod obj obl orphan parataxis punct root xcomp
""".split()


@pytest.fixture(scope="module")
def treebank():
    """Sentences that have all tags and relations."""
    rng = np.random.default_rng(0)
    sentences = []
    for n in (40, 8, 5):
        columns = {
            "head": [0, *[1] * (n - 1)],
            "deprel": ["root", *(LABELS * 2)[: n - 1]],
            "upos": rng.choice(UPOS[:-1], size=n).tolist(),
        }
        sentences.append(new_sentence([f"w{i}" for i in range(n)], columns))
    return sentences


def draw_sentences(seed, count):
    """Return sentences of random tags, of which many are punctuation."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(1, 15))
        tags = rng.choice(UPOS, size=n)
        tags[rng.random(n) < rng.choice([0.2, 0.5, 0.9, 1.0])] = "PUNCT"
        yield new_sentence([f"w{i}" for i in range(n)], {"upos": tags.tolist()})


@pytest.mark.parametrize("options", [{}, {"algorithm": "eisner"}, {"algorithm": "mbr"},
                                     {"probabilities": "marginal"}])  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2])
def test_no_rule_is_broken(treebank, seed, options):
    parser = make_random_parser(treebank, seed)
    if seed == 2:
        parser = combine([parser, make_random_parser(treebank, 3)])
    sentences = list(draw_sentences(seed, 150))
    changed = 0
    plain = parser.parse(sentences, tags="keep", **options)
    for sentence, before in zip(
        parser.parse(sentences, tags="keep", valid="ud", **options), plain, strict=True
    ):
        heads = np.array(sentence.head, np.int32)
        assert is_tree(heads, single_root=True)
        assert not find_broken_rules(sentence.head, sentence.deprel, sentence.upos)
        broken = find_broken_rules(before.head, before.deprel, before.upos)
        changed += bool(broken)
        if not broken and not {"PUNCT"} & {*before.upos}:
            assert (sentence.head, sentence.deprel) == (before.head, before.deprel)
    assert changed > 50


def test_a_valid_tree_has_one_root_if_the_training_trees_have_several(treebank):
    parser = make_random_parser(treebank, 1, root="multi")
    sentences = list(draw_sentences(3, 80))
    assert any(sentence.head.count(0) > 1 for sentence in parser.parse(sentences, tags="keep"))
    for options in ({}, {"root": "auto"}, {"algorithm": "eisner"}, {"probabilities": "marginal"}):
        for parsed in parser.parse(sentences, tags="keep", valid="ud", **options):
            assert is_tree(np.array(parsed.head, np.int32), single_root=True)
            assert parsed.deprel.count("root") == 1


def test_predicted_tags_are_those_that_count(treebank):
    parser = make_random_parser(treebank, 4)
    for sentence in parser.parse(draw_sentences(5, 50), tags="predict", valid="ud"):
        assert not find_broken_rules(sentence.head, sentence.deprel, sentence.upos)


def test_the_tag_of_a_fixed_expression_counts(treebank):
    parser = make_random_parser(treebank, 1)
    columns = {"upos": ["VERB", "ADP", "NOUN"], "feats": ["_", "ExtPos=PUNCT|X=Y", "_"]}
    parsed = parser.parse([new_sentence(["a", "b", "c"], columns)], tags="keep", valid="ud")
    assert next(iter(parsed)).deprel[1] == "punct"


def test_attaching_punctuation_changes_nothing_else():
    rng = np.random.default_rng(7)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        is_punct = rng.random(n) < 0.5
        heads = np.zeros(n, np.int32)
        order = rng.permutation(n)
        order = [*[i for i in order if not is_punct[i]], *[i for i in order if is_punct[i]]]
        for rank, i in enumerate(order[1:], start=1):
            heads[i] = 1 + order[int(rng.integers(rank))]
        scores = rng.normal(size=(n + 1, n + 1))
        scores[np.arange(n + 1), np.arange(n + 1)] = -np.inf
        for result in (
            attach_punctuation(scores, heads, is_punct), attach_to_nearest(heads, is_punct)
        ):  # fmt: skip
            assert is_tree(result.astype(np.int32), True)
            assert (result == heads)[~is_punct].all() or is_punct.all()
            deprels = ["punct" if x else "dep" for x in is_punct]
            deprels[int(np.flatnonzero(result == 0)[0])] = "root"
            broken = find_broken_rules(result.tolist(), deprels, ["_"] * n)
            assert not {word for word, rule in broken if rule == "crossing"}


def test_what_has_no_valid_trees_is_refused(tiny, treebank, tmp_path, capfd):
    parser = make_random_parser(treebank, 1)
    for options in ({"heads": "keep"}, {"best": 2}, {"algorithm": "argmax"}):
        with pytest.raises(ValueError, match="`valid` excludes"):
            parser(["a b".split()], valid="ud", **options)
    with pytest.raises(ValueError, match="`valid` excludes `root` multi"):
        parser(["a b".split()], valid="ud", root="multi")
    strange = [s.with_columns({"deprel": ["SBJ", *s.deprel[1:]]}) for s in treebank]
    with pytest.raises(ValueError, match="'SBJ' is none"):
        make_random_parser(strange, 1)(["a b".split()], valid="ud")
    bare = [new_sentence(["a", "b"], {"head": [0, 1], "deprel": ["root", "obj"]})]
    sentence = new_sentence(["a", "b"], {"upos": ["NOUN", "PUNCT"]})
    with pytest.raises(ValueError, match="does not have the relations"):
        make_random_parser(bare, 1)([sentence], tags="keep", valid="ud")
    model = save_parser(make_random_parser(tiny, 1), tmp_path / "model")
    command = ["parse", str(TINY), "--model", str(model), "--device", "cpu", "-q", "--valid", "ud"]
    assert run([*command, "-o", str(tmp_path / "out.conllu")]) == 0
    for sentence in read(tmp_path / "out.conllu"):
        assert not find_broken_rules(sentence.head, sentence.deprel, sentence.upos)
    assert run([*command, "--root", "multi"]) == 2
    assert "--valid excludes --root multi, because UD requires" in capfd.readouterr().err
    assert run([*command, "--best", "2"]) == 2
    assert "--valid excludes --heads keep, --best" in capfd.readouterr().err
