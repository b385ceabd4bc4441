"""Rewrite rules: what they change, and that nothing else changes."""

import itertools
import random
import sys
from collections import Counter
from unittest import mock

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.treebank.edit.edit import Edit, edit
from depkit.treebank.edit.editable import EditableGraph
from depkit.treebank.edit.rules import parse_rules
from depkit.treebank.search.matcher import Found
from depkit.treebank.search.pattern import PatternError
from tests.conftest import HERE

FILE = HERE / "data" / "search.conllu"


def apply(rules: str, sentence: Sentence | None = None) -> list[tuple[int, str, str, str]]:
    """Return the changes of a sentence, by default of the first one of the file."""
    sentence = sentence or next(read(FILE))
    result, changes = Edit(parse_rules(rules)).apply(sentence)
    before, after = str(sentence).splitlines(), str(result).splitlines()
    assert len(before) == len(after)
    changed = {(sentence.rows[c.word - 1], sentence.format.index(c.column)) for c in changes}
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        cells = zip(old.split("\t"), new.split("\t"), strict=True)
        assert {(row, i) for i, (a, b) in enumerate(cells) if a != b} == {
            cell for cell in changed if cell[0] == row
        }
    # What has been rewritten is read back.
    (again,) = read(list(result.lines))
    assert (again.head, again.deprel, again.feats) == (result.head, result.deprel, result.feats)
    return [(change.word, change.column, change.old, change.new) for change in changes]


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ("pattern { X [upos=AUX] } commands { X.upos = VERB }", [(4, "upos", "AUX", "VERB")]),
        (
            "pattern { e: X -[obj]-> Y } commands { e.label = iobj }",
            [(7, "deprel", "obj", "iobj")],
        ),
        (
            "pattern { e: X -[nsubj]-> Y } commands { e.2 = pass }",
            [(3, "deprel", "nsubj", "nsubj:pass")],
        ),
        (
            "pattern { X -[det]-> Y; Z [upos=VERB] } commands"
            " { del_edge X -[det]-> Y; add_edge Z -[dep]-> Y }",
            [(1, "deprel", "det", "dep"), (1, "head", "3", "6")],
        ),
        (
            "pattern { e: X -[det]-> Y; Z [upos=VERB] } commands"
            " { add_edge f: Z -> Y; f.label = e.label; del_edge e }",
            [(1, "head", "3", "6")],
        ),
        (
            "pattern { R -[root]-> V; e: V -[nsubj]-> N; f: R -> V } commands"
            " { del_edge e; del_edge f; add_edge R -[root]-> N; add_edge N -[acl]-> V }",
            [(3, "deprel", "nsubj", "root"), (3, "head", "6", "0"), (6, "deprel", "root", "acl"),
             (6, "head", "0", "3")],
        ),
        (
            "pattern { N [upos=NOUN]; V [upos=VERB] } commands { shift_out N =[amod]=> V }",
            [(2, "head", "3", "6")],
        ),
        (
            "pattern { N [upos=NOUN]; V [upos=VERB] } commands { shift N ==> V }",
            [(1, "head", "3", "6"), (2, "head", "3", "6")],
        ),
        (
            'pattern { X [lemma="dog"] } commands { X.lemma = "big" + "-" + X.form[:2] + X.upos }',
            [(3, "lemma", "dog", "big-doNOUN")],
        ),
        (
            "pattern { X [lemma=dog] } commands { X.Case = Nom; X.Number = Plur; X.Gloss = cat }",
            [(3, "feats", "Number=Sing", "Case=Nom|Number=Plur"),
             (3, "misc", "Gloss=hound", "Gloss=cat")],
        ),
        (
            "pattern { X [lemma=dog] } commands { X.Number__psor = Sing; X.__MISC__Case = a;"
            " X.Note = b; del_feat X.Number }",
            [(3, "feats", "Number=Sing", "Number[psor]=Sing"),
             (3, "misc", "Gloss=hound", "Gloss=hound|Case=a|Note=b")],
        ),
        (
            "pattern { X [Gloss] } commands { del_feat X.Gloss; del_feat X.lemma }",
            [(3, "lemma", "dog", "_"), (3, "misc", "Gloss=hound", "_")],
        ),
        (
            "pattern { X [upos=DET]; Y [upos=NOUN] } commands { X.Number = Y.Number;"
            " X.Gender = Y.Gender }",
            [(1, "feats", "Definite=Def|PronType=Art", "Definite=Def|Number=Sing|PronType=Art")],
        ),
        # Word 3 has Number=Sing and Gloss=hound in MISC, word 1 Definite=Def|PronType=Art.
        (
            "pattern { X [lemma=dog]; Y [upos=DET, !Number] } commands { append_feats X ==> Y }",
            [(1, "feats", "Definite=Def|PronType=Art", "Definite=Def|Number=Sing|PronType=Art"),
             (1, "misc", "_", "Gloss=hound")],
        ),
        (
            "rule a { pattern { X [lemma=dog, Gloss=hound]; Y [upos=DET] } without { Y [Gloss] }"
            ' commands { Y.Gloss = a; Y.Number = Plur; append_feats "/" X ==> Y } }',
            [(1, "feats", "Definite=Def|PronType=Art",
              "Definite=Def|Number=Plur/Sing|PronType=Art"),
             (1, "misc", "_", "Gloss=a/hound")],
        ),
        (
            "pattern { X [lemma=dog]; Y [upos=DET, !Number] } commands"
            ' { Y.Number = Plur; prepend_feats X =[re"N.*\\|Case"]=> Y }',
            [(1, "feats", "Definite=Def|PronType=Art",
              "Definite=Def|Number=SingPlur|PronType=Art")],
        ),
        ("pattern { X [lemma=cat] } commands { X.upos = X }", []),
        # A command whose value is not defined does nothing: word 1 has no Number.
        (
            "pattern { e: X -[det]-> Y; Z [upos=VERB] } commands { e.label = Y.Number;"
            ' e.label = "obj:" + Y.Number; e.1 = Y.Number; add_edge Z -[1=obl,2=Y.Number]-> Y;'
            " del_edge X -[1=det,2=Y.Number]-> Y }",
            [],
        ),
        (
            "pattern { e: X -[det]-> Y; Z [upos=VERB] } commands"
            " { del_edge e; add_edge Z -[2=X.Number,1=obl]-> Y }",
            [(1, "deprel", "det", "obl:Sing"), (1, "head", "3", "6")],
        ),
        # The label of an edge that has been deleted can still be copied, and two names can be
        # those of one edge.
        (
            "pattern { e: X -[det]-> Y; Z [upos=VERB] } commands"
            " { del_edge e; add_edge f: Z -> Y; f.1 = e.label; f.2 = a }",
            [(1, "deprel", "det", "det:a"), (1, "head", "3", "6")],
        ),
        (
            "pattern { e: X -[det]-> Y; f: X -> Y } commands { e.label = a; f.2 = b }",
            [(1, "deprel", "det", "a:b")],
        ),
        (
            "pattern { e: X -[det]-> Y } commands { del_feat e.1 }",
            [(1, "deprel", "det", "_")],
        ),
        # Spaces may be in LEMMA and MISC, and commas in FEATS.
        (
            'pattern { X [lemma=dog] } commands { X.lemma = "a b"; X.Case = "Acc,Nom";'
            ' X.Gloss = "c d" }',
            [(3, "feats", "Number=Sing", "Case=Acc,Nom|Number=Sing"), (3, "lemma", "dog", "a b"),
             (3, "misc", "Gloss=hound", "Gloss=c d")],
        ),
        # The second rule matches what the first one has made.
        (
            "rule one { pattern { X [upos=ADJ] } commands { X.upos = A } }"
            " rule two { pattern { X [upos=A]; X < Y } commands { Y.upos = N; X.upos = B } }",
            [(2, "upos", "ADJ", "B"), (3, "upos", "NOUN", "N")],
        ),
        # A rule is applied to all of its matches, and what it undoes is no change.
        (
            "pattern { X [upos]; X.upos <> Z } without { X [upos=PUNCT] }"
            " commands { X.upos = Z } % all words",
            [(i, "upos", old, "Z")
             for i, old in enumerate(("DET", "ADJ", "NOUN", "AUX", "PART", "VERB", "PRON"), 1)],
        ),
        (
            "rule a { pattern { X [upos=VERB] } commands { X.upos = Q } }"
            " rule b { pattern { X [upos=Q] } commands { X.upos = VERB } }",
            [],
        ),
    ],
)  # fmt: skip
def test_rules_change_cells(rules: str, changes: list) -> None:
    assert apply(rules) == changes


