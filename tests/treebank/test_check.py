"""Every kind of finding, with a text that has it and a similar text that does not."""

import gzip
import re
from collections import Counter
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depkit
from depkit.corpus.io import read
from depkit.corpus.universal import RELATIONS, UPOS
from depkit.files.errors import FormatError
from depkit.treebank.check import Checker
from depkit.treebank.check_labels import feature_faults
from depkit.treebank.check_training import TrainingSet
from depkit.treebank.check_tree import find_cycles
from depkit.treebank.findings import CODES, ERRORS, NOTES, Finding, severity
from tests.conftest import TINY
from tests.corpus.mutated_files import mutated_files, reproducible
from tests.corpus.rows import row

GOOD = """\
# sent_id = s1
# text = The cat's asleep.
1	The	the	DET	_	PronType=Art	2	det	2:det	_
2-3	cat's	_	_	_	_	_	_	_	_
2	cat	cat	NOUN	_	Case=Nom|Number=Sing	4	nsubj	4:nsubj|4.1:nsubj	_
3	's	be	AUX	_	_	4	cop	4:cop	_
4	asleep	asleep	ADJ	_	_	0	root	0:root	SpaceAfter=No
4.1	seems	seem	VERB	_	_	_	_	4:x	_
5	.	.	PUNCT	_	_	4	punct	4:punct	_

"""
CONLLX = """\
1	The	the	D	DT	_	2	det	_	_
2	cat	cat	N	NN	sg|nom	3	subj	_	_
3	sleeps	sleep	V	VBZ	_	0	top	_	_

"""
CONLL09 = """\
1	The	the	the	D	D	_	_	2	2	det	det	_	_	_
2	cat	cat	cat	N	N	_	_	3	3	subj	subj	_	_	A0
3	sleeps	sleep	sleep	V	V	_	_	0	0	root	root	Y	sleep.1	_

"""
WITHOUT_DEPS = re.sub(r"\d:.*(?=\t)", "_", GOOD)
BARE = re.sub(r"4\.1.*\n", "", WITHOUT_DEPS)  # without enhanced dependencies


def chain(size: int) -> str:
    """Return the rows of a sentence in which the head of each word is the preceding word."""
    rows = [row(i, "w", i - 1, "dep" if i > 1 else "root") for i in range(1, size + 1)]
    return "".join(rows)


def check(text: str, ud: bool = False, training: TrainingSet | None = None) -> list[Finding]:
    """Return the findings in a text that is split into lines as a file."""
    return list(Checker(ud, training).check(re.findall("[^\n]*\n|[^\n]+", text)))


def find_codes(text: str, **options) -> list[tuple[str, int]]:
    return [(finding.code, finding.line) for finding in check(text, **options)]


