"""No regular expression of the package needs quadratic time or much memory, whatever the text is.

The patterns are found in the source. Each is run on long repetitions of its own characters, and on
some more. Quadratic matching would need a hundred times the processor time that is allowed here,
and linear matching needs a hundredth of it, so the speed of the machine does not matter.
"""

import ast
import importlib
import re
import signal
import tracemalloc
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants as codes
from re import _parser as parser

import pytest

import depkit
from depkit.corpus import blocks
from depkit.corpus.emoji import EMOJI

ROOT = Path(depkit.__file__).parent
SEARCHING = {"search", "finditer", "findall", "sub", "subn", "split"}
MATCHING = {"match", "fullmatch"}
SIZE = 20_000  # characters of a repetition
SECONDS = 0.1  # of processor time
BYTES = 100  # of memory for each character; the list of all matches is counted, too
# Patterns that functions compute, by the file and the source of the expression
COMPUTED = {
    ("training/text_variants.py", "pattern"): [
        rf"(?<![^\W\d_])[^\W\d_]+{re.escape(mark)}[^\W\d_]+\W*" for mark in "/("
    ],
    ("corpus/text.py", "pattern"): [
        rf"{EMOJI}|\w[\w\u0301\u200d]*(?:[-'’.]\w[\w\u0301\u200d]*)*|[^\w\s]"
    ],
    ("corpus/blocks.py", "pattern"): [
        pattern for pattern, *_ in (blocks._ROWS, *blocks._SEPARATORS.values())
    ],
    (
        "serving/forms.py",
        "b'(?:\\\\A|\\\\r?\\\\n)--' + re.escape(boundary) + b'(--)?[ \\\\t]*(?:\\\\r?\\\\n|\\\\Z)'",
    ): [rb"(?:\A|\r?\n)--boundary(--)?[ \t]*(?:\r?\n|\Z)"],
    (
        "parsers/text/rules.py",
        "f'(?<!\\\\w)(?:{never_cut})(?!\\\\w)"
        "|(?<=[^\\\\W\\\\d_])({first})(?=(?:{second}){{0,2}}(?![\\\\w‐‑-]))'",
    ): [
        r"(?<!\w)(?:rendez[-‐‑]vous)(?!\w)|(?<=[^\W\d_])([-‐‑]t[-‐‑]il|(?<=t)[-‐‑]il|[-‐‑]le|[-‐‑]la)"
        r"(?=(?:[-‐‑]t[-‐‑]il|[-‐‑]il|[-‐‑]le|[-‐‑]la){0,2}(?![\w‐‑-]))"
    ],
}  # fmt: skip


@cache
def trees() -> dict[str, ast.Module]:
    paths = sorted(ROOT.rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


@cache
def methods(name: str) -> set[str]:
    """Return the methods of `re` that are used of a name anywhere in the package."""
    found = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in SEARCHING | MATCHING:
                value = node.value
                if getattr(value, "attr", getattr(value, "id", "")) == name:
                    found.add(node.attr)
    return found or {"search"}


def computed_in_functions(file: str, tree: ast.Module) -> Iterator[tuple[object, str]]:
    """Yield the patterns, and the methods, of `re.match(pattern, ...)` and the like."""
    module_level = {id(node) for top in tree.body for node in _outside_functions(top)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in {*SEARCHING, *MATCHING, "compile"}
            and id(node) not in module_level
        ):
            method = "search" if node.func.attr == "compile" else node.func.attr
            pattern = node.args[0]
            if isinstance(pattern, ast.Constant):
                yield pattern.value, method
            else:
                for text in COMPUTED[file, ast.unparse(pattern)]:
                    yield text, method


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def all_patterns() -> list[tuple[str, re.Pattern, str]]:
    """Return (file and name, pattern, method) of all patterns of the package."""
    found: dict[tuple[object, str], tuple[str, re.Pattern, str]] = {}
    for file, tree in trees().items():
        if file.endswith("__main__.py"):
            continue
        name = f"depkit/{file}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        module = importlib.import_module(name)
        named = [
            (value, method, name)
            for name, value in vars(module).items()
            if isinstance(value, re.Pattern)
            for method in sorted(methods(name))
        ]
        inline = [
            (re.compile(text), method, "") for text, method in computed_in_functions(file, tree)
        ]
        for pattern, method, name in [*named, *inline]:
            method = method if method in MATCHING else "finditer"
            found.setdefault((pattern, method), (f"{file} {name}".strip(), pattern, method))
    return list(found.values())


PATTERNS = all_patterns()


def alphabet(pattern: re.Pattern) -> list[str]:
    """Return characters that a pattern distinguishes, the first eight, and three others."""
    found: dict[str, None] = {}
    sample = {codes.CATEGORY_SPACE: " ", codes.CATEGORY_DIGIT: "1", codes.CATEGORY_WORD: "a"}

    def visit(item: object) -> None:
        if not isinstance(item, tuple | list | parser.SubPattern):
            return
        for part in item:
            if isinstance(part, tuple) and len(part) == 2:
                kind, value = part
                if kind in (codes.LITERAL, codes.NOT_LITERAL):
                    found[chr(value)] = None
                elif kind is codes.RANGE:
                    found[chr(value[0])] = None
                elif kind is codes.CATEGORY:
                    found[sample.get(value, " ")] = None
            visit(part)

    visit(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    return list(dict.fromkeys([*list(found)[:8], " ", "a", "\n"]))


def texts(pattern: re.Pattern) -> Iterator[tuple[str | bytes, bool]]:
    """Yield repetitions of one or two characters between others, and whether they are alone."""
    chars = alphabet(pattern)
    units = [*chars, *("".join(pair) for pair in product(chars[:3], repeat=2))]
    for start, unit, end in product(["", *chars[:3]], units, ["", "\1"]):
        text = start + unit * (SIZE // len(unit)) + end
        alone = not start and not end
        yield text.encode("latin-1") if isinstance(pattern.pattern, bytes) else text, alone


class TooLong(Exception):
    pass


def _give_up(*_):
    raise TooLong


@pytest.mark.parametrize(
    ("pattern", "method"),
    [row[1:] for row in PATTERNS],
    ids=[f"{name} {method}" for name, _, method in PATTERNS],
)
def test_a_pattern_needs_linear_time_and_little_memory(pattern, method):
    def run(text):
        result = getattr(pattern, method)(text)
        if method == "finditer":
            deque(result, maxlen=0)

    previous = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for text, alone in texts(pattern):
            shown = f"{text[:5]!r}...{text[-3:]!r}"
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                run(text)
            except TooLong:
                pytest.fail(f"{method} of {pattern.pattern!r} takes long on {shown}")
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if alone:
                tracemalloc.start()
                run(text)
                used = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert used < BYTES * SIZE, shown
    finally:
        signal.signal(signal.SIGVTALRM, previous)


@pytest.mark.parametrize("text", [r"\(\s*(TOP)?\s*(\(|$)", r"(?:[ab]*c)*d", r"\s+$"])
def test_quadratic_patterns_are_found(text):
    with pytest.raises(pytest.fail.Exception):
        test_a_pattern_needs_linear_time_and_little_memory(re.compile(text), "finditer")


def test_the_patterns_of_the_package_are_found():
    names = {name for name, _, _ in PATTERNS}
    assert {"corpus/brackets.py _OUTER", "parsers/settings.py _LONG_KEY"} <= names
    assert len(PATTERNS) > 50
