"""The tags and relations of UD, version 2 (universaldependencies.org/guidelines.html).

The division into relations of content words and of function words is that of the CoNLL 2018
evaluation (Zeman et al. 2018, section 5). Punctuation and relations outside of UD are neither.
"""

from collections.abc import Iterable

UPOS = frozenset(
    """
    ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X
    """.split()
)

FUNCTIONAL = frozenset(("aux", "case", "cc", "clf", "cop", "det", "mark"))
CONTENT = frozenset(
    """
    acl advcl advmod amod appos ccomp compound conj csubj dep discourse dislocated expl fixed flat
    goeswith iobj list nmod nsubj nummod obj obl orphan parataxis reparandum root vocative xcomp
    """.split()
)
RELATIONS = FUNCTIONAL | CONTENT | {"punct"}

# The features, without layers, that UD treebanks have in FEATS and not in MISC
FEATURES = frozenset(
    """
    Abbr Accomp AdjType AdpType AdvType Advlz Agglutination Also Analyt Animacy Aspect BasStyle
    Case Caus Cfm Clas Class Clitic Clusivity Compound Comt Conces ConjType Connegative Contrast
    Contv Corf Decl Definite Definitizer Degree Deixis DeixisRef Delib Deo Derivation Determ
    Detrans Dev Dialect Dist Dyn Echo Ego Emph Emphatic Evident Excl ExtPos Fact False Foc Focus
    FocusType Foreign Form Gender Gnq HebBinyan HebExistential Hon Htp Hum Hyph Imprs Incorp
    InfForm InflClass Int Intens Intense Intension LangId Language Link Modality Mood Morph
    Movement Mutation NCount NameType NegationType Neutral Nmzr Nomzr NonFoc NounBase NounClass
    NounType NumForm NumType NumValue Number Obl Orth PartForm PartType PartTypeQpm Pcl Person
    Polarity Polite Position Poss Possessed Pred Prefix PrepCase PrepForm Priv PronClass
    PronType Proper Prp PunctSide PunctType Purp RcpType Recip Red Redup Reflex Rel RelType Reln
    Report Shared Speech Strength Style SubGender Subcat Subord Subordinative Tense Top Trans Tv
    Typo Uninflect Valency Variant Ventive VerbClass VerbForm VerbStem VerbType Voice
    """.split()
)

# Tags and relations of version 1, and their names in version 2.
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


def base_relation(deprel: str) -> str:
    """Return a relation without its subtype, such as `nsubj` for `nsubj:pass`."""
    return deprel.partition(":")[0]


def sort_features(features: Iterable[str]) -> list[str]:
    """Sort strings `Name=Value` in the order of UD: by the whole string, in lower case."""
    return sorted(features, key=str.lower)


def normalize_features(feats: str) -> str:
    """Return FEATS in a form that does not depend on the order and repetition of features."""
    return "|".join(sorted(set(feats.split("|"))))


def is_content(deprel: str) -> bool:
    """Return whether a word with this relation counts for CLAS, MLAS and BLEX."""
    return base_relation(deprel) in CONTENT


def is_functional(deprel: str) -> bool:
    """Return whether a word with this relation is a function word, as used by MLAS."""
    return base_relation(deprel) in FUNCTIONAL


def is_universal(deprel: str) -> bool:
    """Return whether the relation without its subtype is one of UD's."""
    return base_relation(deprel) in RELATIONS
