"""A sentence: its columns as plain lists, and the lines it came from."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

from depkit.corpus import notebook
from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLLU, HELD, Format
from depkit.corpus.word import Word

if TYPE_CHECKING:
    from conllu import TokenList

    from depkit.corpus.tree import Tree

BOM = "\ufeff"
T = TypeVar("T")


class Sentence:
    r"""A parsed or unparsed sentence, one entry a syntactic word in every column.

    `for word in sentence` and `sentence[0]` give `Word`s, each a view of one row of the columns.
    form, lemma, upos, xpos, feats, deprel: lists of str, `_` where the file has nothing;
    head: list of int, 0 = root, -1 where the file has `_`. `lines` are the original lines
    with their terminators (blank lines after the sentence included; a byte order mark is a
    line of its own), so that comments, multiword ranges, empty nodes and untouched columns
    come out byte for byte; rows[i] is the index in `lines` of word i. Immutable by habit:
    `with_tree` and `with_columns` return new sentences. `problem`: what a tolerant reader
    found wrong, else None. `constituents`: the tree of phrases over the words, if one is known.
    """

    __slots__ = (
        "format", "lines", "rows", "file", "line", "problem", "constituents",
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
        blank = ["_"] * len(rows)
        self.form = columns["form"]
        self.lemma = columns.get("lemma", blank)
        self.upos = columns.get("upos", blank)
        self.xpos = columns.get("xpos", blank)
        self.feats = columns.get("feats", blank)
        self.deprel = columns["deprel"]
        self.head = head

    def __len__(self) -> int:
        """The number of syntactic words."""
        return len(self.form)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...
    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        """The word at a 0-based index, or the words of a slice; IndexError as for a list."""
        try:
            found = range(len(self))[index]
        except IndexError:
            raise IndexError(f"no word {index} in a sentence of {len(self)} words") from None
        return Word(self, found) if isinstance(found, int) else [Word(self, i) for i in found]

    def __iter__(self) -> Iterator[Word]:
        """The words in order."""
        return (Word(self, index) for index in range(len(self)))

    def __str__(self) -> str:
        """The sentence as it stands in its file, blank line included."""
        return "".join(self.lines)

    def _repr_svg_(self) -> str | None:
        """The tree as SVG, which notebooks display; None without a tree."""
        return notebook.draw(self) if notebook.draw and max(self.head, default=-1) >= 0 else None

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
        """The value of the first comment `# key = value`; "" if there is none."""
        return find_comment(self.lines, key)

    def place(self, word: int = 0) -> tuple[str, int, str]:
        """(file, line, sent_id) of a word (0-based), as `FormatError` takes them."""
        before = self.lines[: self.rows[word]] if self.rows else []
        line = self.line + len(before) - before.count(BOM) if self.line else 0
        return self.file, line, self.sent_id

    def column(self, name: str) -> list[str]:
        """Any column of the format, as strings; KeyError if the format has none of that name.

        In a broken sentence, `_` where a row is too short.
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
        """The same sentence with other heads (0 = root) and relations, and further columns.

        A head of -1 is written as `_`. Columns that describe the old tree (CoNLL-U DEPS)
        become `_`. Raises as `with_columns`.
        """
        changed: dict[str, Sequence[str]] = {
            "head": [_WRITTEN[head] for head in heads],
            "deprel": deprels,
        }
        for name in self.format.stale:
            changed[name] = ["_"] * len(self)
        if columns:
            changed |= columns
        return self.with_columns(changed)

    def with_columns(self, columns: Mapping[str, Sequence[str]]) -> "Sentence":
        """The same sentence with other values in some columns, names as in its format.

        Raises KeyError if the format has no such column; ValueError for too few or too many
        values, a value that would break its row, a HEAD that is none; `problem`, a
        FormatError, if the sentence's rows are too broken to be rewritten.
        """
        changed = _checked(columns, self.format, len(self))
        if self.problem:
            widths = {self.lines[row].count("\t") + 1 for row in self.rows}
            if len(widths) != 1 or min(widths) < len(self.format.columns):
                raise self.problem
        width = self.lines[self.rows[0]].count("\t") + 1
        # Cells are counted from the end, so that what stands before the changes stays in one.
        places = [self.format.index(name) - width for name in changed]
        front = -min(places, default=0)
        table = list(zip(*[self.lines[row].rsplit("\t", front) for row in self.rows], strict=True))
        for place, values in zip(places, changed.values(), strict=True):
            if place == -1:  # the last cell carries the line's terminator
                ends = [cell[len(cell.rstrip("\r\n")) :] for cell in table[-1]]
                values = [value + end for value, end in zip(values, ends, strict=True)]
            table[place] = tuple(values)
        lines = list(self.lines)
        for row, cells in zip(self.rows, zip(*table, strict=True), strict=True):
            lines[row] = "\t".join(cells)
        held = {name: getattr(self, name) for name in HELD} | changed
        head = parse_heads(changed["head"]) if "head" in changed else self.head
        return Sentence(
            self.format, lines, self.rows, held, head, self.file, self.line, self.problem,
            self.constituents,
        )  # fmt: skip

    def to_conllu(self) -> str:
        """The sentence in CoNLL-U, with a blank line at its end.

        Of a sentence in another format, the columns that CoNLL-U has, too.

        Raises the sentence's `problem` if it has one.
        """
        if self.problem:
            raise self.problem
        if self.format.name == CONLLU.name:
            return str(self).removeprefix(BOM).rstrip("\r\n") + "\n\n"
        columns = {name: getattr(self, name) for name in HELD} | {"head": self.column("head")}
        return str(new_sentence(self.form, columns))

    def to_token_list(self) -> "TokenList":
        """The sentence for the `conllu` package; see `token_list.to_token_list`."""
        from depkit.corpus.token_list import to_token_list

        return to_token_list(self)

    @staticmethod
    def from_token_list(token_list: "TokenList", format: str = "conllu") -> "Sentence":
        """The sentence of the `conllu` package's tokens; see `token_list.from_token_list`."""
        from depkit.corpus.token_list import from_token_list

        return from_token_list(token_list, format)


