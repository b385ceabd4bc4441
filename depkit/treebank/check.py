"""Checks of treebanks: all that keeps a file from being read, trained on or released.

The checks of CoNLL-U are those of levels 1 and 2 of UD validation
(universaldependencies.org/contributing/validation.html) as far as they need no language.
"""

import os
from collections.abc import Iterable, Iterator

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import BOM, Sentence
from depkit.treebank.check_comments import comment_problems, parsed
from depkit.treebank.check_labels import label_problems
from depkit.treebank.check_lines import line_problems
from depkit.treebank.check_rows import row_problems
from depkit.treebank.check_training import Training
from depkit.treebank.check_tree import tree_problems
from depkit.treebank.findings import ERRORS, Finding, Problem, quoted, severity
from depkit.treebank.table import Table

LONG_SENTENCE, LONG_WORD = 200, 100  # words, characters


class Checker:
    """Checks files one after the other; sent_ids are to differ over all of them.

    ud: check them as a release of Universal Dependencies: warnings become errors, and tags and
    relations must be those of UD. training: what to compare the files with.
    sentences, words: how many there were so far.
    """

    def __init__(self, ud: bool = False, training: Training | None = None) -> None:
        self.ud = ud
        self.training = training
        self.sentences = 0
        self.words = 0
        self._sent_ids: dict[str, tuple[str, int]] = {}
        self._enhanced: tuple[bool, int] | None = None  # whether the file has DEPS, and since where

    def check(self, source: PathLike | Iterable[str], encoding: str = "utf-8") -> Iterator[Finding]:
        """All findings in a file, or in lines, in order; constant memory but for the sent_ids.

        Raises OSError if the file cannot be opened, ValueError for an unknown encoding.
        """
        file = os.fspath(source) if isinstance(source, str | os.PathLike) else "-"
        last = None
        self._enhanced = None
        try:
            for sentence in read(source, encoding=encoding, strict=False):
                last = sentence
                self.sentences += 1
                self.words += len(sentence)
                yield from self._findings(sentence)
        except FormatError as error:  # of the file as a whole
            yield self._finding("unreadable", file, error.line, "", error.message)
            return
        if last is None:
            yield self._finding("empty-file", file, 0, "", "no sentence in the file")
        elif not last.lines[-1].isspace():
            whole = last.lines[-1].endswith("\n")
            what = "no blank line after the last sentence" if whole else "no line end at the end"
            line = last.line + len(last.lines) - 1
            advice = "end the file with a blank line"
            yield self._finding("final-blank-line", file, line, "", f"{what}; {advice}")

    def _finding(self, code: str, file: str, line: int, sent_id: str, message: str) -> Finding:
        return Finding(severity(code, self.ud), code, file, line, sent_id, message)

    def _findings(self, sentence: Sentence) -> Iterator[Finding]:
        problems = sorted(self._problems(sentence))
        if sentence.problem and not any(problem.code in ERRORS for problem in problems):
            place = sentence.problem.line - sentence.line
            problems.append(Problem(place, "format", sentence.problem.message))
        if problems:
            sent_id = _shown(sentence.sent_id)
            for place, code, message in problems:
                line = sentence.line + max(place - (sentence.lines[0] == BOM), 0)
                yield self._finding(code, sentence.file, line, sent_id, message)

    def _problems(self, sentence: Sentence) -> Iterator[Problem]:
        table = Table(sentence)
        yield from line_problems(table)
        if not table.places:
            return
        yield from row_problems(table)
        yield from tree_problems(table)
        if sentence.format is CONLLU and len(table.ragged) < len(table.places):
            yield from label_problems(table, self.ud)
            yield from comment_problems(table)
            yield from self._across(table)
        yield from _sizes(table)
        if self.training:
            yield from self.training.problems(sentence)

    def _across(self, table: Table) -> Iterator[Problem]:
        """What only other sentences make wrong."""
        sentence = table.sentence
        line = sentence.line + table.places[0] - table.begin
        if sent_id := sentence.sent_id:
            if sent_id in self._sent_ids:
                file, other = self._sent_ids[sent_id]
                what = f"the sentence in {file}:{other} has this sent_id, too; rename one"
                place = next(
                    place
                    for place, comment in enumerate(sentence.lines)
                    if parsed(comment)[0] == "sent_id"
                )
                yield Problem(place, "sent-id-again", what)
            else:
                self._sent_ids[sent_id] = sentence.file, line
        enhanced = any(deps not in ("_", "") for deps in table.column("deps"))
        if self._enhanced is None:
            self._enhanced = enhanced, line
        elif enhanced != self._enhanced[0]:
            some, others = ("no", "some") if self._enhanced[0] else ("some", "none")
            what = f"{some} DEPS, but {others} in line {self._enhanced[1]}; all sentences or none"
            yield Problem(table.places[0], "deps-sometimes", what)


def _shown(sent_id: str) -> str:
    """A sent_id, fit for a terminal."""
    return sent_id if sent_id.isprintable() and len(sent_id) < 200 else quoted(sent_id, 200)


def _sizes(table: Table) -> Iterator[Problem]:
    """What is too long for some programs."""
    sentence = table.sentence
    if len(sentence) > LONG_SENTENCE:
        what = f"{len(sentence)} words; is a blank line missing? Parsers may cut or refuse it"
        yield Problem(table.places[0], "long-sentence", what)
    for place, form in zip(sentence.rows, sentence.form, strict=True):
        if len(form) > LONG_WORD:
            what = f"a word of {len(form)} characters, {quoted(form)}"
            yield Problem(place, "long-word", what)
