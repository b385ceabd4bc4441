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


MIXED = """\
1	I	I	PRON	_	_	2	nsubj	2:nsubj	_
2	ate	eat	VERB	VBD	Tense=Past	0	root	0:root	_
2.1	had	have	AUX	_	_	_	_	2:aux	Note=1
3-4	you'll	_	_	_	_	_	_	_	_
3	you	you	PRON	_	_	2	conj	2:conj>nsubj|2.1:x>y	_
4	will	will	AUX	_	_	3	aux	3:aux|2:conj>aux	_
"""


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_existing_empty_nodes_stay_when_others_are_made(end: str) -> None:
    """New nodes follow the existing ones; no row changes but those with labels of paths."""
    line_end = end or "\n"
    text = MIXED.replace("\n", line_end).removesuffix(line_end)
    (given,) = read(io.StringIO(text + 2 * end, newline="\n"))
    expected = MIXED.replace("2:conj>nsubj|2.1:x>y", "3.1:nsubj|3.2:y").replace(
        "3:aux|2:conj>aux", "3:aux|3.1:aux"
    )
    made = "3.1	ate	eat	VERB	VBD	Tense=Past	_	_	2:conj	CopyOf=2\n"
    made += "3.2	_	_	_	_	_	_	_	2.1:x	_\n"
    expected = expected.replace("4	will", f"{made}4	will", 1)
    assert str(expand(given)) == expected.replace("\n", line_end) + end
    assert expand(given).form == given.form and expand(given).deprel == given.deprel
    (unchanged,) = read(io.StringIO(GAPPING))
    assert expand(unchanged) is unchanged


def empty_nodes(deps: list[str]) -> Sentence:
    """Return a sentence of one word and of empty nodes with these DEPS; the word has the first."""
    rows = [f"1\tw\t_\t_\t_\t_\t0\troot\t{deps[0]}\t_"]
    rows += [f"1.{i}\t_\t_\t_\t_\t_\t_\t_\t{x}\t_" for i, x in enumerate(deps[1:], 1)]
    return sentence("# sent_id = a\n" + "\n".join(rows) + "\n\n")


def test_long_paths_are_found_and_too_many_paths_are_refused() -> None:
    chain = empty_nodes([f"1.{i}:a" for i in range(1, 3001)] + ["0:b"])
    assert collapse(read_graph(chain)) == [[(0, "b" + 3000 * ">a")]]
    numbers = range(1, 27)
    # 2 ** 25 paths from the root; and 26! paths that begin at no word
    acyclic = ["|".join(f"1.{j}:a" for j in numbers if j > i) or "0:a" for i in range(27)]
    cyclic = ["|".join(f"1.{j}:a" for j in numbers if j != i) for i in range(27)]
    for deps in acyclic, cyclic:
        with pytest.raises(FormatError, match="too many or too long paths") as error:
            collapse(read_graph(empty_nodes(deps)))
        assert (error.value.line, error.value.sent_id) == (2, "a")


def test_a_byte_order_mark_is_not_a_line() -> None:
    with pytest.raises(FormatError) as error:
        read_graph(sentence("\ufeff" + GAPPING.replace("5.1:obj", "7.1:obj")))
    assert error.value.line == 8
