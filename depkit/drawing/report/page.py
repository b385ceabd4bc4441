"""A report as one HTML file that loads nothing: template, style, script and data in one text."""

import html
import json
import os
from importlib import resources
from typing import Any, NamedTuple

from depkit.files.digest import digest_inline
from depkit.files.terminal import escape_controls

# The characters of JSON that mean something in HTML. ASCII JSON has no others.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&"})


class _Kind(NamedTuple):
    """The title of a kind of page, and the files of its script, in the order in which they run."""

    title: str
    scripts: tuple[str, ...]


_SYSTEMS = ("elements", "charts", "scores", "list", "drawing")
_KINDS = {
    "dependencies": _Kind("Parser report", (*_SYSTEMS, "arcs", "dependencies")),
    "constituents": _Kind("Parser report", (*_SYSTEMS, "brackets", "constituents")),
    "suspects": _Kind("Suspects", ("elements", "list", "drawing", "arcs", "decisions", "suspects")),
}


def render_page(contents: dict[str, Any]) -> str:
    """Return the HTML page of the contents of a report, which are JSON data.

    contents["kind"] is a key of _KINDS. The data are ASCII without markup, whatever the text of the
    treebank, and the script shows them only as text. The Content-Security-Policy allows this style
    and this script, which it names by their digests, workers that the script makes, and nothing
    else.
    """
    kind = contents["kind"]
    title, scripts = _KINDS[kind]
    if subject := _describe_subject(contents):
        title = f"{html.escape(escape_controls(subject))}: {title.lower()}"
    code = "\n".join(_read(f"{name}.js") for name in scripts)
    script = f'(() => {{\n"use strict";\n{code}}})();'
    style = _read("page.css")
    policy = "default-src 'none'; worker-src blob:; base-uri 'none'; form-action 'none'"
    policy += f"; style-src {digest_inline(style)}; script-src {digest_inline(script)}"
    data = json.dumps(contents, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    page = _read("page.html")
    for name, text in (
        ("POLICY", policy),
        ("STYLE", style),
        ("SECTIONS", _read(f"{kind}.html")),
        ("SCRIPT", script),
        ("DATA", data),  # last but for the title, because it may contain the names of the others
    ):
        page = page.replace(f"@{name}@", text, 1)
    head, separator, body = page.partition("</h1>")
    return head.replace("@TITLE@", title) + separator + body


def _describe_subject(contents: dict[str, Any]) -> str:
    """Return the names of the systems and of the gold file, or that of the treebank."""
    gold = os.path.basename(contents.get("gold") or contents.get("treebank") or "")
    systems = [system["name"] for system in contents.get("systems", []) if system["name"]]
    return " on ".join(filter(None, [", ".join(systems), gold]))


def _read(name: str) -> str:
    return resources.files("depkit.drawing.report").joinpath("web", name).read_text("utf-8")