def test_sentences_that_no_rule_changes_are_the_same_objects() -> None:
    sentences = list(read(FILE))
    results = list(edit("pattern { X [upos=INTJ] } commands { X.upos = X }", sentences))
    assert [a is b for a, b in zip(results, sentences, strict=True)] == [True] * 4 + [False]
    assert results[4].upos == ["X", "X"]
    assert sentences[4].upos == ["INTJ", "INTJ"]


@pytest.mark.parametrize(
    ("command", "feats"),
    [
        ("X.Case = Gen", "A=1|Case=Gen|Number=Sing"),
        ("del_feat X.Case", "A=1|Number=Sing"),
        ("X.Number = Plur", "A=1|Case=Nom|Number=Plur|Case=Acc"),
    ],
)
def test_a_repeated_feature_is_one_feature(command: str, feats: str) -> None:
    text = "1\ta\t_\tX\t_\tA=1|Case=Nom|Number=Sing|Case=Acc\t0\troot\t_\t_\n\n"
    (sentence,) = read(text.splitlines(keepends=True), "conllu")
    (change,) = apply(f"pattern {{ X [Case=Acc] }} commands {{ {command} }}", sentence)
    assert change[3] == feats


def test_a_column_that_the_format_lacks_is_an_error() -> None:
    cells = ["1", "a", *"____", "_", "_", "0", "0", "root", "root", "_", "_"]
    (sentence,) = read(["\t".join(cells) + "\n", "\n"], "conll09")
    with pytest.raises(FormatError, match="conll09 has no column upos"):
        apply("pattern { X [form] } commands { X.upos = QQ }", sentence)