def replace_once(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


EMPTY_NODE = "1.1\tx\t_\t_\t_\t_\t_\t_\t2:dep\t_\n"
# Code and line of the finding, text in GOOD, its replacement, and a harmless replacement.
DAMAGED = [
    ("control-character", 5, "\tcat\tcat\t", "\tcat\tca\0t\t", "\tcat\tca\u200bt\t"),
    ("control-character", 5, "\tcat\tcat\t", "\tcat\tca\u2028t\t", "\tcat\tca\u00adt\t"),
    ("control-character", 5, "\tcat\tcat\t", "\tcat\tca\rt\t", "\tcat\tca t\t"),
    ("encoding", 5, "\tcat\tcat\t", "\tcat\tc\udce4t\t", "\tcat\tcät\t"),
    ("encoding", 5, "\tcat\tcat\t", "\tcat\tc\ud83dt\t", "\tcat\tc😀t\t"),
    ("byte-order-mark", 1, "# sent_id", "\ufeff# sent_id", "# sent_id"),
    ("replacement-character", 5, "\tcat\tcat\t", "\tcat\tca\ufffd\t", "\tcat\tca\ufffc\t"),
    ("unicode-nfc", 5, "\tcat\tcat\t", "\tcat\tca\u0301t\t", "\tcat\tcát\t"),
    ("line-end", 3, "2\tdet\t2:det\t_\n", "2\tdet\t2:det\t_\r\n", "2\tdet\t2:det\t_\n"),
    ("white-line", 10, "_\n\n", "_\n  \n", "_\n\n"),
    ("extra-blank-line", 11, "_\n\n", "_\n\n\n", "_\n\n"),
    ("extra-blank-line", 1, "# sent_id", "\n# sent_id", "# sent_id"),
    ("final-blank-line", 9, "4:punct\t_\n\n", "4:punct\t_\n", "4:punct\t_\n\n"),
    ("final-blank-line", 9, "4:punct\t_\n\n", "4:punct\t_", "4:punct\t_\n\n"),
    ("comment-place", 4, "2-3\t", "# here\n2-3\t", "2-3\t"),
    ("no-words", 11, "_\n\n", "_\n\n# newdoc\n\n", "_\n\n"),
    ("columns", 5, "\tcat\tcat\t", "\tcat cat\t", "\tcat\tcat\t"),
    ("columns", 5, "\tcat\tcat\t", "\tcat\tcat\t\t", "\tcat\tcat\t"),
    ("id", 6, "3\t's\t", "3a\t's\t", "3\t's\t"),
    ("id", 6, "3\t's\t", "5\t's\t", "3\t's\t"),
    ("id", 6, "3\t's\t", "03\t's\t", "3\t's\t"),
    ("range", 4, "2-3\t", "3-2\t", "2-3\t"),
    ("range", 4, "2-3\t", "2-6\t", "2-3\t"),
    ("range", 4, "2-3\t", "3-4\t", "2-3\t"),
    ("range", 6, "3\t's", "3-4\tx\t_\t_\t_\t_\t_\t_\t_\t_\n3\t's", "3\t's"),
    ("range-of-one", 4, "2-3\t", "2-2\t", "2-3\t"),
    ("empty-node", 8, "4.1\t", "4.2\t", "4.1\t"),
    ("empty-node-place", 5, "_\n2\tcat", f"_\n{EMPTY_NODE}2\tcat", "_\n2\tcat"),
    ("empty-node-place", 6, "_\n2\tcat", f"_\n{EMPTY_NODE}{EMPTY_NODE.replace('.1', '.2')}2\tcat",
     "_\n2\tcat"),
    ("empty-node", 8, "4.1\t", "3.1\t", "4.1\t"),
    ("no-form", 5, "2\tcat\t", "2\t\t", "2\tcat\t"),
    ("empty-cell", 5, "\tcat\tcat\t", "\tcat\t\t", "\tcat\t_\t"),
    ("white-space", 5, "\tcat\tcat\t", "\tcat\t cat\t", "\tcat\tc a t\t"),
    ("white-space", 5, "\tcat\tcat\t", "\tcat\tcat\u00a0\t", "\tcat\tc\u00a0at\t"),
    ("white-space", 5, "\tcat\tcat\t", "\tcat\tc  at\t", "\tcat\tc at\t"),
    ("white-space", 5, "4:nsubj|4.1:nsubj\t_\n", "4:nsubj|4.1:nsubj\t_ \n",
     "4:nsubj|4.1:nsubj\tGloss=a b\n"),
    ("white-space", 7, "ADJ\t_\t", "ADJ\tJ J\t", "ADJ\tJJ\t"),
    ("range-cells", 4, "cat's\t_\t", "cat's\tcat\t", "cat's\t_\t"),
    ("range-cells", 4, "cat's\t_\t_\t_\t_\t", "cat's\t_\t_\t_\tAbbr=Yes\t",
     "cat's\t_\t_\t_\tTypo=Yes\t"),
    ("empty-node-cells", 8, "VERB\t_\t_\t_\t_\t", "VERB\t_\t_\t4\t_\t", "VERB\tVB\t_\t_\t_\t"),
    ("head", 6, "4\tcop\t4", "four\tcop\t4", "4\tcop\t4"),
    ("head", 6, "4\tcop\t4", "-1\tcop\t4", "5\tcop\t4"),
    ("head", 6, "4\tcop\t4", "04\tcop\t4", "4\tcop\t4"),
    ("head-range", 6, "4\tcop\t4", "6\tcop\t4", "5\tcop\t4"),
    ("head-range", 6, "4\tcop\t4", "99999999999\tcop\t4", "5\tcop\t4"),
    ("no-head", 6, "4\tcop\t4", "_\tcop\t4", "4\tcop\t4"),
    ("no-deprel", 6, "4\tcop\t4", "4\t_\t4", "4\tcop\t4"),
    ("self-loop", 6, "4\tcop\t4", "3\tcop\t4", "2\tcop\t4"),
    ("cycle", 3, "4\tnsubj\t", "1\tnsubj\t", "3\tnsubj\t"),
    ("several-roots", 9, "4\tpunct\t4:", "0\troot\t4:", "4\tpunct\t4:"),
    ("root-label", 7, "0\troot\t0", "0\tcop\t0", "0\troot:x\t0"),
    ("root-label", 6, "4\tcop\t4", "4\troot\t4", "4\tcop\t4"),
    ("feats", 3, "PronType=Art", "PronType", "PronType=Art"),
    ("feats", 3, "PronType=Art", "pronType=Art", "Person[psor]=1"),
    ("feats", 3, "PronType=Art", "1Person=Yes", "P1=Yes"),
    ("upos-form", 5, "\tNOUN\t", "\tNoun\t", "\tNP\t"),
    ("upos-form", 5, "\tNOUN\t", "\t_\t", "\tN\t"),
    ("deprel-form", 5, "4\tnsubj\t4", "4\tSUBJ\t4", "4\tsubj\t4"),
    ("deprel-form", 5, "4\tnsubj\t4", "4\tnsubj:a:b\t4", "4\tnsubj:a\t4"),
    ("deprel-form", 5, "4\tnsubj\t4", "4\tnsubj:x9\t4", "4\tnsubj:x\t4"),
    ("deprel-form", 9, "4:punct", "4:nsubj:In", "4:nsubj:in"),
    ("deprel-form", 9, "4:punct", "4:obl:x9", "4:obl:e\u0301_ஐ"),
    ("deprel-form", 9, "4:punct", "4:obl:_in", "4:obl:a:b_c:d"),
    ("deprel-form", 9, "4:punct", "4:obl:a:b:c:d", "4:obl:von:gen"),
    ("deprel-form", 9, "4:punct", "4:ó", "4:o"),
    ("feats", 3, "PronType=Art", "PronType=Art|", "PronType=Art,Dem"),
    ("feats-order", 5, "Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "Abbr=Yes|Case=Nom"),
    ("feats-order", 5, "Case=Nom|Number=Sing", "NumType=Ord|Number=Sing",
     "Number=Sing|NumType=Ord"),
    ("feats-order", 5, "Case=Nom|", "Case=Nom,Acc|", "Case=Acc,Nom|"),
    ("feats-repeated", 5, "Case=Nom|", "Case=Acc|Case=Nom|", "Case=Nom|Foo=Bar|"),
    ("feats-repeated", 5, "Case=Nom|", "Case=Nom,Nom|", "Case=Nom,Voc|"),
    ("deps", 6, "4:cop", "4", "4:cop"),
    ("deps", 6, "4:cop", "7:cop", "5:cop"),
    ("deps", 6, "4:cop", "3:cop", "2:cop"),
    ("deps", 6, "4:cop", "0:cop", "4:cop"),
    ("deps-order", 5, "4:nsubj|4.1:nsubj", "4.1:nsubj|4:nsubj", "4:nsubj|4:x"),
    ("deps-repeated", 5, "4:nsubj|4.1:nsubj", "4:nsubj|4:nsubj", "4:nsubj|4:obj"),
    ("deps-unreachable", 6, "4:cop", "_", "4.1:cop"),
    ("deps-unreachable", 8, "4:x", "_", "2:x"),
    ("misc", 5, "4.1:nsubj\t_\n", "4.1:nsubj\tA=b||C=d\n", "4.1:nsubj\tA=b|C=d\n"),
    ("misc-repeated", 5, "4.1:nsubj\t_\n", "4.1:nsubj\tGloss=a|Gloss=b\n",
     "4.1:nsubj\tGloss=a|Lang=b\n"),
    ("misc-repeated", 8, "4:x\t_", "4:x\tLang=a|B=c|Lang=d", "4:x\tEntity=a|Entity=b"),
    ("space-after", 7, "SpaceAfter=No", "NoSpaceAfter=Yes", "NoSpaceAfter=No"),
    ("space-after", 7, "SpaceAfter=No", "SpaceAfter=No|SpaceAfter=No", "SpaceAfter=No|A=b"),
    ("space-after", 9, "4:punct\t_", "4:punct\tSpaceAfter=Yes", "4:punct\tSpaceAfter=No"),
    ("space-after", 6, "4:cop\t_", "4:cop\tSpaceAfter=No", "4:cop\tA=SpaceAfter"),
    ("space-after", 8, "4:x\t_", "4:x\tSpaceAfter=No", "4:x\tCopyOf=4"),
    ("sent-id", 1, "sent_id = s1", "sent_id = s 1", "sent_id=s_1"),
    ("sent-id", 1, "sent_id = s1", "sent_id = s/1", "sent_id=s-1"),
    ("sent-id", 1, "# sent_id = s1", "#sent_id = s1 ", "#sent_id = s1"),
    ("sent-id", 1, "# sent_id = s1", "# sent_id = s1\u00a0", "#\t sent_id=s1"),
    ("sent-id", 1, "sent_id = s1", "sent_id =", "sent_id =\u00a0s1"),
    ("parallel-id", 2, "# text", "# parallel_id = s1\n# text", "# parallel_id = en/s-1\n# text"),
    ("parallel-id", 2, "# text", "# parallel_id = en/s-1/part1alt1\n# text",
     "#parallel_id=en/1/alt1part12\n# text"),
    ("parallel-id", 2, "# text", "# parallel_id = en/s-1/\n# text",
     "# parallel_id = en/1/part1\n# text"),
    ("no-sent-id", 3, "# sent_id = s1\n", "# newpar\n", "# sent_id = s1\n"),
    ("no-text", 2, "# text = The cat's asleep.\n", "", "# text =The cat's asleep.\n"),
    ("text-space", 2, "asleep.\n", "asleep. \n", "asleep.\n"),
    ("text-mismatch", 3, "text = The cat", "text = A cat", "text = The cat"),
    ("text-mismatch", 7, "s asleep.", "s asleep .", "s asleep."),
    ("text-mismatch", 4, "s asleep.", "sasleep.", "s  asleep."),
    ("text-mismatch", 2, "s asleep.", "s asleep. It", "s asleep."),
    ("text-mismatch", 7, "SpaceAfter=No", "_", "A=b|SpaceAfter=No"),
    ("comment-again", 2, "# text", "# sent_id = s2\n# text", "# newpar\n# text"),
    ("comment-again", 3, "# text", "# text = A\n# text",
     "# text of the story: see file 3\n# text en = The cat is asleep.\n# text"),
    ("comment-again", 3, "# text", "# parallel_id = a/1\n# parallel_id = a/2\n# text",
     "# parallel_id = a/1\n# text"),
    ("comment-again", 3, "# text", "# newpar\n# newpar id = p\n# text",
     "# newdoc\n# newpar\n# text"),
    ("long-word", 5, "\tcat\tcat\t", f"\t{'c' * 101}\tcat\t", f"\tcat\t{'c' * 101}\t"),
    ("non-projective", 5, "4\tnsubj\t", "5\tnsubj\t", "3\tnsubj\t"),
]  # fmt: skip


def test_a_good_sentence_has_no_findings() -> None:
    assert find_codes(GOOD, ud=True) == [("deprel", 8)]  # x is not a relation of UD
    assert find_codes(GOOD) == find_codes(CONLLX) == find_codes(CONLL09) == []
    tiny = find_codes(TINY.read_text(), ud=True)
    assert tiny == [("non-projective", 186), ("non-projective", 198)]


@pytest.mark.parametrize(("code", "line", "old", "new", "harmless"), DAMAGED)
def test_each_finding_is_reported(code: str, line: int, old: str, new: str, harmless: str) -> None:
    findings = check(replace_once(GOOD, old, new))
    assert (code, line) in [(finding.code, finding.line) for finding in findings]
    (finding,) = (finding for finding in findings if (finding.code, finding.line) == (code, line))
    assert finding.severity == severity(code)
    assert code not in dict(find_codes(replace_once(GOOD, old, harmless)))


UD_DAMAGED = [
    ("upos", 5, "\tNOUN\t", "\tN\t", "\tPROPN\t"),
    ("upos", 8, "\tVERB\t", "\tV\t", "\t_\t"),
    ("deprel", 5, "4\tnsubj\t4", "4\tsubj\t4", "4\tcsubj:pass\t4"),
    ("deprel", 5, "4\tnsubj\t4", "4\tsubj:a\t4", "4\tnsubj:a\t4"),
    ("deprel", 5, "4\tnsubj\t4", "4\tref\t4", "4\tobj\t4"),
    ("deprel", 9, "4:punct", "4:point", "4:ref"),
    ("deprel", 9, "4:punct", "4:nsubjpass", "4:obl:ஐ_x:acc"),
]


@pytest.mark.parametrize(("code", "line", "old", "new", "harmless"), UD_DAMAGED)
def test_requirements_of_ud_releases_are_checked(
    code: str, line: int, old: str, new: str, harmless: str
) -> None:
    good = replace_once(GOOD, "4:x", "4:dep")
    bad = replace_once(good, old, new)
    assert find_codes(bad, ud=True) == [(code, line)]
    assert check(bad, ud=True)[0].severity == "error"
    assert find_codes(replace_once(good, old, harmless), ud=True) == []
    assert find_codes(bad) == []


OTHER_TEXTS = [  # code, line, a text with that problem, and a text without it
    ("empty-file", 0, "\n \n", GOOD),
    ("no-tree", 1, re.sub(r"\t\d\t(\w+)\t_\t_\n", "\t_\t_\t_\t_\n", CONLLX), CONLLX),
    ("no-root", 1, CONLLX.replace("0\ttop", "1\ttop"), CONLLX),
    ("no-deprel", 2, CONLLX.replace("subj", "_"), CONLLX.replace("subj", "root")),
    ("several-roots", 3, CONLLX.replace("2\tdet", "0\tdet"), CONLLX),
    ("columns", 2, CONLLX.replace("subj\t_\t_", "subj\t_"), CONLLX),
    ("head-range", 2, CONLL09.replace("3\t3\tsubj", "4\t3\tsubj"), CONLL09),
    ("columns", 2, CONLL09.replace("\tA0", "\tA0\t_"), CONLL09),
    ("predicates", 1, CONLL09.replace("Y\tsleep.1", "_\t_"), CONLL09),
    ("long-sentence", 1, chain(201) + "\n", chain(200) + "\n"),
    ("deps-sometimes", 13, GOOD + BARE, GOOD + GOOD),
    ("deps-sometimes", 12, BARE + WITHOUT_DEPS, WITHOUT_DEPS + GOOD),
    ("deps-unreachable", 3, WITHOUT_DEPS, BARE),
    ("sent-id-again", 11, GOOD + GOOD, GOOD + GOOD.replace("s1", "s2")),
]


@pytest.mark.parametrize(("code", "line", "bad", "good"), OTHER_TEXTS)
def test_findings_in_other_texts_are_reported(code: str, line: int, bad: str, good: str) -> None:
    assert (code, line) in find_codes(bad)
    assert code not in dict(find_codes(good))


def test_every_code_is_tested() -> None:
    tested = {row[0] for row in [*DAMAGED, *UD_DAMAGED, *OTHER_TEXTS]}
    elsewhere = set(
        "brackets unreadable format line-end-cr not-conllu"
        " train-overlap unseen-tag unseen-relation".split()
    )
    assert tested | elsewhere == set(CODES)
    assert not tested & elsewhere


BROKEN = {  # replacements in GOOD that make several findings
    "PronType=Art\t2": "PronType\t9",
    "\tcat\tcat\t": "\tcat\t\t",
    "3\t's\t": "3x\t's\t",
    "4\tcop": "3\tcop",
    "0\troot\t0": "zero\troot\t0",
    "4.1\tseems": "4.3\tseems",
    "_\n\n": "\n \n",
}
MARKED = "\ufeff\n" + GOOD.replace("PronType=Art", "x") + "\n" + GOOD.replace("s1", "s 2")
EXACT = {  # a text, and its findings
    reduce(lambda text, pair: replace_once(text, *pair), BROKEN.items(), GOOD): (
        "feats 3, head-range 3, deps 5, empty-cell 5, id 6, self-loop 6, head 7, empty-node 8,"
        " empty-cell 9, white-line 10"
    ),
    CONLLX.rstrip("\n") + "\n" + CONLLX: "id 4",  # a blank line is missing
    re.sub("2\tcat.*\n", "", CONLLX): "id 2",  # a row is lost
    replace_once(GOOD, "The cat's asleep.", "Thecat'sasleep ."): (  # each wrong space
        "text-mismatch 3, text-mismatch 4, text-mismatch 7"
    ),
    "\ufeff" + CONLLX.rstrip("\n"): "byte-order-mark 1, final-blank-line 3",
    "\ufeff" + CONLLX[:-1]: "byte-order-mark 1, final-blank-line 3",
    "\ufeff# sent_id = a\n0.1\tx" + 8 * "\t_" + "\n\n": "byte-order-mark 1, no-text 2, format 2",
    MARKED: "byte-order-mark 1, extra-blank-line 1, feats 4, extra-blank-line 12, sent-id 13",
    GOOD + BARE.replace("s1", "t1") + BARE.replace("s1", "t2") + GOOD.replace("s1", "t3"): (
        "deps-sometimes 13"  # one finding per file
    ),
}


@pytest.mark.parametrize("text", EXACT, ids=EXACT.values())
def test_all_findings_in_a_text(text: str) -> None:
    assert ", ".join(f"{code} {line}" for code, line in find_codes(text)) == EXACT[text]


def test_lines_that_end_with_cr_are_one_finding() -> None:
    (finding,) = check(GOOD.replace("\n", "\r"))
    assert (finding.code, finding.line, finding.sent_id) == ("line-end-cr", 1, "")
    assert finding.message.startswith("the lines end with CR instead of LF; convert the file")


def test_line_numbers_continue_from_format_to_format() -> None:
    make = depkit.Sentence.from_words
    columns = {"head": [0], "deprel": ["root"]}
    sentences = [
        make(["Go"], {"sent_id": "a", "text": "Go"}, format, **columns)
        for format in ("conllu", "conllx", "conllu")
    ]
    (finding,) = depkit.check(sentences)
    assert (finding.line, finding.code) == (9, "sent-id-again")
    assert "the sentence in -:3 has the same sent_id" in finding.message


def test_severities_depend_on_ud() -> None:
    assert severity("cycle") == severity("cycle", ud=True) == "error"
    assert (severity("no-text"), severity("no-text", ud=True)) == ("warning", "error")
    assert severity("non-projective", ud=True) == "note"
    assert severity("train-overlap", ud=True) == severity("range-of-one", ud=True) == "warning"
    assert not ERRORS.keys() & NOTES.keys()


def test_ud_has_17_tags_and_37_relations() -> None:
    assert (len(UPOS), len(RELATIONS)) == (17, 37)


def test_a_finding_is_printed_as_one_line() -> None:
    (finding,) = check(replace_once(GOOD, "4\tcop\t4", "8\tcop\t4"))
    assert str(finding) == (
        "-:6: error: s1: HEAD is 8, but the words are numbered from 1 to 5 [head-range]"
    )
    (finding,) = check("")
    assert str(finding) == "-: error: the file has no sentence [empty-file]"


def test_find_cycles_returns_the_words_of_each_cycle() -> None:
    assert find_cycles([0, 1, 2]) == find_cycles([]) == find_cycles([-1, 1]) == []
    assert find_cycles([2, 3, 1, 4, 1, 0]) == [[1, 2, 3], [4]]
    assert find_cycles([3, 3, 2]) == [[3, 2]]


def test_equal_sent_ids_in_two_files_are_reported(tmp_path: Path) -> None:
    checker = Checker()
    for name in ("a.conllu", "b.conllu"):
        (tmp_path / name).write_text(GOOD)
    assert list(checker.check(tmp_path / "a.conllu")) == []
    (finding,) = checker.check(tmp_path / "b.conllu")
    assert finding.code == "sent-id-again"
    assert f"{tmp_path / 'a.conllu'}:3 " in finding.message
    assert (checker.sentences, checker.words) == (2, 10)


def test_overlap_with_the_training_file_is_reported(tmp_path: Path) -> None:
    train = tmp_path / "train.conllu"
    train.write_text(GOOD + GOOD.replace("asleep", "dead"))
    assert find_codes(GOOD, training=TrainingSet(train)) == [("train-overlap", 3)]
    other = GOOD.replace("asleep", "awake")
    assert find_codes(other, training=TrainingSet(train)) == []
    strange = other.replace("\tADJ\t", "\tADV\t").replace("\tdet\t", "\tdet:x\t")
    twice = find_codes(strange + strange.replace("s1", "s2"), training=TrainingSet(train))
    assert twice == [("unseen-relation", 3), ("unseen-tag", 7)]
    tagged = other.replace("ADJ\t_", "ADJ\tJJ")
    assert find_codes(tagged, training=TrainingSet(train)) == []  # its column XPOS is empty
    train.write_text(GOOD.replace("ADJ\t_", "ADJ\tRB"))
    assert find_codes(other, training=TrainingSet(train)) == []
    assert find_codes(tagged, training=TrainingSet(train)) == [("unseen-tag", 7)]


def test_arcs_that_cross_below_a_cycle_are_reported() -> None:
    """The heads of all arcs, words 1 and 2, form a cycle, so all words descend from both."""
    text = "".join(row(i, "w", head, "dep") for i, head in enumerate([2, 1, 1, 2], start=1))
    messages = [finding.message for finding in check(text + "\n")]
    assert "the tree is non-projective: the arcs of the sentence cross each other" in messages


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    truncated_archive = tmp_path / "cut.conllu.gz"
    truncated_archive.write_bytes(gzip.compress(GOOD.encode())[:-10])
    assert [finding.code for finding in Checker().check(truncated_archive)] == ["unreadable"]
    truncated = tmp_path / "odd.conllu"
    truncated.write_bytes(GOOD.encode("utf-16")[:-1])
    assert [finding.code for finding in Checker().check(truncated, "utf-16")][-1] == "unreadable"
    (missing,) = Checker().check(tmp_path / "none")
    message = "the file cannot be opened: No such file or directory [unreadable]"
    assert str(missing) == f"{tmp_path / 'none'}: error: {message}"


def test_binary_data_long_lines_and_long_sentences_are_reported(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)) * 40)
    codes = {finding.code for finding in Checker().check(binary)}
    assert codes >= {"encoding", "control-character", "columns"}
    line = tmp_path / "line.conllu"
    line.write_text(GOOD + "x" * 10_000_000)
    findings = list(Checker().check(line))
    assert {finding.code for finding in findings} == {"columns", "final-blank-line"}
    assert max(len(str(finding)) for finding in findings) < 300
    findings = find_codes(chain(10_000).replace("root", "dep") + "\n")
    codes = "long-sentence", "no-sent-id", "no-text", "root-label"
    assert findings == [(code, 1) for code in codes]


