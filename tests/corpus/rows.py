"""Rows of CoNLL tables and small treebanks for tests; the sentences were written for depkit."""

import io
from typing import Any

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence


def lines(text: str) -> io.StringIO:
    r"""Return a stream of lines that end only at \n, as in files."""
    return io.StringIO(text, newline="\n")


def parse(text: str, format: str | None = "conllu", **options: Any) -> list[Sentence]:
    """Return the sentences of a text."""
    return list(read(lines(text), format, **options))


def row(id: object, form: str = "word", head: object = "_", deprel: str = "_", *, end="\n") -> str:
    """Return a row of CoNLL-U or CoNLL-X."""
    return "\t".join([str(id), form, "_", "X", "_", "_", str(head), deprel, "_", "_"]) + end


def row09(id: object, form: str, head: object, deprel: str, *predicates: str) -> str:
    """Return a row of CoNLL-09; predicates: FILLPRED, PRED and the columns APRED."""
    tail = predicates or ("_", "_")
    return "\t".join([str(id), form, *"______", str(head), "_", deprel, "_", *tail]) + "\n"


# Two sentences with everything that CoNLL-U allows, in 21 lines. Tests use the line numbers.
RICH = (
    "# newdoc\n"
    "# sent_id = mill-1\n"
    "# text = Vámonos al molino.\n"
    "# note = first\n"
    "# note = second\n"
    "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tVamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\t_\n"
    "2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\texpl\t1:expl\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_\n"
    "4\tel\tel\tDET\t_\tDefinite=Def\t5\tdet\t5:det\t_\n"
    "5\tmolino\tmolino\tNOUN\t_\t_\t1\tobl\t1:obl:a\tSpaceAfter=No\n"
    "6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_\n"
    "\n"
    "# sent_id = mill-2\n"
    "0.1\tquiero\tquerer\tVERB\t_\t_\t_\t_\t0:root\tCopyOf=3\n"
    "1\tpan y\tpan y\tNOUN\t_\t_\t0\troot\t0.1:obj\t_\n"
    "1.1\t_\t_\t_\t_\t_\t_\t_\t1:dep\t_\n"
    "1.2\t_\t_\t_\t_\t_\t_\t_\t1:dep\t_\n"
    "2\t20 000\t20 000\tNUM\t_\t_\t1\tnummod\t1:nummod\t_\n"
    "\n"
)

PREDICATES = (
    row09(1, "Cats", 2, "SBJ", "_", "_", "A0", "_")
    + row09(2, "see", 0, "ROOT", "Y", "see.01", "_", "_")
    + row09(3, "dogs", 2, "OBJ", "_", "_", "A1", "A0")
    + row09(4, "bark", 3, "OPRD", "Y", "bark.01", "_", "_")
    + "\n"
)
