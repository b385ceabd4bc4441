"""Recognition of the format of a file by its first lines."""

import re
from collections.abc import Iterable, Sequence

from depkit.corpus.formats import CONLL09, CONLLU, CONLLUP, CONLLX, Format
from depkit.corpus.penn import remove_features
from depkit.corpus.universal import UPOS

_COARSE_TAGS = UPOS | {"CONJ", "_"}  # CONJ is a UPOS of Universal Dependencies version 1.
_NUMBER = re.compile("_|[0-9]+")
_UNIVERSAL_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(\[[a-z0-9]+\])?=[A-Z0-9]")
_GLOBAL_COLUMNS = re.compile(r"#\s*global\.columns\s*=(.*)")

# Two brackets open before there is any text. Text can begin with a single one: "(Reuters) ...".
_TREE = re.compile(r"\ufeff?\s*+\(\s*+[^\s()]*+\s*+(\(|$)")
# Text can also begin with two: "((a) and (b)) are both true.". In a tree, the first word has a tag,
# and no word stands by itself after a closing bracket.
_FIRST_WORD = re.compile(r"\ufeff?\s*+(?:\(\s*+[^\s()]*+\s*+)++(?:[^\s()]++\s*+[^\s()]*+\s*+\)|$)")
_TEXT_AFTER_BRACKET = re.compile(r"\)\s*+[^\s()]")
_FIRST_ROW = re.compile(r"(0\.1|1(-[0-9]+)?)(\t|( +\S+){7})")

Rows = Sequence[Sequence[str]]


def begins_with_bracket(text: str) -> bool:
    """Return whether the opening of a file of trees or tables is that of bracketed trees."""
    return text.lstrip("\ufeff \t\r\n\f\v").startswith("(")


def begins_with_tree(text: str) -> bool:
    """Return whether the opening of a file that may be text is that of trees, even with errors."""
    text = remove_features(text)
    is_text = not _FIRST_WORD.match(text) and _TEXT_AFTER_BRACKET.search(text)
    return bool(_TREE.match(text)) and not is_text


def begins_with_row(lines: Iterable[str]) -> bool:
    """Return whether the first line looks like a row of a CoNLL file, perhaps with errors."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return bool(_FIRST_ROW.match(first))


def sniff_format(lines: Iterable[str]) -> Format | None:
    """Recognise the format of a sentence from its lines; None if they match no format.

    A sentence with 14 columns or more is CoNLL-09 if its columns HEAD and PHEAD have numbers. A
    sentence with ten columns is CoNLL-X if column 9, which is PHEAD of CoNLL-X and DEPS of CoNLL-U,
    has bare numbers. Otherwise, it is CoNLL-U if it has comments, ranges, empty nodes, MISC with
    `Key=Value` or features in the manner of UD, or if all its coarse-grained tags are UPOS, and
    CoNLL-X if it has none of these. The comment `# global.columns` of CoNLL-U Plus is respected,
    see `find_plus_format`.
    """
    lines = [line.strip("\ufeff\r\n") for line in lines]
    if plus := find_plus_format(lines):
        return plus
    words = _find_words(lines)
    if not words or not all(row[0][:1].isdigit() for row in words):
        return None
    width = len(words[0])
    if width >= len(CONLL09.columns):
        is_predicate = _share(words, 12, re.compile("[_Y]"))
        return CONLL09 if _share(words, 8) > 0.5 < _share(words, 9) and is_predicate else None
    if width != len(CONLLU.columns):
        return None
    has_ranges = any("-" in row[0] or "." in row[0] for row in words)
    if not has_ranges and _share(words, 8) == 1.0 and any(row[8:9] != ["_"] for row in words):
        return CONLLX
    features = [row[5] for row in words if len(row) > 5 and "=" in row[5]]
    is_conllu = (
        has_ranges
        or any(line.startswith("#") for line in lines)
        or any(":" in row[8] for row in words if len(row) > 8)
        or any("=" in row[9][1:-1] for row in words if len(row) > 9)  # Key=Value in MISC
        or (features and all(map(_UNIVERSAL_FEATURE.match, features)))
        or all(row[3] in _COARSE_TAGS for row in words if len(row) > 3)
    )
    return CONLLU if is_conllu else CONLLX


def find_plus_format(lines: Iterable[str]) -> Format | None:
    """Return the format of a file of CoNLL-U Plus by its comment `# global.columns`.

    It is CoNLL-U or, with columns after the ten of CoNLL-U, CoNLL-U Plus. None if there is no such
    comment. Raises ValueError if the columns are others.
    """
    names = find_global_columns(lines)
    if not names:
        return None
    if names[: len(CONLLU.columns)] == CONLLU.columns:
        return CONLLU if len(names) == len(CONLLU.columns) else CONLLUP
    listed = " ".join(CONLLU.columns).upper()
    raise ValueError(
        "the file is in CoNLL-U Plus, of which depkit reads only files whose first columns"
        f" are {listed}; rearrange the columns and the comment # global.columns"
    )


def find_global_columns(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the names in the comment `# global.columns` in lower case, () if there is none."""
    for line in lines:
        if match := _GLOBAL_COLUMNS.match(line):
            return tuple(match[1].lower().split())
        if line[:1].isdigit():
            break
    return ()


def describe_foreign_format(lines: Iterable[str]) -> str:
    """Return the name of the format of a file if depkit knows but cannot read it, else ""."""
    lines = [line.strip("\ufeff\r\n") for line in lines]
    first = next(filter(str.strip, lines), "")
    for opening, name in (
        ("#SDP", "the format of semantic graphs of SemEval 2014 and 2015 (SDP)"),
        ("#begin document", "CoNLL-2012 (OntoNotes)"),
        ("-DOCSTART-", "CoNLL-2003"),
    ):
        if first.startswith(opening):
            return name
    words = _find_words(lines)
    width = len(words[0]) if words and words[0][0] == "1" else 0
    if len(set(map(len, words))) > 1 or any("\r" in line for line in lines):
        return ""  # The sentence is damaged, so that its columns say little.
    if width >= 7 and _share(words, 4, _SIGN) == _share(words, 5, _SIGN) == 1.0:
        return "the format of semantic graphs of SemEval 2014 and 2015 (SDP)"
    if width >= 11 and _share(words, 8) == 1.0 and _share(words, 9, _LABEL) > 0.5:
        return "CoNLL-2008"
    return ""


_SIGN = re.compile("[+-]")
_LABEL = re.compile(r"[^\W\d_].*")


def _find_words(lines: Iterable[str]) -> list[list[str]]:
    rows = [line.split("\t") for line in lines if line.strip()]
    return [row for row in rows if not row[0].startswith("#")]


def _share(rows: Rows, column: int, pattern: re.Pattern[str] = _NUMBER) -> float:
    """Return the share of rows that match a pattern in a column, by default a number or `_`."""
    return sum(bool(pattern.fullmatch("".join(row[column : column + 1]))) for row in rows) / len(
        rows
    )
