"""Sentences with new trees and columns, and sentences made from words."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from conllu import TokenList

from depkit.convert.formats import convert, with_predicted
from depkit.corpus.formats import CONLL09, CONLLX, FORMATS
from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence, find_boundary, new_sentence
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from tests.corpus.rows import PREDICATES, RICH, parse, row


def reread(sentence):
    (again,) = parse(str(sentence), sentence.format.name)
    for name in ("form", "lemma", "upos", "xpos", "feats", "head", "deprel"):
        assert getattr(again, name) == getattr(sentence, name)
    assert list(again.rows) == list(sentence.rows)
    return again


def test_a_new_tree_changes_only_its_columns():
    first, second = parse(RICH)
    changed = first.with_tree([2, 0, 2, 2, 2, 2], ["a", "root", "b", "c", "d", "e:f"])
    assert changed.head == [2, 0, 2, 2, 2, 2] and changed.deprel[-1] == "e:f"
    rows = [line.split("\t") for line in RICH.partition("\n\n")[0].split("\n")]
    words = [cells for cells in rows if cells[0].isdigit()]
    for cells, head, deprel in zip(words, changed.head, changed.deprel, strict=True):
        cells[6:9] = str(head), deprel, "_"  # DEPS are cleared
    assert str(changed) == "\n".join(map("\t".join, rows)) + "\n\n"
    assert reread(changed).column("deps") == ["_"] * 6
    assert (changed.line, changed.file, changed.sent_id) == (1, first.file, "mill-1")
    assert str(first) + str(second) == RICH and first.head == [0, 1, 5, 5, 1, 1]  # unchanged
    again = second.with_tree([2, 0], ["x", "y"])  # Empty nodes are a part of the old graph.
    assert len(second.empty_nodes()) == 3 and not again.empty_nodes()
    assert [line.split("\t")[0] for line in again.lines if line[0].isdigit()] == ["1", "2"]
    assert reread(again).head == [2, 0]


@pytest.mark.parametrize("column", ["lemma", "upos", "xpos", "feats", "deps", "misc", "form"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_any_column_can_be_changed(column, newline):
    for sentence in parse(RICH.replace("\n", newline)):
        values = [f"v{i} w" for i in range(len(sentence))]
        changed = sentence.with_columns({column: values})
        assert changed.column(column) == values
        assert reread(changed).column(column) == values
        assert str(changed).count(newline) == str(changed).count("\n") == len(sentence.lines)
        old = sentence.column(column)
        assert str(changed.with_columns({column: old})) == str(sentence)


def test_line_ends_stay_as_they_are():
    text = row(1, "a", end="\r\n") + row(2, "b") + row(3, "c", end="\r\r\n") + row(4, "d", end="")
    (sentence,) = parse(text)
    for changed in (
        sentence.with_columns({"misc": ["w", "x", "y", "z"]}),
        sentence.with_tree([0, 1, 1, 1], list("wxyz")),
        sentence.with_columns({}),
    ):
        ends = [line[len(line.rstrip("\r\n")) :] for line in changed.lines]
        assert ends == ["\r\n", "\n", "\r\r\n", ""]


def test_predicates_and_their_arguments_are_kept():
    (sentence,) = parse(PREDICATES, "conll09")
    changed = sentence.with_tree([0, 1, 1, 1], list("abcd"), {"xpos": list("wxyz")})
    rows = [line.split("\t") for line in PREDICATES.splitlines()[:4]]
    for cells, tag, head, deprel in zip(rows, "wxyz", "0111", "abcd", strict=True):
        cells[4], cells[8], cells[10] = tag, head, deprel
    assert str(changed) == "\n".join(map("\t".join, rows)) + "\n\n"
    senses = changed.with_columns({"pred": ["_", "see.02", "_", "bark.02"]})
    assert reread(senses).column("pred") == ["_", "see.02", "_", "bark.02"]
    assert senses.lines[1].endswith("\tY\tsee.02\t_\t_\n")


def test_heads_may_be_missing_or_arrays():
    (sentence,) = parse(row(1, "a", "_") + row(2, "b", "_") + "\n")
    assert str(sentence.with_tree(sentence.head, sentence.deprel)) == str(sentence)
    changed = sentence.with_tree(np.array([2, 0]), np.array(["x", "y"]))
    assert changed.column("head") == ["2", "0"] and changed.head == [2, 0]
    assert all(type(head) is int for head in changed.head)
    long = new_sentence(["a"] * 1500).with_tree([1500] * 1499 + [0], ["x"] * 1500)
    assert reread(long).head[0] == 1500


def test_lists_of_the_caller_are_copied():
    (sentence,) = parse(row(1, "a", 0) + "\n")
    tags = ["N"]
    changed = sentence.with_columns({"upos": tags})
    tags[0] = "V"
    assert changed.upos == ["N"]
    new = new_sentence(tags)
    tags[0] = "A"
    assert new.form == ["V"]


INVALID_COLUMNS = [
    ({"upos": ["N"]}, "1 values of upos for 2 words"),
    ({"upos": ["N"] * 3}, "3 values of upos for 2 words"),
    ({"deprel": ["a\tb", "c"]}, "a tab or a line end in the DEPREL of word [12]"),
    ({"misc": ["a", "c\n"]}, "a tab or a line end in the MISC of word [12]"),
    ({"misc": ["a", "c\r"]}, "a tab or a line end in the MISC of word [12]"),
    ({"lemma": ["\r\n", "c"]}, "a tab or a line end in the LEMMA of word [12]"),
    ({"form": ["", "c"]}, "an empty form"),
    ({"id": ["2", "1"]}, "ids are the words' numbers"),
    ({"head": ["3", "0"]}, "HEAD is '3'"),
    ({"head": ["0", "one"]}, "HEAD is 'one'"),
    ({"head": ["0", "-1"]}, "HEAD is '-1'"),
    ({"head": ["0", "1\t1"]}, "HEAD|a tab"),
]


@pytest.mark.parametrize(("columns", "message"), INVALID_COLUMNS)
@pytest.mark.parametrize("text", [row(1, "a") + row(2, "b") + "\n", RICH[RICH.index("0.1") :]])
def test_columns_that_would_break_the_file_are_rejected(columns, message, text):
    (sentence,) = parse(text)
    with pytest.raises(ValueError, match=message):
        sentence.with_columns(columns)
    if "form" not in columns:
        with pytest.raises(ValueError, match=message):
            new_sentence(["a", "b"], columns)
    assert str(sentence) == text


def test_invalid_trees_are_rejected():
    (sentence,) = parse(row(1, "a") + row(2, "b") + "\n")
    for heads, deprels in (
        ([0], ["x", "y"]),
        ([0, 1], ["x"]),
        ([0, 1, 1], ["x", "y", "z"]),
        ([0, 3], ["x", "y"]),
        ([0, -2], ["x", "y"]),
        ([0, 1.5], ["x", "y"]),
        ([0, 1], ["x", "y\tz"]),
    ):
        with pytest.raises(ValueError, match=r"values of|HEAD is|a tab"):
            sentence.with_tree(heads, deprels)
    with pytest.raises(KeyError, match="conllu has no column 'phead'"):
        sentence.with_columns({"phead": ["_", "_"]})


def test_a_broken_sentence_is_rewritten_only_if_its_rows_are_complete():
    (sentence,) = parse(row(1, "a", 7) + row(2, "b", "x") + "\n", strict=False)
    fixed = sentence.with_tree([2, 0], ["x", "y"])
    assert fixed.head == [2, 0] and fixed.problem is sentence.problem
    reread(fixed)
    for text in (
        row(1, "a") + "2\tb\n\n",
        "1\ta\t_\t_\t_\t_\t0\tx\t_\n\n",
        "# c\n\n",
        row(1) + "# c\n" + "2\tb\n\n",
    ):
        (sentence,) = parse(text, strict=False)
        with pytest.raises(FormatError) as caught:
            sentence.with_tree([0] * len(sentence), ["x"] * len(sentence))
        assert caught.value is sentence.problem
        assert str(sentence) == text


def test_new_sentences_are_made_from_words_and_columns():
    new = new_sentence(["pan y", "vino"], {"head": ["0", "1"], "upos": ["NOUN", "NOUN"]})
    assert str(new) == (
        "1\tpan y\t_\tNOUN\t_\t_\t0\t_\t_\t_\n2\tvino\t_\tNOUN\t_\t_\t1\t_\t_\t_\n\n"
    )
    assert reread(new).head == [0, 1]
    assert new.location() == ("", 0, "") and new.sent_id == new.text == ""
    assert reread(new_sentence(["a"], format=CONLLX)).head == [-1]
    assert str(new_sentence(["a"], format=CONLL09)) == "1\ta" + "\t_" * 12 + "\n\n"
    with pytest.raises(ValueError, match="at least one word"):
        new_sentence([])


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_every_format_stores_a_tree(format):
    new = new_sentence(["a", "b", "c"], format=format)
    assert reread(new.with_tree([2, 0, 2], ["x", "y", "z"])).head == [2, 0, 2]


TEXTS = [(RICH, "conllu"), (row(1, "a", 0) + "\n", "conllx"), (PREDICATES, "conll09")]


@pytest.mark.parametrize(("text", "format"), TEXTS)
def test_sentences_can_be_pickled(text, format):
    sentences = parse(text, format)
    duplicates = pickle.loads(pickle.dumps(sentences))
    assert "".join(map(str, duplicates)) == text
    for duplicate, sentence in zip(duplicates, sentences, strict=True):
        assert duplicate.format is sentence.format
        assert str(reread(duplicate)) == str(reread(sentence))
        assert str(duplicate.with_tree(duplicate.head, duplicate.deprel)) == str(
            sentence.with_tree(sentence.head, sentence.deprel)
        )


def test_the_problem_of_a_broken_sentence_is_pickled():
    (sentence,) = parse("1\ta\n\n", strict=False)
    assert str(pickle.loads(pickle.dumps(sentence)).problem) == str(sentence.problem)


def test_sentences_are_converted_to_and_from_token_lists():
    tokens = parse(RICH)[1].to_token_list()
    assert tokens[1]["form"] == "pan y"
    assert str(Sentence.from_token_list(tokens)) == str(parse(RICH)[1])
    assert Sentence.from_token_list(TokenList([{"id": 1, "form": "a"}]), "conllx").format == CONLLX
    code = "import sys, depkit.corpus.sentence; sys.exit('conllu' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_constituents_are_kept():
    tree = Tree("NP", [Tree("DT", (), "the"), Tree("NN", (), "sun")])
    sentence = new_sentence(["the", "sun"], constituents=tree)
    assert new_sentence(["a"]).constituents is parse(RICH)[0].constituents is None
    for changed in (
        sentence.with_tree([2, 0], ["det", "root"]),
        sentence.with_columns({"xpos": ["DT", "NN"]}),
        convert(convert(sentence, CONLL09), CONLLX),
        with_predicted(convert(sentence, CONLL09)),
        with_predicted(convert(sentence, CONLL09), rewrite=False),
    ):
        assert changed.constituents is tree
    assert str(pickle.loads(pickle.dumps(sentence)).constituents) == str(tree)


def test_new_lines_have_the_line_ends_of_the_sentence():
    for text in (RICH, RICH.replace("\n", "\r\n"), "\ufeff" + RICH.replace("\n", "\r\n")):
        for sentence in parse(text):
            changed = sentence.with_comment("sent_id", "x").with_comment("new", "y")
            for result in str(changed), sentence.to_conllu():
                assert result.count("\r\n") == (result.count("\n") if "\r" in text else 0)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("# text = a.b\n\n", "# text = a.b\n# key = c\n\n"),
        ("\ufeff# text = a\n", "\ufeff# text = a\n# key = c\n"),
        ("a\tb\n# d.e\nf\tg\n\n", "# key = c\na\tb\n# d.e\nf\tg\n\n"),
        ("1-2\tab\n\n", "# key = c\n1-2\tab\n\n"),
    ],
)
def test_broken_sentences_have_no_empty_nodes_and_take_comments(text, changed):
    (broken,) = parse(text, strict=False)
    assert broken.empty_nodes() == [] and broken.without_empty_nodes() is broken
    assert str(broken.with_comment("key", "c")) == changed
    with pytest.raises(FormatError):
        broken.text_with_offsets()


def test_comments_that_begin_a_document_or_paragraph():
    for comment in ("# newdoc", "#newdoc id = x", "#  newdoc  id=x", "# newdoc = 1"):
        lines = ["# a\n", f"{comment}\n", "1\ta\n"]
        assert (
            find_boundary(lines, "newdoc", "newpar") == find_boundary(lines, "newdoc") == lines[1]
        )
        assert find_boundary(lines, "newpar") == ""
    assert find_boundary(["# newdocument = 3\n", "# new = newdoc\n"], "newdoc") == ""


def test_probabilities_of_a_tree_do_not_stay_beside_another_one() -> None:
    lines = (
        "# prob = 0.25\n# tree = 2 of 5\n# text = a b\n"
        "1\ta\t_\t_\t_\t_\t0\troot\t_\tArcProb=0.9000|Gloss=x|LabelProb=0.8000\n"
        "2\tb\t_\t_\t_\t_\t1\tdep\t_\tArcProb=0.9000|LabelProb=0.8000\n\n"
    )
    (sentence,) = read(lines.splitlines(keepends=True))
    assert str(sentence.with_tree([2, 0], ["dep", "root"])) == (
        "# text = a b\n1\ta\t_\t_\t_\t_\t2\tdep\t_\tGloss=x\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    misc = ["ArcProb=0.1000|LabelProb=0.1000", "Gloss=y"]
    assert sentence.with_tree([0, 1], ["root", "dep"], {"misc": misc}).column("misc") == misc
    # Comments that only look similar are not about a tree.
    (other,) = read(["# tree = oak\n", "# prob = 0.25\n", *sentence.lines[2:]])
    assert other.with_tree([0, 1], ["root", "dep"]).comment("prob") == "0.25"
