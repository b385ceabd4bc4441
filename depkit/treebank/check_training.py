"""What a training file has, and what a file that is to be scored on should not, or should."""

import os
from collections.abc import Iterator

from depkit.corpus.digest import digest
from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.sentence import Sentence
from depkit.treebank.findings import Problem, quoted
from depkit.treebank.output import printable

LABELS = {"upos": "unseen-tag", "xpos": "unseen-tag", "deprel": "unseen-relation"}


class Training:
    """The sound sentences of a training file, as digests, and the labels in them.

    sentences, broken: how many there are, and how many of them are left out. Raises FormatError
    if none is sound, OSError.
    """

    def __init__(self, path: PathLike, encoding: str = "utf-8") -> None:
        self.name = printable(os.fspath(path))
        self.lines: dict[str, int] = {}
        self.labels: dict[str, set[str]] = {name: {"_"} for name in LABELS}
        self.sentences = self.broken = 0
        for sentence in read(path, encoding=encoding, strict=False):
            self.sentences += 1
            if sentence.problem or not len(sentence):
                self.broken += 1
                continue
            self.lines.setdefault(digest("\t".join(sentence.form)), sentence.place()[1])
            for name, known in self.labels.items():
                known.update(getattr(sentence, name))
        if not self.lines:
            raise FormatError(os.fspath(path), 0, "", "no sentence in the file")

    def problems(self, sentence: Sentence) -> Iterator[Problem]:
        """A sentence that is there, too, and labels that are not; a label is told once."""
        if line := self.lines.get(digest("\t".join(sentence.form))):
            what = f"the same words as in {self.name}, line {line}; leave one of the two out"
            place = sentence.rows[0] if sentence.rows else 0
            yield Problem(place, "train-overlap", what)
        for name, code in LABELS.items():
            known = self.labels[name]
            column = getattr(sentence, name)
            if len(known) > 1 and not known.issuperset(column):
                for place, label in zip(sentence.rows, column, strict=True):
                    if label not in known:
                        known.add(label)
                        what = f"{name.upper()} {quoted(label)} is nowhere in {self.name}"
                        yield Problem(place, code, f"{what}; no parser can learn it there")
