"""The page of the Python API: the signatures and docstrings of the public names."""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from html import escape
from importlib import import_module
from textwrap import dedent
from typing import Any

from depkit.cli.site.markdown import make_block, render_blocks, render_code, render_inline
from depkit.cli.site.page import Entry, Page
from depkit.convert.treebank import convert

# The public methods of a class that are for users; by default all that have a docstring.
_METHODS = {"Parser": ("parse", "tag", "read")}
_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")
_NAME = re.compile(r"[A-Za-z_][\w.]*+")  # such as depkit.corpus.sentence.Sentence
_PROPERTIES = (property, cached_property)
_WIDTH = 90  # characters of a signature in one line


def make_page() -> Page:
    """Return the page of the public names: functions, then classes, then errors."""
    # By name, because the layers of the package let no module of cli import the package as a whole.
    package = import_module("depkit")
    names = [name for name in package.__all__ if not name.startswith("_")]
    objects = {name: _find(package, name) for name in names}
    kinds = {name: _kind(each) for name, each in objects.items()}
    lines = ["<h1>Python</h1>", _render_docstring(inspect.getdoc(package) or "")]
    entries = []
    for kind, title in (("function", "Functions"), ("class", "Classes"), ("error", "Errors")):
        lines.append(f'<h2 id="{title.lower()}">{title}</h2>')
        for name in (name for name in names if kinds[name] == kind):
            for qualified, each in [(name, objects[name]), *_methods(name, objects[name], kind)]:
                lines.append(_render_object(qualified, each))
                text = (inspect.getdoc(each) or "").partition("\n")[0]
                entries.append(Entry(f"depkit.{qualified}", "Python", f"depkit.{qualified}", text))
    return Page("api", "Python", "\n".join(lines), "Reference", "", entries)


def _find(package: Any, name: str) -> Any:
    """Return a public object; depkit.convert is a package that is called like its function."""
    found = getattr(package, name)
    return convert if inspect.ismodule(found) else found


def _kind(found: Any) -> str:
    if not inspect.isclass(found):
        return "function"
    return "error" if issubclass(found, Exception) else "class"


def _methods(name: str, owner: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the methods and properties of a class that has any, with their names."""
    if kind != "class":
        return
    for key, value in vars(owner).items():
        each = getattr(value, "__func__", value)  # a class method
        is_known = callable(each) or isinstance(each, _PROPERTIES)
        if is_known and not key.startswith("_") and each.__doc__:
            if key in _METHODS.get(name, (key,)):
                yield f"{name}.{key}", each


def _render_object(name: str, each: Any) -> str:
    text = inspect.getdoc(each) or ""
    return f'<h3 id="depkit.{name}"><code>depkit.{name}</code></h3>\n' + "\n".join(
        [_render_signature(name, each), _render_docstring(text)]
    )


def _render_signature(name: str, each: Any) -> str:
    """Return the signature without the modules of types; a long one has a line a parameter."""
    if isinstance(each, _PROPERTIES) or inspect.isclass(each):  # users do not make these objects
        return ""
    signature = inspect.signature(each)
    parameters = [
        parameter.replace(annotation=_unquote(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    result = _unquote(signature.return_annotation)
    text = _shorten(signature.replace(parameters=parameters, return_annotation=result))
    if len(name + text) > _WIDTH:
        texts = list(map(_shorten, parameters))
        kinds = [parameter.kind for parameter in parameters]
        if parameters[0].KEYWORD_ONLY in kinds and parameters[0].VAR_POSITIONAL not in kinds:
            texts.insert(kinds.index(parameters[0].KEYWORD_ONLY), "*")
        result = text.rpartition(" -> ")[2] if " -> " in text else ""
        lines = "".join(f"    {line},\n" for line in texts)
        text = f"(\n{lines})" + f" -> {result}" * bool(result)
    return render_code(name + text)


class _Annotation(str):
    """An annotation that is written as a string, and shown like others."""

    __repr__ = str.__str__


def _unquote(annotation: Any) -> Any:
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def _shorten(signature: Any) -> str:
    """Return the text of a signature without the modules of types."""
    return _NAME.sub(lambda match: match[0].rpartition(".")[2], str(signature))


def _render_docstring(text: str) -> str:
    """Return the HTML of a docstring in Google's style, with its examples."""
    return "\n".join(_render_paragraph(part) for part in re.split(r"\n\s*\n", text) if part)


def _render_paragraph(text: str) -> str:
    first, _, rest = text.partition("\n")
    if first.removesuffix(":") in _SECTIONS and first.endswith(":"):
        items = re.split(r"\n(?=\S)", dedent(rest))
        return f"<h4>{first.removesuffix(':')}</h4>\n<dl>{''.join(map(_render_item, items))}</dl>"
    if first.lstrip().startswith(">>>"):
        return render_code(dedent(text))
    return render_blocks([make_block(text.splitlines())], {}, _find_target)


def _find_target(code: str) -> str:
    """Return the address of a public name on the page, "" for other code."""
    name = code.removeprefix("depkit.").partition("(")[0]
    return f"#depkit.{name}" if name in import_module("depkit").__all__ else ""


def _render_item(text: str) -> str:
    name, colon, meaning = " ".join(text.split()).partition(": ")
    if not colon:
        return f"<dd>{render_inline(name)}</dd>"
    return f"<dt><code>{escape(name)}</code></dt><dd>{render_inline(meaning, _find_target)}</dd>"
