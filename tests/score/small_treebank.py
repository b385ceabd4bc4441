"""A gold treebank of two sentences, and a predicted one.

Each way to exclude punctuation from scoring gives other scores for them.
"""

from collections.abc import Iterable

Word = tuple[str, str, str, int, str]  # form, upos, xpos, head, deprel

GOLD: list[list[Word]] = [
    [
        ("The", "DET", "DT", 2, "det"),
        ("cats", "NOUN", "NNS", 5, "nsubj:pass"),
        (",", "PUNCT", ",", 5, "punct"),
        ("(", "PUNCT", "-LRB-", 5, "punct:open"),
        ("sleep", "VERB", "VBP", 0, "root"),
        (")", "PUNCT", "-RRB-", 5, "PUNCT"),
        ("$", "SYM", "$", 5, "dep"),
        (".", "PUNCT", ".", 5, "punct"),
    ],
    [("Go", "VERB", "VB", 0, "root"), ("_", "X", "PU", 1, "dep"), ("!", "PUNCT", ".", 1, "punct")],
]
# The errors: the subtype of "cats", the head of ",", the relation of "!". The predicted tags are
# intentionally wrong, because punctuation must be recognised by the gold tags.
WRONG_ARCS = {"cats": (5, "nsubj"), ",": (1, "punct"), "!": (1, "dep")}
PREDICTED: list[list[Word]] = [
    [
        (form, *(("PUNCT", ".") if form == "sleep" else ("X", "_")), *WRONG_ARCS.get(form, arc))
        for form, _, _, *arc in tree
    ]
    for tree in GOLD
]


def conllu(treebank: Iterable[Iterable[Word]], line_end: str = "\n") -> str:
    """Return the treebank as CoNLL-U, with the sentence ids s1, s2, ..."""
    lines = []
    for number, sentence in enumerate(treebank, start=1):
        lines.append(f"# sent_id = s{number}")
        for i, (form, upos, xpos, head, deprel) in enumerate(sentence, start=1):
            head_cell = "_" if head < 0 else str(head)
            lines.append(f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head_cell}\t{deprel}\t_\t_")
        lines.append("")
    return "".join(line + line_end for line in lines)


def conllx(treebank: Iterable[Iterable[Word]]) -> str:
    """Return the treebank as CoNLL-X, which has no comments."""
    return "".join(line for line in conllu(treebank).splitlines(True) if line[0] != "#")


def conll09(treebank: Iterable[Iterable[Word]]) -> str:
    """Return the treebank as CoNLL-09 without predicates; POS is XPOS."""
    blocks = []
    for sentence in treebank:
        rows = [
            f"{i}\t{form}\t_\t_\t{xpos}\t{xpos}\t_\t_\t{head}\t{head}\t{deprel}\t{deprel}\t_\t_\n"
            for i, (form, _, xpos, head, deprel) in enumerate(sentence, start=1)
        ]
        blocks.append("".join(rows) + "\n")
    return "".join(blocks)
