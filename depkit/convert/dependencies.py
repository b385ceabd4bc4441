"""Dependencies from the constituency tree of a sentence."""

from typing import Literal

from depkit.corpus.sentence import Sentence


def add_dependencies(sentence: Sentence, kind: Literal["sd", "ud"]) -> Sentence:
    """Copy a sentence with heads and relations that are converted from its `constituents`.

    "sd" are basic Stanford dependencies, "ud" Universal Dependencies, for which UPOS is replaced as
    well; see `stanford.convert` and `universal.convert`.
    """
    from depkit.convert import stanford, universal

    assert sentence.constituents is not None
    module = stanford if kind == "sd" else universal
    (converted,) = module.convert([sentence.constituents])
    columns = {"upos": converted.upos} if kind == "ud" else {}
    return sentence.with_tree(converted.head, converted.deprel, columns)
