"""Reading of bracketed trees as in the Penn Treebank: Marcus et al. (1993), Bies et al. (1995)."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from depkit.corpus.cleaning import EMPTY, clean_tree
from depkit.corpus.penn import FEATURES, remove_features
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree, escape_brackets, tree_from_nodes
from depkit.files.encodings import BOM, NAME_ENCODING
from depkit.files.errors import FormatError
from depkit.files.limits import OBJECT, max_sentence, too_large

BLANKS = " \t\r\n\f\v"  # ASCII only, because words may contain other white space
_LABEL = rf"(?:[^\s()#]++(?:#[^\s()#]++)*+(?:{FEATURES})?+)?+[^\s()]*+"
# A match is a word with its tag in brackets, an opening bracket with its label, `)`, or text.
_TOKEN = re.compile(
    rf"\(\s*+((?![\s()]){_LABEL})\s++([^\s()]++)\s*+\)|\(\s*+({_LABEL})|(\)|[^\s()]++)", re.ASCII
)
# The parts of a word after its tag, such as a form and a lemma
_PARTS = re.compile(r"([^\s()]++(?:\s++[^\s()]++)++)\s*+\)", re.ASCII)
_OUTER = re.compile(r"\(\s*+(TOP|ROOT|S1)?\s*+(\(|$)", re.ASCII)  # the bracket around a whole tree


def read_groups(
    lines: Iterable[str], file: str = "-", strict: bool = True
) -> Iterator[list[Tree] | FormatError]:
    """Read trees without any loss, in groups that stand on the same lines.

    A group is a shortest sequence of whole lines in which all brackets are closed. It is one tree
    in most files, whether on a single line or on several lines.

    Args:
        lines: The lines of a file.
        file: The name of the file, for errors.
        strict: Whether a malformed tree raises FormatError after the trees before it. Otherwise
            the error is yielded, and reading continues at the next line that can begin a tree.

    Raises:
        FormatError: A tree is malformed; the error names its line and its number in the file.
    """
    number = 1
    for block in _join_blocks(_split_into_blocks(lines, file), strict):
        trees: list[Tree] = []
        problem = None
        try:
            _parse_block(block, trees)
        except _Problem as error:
            problem = FormatError(file, error.line, f"tree {number + len(trees)}", str(error))
        if trees:
            yield trees
        if problem and strict:
            raise problem
        if problem:
            yield problem
        number += len(trees) + (problem is not None)


def read_clean_trees(
    lines: Iterable[str], file: str = "-", strict: bool = True
) -> Iterator[Tree | FormatError]:
    """Read trees as `clean_tree` returns them; a tree without words is malformed.

    The arguments and errors are those of `read_groups`.
    """
    number = 0
    for group in read_groups(lines, file, strict):
        items: list[Tree] | list[FormatError] = [group] if isinstance(group, FormatError) else group
        for item in items:
            number += 1
            result = item if isinstance(item, FormatError) else clean_tree(item)
            if not result:
                result = FormatError(file, item.line, f"tree {number}", "the tree has no words")
                if strict:
                    raise result
            yield result


def read_sentences(
    lines: Iterable[str], file: str = "-", strict: bool = True
) -> Iterator[Sentence]:
    """Read trees as CoNLL-U sentences with words, tags as XPOS, and clean trees as `constituents`.

    `Sentence.location()` returns the line where a tree begins. The arguments and errors are those
    of `read_groups`, but if not strict, a malformed tree becomes a sentence of one unknown word,
    with its `problem`.
    """
    for tree in read_clean_trees(lines, file, strict):
        if isinstance(tree, FormatError):
            sentence = new_sentence(["_"])
            sentence.problem = tree
        else:
            leaves = tree.leaves()
            tags = {"xpos": [leaf.label for leaf in leaves]}
            sentence = new_sentence([leaf.form for leaf in leaves], tags, constituents=tree)
        sentence.file, sentence.line = file, tree.line
        yield sentence


def with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    """Return a copy of a clean tree with other tags of its words, in their order.

    Empty elements in its `source` keep their tags.
    """
    escaped = list(map(escape_brackets, tags))
    remaining = escaped.copy()
    nodes = [
        (node.name if node.children else remaining.pop(), len(node.children), node.word, node.line)
        for node in tree.nodes()  # siblings from right to left
    ]
    following = iter(escaped)

    def replace(match: re.Match[str]) -> str:
        if match[1] in (None, EMPTY):
            return match[0]
        start, end = (offset - match.start() for offset in match.span(1))
        return match[0][:start] + next(following) + match[0][end:]

    source = _TOKEN.sub(replace, tree.source)
    return tree_from_nodes(nodes, wrapper=tree.wrapper, source=source)


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
        stripped = line.lstrip(BLANKS)
        if pending and stripped.startswith("(") and len(line) - len(stripped) <= column:
            yield _Block(start, "\n".join(pending), depth)
            pending, depth = [], 0
        if not pending:
            if not stripped:
                continue
            start, column, size = line_number, len(line) - len(stripped), 0
        pending.append(line.removesuffix("\n"))
        bare = remove_features(line)
        opening = bare.count("(")
        size += len(line) + OBJECT * (1 + opening)
        if size > limit:
            raise too_large(file, line_number, "tree")
        depth += opening - bare.count(")")
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
                size += len(part.text) + OBJECT
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


def _parse_block(block: _Block, trees: list[Tree]) -> None:
    """Append the trees of a block to a list. Raises _Problem at the first error."""
    if not block.text.isascii():
        _check_characters(block)
    text, line, offset = block.text, block.line, 0
    several_lines = "\n" in text
    start = 0  # where the current tree begins
    stack: list[tuple[str, int, list[Tree]]] = []  # label, line and children of open constituents
    for match in _TOKEN.finditer(text):
        if several_lines:
            line += text.count("\n", offset, match.start())
            offset = match.start()
        tag, word, label, token = match.groups()
        if not stack:
            start = match.start()
        if label is not None:
            if not label and stack and (stack[-1][0] or stack[-1][2]):
                raise _Problem(line, "a bracket inside a tree has no label; the tree that begins"
                               f" in line {stack[0][1]} may lack a closing bracket")  # fmt: skip
            stack.append((label, line, []))
            continue
        if tag is not None:
            tree = Tree(tag, (), word, line)
        elif token != ")":
            problem = f"this text is not part of a tree: {token[:40]!r}"
            if stack:
                problem = f"a word has no tag: {token[:40]!r}"
                has_tag = stack[-1][0] and not stack[-1][2]
                if has_tag and (parts := _PARTS.match(text, match.start())):
                    word = f"({stack[-1][0]} {' '.join(parts[1].split())})"
                    problem = f"a word has {len(word.split())} parts: {word[:80]}"
            raise _Problem(line, f"{problem}; words are written as (TAG word)")
        elif not stack:
            raise _Problem(line, "there is a closing bracket too many")
        else:
            name, first_line, children = stack.pop()
            if name and not children:
                problem = f"a bracket has nothing in it but its label: ({name[:40]})"
                raise _Problem(line, f"{problem}; words are written as (TAG word)")
            tree = Tree(name, children, "", first_line)
        if stack:
            stack[-1][2].append(tree)
        else:
            tree_text = text[start : match.end()]
            # A line that begins with a bracket is joined to the one before it: in a file whose
            # other trees are indented, it would seem to begin a tree.
            tree.source = tree_text.replace("\r\n", "\n").replace("\n(", " (")
            tree.text = "" if several_lines and "\n" in tree_text else tree_text
            trees.append(tree)
    if stack:
        end = block.line + text.count("\n")
        raise _Problem(stack[0][1], "the tree that begins here is not finished; closing brackets"
                       f" are missing at the end of line {end}: {len(stack)}")  # fmt: skip


def _check_characters(block: _Block) -> None:
    """Raise _Problem at the first surrogate, which represents an undecodable byte."""
    if match := re.search("[\ud800-\udfff]", block.text):
        line = block.line + block.text.count("\n", 0, match.start())
        byte = f"byte 0x{ord(match[0]) - 0xDC00:02X}" if match[0] >= "\udc80" else "a surrogate"
        raise _Problem(line, f"{byte} cannot be decoded; {NAME_ENCODING}")
