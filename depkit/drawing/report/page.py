"""A report as one HTML file that loads nothing: template, style, script and data in one text."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import Any

# The characters of JSON that mean something in HTML. ASCII JSON has no others.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&"})


def render_page(contents: dict[str, Any]) -> str:
    """Return the HTML page of the contents of a report, which are JSON data.

    The data are ASCII without markup, whatever the text of the treebank, and the script sets them
    as text only. The Content-Security-Policy allows this style and this script, by their digests,
    and nothing else.
    """
    style, script = _read("page.css"), _read("page.js")
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}"
    data = json.dumps(contents, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    page = _read("page.html")
    for name, text in (
        ("POLICY", f"{policy}; base-uri 'none'; form-action 'none'"),
        ("STYLE", style),
        ("SCRIPT", script),
        ("DATA", data),  # last, because it may contain the names of the others
    ):
        page = page.replace(f"@{name}@", text, 1)
    return page


def _read(name: str) -> str:
    return resources.files("depkit.drawing.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
