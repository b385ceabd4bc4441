"""The comments beside the fields of dataclasses, which say what the fields mean.

A comment stands at the end of the lines of a field, or on the lines above it. There is no second
text about a field that could contradict the comment: what is shown to users is read from here.
"""

import ast
import importlib
import inspect
import io
import re
import tokenize
from functools import cache

_FOR_TOOLS = re.compile(r"#\s*+(?:type:|noqa|fmt:).*")  # comments that say nothing about a field


def field_comment(kind: type, name: str) -> str:
    """Return the comment of a field in one line; "" if there is none.

    If the class redefines the field of a base without a comment, that of the base counts.

    Raises OSError if there is no source of the class.
    """
    for base in inspect.getmro(kind):
        if name in vars(base).get("__annotations__", {}):
            comments = _read_comments(base.__module__)
            if text := comments.get(f"{base.__qualname__}.{name}"):
                return text
    return ""


@cache
def _read_comments(module: str) -> dict[str, str]:
    """Return the comments of all fields in a module, by `Class.field`."""
    source = inspect.getsource(importlib.import_module(module))
    own_lines: dict[int, str] = {}  # the comments that are alone on their lines
    line_ends: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = _FOR_TOOLS.sub("", token.string).removeprefix("#").strip()
            is_alone = not token.line[: token.start[1]].strip()
            (own_lines if is_alone else line_ends)[token.start[0]] = text
    comments = {}
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    for node in classes:
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                first, last = field.lineno, field.end_lineno or field.lineno
                above = first
                while above - 1 in own_lines:
                    above -= 1
                lines = [own_lines[line] for line in range(above, first)]
                lines += [line_ends.get(line, "") for line in range(first, last + 1)]
                comments[f"{node.name}.{field.target.id}"] = " ".join(filter(None, lines))
    return comments