def test_missing_tags_are_reported_only_if_other_words_have_tags() -> None:
    bare = re.sub(r"\t(DET|NOUN|AUX|ADJ|VERB|PUNCT)\t", "\t_\t", GOOD)
    assert find_codes(bare) == []
    assert set(find_codes(GOOD + bare.replace("s1", "s2"))) == {
        ("upos-form", line) for line in (13, 15, 16, 17, 19)
    }
    plain = chain(2).replace("\tX\t", "\tNOUN\t") + "\n"
    second = plain.replace("NOUN", "_")
    assert "upos-form" not in dict(find_codes(second + second))
    assert find_codes(plain + second).count(("upos-form", 4)) == 1
    assert {code for code, _ in find_codes(bare, ud=True)} == {"upos", "deprel"}


def test_space_after_is_reported_before_a_paragraph() -> None:
    joined = replace_once(GOOD, "4:punct\t_", "4:punct\tSpaceAfter=No")
    second, bare = GOOD.replace("s1", "s2"), BARE.replace("s1", "s2")
    for comment in ("# newpar", "# newdoc id = d", "# newdoc\n# newpar"):
        assert find_codes(f"{joined}{comment}\n{second}") == [("space-after", 11)]
        assert find_codes(f"{GOOD}{comment}\n{second}") == []
    assert find_codes(joined + second) == []
    ending = "# sent_id = s0\n# text = ww\n1-2\tww" + "\t_" * 8 + "\n" + chain(2) + "\n"
    joined = replace_once(ending, "ww" + "\t_" * 8, "ww" + "\t_" * 7 + "\tSpaceAfter=No")
    # The last token is a range.
    assert find_codes(f"{joined}# newpar\n{bare}") == [("space-after", 7)]
    assert find_codes(f"{ending}# newpar\n{bare}") == []


