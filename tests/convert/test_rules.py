"""The tables of rules: every rule has an example, and the language of the patterns."""

import io
import json
from functools import cache
from pathlib import Path

import pytest

from depkit.convert.constituents import Node, build_nodes
from depkit.convert.converter import Converter, load_converter
from depkit.convert.heads import HeadRules
from depkit.convert.patterns import compile_path, compile_pattern, read_definitions
from depkit.convert.relations import KINDS, Relation, parse_relations
from depkit.corpus.io import read_trees
from depkit.corpus.tree import Tree

TESTS = Path(__file__).parents[3] / "shared" / "oracles" / "stanford-tests"


def parse_tree(text: str) -> Tree:
    (tree,) = read_trees([f"({text})"])
    return tree


@cache
def decided_by(kind: str, text: str) -> list[tuple[Node, Relation | None]]:
    """Return the words of a tree that depend on another one, each with the rule that applied."""
    converter = load_converter(kind)
    constituents, _ = build_nodes(parse_tree(text))
    for node in constituents:
        node.head_child = converter.heads.find_head_child(node)
        node.head = node.head_child.head
    return [
        (child.head, converter.relations.decide(child, node)[2])
        for node in constituents
        for child in node.children
        if child is not node.head_child
    ]


RULES = [(kind, rule) for kind in KINDS for _, rule in load_converter(kind).relations.rules]


@pytest.mark.parametrize(("kind", "rule"), RULES, ids=lambda value: str(value)[:60])
def test_every_rule_decides_its_example(kind: str, rule: Relation) -> None:
    text, _, arcs = rule.example.rpartition("  ")
    dependent, head = (arcs.split(" / ") * 3)[KINDS.index(kind)].split(" < ")
    if arcs.count(" / ") == 1 and kind != "sd":
        dependent, head = arcs.split(" / ")[1].split(" < ")
    forms = [leaf.form for leaf in parse_tree(text).leaves()]
    heads, relations = load_converter(kind).convert(parse_tree(text))
    name = rule.names[KINDS.index(kind)]
    assert (dependent, head, name) in {
        (form, forms[number - 1], relation)
        for form, number, relation in zip(forms, heads, relations, strict=True)
        if number
    }
    assert rule in [
        applied for word, applied in decided_by(kind, text) if forms[word.word_index] == dependent
    ]


def first_node(text: str) -> Node:
    """Return the first word of a tree whose heads are set."""
    constituents, words = build_nodes(parse_tree(text))
    for node in constituents:
        node.head_child = load_converter("sd").heads.find_head_child(node)
        node.head = node.head_child.head
    return words[0]


@pytest.mark.parametrize(
    ("pattern", "holds"),
    [
        ("DT", True),
        ("D*", True),
        ("NN|DT", True),
        ("NN", False),
        ("not NN", True),
        ("DT, NN", False),
        ("DT or NN, *", True),
        ("DT/the", True),
        ("*/a|the", True),
        ("DT/a", False),
        ("next JJ", True),
        ("next NN", False),
        ("before NN", True),
        ("prev *", False),
        ("after *", False),
        ("head NN", True),
        ("between JJ", True),
        ("parent NP-TMP", True),
        ("parent NP-ADV", False),
        ("parent last NN", True),
        ("parent first DT, parent has JJ", True),
        ("inside S", True),
        ("parent next VP", True),
        ("parent next spine VBZ/be", False),
        ("parent next spine VBZ/do", True),
        ("parent next word VB*", True),
        ("old", True),
        ("parent core old", False),
    ],
)
def test_patterns(pattern: str, holds: bool) -> None:
    word = first_node("(S (NP-TMP (DT the) (JJ old) (NN hat)) (VP (VBZ does)))")
    definitions = read_definitions("old := JJ\nold := DT, next JJ\n", {})
    assert compile_pattern(pattern, definitions)(word) is holds


def test_paths_lead_to_the_nearest_node() -> None:
    word = first_node("(NP (DT the) (JJ old) (JJ red) (NN hat))")
    end = compile_path("before JJ", {})(word)
    assert end is not None and end.word_index == 1
    last = word.parent.children[-1] if word.parent else word
    nearest = compile_path("after JJ", {})(last)
    assert nearest is not None and nearest.word_index == 2
    assert compile_path("next NN", {})(word) is None
    assert compile_path("parent head", {})(word) is None


