"""From one tabular format to another: what stands where, and what has no place.

| CoNLL-U | CoNLL-X | CoNLL-09 |
|---|---|---|
| FORM, LEMMA, FEATS, HEAD, DEPREL | the same | the same (FEAT) |
| UPOS | CPOSTAG | - |
| XPOS | POSTAG | POS |
| comments, ranges, empty nodes, DEPS, MISC | - | - |
| - | PHEAD, PDEPREL (a projective tree) | - |
| - | - | PLEMMA, PPOS, PFEAT, PHEAD, PDEPREL (automatic), FILLPRED, PRED, APREDs |

What has no place is counted and left out; what no column gives is `_`. Cells are copied as they
are: tags and features are not translated, and spaces stay, though CoNLL-X and CoNLL-09 have none.
A sentence that is in the right format already is not touched.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import HELD, Format
from depkit.corpus.sentence import HeadError, Sentence, parse_heads

# CoNLL-09's automatic column beside each column of annotation.
AUTOMATIC = {
    "lemma": "plemma", "xpos": "pxpos", "feats": "pfeats", "head": "phead", "deprel": "pdeprel",
}  # fmt: skip
_NAMES = {"upos": "coarse tag", "pxpos": "PPOS", "pfeats": "PFEAT", "pred": "predicate"}
_LINES = ("comment", "multiword range", "empty node")
_BLANKS = ("_", "_\n", "_\r\n")  # as a row's last cell, too


@dataclass
class Account:
    """What became of sentences on their way to another format.

    dropped: what that one cannot hold, by name; spaced: words in whose rows spaces stand, where
    the format has none; stale: DEPS that a merged tree made `_`.
    """

    dropped: Counter[str] = field(default_factory=Counter)
    spaced: int = 0
    stale: int = 0

    def drop(self, name: str, count: int = 1) -> None:
        """Count things of a name, if they have one."""
        if count and name:
            self.dropped[name] += count

    def notes(self, format: str) -> list[str]:
        """What is worth telling, a line each."""
        notes = []
        if self.stale:
            notes.append(f"{self.stale} DEPS of trees that are others now became _")
        if self.dropped:
            things = [
                f"{count} {name}s" if count > 1 and name.islower() else f"{count} {name}"
                for name in dict.fromkeys([*_LINES, *self.dropped])
                if (count := self.dropped[name])
            ]
            notes.append(f"{format} cannot hold {', '.join(things)}")
        if self.spaced:
            some = f"{self.spaced} word{'s' * (self.spaced > 1)}"
            notes.append(f"{format} has no spaces in its columns; {some} kept theirs")
        return notes


def convert(
    sentence: Sentence, format: Format, predicted: bool = False, account: Account | None = None
) -> Sentence:
    r"""A sentence in another format; the table above tells what stands where.

    predicted: CoNLL-09's automatic columns are meant: they are written instead of the others, and
    it is no loss to leave them out (`with_predicted` reads them). account: where to count what
    is left out. Line ends are kept, further blank lines are not.
    Raises the sentence's `problem` if it has one.
    """
    if sentence.problem:
        raise sentence.problem
    if sentence.format.name == format.name:
        return sentence
    size = len(sentence)
    texts = _texts(size)  # of HEAD: -1 is the last
    given = {
        "form": sentence.form, "lemma": sentence.lemma, "upos": sentence.upos,
        "xpos": sentence.xpos, "feats": sentence.feats,
        "head": [texts[head] for head in sentence.head], "deprel": sentence.deprel,
    }  # fmt: skip
    if predicted and format.repeats:
        given = {AUTOMATIC.get(name, name): column for name, column in given.items()}
    end = "\r\n" if sentence.lines[sentence.rows[0]].endswith("\r\n") else "\n"
    blank = ["_"] * size
    columns = [given.get(name, blank) for name in format.columns[1:-1]]
    # no two formats share their last column, so that it is blank
    rows = list(map("\t".join, zip(texts[1:-1], *columns, ["_" + end] * size, strict=True)))
    others = _others(sentence)
    comments = [line for line in others if line[0] == "#"] if format.spans else []
    if account is not None:
        if not format.spans:
            for line in others:
                account.drop(_kind(line))
            if " " in "".join(rows):
                account.spaced += sum(" " in row for row in rows)
        _count_dropped(account, sentence, format, predicted)
    places = range(len(comments), len(comments) + size)
    held = {name: given.get(name, blank) for name in format.held}
    head = sentence.head if "head" in given else [-1] * size
    lines = [*comments, *rows, end]
    return Sentence(
        format, lines, places, held, head, sentence.file, sentence.line,
        constituents=sentence.constituents,
    )  # fmt: skip


def with_predicted(sentence: Sentence, rewrite: bool = True) -> Sentence:
    """A CoNLL-09 sentence with its automatic columns copied over those of the annotation.

    rewrite: in its lines, too, which a sentence that becomes another format does not need.
    A sentence in another format, or a broken one, is not touched. A PHEAD that is none becomes
    the sentence's `problem`.
    """
    if not sentence.format.repeats or sentence.problem:
        return sentence
    rows = [sentence.lines[row].split("\t", 13) for row in sentence.rows]
    table = list(zip(*rows, strict=True))
    columns = {to: list(table[sentence.format.index(by)]) for to, by in AUTOMATIC.items()}
    held = {name: getattr(sentence, name) for name in HELD}
    head, problem = sentence.head, None
    try:
        if rewrite:
            return sentence.with_columns(columns)
        head = parse_heads(columns["head"])
        held |= columns
    except HeadError as error:
        problem = FormatError(*sentence.place(error.word), f"P{error}")
    return Sentence(
        sentence.format, sentence.lines, sentence.rows, held, head, sentence.file, sentence.line,
        problem, sentence.constituents,
    )  # fmt: skip


@lru_cache(maxsize=512)
def _texts(size: int) -> tuple[str, ...]:
    """The numbers of so many words behind that of the root, and `_` at the end."""
    return (*map(str, range(size + 1)), "_")


def _others(sentence: Sentence) -> list[str]:
    """The lines that are no words: comments, ranges, empty nodes, blank lines."""
    lines, rows = sentence.lines, sentence.rows
    first, last = rows[0], rows[-1]
    between: list[str] = []
    if last - first >= len(rows):
        words = set(rows)
        between = [lines[place] for place in range(first, last) if place not in words]
    return [*lines[:first], *between, *lines[last + 1 :]]


def _kind(line: str) -> str:
    """What a line that is no word is; "" if it holds nothing."""
    if line[0] == "#":
        return "comment"
    if line[0].isdigit():
        return "multiword range" if "-" in line.split("\t", 1)[0] else "empty node"
    return ""


def _count_dropped(account: Account, sentence: Sentence, format: Format, predicted: bool) -> None:
    """Count the cells of columns that the format has not, APREDs too."""
    first, lost = _lost(sentence.format, format, predicted)
    rows = [sentence.lines[row] for row in sentence.rows]
    cut = rows[0].count("\t") + 1 - first
    columns = list(zip(*[row.rsplit("\t", cut) for row in rows], strict=True))[1:]
    for name, column in zip_longest(lost, columns, fillvalue="argument"):
        account.drop(name, len(column) - sum(map(column.count, _BLANKS)))


@lru_cache
def _lost(source: Format, target: Format, predicted: bool) -> tuple[int, list[str]]:
    """The place of the first column that has none in the target.

    And the names of the columns from there on, "" for those that have one, or are not meant.
    """
    meant = AUTOMATIC.values() if predicted and source.repeats else ()
    kept = {"id", *target.held, *meant}
    first = next(place for place, name in enumerate(source.columns) if name not in kept)
    names = source.columns[first:]
    return first, ["" if name in kept else _NAMES.get(name, name.upper()) for name in names]
