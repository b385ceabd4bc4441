"""The site that `depkit docs` writes: static pages that explain every part of depkit.

The pages are made from what the command line is made of (see `pages.inventory`), from the comments
beside settings, from recipes, model cards and docstrings, and from a few texts in texts/. No site
generator is used: it would be a new dependency, and these facts would first have to be written into
its format. So a page says the same as --help and `depkit info`, in the version that is installed,
and the site can be built and read without a network. It needs no script but for the search.
"""

import json
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from pathlib import Path

from depkit.cli.main import COMMANDS
from depkit.cli.site import (
    api_page,
    command_pages,
    model_page,
    recipe_page,
    setting_page,
    text_pages,
)
from depkit.cli.site.markdown import render_inline
from depkit.cli.site.page import GENERATOR, Entry, Page, render_page
from depkit.files.atomic import PathLike, atomic_directory
from depkit.files.lock import is_temporary, remove_abandoned
from depkit.training.recipe import recipe_names, recipe_settings

_ASSETS = ("site.css", "search.js")
_INDEX, _TREE = "search-index.js", "tree.svg"


def write_site(directory: PathLike) -> int:
    """Write the site into a directory, and return the number of pages.

    The pages appear when all of them are written; they replace those of an older site.

    Raises FileExistsError if the directory has other files than those of a site.
    """
    check_replaceable(Path(directory))
    files = make_site()
    with atomic_directory(directory) as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    return sum(name.endswith(".html") for name in files)


def check_replaceable(directory: Path) -> None:
    """Raise OSError if a directory has other files than those of a site, or if it is a file."""
    if not directory.exists():
        return
    remove_abandoned(directory)
    others = sorted(
        path.name
        for path in directory.iterdir()
        if not (_is_of_site(path) or is_temporary(path.name, directory.resolve().name))
    )
    if others:
        raise FileExistsError(
            f"{directory} has files that are not of a site, such as {others[0]}; choose another"
            " directory"
        )


def _is_of_site(path: Path) -> bool:
    if path.name in (*_ASSETS, _INDEX, _TREE):
        return True
    is_page = path.suffix == ".html" and path.is_file()
    return is_page and GENERATOR in path.read_text("utf-8", errors="replace")


def make_site() -> dict[str, str]:
    """Return the contents of all files of the site by name."""
    pages = _make_pages()
    files = {page.file: render_page(page, pages) for page in pages}
    everything = _make_list(pages)
    files[everything.file] = render_page(everything, pages)
    web = resources.files("depkit.cli.site").joinpath("web")
    files |= {name: web.joinpath(name).read_text("utf-8") for name in _ASSETS}
    rows = [
        (entry.title, entry.kind, address, entry.text.replace("`", ""))
        for address, entry in _entries(pages)
    ]
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    files[_TREE] = text_pages.draw_tree()
    return files | {_INDEX: f"depkitIndex([\n{text}\n]);\n"}


def _make_pages() -> list[Page]:
    settings = dict.fromkeys(recipe_settings())

    def find_target(code: str) -> str:
        return _find_target(code, settings)

    tutorials = text_pages.make_tutorials(find_target)
    return [
        text_pages.make_start(find_target, tutorials),
        *tutorials,
        text_pages.make_conventions(find_target),
        setting_page.make_page(find_target),
        recipe_page.make_page(find_target),
        model_page.make_page(find_target),
        api_page.make_page(),
        *command_pages.make_pages(_link_commands),
    ]


def _find_target(code: str, settings: Mapping[str, None]) -> str:
    """Return the address that describes a command, a setting or a recipe, "" for other code."""
    if code in recipe_names():
        return f"recipes.html#{code}"
    if code.partition("=")[0] in settings:
        return f"settings.html#{code.partition('=')[0]}"
    program, _, rest = code.partition(" ")
    command = rest.partition(" ")[0]
    return f"command-{command}.html" if program == "depkit" and command in COMMANDS else ""


def _link_commands(text: str) -> str:
    """Return the HTML of a text of the help: commands become links, options are not broken."""
    words: list[str] = []
    for word in escape(text, quote=False).split(" "):
        name = word.rstrip(".,;:)")
        rest = word.removeprefix(name)
        if name in COMMANDS and words and words[-1].lstrip("(") == "depkit":
            before = words.pop().removesuffix("depkit")
            words.append(f'{before}<a href="command-{name}.html">depkit {name}</a>{rest}')
        elif name.startswith("--") and name != "--":
            words.append(f'<code class="option">{name}</code>{rest}')
        else:
            words.append(word)
    return " ".join(words)


def _entries(pages: Iterable[Page]) -> Iterable[tuple[str, Entry]]:
    for page in pages:
        for entry in page.entries:
            yield f"{page.file}#{entry.fragment}".rstrip("#"), entry


def _make_list(pages: Iterable[Page]) -> Page:
    """Return the page that lists all entries of the search by kind, for readers without scripts."""
    kinds: dict[str, list[str]] = {}
    for address, entry in _entries(pages):
        link = f'<li><a href="{address}">{escape(entry.title)}</a></li>'
        kinds.setdefault(entry.kind, []).append(link)
    note = "All that the search finds. It needs JavaScript; this list does not."
    lines = [f"<h1>Everything</h1>\n<p>{render_inline(note)}</p>"]
    for kind, links in kinds.items():
        lines.append(
            f'<h2>{escape(kind[0].upper() + kind[1:])}</h2>\n<ul class="all">{"".join(links)}</ul>'
        )
    return Page("search", "Everything", "\n".join(lines))
