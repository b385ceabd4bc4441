"""Bracketed trees: every style of writing them and every kind of mistake."""

import gzip
import io
import lzma
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.corpus.formats import CONLLU
from depkit.corpus.io import read as read_sentences
from depkit.corpus.io import read_tree_groups, read_trees, write_trees
from depkit.corpus.tree import Tree, split_label, write_tree
from depkit.files.errors import FormatError
from tests.corpus.random_trees import trees

RAIN = "(S (NP-SBJ (NN rain)) (VP (VBZ falls)) (. .))"
SUN = "(S (NP-SBJ (DT the) (NN sun)) (VP (VBZ shines)))"
INDENTED = """
( (S
    (NP-SBJ (NN rain) )
    (VP (VBZ falls) )
    (. .) ))

( (S
    (NP-SBJ (DT the) (NN sun) )
    (VP (VBZ shines) )))
"""


def read(text: str, strict: bool = True) -> list[str]:
    return [str(tree) for tree in read_trees(io.StringIO(text), strict=strict)]


def read_leniently(text: str) -> tuple[list[str], list[int]]:
    errors: list[FormatError] = []
    lines = io.StringIO(text, newline="\n")
    trees = [str(tree) for tree in read_trees(lines, strict=False, report=errors.append)]
    return trees, [error.line for error in errors]


@pytest.mark.parametrize(
    "text",
    [
        RAIN + "\n" + SUN,
        RAIN + SUN + "\n",
        INDENTED,
        INDENTED.replace("\n", "\r\n"),
        "\ufeff" + INDENTED,
        f"(TOP {RAIN})\n(ROOT {SUN})\n",
        f"(S1 {RAIN}) ( (TOP {SUN}))",
        (RAIN + SUN).replace(" ", "\n"),
        (RAIN + SUN).replace(" ", "\n\n \t"),
        (RAIN + "\n" + SUN).replace("(", "\n("),
    ],
)
def test_every_style_of_brackets_is_read(text: str) -> None:
    assert read(text) == [RAIN, SUN]


def test_nodes_have_labels_functions_and_lines() -> None:
    tree = next(read_trees(io.StringIO("\n( (S-TPC-1\n   (NP=2 (-LRB- -LRB-) (PRP$ my))))")))
    assert (tree.name, tree.label, tree.functions, tree.line) == ("S-TPC-1", "S", ("TPC",), 2)
    constituent = tree.children[0]
    assert (constituent.label, constituent.functions, constituent.line) == ("NP", (), 3)
    assert [leaf.label for leaf in tree.leaves()] == ["-LRB-", "PRP$"]


@pytest.mark.parametrize(
    ("name", "label", "functions"),
    [
        ("NP", "NP", ()),
        ("NP-LOC-PRD-3", "NP", ("LOC", "PRD")),
        ("ADVP|PRT", "ADVP|PRT", ()),
        ("NP-SBJ=2", "NP", ("SBJ",)),
        ("-NONE-", "-NONE-", ()),
        ("-RRB-", "-RRB-", ()),
        ("-", "-", ()),
        (":", ":", ()),
        ("NP-", "NP-", ()),
        ("NP-SUJ##g=m|n=s##", "NP", ("SUJ",)),
        ("NC#x", "NC", ()),
        ("#", "#", ()),
    ],
)
def test_split_label_splits_functions(name: str, label: str, functions: tuple[str, ...]) -> None:
    assert split_label(name) == (label, functions)


def test_empty_elements_and_constituents_that_contain_nothing_else_are_dropped() -> None:
    text = "( (S (NP-SBJ-1 (-NONE- *)) (VP (VB go) (S (NP (-NONE- *-1)) (VP (-NONE- *?*))))))"
    assert read(text) == ["(S (VP (VB go)))"]


