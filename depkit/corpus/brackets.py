"""Reading of bracketed trees as in the Penn Treebank: Marcus et al. (1993), Bies et al. (1995)."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, open_lines
from depkit.corpus.limits import max_sentence, too_large
from depkit.corpus.sentence import BOM, Sentence, new_sentence
from depkit.corpus.tree import Tree

WRAPPERS = ("", "TOP", "ROOT", "S1")  # labels of a bracket around a whole tree
EMPTY = "-NONE-"  # the tag of traces and other empty elements

_BLANKS = " \t\r\n\f\v"  # ASCII only, because words may contain other white space
# A match is a word with its tag in brackets, an opening bracket with its label, `)`, or text.
_TOKEN = re.compile(
    r"\(\s*+([^\s()]++)\s++([^\s()]++)\s*+\)|\(\s*+([^\s()]*+)|(\)|[^\s()]++)", re.ASCII
)
_OUTER = re.compile(r"\(\s*(TOP|ROOT|S1)?\s*(\(|$)", re.ASCII)  # the bracket around a whole tree
_ESCAPED = re.compile(r"\\([/*])")

Report = Callable[[FormatError], object]


def read_trees(
    source: PathLike | Iterable[str],
    encoding: str = "utf-8",
    strict: bool = True,
    report: Report | None = None,
) -> Iterator[Tree]:
    r"""Read the trees of a file or of an iterable of lines, one by one.

    Empty elements are dropped, and so are constituents that contain nothing else. A bracket around
    a whole tree (without a label, or labelled TOP, ROOT or S1) is removed. `\/` and `\*` are read
    as `/` and `*`.

    Args:
        source: A path (`-` is stdin; .gz and .xz are unpacked) or lines.
        encoding: The text encoding of a file.
        strict: Whether a malformed tree raises FormatError. Otherwise reading continues at the
            next line that can begin a tree.
        report: If not strict, a function that is called with the FormatError of each malformed
            tree.

    Raises:
        FormatError: A tree is malformed; the error names its line.
        OSError: The file cannot be read.
        ValueError: The encoding is unknown.
    """
    if not isinstance(source, str | os.PathLike):
        yield from _parse_lines(source, "-", strict, report)
        return
    path = os.fspath(source)
    try:
        with open_lines(path, encoding) as lines:
            yield from _parse_lines(lines, path, strict, report)
    except UnicodeError as error:  # from encodings whose bytes cannot become surrogates
        message = f"the file cannot be decoded: {error}; name its encoding with --encoding"
        raise FormatError(path, 0, "", message) from None


def read_bracketed(source: PathLike | Iterable[str], encoding: str = "utf-8") -> Iterator[Sentence]:
    """Read trees as CoNLL-U sentences with words, tags as XPOS, and `constituents`.

    The arguments and errors are those of `read_trees`. `Sentence.location()` returns the line where
    a tree begins.
    """
    file = os.fspath(source) if isinstance(source, str | os.PathLike) else "-"
    for tree in read_trees(source, encoding):
        leaves = tree.leaves()
        tags = {"xpos": [leaf.name for leaf in leaves]}
        sentence = new_sentence([leaf.word for leaf in leaves], tags, constituents=tree)
        sentence.file, sentence.line = file, tree.line
        yield sentence


class _Problem(Exception):
    """A malformed tree whose error is in the line with the number `line`."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Block(NamedTuple):
    """Lines that belong together."""

    line: int  # the number of the first line
    text: str
    depth: int  # the number of brackets that are still open at the end


def _parse_lines(
    lines: Iterable[str], file: str, strict: bool, report: Report | None
) -> Iterator[Tree]:
    for block in _join_blocks(_split_into_blocks(lines, file), strict):
        try:
            yield from _parse_block(block)
        except _Problem as problem:
            error = FormatError(file, problem.line, "", str(problem))
            if strict:
                raise error from None
            if report:
                report(error)


def _split_into_blocks(lines: Iterable[str], file: str) -> Iterator[_Block]:
    """Cut lines at the end of each tree, and before lines that look like the beginning of one.

    In an indented file, a line that begins with a bracket at least as far to the left as the first
    line begins the next tree. Because of this cut, a missing bracket affects only one tree. Raises
    FormatError for a tree that is too large, see `limits`.
    """
    pending: list[str] = []
    start = depth = column = size = 0
    limit = max_sentence()
    for line_number, line in enumerate(lines, start=1):
        line = line.removeprefix(BOM) if line_number == 1 else line
        stripped = line.lstrip(_BLANKS)
        if pending and stripped.startswith("(") and len(line) - len(stripped) <= column:
            yield _Block(start, "\n".join(pending), depth)
            pending, depth = [], 0
        if not pending:
            if not stripped:
                continue
            start, column, size = line_number, len(line) - len(stripped), 0
        pending.append(line.removesuffix("\n"))
        size += len(line)
        if size > limit:
            raise too_large(file, line_number, "tree")
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield _Block(start, "\n".join(pending), depth)
            pending, depth = [], 0
    if pending:
        yield _Block(start, "\n".join(pending), depth)


