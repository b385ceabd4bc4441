"""Corrections from tables and JSON."""

import json
from io import StringIO
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.score.table import csv_table
from depkit.treebank.edit.corrections import Corrections, are_corrections
from tests.conftest import HERE

FILE = HERE / "data" / "search.conllu"
HEADER = "sent_id\tword\tkind\tgold\talternative\tline\tdecision\n"


def apply(text: str) -> list[tuple[str, int, str, str, str]]:
    corrections = Corrections(text, "rows.tsv")
    found = []
    for sentence in read(FILE):
        result, changes = corrections.apply(sentence)
        assert (result is sentence) == (not changes)
        found += [(sentence.sent_id, x.word, x.column, x.old, x.new) for x in changes]
        (again,) = read(list(result.lines))
        for change in changes:
            assert again.column(change.column)[change.word - 1] == change.new
    corrections.finish()
    return found


def test_rows_of_suspects_are_applied() -> None:
    text = HEADER + (
        "a-1\t1\thead\t3:det\t2:advmod\t5\taccept\n"
        "a-1\t3\tupos\tNOUN\tX\t7\treject\n"
        "a-1\t7\tdeprel\tobj\tiobj\t12\tAccept\n"
        "b-1\t1\tupos\tPRON\tPRON\t1\taccept\n"
        "b-3\t1\tlemma\toh\t'-o\t1\taccept\n"
    )
    assert are_corrections(text)
    assert apply(text) == [
        ("a-1", 1, "deprel", "det", "advmod"),
        ("a-1", 1, "head", "3", "2"),
        ("a-1", 7, "deprel", "obj", "iobj"),
        ("b-3", 1, "lemma", "oh", "-o"),
    ]


def test_other_tables_and_json_are_applied() -> None:
    row = {"sent_id": "a-1", "word": 1, "column": "head", "a": "3:dog", "b": "2:old"}
    for record in ([row], {"differences": [row]}, {"corrections": [row]}):
        text = json.dumps(record)
        assert are_corrections(text)
        assert apply(text) == [("a-1", 1, "head", "3", "2")]
    text = "sent_id\tword\tcolumn\told\tnew\na-1\t2\tfeats\tDegree=Pos\t_\n"
    assert apply(text) == [("a-1", 2, "feats", "Degree=Pos", "_")]


def test_enhanced_dependencies_and_features_are_corrected_in_any_order() -> None:
    header = "sent_id\tword\tcolumn\ta\tb\n"
    # A table of `depkit diff` has the parts in alphabetical order.
    rows = "a-1\t1\tdeps\t3:det\t3:det|12:x|6:dep\n".replace("12:x", "2:x:y")
    rows += "a-1\t4\tfeats\tTense=Past|VerbForm=Fin\tABBR=Y|NumForm=A|Number=B\n"
    changes = [
        ("a-1", 1, "deps", "3:det", "2:x:y|3:det|6:dep"),
        ("a-1", 4, "feats", "Tense=Past|VerbForm=Fin", "ABBR=Y|Number=B|NumForm=A"),
    ]
    assert apply(header + rows) == changes
    other_order = "a-1\t4\tfeats\tVerbForm=Fin|Tense=Past\t_\na-1\t1\tfeats\tX=Y\tPronType=Art|"
    assert apply(f"{header}{other_order}Definite=Def\n") == [
        ("a-1", 4, "feats", "Tense=Past|VerbForm=Fin", "_")
    ]


def test_the_new_head_of_a_difference_must_have_its_form() -> None:
    header = "sent_id\tword\tcolumn\ta\tb\n"
    with pytest.raises(FormatError, match=r"a-1: the new head 2 is 'old', not 'new'; see line 2"):
        apply(header + "a-1\t1\thead\t3:dog\t2:new\n")


def test_corrections_that_have_been_made_are_skipped() -> None:
    assert apply("sent_id\tword\tcolumn\told\tnew\na-1\t2\tupos\tNOUN\tADJ\n") == []


