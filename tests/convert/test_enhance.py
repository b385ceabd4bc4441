"""Enhanced dependencies from basic trees: each enhancement, and what is learned from a treebank."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import depkit
from depkit import FormatError, Sentence
from depkit.convert import ud2, universal
from depkit.convert.dependencies import Kind
from depkit.convert.enhance.conventions import (
    ENHANCEMENTS,
    GUIDELINES,
    Conventions,
    known_conventions,
)
from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.learn import learn_conventions
from depkit.convert.enhance.request import resolve_conventions
from depkit.convert.enhance.rules import enhance, enhance_sentence
from depkit.corpus.enhanced import format_relations, write_graph
from depkit.corpus.io import read_trees
from tests.cli.commands import Command
from tests.conftest import SHARED
from tests.convert.ud_trees import COORDINATION, RELATIVE, parse

run = Command("convert")
EWT = SHARED / "data/ud-english-ewt/en_ewt-ud-dev.conllu"


def added(sentence: Sentence, conventions: Conventions = GUIDELINES) -> list[str]:
    """Return the words whose relations differ from their basic one, with their relations."""
    pairs = zip(sentence.head, sentence.deprel, strict=True)
    return [
        f"{form} {format_relations(relations)}"
        for form, relations, basic in zip(
            sentence.form, enhance(sentence, conventions), pairs, strict=True
        )
        if relations != [basic]
    ]


def test_labels_are_extended_and_conjuncts_share_heads_and_subjects() -> None:
    assert added(parse(COORDINATION)) == [
        "She 2:nsubj|14:nsubj",
        "papers 2:obj|3:conj:and", "maps 2:obj|3:conj:and",
        "bed 2:obl:in", "trains 2:obl:on|9:conj:or", "sleeps 2:conj:and",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["case"], ["papers 3:conj:and", "maps 3:conj:and", "bed 2:obl:in", "trains 9:conj:or",
                    "sleeps 2:conj:and"]),
        (["conj"], ["papers 2:obj|3:conj", "maps 2:obj|3:conj", "trains 2:obl|9:conj"]),
        (["shared"], ["She 2:nsubj|14:nsubj"]),
        (["xsubj", "relcl", "empty"], []),
    ],
)  # fmt: skip
def test_each_enhancement_can_be_chosen(types: list[str], expected: list[str]) -> None:
    assert added(parse(COORDINATION), replace(GUIDELINES, types=tuple(types))) == expected


def test_antecedents_take_the_relations_of_relative_pronouns() -> None:
    assert added(parse(RELATIVE)) == ["man 5:obl:in|7:nsubj", "whom 2:ref"]
    kept = replace(GUIDELINES, keeps_relative=True)
    assert added(parse(RELATIVE), kept) == ["man 5:obl:in|7:nsubj", "whom 2:ref|5:obl:in"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("book 0 root NOUN\nI 3 nsubj PRON\nread 1 acl:relcl VERB", ["book 0:root|3:obj"]),
        # The gap is in the innermost complement.
        ("book 0 root NOUN\nI 3 nsubj PRON\nwant 1 acl:relcl VERB\nto 5 mark PART\n"
         "read 3 xcomp VERB", ["book 0:root|5:obj", "I 3:nsubj|5:nsubj:xsubj"]),
        ("people 0 root NOUN\nliving 1 acl:relcl VERB", ["people 0:root|2:nsubj"]),
        ("time 0 root NOUN\nI 3 nsubj PRON\ncame 1 acl:relcl VERB", ["time 0:root|3:obl"]),
    ],
)  # fmt: skip
def test_the_gap_of_a_relative_clause_without_a_pronoun(rows: str, expected: list[str]) -> None:
    conventions = replace(GUIDELINES, adverbial_nouns=("time",))
    assert added(parse(rows), conventions) == expected


def test_subjects_of_open_complements() -> None:
    raised = parse("I 2 nsubj PRON\nwant 0 root VERB\nto 4 mark PART\ngo 2 xcomp VERB")
    assert added(raised) == ["I 2:nsubj|4:nsubj:xsubj"]
    asked = "I 2 nsubj PRON\nask 0 root VERB\nyou 2 obj PRON\nto 5 mark PART\ngo 2 xcomp VERB"
    assert added(parse(asked)) == ["you 2:obj|5:nsubj:xsubj"]
    conventions = replace(GUIDELINES, subject_control=("ask",), controlled_subject="nsubj")
    assert added(parse(asked), conventions) == ["I 2:nsubj|5:nsubj"]
    both = parse(f"{asked}\nand 7 cc CCONJ\nstay 5 conj VERB")
    assert added(both)[0] == "you 2:obj|5:nsubj:xsubj|7:nsubj:xsubj"


def test_the_label_of_a_shared_subject_follows_the_voice() -> None:
    rows = "It 2 nsubj PRON\nfell 0 root VERB\nand 5 cc CCONJ\nwas 5 aux:pass AUX\nseen 2 conj VERB"
    assert added(parse(rows)) == ["It 2:nsubj|5:nsubj:pass", "seen 2:conj:and"]
    rows = "It 3 nsubj:pass PRON\nwas 3 aux:pass AUX\nseen 0 root VERB VerbForm=Part\n"
    rows += "and 5 cc CCONJ\nheard 3 conj VERB VerbForm=Part"
    assert added(parse(rows))[0] == "It 3:nsubj:pass|5:nsubj:pass"


def test_an_empty_node_for_an_elided_predicate() -> None:
    rows = "I 2 nsubj PRON\nate 0 root VERB _ eat\ntea 2 obj NOUN\nand 5 cc CCONJ\n"
    rows += "you 2 conj PRON\npie 5 orphan NOUN"
    enhanced = enhance_sentence(parse(rows), Conventions(types=ENHANCEMENTS))
    deps = {line.split("\t")[0]: line.split("\t")[8] for line in enhanced.lines if "\t" in line}
    assert deps["4.1"] == "2:conj:and"
    assert (deps["4"], deps["5"], deps["6"]) == ("4.1:cc", "4.1:nsubj", "4.1:obj")
    (node,) = enhanced.empty_nodes()
    assert enhanced.lines[node].split("\t")[1:4] == ["ate", "eat", "VERB"]


@pytest.mark.parametrize(
    ("kind", "tree", "expected"),
    [
        # Words without lemmas extend labels by their forms.
        ("ud", "(S (NP (NN Rex)) (VP (VBD ran) (PP (TO To) (NP (NN town) (CC or) (NN home)))))",
         ["town 2:obl:to", "home 2:obl:to|4:conj:or"]),
        # Without FEATS, the tags show which words are relative.
        ("ud", "(NP (NP (DT the) (NN hut)) (SBAR (WHPP (IN in) (WHNP (WDT which)))"
         " (S (NP (PRP we)) (VP (VBP live)))))", ["hut 0:root|6:obl:in", "which 2:ref"]),
        ("ud", "(NP (NP (DT the) (NN hut)) (SBAR (WHADVP (WRB where)) (S (NP (PRP we)) (VP"
         " (VBP live)))))", ["hut 0:root|5:obl", "where 2:ref"]),
        ("ud", "(NP (NP (DT a) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ sings)))))",
         ["man 0:root|4:nsubj", "who 2:ref"]),
        ("ud", "(NP (NP (NN Rex)) (SBAR (S (VP (VBZ knows) (SBAR (WHNP (WP what))"
         " (S (NP (PRP he)) (VP (VBD ate))))))))", ["Rex 0:root|2:nsubj"]),
        ("ud", "(S (SBAR (WHADVP (WRB When)) (S (NP (PRP it)) (VP (VBZ rains)))) (NP (PRP I))"
         " (VP (VBP go)))", ["rains 5:advcl:when"]),
        # An open complement has one subject only.
        ("ud", "(S (NP (PRP I)) (VP (VBD made) (S (NP (PRP him)) (ADJP (JJ glad)))))", []),
        ("ud2", "(S (NP (PRP I)) (VP (VBD made) (S (NP (PRP him)) (ADJP (JJ glad)))))",
         ["him 2:obj|4:nsubj:xsubj"]),
    ],
)  # fmt: skip
def test_converted_trees_are_enhanced(kind: Kind, tree: str, expected: list[str]) -> None:
    (sentence,) = (ud2 if kind == "ud2" else universal).convert(read_trees([f"({tree})"]))
    assert added(sentence) == expected


def test_penn_trees_need_universal_dependencies(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("((S (NP (PRP I)) (VP (VBP go) (PP (TO to) (NP (NN bed))))))")
    output, _ = run(path, "--dependencies", "ud2", "--enhance", "all")
    assert "\t2:obl:to\t" in output
    for options in ([], ["--to", "conllu"], ["--dependencies", "sd", "--to", "conllu"]):
        _, messages = run(path, "--enhance", "all", *options, code=2)
        assert "--enhance: for Penn trees, it needs --dependencies ud" in messages
    with pytest.raises(ValueError, match="needs `dependencies` ud or ud2"):
        list(depkit.convert(path, enhance=["case"]))
    unnamed = tmp_path / "a"
    path.rename(unnamed)
    _, messages = run(unnamed, "--enhance", "all", "--to", "conllu", code=2)
    assert "--enhance: enhanced dependencies are added to UD only" in messages


def test_a_text_of_signs_does_not_extend_a_label() -> None:
    assert added(parse("A 0 root NOUN\n& 3 cc CCONJ\nB 1 conj NOUN")) == []


def test_words_without_a_tree_are_refused() -> None:
    for heads in ([2, 1], [1, 0], [-1, 0]):
        with pytest.raises(FormatError, match="heads are not a tree"):
            enhance(Sentence.from_words(["a", "b"], head=heads, deprel=["x", "y"]))


def test_any_tree_becomes_a_connected_graph() -> None:
    """Random trees with the relations that rules look at; every word is reachable from the root."""
    labels = ["conj", "cc", "xcomp", "acl:relcl", "nsubj", "obj", "orphan", "obl", "case", "mark"]
    generator = random.Random(3)
    for _ in range(2000):
        size = generator.randint(1, 9)
        order = generator.sample(range(1, size + 1), size)
        head = [0] * (size + 1)
        for i, word in enumerate(order[1:], start=1):
            head[word] = generator.choice(order[:i])
        sentence = Sentence.from_words(
            [str(i) for i in range(size)],
            head=head[1:],
            deprel=["root" if not h else generator.choice(labels) for h in head[1:]],
            upos=[generator.choice(["VERB", "NOUN", "ADV"]) for _ in range(size)],
            feats=[generator.choice(["_", "PronType=Rel"]) for _ in range(size)],
        )
        for types in (GUIDELINES.types, ENHANCEMENTS):
            relations = enhance(sentence, Conventions(types=types))
            reached, queue = {0}, [0]
            for node in queue:
                new = {
                    word for word, pairs in enumerate(relations, 1)
                    if any(h == node for h, _ in pairs)
                } - reached  # fmt: skip
                reached |= new
                queue += new
            assert len(reached) == size + 1
            enhance_sentence(sentence, Conventions(types=types))  # DEPS can be written.


OTHER = Conventions(
    types=("case", "conj", "shared", "relcl"), extended=("nmod", "obl"), unshared=("root",),
    shared=("case",), keeps_relative=True,
)  # fmt: skip


def test_conventions_are_learned() -> None:
    sentences = [parse(COORDINATION), parse(RELATIVE), parse(
        "in 2 case ADP\nbed 0 root NOUN\nor 4 cc CCONJ\nsofa 2 conj NOUN"
    )]  # fmt: skip
    treebank = [write_graph(sentence, enhance(sentence, OTHER)) for sentence in sentences]
    learned = learn_conventions(treebank)
    assert [enhance(s, learned) for s in sentences] == [enhance(s, OTHER) for s in sentences]
    assert (learned.keeps_relative, learned.shared) == (True, ("case",))
    with pytest.raises(ValueError, match="no sentence has enhanced"):
        learn_conventions(sentences)


def test_the_known_treebanks_have_valid_conventions() -> None:
    for conventions in known_conventions().values():
        assert set(conventions.types) <= set(ENHANCEMENTS)
    assert resolve_conventions("en_ewt") == GUIDELINES
    assert resolve_conventions("sv_talbanken", ["xsubj"]).types == ("xsubj",)
    assert resolve_conventions("", ["case", " xsubj "]).types == ("case", "xsubj")


def test_the_command_and_the_function(tmp_path) -> None:
    path = tmp_path / "basic.conllu"
    depkit.write([parse(COORDINATION)], path)
    output, messages = run(path, "--to", "conllu", "--enhance", "all")
    assert "\t2:obl:on|9:conj:or\t" in output and messages == ""
    (sentence,) = depkit.convert(path, enhance=["case"])
    assert sentence.column("deps")[8] == "2:obl:in"
    learned = tmp_path / "enhanced.conllu"
    learned.write_text(output)
    assert run(path, "--to", "conllu", "--enhance-like", learned)[0] == output
    _, messages = run(path, "--to", "conllu", "--enhance", "case,cake", code=2)
    assert "--enhance: there is no enhancement 'cake'; choose among case, empty, conj" in messages
    _, messages = run(path, "--to", "conllx", "--enhance", "case", code=2)
    assert "--enhance: it needs --to conllu" in messages.replace("\n", " ")
    _, messages = run(path, "--to", "conllu", "--enhance-like", path, code=2)
    assert "no sentence has enhanced dependencies" in " ".join(messages.split())
    (tmp_path / "broken.conllu").write_text("1\ta\n\n")
    broken = str(tmp_path / "broken.conllu")
    error = run.failure(path, "--to", "conllu", "--enhance-like", broken)
    assert str(error).startswith(f"{broken}:1: the line has 2 columns")


def test_empty_nodes_are_collapsed_and_expanded(tmp_path) -> None:
    rows = "I 2 nsubj PRON\nate 0 root VERB\ntea 2 obj NOUN\nyou 2 conj PRON\npie 4 orphan NOUN"
    full, collapsed = tmp_path / "full.conllu", tmp_path / "collapsed.conllu"
    depkit.write([enhance_sentence(parse(rows), Conventions(types=ENHANCEMENTS))], full)
    run(full, "-o", collapsed, "--empty-nodes", "collapse")
    assert "\t2:conj>obj\t" in collapsed.read_text()
    assert run(collapsed, "--to", "conllu", "--empty-nodes", "expand")[0] == full.read_text()


@pytest.mark.skipif(not EWT.exists(), reason=f"{EWT} is absent")
def test_rules_agree_with_a_treebank() -> None:
    from depkit.convert.enhance.learn import agreement, enhanced_sentences

    gold = list(enhanced_sentences(depkit.read(EWT)))
    assert agreement(gold, GUIDELINES) > 99.4
    assert 85 < agreement(gold, Conventions(types=())) < 86  # the basic tree


def test_parsing_with_enhanced_dependencies(tmp_path) -> None:
    parse_text, text = Command("parse"), tmp_path / "text.txt"
    text.write_text("She sings and dances.\n")
    options = ["--threads", "1", "--enhance", "conj,shared,case"]
    output, _ = parse_text(text, *options)
    rows = [line.split("\t") for line in output.splitlines() if "\t" in line]
    (conjunct,) = [row for row in rows if row[7] == "conj"]
    assert conjunct[8].endswith(":conj:and")
    assert rows[0][8].count(":nsubj") == 2
    words = json.loads(parse_text(text, *options, "--format", "json")[0])["words"]
    assert [len(word["deps"]) for word in words] == [row[8].count("|") + 1 for row in rows]
    _, messages = parse_text(text, *options, "--format", "conllx", code=2)
    assert "conllx has no enhanced dependencies" in " ".join(messages.split())


def test_a_root_that_is_called_conj_is_the_first_conjunct() -> None:
    heads, labels = [0, 1], ["conj", "conj"]
    sentence = Sentence.from_words(["one", "two"], head=heads, deprel=labels, upos=["NOUN"] * 2)
    assert enhance(sentence) == [[(0, "conj")], [(0, "conj"), (1, "conj")]]


def test_relations_are_added_once_and_found_without_a_search() -> None:
    class Label(str):
        __slots__ = ()
        comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Label.comparisons += 1
            return str.__eq__(self, other)

    sentence = Sentence.from_words(["a", "b"], head=[0, 1], deprel=["root", "dep"])
    graph = GrowingGraph(sentence)
    labels = [Label(f"x{i}") for i in range(50)]
    for label in [*labels, *labels]:
        graph.add(2, 1, label)
    assert list(graph.relations[2]) == [(1, "dep"), *((1, label) for label in labels)]
    assert graph.added[1] == [(2, label) for label in labels]
    Label.comparisons = 0
    graph.add(2, 1, Label("x0"))
    assert Label.comparisons <= 5
