"""A report as one HTML file that loads nothing: template, style, script and data in one text."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import Any, NamedTuple

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
    code = "\n".join(_read(f"{name}.js") for name in scripts)
    script = f'(() => {{\n"use strict";\n{code}}})();'
    style = _read("page.css")
    policy = "default-src 'none'; worker-src blob:; base-uri 'none'; form-action 'none'"
    policy += f"; style-src {_digest(style)}; script-src {_digest(script)}"
    data = json.dumps(contents, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    page = _read("page.html").replace("@TITLE@", title)
    for name, text in (
        ("POLICY", policy),
        ("STYLE", style),
        ("SECTIONS", _read(f"{kind}.html")),
        ("SCRIPT", script),
        ("DATA", data),  # last, because it may contain the names of the others
    ):
        page = page.replace(f"@{name}@", text, 1)
    return page


def _read(name: str) -> str:
    return resources.files("depkit.drawing.report").joinpath("web", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