def _join_blocks(blocks: Iterator[_Block], strict: bool) -> Iterator[_Block]:
    """Join unfinished blocks into whole trees, for files whose trees are not indented.

    If not strict, joining is tried for the first block only. If that block is a whole tree, or
    cannot be completed, the file is indented and every unfinished block lacks a bracket. Joining
    ends at the size of the largest possible tree.
    """
    indented, limit = False, max_sentence()
    ahead: deque[_Block] = deque()
    while block := (ahead.popleft() if ahead else next(blocks, None)):
        if block.depth > 0 and not indented:
            parts, depth, size = [block], block.depth, 0
            while depth > 0 and size <= limit and (part := next(blocks, None)):
                parts.append(part)
                depth += part.depth
                size += len(part.text)
                if _OUTER.match(part.text):
                    break
            if depth <= 0:
                block = _merge_blocks(parts)
            else:
                ahead = deque(parts[1:])
        indented = not strict
        yield block


def _merge_blocks(parts: list[_Block]) -> _Block:
    """Merge consecutive blocks into one, with the blank lines between them."""
    texts: list[str] = []
    line = parts[0].line
    for part in parts:
        texts.append("\n" * (part.line - line) + part.text)
        line = part.line + part.text.count("\n")
    return _Block(parts[0].line, "".join(texts), sum(part.depth for part in parts))


def _parse_block(block: _Block) -> Iterator[Tree]:
    """Parse the trees of a block one by one. Raises _Problem at the first error."""
    if not block.text.isascii():
        _check_characters(block)
    text, line, offset = block.text, block.line, 0
    stack: list[_OpenConstituent] = []
    for match in _TOKEN.finditer(text):
        line += text.count("\n", offset, match.start())
        offset = match.start()
        tag, word, label, token = match.groups()
        if tag is not None:
            leaf = Tree(tag, (), _ESCAPED.sub(r"\1", word) if "\\" in word else word, line)
            if not stack:
                yield _strip_wrapper(leaf)
            elif tag == EMPTY:
                stack[-1].has_empty_element = True
            else:
                stack[-1].children.append(leaf)
        elif label is not None:
            if not label and stack:
                raise _Problem(line, "a bracket inside a tree has no label; the tree that begins"
                               f" in line {stack[0].line} may lack a closing bracket")  # fmt: skip
            stack.append(_OpenConstituent(label, line))
        elif token != ")":
            problem = "a word has no tag" if stack else "this text is not part of a tree"
            raise _Problem(line, f"{problem}: {token[:40]!r}; words are written as (TAG word)")
        elif not stack:
            raise _Problem(line, "there is a closing bracket too many")
        else:
            closed = stack.pop()
            if not closed.children and not closed.has_empty_element:
                raise _Problem(line, "a bracket has nothing in it")
            if not stack:
                yield _strip_wrapper(closed.tree())
            elif closed.children:
                stack[-1].children.append(closed.tree())
            else:  # The constituent consists of empty elements and is dropped.
                stack[-1].has_empty_element = True
    if stack:
        end = block.line + text.count("\n")
        raise _Problem(stack[0].line, "the tree that begins here is not finished; closing brackets"
                       f" are missing at the end of line {end}: {len(stack)}")  # fmt: skip


@dataclass(slots=True)
class _OpenConstituent:
    """A constituent whose closing bracket has not been read yet."""

    name: str
    line: int
    children: list[Tree] = field(default_factory=list)
    has_empty_element: bool = False  # whether an empty element was dropped from it

    def tree(self) -> Tree:
        return Tree(self.name, self.children, "", self.line)


def _strip_wrapper(tree: Tree) -> Tree:
    """Remove the bracket around a complete tree. Raises _Problem if there are no words."""
    while tree.name in WRAPPERS and len(tree.children) == 1:
        tree = tree.children[0]
    if tree.name == EMPTY or not (tree.children or tree.word):
        raise _Problem(tree.line, "a tree has no words")
    return tree


def _check_characters(block: _Block) -> None:
    """Raise _Problem at the first surrogate, which represents an undecodable byte."""
    if match := re.search("[\ud800-\udfff]", block.text):
        line = block.line + block.text.count("\n", 0, match.start())
        byte = f"byte 0x{ord(match[0]) - 0xDC00:02X}" if match[0] >= "\udc80" else "a surrogate"
        raise _Problem(line, f"{byte} cannot be decoded; name the file's encoding, for example"
                       " --encoding latin-1")  # fmt: skip