@pytest.mark.parametrize(
    "text",
    [
        RAIN,
        "(())",
        "()",
        "( ( ) )",
        "(TOP (UH yes))",
        "(UH no)",
        f"( {RAIN} )",
        f"(({RAIN}))",
        "(TOP (NP-SBJ-1 (-NONE- *T*-2)) (VP=3 (VBZ falls)) (. .))",
        r"(NP  (CD 1\/2) (CD 1/2)   (SYM \*) (NN a*b) (-LRB- -LRB-))",
        "( (IP-HLN (NP-PN-SBJ (NR 上海)) (VP (VV 开放)) (PU （)))",
        "(ROOT (SENT##x=1## (NP-SUJ (NC##g=m|n=s|s=c## chat)) (PONCT##s=s## .)))",
        "(VROOT (S (NP-SB (ART-NK##case=nom## die)) ($, ,)))",
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", " \n", ""])
def test_the_text_of_a_tree_is_the_same_as_in_its_line(text: str, line_end: str) -> None:
    groups = list(read_tree_groups([RAIN + line_end, text + line_end] if line_end else [text]))
    assert [str(tree) for tree in groups[-1]] == [text]
    (tree,) = pickle.loads(pickle.dumps(groups[-1]))
    assert str(tree) == text
    written = write_tree(tree)
    assert write_tree(next(read_tree_groups([written]))[0]) == written


def test_a_file_of_one_tree_per_line_is_copied(tmp_path: Path) -> None:
    text = f"( {RAIN} )\n(())\n(TOP {SUN})\n"
    for name in ("a.mrg", "a.mrg.gz"):
        trees = [tree for group in read_tree_groups(text.splitlines(True)) for tree in group]
        assert write_trees(trees, tmp_path / name) == 3
        copies = [tree for group in read_tree_groups(tmp_path / name) for tree in group]
        assert write_trees(copies, tmp_path / "copy") == 3
        assert (tmp_path / "copy").read_text() == text


def test_groups_are_the_trees_of_the_same_lines() -> None:
    text = f"{RAIN} (X (Y y)) {SUN}\n\n( {SUN}\n) {RAIN}\n{RAIN}\n"
    groups = list(read_tree_groups(text.splitlines(True)))
    assert [len(group) for group in groups] == [3, 2, 1]
    assert [tree.line for group in groups for tree in group] == [1, 1, 1, 3, 4, 5]
    # A tree on several lines is written on one line.
    assert str(groups[1][0]) == f"( {SUN})"


def test_a_tree_of_several_lines_keeps_everything_but_its_line_breaks() -> None:
    ((tree,),) = read_tree_groups(["( (S\n", "  (NP-1 (-NONE- *) )\n", r"  (NN a\/b) ))"])
    assert str(tree) == r"( (S (NP-1 (-NONE- *)) (NN a\/b)))"


def test_escapes_are_decoded_and_written_again() -> None:
    (tree,) = read_trees([r"(NP (CD 1\/2) (SYM \*) (-LRB- -LRB-) (NN a\b))"])
    assert [leaf.form for leaf in tree.leaves()] == ["1/2", "*", "-LRB-", r"a\b"]
    assert str(tree) == r"(NP (CD 1\/2) (SYM \*) (-LRB- -LRB-) (NN a\b))"


def test_trees_of_one_word_are_read() -> None:
    assert read("(TOP (UH yes))(UH no)") == ["(UH yes)", "(UH no)"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S\n (NP (NN a))\n", 1, "closing brackets are missing at the end of line 2: 1"),
        (RAIN + "\n(S (NP (NN a))\n", 2, "not finished"),
        (RAIN + ")\n", 1, "there is a closing bracket too many"),
        (RAIN + "\n\n)" + SUN, 3, "there is a closing bracket too many"),
        ("(NP\n the (NN dog))", 2, "'the'; words are written as"),
        ("(NP the dog)", 1, r"3 parts: \(NP the dog\)"),
        ("(NP (NN the dog (x)))", 1, "has no tag"),
        ("(NN (word))", 1, r"its label: \(word\); words are written as"),
        ("(S (NP (NN a)) and)", 1, "'and'"),
        ("(S ())", 1, "has no label"),
        ("(S\n(NP))", 2, "nothing in it"),
        ("()", 1, "has no words"),
        ("(())", 1, "has no words"),
        ("( (S (NP (-NONE- *))))", 1, "has no words"),
        ("(-NONE- *)", 1, "has no words"),
        ("rain falls\n", 1, "not part of a tree: 'rain'"),
        (RAIN + "\n# comment", 2, "not part of a tree: '#'"),
        ("( (S (NN a))\n( (S (NN b)))", 1, "not finished"),
    ],
)
def test_mistakes_are_reported_with_their_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read(text)
    number = 2 if RAIN in text else 1
    assert (caught.value.file, caught.value.line) == ("-", line)
    assert caught.value.sent_id == f"tree {number}"


@pytest.mark.parametrize("broken", ["(S (NP (NN a))", "(S (NN a)))", "(NP the dog)", "text", "()"])
@pytest.mark.parametrize("outer", ["{}", "( {})", "(TOP {})"])
def test_a_lenient_reader_loses_no_other_tree(broken: str, outer: str) -> None:
    rain, sun = outer.format(RAIN), outer.format(SUN)
    for index in range(4):
        lines = [rain, sun, rain]
        lines.insert(index, outer.format(broken) if broken != "text" else broken)
        trees, errors = read_leniently("\n".join(lines) + "\n")
        assert [tree for tree in trees if tree in (RAIN, SUN)] == [RAIN, SUN, RAIN]
        assert set(errors) == {index + 1}


def test_a_lenient_reader_loses_no_other_indented_tree() -> None:
    broken = INDENTED.replace("falls) )", "falls) ")
    assert read_leniently(broken + INDENTED) == ([SUN, RAIN, SUN], [2])


def test_bytes_that_cannot_be_decoded_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_bytes((RAIN + "\n(S\n (NN caf\xe9))\n" + SUN).encode("latin-1"))
    with pytest.raises(FormatError, match=r"byte 0xE9 .*latin-1, with `encoding`") as caught:
        list(read_trees(path))
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert len(list(read_trees(path, strict=False))) == 2
    words = [leaf.word for tree in read_trees(path, "latin-1") for leaf in tree.leaves()]
    assert words[3] == "café"
    with pytest.raises(FormatError, match="encoding"):
        list(read_trees(path, "utf-16"))
    with pytest.raises(ValueError, match="text encoding 'nonsense' is unknown"):
        list(read_trees(path, "nonsense"))


def test_archives_and_stdin_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(INDENTED.encode()))
    (tmp_path / "a.xz").write_bytes(lzma.compress(INDENTED.encode()))
    for name in ("a.gz", "a.xz"):
        assert [str(tree) for tree in read_trees(tmp_path / name)] == [RAIN, SUN]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INDENTED.encode())))
    assert [str(tree) for tree in read_trees("-")] == [RAIN, SUN]


