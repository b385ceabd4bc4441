"""A table with one row a word, for data frames."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from depkit.corpus.sentence import Sentence, each_sentence


def to_dict(sentences: Sentence | Iterable[Sentence]) -> dict[str, list[Any]]:
    """Return the columns of all words, one row a word, for `pandas.DataFrame` and others.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> table = depkit.to_dict([sentence, sentence])
    >>> table["sentence"], table["id"], table["head"]
    ([1, 1, 2, 2], [1, 2, 1, 2], [0, 1, 0, 1])
    >>> pandas.DataFrame(table).groupby("deprel").size()  # doctest: +SKIP

    The columns are `sentence`, the number of the sentence from 1, `sent_id`, which can be "", and
    those of `Sentence.to_dict`, in the order of the first sentence. A column that the format of a
    sentence does not have is `_` there.
    """
    all_sentences = list(each_sentence(sentences))
    tables = [sentence.to_dict() for sentence in all_sentences]
    table: dict[str, list[Any]] = {"sentence": [], "sent_id": []}
    for number, sentence in enumerate(all_sentences, start=1):
        table["sentence"] += [number] * len(sentence)
        table["sent_id"] += [sentence.sent_id] * len(sentence)
    for name in dict.fromkeys(chain.from_iterable(tables)):
        table[name] = []
        for sentence, columns in zip(all_sentences, tables, strict=True):
            table[name] += columns.get(name) or ["_"] * len(sentence)
    return table
