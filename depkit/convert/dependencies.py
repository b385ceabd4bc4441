"""Dependencies from the constituency tree of a sentence."""

from typing import Literal

from depkit.corpus.sentence import Sentence

Kind = Literal["sd", "ud", "ud2"]


def add_dependencies(sentence: Sentence, kind: Kind) -> Sentence:
    """Copy a sentence with heads and relations that are converted from its `constituents`.

    "sd" are basic Stanford dependencies; "ud" are Universal Dependencies as CoreNLP writes them,
    for which UPOS is replaced as well; "ud2" are those of today, for which FEATS are replaced, too.
    See `stanford.convert`, `universal.convert` and `ud2.convert`.
    """
    from depkit.convert import stanford, ud2, universal

    assert sentence.constituents is not None
    if kind == "ud2":
        new = ud2.annotate(sentence.constituents)
        columns = {"upos": new["upos"], "feats": new["feats"]}
        return sentence.with_tree(list(map(int, new["head"])), new["deprel"], columns)
    module = stanford if kind == "sd" else universal
    (converted,) = module.convert([sentence.constituents])
    columns = {"upos": converted.upos} if kind == "ud" else {}
    return sentence.with_tree(converted.head, converted.deprel, columns)