@pytest.mark.parametrize("text", [CONLLX, CONLL09])
def test_other_formats_are_not_valid_ud(text: str) -> None:
    (finding,) = check(text * 3, ud=True)
    assert (finding.code, finding.severity) == ("not-conllu", "error")


def test_messages_depend_on_the_format_and_text() -> None:
    def message(text: str, code: str) -> str:
        return next(finding.message for finding in check(text) if finding.code == code)

    without_stop = GOOD.replace("asleep.\n", "asleep\n")
    assert message(without_stop, "text-mismatch") == (
        "# text ends before '.'; correct # text or the words"
    )
    assert message(GOOD.rstrip(), "final-blank-line").startswith("no newline follows the last")
    two_roots = CONLLX.replace("2\tdet", "0\tdet"), GOOD.replace("4\tpunct", "0\troot")
    assert [message(text, "several-roots") for text in two_roots] == [
        "2 words have HEAD 0: 1, 3; most parsers expect one",
        "2 words have HEAD 0: 4, 5; trees of UD have one root",
    ]


def test_unprintable_characters_are_escaped() -> None:
    finding = Finding("error", "id", "a\nb\x1b\udce4ä", 1, "", "x\x07")
    assert str(finding) == "a\\nb\\x1b\\udce4ä:1: error: x\\x07 [id]"


