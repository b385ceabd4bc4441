"""A sentence: its columns as plain lists, and the lines it came from."""

from collections.abc import Sequence

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLLU, Format


class Sentence:
    """A parsed or unparsed sentence, one entry a syntactic word in every column.

    form, lemma, upos, xpos, feats, deprel: lists of str, `_` where the file has nothing;
    head: list of int, 0 = root, -1 where the file has `_`. `lines` are the original lines
    with their terminators (blank lines after the sentence included), so that comments,
    multiword ranges, empty nodes and untouched columns come out byte for byte; rows[i] is
    the index in `lines` of word i. Immutable by habit: `with_tree` and `with_columns`
    return new sentences. `problem`: what a tolerant reader found wrong, else None.
    """

    __slots__ = (
        "format", "lines", "rows", "file", "line", "problem",
        "form", "lemma", "upos", "xpos", "feats", "head", "deprel",
    )  # fmt: skip

    def __init__(
        self,
        format: Format,
        lines: list[str],
        rows: Sequence[int],
        columns: dict[str, list[str]],
        head: list[int],
        file: str = "",
        line: int = 0,
        problem: FormatError | None = None,
    ) -> None:
        self.format = format
        self.lines = lines
        self.rows = rows
        self.file = file
        self.line = line
        self.problem = problem
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

    def __str__(self) -> str:
        """The sentence as it stands in its file, blank line included."""
        return "".join(self.lines)

    def __repr__(self) -> str:
        words = " ".join(self.form[:8]) + (" ..." if len(self) > 8 else "")
        return f"<Sentence {self.sent_id or self.line}: {words}>"

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
        for line in self.lines:
            if line.startswith("#"):
                name, equals, value = line[1:].partition("=")
                if equals and name.strip() == key:
                    return value.strip()
            elif line[:1].isdigit():
                break
        return ""

    def place(self, word: int = 0) -> tuple[str, int, str]:
        """(file, line, sent_id) of a word (0-based), as `FormatError` takes them."""
        skipped = sum(1 for line in self.lines[: self.rows[word]] if line != "\ufeff")
        return self.file, self.line + skipped if self.line else 0, self.sent_id

    def column(self, name: str) -> list[str]:
        """Any column of the format, as strings; KeyError if the format has none of that name."""
        index = self.format.index(name)
        return [self.lines[row].rstrip("\r\n").split("\t")[index] for row in self.rows]

    def with_tree(
        self,
        heads: Sequence[int],
        deprels: Sequence[str],
        columns: dict[str, list[str]] | None = None,
    ) -> "Sentence":
        """The same sentence with other heads (0 = root) and relations, and further columns.

        Columns that describe the old tree (CoNLL-U DEPS) become `_`.
        Raises as `with_columns`.
        """
        blank = ["_"] * len(self)
        tree = {"head": [str(head) for head in heads], "deprel": list(deprels)}
        tree |= dict.fromkeys(self.format.stale, blank)
        return self.with_columns(tree | (columns or {}))

    def with_columns(self, columns: dict[str, list[str]]) -> "Sentence":
        """The same sentence with other values in some columns, names as in its format.

        Raises ValueError if a column is too short or too long, KeyError if the format has
        no such column.
        """
        for name, column in columns.items():
            if len(column) != len(self):
                raise ValueError(f"{len(column)} values of {name} for {len(self)} words")
        changes = [(self.format.index(name), column) for name, column in columns.items()]
        lines = list(self.lines)
        for i, row in enumerate(self.rows):
            line = lines[row]
            body = line.rstrip("\r\n")
            fields = body.split("\t")
            for index, column in changes:
                fields[index] = column[i]
            lines[row] = "\t".join(fields) + line[len(body) :]
        held = {name: getattr(self, name) for name in _HELD} | columns
        head = self.head if "head" not in columns else parse_heads(columns["head"])
        return Sentence(self.format, lines, self.rows, held, head, self.file, self.line)


_HELD = ("form", "lemma", "upos", "xpos", "feats", "deprel")


class _Heads(dict[str, int]):
    """HEAD as written -> int; digits are read once, anything else is a ValueError."""

    def __missing__(self, text: str) -> int:
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"HEAD is {text!r}, not a number")
        return int(text)


_HEADS = _Heads({str(number): number for number in range(1000)} | {"_": -1})


def parse_heads(column: Sequence[str]) -> list[int]:
    """A HEAD column as ints, `_` as -1. Raises ValueError at anything else."""
    return [_HEADS[text] for text in column]


def new_sentence(
    form: Sequence[str], columns: dict[str, Sequence[str]] | None = None, format: Format = CONLLU
) -> Sentence:
    """A sentence made from words rather than from a file; what is not given is `_`.

    form: the words; columns: further columns by name, a value a word.
    """
    given = {"id": [str(i + 1) for i in range(len(form))], "form": list(form)}
    given |= {name: list(column) for name, column in (columns or {}).items()}
    for name, column in given.items():
        format.index(name)
        if len(column) != len(form):
            raise ValueError(f"{len(column)} values of {name} for {len(form)} words")
    blank = ["_"] * len(form)
    filled = {name: given.get(name, blank) for name in format.columns}
    lines = ["\t".join(row) + "\n" for row in zip(*filled.values(), strict=True)] + ["\n"]
    return Sentence(format, lines, range(len(form)), filled, parse_heads(filled["head"]))
