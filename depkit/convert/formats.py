"""Conversion of sentences from one tabular format to another.

| CoNLL-U | CoNLL-X | CoNLL-09 |
|---|---|---|
| FORM, LEMMA, FEATS, HEAD, DEPREL | the same | the same (FEAT) |
| UPOS | CPOSTAG | - |
| XPOS | POSTAG | POS |
| comments, ranges, empty nodes, DEPS, MISC | - | - |
| - | PHEAD, PDEPREL (a projective tree) | - |
| - | - | PLEMMA, PPOS, PFEAT, PHEAD, PDEPREL (automatic), FILLPRED, PRED, APREDs |

CoNLL-U Plus is CoNLL-U with further columns, which no other format has. Sentences in other formats
are converted to CoNLL-U Plus with the columns of CoNLL-U.

Each row of the table names the columns that correspond to each other. Values for which the new
format has no column are counted and left out; columns without a source are filled with `_`. Cells
are copied unchanged: tags and features are not translated, and spaces stay, although CoNLL-X and
CoNLL-09 allow none. A sentence that is already in the requested format is returned unchanged.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest

from depkit.corpus.detection import find_global_columns
from depkit.corpus.formats import ATTRIBUTE_COLUMNS, CONLLU, CONLLUP, Format
from depkit.corpus.heads import HeadError, parse_heads
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError

# CoNLL-09's automatic (predicted) column for each column of gold annotation.
AUTOMATIC = {
    "lemma": "plemma", "xpos": "pxpos", "feats": "pfeats", "head": "phead", "deprel": "pdeprel",
}  # fmt: skip
_DISPLAY_NAMES = {"upos": "coarse tag", "pxpos": "PPOS", "pfeats": "PFEAT", "pred": "predicate"}
_LINE_KINDS = ("comment", "multiword range", "empty node")
_BLANK_CELLS = ("_", "_\n", "_\r\n")  # the last cell of a row includes the line end


@dataclass
class ConversionReport:
    """Counts of what sentences lost in a conversion."""

    # The number of non-empty cells or lines that the new format cannot represent, by their name.
    dropped: Counter[str] = field(default_factory=Counter)
    # Words whose rows contain spaces although the new format allows none.
    words_with_spaces: int = 0
    # What belonged to the old trees of sentences that have received new ones, by its name, and was
    # therefore left out: see `Sentence.with_tree`.
    cleared: Counter[str] = field(default_factory=Counter)
    # Whether a sentence was read from CoNLL-09, which has automatic columns.
    has_automatic: bool = False

    def observe(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences, and note whether one of them is in CoNLL-09."""
        for sentence in sentences:
            self.has_automatic |= sentence.format.has_argument_columns
            yield sentence

    def count_dropped(self, name: str, count: int = 1) -> None:
        """Count dropped cells or lines under a name; an empty name is ignored."""
        if count and name:
            self.dropped[name] += count

    def count_cleared(self, sentence: Sentence, replaced: Container[str] = ()) -> None:
        """Count what a new tree removes from a sentence, see `Sentence.with_tree`.

        replaced: the columns whose values are not lost because they receive new ones.
        """
        if sentence.problem:
            return
        for name in sentence.format.derived_columns:
            if name in replaced:
                continue
            column = sentence.column(name)
            if filled := len(column) - column.count("_"):
                self.cleared[f"{name.upper()} value"] += filled
        if empty := len(sentence.empty_nodes()):
            self.cleared["empty node"] += empty

    def add(self, other: "ConversionReport") -> None:
        self.dropped.update(other.dropped)
        self.words_with_spaces += other.words_with_spaces
        self.cleared.update(other.cleared)
        self.has_automatic |= other.has_automatic

    def notes(self, format: str) -> list[str]:
        """Describe the losses to the user, one line per kind; `format` is the new format's name."""
        notes = []
        if self.cleared:
            items = [f"{count} {name}{'s' * (count > 1)}" for name, count in self.cleared.items()]
            were = "were" if self.cleared.total() > 1 else "was"
            notes.append(f"{', '.join(items)} {were} left out, where the tree is new")
        if self.dropped:
            items = [
                f"{count} {name}s" if count > 1 and name.islower() else f"{count} {name}"
                for name in dict.fromkeys([*_LINE_KINDS, *self.dropped])
                if (count := self.dropped[name])
            ]
            were = "they were" if self.dropped.total() > 1 else "it was"
            notes.append(f"{format} cannot represent {', '.join(items)}; {were} left out")
        if self.words_with_spaces:
            words = f"{self.words_with_spaces} word{'s' * (self.words_with_spaces > 1)}"
            result = f"the spaces in {words} were written unchanged"
            notes.append(f"{format} allows no spaces inside a column; {result}")
        return notes


