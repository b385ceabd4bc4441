"""Corrections of single annotations, from a table or JSON, as of `depkit suspects` or `diff`."""

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from depkit.corpus.enhanced import sort_relations
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import sort_features
from depkit.files.errors import FormatError
from depkit.treebank.edit.editable import Change, change_sentence

_DIFFERENCE = ("column", "a", "b")  # as in tables of `depkit diff`
# What a row can call the column, the value before and the value after, in this order
_NAMES = (("kind", "gold", "alternative"), ("column", "old", "new"), _DIFFERENCE)
_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# What a row of `depkit diff` can be about besides the value of a word
_NOT_VALUES = ("words", "comments", "tokens", "sentence")
_DECISIONS = ("accept", "reject", "")
# An apostrophe of `score.table` before what a spreadsheet may take for the beginning of a formula
_APOSTROPHE = re.compile(r"(?:\A|(?<=[;,\t]))'(?=(?:[^\S\t]|[\"'])*+[=+\-@＝＋－＠])")


@dataclass(frozen=True)
class Correction:
    """One correction.

    Attributes:
        row: Where it stands in its file, as text: "line 2", or "record 1" of JSON.
        file: The file of the treebank, "" if it is any of those that are corrected.
        sent_id: The sentence; if it is "", `line` is the line of the word.
        line: The line of the word in its file, 0 if it is unknown.
        word: The number of the word.
        form: The form of the word, "" if it is unknown.
        column: The column.
        old: The value that is corrected.
        new: The corrected value.
        head_form: The form of the new head, "" if it is unknown or the column is not HEAD.
    """

    row: str
    file: str
    sent_id: str
    line: int
    word: int
    form: str
    column: str
    old: str
    new: str
    head_form: str = ""

    @property
    def key(self) -> tuple[str, str | int]:
        """The file, and what identifies the sentence in it: the sent_id, or the word's line."""
        return self.file, self.sent_id or self.line


