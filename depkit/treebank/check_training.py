"""Comparison of files with a training file.

A file for evaluation should contain no sentence of the training file, and only labels that occur
there.
"""

import os
from collections.abc import Iterator

from depkit.corpus.digest import digest
from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.sentence import Sentence
from depkit.treebank.findings import Problem, quote
from depkit.treebank.output import escape_unprintable

LABELS = {"upos": "unseen-tag", "xpos": "unseen-tag", "deprel": "unseen-relation"}


class TrainingSet:
    """The valid sentences of a training file, as digests, and their labels.

    `sentences` is the number of all sentences in the file, `broken` the number of invalid ones.
    Raises OSError, and FormatError if no sentence is valid.
    """

    def __init__(self, path: PathLike, encoding: str = "utf-8") -> None:
        self.name = escape_unprintable(os.fspath(path))
        self.line_numbers: dict[str, int] = {}  # by the digest of the forms
        self.labels: dict[str, set[str]] = {column: {"_"} for column in LABELS}
        self.sentences = self.broken = 0
        for sentence in read(path, encoding=encoding, strict=False):
            self.sentences += 1
            if sentence.problem or not len(sentence):
                self.broken += 1
                continue
            self.line_numbers.setdefault(digest("\t".join(sentence.form)), sentence.location()[1])
            for column, labels in self.labels.items():
                labels.update(getattr(sentence, column))
        if not self.line_numbers:
            raise FormatError(os.fspath(path), 0, "", "the file has no valid sentence")

    def find_problems(self, sentence: Sentence) -> Iterator[Problem]:
        """Yield problems if the training file has the sentence or lacks a label (reported once)."""
        if line := self.line_numbers.get(digest("\t".join(sentence.form))):
            problem = f"the training file has a sentence with the same words, {self.name}:{line}"
            index = sentence.rows[0] if sentence.rows else 0
            yield Problem(index, "train-overlap", f"{problem}; remove one of the two sentences")
        for column, code in LABELS.items():
            labels = self.labels[column]
            values = getattr(sentence, column)
            if len(labels) > 1 and not labels.issuperset(values):
                for index, value in zip(sentence.rows, values, strict=True):
                    if value not in labels:
                        labels.add(value)
                        problem = f"{column.upper()} {quote(value)} does not occur in {self.name}"
                        yield Problem(index, code, f"{problem}; parsers cannot learn it from there")