def test_a_tree_is_yielded_before_the_next_is_read() -> None:
    trees = read_trees(iter([RAIN + "\n", "(S (NN x)\n"]))
    assert str(next(trees)) == RAIN


def test_trees_are_read_as_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text(INDENTED.replace("falls", "f\xe4llt"), "latin-1")
    rain, sun = read_sentences(tmp_path / "a.mrg", encoding="latin-1")
    assert (rain.form, rain.xpos) == (["rain", "f\xe4llt", "."], ["NN", "VBZ", "."])
    assert (str(sun.constituents), sun.format) == (SUN, CONLLU)
    assert sun.location() == (str(tmp_path / "a.mrg"), 7, "")
    locations = [sentence.location() for sentence in read_sentences([RAIN, SUN])]
    assert locations == [("-", 1, ""), ("-", 2, "")]
    with pytest.raises(FormatError, match=r"^-:2: tree 2: there is a closing bracket too many"):
        list(read_sentences([RAIN, ")"]))
    (good, broken) = read_sentences([RAIN, ")"], "ptb", strict=False)
    assert (good.problem, broken.form, broken.problem.line) == (None, ["_"], 2)


def test_deep_trees_are_read_written_and_pickled() -> None:
    depth = 10**5
    text = "(NP " * depth + "(NN a)" + ")" * depth
    (tree,) = read_trees([text])
    assert write_tree(tree) == text
    assert [leaf.word for leaf in tree.leaves()] == ["a"]
    assert write_tree(pickle.loads(pickle.dumps(tree))) == text
    with pytest.raises(FormatError, match="not finished"):
        read("(NP " * depth)
    with pytest.raises(FormatError, match="no words"):
        read("(" * depth + ")" * depth)