def each_sentence(sentences: Sentence | Iterable[T]) -> "Iterable[Sentence | T]":
    """The sentences; a single one as a list of itself."""
    return [sentences] if isinstance(sentences, Sentence) else sentences


def find_comment(lines: Iterable[str], key: str) -> str:
    """The value of the first comment `# key = value` before the words; "" if there is none."""
    for line in lines:
        if line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        elif line[:1].isdigit():
            break
    return ""


class _Heads(dict[str, int]):
    """HEAD as written -> int: `_` is -1, and what is no number is beyond every sentence."""

    def __missing__(self, text: str) -> int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else sys.maxsize


HEADS = _Heads({str(number): number for number in range(1000)} | {"_": -1})


class _Written(dict[int, str]):
    """HEAD as int -> as written; both tables spare a call a word."""

    def __missing__(self, head: int) -> str:
        return str(head)


_WRITTEN = _Written({number: text for text, number in HEADS.items()})


class HeadError(ValueError):
    """A HEAD that is none; word: whose (0-based)."""

    def __init__(self, word: int, message: str) -> None:
        super().__init__(message)
        self.word = word


def parse_heads(column: Sequence[str]) -> list[int]:
    """A sentence's HEAD column as ints, `_` as -1. Raises HeadError at anything else."""
    head = [HEADS[text] for text in column]
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
    """A sentence made from words rather than from a file; what is not given is `_`.

    form: the words, one at least; columns: further columns by name, a value a word;
    constituents: the tree of phrases over them; comments: lines to stand before the words,
    `#` and line terminators included.
    Raises as `Sentence.with_columns`.
    """
    if not form:
        raise ValueError("a sentence has one word at least")
    given = _checked({"form": form} | dict(columns or {}), format, len(form))
    ids = [str(number) for number in range(1, len(form) + 1)]
    blank = ["_"] * len(form)
    filled = {name: given.get(name, blank) for name in format.columns} | {"id": ids}
    lines = ["\t".join(row) + "\n" for row in zip(*filled.values(), strict=True)] + ["\n"]
    head = parse_heads(filled["head"])
    rows = range(len(comments), len(comments) + len(form))
    return Sentence(format, [*comments, *lines], rows, filled, head, constituents=constituents)


def _checked(
    columns: Mapping[str, Sequence[str]], format: Format, size: int
) -> dict[str, list[str]]:
    """Copies of columns that can be written into `size` rows and read again."""
    checked = {}
    for name, values in columns.items():
        if format.index(name) == 0:
            raise ValueError("ids are the words' numbers and cannot be changed")
        if len(values) != size:
            raise ValueError(f"{len(values)} values of {name} for {size} words")
        text = "".join(values)
        if "\t" in text or "\n" in text or "\r" in text:
            raise ValueError(f"a tab or a line end in a value of {name} would break its row")
        if name == "form" and "" in values:
            raise ValueError("an empty form; every word has one, if only _")
        checked[name] = list(values)
    return checked