@pytest.mark.parametrize("pattern", ["oops", "NN oops", "", "prev", "prev and NN", "NP-tmp"])
def test_what_is_not_a_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"not a condition|no pattern"):
        compile_pattern(pattern, {})


def test_broken_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="not a definition"):
        read_definitions("a = NN\n", {})
    with pytest.raises(ValueError, match="not a head rule"):
        HeadRules("NP: middle NN\n", "sd", {})
    with pytest.raises(ValueError, match="not a rule"):
        parse_relations("det: DT in NP\n  A determiner.\n  (NP (DT a) (NN hat))\n", {})
    with pytest.raises(ValueError, match="shorter"):
        parse_relations("det: DT in NP\n  A determiner.\n", {})


def convert(kind: str, text: str) -> str:
    tree = parse_tree(text)
    forms = [leaf.form for leaf in tree.leaves()]
    rows = zip(forms, *load_converter(kind).convert(tree), strict=True)
    return " ".join(f"{form}/{head}:{relation}" for form, head, relation in rows)


# Questions and other constructions in which a verb could get a second subject or a wrong one.
CONSTRUCTIONS = """\
(SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (DT the) (NN farmer)) (VP (VB plant))))
  What/5:dobj did/5:aux the/4:det farmer/5:nsubj plant/0:root
(SBARQ (WHNP (WDT Which) (NN song)) (SQ (VBD did) (NP (PRP she)) (VP (VB sing))))
  Which/2:det song/5:dobj did/5:aux she/5:nsubj sing/0:root
(SBARQ (WHNP (WP Who)) (SQ (VBZ is) (NP (DT the) (NN mayor))))
  Who/0:root is/1:cop the/4:det mayor/1:nsubj
(SBARQ (WHADJP (WRB How) (JJ old)) (SQ (VBP are) (NP (PRP you))))
  How/2:advmod old/0:root are/2:cop you/2:nsubj
(SBARQ (WHNP (WP Who)) (SQ (VBZ is) (VP (VBG singing))))
  Who/3:nsubj is/3:aux singing/0:root
(SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (DT the) (NN box)) (VP (VBN made) (PP (IN of)))))
  What/5:pobj is/5:auxpass the/4:det box/5:nsubjpass made/0:root of/5:prep
(SBARQ (WHNP (WRB How) (JJ many) (NNS cars)) (SQ (VBZ has) (NP (PRP he))))
  How/3:advmod many/3:amod cars/4:dobj has/0:root he/4:nsubj
(SBARQ (WHNP (WP What)) (SQ (VBZ has) (NP (CD four) (NNS legs))))
  What/2:nsubj has/0:root four/4:num legs/2:dobj
(SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (EX there))))
  What/2:nsubj is/0:root there/2:expl
(SQ (VBZ Is) (NP (PRP he)) (NP (DT a) (NN pilot)))
  Is/4:cop he/4:nsubj a/4:det pilot/0:root
(SQ (VBZ Is) (NP (EX there)) (NP (DT a) (NN cat)))
  Is/0:root there/1:expl a/4:det cat/1:nsubj
(SQ (VBD Was) (NP (DT the) (NN bridge)) (VP (VBN painted)))
  Was/4:auxpass the/3:det bridge/4:nsubjpass painted/0:root
(S (NP (NNS Beans)) (NP (PRP I)) (VP (VBP like)))
  Beans/3:dep I/3:nsubj like/0:root
(S (NP (DT The) (NN index)) (VP (VBD remained) (PP (IN below) (NP (CD 9))) (NP (NNP Monday))))
  The/2:det index/3:nsubj remained/0:root below/3:prep 9/4:pobj Monday/3:tmod
(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (NP (PRP we)) (VP (VBD saw)))))
  the/2:det man/0:root who/5:dobj we/5:nsubj saw/2:rcmod
(NP (NP (DT the) (NN cat)) (SBAR (S (NP (PRP we)) (VP (VBD saw)))))
  the/2:det cat/0:root we/4:nsubj saw/2:rcmod
(NP (QP (RB up) (TO to) (CD 300)) (NNS jobs))
  up/3:quantmod to/3:dep 300/4:num jobs/0:root
(S (SBAR (WHNP (WP What)) (S (NP (PRP she)) (VP (VBD said)))) (VP (VBZ helps)))
  What/3:dobj she/3:nsubj said/4:csubj helps/0:root
(S (NP (PRP He)) (VP (VBZ has) (RB not) (VBN been) (VBN seen)))
  He/5:nsubjpass has/5:aux not/5:neg been/5:auxpass seen/0:root
(S (NP (PRP He)) (VP (MD will) (VB be) (ADJP (JJ glad))))
  He/4:nsubj will/4:aux be/4:cop glad/0:root
(S (NP (PRP He)) (VP (VBD was) (VBN caught) (CC and) (VBN killed)))
  He/3:nsubjpass was/3:auxpass caught/0:root and/3:cc killed/3:conj
(S (NP (DT The) (NN plan)) (VP (VBZ is) (NP (PRP itself)) (ADJP (JJ odd))))
  The/2:det plan/5:nsubj is/5:cop itself/5:npadvmod odd/0:root
(S (VP (VBP Are) (NP (EX there)) (ADVP (RB still)) (NP (NNS cats))))
  Are/0:root there/1:expl still/1:advmod cats/1:nsubj
(SQ (VBD Was) (NP (EX there)) (NP (DT a) (NN man)) (VP (VBG singing)))
  Was/0:root there/1:expl a/4:det man/1:nsubj singing/4:partmod
(SBARQ (WHNP (WP What)) (PP (IN about) (NP (NNP Rome))))
  What/0:root about/1:prep Rome/2:pobj
(SQ (VBZ Is) (NP (PRP it)) (ADJP (JJ true)) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD left)))))
  Is/3:cop it/3:nsubj true/0:root that/6:mark he/6:nsubj left/3:ccomp
(S (VBZ Is) (NP (DT that)) (JJ odd))
  Is/3:cop that/3:nsubj odd/0:root
(S (NP (PRP It)) (VP (VBZ is) (RB not) (JJ cheap) (PP (IN in) (NP (NNP Rome)))))
  It/4:nsubj is/4:cop not/4:neg cheap/0:root in/4:prep Rome/5:pobj
(S (NP (PRP You)) (VP (VBD saw) (WHNP (WP who))))
  You/2:nsubj saw/0:root who/2:dobj
(SBAR (WHNP (WP who)) (S (S (NP (PRP I)) (VP (VBP see))) (CC and) (S (NP (PRP we)) (VP (VBP hit)))))
  who/3:dobj I/3:nsubj see/0:root and/3:cc we/6:nsubj hit/3:conj
(NP (DT The) (NML (NN corn) (NN seed)) (NNS bags))
  The/4:det corn/3:nn seed/4:nn bags/0:root
(NP (NML (NNP Ann) (NNP Bell)) (POS 's) (NN hat))
  Ann/2:nn Bell/4:poss 's/2:possessive hat/0:root
(NP (DT a) (JJ hot) (HYPH -) (CC and) (HYPH -) (JJ dry) (NN day))
  a/7:det hot/7:amod -/7:punct and/2:cc -/7:punct dry/2:conj day/0:root
"""
LINES = CONSTRUCTIONS.splitlines()