def test_bracketed_files_are_recognised_by_name_and_content(tmp_path: Path) -> None:
    for name, text in (("a.mrg", RAIN), ("a.PTB.gz", RAIN), ("a", "\ufeff \n\n" + INDENTED)):
        opener = gzip.compress if name.endswith(".gz") else bytes
        (tmp_path / name).write_bytes(opener(text.encode()))
        assert next(read_sentences(tmp_path / name)).form == ["rain", "falls", "."]
    assert next(read_sentences([" \n", SUN])).form == ["the", "sun", "shines"]
    with pytest.raises(FormatError, match="not part of a tree"):
        list(read_sentences(["1\ta\n"], "ptb"))
    with pytest.raises(FormatError, match="neither CoNLL-U"):
        list(read_sentences(["a (b)"]))


@given(st.lists(trees, max_size=4), st.sampled_from(["\n", " ", "\n\n"]))
def test_written_trees_are_read_again(originals: list[Tree], separator: str) -> None:
    assert list(map(str, pickle.loads(pickle.dumps(originals)))) == list(map(str, originals))
    assert read(separator.join(map(str, originals))) == list(map(str, originals))


@settings(max_examples=300)
@given(st.text(st.sampled_from("()S \nx-*\\\t\r\ufeff\udcff"), max_size=60))
def test_random_text_raises_only_format_errors(text: str) -> None:
    lines = list(io.StringIO(text, newline="\n"))
    errors: list[FormatError] = []
    lenient = list(map(str, read_trees(lines, strict=False, report=errors.append)))
    assert all(1 <= error.line <= len(lines) for error in errors)
    try:
        strict = list(map(str, read_trees(lines)))
    except FormatError as error:
        assert 1 <= error.line <= len(lines)
    else:
        assert errors or lenient == strict


@given(st.lists(trees, min_size=1, max_size=5), st.integers(0, 4), st.data())
def test_a_missing_bracket_affects_only_its_tree(
    originals: list[Tree], number: int, data: st.DataObject
) -> None:
    lines = [f"( {tree})" for tree in originals]
    damaged = number % len(lines)
    brackets = [index for index, sign in enumerate(lines[damaged]) if sign in "()" and index]
    index = data.draw(st.sampled_from(brackets))
    lines[damaged] = lines[damaged][:index] + lines[damaged][index + 1 :]
    lenient, errors = read_leniently("\n".join(lines))
    others = [str(tree) for i, tree in enumerate(originals) if i != damaged]
    assert lenient[:damaged] == others[:damaged]
    assert lenient[len(lenient) - len(others) + damaged :] == others[damaged:]
    assert set(errors) == {damaged + 1}


def test_trees_before_a_malformed_one_on_the_same_line_are_read():
    trees = []
    with pytest.raises(FormatError, match="tree 3"):
        trees.extend(read_trees(["(X (A a)) (X (B b)) (X (C c) d)\n"]))
    assert [tree.leaves()[0].form for tree in trees] == ["a", "b"]


FEATURES = "(TOP (NP##f=s t## (D##lem=(|m=) x## le) (N#1##g=m## a##b) (# ##)))"


@pytest.mark.parametrize("text", [FEATURES, FEATURES.replace("(N#1", "\n(N#1"), f"( {FEATURES})"])
def test_features_may_contain_spaces_and_brackets(text):
    """They are kept as they are, and belong neither to labels nor to words."""
    (sentence, other) = read_sentences([*f"{text}\n{RAIN}".splitlines(keepends=True)])
    assert (sentence.form, sentence.xpos) == (["le", "a##b", "##"], ["D", "N", "#"])
    tree = sentence.constituents
    assert (tree.name, tree.label) == ("NP##f=s t##", "NP")
    assert [leaf.name for leaf in tree.leaves()] == ["D##lem=(|m=) x##", "N#1##g=m##", "#"]
    assert write_tree(tree) == FEATURES.removeprefix("(TOP ").removesuffix(")")
    assert other.form == ["rain", "falls", "."]


def test_features_that_do_not_end_are_part_of_a_label():
    (tree,) = read_trees(["(S (NP##f=s (D x)) (VP# (V y)))"])
    assert [node.name for node in tree.nodes()] == ["S", "VP#", "V", "NP##f=s", "D"]
