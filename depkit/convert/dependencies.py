"""Dependencies from constituency trees."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree

Kind = Literal["sd", "ud", "ud2"]


def convert_trees(
    trees: Iterable[Tree], kind: Kind, sent_ids: Iterable[str] | None = None
) -> Iterator[Sentence]:
    """Yield a sentence for each constituency tree, with heads, relations and UPOS.

    "sd" are basic Stanford dependencies in CoNLL-X; "ud" are Universal Dependencies as CoreNLP
    writes them, and "ud2" those of today, which have FEATS, both in CoNLL-U with the `sent_ids`.
    See `stanford.convert`, `universal.convert` and `ud2.convert`.
    """
    from depkit.convert import stanford, ud2, universal

    if kind == "sd":
        return stanford.convert(trees)
    return (ud2 if kind == "ud2" else universal).convert(trees, sent_ids)


def make_sent_ids(path: str, numbers: Counter[str]) -> Iterator[str]:
    """Yield endless sent_ids that consist of a file's name and a number.

    path: the file, `-` for stdin, which has no name. numbers: the last number by file name; files
    of the same name continue it.
    """
    name = os.path.basename(path).removesuffix(".gz").removesuffix(".xz")
    stem = "" if path == "-" else os.path.splitext(name)[0] + "-"
    stem = "".join(c if c.isprintable() and c != " " else "_" for c in stem)
    while True:
        numbers[stem] += 1
        yield f"{stem}{numbers[stem]}"


def convert_sentence(sentence: Sentence, kind: Kind, numbers: Counter[str]) -> Sentence:
    """Convert the `constituents` of a sentence that was read from a bracketed tree.

    The result is that of `convert_trees`: its forms, comments and columns are those of the tree.
    The sent_id is made of the name of the sentence's file; numbers: as for `make_sent_ids`.
    """
    assert sentence.constituents is not None
    sent_ids = make_sent_ids(sentence.file or "-", numbers)
    (converted,) = convert_trees([sentence.constituents], kind, sent_ids)
    converted.file, converted.line = sentence.file, sentence.line
    return converted


def add_dependencies(sentence: Sentence, kind: Kind) -> Sentence:
    """Copy a sentence with heads and relations that are converted from its `constituents`.

    Its forms and comments stay as they are. UPOS is replaced if it is converted to UD, and FEATS,
    too, if `kind` is "ud2"; see `convert_trees`.
    """
    assert sentence.constituents is not None
    (converted,) = convert_trees([sentence.constituents], kind)
    columns = {} if kind == "sd" else {"upos": converted.upos}
    if kind == "ud2":
        columns["feats"] = converted.feats
    return sentence.with_tree(converted.head, converted.deprel, columns)