def test_a_training_file_without_valid_sentences_is_an_error(tmp_path: Path) -> None:
    train = tmp_path / "train.conllu"
    for text in ("", "\n", "garbage\n", "# newdoc\n\n", GOOD.replace("\tcat\tcat", "\tcat")):
        train.write_text(text)
        with pytest.raises(FormatError, match=r"train\.conllu: the file has no valid sentence"):
            TrainingSet(train)
    broken = GOOD.replace("\tcat\tcat", "\tcat").replace("\tADJ", "\tX")
    train.write_text(GOOD + broken)
    training = TrainingSet(train)
    assert (training.num_sentences, training.num_broken, len(training.line_numbers)) == (2, 1, 1)
    assert "X" not in training.labels["upos"]


# Damaged files raise no exception; they have an error finding if the reader rejects them.

SAMPLES = [(GOOD + GOOD.replace("s1", "s2")).encode(), CONLLX.encode() * 2, CONLL09.encode() * 2]


@settings(reproducible, max_examples=400)
@given(mutated_files(SAMPLES), st.booleans())
def test_files_with_random_damage_raise_no_exception(data: bytes, ud: bool) -> None:
    text = data.decode("utf-8", "surrogateescape")
    lines = re.findall("[^\n]*\n|[^\n]+", text)
    findings = list(Checker(ud).check(lines))
    for finding in findings:
        assert 0 <= finding.line <= max(len(lines), 1)
        assert "\n" not in str(finding) and "\t" not in str(finding)
        str(finding).encode()
    try:
        list(read(lines))
    except FormatError as error:
        errors = [finding for finding in findings if finding.severity == "error"]
        assert errors
        assert "format" not in {finding.code for finding in errors}, error


