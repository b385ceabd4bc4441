"""Bracketed trees as the Penn Treebank writes them: Marcus et al. (1993), Bies et al. (1995)."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, open_lines
from depkit.corpus.sentence import BOM, Sentence, new_sentence
from depkit.corpus.tree import Tree

WRAPPERS = ("", "TOP", "ROOT", "S1")  # labels of the bracket around a whole tree
EMPTY = "-NONE-"  # the tag of traces and other empty elements

_BLANKS = " \t\r\n\f\v"  # alone: words may hold spaces beyond ASCII
# A word in its bracket; else an opening bracket with its label; else ) or text.
_TOKEN = re.compile(
    r"\(\s*+([^\s()]++)\s++([^\s()]++)\s*+\)|\(\s*+([^\s()]*+)|(\)|[^\s()]++)", re.ASCII
)
_OUTER = re.compile(r"\(\s*(TOP|ROOT|S1)?\s*(\(|$)", re.ASCII)  # begins a tree, no constituent
_ESCAPED = re.compile(r"\\([/*])")

Report = Callable[[FormatError], object]


def read_trees(
    source: PathLike | Iterable[str],
    encoding: str = "utf-8",
    strict: bool = True,
    report: Report | None = None,
) -> Iterator[Tree]:
    r"""The trees of a file, one by one, or of any iterable of lines.

    source: a path (`-` is stdin; .gz and .xz are unpacked) or lines. Empty elements are dropped
    with the constituents that they leave empty; a bracket around a whole tree (without a label,
    or TOP, ROOT, S1) is taken off; `\/` and `\*` are written `/` and `*`.
    Raises FormatError at a malformed tree, with the line of the place, or if strict is False
    hands it to `report` and goes on at the next line that can begin a tree; OSError;
    ValueError for an encoding that is not known.
    """
    if not isinstance(source, str | os.PathLike):
        yield from _trees(source, "-", strict, report)
        return
    path = os.fspath(source)
    try:
        with open_lines(path, encoding) as lines:
            yield from _trees(lines, path, strict, report)
    except UnicodeError as error:  # of encodings whose bytes cannot become surrogates
        raise FormatError(path, 0, "", f"{error}; name its own encoding, --encoding") from None


def read_bracketed(source: PathLike | Iterable[str], encoding: str = "utf-8") -> Iterator[Sentence]:
    """The trees of a file as CoNLL-U sentences: their words, tags (XPOS) and `constituents`.

    source, encoding and errors: as for `read_trees`. `Sentence.place()` is where the tree begins.
    """
    file = os.fspath(source) if isinstance(source, str | os.PathLike) else "-"
    for tree in read_trees(source, encoding):
        leaves = tree.leaves()
        tags = {"xpos": [leaf.name for leaf in leaves]}
        sentence = new_sentence([leaf.word for leaf in leaves], tags, constituents=tree)
        sentence.file, sentence.line = file, tree.line
        yield sentence


class _Problem(Exception):
    """line: the offending one's number."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Block(NamedTuple):
    """Lines that belong together; line: the number of the first; depth: brackets left open."""

    line: int
    text: str
    depth: int


def _trees(lines: Iterable[str], file: str, strict: bool, report: Report | None) -> Iterator[Tree]:
    for block in _joined(_blocks(lines), strict):
        try:
            yield from _parsed(block)
        except _Problem as problem:
            error = FormatError(file, problem.line, "", str(problem))
            if strict:
                raise error from None
            if report:
                report(error)


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    """Runs of lines up to the end of a tree, or to a line that begins as the first one does.

    Such a line, a bracket as far to the left, begins the next tree if the file is indented; so
    a tree that lacks a bracket takes no other one with it.
    """
    held: list[str] = []
    start = depth = column = 0
    for number, line in enumerate(lines, start=1):
        line = line.removeprefix(BOM) if number == 1 else line
        bare = line.lstrip(_BLANKS)
        if held and bare.startswith("(") and len(line) - len(bare) <= column:
            yield _Block(start, "\n".join(held), depth)
            held, depth = [], 0
        if not held:
            if not bare:
                continue
            start, column = number, len(line) - len(bare)
        held.append(line.removesuffix("\n"))
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield _Block(start, "\n".join(held), depth)
            held, depth = [], 0
    if held:
        yield _Block(start, "\n".join(held), depth)