def convert(
    sentence: Sentence,
    format: Format,
    predicted: bool = False,
    report: ConversionReport | None = None,
) -> Sentence:
    """Convert a sentence to another format by the table at the top of this module.

    Line ends are preserved; blank lines beyond the one after the sentence are not.

    Args:
        sentence: A valid sentence in any format.
        format: The format to convert to.
        predicted: Whether to write into CoNLL-09's automatic columns instead of the gold ones. When
            converting from CoNLL-09, do not count the automatic columns as lost, because
            `with_predicted` has read them.
        report: Counts what is left out.

    Returns:
        A new sentence, or the same object if it already has the format.

    Raises:
        FormatError: The sentence's `problem`, if it has one.
    """
    if sentence.problem:
        raise sentence.problem
    if sentence.format == CONLLUP and format != CONLLUP:
        if report is not None:
            report.count_dropped("further value", _count_further_values(sentence))
        sentence = sentence.without_further_columns()
    if sentence.format.name == format.name:
        return sentence
    if format == CONLLUP:
        sentence = convert(sentence, CONLLU, predicted, report).with_columns({})
        sentence.format = CONLLUP
        return sentence
    size = len(sentence)
    numbers = _number_texts(size)
    source = {
        "form": sentence.form, "lemma": sentence.lemma, "upos": sentence.upos,
        "xpos": sentence.xpos, "feats": sentence.feats,
        "head": [numbers[head] for head in sentence.head],  # -1 gives the last text, `_`
        "deprel": sentence.deprel,
    }  # fmt: skip
    if predicted and format.has_argument_columns:
        source = {AUTOMATIC.get(name, name): column for name, column in source.items()}
    end = sentence.line_end
    blank = ["_"] * size
    columns = [source.get(name, blank) for name in format.columns[1:-1]]
    # The last column is blank: no two formats that get here share it.
    rows = list(map("\t".join, zip(numbers[1:-1], *columns, ["_" + end] * size, strict=True)))
    other_lines = _lines_without_words(sentence)
    comments = [line for line in other_lines if line[0] == "#"] if format.has_ranges else []
    if report is not None:
        if not format.has_ranges:
            for line in other_lines:
                report.count_dropped(_line_kind(line))
            if " " in "".join(rows):
                report.words_with_spaces += sum(" " in row for row in rows)
        _count_dropped_cells(report, sentence, format, predicted)
    row_indices = range(len(comments), len(comments) + size)
    attributes = {name: source.get(name, blank) for name in format.attribute_columns}
    head = sentence.head if "head" in source else [-1] * size
    lines = [*comments, *rows, end]
    return Sentence(
        format, lines, row_indices, attributes, head=head, file=sentence.file, line=sentence.line,
        constituents=sentence.constituents,
    )  # fmt: skip


def with_global_columns(sentence: Sentence) -> Sentence:
    """Copy a sentence in CoNLL-U Plus with the comment `# global.columns` for the ten columns.

    It is the first line of a file. A sentence that has such a comment is returned itself.
    """
    if find_global_columns(sentence.lines):
        return sentence
    names = " ".join(sentence.format.columns).upper()
    return sentence.with_first_lines([f"# global.columns = {names}{sentence.line_end}"])


