"""Corrections of single annotations, from a table or JSON, as of `depkit suspects` or `diff`."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.treebank.edit.editable import Change, check_cycles

# What a row can call the column, the value before and the value after, in this order
_NAMES = (("kind", "gold", "alternative"), ("column", "old", "new"), ("column", "a", "b"))
_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "misc")
_FORMULA = ("'=", "'+", "'-", "'@")  # What begins so in a table has got its apostrophe there.


@dataclass(frozen=True)
class Correction:
    """One correction.

    Attributes:
        row: The number of the row in its file, from 1 without the header.
        sent_id: The sentence; if it is "", `line` is the line of the word.
        line: The line of the word in its file, 0 if it is unknown.
        word: The number of the word.
        column: The column.
        old: The value that is corrected.
        new: The corrected value.
    """

    row: int
    sent_id: str
    line: int
    word: int
    column: str
    old: str
    new: str


class Corrections:
    """Corrections that are applied to the sentences of a treebank.

    Args:
        text: A table with a header, of which columns are separated by tabs, or JSON: a list of
            records, or an object with one under "suspects", "corrections" or "differences".
        file: The name of the file, for errors.

    A row has `word`, `sent_id` or `line`, and kind, gold, alternative (as `depkit suspects` writes,
    with heads as number:relation) or column, old, new (as `depkit edit --changes`) or column, a, b
    (as `depkit diff`). If it has a `decision`, it counts only if that is accept.

    Raises FormatError if a row lacks one of these, or has another column.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.sentences = 0
        self.total = 0
        self._by_id: dict[str, list[Correction]] = {}
        self._by_line: dict[int, Correction] = {}
        for row, record in enumerate(_read_records(text, file), start=1):
            if str(record.get("decision", "accept")).strip().lower() != "accept":
                continue
            for correction in self._parse(row, record):
                self.total += 1
                if correction.sent_id:
                    self._by_id.setdefault(correction.sent_id, []).append(correction)
                else:
                    self._by_line.setdefault(correction.line, correction)
        self._unused = set(self._by_id) | set(map(str, self._by_line))

    def _parse(self, row: int, record: Mapping[str, Any]) -> Iterator[Correction]:
        names = next((names for names in _NAMES if all(name in record for name in names)), None)
        if not names or "word" not in record or not ("sent_id" in record or "line" in record):
            needs = "it needs the columns sent_id, word, kind, gold and alternative"
            raise FormatError(self.file, row, "", f"this is no correction: {needs}")
        column, old, new = (str(record[name]) for name in names)
        try:
            word, line = int(record["word"]), int(record.get("line") or 0)
        except ValueError:
            raise FormatError(self.file, row, "", "word and line must be numbers") from None
        if word == 0:  # as in tables of `depkit diff`
            raise FormatError(self.file, row, "", "only words can be corrected; leave out this row")
        sent_id = str(record.get("sent_id") or "")
        if column not in _COLUMNS:
            message = f"there is no column {column!r} to correct"
            raise FormatError(self.file, row, "", message)
        if column == "head":
            head, _, relation = old.partition(":")
            new_head, _, new_relation = new.partition(":")
            yield Correction(row, sent_id, line, word, "head", head, new_head)
            if names[0] == "kind":
                yield Correction(row, sent_id, line, word, "deprel", relation, new_relation)
        else:
            yield Correction(row, sent_id, line, word, column, old, new)

    def apply(self, sentence: Sentence) -> tuple[Sentence, list[Change]]:
        """Return a sentence with its corrections, and the changed cells.

        A correction that has been made already is skipped. Raises FormatError if the value that is
        corrected, or the word, is not there, or if heads would form a cycle.
        """
        name = sentence.sent_id
        corrections = list(self._by_id.get(name, ()) if name else ())
        self._unused.discard(name)
        if self._by_line:
            first = sentence.location()[1]
            for word in range(len(sentence)):
                found = self._by_line.get(first + sentence.rows[word] - sentence.rows[0])
                if found and not name:
                    corrections.append(found)
                    self._unused.discard(str(found.line))
        changes: dict[tuple[int, str], Change] = {}
        columns: dict[str, list[str]] = {}
        for correction in corrections:
            change = self._check(sentence, correction)
            key = (correction.word, correction.column)
            if key in changes and changes[key] != change:
                self._fail(sentence, correction, "another row corrects the same cell")
            if change:
                changes[key] = change
                values = columns.setdefault(change.column, list(sentence.column(change.column)))
                values[change.word - 1] = change.new
        if not changes:
            return sentence, []
        try:
            result = sentence.with_columns(columns)
        except (ValueError, KeyError) as error:
            raise FormatError(*sentence.location(), str(error.args[-1])) from None
        check_cycles(result)
        self.sentences += 1
        return result, sorted(changes.values(), key=lambda change: (change.word, change.column))

    def _check(self, sentence: Sentence, correction: Correction) -> Change | None:
        """Return the change of a correction; None if it has been made already."""
        if not 1 <= correction.word <= len(sentence):
            self._fail(sentence, correction, f"there is no word {correction.word}")
        value = sentence.column(correction.column)[correction.word - 1]
        if value == correction.new:
            return None
        if value != correction.old:
            column = correction.column.upper()
            message = f"{column} of word {correction.word} is {value!r}, not {correction.old!r}"
            self._fail(sentence, correction, message)
        return Change(correction.word, correction.column, value, correction.new)

    def _fail(self, sentence: Sentence, correction: Correction, message: str) -> None:
        word = min(max(correction.word - 1, 0), len(sentence) - 1)
        message = f"{message}; see row {correction.row} of {self.file}"
        raise FormatError(*sentence.location(word), message)

    def finish(self) -> None:
        """Raise FormatError if there were corrections of other sentences."""
        if self._unused:
            name = min(self._unused)
            number = len(self._unused)
            more = f" and {number - 1:,} others" if number > 1 else ""
            message = f"it corrects the sentence {name!r}{more}, which the treebank does not have"
            raise FormatError(self.file, 0, "", message)


def are_corrections(text: str) -> bool:
    """Return whether a text is a table or JSON of corrections, and not rules."""
    opening = text.lstrip("\ufeff \t\r\n")
    header = opening.partition("\n")[0].strip("\r").split("\t")
    is_table = "word" in header and ("kind" in header or "column" in header)
    return opening.startswith(("[", "{")) or is_table


def _read_records(text: str, file: str) -> list[Mapping[str, Any]]:
    text = text.lstrip("\ufeff")
    if not text.lstrip().startswith(("[", "{")):
        rows = csv.DictReader(text.splitlines(), delimiter="\t")
        return [
            {
                name: value[1:] if value and value.startswith(_FORMULA) else value or ""
                for name, value in row.items()
                if isinstance(name, str)
            }
            for row in rows
        ]
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(file, 0, "", f"it is no valid JSON: {error}") from None
    if isinstance(record, dict):
        names = ("corrections", "suspects", "differences")
        record = next((record[name] for name in names if name in record), None)
    if not isinstance(record, list) or not all(isinstance(row, dict) for row in record):
        raise FormatError(file, 0, "", "it has no list of corrections")
    return record
