"""Types of enhancement: which of them each relation of small sentences has."""

import pytest

from depkit.corpus.enhanced import collapse, read_graph
from depkit.corpus.enhancements import TYPES, find_types
from tests.corpus.rows import parse

# A word is FORM HEAD DEPREL, and its relations in DEPS with their types, if they are not basic.
SENTENCES = [
    # Case and conjunction information, and subtypes that are neither
    """
    He      2 nsubj      2:nsubj
    came    0 root       0:root
    home    2 obl        2:obl:tmod
    to      5 mark       5:mark
    eat     2 advcl      2:advcl:to=case
    and     7 cc         7:cc
    sleep   5 conj       5:conj:and=case|2:advcl:to=conj
    in      9 case       9:case
    bed     7 obl:arg    7:obl:in=case
    """,
    # Shared dependents, also of a conjunct, and of all conjuncts but the first
    """
    Ann     4 nsubj      4:nsubj|5:nsubj=shared|6:nsubj=shared
    and     3 cc         3:cc
    Bob     1 conj       1:conj:and=case|4:nsubj=conj|5:nsubj=shared
    bought  0 root       0:root
    baked   4 conj       0:root=conj|4:conj=basic
    ate     5 conj       4:conj=conj|5:conj=basic|0:root=conj
    pies    6 obj        6:obj|4:obj=shared
    """,
    # Control: the subject, its conjunct, and conjuncts of the xcomp
    """
    Ann     4 nsubj      4:nsubj|6:nsubj:xsubj=xsubj|8:nsubj=xsubj
    and     3 cc         3:cc
    Bob     1 conj       1:conj:and=case|4:nsubj=conj|6:nsubj=xsubj
    want    0 root       0:root
    to      6 mark       6:mark
    sing    4 xcomp      4:xcomp
    and     8 cc         8:cc
    dance   6 conj       6:conj:and=case|4:xcomp=conj
    """,
    # Relative clauses: the antecedent, its conjunct, the pronoun, and a verb below that of the
    # clause; a clause that modifies a clause
    """
    men     0 root       0:root|6:obj=relcl|9:nsubj=relcl
    and     3 cc         3:cc
    women   1 conj       1:conj:and=case|6:obj=relcl|0:root=conj
    whom    6 obj        1:ref=relcl
    you     6 nsubj      6:nsubj
    say     1 acl:relcl  1:acl:relcl
    I       8 nsubj      8:nsubj
    saw     6 ccomp      6:ccomp|9:obl=relcl
    which   10 nsubj     8:ref=relcl
    pleases 8 advcl:relcl 8:advcl:relcl
    """,
    # Empty nodes, other labels and other heads; a cycle in the basic tree, and a word without head
    """
    Ann     2 nsubj      2:nsubj
    ate     0 root       0:root
    pie     2 obj        2:nmod=other
    Bob     2 conj       2:conj:and>nsubj=empty
    tea     4 orphan     2:conj:and>obj=empty|3:dep=other|4:orphan
    a       7 conj       7:conj|2:dep=other
    b       6 conj       6:conj
    c       _ dep        0:root=other
    """,
]  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
def test_types(text: str) -> None:
    rows = [line.split() for line in text.strip().splitlines()]
    heads = [int(head) if head != "_" else -1 for _, head, _, _ in rows]
    relations, types = [], []
    for _, _, _, deps in rows:
        pairs = [relation.partition("=")[::2] for relation in deps.split("|")]
        relations.append([(int(x.split(":")[0]), x.partition(":")[2]) for x, _ in pairs])
        types.append([name or "basic" for _, name in pairs])
    assert find_types(heads, [row[2] for row in rows], relations) == types
    assert {name for names in types for name in names} <= set(TYPES)


def test_types_of_an_elided_predicate() -> None:
    (sentence,) = parse(
        "1\tI\tI\tPRON\t_\t_\t2\tnsubj\t2:nsubj\t_\n"
        "2\tate\teat\tVERB\t_\t_\t0\troot\t0:root\t_\n"
        "3\tyou\tyou\tPRON\t_\t_\t2\tconj\t3.1:nsubj\t_\n"
        "3.1\tate\teat\tVERB\t_\t_\t_\t_\t2:conj\t_\n"
        "4\ttea\ttea\tNOUN\t_\t_\t3\torphan\t3.1:obj\t_\n\n"
    )
    types = find_types(sentence.head, sentence.deprel, collapse(read_graph(sentence)))
    assert types == [["basic"], ["basic"], ["empty"], ["empty"]]
