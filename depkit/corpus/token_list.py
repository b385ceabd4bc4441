"""Conversion between sentences and the `TokenList`s of the `conllu` package."""

from collections.abc import Iterator, Sequence
from typing import Any

from conllu import TokenList
from conllu.exceptions import ParseException
from conllu.models import Metadata, Token
from conllu.parser import DEFAULT_FIELD_PARSERS
from conllu.serializer import serialize_field

from depkit.corpus.detection import find_global_columns
from depkit.corpus.formats import get_format
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import Sentence


def to_token_list(sentence: Sentence) -> TokenList:
    """Convert a sentence to the token list that the `conllu` package would read from its lines.

    All rows become tokens, including multiword ranges and empty nodes. Fields are numbers, dicts
    and tuples, but a cell that conllu's types cannot represent exactly (FEATS with a key twice,
    MISC `a=b=c`) remains a string. A comment without a value is a key with None. The APRED columns
    of CoNLL-09 are called apred1, apred2, ... The further columns of CoNLL-U Plus have the names,
    in lower case, of the comment `# global.columns`. In the sentences of a file after the first
    one, which do not have this comment, they are called column11, column12, ...

    A token list cannot represent, and therefore loses: all but the last of several comments with
    the same key, white space around keys and values of comments, blank lines, kinds of line ends,
    and a byte order mark. Raises the sentence's `problem` if it has one.
    """
    if sentence.problem:
        raise sentence.problem
    tokens, metadata = [], Metadata()
    fields = sentence.format.columns
    names = find_global_columns(sentence.lines)
    for line in sentence.lines:
        if line.startswith("#"):
            key, value = _split_comment(line)
            metadata[key] = value
        elif line[0].isdigit():
            cells = line.rstrip("\r\n").split("\t")
            fields = (*sentence.format.columns, *_further_names(sentence, names, len(cells)))
            tokens.append(Token(zip(fields, map(_parse_cell, fields, cells), strict=True)))
    return TokenList(tokens, metadata, default_fields=fields)


def _further_names(sentence: Sentence, names: Sequence[str], width: int) -> Iterator[str]:
    """Yield the names of the columns that follow those of the format.

    names: all names in `# global.columns`, if the sentence has this comment.
    """
    first = len(sentence.format.columns)
    for index in range(first, width):
        if sentence.format.has_argument_columns:
            yield f"apred{index - first + 1}"
        else:
            yield names[index] if index < len(names) else f"column{index + 1}"


def from_token_list(token_list: TokenList, format: str = "conllu") -> Sentence:
    r"""Convert a token list to a sentence with \n for line ends.

    A field that a token does not have becomes `_`. The format is named as for `read`. In CoNLL-U
    Plus, all other fields follow the ten columns in the order of the tokens. Raises FormatError,
    with "TokenList" as the file, if the tokens are not a sentence in the format, for example
    because of wrong ids, a tab in a field or a head outside of the sentence.
    """
    target_format = get_format(format)
    columns = list(target_format.columns)
    if target_format.has_argument_columns:
        extra = {name for token in token_list for name in token if name.startswith("apred")}
        columns += sorted(extra, key=lambda name: int(name.removeprefix("apred")))
    elif target_format.has_further_columns:
        names = dict.fromkeys(name for token in token_list for name in token)
        columns += [name for name in names if name not in columns]
    lines = [
        f"# {key} = {value}\n" if value else f"# {key}".rstrip() + "\n"
        for key, value in token_list.metadata.items()
    ]
    for token in token_list:
        lines.append("\t".join(_format_cell(token.get(name)) for name in columns) + "\n")
    for sentence in read_lines([*lines, "\n"], target_format, "TokenList"):
        return sentence
    raise ValueError("the token list has no tokens, so it is not a sentence")


def _split_comment(line: str) -> tuple[str, str | None]:
    """Split a comment into key and value; without a value, the whole comment is the key."""
    key, _, value = (part.strip() for part in line[1:].partition("="))
    return (key, value) if key and value else (line[1:].strip(), None)


def _parse_cell(name: str, cell: str) -> Any:
    """Parse a cell as conllu does; return the cell itself if conllu cannot restore it exactly."""
    if name not in DEFAULT_FIELD_PARSERS:
        return cell
    try:
        value = DEFAULT_FIELD_PARSERS[name]([cell], 0)
    except ParseException:
        return cell
    return value if serialize_field(value) == cell else cell


def _format_cell(value: Any) -> str:
    return "_" if value in (None, "", [], {}) else serialize_field(value)