class Corrections:
    """Corrections that are applied to the sentences of a treebank.

    Args:
        text: A table with a header, of which columns are separated by tabs, or JSON: a list of
            records, or an object with one under "suspects", "corrections" or "differences".
        file: The name of the file, for errors.
        treebanks: The files that are corrected. A row whose `file` is one of them is about this
            one; any other row is about all, so that a copy of a treebank can be corrected, too.

    A row has `word`, `sent_id` or `line`, and kind, gold, alternative (as `depkit suspects` writes,
    with heads as number:relation) or column, old, new (as `depkit edit --changes`) or column, a, b
    (as `depkit diff`). If it has a `decision`, it counts only if that is accept. If it has `form`,
    the word must have this form.

    Raises FormatError if a row lacks one of these, or has another column.
    """

    def __init__(self, text: str, file: str, treebanks: Collection[str] = ()) -> None:
        self.file = file
        self.sentences = 0  # that have changed
        self.undecided = 0  # rows of `depkit suspects` without a decision
        self._treebanks = treebanks
        self._is_table = not text.lstrip().startswith(("[", "{"))
        self._by_key: dict[tuple[str, str | int], list[Correction]] = {}
        for number, record in _read_records(text, file):
            for correction in self._parse(number, record):
                self._by_key.setdefault(correction.key, []).append(correction)
        self._unused = dict.fromkeys(self._by_key)

    def _parse(self, number: int, record: Mapping[str, Any]) -> Iterator[Correction]:
        """Yield the corrections of a row; number: its line in a table, its index in JSON from 1."""

        def fail(message: str) -> FormatError:
            if self._is_table:
                return FormatError(self.file, number, "", message)
            return FormatError(self.file, 0, "", f"record {number}: {message}")

        names = next((names for names in _NAMES if all(name in record for name in names)), None)
        if not names or "word" not in record or not ("sent_id" in record or "line" in record):
            needs = "it needs the columns sent_id, word, kind, gold and alternative"
            raise fail(f"this is no correction: {needs}")
        cells = {name: str(record.get(name) or "") for name in ("decision", "file", "sent_id")}
        decision = cells["decision"].strip().lower()
        if decision not in _DECISIONS:
            raise fail(f"the decision is {decision[:40]!r}, not accept or reject")
        if "decision" in record and decision != "accept":
            return
        self.undecided += "decision" not in record and "probability" in record
        column, old, new = (str(record[name]) for name in names)
        try:
            word, line = int(str(record["word"])), int(str(record.get("line") or 0))
        except ValueError:
            raise fail("word and line must be numbers") from None
        if word == 0 or column in _NOT_VALUES:
            columns = ",".join(name for name in _COLUMNS if name != "form")
            message = "only values of words can be corrected; leave out this row, or make the table"
            raise fail(f"{message} with depkit diff --columns {columns}")
        if not cells["sent_id"] and not line:
            raise fail("it has neither a sent_id nor a line")
        if column not in _COLUMNS:
            raise fail(f"there is no column {column!r} to correct")
        if not new:
            raise fail("the new value is empty; write _ for a cell without a value")
        treebank = cells["file"] if cells["file"] in self._treebanks else ""
        row = f"{'line' if self._is_table else 'record'} {number}"
        form = str(record.get("form") or "")
        word_of = (row, treebank, cells["sent_id"], line, word, form)
        if column == "head":
            head, _, relation = old.partition(":")
            new_head, _, new_relation = new.partition(":")
            head, new_head = ("_" if text == "-1" else text for text in (head, new_head))
            head_form = new_relation if names == _DIFFERENCE and new_head != "0" else ""
            yield Correction(*word_of, "head", head, new_head, head_form)
            if names[0] == "kind":
                yield Correction(*word_of, "deprel", relation, new_relation)
        else:
            if names == _DIFFERENCE:
                new = _sort_parts(column, new)
            yield Correction(*word_of, column, old, new)

    def apply(self, sentence: Sentence) -> tuple[Sentence, list[Change]]:
        """Return a sentence with its corrections, and the changed cells.

        A correction that has been made already is skipped. All others are made together, and then
        the tree is checked. Raises FormatError if the value that is corrected, or the word, is not
        there, if two sentences with corrections have the same sent_id, or as `change_sentence`.
        """
        corrections = self._find(sentence)
        renamed = {(x.word, x.new) for x in corrections if x.column == "form"}
        changes: dict[tuple[int, str], Change] = {}
        columns: dict[str, list[str]] = {}
        values: dict[tuple[int, str], str] = {}  # the new values of cells, changed or not
        for correction in corrections:
            cell = correction.word, correction.column
            if values.setdefault(cell, correction.new) != correction.new:
                self._fail(sentence, correction, "another row corrects the same cell")
            if change := self._check(sentence, correction, renamed):
                changes[change.word, change.column] = change
                cells = columns.setdefault(change.column, list(sentence.column(change.column)))
                cells[change.word - 1] = change.new
        if not changes:
            return sentence, []
        result = change_sentence(sentence, columns, changes.values())
        self.sentences += 1
        return result, sorted(changes.values(), key=lambda change: (change.word, change.column))

    def _find(self, sentence: Sentence) -> list[Correction]:
        """Return the corrections of a sentence."""
        file, line, name = sentence.location()
        keys: list[str | int] = [name]
        if not name:  # A sentence that is not from a file has no lines either.
            keys = [line + row - sentence.rows[0] for row in sentence.rows] if line else []
        found: list[Correction] = []
        for key in ((own, x) for own in (file, "") for x in keys):
            corrections = self._by_key.get(key, ())
            if corrections and key not in self._unused:
                message = "two sentences have this sent_id" if name else "two files have this line"
                self._fail(sentence, corrections[0], message)
            self._unused.pop(key, None)
            found += corrections
        return found

    def _check(
        self, sentence: Sentence, correction: Correction, renamed: Collection[tuple[int, str]]
    ) -> Change | None:
        """Return the change of a correction; None if it has been made already.

        renamed: the words that are given another form, with that form.
        """
        word, name = correction.word, correction.column
        if not 1 <= word <= len(sentence):
            self._fail(sentence, correction, f"there is no word {word}")
        form = sentence.form[word - 1]
        if correction.form and (word, form) not in renamed and name != "form":
            if form != correction.form:
                message = f"word {word} is {form[:40]!r}, not {correction.form[:40]!r}"
                self._fail(sentence, correction, message)
        if name not in sentence.format.columns:
            message = f"{sentence.format.name} has no column {name}"
            self._fail(sentence, correction, message)
        value = sentence.column(name)[word - 1]
        if value == correction.new:
            return None
        # A head can be written as 02.
        number = str(sentence.head[word - 1]) if name == "head" else value
        is_old = correction.old in (number, value)
        if name in ("feats", "deps") and not is_old:  # The order of their parts has no meaning.
            old, new, parts = (set(x.split("|")) for x in (correction.old, correction.new, value))
            if parts == new:
                return None
            is_old = parts == old
        if not is_old:
            message = f"{name.upper()} of word {word} is {value[:80]!r}"
            self._fail(sentence, correction, f"{message}, not {correction.old[:80]!r}")
        self._check_head_form(sentence, correction, renamed)
        return Change(word, name, value, correction.new)

    def _check_head_form(
        self, sentence: Sentence, correction: Correction, renamed: Collection[tuple[int, str]]
    ) -> None:
        """Raise FormatError if a new head has another form than the correction says."""
        head, expected = correction.new, correction.head_form
        forms = dict(zip(map(str, range(1, len(sentence) + 1)), sentence.form, strict=True))
        if not expected or head not in forms:  # `change_sentence` reports missing heads.
            return
        if forms[head] != expected and (int(head), expected) not in renamed:
            message = f"the new head {head} is {forms[head][:40]!r}, not {expected[:40]!r}"
            self._fail(sentence, correction, message)

    def _fail(self, sentence: Sentence, correction: Correction, message: str) -> NoReturn:
        word = min(max(correction.word - 1, 0), len(sentence) - 1)
        message = f"{message}; see {correction.row} of {self.file}"
        raise FormatError(*sentence.location(word), message)

    def finish(self) -> None:
        """Raise FormatError if there were corrections of other sentences."""
        if self._unused:
            correction = self._by_key[next(iter(self._unused))][0]
            sent_id, number = correction.sent_id, len(self._unused)
            name = f"the sentence {sent_id!r}" if sent_id else f"the word in line {correction.line}"
            more = f" and {number - 1:,} others" if number > 1 else ""
            message = f"{correction.row} corrects {name}{more}, which the treebank does not have"
            raise FormatError(self.file, 0, "", message)