def test_unusual_cells_stay_as_they_are() -> None:
    text = "1\ta\t_\tX\t_\tB=1|A=2\t02\tx\t_\tm|n=1\r\n2\tb\t_\tY\t_\t_\t00\troot\t_\t_\r\n\r\n"
    (sentence,) = read(text.splitlines(keepends=True), "conllu")
    result, changes = Edit(parse_rules("pattern { X [upos=Y] } commands { X.upos = Z }")).apply(
        sentence
    )
    assert str(result) == text.replace("Y", "Z")
    assert len(changes) == 1


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "pattern { X -[det]-> Y; Z [upos=VERB] } commands { add_edge Z -[det]-> Y }",
            r":5: a-1: after the rules, word 1 \(The\) has several heads: 3 and 6;",
        ),
        ("pattern { e: X -[det]-> Y } commands { del_edge e }", "has no head"),
        (
            "pattern { e: V -[nsubj]-> N; R -[root]-> V } commands"
            " { del_edge e; add_edge R -[root]-> N }",
            r"a-1: after the changes, the words 3, 6 are roots",
        ),
        (
            'pattern { X [lemma=/d.*/] } commands { X.lemma = "d" + X.lemma }',
            "has been applied 1,080 times",
        ),
        (
            'rule r { pattern { X [upos=VERB] } commands { X.upos = "a\tb" } }',
            r":11: a-1: after the changes, UPOS of word 6 'a\\tb' contains white space",
        ),
        ('pattern { X [lemma=dog] } commands { X.lemma = "a\tb" }', "a tab"),
        (
            "pattern { e: X -[det]-> Y; Z [upos=VERB] } commands"
            " { del_edge e; add_edge f: Z -> Y }",
            r":5: a-1: after the rules, the edge to word 1 \(The\) has no relation",
        ),
        (
            "pattern { e: X -[det]-> Y } commands { del_edge e; e.label = dep }",
            "a-1: the label of e cannot be set: the sentence has no such edge",
        ),
        (
            "pattern { X -[det]-> Y } commands { add_edge f: X -[1=a,2=Y.Number]-> Y;"
            " f.label = b }",
            "the label of f cannot be set",
        ),
        (
            "pattern { e: X -[det]-> Y } commands { del_edge X -[det]-> Y; e.2 = dep }",
            "no such edge",
        ),
        (
            "pattern { e: X -[det]-> Y } commands { e.3 = pass }",
            "e.3 cannot be set: the relation 'det' of the edge e has no part 2",
        ),
        ('pattern { e: X -[det]-> Y } commands { e.2 = "" }', "e.2 would be empty; del_feat e.2"),
        ('pattern { e: X -[det]-> Y } commands { e.label = "" }', "has no relation"),
        ('pattern { e: X -[det]-> Y } commands { e.label = "a b" }', "DEPREL of word 1 'a b' con"),
        ('pattern { X [upos=VERB] } commands { X.upos = "" }', "UPOS of word 6 is empty"),
        ('pattern { X [upos=VERB] } commands { X.lemma = "" }', "LEMMA of word 6 is empty"),
        ('pattern { X [upos=VERB] } commands { X.xpos = "a b" }', "XPOS of word 6 'a b' contains"),
        ('pattern { X [upos=VERB] } commands { X.Case = "" }', "Case of word 6 cannot be empty"),
        ('pattern { X [upos=VERB] } commands { X.Case = "a|b" }', "Case of word 6 cannot contain"),
        ('pattern { X [upos=VERB] } commands { X.Case = "a b" }', "FEATS of word 6 .* white space"),
        ('pattern { X [upos=VERB] } commands { X.Gloss = "a|b" }', "Gloss of word 6 cannot contai"),
    ],
)
def test_results_that_are_no_sentences_are_errors(rules: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        apply(rules)


@pytest.mark.parametrize(
    ("before", "rest", "message"),
    [
        ("", "", "there is no rule"),
        ("pattern { X [] } ", "", None),
        ("pattern { X [] } commands { ", "Y.upos = A }", "'Y' is not declared"),
        ("pattern { X [] } commands { ", "del_node X }", "what becomes of them if words change"),
        ("pattern { X []; Y [] } commands { append_feats X =[", "a]=> Y }", "a regular expression"),
        ("pattern { X [] } commands { ", "add X }", "the command 'add' is unknown"),
        ("pattern { X -> Y } commands { del_edge ", "X }", "'X' is not an edge"),
        ("pattern { X -> Y } commands { add_edge ", "X -> Y }", "-> needs a relation"),
        ("pattern { e: X -> Y } commands { ", "e.length = 3 }", "no feature 'length'"),
        ("rule r { ", "strat { } }", "the block 'strat' is unknown"),
        ("", "strat main { Seq (r) }", "strat is not supported"),
        ("pattern { e: X -> Y } commands { add_edge ", "e: Y -> X }", "'e' is already used"),
        ("pattern { X -> Y } commands { add_edge ", "X: Y -> X }", "'X' is already used"),
        (
            "pattern { X -> Y } commands { add_edge f: X -> Y; add_edge ",
            "f: X -> Y }",
            "'f' is already used",
        ),
        ("pattern { e: X -> Y } commands { ", "e.0 = a }", "no feature '0' that can be set"),
        ("pattern { e: X -> Y } commands { ", "e.10 = a }", "no feature '10' that can be set"),
        ("pattern { X -> Y } commands { add_edge X -[", "2=a]-> Y }", "numbered 1, 2 and so on"),
        ("pattern { X -> Y } commands { add_edge X -[", "1.5=a]-> Y }", "numbered 1, 2 and"),
        (
            "pattern { X [] } commands { ",
            "X.deprel = obl }",
            "use an edge and its label",
        ),
        ("pattern { X [] } commands { ", "X.head = 2 }", "head is a column, not a feature"),
        ("pattern { X [] } commands { ", "del_feat X.misc }", "with this name, write __MISC__misc"),
        (
            "rule r { pattern { X [] } commands { X.upos = A } } ",
            "strat s { }",
            "strat is not supp",
        ),
        ("rule r { pattern { X [] } commands { X.upos = A } } ", "group s { }", "a rule is exp"),
        ("pattern { X [] } commands { X.upos ", "A }", "= is expected"),
        ("pattern { X [] } commands ", "{ X.upos = A", "has no }"),
    ],
)
def test_mistakes_in_rules_are_located(before: str, rest: str, message: str | None) -> None:
    with pytest.raises(PatternError, match=message or "has no block commands") as caught:
        parse_rules(before + rest)
    assert caught.value.line == 1
    if rest and not rest.startswith("{"):
        assert caught.value.column == len(before) + 1


def chain_of_nouns(length: int) -> Sentence:
    heads = list(range(length))
    forms = [f"w{i}" for i in heads]
    return Sentence.from_words(
        forms, head=heads, deprel=["root", *["dep"] * (length - 1)], upos=["NOUN"] * length
    )


def count_calls(rules: str, length: int) -> int:
    """Return how many functions are called while rules are applied to a chain of nouns."""
    prepared, sentence, calls = Edit(parse_rules(rules)), chain_of_nouns(length), 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        prepared.apply(sentence)
    finally:
        sys.setprofile(None)
    assert prepared.applications == [length - ("Y" in rules)]
    return calls


@pytest.mark.parametrize(
    ("rules", "power"),
    [
        ("pattern { X [upos=NOUN] } commands { X.upos = PROPN }", 1),
        ("pattern { X [upos=NOUN]; X -> Y } commands { X.Gender = Fem }", 1),
        ("pattern { e: X -[dep]-> Y } without { X -[obj]-> Z } commands { e.2 = x }", 1),
        ("pattern { X [upos=NOUN]; Y []; X << Y } commands { X.upos = PROPN }", 2),
        ("pattern { X [upos=NOUN]; Y []; X << Y } commands { X.Gender = Fem }", 2),
        ("pattern { X [upos=NOUN]; Y []; X ->> Y } commands { X.upos = PROPN }", 2),
    ],
)
def test_rules_take_few_steps_for_each_match(rules: str, power: int) -> None:
    count_calls(rules, 10)  # which makes what is kept for later calls
    assert count_calls(rules, 80) < 2**power * 1.1 * count_calls(rules, 40)


def test_a_column_is_read_once_for_all_its_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    column = Sentence.column
    monkeypatch.setattr(Sentence, "column", lambda self, x: names.append(x) or column(self, x))
    rules = "pattern { X [] } commands { X.xpos = X.form; X.Gender = Fem; X.Gloss = X.form }"
    _, changes = Edit(parse_rules(rules)).apply(chain_of_nouns(20))
    assert len(changes) == 60
    assert max(Counter(names).values()) <= 3


def apply_by_definition(rules: str, sentence: Sentence) -> tuple[list[Found], str]:
    """Apply a rule to the first match that it changes, searching anew each time.

    Returns the matches that were changed, and the edges and features at the end.
    """
    (rule,) = parse_rules(rules)
    graph, changed = EditableGraph(sentence), []
    while len(changed) < 30:
        for match in rule.matcher.find(graph):
            rule._run(match, graph)
            if any(graph.take_changes()):
                changed.append(match)
                break
        else:
            break
    return changed, describe(graph)


def describe(graph: EditableGraph) -> str:
    columns = {name: graph.columns[name] for name in ("upos", "Mark", "lemma")}
    return f"{sorted(graph.edges)} {columns}"


KERNELS = [
    "X [upos=A]; Y []; X << Y",
    "X []; e: X -> Y",
    "X [upos=A]; Y [upos=B]; X ->> Y",
    "X []; Y []; X < Y; X.upos = Y.upos",
    "X [upos=A]; e: X -[a]-> Y; * -[b]-> X",
]
FILTERS = [
    "",
    "without { Z -[a]-> X }",
    "with { X -> Z; Z -> W; W [upos=B] }",
    "without { Z [upos=B]; Z << X }",
    "with { X -> Z; Z.Mark = X.upos }",
    "without { Z ->> Y; Z [Mark] }",
    "without { Z -> Y; Z -[b]-> * }",
    "global { is_projective }",
]
COMMANDS = [
    "X.upos = B", "Y.upos = X.upos", "X.Mark = Y.upos", "append_feats Y ==> X; Y.Mark = a",
    "shift X ==> Y", "shift_out X =[a]=> Y; Y.upos = A", "shift_in Y =[b]=> X",
    "del_edge X -[a]-> Y; add_edge Y -[a]-> X", "X.upos = B; X.lemma = Y.lemma; Y.upos = A",
]  # fmt: skip


def test_rules_are_applied_to_the_first_match_that_they_change() -> None:
    """Searching only where something has changed finds the same matches in the same order."""
    generator = random.Random(1)
    changes = 0
    for kernel, block, commands in itertools.product(KERNELS, FILTERS, COMMANDS):
        rules = f"pattern {{ {kernel} }} {block} commands {{ {commands} }}"
        for _ in range(3):
            size = generator.randint(2, 7)
            sentence = Sentence.from_words(
                [f"w{i}" for i in range(size)],
                head=[generator.randint(0, i) for i in range(size)],
                deprel=generator.choices("ab", k=size),
                upos=generator.choices("ABA", k=size),
                lemma=generator.choices("xyz", k=size),
            )
            expected, state = apply_by_definition(rules, sentence)
            (rule,) = parse_rules(rules)
            graph = EditableGraph(sentence)
            rule._run = mock.Mock(wraps=rule._run)
            steps = itertools.islice(rule.apply(graph), 30)
            applied = [rule._run.call_args.args[0] for _ in steps]
            assert (applied, describe(graph)) == (expected, state), (rules, str(sentence))
            changes += len(applied)
    assert changes > 1000
