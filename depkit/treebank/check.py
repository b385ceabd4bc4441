"""Checks of treebanks: all that keeps a file from being read, trained on or released.

The checks of CoNLL-U are those of levels 1 and 2 of UD validation
(universaldependencies.org/contributing/validation.html) as far as they need no language.
"""

import os
from collections.abc import Iterable, Iterator

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, read
from depkit.corpus.formats import CONLL09, CONLLU, CONLLX
from depkit.corpus.sentence import BOM, Sentence
from depkit.treebank.check_comments import comment_problems, ends_joined, parsed
from depkit.treebank.check_labels import label_problems
from depkit.treebank.check_lines import line_problems
from depkit.treebank.check_rows import row_problems
from depkit.treebank.check_training import Training
from depkit.treebank.check_tree import tree_problems
from depkit.treebank.findings import ERRORS, Finding, Problem, quoted, severity
from depkit.treebank.output import printable
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
        self._start()

    def _start(self) -> None:
        """What is known of the file."""
        self._enhanced: tuple[bool, int] | None = None  # whether it has DEPS, and since where
        self._mixed = False  # whether only some sentences have
        self._tagged = False  # whether it has had UPOS
        self._joined = False  # whether no space follows the sentence before

    def check(self, source: PathLike | Iterable[str], encoding: str = "utf-8") -> Iterator[Finding]:
        """All findings in a file, or in lines, in order; constant memory but for the sent_ids.

        A file that cannot be opened is a finding. Raises ValueError for an unknown encoding.
        """
        file = os.fspath(source) if isinstance(source, str | os.PathLike) else "-"
        last = None
        foreign = False
        self._start()
        try:
            for sentence in read(source, encoding=encoding, strict=False):
                last = sentence
                self.sentences += 1
                self.words += len(sentence)
                if not self.ud or sentence.format == CONLLU:
                    yield from self._findings(sentence)
                elif not foreign:
                    foreign = True
                    name = {CONLLX: "CoNLL-X", CONLL09: "CoNLL-09"}[sentence.format]
                    what = f"not CoNLL-U but {name}, by its name or first lines"
                    message = f"{what}; name it .conllu if it is"
                    yield self._finding("not-conllu", sentence.file, sentence.line, "", message)
        except FormatError as error:  # of the file as a whole
            yield self._finding("unreadable", file, error.line, "", error.message)
            return
        except OSError as error:
            what = "cannot be opened" if last is None else "cannot be read on"
            message = f"{what}: {error.strerror or error}"
            yield self._finding("unreadable", file, 0, "", message)
            return
        if foreign:
            return
        if last is None:
            yield self._finding("empty-file", file, 0, "", "no sentence in the file")
        elif not last.lines[-1].isspace():
            missing = "blank line after the last sentence"
            if not last.lines[-1].endswith("\n"):
                missing = "newline at the end of the file"
            message = f"no {missing}; end the file with a blank line"
            line = last.line + len(last.lines) - 1
            yield self._finding("final-blank-line", file, line, "", message)

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
        joined, self._joined = self._joined, False
        if not table.places:
            return
        yield from row_problems(table)
        yield from tree_problems(table)
        if sentence.format == CONLLU and len(table.ragged) < len(table.places):
            self._tagged = self._tagged or not {*table.column("upos")} <= {"_", ""}
            yield from label_problems(table, self.ud, self._tagged)
            yield from comment_problems(table, joined)
            yield from self._across(table)
            self._joined = ends_joined(table)
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
                what = f"the sentence in {printable(file)}:{other} has this sent_id, too"
                keys = [parsed(comment)[0] for comment in sentence.lines]
                yield Problem(keys.index("sent_id"), "sent-id-again", f"{what}; rename one")
            else:
                self._sent_ids[sent_id] = sentence.file, line
        enhanced = any(deps not in ("_", "") for deps in table.column("deps"))
        if self._enhanced is None:
            self._enhanced = enhanced, line
        elif enhanced != self._enhanced[0] and not self._mixed:
            self._mixed = True
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
