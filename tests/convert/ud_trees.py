"""Trees of UD in a short form, for tests of enhanced dependencies."""

from depkit import Sentence

COORDINATION = """
She 2 nsubj PRON
reads 0 root VERB Mood=Ind|VerbForm=Fin
books 2 obj NOUN
, 5 punct PUNCT
papers 3 conj NOUN
and 7 cc CCONJ
maps 3 conj NOUN
in 9 case ADP
bed 2 obl NOUN
or 12 cc CCONJ
on 12 case ADP
trains 9 conj NOUN
and 14 cc CCONJ
sleeps 2 conj VERB Mood=Ind|VerbForm=Fin
"""
RELATIVE = """
the 2 det DET
man 7 nsubj NOUN
in 4 case ADP
whom 5 obl PRON PronType=Rel
trusts 2 acl:relcl VERB
Ann 5 nsubj PROPN
left 0 root VERB
"""


def parse(rows: str) -> Sentence:
    """Make a sentence from rows: form, head, relation, and optionally UPOS, FEATS and lemma."""
    cells = [[*row.split(), "_", "_", "_"] for row in rows.strip().splitlines()]
    return Sentence.from_words(
        [row[0] for row in cells],
        head=[int(row[1]) for row in cells],
        deprel=[row[2] for row in cells],
        upos=[row[3] for row in cells],
        feats=[row[4] for row in cells],
        lemma=[row[0].lower() if row[5] == "_" else row[5] for row in cells],
    )
