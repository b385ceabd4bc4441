"""The universal tags and relations of UD, version 2 (universaldependencies.org/guidelines.html)."""

UPOS = frozenset(
    """
    ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X
    """.split()
)

RELATIONS = frozenset(
    """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp
    """.split()
)

# What came of the tags and relations of version 1.
RENAMED = {
    "CONJ": "CCONJ",
    "auxpass": "aux:pass",
    "csubjpass": "csubj:pass",
    "dobj": "obj",
    "foreign": "flat:foreign",
    "mwe": "fixed",
    "name": "flat:name",
    "neg": "advmod, or det",
    "nsubjpass": "nsubj:pass",
    "remnant": "orphan",
}
