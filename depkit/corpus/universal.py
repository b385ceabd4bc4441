"""Universal Dependencies' relations: what is a content word, what a function word.

As the CoNLL 2018 evaluation has it (Zeman et al. 2018, section 5); relations outside these
lists, and punctuation, are neither.
"""

FUNCTIONAL = frozenset(("aux", "case", "cc", "clf", "cop", "det", "mark"))
CONTENT = frozenset(
    (
        "acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep",
        "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod",
        "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "reparandum", "root", "vocative",
        "xcomp",
    )
)  # fmt: skip


def base(deprel: str) -> str:
    """A relation without its subtype: `nsubj` of `nsubj:pass`."""
    return deprel.partition(":")[0]


def is_content(deprel: str) -> bool:
    """Whether a word with this relation counts for CLAS, MLAS and BLEX."""
    return base(deprel) in CONTENT


def is_functional(deprel: str) -> bool:
    """Whether a word with this relation belongs to its head, as MLAS sees it."""
    return base(deprel) in FUNCTIONAL


def is_universal(deprel: str) -> bool:
    """Whether the base relation is one of UD's."""
    return is_content(deprel) or is_functional(deprel) or base(deprel) == "punct"
