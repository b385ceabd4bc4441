"""Sentences, which consist of columns as plain lists and of the original lines."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

from depkit.corpus import notebook
from depkit.corpus.errors import FormatError
from depkit.corpus.formats import ATTRIBUTE_COLUMNS, CONLLU, Format
from depkit.corpus.word import Word

if TYPE_CHECKING:
    from conllu import TokenList

    from depkit.corpus.tree import Tree

BOM = "\ufeff"
T = TypeVar("T")


class Sentence:
    """A sentence with or without a tree. Every column has one entry for each syntactic word.

    `for word in sentence` and `sentence[0]` give `Word`s; each is a view of one row of the columns.
    A sentence should not be modified: `with_tree` and `with_columns` return new sentences.

    Attributes:
        format: The format of the lines.
        lines: The original lines with their line ends, including blank lines after the sentence. A
            byte order mark is a separate entry. Comments, multiword ranges, empty nodes and
            unchanged columns are written from these lines byte for byte.
        rows: For each word, the index of its row in `lines`.
        file: The file from which the sentence was read, "" if there is none.
        line: The number of the first line in that file, 0 if there is none.
        problem: The error if the sentence is broken and was read with strict=False, else None.
        constituents: The constituency tree over the words, if one is known, else None.
        draft: The sentence with the parse that a parser is to correct, if there is one, else None.
            New sentences with another tree or other columns have no draft.
        block: The number of the block of its file, see `blocks`. A parser makes batches of
            sentences of one block.
        form, lemma, upos, xpos, feats, deprel: [words] strings, `_` where the file has none.
        head: [words] integers, 0 for the root, -1 where the file has `_`.
    """

    __slots__ = (
        "format", "lines", "rows", "file", "line", "problem", "constituents", "draft", "block",
        "form", "lemma", "upos", "xpos", "feats", "head", "deprel",
    )  # fmt: skip

    def __init__(
        self,
        format: Format,
        lines: list[str],
        rows: Sequence[int],
        columns: Mapping[str, list[str]],
        head: list[int],
        file: str = "",
        line: int = 0,
        problem: FormatError | None = None,
        constituents: "Tree | None" = None,
    ) -> None:
        self.format = format
        self.lines = lines
        self.rows = rows
        self.file = file
        self.line = line
        self.problem = problem
        self.constituents = constituents
        self.draft: Sentence | None = None
        self.block = 0
        blank = ["_"] * len(rows)
        self.form = columns["form"]
        self.lemma = columns.get("lemma", blank)
        self.upos = columns.get("upos", blank)
        self.xpos = columns.get("xpos", blank)
        self.feats = columns.get("feats", blank)
        self.deprel = columns["deprel"]
        self.head = head

    def __len__(self) -> int:
        """Return the number of syntactic words."""
        return len(self.form)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...
    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        """Return the word at a 0-based index, or the words of a slice. Raises IndexError."""
        try:
            selected = range(len(self))[index]
        except IndexError:
            message = f"there is no word {index} in a sentence of {len(self)} words"
            raise IndexError(message) from None
        if isinstance(selected, int):
            return Word(self, selected)
        return [Word(self, i) for i in selected]

    def __iter__(self) -> Iterator[Word]:
        """Iterate over the words in order."""
        return (Word(self, index) for index in range(len(self)))

    def __str__(self) -> str:
        """Return the sentence as in its file, with the blank line after it."""
        return "".join(self.lines)

    def _repr_svg_(self) -> str | None:
        """Return the drawing of the tree that notebooks display; None if there is no tree."""
        has_tree = max(self.head, default=-1) >= 0
        # The package `depkit` sets notebook.draw; it is None if only depkit.corpus is imported.
        return notebook.draw(self) if notebook.draw and has_tree else None

    def __repr__(self) -> str:
        words = " ".join(self.form[:8]) + (" ..." if len(self) > 8 else "")
        name = str(self.sent_id or self.line or "new")
        return f"<Sentence {name}: {words}>"

    @property
    def sent_id(self) -> str:
        """The value of the comment `# sent_id = ...`; "" if there is none."""
        return self.comment("sent_id")

    @property
    def text(self) -> str:
        """The value of the comment `# text = ...`; "" if there is none."""
        return self.comment("text")

    def comment(self, key: str) -> str:
        """Return the value of the first comment `# key = value`; "" if there is none."""
        return find_comment(self.lines, key)

    def location(self, word: int = 0) -> tuple[str, int, str]:
        """Return (file, line, sent_id), the first arguments of `FormatError`, for a word.

        word: its 0-based index.
        """
        # The byte order mark is in `lines`, but is not a line of the file.
        previous_lines = self.lines[: self.rows[word]] if self.rows else []
        line = self.line + len(previous_lines) - previous_lines.count(BOM) if self.line else 0
        return self.file, line, self.sent_id

    def column(self, name: str) -> list[str]:
        """Return a column of the format as strings. Raises KeyError if there is no such column.

        If a row of a broken sentence has too few cells, the missing cells are `_`.
        """
        index = self.format.index(name)
        table = [self.lines[row].rstrip("\r\n").split("\t") for row in self.rows]
        return [cells[index] if index < len(cells) else "_" for cells in table]

    def with_tree(
        self,
        heads: Iterable[int],
        deprels: Sequence[str],
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> "Sentence":
        """Copy the sentence with another tree.

        Columns that describe the old tree (CoNLL-U DEPS) become `_`.

        Args:
            heads: [words] the heads; 0 is the root, and -1 is written as `_`.
            deprels: [words] the labels.
            columns: Further columns to be changed, as in `with_columns`.

        Raises:
            KeyError, ValueError, FormatError: As in `with_columns`.
        """
        values: dict[str, Sequence[str]] = {
            "head": [_HEAD_STRINGS[head] for head in heads],
            "deprel": deprels,
        }
        for name in self.format.derived_columns:
            values[name] = ["_"] * len(self)
        if columns:
            values |= columns
        return self.with_columns(values)

    def with_constituents(self, tree: "Tree | None") -> "Sentence":
        """Copy the sentence with another constituency tree over its words."""
        columns = {name: getattr(self, name) for name in ATTRIBUTE_COLUMNS}
        copy = Sentence(
            self.format, self.lines, self.rows, columns, self.head, self.file, self.line,
            self.problem, tree,
        )  # fmt: skip
        copy.block = self.block
        return copy

    def with_draft(self, draft: "Sentence") -> "Sentence":
        """Copy the sentence with the parse that a parser is to correct."""
        copy = self.with_constituents(self.constituents)
        copy.draft = draft
        return copy

    def with_columns(self, columns: Mapping[str, Sequence[str]]) -> "Sentence":
        """Copy the sentence with other values in some columns, named as in its format.

        Raises KeyError if the format has no such column; ValueError for a wrong number of values,
        a value that would break its row, or an invalid HEAD; and the sentence's `problem`, a
        FormatError, if its rows are too broken to be rewritten.
        """
        new_columns = _check_columns(columns, self.format, len(self))
        if self.problem:
            widths = {self.lines[row].count("\t") + 1 for row in self.rows}
            if len(widths) != 1 or min(widths) < len(self.format.columns):
                raise self.problem
        width = self.lines[self.rows[0]].count("\t") + 1
        # For speed, rows are split from the right, and only as far as the first changed column.
        # Therefore the indices of columns are negative.
        indices = [self.format.index(name) - width for name in new_columns]
        splits = -min(indices, default=0)
        rows = [self.lines[row].rsplit("\t", splits) for row in self.rows]
        table = list(zip(*rows, strict=True))  # the columns; the first one is the unsplit rest
        for index, values in zip(indices, new_columns.values(), strict=True):
            if index == -1:  # The last cell includes the line end.
                ends = [cell[len(cell.rstrip("\r\n")) :] for cell in table[-1]]
                values = [value + end for value, end in zip(values, ends, strict=True)]
            table[index] = tuple(values)
        lines = list(self.lines)
        for row, cells in zip(self.rows, zip(*table, strict=True), strict=True):
            lines[row] = "\t".join(cells)
        attributes = {name: getattr(self, name) for name in ATTRIBUTE_COLUMNS} | new_columns
        head = parse_heads(new_columns["head"]) if "head" in new_columns else self.head
        copy = Sentence(
            self.format, lines, self.rows, attributes, head, self.file, self.line, self.problem,
            self.constituents,
        )  # fmt: skip
        copy.block = self.block
        return copy

    def to_conllu(self) -> str:
        """Convert the sentence to CoNLL-U, with a blank line at the end.

        If the sentence has another format, only the columns that CoNLL-U also has are converted.
        Raises the sentence's `problem` if it has one.
        """
        if self.problem:
            raise self.problem
        if self.format.name == CONLLU.name:
            return str(self).removeprefix(BOM).rstrip("\r\n") + "\n\n"
        columns = {name: getattr(self, name) for name in ATTRIBUTE_COLUMNS} | {
            "head": self.column("head")
        }
        return str(new_sentence(self.form, columns))

    def to_token_list(self) -> "TokenList":
        """Convert the sentence for the `conllu` package; see `token_list.to_token_list`."""
        from depkit.corpus.token_list import to_token_list

        return to_token_list(self)

    @staticmethod
    def from_token_list(token_list: "TokenList", format: str = "conllu") -> "Sentence":
        """Convert a list of the `conllu` package; see `token_list.from_token_list`."""
        from depkit.corpus.token_list import from_token_list

        return from_token_list(token_list, format)


def as_iterable(sentences: Sentence | Iterable[T]) -> "Iterable[Sentence | T]":
    """Return the sentences unchanged, or a single sentence in a list."""
    return [sentences] if isinstance(sentences, Sentence) else sentences


def find_comment(lines: Iterable[str], key: str) -> str:
    """Return the value of the first comment `# key = value` before the words, else ""."""
    for line in lines:
        if line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        elif line[:1].isdigit():
            break
    return ""


class _HeadNumbers(dict[str, int]):
    """A mapping of HEAD from strings to ints: `_` is -1, and an invalid string is sys.maxsize."""

    def __missing__(self, text: str) -> int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else sys.maxsize


HEAD_NUMBERS = _HeadNumbers({str(number): number for number in range(1000)} | {"_": -1})


class _HeadStrings(dict[int, str]):
    """A mapping of HEAD from ints to strings.

    A look-up in this mapping or in `_HeadNumbers` is faster than a function call.
    """

    def __missing__(self, head: int) -> str:
        return str(head)


_HEAD_STRINGS = _HeadStrings({number: text for text, number in HEAD_NUMBERS.items()})


class HeadError(ValueError):
    """An invalid HEAD of the word with the 0-based index `word`."""

    def __init__(self, word: int, message: str) -> None:
        super().__init__(message)
        self.word = word


def parse_heads(column: Sequence[str]) -> list[int]:
    """Convert a HEAD column to integers, `_` to -1. Raises HeadError for any other value."""
    head = [HEAD_NUMBERS[text] for text in column]
    if max(head) > len(head):
        word = next(i for i, number in enumerate(head) if number > len(head))
        message = f"HEAD is {column[word][:40]!r}, not a word's number (1 to {len(head)}), 0 or _"
        raise HeadError(word, message)
    return head


def new_sentence(
    form: Sequence[str],
    columns: Mapping[str, Sequence[str]] | None = None,
    format: Format = CONLLU,
    constituents: "Tree | None" = None,
    comments: Sequence[str] = (),
) -> Sentence:
    """Make a sentence from words instead of lines.

    Args:
        form: [words] the forms, at least one.
        columns: Further columns by name, with a value for each word. All other columns contain
            `_`.
        format: The format of the lines.
        constituents: The constituency tree over the words.
        comments: Lines before the words, with `#` and line ends.

    Raises:
        KeyError: The format has no such column.
        ValueError: There are no words, or a column has invalid values as in
            `Sentence.with_columns`.
    """
    if not form:
        raise ValueError("a sentence must have at least one word")
    checked = _check_columns({"form": form} | dict(columns or {}), format, len(form))
    ids = [str(number) for number in range(1, len(form) + 1)]
    blank = ["_"] * len(form)
    filled = {name: checked.get(name, blank) for name in format.columns} | {"id": ids}
    lines = ["\t".join(row) + "\n" for row in zip(*filled.values(), strict=True)] + ["\n"]
    head = parse_heads(filled["head"])
    rows = range(len(comments), len(comments) + len(form))
    return Sentence(format, [*comments, *lines], rows, filled, head, constituents=constituents)


def _check_columns(
    columns: Mapping[str, Sequence[str]], format: Format, size: int
) -> dict[str, list[str]]:
    """Copy columns. Raises ValueError if they cannot be written to `size` rows and read back."""
    checked = {}
    for name, values in columns.items():
        if format.index(name) == 0:
            raise ValueError("the ids are the words' numbers and cannot be changed")
        if len(values) != size:
            raise ValueError(f"there are {len(values)} values of {name} for {size} words")
        text = "".join(values)
        if "\t" in text or "\n" in text or "\r" in text:
            raise ValueError(f"a tab or a line end in a value of {name} would break its row")
        if name == "form" and "" in values:
            raise ValueError("there is an empty form; write _ for a word without a form")
        checked[name] = list(values)
    return checked
