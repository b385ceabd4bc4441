"""Statistics compared with counts by hand and with those in the READMEs of real treebanks."""

import re
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.corpus.sentence import new_sentence
from depkit.treebank.statistics import Statistics, compute_statistics
from tests.conftest import TINY, TREES

TEXT = """\
# text = cat's x
1-2	cat's	_	_	_	_	_	_	_	_
1	cat	cat	NOUN	NN	_	3	nsubj	_	_
2	's	be	AUX	VBZ	_	3	cop	_	_
2.1	y	y	VERB	_	_	_	_	_	_
3	x	x	X	FW	_	0	root	_	_

1	a	a	X	FW	_	3	dep	_	_
2	b	_	X	FW	_	0	root	_	_
3	a	a	X	FW	_	2	dep	_	_
4	c	_	X	FW	_	0	root	_	_

1	a	a	X	FW	_	2	dep	_	_
2	b	_	X	FW	_	1	dep	_	_

1	z	_	_	_	_	_	_	_	_

"""


def count_text(text: str = TEXT) -> Statistics:
    return compute_statistics(read(text.splitlines(keepends=True), strict=False))


def test_counts_equal_those_by_hand() -> None:
    result = count_text()
    assert (result.sentences, result.words, result.tokens, result.ranges) == (4, 10, 9, 1)
    assert (result.empty_nodes, result.broken, result.unannotated) == (1, 0, 1)
    assert (result.cyclic, result.several_roots, result.no_root) == (1, 1, 1)
    # The root's arc to b crosses the arc between the two words a.
    assert (result.nonprojective_sentences, result.nonprojective_arcs, result.arcs) == (1, 1, 9)
    assert result.length == {3: 1, 4: 1, 2: 1, 1: 1}
    assert result.distance == {1: 4, 2: 2}
    assert result.depth == {0: 3, 1: 3, 2: 1}
    assert result.labels("upos") == {"X": 7, "AUX": 1, "NOUN": 1}
    assert next(iter(result.labels("deprel").items())) == ("dep", 4)
    figures = result.figures()
    assert (figures["different forms"], figures["different lemmas"]) == (7, 4)
    assert figures["% of sentences"] == pytest.approx(100 / 3)  # of the annotated ones
    assert figures["words per sentence"] == 2.5


def test_non_projective_arcs_are_counted_in_cyclic_sentences_in_which_no_arcs_cross() -> None:
    # The third word is its own head, and not a descendant of the second word.
    result = compute_statistics([new_sentence(list("abcd"), {"head": [0, 0, 3, 2]})])
    assert (result.cyclic, result.nonprojective_sentences, result.nonprojective_arcs) == (1, 0, 1)


def test_broken_sentences_are_counted() -> None:
    result = count_text(TEXT.replace("cat\tNOUN", "cat"))
    assert (result.sentences, result.words, result.broken) == (4, 10, 1)
    only_comments = count_text(TEXT + "# newdoc\n\n")
    assert (only_comments.sentences, only_comments.broken, only_comments.wordless) == (4, 1, 1)
    # A valid sentence without heads is counted although as many others have no words.
    assert count_text("# newdoc\n\n1\ta" + "\t_" * 8 + "\n\n").broken == 1


def test_statistics_of_two_treebanks_are_added() -> None:
    tiny = compute_statistics(TINY)
    both = tiny + count_text()
    assert both.file == "total"
    assert both.words == tiny.words + 10
    assert both.upos["X"] == 7
    assert both.as_dict()["depth"][0] == tiny.depth[0] + 3


def test_an_empty_treebank_has_no_shares() -> None:
    assert compute_statistics([]).figures()["% of arcs"] is None
    assert compute_statistics([]).figures()["longest sentence"] is None


# A row of the table in a treebank's README: sentences, words, ranges, empty nodes, non-projective
# sentences, their share, the share of arcs, the longest sentence, relations.
ROW = re.compile(
    r"^\| (\S+\.conll\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \(([\d.]+)%\)"
    r" \| ([\d.]+)% \| \d+ \| (\d+) \| (\d+) \|",
    re.MULTILINE,
)
ROOTS = re.compile(r"\((\S+): (\d+) sentences with more or fewer than one root\)")


@pytest.mark.parametrize(
    "folder",
    ["conll09-turkish-propbank", "conllx-basque-2007", "ud-chinese-gsd", "ud-chinese-gsd-1.4",
     "ud-coptic-scriptorium", "ud-english-ewt", "ud-latin-perseus", "ud-tamil-ttb",
     "ud-vietnamese-vtb"],
)  # fmt: skip
def test_figures_in_the_readmes_of_treebanks(shared: Path, folder: str) -> None:
    readme = (shared / "data" / folder / "README.md").read_text()
    roots = dict(ROOTS.findall(readme))
    rows = ROW.findall(readme)
    assert rows
    for name, *counts, share, arcs, longest, relations in rows:
        encoding = "latin-1" if name == "eus.test.conllx" else "utf-8"
        result = compute_statistics(shared / "data" / folder / name, encoding)
        assert [
            result.sentences, result.words, result.ranges, result.empty_nodes,
            result.nonprojective_sentences,
        ] == list(map(int, counts))  # fmt: skip
        figures = result.figures()
        assert figures["% of sentences"] == pytest.approx(float(share), abs=0.051)
        assert figures["% of arcs"] == pytest.approx(float(arcs), abs=0.0051)
        assert figures["longest sentence"] == int(longest)
        assert figures["relations"] == int(relations)
        assert result.several_roots + result.no_root == int(roots.get(name, 0))
        assert result.broken == (name == "trpb_v1.0.train.conll09")


def test_constituents_are_counted_without_functions() -> None:
    result = compute_statistics(TREES)
    assert (result.sentences, result.words, result.unannotated, result.broken) == (26, 155, 0, 0)
    assert result.labels("constituent")["NP"] == 47
    assert result.as_dict()["constituent_labels"] == 16
    assert result.figures()["% of sentences"] is None  # there are no dependency trees
    assert compute_statistics(TINY).as_dict()["constituent"] == {}


ENHANCED = """\
1	a	a	X	_	_	2	nsubj	2:nsubj|3:nsubj	_
2	b	b	X	_	_	0	root	0:root	_
3	c	c	X	_	_	2	conj	2:conj:and	_

"""


def test_types_of_enhancement_are_counted() -> None:
    counts = count_text(ENHANCED)
    assert counts.labels("enhancement") == {"basic": 2, "case": 1, "shared": 1}
    assert counts.as_dict()["enhancement"] == counts.labels("enhancement")
    assert count_text().labels("enhancement") == {}
    # A sentence whose DEPS cannot be read is broken.
    broken = count_text(ENHANCED.replace("3:nsubj", "4:nsubj"))
    assert (broken.broken, broken.words, broken.labels("enhancement")) == (1, 3, {})