@pytest.mark.parametrize(("text", "expected"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_constructions(text: str, expected: str) -> None:
    assert convert("sd", text) == expected.strip()


@pytest.mark.parametrize("kind", ["sd", "ud"])
def test_published_tests_of_the_original_converters(kind: str) -> None:
    if not TESTS.is_dir():
        pytest.skip("no ../shared here: the published tests are not part of the repository")
    correct = words = 0
    for entry in json.loads((TESTS / f"{kind}.json").read_text()):
        (tree,) = read_trees(io.StringIO(f"({entry['tree']})"))
        heads, relations = load_converter(kind).convert(tree)
        for position, _, head, relation in entry["words"]:
            words += 1
            correct += (heads[position - 1], relations[position - 1]) == (head, relation)
        subjects = [
            head
            for head, relation in zip(heads, relations, strict=True)
            if relation.startswith("nsubj")
        ]
        assert len(set(subjects)) == len(subjects)
    assert correct / words > 0.98


def test_words_that_rules_send_into_a_cycle_depend_on_the_usual_heads() -> None:
    text = "det of next: DT in NP, before *\n  A loop.\n  (NP (DT a) (NN b))  a < b\n"
    text += "nn of after DT: NN in NP, not before NN\n  A loop.\n  (NP (DT a) (NN b))  b < a\n"
    rules = load_converter("sd").relations.__class__(parse_relations(text, {}), "sd")
    converter = Converter(load_converter("sd").heads, rules)
    heads, _ = converter.convert(parse_tree("(NP (DT a) (NN b) (NNS c))"))
    assert heads.count(0) == 1 and heads == [3, 3, 0]