def test_a_line_stands_for_a_sentence_without_sent_id() -> None:
    rows = "".join(f"{i}\t{x}\t_\tX\t_\t_\t{i - 1}\tdep\t_\t_\n" for i, x in ((1, "a"), (2, "b")))
    sentences = list(read((f"# a comment\n{rows}\n{rows}\n").splitlines(keepends=True)))
    text = "line\tword\tcolumn\told\tnew\tsent_id\n6\t2\tupos\tX\tY\t\n"
    corrections = Corrections(text, "rows.tsv")
    assert [corrections.apply(sentence)[0].upos for sentence in sentences] == [
        ["X", "X"], ["X", "Y"]
    ]  # fmt: skip
    corrections.finish()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a-1\t2\tupos\tNOUN\tX\t1\taccept\n", r"UPOS of word 2 is 'ADJ', not 'NOUN'; see line 2"),
        ("a-1\t20\tupos\tNOUN\tX\t1\taccept\n", r"there is no word 20; see line 2 of rows.tsv"),
        ("z\t2\tupos\tNOUN\tX\t1\taccept\n", r"rows.tsv: line 2 corrects the sentence 'z', which"),
        ("a-1\t2\ttag\tNOUN\tX\t1\taccept\n", r"rows.tsv:2: there is no column 'tag'"),
        ("a-1\tx\tupos\tNOUN\tX\t1\taccept\n", r"must be numbers"),
        ("a-1\t0\ttokens\tA\tB\t1\taccept\n", r"only values of words .* depkit diff --columns le"),
        ("a-1\t2\twords\told\tB\t1\taccept\n", r"only values of words .*,deprel,deps,misc$"),
        ("a-1\t2\tdeps\t3:amod\t9:amod\t1\taccept\n", r"DEPS of word 2 has '9:amod', which is no"),
        ("a-1\t2\tdeps\t3:amod\t3\t1\taccept\n", r"DEPS of word 2 has '3', which is no relation"),
        ("a-1\t2\tdeps\t1:x\t3:y\t1\taccept\n", r"DEPS of word 2 is '3:amod', not '1:x'"),
        (
            "a-1\t2\tupos\tADJ\tX\t1\taccept\na-1\t2\tupos\tADJ\tY\t1\taccept\n",
            r"another row corrects the same cell; see line 3 of rows.tsv",
        ),
        ("a-1\t3\thead\t6:nsubj\t1:dep\t1\taccept\n", r"the words 1, 3 form a cycle"),
        ("a-1\t3\thead\t6:nsubj\t3:dep\t1\taccept\n", r"the changes, word 3 is its own head$"),
        ("a-1\t3\thead\t6:nsubj\t99:dep\t1\taccept\n", r"HEAD is '99'"),
        ("a-1\t3\thead\t6:nsubj\t0:root\t1\taccept\n", r"a-1: .* the words 3, 6 are roots"),
        ("a-1\t2\tupos\tADJ\tX\t1\tacept\n", r"rows.tsv:2: the decision is 'acept', not"),
        ("a-1\t2\tupos\tADJ\t\t1\taccept\n", r"rows.tsv:2: the new value is empty"),
        ("a-1\t2\tupos\tADJ\tA B\t1\taccept\n", r":6: a-1: .*UPOS of word 2 'A B' contains white"),
        ("\t2\tupos\tADJ\tX\t0\taccept\n", r"rows.tsv:2: it has neither a sent_id nor a line"),
        ("\t2\tupos\tADJ\tX\t999\taccept\n", r"line 2 corrects the word in line 999, which"),
    ],
)
def test_wrong_corrections_are_errors(rows: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        apply(HEADER + rows)


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[1]", "sent_id\tword\tkind\na\t1\tb\n"])
def test_what_is_no_list_of_corrections_is_an_error(text: str) -> None:
    assert are_corrections(text)
    with pytest.raises(FormatError):
        Corrections(text, "rows.tsv")


def test_the_form_must_be_that_of_the_word() -> None:
    header = "sent_id\tword\tform\tcolumn\told\tnew\n"
    assert apply(header + "a-1\t2\told\tupos\tADJ\tX\n") == [("a-1", 2, "upos", "ADJ", "X")]
    with pytest.raises(FormatError, match=r":6: a-1: word 2 is 'old', not 'new'; see line 2"):
        apply(header + "a-1\t2\tnew\tupos\tADJ\tX\n")
    # A form that is itself corrected has its new value when the rows are applied again.
    rows = "a-1\t2\tyoung\tform\tyoung\told\na-1\t2\tyoung\tupos\tNOUN\tADJ\n"
    assert apply(header + rows) == []


def test_trees_are_checked_after_all_corrections_of_a_sentence() -> None:
    rows = "a-1\t3\thead\t6:nsubj\t0:root\t1\taccept\na-1\t6\thead\t0:root\t3:acl\t1\taccept\n"
    assert len(apply(HEADER + rows)) == 4


def test_a_sentence_keeps_its_cycle_but_gets_no_other_one() -> None:
    arcs = [(2, "det"), (1, "nsubj"), (3, "dep"), (0, "root")]
    rows = [f"{i}\tw\t_\tX\t_\t_\t{head}\t{x}\t_\t_\n" for i, (head, x) in enumerate(arcs, 1)]
    (sentence,) = read(["# sent_id = s\n", *rows, "\n"])

    def correct(*rows: str) -> Sentence:
        text = "sent_id\tword\tcolumn\told\tnew\n" + "\n".join(rows)
        return Corrections(text, "rows.tsv").apply(sentence)[0]

    assert correct("s\t1\tupos\tX\tDET").upos == ["DET", "X", "X", "X"]
    assert correct("s\t3\thead\t3:dep\t4:obj").head == [2, 1, 4, 0]
    with pytest.raises(FormatError, match=r"the changes, the heads of the words 2, 4 form a cycle"):
        correct("s\t2\thead\t1:nsubj\t4:nsubj", "s\t4\thead\t0:root\t2:dep")


def test_a_row_is_about_its_own_file(tmp_path: Path) -> None:
    rows = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    paths = [tmp_path / name for name in ("a.conllu", "b.conllu")]
    for path in paths:
        path.write_text(f"# sent_id = s\n{rows}")
    record = {"file": str(paths[1]), "sent_id": "s", "word": 1, "column": "upos"}
    text = json.dumps([record | {"old": "X", "new": "Y"}])

    def tags(files: list[Path]) -> list[str]:
        corrections = Corrections(text, "rows.json", list(map(str, files)))
        found = [corrections.apply(x)[0].upos[0] for path in files for x in read(path)]
        corrections.finish()
        return found

    assert tags(paths) == ["X", "Y"]
    assert tags(paths[:1]) == ["Y"]  # a copy of the file
    paths[1].write_text(f"# sent_id = s\n{rows}" * 2)
    with pytest.raises(FormatError, match="two sentences have this sent_id; see record 1"):
        tags(paths)


def test_apostrophes_of_tables_are_undone() -> None:
    """Every value that a table of depkit may contain is found again, whatever it begins with."""
    values = [
        "=1", "'=1", "''=1", "-", "'-", "-5", "'-5", "+a", "@", "a,=b", "a;'+b", "a; '+b", "a, -b",
        "a; ' -b", "' =1", "'\"=1", '"', "'", "''", "\x85", "\u2028", "a'b", "'a",
    ]  # fmt: skip
    rows = "".join(f"{i}\t{x}\t_\t_\t_\t_\t0\tdep\t_\t_\n" for i, x in enumerate(values, 1))
    (sentence,) = read(StringIO(f"# sent_id = s\n{rows}\n"), "conllu")
    header = ("sent_id", "word", "form", "column", "old", "new")
    table = [["s", str(i), x, "form", x, f"{x}!"] for i, x in enumerate(values, 1)]
    text = csv_table(header, table, "\t") + "\n"
    result, changes = Corrections(text, "rows.tsv").apply(sentence)
    assert [change.old for change in changes] == values
    assert result.form == [f"{x}!" for x in values]
    records = [dict(zip(header, row, strict=True)) for row in table]
    result, _ = Corrections(json.dumps(records), "rows.json").apply(sentence)
    assert result.form == [f"{x}!" for x in values]


@pytest.mark.parametrize("word", [1.5, None, [1], True, float("inf"), "x", "9" * 5000])
def test_other_values_are_no_numbers(word: object) -> None:
    row = {"sent_id": "a-1", "word": word, "column": "upos", "old": "DET", "new": "X"}
    with pytest.raises(FormatError, match="record 1: word and line must be numbers"):
        apply(json.dumps([row]))


def test_rules_are_no_corrections() -> None:
    for text in ("pattern { X [] } commands { X.upos = A }", "% a\tword\trule\nrule r { }"):
        assert not are_corrections(text)