# Real treebanks have the flaws that their READMEs name, and no others.

CLEAN = [
    "ud-english-ewt/en_ewt-ud-dev.conllu", "ud-coptic-scriptorium/cop_scriptorium-ud-dev.conllu",
    "ud-tamil-ttb/ta_ttb-ud-train.conllu", "ud-tamil-ttb/ta_ttb-ud-dev.conllu",
    "ud-latin-perseus/la_perseus-ud-train.conllu", "ud-vietnamese-vtb/vi_vtb-ud-dev.conllu",
    "ud-vietnamese-vtb/vi_vtb-ud-train.conllu", "ud-chinese-gsd/zh_gsd-ud-dev.conllu",
]  # fmt: skip


def counts(path: Path, encoding: str = "utf-8", ud: bool = False) -> Counter[str]:
    return Counter(finding.code for finding in Checker(ud).check(path, encoding))


@pytest.mark.parametrize("name", CLEAN)
def test_releases_of_ud_are_clean(shared: Path, name: str) -> None:
    assert counts(shared / "data" / name, ud=True).keys() <= {"non-projective", "long-word"}


def test_turkish_has_the_findings_of_its_readme(shared: Path) -> None:
    folder = shared / "data" / "conll09-turkish-propbank"
    train = folder / "trpb_v1.0.train.conll09"
    assert counts(train) == {
        "columns": 1, "cycle": 1, "no-root": 1, "several-roots": 286, "non-projective": 223,
    }  # fmt: skip
    (ragged,) = (finding for finding in Checker().check(train) if finding.code == "columns")
    widths = [line.count("\t") for line in train.read_text().splitlines()]
    line = ragged.line - 1
    assert widths[line] == widths[line - 1] + 1
    assert counts(folder / "trpb_v1.0.dev.conll09") == {
        "cycle": 1, "several-roots": 56, "non-projective": 45,
    }  # fmt: skip