def are_corrections(text: str) -> bool:
    """Return whether a text is a table or JSON of corrections, and not rules."""
    opening = text.lstrip()
    header = opening.partition("\n")[0].strip("\r").split("\t")
    is_table = "word" in header and ("kind" in header or "column" in header)
    return opening.startswith(("[", "{")) or is_table


def _read_records(text: str, file: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each row with its number: the line in which it ends, or its index in JSON from 1."""
    if not text.lstrip().startswith(("[", "{")):
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t")
        try:
            for row in rows:
                cells = {name: value or "" for name, value in row.items() if isinstance(name, str)}
                yield (
                    rows.line_num,
                    {name: _remove_apostrophes(value) for name, value in cells.items()},
                )
        except csv.Error as error:
            raise FormatError(file, rows.line_num, "", f"it is no valid table: {error}") from None
        return
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(file, 0, "", f"it is no valid JSON: {error}") from None
    if isinstance(record, dict):
        names = ("corrections", "suspects", "differences")
        record = next((record[name] for name in names if name in record), None)
    if not isinstance(record, list) or not all(isinstance(row, dict) for row in record):
        raise FormatError(file, 0, "", "it has no list of corrections")
    yield from enumerate(record, start=1)


def _sort_parts(column: str, value: str) -> str:
    """Return the value of a column with the parts of FEATS and DEPS in the order that UD wants.

    Tables of `depkit diff` have them in alphabetical order.
    """
    if column == "feats":
        return "|".join(sort_features(value.split("|")))
    if column == "deps":
        with suppress(ValueError):  # `change_sentence` reports heads that do not exist.
            return sort_relations(value)
    return value


def _remove_apostrophes(cell: str) -> str:
    """Undo `score.table.csv_table`, which puts an apostrophe before what begins like a formula."""
    return _APOSTROPHE.sub("", cell)
