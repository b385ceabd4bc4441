"""Comparison of files with a training file.

A file for evaluation should contain no sentence of the training file, and only labels that occur
there.
"""

import os
from collections.abc import Iterator

from depkit.corpus.io import PathLike, read
from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest
from depkit.files.errors import FormatError
from depkit.treebank.findings import Problem, quote
from depkit.treebank.output import escape_unprintable

# The code of the problem that is reported for an unseen label, by the column of the label.
UNSEEN_LABEL_CODES = {"upos": "unseen-tag", "xpos": "unseen-tag", "deprel": "unseen-relation"}


class TrainingSet:
    """The sentences and labels of a training file, with which other files are compared.

    Of each valid sentence, only a digest of its forms is stored.

    Attributes:
        name: The path of the file, without unprintable characters.
        line_numbers: The line of the first sentence with certain forms, by their digest.
        labels: The labels of each column, `_`, and those that were already reported as unseen.
        num_sentences: The number of all sentences in the file.
        num_broken: The number of invalid sentences.

    Raises OSError if the file cannot be read, and FormatError if no sentence is valid.
    """

    def __init__(self, path: PathLike, encoding: str = "utf-8") -> None:
        self.name = escape_unprintable(os.fspath(path))
        self.line_numbers: dict[str, int] = {}
        self.labels = {column: {"_"} for column in UNSEEN_LABEL_CODES}
        self.num_sentences = self.num_broken = 0
        for sentence in read(path, encoding=encoding, strict=False):
            self.num_sentences += 1
            if sentence.problem or not len(sentence):
                self.num_broken += 1
                continue
            _, line, _ = sentence.location()
            self.line_numbers.setdefault(digest("\t".join(sentence.form)), line)
            for column, labels in self.labels.items():
                labels.update(getattr(sentence, column))
        if not self.line_numbers:
            raise FormatError(os.fspath(path), 0, "", "the file has no valid sentence")

    def find_problems(self, sentence: Sentence) -> Iterator[Problem]:
        """Yield the problems of a sentence that is compared with the training file.

        These are a sentence with the same forms in the training file, and labels that the training
        file does not contain. A label is reported for its first word only. Columns that are empty
        in the training file are not compared.
        """
        if line := self.line_numbers.get(digest("\t".join(sentence.form))):
            problem = f"the training file has a sentence with the same words, {self.name}:{line}"
            index = sentence.rows[0] if sentence.rows else 0
            yield Problem(index, "train-overlap", f"{problem}; remove one of the two sentences")
        for column, code in UNSEEN_LABEL_CODES.items():
            labels = self.labels[column]
            values = getattr(sentence, column)
            if len(labels) > 1 and not labels.issuperset(values):
                for index, value in zip(sentence.rows, values, strict=True):
                    if value not in labels:
                        labels.add(value)
                        problem = f"{column.upper()} {quote(value)} does not occur in {self.name}"
                        problem += "; a parser that is trained on that file cannot predict it"
                        yield Problem(index, code, problem)
