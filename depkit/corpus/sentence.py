"""Sentences, which consist of columns and of the original lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, overload

from depkit.corpus import notebook
from depkit.corpus.cell_checks import check_columns, check_text
from depkit.corpus.column import Column
from depkit.corpus.detection import find_plus_format
from depkit.corpus.formats import ATTRIBUTE_COLUMNS, CONLLU, CONLLUP, Format, get_format
from depkit.corpus.heads import parse_heads
from depkit.corpus.tree_marks import rank_comments, remove_probabilities
from depkit.corpus.word import Word
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError

if TYPE_CHECKING:
    from conllu import TokenList

    from depkit.corpus.tree import Tree


class Sentence:
    """A sentence with or without a tree. Every column has one entry for each syntactic word.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> sentence.form, sentence.head, sentence[1].head
    (('Stop', 'it'), (0, 1), <Word 1 Stop: _, root>)
    >>> sentence.with_tree([0, 1], ["root", "nsubj"]).deprel
    ('root', 'nsubj')
    >>> sentence.to_token_list()  # of the package conllu
    TokenList<Stop, it>

    `for word in sentence` and `sentence[0]` give `Word`s; each is a view of one row of the columns.
    `with_tree` and `with_columns` return changed copies. Assigning to a column or to an attribute
    of a word, as in `sentence[0].deprel = "obj"`, changes the sentence itself. Both change the
    columns and the lines, so that what is shown is what is written.

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

    form: Column[str]
    lemma: Column[str]
    upos: Column[str]
    xpos: Column[str]
    feats: Column[str]
    head: Column[int]
    deprel: Column[str]
    __slots__ = (
        "format", "lines", "rows", "file", "line", "problem", "constituents", "draft", "block",
        "_form", "_lemma", "_upos", "_xpos", "_feats", "_head", "_deprel",
    )  # fmt: skip

    def __init__(
        self,
        format: Format,
        lines: Iterable[str],
        rows: Sequence[int],
        columns: Mapping[str, Iterable[str]],
        *,
        head: Iterable[int],
        file: str = "",
        line: int = 0,
        problem: FormatError | None = None,
        constituents: "Tree | None" = None,
    ) -> None:
        self.format = format
        self.lines = Column(lines)
        self.rows = rows
        self.file = file
        self.line = line
        self.problem = problem
        self.constituents = constituents
        self.draft: Sentence | None = None
        self.block = 0
        blank = Column(["_"]) * len(rows)
        self._form = Column(columns["form"])
        self._lemma = Column(columns.get("lemma", blank))
        self._upos = Column(columns.get("upos", blank))
        self._xpos = Column(columns.get("xpos", blank))
        self._feats = Column(columns.get("feats", blank))
        self._deprel = Column(columns["deprel"])
        self._head = Column(head)

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

    def text_with_offsets(self) -> tuple[str, list[tuple[int, int]]]:
        """Return the text, and where each word is in it: `text[start:end]`.

        >>> sentence = Sentence.from_words(["Don't", "go"], misc=["_", "SpaceAfter=No"])
        >>> sentence.text_with_offsets()
        ("Don't go", [(0, 5), (6, 8)])

        The text is the comment `# text`, or made from the tokens if there is none; see
        `surface.text_with_offsets`, also for words of multiword tokens. Raises FormatError if the
        comment has other characters than the words.
        """
        from depkit.corpus.surface import text_with_offsets

        return text_with_offsets(self)

    def comment(self, key: str) -> str:
        """Return the value of the first comment `# key = value`; "" if there is none."""
        return find_comment(self.lines, key)

    def location(self, word: int = 0) -> tuple[str, int, str]:
        """Return (file, line, sent_id), the first arguments of `FormatError`, for a word.

        word: its 0-based index.
        """
        return self.row_location(self.rows[word] if self.rows else 0)

    def row_location(self, row: int) -> tuple[str, int, str]:
        """Return (file, line, sent_id), as `location`, for the row at an index of `lines`."""
        # The byte order mark is in `lines`, but is not a line of the file.
        line = self.line + row - self.lines[:row].count(BOM) if self.line else 0
        return self.file, line, self.sent_id

    @property
    def is_annotated(self) -> bool:
        """Whether every word has a head and a label."""
        return -1 not in self.head and "_" not in self.deprel

    @property
    def first_row(self) -> int:
        """The index in `lines` of the first row, which may be a multiword range or an empty node.

        If a broken sentence has no rows, the index after its comments.
        """
        row = self.rows[0] if self.rows else len(self.lines)
        while not self.rows and row and self.lines[row - 1].isspace():
            row -= 1
        while row and self.lines[row - 1][:1].isdigit():
            row -= 1
        return row

    @property
    def line_end(self) -> str:
        r"""The line end of the rows, "\r\n" or "\n"."""
        lines = chain(islice(self.lines, self.first_row, None), self.lines)
        first = next((line for line in lines if line.endswith("\n")), "")
        return "\r\n" if first.endswith("\r\n") else "\n"

    def column(self, name: str) -> Column[str]:
        """Return a column of the format as strings. Raises KeyError if there is no such column.

        If a row of a broken sentence has too few cells, the missing cells are `_`.
        """
        index = self.format.index(name)
        table = [self.lines[row].rstrip("\r\n").split("\t") for row in self.rows]
        return Column(cells[index] if index < len(cells) else "_" for cells in table)

    def with_tree(
        self,
        heads: Iterable[int],
        deprels: Sequence[str],
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> "Sentence":
        """Copy the sentence with another tree.

        What belongs to the old tree does not stay: DEPS of CoNLL-U and PHEAD and PDEPREL of CoNLL-X
        and CoNLL-09 become `_`, and empty nodes, which only DEPS connect, are left out. So are the
        probabilities ArcProb and LabelProb in MISC, unless `columns` has a new MISC, and the
        comments `tree` and `prob` of one of several trees.

        Args:
            heads: [words] the heads; 0 is the root, and -1 is written as `_`.
            deprels: [words] the labels.
            columns: Further columns to be changed, as in `with_columns`.

        Raises:
            KeyError, ValueError, FormatError: As in `with_columns`.
        """
        values: dict[str, Sequence[str | int]] = {"head": list(heads), "deprel": deprels}
        for name in self.format.derived_columns:
            values[name] = ["_"] * len(self)
        if "misc" in self.format.columns and any("Prob=" in line for line in self.lines):
            values["misc"] = [remove_probabilities(cell) for cell in self.column("misc")]
        if columns:
            values |= columns
        copy = self.with_columns(values).without_empty_nodes()
        for index in sorted(rank_comments(copy.lines[: copy.first_row]), reverse=True):
            copy = copy.with_lines([], index, index + 1)
        return copy

    def without_empty_nodes(self) -> "Sentence":
        """Copy the sentence without the rows of empty nodes, to which DEPS may still refer.

        A sentence that has none is returned itself.
        """
        empty = set(self.empty_nodes())
        if not empty:
            return self
        copy = self._copy()
        copy.lines = Column(line for i, line in enumerate(self.lines) if i not in empty)
        copy.rows = [row - sum(index < row for index in empty) for row in self.rows]
        return copy

    def empty_nodes(self) -> list[int]:
        """Return the indices in `lines` of the rows of empty nodes (5.1) of CoNLL-U."""
        if not self.format.has_ranges:
            return []
        begin = self.first_row
        end = self.rows[-1] + 1 if self.rows else begin
        while end < len(self.lines) and self.lines[end][:1].isdigit():
            end += 1
        if end - begin == len(self.rows):
            return []
        others = sorted({*range(begin, end)} - {*self.rows})
        ids = [self.lines[row].partition("\t")[0] for row in others]
        return [row for row, id in zip(others, ids, strict=True) if id[:1].isdigit() and "." in id]

    def with_constituents(self, tree: "Tree | None") -> "Sentence":
        """Copy the sentence with another constituency tree over its words."""
        copy = self._copy()
        copy.constituents = tree
        return copy

    def with_draft(self, draft: "Sentence") -> "Sentence":
        """Copy the sentence with the parse that a parser is to correct."""
        copy = self._copy()
        copy.draft = draft
        return copy

    def with_columns(self, columns: Mapping[str, Sequence[str | int]]) -> "Sentence":
        """Copy the sentence with other values in some columns, named as in its format.

        Values are strings, in HEAD also integers. Raises KeyError if the format has no such column;
        ValueError for a wrong number of values, a value that would break its row, or an invalid
        HEAD; TypeError for other values; and the sentence's `problem`, a FormatError, if its rows
        are too broken to be rewritten.
        """
        copy = self._copy()
        copy.change(columns)
        return copy

    def with_comment(self, key: str, value: str) -> "Sentence":
        """Copy the sentence with a comment `# key = value`, in place of the first one with the key.

        A new comment follows the others. Raises ValueError if the comment would not be one line, or
        could not be found again.
        """
        comment = f"# {key} = {value}"
        check_text(comment, "the comment")
        if not key or find_comment([comment], key) != value.strip():
            raise ValueError(f"{key!r} cannot be the key of a comment")
        begin = self.first_row
        keys = [line[1:].partition("=")[0].strip() for line in self.lines[:begin]]
        index = keys.index(key) if key in keys else begin
        line = comment + self.line_end
        return self.with_lines([line], index, index + (key in keys))

    def with_lines(self, lines: Sequence[str], start: int, stop: int) -> "Sentence":
        """Copy the sentence with other lines instead of `lines[start:stop]`.

        These must stand before its words, and the new lines, with their line ends, must be
        comments. They are not checked; see also `with_comment`.
        """
        copy = self._copy()
        copy.lines = Column([*self.lines[:start], *lines, *self.lines[stop:]])
        copy.rows = [row + len(lines) - (stop - start) for row in self.rows]
        return copy

    def with_first_lines(self, lines: Sequence[str]) -> "Sentence":
        """Copy the sentence with further comments, including their line ends, before all others."""
        begin = int(self.lines[0] == BOM)
        return self.with_lines(lines, begin, begin)

    def _copy(self) -> "Sentence":
        """Copy the sentence without its draft."""
        copy = Sentence.__new__(Sentence)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.draft = None
        return copy

    def change(
        self,
        columns: Mapping[str, Sequence[str | int]],
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        """Change columns of the sentence itself; see `with_columns` for a changed copy.

        Args:
            columns: The values by the name of their column.
            start: The index of the first word to be changed.
            stop: The index after the last such word.

        Raises:
            KeyError, ValueError, TypeError, FormatError: As in `with_columns`.
        """
        changed = self.rows[start:stop]
        new_columns = check_columns(columns, self.format, len(changed), start)
        head = parse_heads(new_columns["head"], len(self)) if "head" in new_columns else []
        if self.problem:
            widths = {self.lines[row].count("\t") + 1 for row in changed}
            if len(widths) != 1 or min(widths) < len(self.format.columns):
                raise self.problem
        width = self.lines[(changed or self.rows)[0]].count("\t") + 1
        # For speed, rows are split from the right, and only as far as the first changed column.
        # Therefore the indices of columns are negative.
        indices = [self.format.index(name) - width for name in new_columns]
        splits = -min(indices, default=0)
        rows = [self.lines[row].rsplit("\t", splits) for row in changed]
        table = list(zip(*rows, strict=True))  # the columns; the first one is the unsplit rest
        for index, values in zip(indices, new_columns.values(), strict=True):
            if index == -1:  # The last cell includes the line end.
                ends = [cell[len(cell.rstrip("\r\n")) :] for cell in table[-1]]
                values = Column(map(add, values, ends))
            table[index] = values
        lines = list(self.lines)
        for row, cells in zip(changed, zip(*table, strict=True), strict=True):
            lines[row] = "\t".join(cells)
        self.lines = Column(lines)
        self.draft = None
        for name, texts in new_columns.items():
            if slot := _SLOTS.get(name):
                column: Sequence[str | int] = head if name == "head" else texts
                if len(changed) < len(self.rows):
                    old = getattr(self, slot)
                    column = (*old[:start], *column, *old[start + len(changed) :])
                setattr(self, slot, column if isinstance(column, Column) else Column(column))

    def without_further_columns(self) -> "Sentence":
        """Convert a sentence in CoNLL-U Plus to CoNLL-U, which has no further columns."""
        copy = self._copy()
        copy.format = CONLLU
        lines = [line for line in self.lines if not (line[0] == "#" and find_plus_format([line]))]
        for i, line in enumerate(lines):
            if line[:1].isdigit():
                cells = line.rstrip("\r\n").split("\t")
                end = line[len(line.rstrip("\r\n")) :]
                lines[i] = "\t".join(cells[: len(CONLLU.columns)]) + end
        copy.rows = [row - (len(self.lines) - len(lines)) for row in self.rows]
        copy.lines = Column(lines)
        return copy

    def to_conllu(self) -> str:
        """Convert the sentence to CoNLL-U, with a blank line at the end.

        If the sentence has another format, only the columns that CoNLL-U also has are converted.
        Raises the sentence's `problem` if it has one.
        """
        if self.problem:
            raise self.problem
        if self.format == CONLLUP:
            return self.without_further_columns().to_conllu()
        if self.format == CONLLU:
            return str(self).removeprefix(BOM).rstrip("\r\n") + 2 * self.line_end
        columns = {name: getattr(self, name) for name in ATTRIBUTE_COLUMNS} | {
            "head": self.column("head")
        }
        return str(new_sentence(self.form, columns))

    @staticmethod
    def from_words(
        form: Sequence[str],
        comments: Mapping[str, str] | None = None,
        format: str = "conllu",
        **columns: Sequence[str | int],
    ) -> "Sentence":
        """Make a sentence from words: `Sentence.from_words(["It", "rains"], head=[2, 0])`.

        Args:
            form: [words] the forms, at least one.
            comments: The comments before the words, such as `{"sent_id": "a-1"}`.
            format: The name of the format of the lines.
            **columns: Further columns of the format by name, [words]. All others contain `_`.

        Raises:
            KeyError, ValueError, TypeError: As in `with_columns`, or there are no words.
        """
        sentence = new_sentence(form, columns, get_format(format))
        for key, value in (comments or {}).items():
            sentence = sentence.with_comment(key, value)
        return sentence

    @staticmethod
    def from_rows(
        rows: Iterable[Mapping[str, object]],
        comments: Mapping[str, str] | None = None,
        format: str = "conllu",
    ) -> "Sentence":
        """Make a sentence from rows: `Sentence.from_rows([{"form": "It", "head": 2}, ...])`.

        Args:
            rows: For each word, its values by the name of their column. A missing value and None
                become `_`. A value `id` must be the number of the word.
            comments: As for `from_words`.
            format: As for `from_words`.

        Raises:
            KeyError, ValueError, TypeError: As for `from_words`, or an `id` is another number.
        """
        table = list(rows)
        names = dict.fromkeys(name for row in table for name in row)
        columns: dict[str, Sequence[Any]] = {
            name: ["_" if row.get(name) is None else row[name] for row in table] for name in names
        }
        for number, id in enumerate(columns.pop("id", []), start=1):
            if str(id) not in (str(number), "_"):
                raise ValueError(f"the id of word {number} is {id}; only words can be rows")
        return Sentence.from_words(columns.pop("form", []), comments, format, **columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, for data frames: `pandas.DataFrame(sentence.to_dict())`.

        `id` and `head` are integers, with 0 for the root and -1 for no head; the other columns of
        the format are strings, `_` where there is no value. Multiword tokens and empty nodes are
        left out. `from_words` takes these columns, without `id`.
        """
        columns: dict[str, list[Any]] = {
            name: list(self.column(name)) for name in self.format.columns
        }
        return columns | {"id": list(range(1, len(self) + 1)), "head": list(self.head)}

    def to_token_list(self) -> "TokenList":
        """Convert the sentence for the `conllu` package; see `token_list.to_token_list`."""
        from depkit.corpus.token_list import to_token_list

        return to_token_list(self)

    @staticmethod
    def from_token_list(token_list: "TokenList", format: str = "conllu") -> "Sentence":
        """Convert a list of the `conllu` package; see `token_list.from_token_list`."""
        from depkit.corpus.token_list import from_token_list

        return from_token_list(token_list, format)


def each_sentence(sentences: Sentence | Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences, or a single one; raises TypeError for what is not a Sentence."""
    for sentence in [sentences] if isinstance(sentences, Sentence) else sentences:
        if not isinstance(sentence, Sentence):
            kind = type(sentence).__name__
            raise TypeError(f"a sentence must be a depkit.Sentence, not {kind}")
        yield sentence


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


def find_boundary(lines: Iterable[str], *keys: str) -> str:
    """Return the first comment before the words that begins a document or a paragraph, else "".

    Such a comment is `# newdoc` or `# newpar`, with or without an id: `# newdoc id = a`.

    keys: "newdoc", "newpar" or both.
    """
    for line in lines:
        if line[:1] == "#":
            words = line[1:].partition("=")[0].split()
            if words and words[0] in keys:
                return line
        if line[:1].isdigit():
            break
    return ""


def new_sentence(
    form: Sequence[str],
    columns: Mapping[str, Sequence[str | int]] | None = None,
    format: Format = CONLLU,
    *,
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
    checked = check_columns({"form": form} | dict(columns or {}), format, len(form))
    ids = [str(number) for number in range(1, len(form) + 1)]
    blank = ["_"] * len(form)
    filled = {name: checked.get(name, blank) for name in format.columns} | {"id": ids}
    lines = ["\t".join(row) + "\n" for row in zip(*filled.values(), strict=True)] + ["\n"]
    head = parse_heads(filled["head"])
    rows = range(len(comments), len(comments) + len(form))
    return Sentence(format, [*comments, *lines], rows, filled, head=head, constituents=constituents)


def _column_property(name: str) -> property:
    """Make a property that reads a column, and changes it in the columns and in the lines."""

    def assign(sentence: Sentence, values: Sequence[str | int]) -> None:
        sentence.change({name: values})

    return property(attrgetter(f"_{name}"), assign, doc=f"[words] the values of {name.upper()}")


_SLOTS = {name: f"_{name}" for name in ("head", *ATTRIBUTE_COLUMNS)}
for _name in _SLOTS:
    setattr(Sentence, _name, _column_property(_name))
