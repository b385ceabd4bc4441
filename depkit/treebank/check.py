"""Checks of treebanks for everything that prevents reading, training or a release.

The checks of CoNLL-U are the language-independent ones of levels 1 and 2 of UD validation
(universaldependencies.org/contributing/validation.html), and those of level 3 that concern the
relation root.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from depkit.corpus.formats import CONLL09, CONLLU, CONLLUP, CONLLX, PTB, get_format
from depkit.corpus.io import PathLike, complete_lines, is_bracketed_file, read
from depkit.corpus.reader import CR_ENDS, read_lines
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError, shorten_sent_id
from depkit.treebank.check_comments import check_comments, ends_without_space, parse_comment
from depkit.treebank.check_labels import check_labels
from depkit.treebank.check_lines import check_lines
from depkit.treebank.check_rows import check_rows
from depkit.treebank.check_training import TrainingSet
from depkit.treebank.check_tree import check_tree
from depkit.treebank.findings import ERRORS, Finding, Problem, quote, severity
from depkit.treebank.output import escape_unprintable
from depkit.treebank.table import Table

LONG_SENTENCE, LONG_WORD = 200, 100  # words, characters


class Checker:
    """Check files one after the other, in all of which a sent_id may occur only once.

    Args:
        ud: Whether to check the files as a release of Universal Dependencies: warnings become
            errors, and tags and relations must be those of UD.
        training: A training file to compare the files with.

    The attributes `sentences` and `words` count what has been checked so far.
    """

    def __init__(self, ud: bool = False, training: TrainingSet | None = None) -> None:
        self.ud = ud
        self.training = training
        self.sentences = 0
        self.words = 0
        self._sent_ids: dict[str, tuple[str, int]] = {}
        self._start_file()

    def _start_file(self) -> None:
        """Reset what is compared among the sentences of one file."""
        # Whether the first sentence has DEPS or empty nodes, and the line number of the sentence.
        self._first_deps: tuple[bool, int] | None = None
        self._reported_deps = False  # whether a finding says that only some sentences have DEPS
        self._has_upos = False  # whether any sentence had UPOS
        self._follows_directly = False  # whether no space follows the previous sentence

    def check(
        self,
        source: PathLike | Iterable[str],
        encoding: str = "utf-8",
        format: str | None = None,
        *,
        line: int = 1,
    ) -> Iterator[Finding]:
        """Yield all findings in a file, or in the lines of a CoNLL format, in order.

        The memory needed does not depend on the size of the file, except for its sent_ids. A file
        that cannot be opened is a finding. Raises ValueError for an unknown encoding or format.

        format: as for `read`; line: the number of the first one of given lines.
        """
        file = os.fspath(source) if isinstance(source, str | os.PathLike) else "-"
        last_sentence = None
        is_foreign = False  # whether a file is not in CoNLL-U, as UD requires
        self._start_file()
        try:
            if format is None and file != "-" and is_bracketed_file(file, encoding):
                format = PTB.name
            is_bracketed = format == PTB.name
            if isinstance(source, str | os.PathLike):
                sentences = read(source, format, encoding, strict=False)
            else:
                given_format = get_format(format) if format else None
                sentences = read_lines(source, given_format, strict=False, line=line)
            for sentence in sentences:
                last_sentence = sentence
                self.sentences += 1
                self.words += len(sentence)
                if is_bracketed and not self.ud:
                    if error := sentence.problem:
                        location = (file, error.line, error.sent_id)
                        yield self._finding("brackets", location, error.message)
                elif not self.ud or (sentence.format in (CONLLU, CONLLUP) and not is_bracketed):
                    yield from self._check_sentence(sentence)
                elif not is_foreign:
                    is_foreign = True
                    names = {CONLLX: "be in CoNLL-X", CONLL09: "be in CoNLL-09"}
                    seems = names.get(sentence.format, "have bracketed trees")
                    message = f"UD releases are in CoNLL-U, but this file seems to {seems}"
                    message = f"{message}; if it is in CoNLL-U, rename it to end in .conllu"
                    yield self._finding("not-conllu", (sentence.file, sentence.line, ""), message)
        except FormatError as error:  # An error of the whole file
            yield self._finding("unreadable", (file, error.line, ""), error.message)
            return
        except OSError as error:
            problem = "the file cannot be opened"
            if last_sentence is not None:
                problem = "the rest of the file cannot be read"
            message = f"{problem}: {error.strerror or error}"
            yield self._finding("unreadable", (file, 0, ""), message)
            return
        if is_foreign or (is_bracketed and last_sentence is not None):
            return
        if last_sentence is None:
            yield self._finding("empty-file", (file, 0, ""), "the file has no sentence")
        elif not last_sentence.lines[-1].isspace() and not _has_cr_ends(last_sentence):
            problem = "no blank line follows the last sentence"
            if not last_sentence.lines[-1].endswith("\n"):
                problem = "no newline follows the last line"
            message = f"{problem}; end the file with a blank line"
            line = last_sentence.row_location(len(last_sentence.lines) - 1)[1]
            yield self._finding("final-blank-line", (file, line, ""), message)

    def _finding(self, code: str, location: tuple[str, int, str], message: str) -> Finding:
        return Finding(severity(code, self.ud), code, *location, message)

    def _check_sentence(self, sentence: Sentence) -> Iterator[Finding]:
        if _has_cr_ends(sentence):  # All other findings would follow from this one.
            yield self._finding("line-end-cr", (sentence.file, sentence.line, ""), CR_ENDS)
            return
        problems = sorted(self._find_problems(sentence))
        if sentence.problem and not any(problem.code in ERRORS for problem in problems):
            index = sentence.problem.line - sentence.line + (sentence.lines[0] == BOM)
            problems.append(Problem(index, "format", sentence.problem.message))
        if problems:
            sent_id = shorten_sent_id(sentence.sent_id)
            for index, code, message in problems:
                line = sentence.row_location(index)[1]
                yield self._finding(code, (sentence.file, line, sent_id), message)

    def _find_problems(self, sentence: Sentence) -> Iterator[Problem]:
        table = Table(sentence)
        yield from check_lines(table)
        follows_directly, self._follows_directly = self._follows_directly, False
        if not table.line_indices:
            return
        yield from check_rows(table)
        yield from check_tree(table)
        if sentence.format in (CONLLU, CONLLUP) and len(table.ragged) < len(table.line_indices):
            self._has_upos = self._has_upos or not {*table.column("upos")} <= {"_", ""}
            yield from check_labels(table, self.ud, self._has_upos)
            yield from check_comments(table, follows_directly)
            yield from self._compare_sentences(table)
            self._follows_directly = ends_without_space(table)
        yield from _check_sizes(table)
        if self.training:
            yield from self.training.find_problems(sentence)

    def _compare_sentences(self, table: Table) -> Iterator[Problem]:
        """Find problems that arise only from a comparison with other sentences."""
        sentence = table.sentence
        line = sentence.line + table.line_indices[0] - table.start
        if sent_id := sentence.sent_id:
            if sent_id in self._sent_ids:
                file, other_line = self._sent_ids[sent_id]
                location = f"{escape_unprintable(file)}:{other_line}"
                problem = f"the sentence in {location} has the same sent_id"
                keys = [parse_comment(comment)[0] for comment in sentence.lines]
                index = keys.index("sent_id")
                yield Problem(index, "sent-id-again", f"{problem}; rename one of the two")
            else:
                self._sent_ids[sent_id] = sentence.file, line
        has_deps = bool(table.empties) or not {*table.column("deps")} <= {"_", ""}
        if self._first_deps is None:
            self._first_deps = has_deps, line
        elif has_deps != self._first_deps[0] and not self._reported_deps:
            self._reported_deps = True
            this, first = ("", "has none") if has_deps else ("no ", "has some")
            problem = f"the sentence has {this}DEPS or empty nodes, but the sentence in line"
            problem = f"{problem} {self._first_deps[1]}"
            advice = "either all sentences of a file have enhanced dependencies, or none has"
            index = table.line_indices[0]
            yield Problem(index, "deps-sometimes", f"{problem} {first}; {advice}")


def check(
    source: PathLike | Sentence | Iterable[Sentence],
    *,
    ud: bool = False,
    train: str | None = None,
    encoding: str = "utf-8",
    format: str | None = None,
) -> list[Finding]:
    """List errors of a treebank, as `depkit check` prints them.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 0], deprel=["root", "root"])
    >>> for finding in depkit.check(sentence):
    ...     print(finding.line, finding.severity, finding.code)
    1 warning no-sent-id
    1 warning no-text
    2 warning several-roots

    Args:
        source: A path or sentences.
        ud: Whether to check as for a release of Universal Dependencies.
        train: The path of a training file to compare with.
        encoding: The encoding of the files.
        format: The format of the file; by default, it is recognised, and sentences are checked in
            their own.

    Raises:
        ValueError: The encoding or the format is unknown.
    """
    checker = Checker(ud, TrainingSet(train, encoding) if train else None)
    if isinstance(source, str | os.PathLike):
        return list(checker.check(source, encoding, format))
    findings: list[Finding] = []
    number = 1  # of the next line

    def count_lines(lines: Iterable[str]) -> Iterator[str]:
        nonlocal number
        for line in lines:
            number += line != BOM
            yield line

    # Sentences of one format are checked together, as if they were the content of a file.
    for name, group in groupby(each_sentence(source), lambda sentence: sentence.format.name):
        lines = count_lines(chain.from_iterable(complete_lines(group)))
        findings += checker.check(lines, format=format or name, line=number)
    return findings


def _has_cr_ends(sentence: Sentence) -> bool:
    return sentence.problem is not None and sentence.problem.message == CR_ENDS


def _check_sizes(table: Table) -> Iterator[Problem]:
    """Find sentences and words that are too long for some programs."""
    sentence = table.sentence
    if len(sentence) > LONG_SENTENCE:
        problem = f"the sentence has {len(sentence)} words, which some parsers cut or reject"
        message = f"{problem}; is a blank line missing?"
        yield Problem(table.line_indices[0], "long-sentence", message)
    for index, form in zip(sentence.rows, sentence.form, strict=True):
        if len(form) > LONG_WORD:
            message = f"the word {quote(form)} has {len(form)} characters; is it a single word?"
            yield Problem(index, "long-word", message)
