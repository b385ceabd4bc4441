"""FEATS of English words, as far as they follow from tags of the Penn Treebank and function words.

The values are those of UD_English-EWT. Person and number of verbs other than the third person
singular of the present are left out, because they follow from the subject.
"""

from functools import cache

_BY_TAG = {
    "JJ": "Degree=Pos", "JJR": "Degree=Cmp", "JJS": "Degree=Sup",
    "RBR": "Degree=Cmp", "RBS": "Degree=Sup",
    "MD": "VerbForm=Fin",
    "NN": "Number=Sing", "NNP": "Number=Sing", "NNS": "Number=Plur", "NNPS": "Number=Plur",
    "VB": "VerbForm=Inf",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "VBG": "Tense=Pres|VerbForm=Part",
    "VBN": "Tense=Past|VerbForm=Part",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "WP$": "Poss=Yes|PronType=Rel",
}  # fmt: skip
# By tag and form: the features, and the forms in lower case.
_BY_FORM = {
    "PRP": {
        "Case=Nom|Number=Sing|Person=1|PronType=Prs": "i",
        "Case=Acc|Number=Sing|Person=1|PronType=Prs": "me",
        "Person=2|PronType=Prs": "you",
        "Case=Nom|Gender=Masc|Number=Sing|Person=3|PronType=Prs": "he",
        "Case=Acc|Gender=Masc|Number=Sing|Person=3|PronType=Prs": "him",
        "Case=Nom|Gender=Fem|Number=Sing|Person=3|PronType=Prs": "she",
        "Case=Acc|Gender=Fem|Number=Sing|Person=3|PronType=Prs": "her",
        "Gender=Neut|Number=Sing|Person=3|PronType=Prs": "it",
        "Case=Nom|Number=Plur|Person=1|PronType=Prs": "we",
        "Case=Acc|Number=Plur|Person=1|PronType=Prs": "us 's ’s",
        "Case=Nom|Number=Plur|Person=3|PronType=Prs": "they",
        "Case=Acc|Number=Plur|Person=3|PronType=Prs": "them 'em ’em",
        "Number=Sing|Person=3|PronType=Prs": "one",
        "Number=Sing|Person=1|Poss=Yes|PronType=Prs": "mine",
        "Person=2|Poss=Yes|PronType=Prs": "yours",
        "Number=Plur|Person=1|Poss=Yes|PronType=Prs": "ours",
        "Number=Plur|Person=3|Poss=Yes|PronType=Prs": "theirs",
        "Gender=Fem|Number=Sing|Person=3|Poss=Yes|PronType=Prs": "hers",
        "Case=Acc|Number=Sing|Person=1|PronType=Prs|Reflex=Yes": "myself",
        "Case=Acc|Number=Sing|Person=2|PronType=Prs|Reflex=Yes": "yourself",
        "Case=Acc|Gender=Masc|Number=Sing|Person=3|PronType=Prs|Reflex=Yes": "himself",
        "Case=Acc|Gender=Fem|Number=Sing|Person=3|PronType=Prs|Reflex=Yes": "herself",
        "Case=Acc|Gender=Neut|Number=Sing|Person=3|PronType=Prs|Reflex=Yes": "itself",
        "Case=Acc|Number=Plur|Person=1|PronType=Prs|Reflex=Yes": "ourselves",
        "Case=Acc|Number=Plur|Person=2|PronType=Prs|Reflex=Yes": "yourselves",
        "Case=Acc|Number=Plur|Person=3|PronType=Prs|Reflex=Yes": "themselves",
    },
    "PRP$": {
        "Case=Gen|Number=Sing|Person=1|Poss=Yes|PronType=Prs": "my",
        "Case=Gen|Person=2|Poss=Yes|PronType=Prs": "your",
        "Case=Gen|Gender=Masc|Number=Sing|Person=3|Poss=Yes|PronType=Prs": "his",
        "Case=Gen|Gender=Fem|Number=Sing|Person=3|Poss=Yes|PronType=Prs": "her",
        "Case=Gen|Gender=Neut|Number=Sing|Person=3|Poss=Yes|PronType=Prs": "its",
        "Case=Gen|Number=Plur|Person=1|Poss=Yes|PronType=Prs": "our",
        "Case=Gen|Number=Plur|Person=3|Poss=Yes|PronType=Prs": "their",
    },
    "DT": {
        "Definite=Def|PronType=Art": "the",
        "Definite=Ind|PronType=Art": "a an",
        "Number=Sing|PronType=Dem": "this that",
        "Number=Plur|PronType=Dem": "these those",
        "PronType=Ind": "some any another either",
        "PronType=Tot": "all every each both",
        "PronType=Neg": "no neither",
    },
    "PDT": {"PronType=Tot": "all both", "PronType=Ind": "such quite many half"},
    "RB": {
        "Polarity=Neg": "not n't n’t",
        "PronType=Neg": "never",
        "PronType=Dem": "here there then now",
    },
    "NN": {
        "Number=Sing|PronType=Ind": "someone somebody something anyone anybody anything",
        "Number=Sing|PronType=Tot": "everyone everybody everything",
        "Number=Sing|PronType=Neg": "none nobody nothing",
    },
}  # fmt: skip
_PASSIVE = "Tense=Past|VerbForm=Part|Voice=Pass"


@cache
def _features_by_form() -> dict[tuple[str, str], str]:
    return {
        (tag, form): features
        for tag, groups in _BY_FORM.items()
        for features, forms in groups.items()
        for form in forms.split()
    }


def find_features(form: str, tag: str, is_relative: bool, is_passive: bool) -> str:
    """Return the FEATS of a word, `_` if there are none.

    Args:
        form: The word.
        tag: Its tag in the Penn Treebank.
        is_relative: Whether a word that can introduce a question introduces a relative clause.
        is_passive: Whether a past participle is of the passive.
    """
    if tag == "VBN" and is_passive:
        return _PASSIVE
    if tag in ("WDT", "WP", "WRB"):
        return "PronType=Rel" if is_relative else "PronType=Int"
    if tag == "CD":
        return f"NumForm={'Digit' if form[:1].isdigit() else 'Word'}|NumType=Card"
    return _features_by_form().get((tag, form.lower())) or _BY_TAG.get(tag, "_")
