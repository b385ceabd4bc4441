"""Sentences as `conllu.TokenList` and back, for programs that speak the `conllu` package."""

from typing import Any

from conllu import TokenList
from conllu.exceptions import ParseException
from conllu.models import Metadata, Token
from conllu.parser import DEFAULT_FIELD_PARSERS
from conllu.serializer import serialize_field

from depkit.corpus.formats import named_format
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import Sentence


def to_token_list(sentence: Sentence) -> TokenList:
    """A sentence as the `conllu` package would read it: numbers, dicts and tuples for fields.

    All rows are tokens, multiword ranges and empty nodes too. Cells come back as they were:
    one that conllu's types do not hold exactly (FEATS with a key twice, MISC `a=b=c`) stays a
    string. A comment without a value is a key with None. The APRED columns of CoNLL-09 are
    called apred1, apred2, ...
    Lost are, for want of a place: of comments with the same key all but the last, white space
    around their keys and values, blank lines, line ends, a byte order mark.
    Raises the sentence's `problem` if it has one.
    """
    if sentence.problem:
        raise sentence.problem
    tokens, metadata = [], Metadata()
    fields = sentence.format.columns
    for line in sentence.lines:
        if line.startswith("#"):
            key, value = _comment(line)
            metadata[key] = value
        elif line[0].isdigit():
            cells = line.rstrip("\r\n").split("\t")
            predicates = range(1, len(cells) - len(sentence.format.columns) + 1)
            fields = (*sentence.format.columns, *(f"apred{number}" for number in predicates))
            tokens.append(Token(zip(fields, map(_value, fields, cells), strict=True)))
    return TokenList(tokens, metadata, default_fields=fields)


def from_token_list(token_list: TokenList, format: str = "conllu") -> Sentence:
    r"""The sentence of such tokens, with \n for line ends; a field that a token lacks is `_`.

    format: as for `read`. Raises FormatError, file "TokenList", for tokens that make no
    sentence of the format: wrong ids, a tab in a field, a head outside the sentence, ...
    """
    known = named_format(format)
    columns = list(known.columns)
    if known.repeats:
        extra = {name for token in token_list for name in token if name.startswith("apred")}
        columns += sorted(extra, key=lambda name: int(name.removeprefix("apred")))
    lines = [
        f"# {key} = {value}\n" if value else f"# {key}".rstrip() + "\n"
        for key, value in token_list.metadata.items()
    ]
    for token in token_list:
        lines.append("\t".join(_cell(token.get(name)) for name in columns) + "\n")
    for sentence in read_lines([*lines, "\n"], known, "TokenList"):
        return sentence
    raise ValueError("a token list without a token is no sentence")


def _comment(line: str) -> tuple[str, str | None]:
    """Key and value of a comment; one without a value is all key."""
    key, _, value = (part.strip() for part in line[1:].partition("="))
    return (key, value) if key and value else (line[1:].strip(), None)


def _value(name: str, cell: str) -> Any:
    """A cell as conllu reads it, if that gives back the cell when it is written."""
    if name not in DEFAULT_FIELD_PARSERS:
        return cell
    try:
        value = DEFAULT_FIELD_PARSERS[name]([cell], 0)
    except ParseException:
        return cell
    return value if serialize_field(value) == cell else cell


def _cell(value: Any) -> str:
    return "_" if value in (None, "", [], {}) else serialize_field(value)
