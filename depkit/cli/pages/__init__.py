"""Completions and man pages, made from the command line itself.

`python -m depkit.cli.pages [DIR]` writes them below DIR, by default the current directory. The
completions are static text, so that no Python starts at a Tab.
"""

from pathlib import Path

from depkit.cli.pages.bash import bash_script
from depkit.cli.pages.fish import fish_script
from depkit.cli.pages.inventory import commands
from depkit.cli.pages.manual import page, page_name
from depkit.cli.pages.zsh import zsh_script
from depkit.parsers.model_directory import bundled_models


def pages() -> dict[str, str]:
    """What stands in every file, by its path from the repository's top."""
    everything, models = commands(), bundled_models()
    return {
        "completions/depkit.bash": bash_script(everything, models),
        "completions/_depkit": zsh_script(everything, models),
        "completions/depkit.fish": fish_script(everything, models),
        **{f"man/{page_name(each)}.1": page(each, everything[1:]) for each in everything},
    }


def write_pages(directory: Path) -> None:
    """Write all files below a directory, over what is there."""
    for name, text in pages().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
