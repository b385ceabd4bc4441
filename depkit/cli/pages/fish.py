"""Completion for fish."""

from collections.abc import Sequence

from depkit.cli.pages.inventory import Command, Value
from depkit.cli.pages.template import filled

_SCRIPT = """\
# depkit's completion for fish: made by python -m depkit.cli.pages, not by hand.
# Put it into ~/.config/fish/completions.

function __depkit_at --description 'Whether the subcommand is this one, or there is none as yet'
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if not string match -q -- '-*' $word
            test "$word" = "$argv[1]"
            return
        end
    end
    test -z "$argv[1]"
end

function __depkit_directories
    __fish_complete_directories (string replace -r '^-[^=]*=' '' -- (commandline -ct))
end

complete -c depkit -f
@lines@
"""


def fish_script(commands: Sequence[Command], models: Sequence[str]) -> str:
    """completions/depkit.fish. What any argument of a command takes is offered at all of them."""
    lines = [
        f"complete -c depkit -n '__depkit_at \"\"' -a {each.name} -d {_quoted(each.summary)}"
        for each in commands
        if each.name
    ]
    for command in commands:
        start = f"complete -c depkit -n '__depkit_at \"{command.name}\"'"
        offers = [_offer(each.value, models) for each in command.arguments if each.value]
        lines += [f"{start} {offer}" for offer in dict.fromkeys(offers) if offer]
        for option in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = f" -r {_offer(option.value, models)}".rstrip() if option.value else ""
            lines.append(f"{start} {names}{value} -d {_quoted(option.help)}")
    return filled(_SCRIPT, lines="\n".join(lines))


def _offer(value: Value, models: Sequence[str]) -> str:
    if value.kind == "file":
        return "-F"
    directories = "(__depkit_directories)"
    words = {
        "directory": [directories],
        "model": [*models, directories],
        "words": value.words,
        "free": [],
    }[value.kind]
    return f"-f -a {_quoted(' '.join(words))}" if words else "-f"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