def _joined(blocks: Iterator[_Block], strict: bool) -> Iterator[_Block]:
    """Blocks that are trees; in a file without indentation, one is made of several blocks.

    A tolerant reader tries that once: when it has seen a block that is a whole tree, or that
    cannot be made one, the file is an indented one and what is unfinished lacks a bracket.
    """
    indented = False
    ahead: deque[_Block] = deque()
    while block := (ahead.popleft() if ahead else next(blocks, None)):
        if block.depth > 0 and not indented:
            parts, depth = [block], block.depth
            while depth > 0 and (part := next(blocks, None)):
                parts.append(part)
                depth += part.depth
                if _OUTER.match(part.text):
                    break
            if depth <= 0:
                block = _one(parts)
            else:
                ahead = deque(parts[1:])
        indented = not strict
        yield block


def _one(parts: list[_Block]) -> _Block:
    """Blocks as one, with the blank lines that stood between them."""
    pieces: list[str] = []
    line = parts[0].line
    for part in parts:
        pieces.append("\n" * (part.line - line) + part.text)
        line = part.line + part.text.count("\n")
    return _Block(parts[0].line, "".join(pieces), sum(part.depth for part in parts))


def _parsed(block: _Block) -> Iterator[Tree]:
    """The trees of a block, one by one up to its first mistake. Raises _Problem."""
    if not block.text.isascii():
        _check_characters(block)
    text, line, place = block.text, block.line, 0
    stack: list[_Open] = []
    for match in _TOKEN.finditer(text):
        line += text.count("\n", place, match.start())
        place = match.start()
        tag, word, label, other = match.groups()
        if tag is not None:
            leaf = Tree(tag, (), _ESCAPED.sub(r"\1", word) if "\\" in word else word, line)
            if not stack:
                yield _whole(leaf)
            elif tag == EMPTY:
                stack[-1].full = True
            else:
                stack[-1].children.append(leaf)
        elif label is not None:
            if not label and stack:
                raise _Problem(line, "a bracket without a label inside a tree; does the tree"
                               f" that begins in line {stack[0].line} lack a bracket?")  # fmt: skip
            stack.append(_Open(label, line))
        elif other != ")":
            problem = "a word without a bracket and a tag of its own" if stack else "no tree"
            raise _Problem(line, f"{problem}: {other[:40]!r}; a word stands as (TAG word)")
        elif not stack:
            raise _Problem(line, "a closing bracket too many")
        else:
            done = stack.pop()
            if not done.children and not done.full:
                raise _Problem(line, "a bracket with nothing in it")
            if not stack:
                yield _whole(done.tree())
            elif done.children:
                stack[-1].children.append(done.tree())
            else:  # nothing but empty elements
                stack[-1].full = True
    if stack:
        end = block.line + text.count("\n")
        raise _Problem(stack[0].line, f"this tree is not finished by line {end}, its last;"
                       f" {len(stack)} closing brackets are missing")  # fmt: skip


@dataclass(slots=True)
class _Open:
    """A constituent that is being read; full: there is something in it, if only a trace."""

    name: str
    line: int
    children: list[Tree] = field(default_factory=list)
    full: bool = False

    def tree(self) -> Tree:
        return Tree(self.name, self.children, "", self.line)


def _whole(tree: Tree) -> Tree:
    """A tree that is complete, without the bracket around it. Raises _Problem if it is empty."""
    while tree.name in WRAPPERS and len(tree.children) == 1:
        tree = tree.children[0]
    if tree.name == EMPTY or not (tree.children or tree.word):
        raise _Problem(tree.line, "a tree without words")
    return tree


def _check_characters(block: _Block) -> None:
    """Undecodable bytes were smuggled through as surrogates. Raises _Problem at the first."""
    if found := re.search("[\ud800-\udfff]", block.text):
        line = block.line + block.text.count("\n", 0, found.start())
        byte = f"byte 0x{ord(found[0]) - 0xDC00:02X}" if found[0] >= "\udc80" else "a surrogate"
        raise _Problem(line, f"{byte} cannot be decoded; name the file's encoding, for example"
                       " --encoding latin-1")  # fmt: skip