def with_predicted(sentence: Sentence, rewrite: bool = True) -> Sentence:
    """Copy the automatic columns of a CoNLL-09 sentence over its gold annotation.

    With `rewrite`, the sentence's lines are changed as well as its attributes; this is unnecessary
    if the sentence is converted to another format afterwards. A sentence in another format and a
    broken one are returned unchanged. An invalid PHEAD becomes the `problem` of the result.
    """
    if not sentence.format.has_argument_columns or sentence.problem:
        return sentence
    rows = [sentence.lines[row].split("\t", 13) for row in sentence.rows]
    table = list(zip(*rows, strict=True))
    columns = {
        gold: list(table[sentence.format.index(automatic)]) for gold, automatic in AUTOMATIC.items()
    }
    attributes = {name: getattr(sentence, name) for name in ATTRIBUTE_COLUMNS}
    head: Sequence[int] = sentence.head
    problem = None
    try:
        if rewrite:
            return sentence.with_columns(columns)
        head = parse_heads(columns["head"])
        attributes |= columns
    except HeadError as error:
        problem = FormatError(*sentence.location(error.word), f"P{error}")
    return Sentence(
        sentence.format, sentence.lines, sentence.rows, attributes, head=head, file=sentence.file,
        line=sentence.line, problem=problem, constituents=sentence.constituents,
    )  # fmt: skip


@lru_cache(maxsize=512)
def _number_texts(size: int) -> tuple[str, ...]:
    """Return the numbers from 0, the root's, to `size` as text, followed by `_`."""
    return (*map(str, range(size + 1)), "_")


def _lines_without_words(sentence: Sentence) -> list[str]:
    """Return comments, ranges, empty nodes and blank lines."""
    lines, rows = sentence.lines, sentence.rows
    first, last = rows[0], rows[-1]
    between: list[str] = []
    if last - first >= len(rows):
        words = set(rows)
        between = [lines[index] for index in range(first, last) if index not in words]
    return [*lines[:first], *between, *lines[last + 1 :]]


def _line_kind(line: str) -> str:
    """Return the kind of a line that is not a word, "" for a blank line or a byte order mark."""
    if line[0] == "#":
        return "comment"
    if line[0].isdigit():
        return "multiword range" if "-" in line.split("\t", 1)[0] else "empty node"
    return ""


def _count_further_values(sentence: Sentence) -> int:
    """Count the values in the columns that follow those of the format."""
    rows = [line.rstrip("\r\n").split("\t") for line in sentence.lines if line[:1].isdigit()]
    width = len(sentence.format.columns)
    return sum(cell != "_" for cells in rows for cell in cells[width:])


def _count_dropped_cells(
    report: ConversionReport, sentence: Sentence, format: Format, predicted: bool
) -> None:
    """Count the non-empty cells of the columns that the new format lacks, APREDs included."""
    first, names = _dropped_columns(sentence.format, format, predicted)
    rows = [sentence.lines[row] for row in sentence.rows]
    splits = rows[0].count("\t") + 1 - first
    columns = list(zip(*[row.rsplit("\t", splits) for row in rows], strict=True))[1:]
    for name, column in zip_longest(names, columns, fillvalue="argument"):
        report.count_dropped(name, len(column) - sum(map(column.count, _BLANK_CELLS)))


@lru_cache
def _dropped_columns(source: Format, target: Format, predicted: bool) -> tuple[int, list[str]]:
    """Find the columns of one format that another one lacks.

    Returns:
        The index of the first such column, and the display names of that column and all later
        ones, "" for the columns that are not lost.
    """
    predicted_columns = AUTOMATIC.values() if predicted and source.has_argument_columns else ()
    retained = {"id", *target.attribute_columns, *predicted_columns}
    first = next(index for index, name in enumerate(source.columns) if name not in retained)
    return first, [
        "" if name in retained else _DISPLAY_NAMES.get(name, name.upper())
        for name in source.columns[first:]
    ]
