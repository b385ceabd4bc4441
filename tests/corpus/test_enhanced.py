"""Graphs of DEPS: reading, collapsing empty nodes into labels, and making them again."""

import io

import pytest

from depkit import FormatError, Sentence, read
from depkit.corpus.enhanced import collapse, expand, format_relations, read_graph, write_graph
from tests.conftest import SHARED

GAPPING = """\
# text = I ate tea and you pie
1	I	I	PRON	_	_	2	nsubj	2:nsubj	_
2	ate	eat	VERB	VBD	Tense=Past	0	root	0:root	_
3	tea	tea	NOUN	_	_	2	obj	2:obj	_
4	and	and	CCONJ	_	_	5	cc	5.1:cc	_
5	you	you	PRON	_	_	2	conj	5.1:nsubj	_
5.1	ate	eat	VERB	VBD	Tense=Past	_	_	2:conj:and	CopyOf=2
6	pie	pie	NOUN	_	_	5	orphan	5.1:obj	_

"""
COLLAPSED = [
    [(2, "nsubj")], [(0, "root")], [(2, "obj")],
    [(2, "conj:and>cc")], [(2, "conj:and>nsubj")], [(2, "conj:and>obj")],
]  # fmt: skip


def sentence(text: str) -> Sentence:
    (only,) = read(io.StringIO(text))
    return only


def test_a_path_through_an_empty_node_becomes_one_relation() -> None:
    assert collapse(read_graph(sentence(GAPPING))) == COLLAPSED


def test_empty_nodes_are_made_again() -> None:
    collapsed = write_graph(sentence(GAPPING), COLLAPSED)
    assert collapsed.empty_nodes() == []
    assert collapsed.column("deps")[5] == "2:conj:and>obj"
    # The empty node follows the first word that depends on it.
    expected = GAPPING.replace("5.1:", "4.1:").splitlines(keepends=True)
    expected.insert(5, expected.pop(6).replace("5.1", "4.1"))
    assert "".join(expand(collapsed).lines) == "".join(expected)


@pytest.mark.parametrize(
    ("deps", "collapsed"),
    [
        # Two empty nodes in a row, and one without a head.
        (["2.1:obj", "0:root"], [[(0, "root>dep>obj")], [(0, "root")]]),
        (["2.3:obj|2:nsubj", "0:root"], [[(2, "nsubj")], [(0, "root")]]),
        # A cycle of empty nodes is not followed; both paths to the root differ in their labels.
        (["2.4:obj", "0:root"], [[(0, "root>b>obj"), (2, "c>a>b>obj")], [(0, "root")]]),
        # A relation of a word with itself remains.
        (["2.6:obj", "0:root"], [[(1, "self>obj")], [(0, "root")]]),
    ],
)
def test_paths(deps: list[str], collapsed: list[list[tuple[int, str]]]) -> None:
    empty = ["2.2:dep", "0:root", "_", "2.5:b|0:root>b", "2:c>a|2.4:a", "1:self"]
    rows = [f"{i}\tw\t_\t_\t_\t_\t{2 * (i == 1)}\tdep\t{x}\t_" for i, x in enumerate(deps, 1)]
    rows += [f"2.{i}\t_\t_\t_\t_\t_\t_\t_\t{x}\t_" for i, x in enumerate(empty, 1)]
    assert collapse(read_graph(sentence("\n".join(rows) + "\n\n"))) == collapsed


def test_relations_are_written_once_and_in_order() -> None:
    assert format_relations([(10, "obj"), (9, "obj"), (9, "iobj"), (10, "obj")]) == (
        "9:iobj|9:obj|10:obj"
    )
    assert format_relations([]) == "_"


def test_a_wrong_head_is_named_with_its_line() -> None:
    wrong = GAPPING.replace("5.1:obj", "7.1:obj")
    with pytest.raises(FormatError, match=r"'7\.1:obj', not HEAD:relation") as error:
        read_graph(sentence(wrong))
    assert error.value.line == 8


def test_expanding_changes_a_copy_and_keeps_line_ends() -> None:
    collapsed = write_graph(sentence(GAPPING.replace("\n", "\r\n")), COLLAPSED)
    before = str(collapsed)
    assert "".join(expand(collapsed).lines).count("\r\n") == GAPPING.count("\n")
    assert str(collapsed) == before


def test_a_treebank_survives_collapsing_and_expanding() -> None:
    path = SHARED / "data/ud-english-ewt/en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    for item in read(path):
        relations = collapse(read_graph(item))
        written = write_graph(item, relations)
        assert collapse(read_graph(expand(written))) == relations
        if len(read_graph(item).ids) == len(item) + 1:
            assert written.column("deps") == item.column("deps")
