"""Completions and man pages, generated from the command line's own definition.

`python -m depkit.cli.pages [DIR]` writes them into DIR, by default the current directory. The
completions are static text, so that no Python starts when Tab is pressed.
"""

from pathlib import Path

from depkit.cli.pages.bash import bash_script
from depkit.cli.pages.fish import fish_script
from depkit.cli.pages.inventory import commands
from depkit.cli.pages.manual import page
from depkit.cli.pages.wording import page_name
from depkit.cli.pages.zsh import zsh_script
from depkit.parsers.model_directory import ALIASES, bundled_models


def generate_pages() -> dict[str, str]:
    """Generate the contents of all files, by their paths in the repository."""
    all_commands, models = commands(), sorted([*ALIASES, *bundled_models()])
    return {
        "completions/depkit.bash": bash_script(all_commands, models),
        "completions/_depkit": zsh_script(all_commands, models),
        "completions/depkit.fish": fish_script(all_commands, models),
        **{
            f"man/{page_name(command)}.1": page(command, all_commands[1:])
            for command in all_commands
        },
    }


def write_pages(directory: Path) -> None:
    """Write all files into a directory and overwrite older ones."""
    for name, text in generate_pages().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
