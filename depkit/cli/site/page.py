"""A page of the site: its frame, its navigation, and what the search can find on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from depkit.version import __version__

GENERATOR = '<meta name="generator" content="depkit'  # in every page, see `site.write_site`
# All that a page loads are the files of the site; nothing is within the page, and no other server
# is asked.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'"
)


@dataclass(frozen=True)
class Entry:
    """What the search finds: a title, its kind, the id of its element on the page, and a text."""

    title: str
    kind: str
    fragment: str = ""
    text: str = ""


@dataclass(frozen=True)
class Page:
    """A page: the name of its file without .html, its title, its HTML, and what is found on it.

    group: the group of the navigation; label: the text of the link there, "" for the title.
    """

    name: str
    title: str
    body: str
    group: str = ""
    label: str = ""
    entries: Sequence[Entry] = field(default_factory=tuple)

    @property
    def file(self) -> str:
        """The name of the page's file."""
        return f"{self.name}.html"


def render_page(page: Page, pages: Iterable[Page]) -> str:
    """Return the HTML of a page; pages: all pages of the navigation."""
    title = "depkit" if page.name == "index" else f"{page.title} - depkit"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
{GENERATOR} {__version__}">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="stylesheet" href="site.css">
<script src="search.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<div class="bar">
<a class="home" href="index.html">depkit</a>
<a class="contents" href="#contents">Contents</a>
<form action="search.html" role="search">
<label for="query">Search</label>
<input type="search" id="query" name="q" autocomplete="off" aria-controls="found">
<div id="found" hidden></div>
</form>
</div>
</header>
<div class="columns">
<main id="main">
{page.body}
</main>
<nav id="contents" aria-label="Contents">
{_render_navigation(page, pages)}
</nav>
</div>
<footer>
<p class="bar">depkit {__version__}. This site was written by <code>depkit docs</code>.</p>
</footer>
</body>
</html>
"""


def _render_navigation(current: Page, pages: Iterable[Page]) -> str:
    groups: dict[str, list[str]] = {}
    for page in pages:
        mark = ' aria-current="page"' if page is current else ""
        link = f'<li><a href="{page.file}"{mark}>{escape(page.label or page.title)}</a></li>'
        groups.setdefault(page.group, []).append(link)
    parts = []
    for group, links in groups.items():
        title = f"<h2>{escape(group)}</h2>\n" if group else ""
        parts.append(f"{title}<ul>{''.join(links)}</ul>")
    return "\n".join(parts)