def test_basque_has_the_findings_of_its_readme(shared: Path) -> None:
    path = shared / "data" / "conllx-basque-2007" / "eus.test.conllx"
    expected = {"several-roots": 200, "non-projective": 159}
    assert counts(path, "latin-1") == expected
    lines = path.read_bytes().splitlines(keepends=True)
    assert counts(path) == expected | {
        "encoding": sum(line.decode("utf-8", "ignore").encode() != line for line in lines),
        "replacement-character": sum("\ufffd".encode() in line for line in lines),
    }


def test_chinese_of_ud_1_has_findings_of_ud_2(shared: Path) -> None:
    path = shared / "data" / "ud-chinese-gsd-1.4" / "zh-ud-dev.conllu"
    plain = {"no-sent-id": 500, "no-text": 500, "non-projective": 2}
    assert counts(path) == plain
    old = counts(path, ud=True)
    assert old == plain | {"upos": 164, "deprel": 949}  # the counts of the UD validator


def test_malformed_trees_are_the_findings_of_bracketed_files(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text("(S (NN a))\n(S (NN b)\n\n( (S (NN c)))\n(())\n")
    checker = Checker()
    found = [(finding.code, finding.line, finding.severity) for finding in checker.check(path)]
    assert found == [("brackets", 2, "error"), ("brackets", 5, "error")]
    assert checker.sentences == 4
    (finding,) = Checker(ud=True).check(path)
    assert finding.code == "not-conllu" and "bracketed trees" in finding.message


def test_the_advice_on_the_order_of_features_is_in_order() -> None:
    ((code, message),) = feature_faults("Foo=B|Foo2=A")
    assert code == "feats-order" and message.endswith("write Foo2=A|Foo=B")
    # The whole Name=Value is compared in lower case, so that a digit precedes the equals sign.
    assert feature_faults("Foo2=A|Foo=B") == feature_faults("FoO=A|Foo=B") == ()


def test_sentences_are_checked_one_by_one_in_their_formats():
    """A sentence without a final blank line is not joined with the next one."""
    rows = ["1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\tA=1\n"]
    sentences = [next(read(rows)), next(read(rows))]
    assert [(x.line, x.code) for x in depkit.check(sentences)] == [
        (1, "no-sent-id"), (1, "no-text"), (3, "no-sent-id"), (3, "no-text"),
    ]  # fmt: skip
    (tabular,) = read(["1\tGo\tgo\tV\tVB\t_\t0\troot\t_\t_\n", "\n"], "conllx")
    assert not [x for x in depkit.check([sentences[0], tabular]) if x.code in ERRORS]
