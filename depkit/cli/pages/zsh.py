"""Completion for zsh."""

import re
from collections.abc import Sequence

from depkit.cli.pages.inventory import Command, Parameter
from depkit.cli.pages.template import filled

_SCRIPT = """\
#compdef depkit
# depkit's completion for zsh: made by python -m depkit.cli.pages, not by hand.
# Put it into a directory of $fpath, before compinit runs.

_depkit_model() {
    local -a names=(@models@)
    (( $#names )) && compadd -a names
    _files -/
}

_depkit() {
    local context state state_descr line
    local -A opt_args
    _arguments -C -S \\
@depkit@ \\
        '1:command:->command' \\
        '*::argument:->argument' && return
    case $state in
        command)
            local -a commands=(
@commands@
            )
            _describe command commands
            ;;
        argument)
            case $words[1] in
@subcommands@
            esac
            ;;
    esac
}

if [[ $funcstack[1] == _depkit ]]; then
    _depkit "$@"
else
    compdef _depkit depkit
fi
"""


def zsh_script(commands: Sequence[Command], models: Sequence[str]) -> str:
    """completions/_depkit, for a directory of $fpath."""
    depkit, *subcommands = commands
    described = [f"{each.name}:{each.summary}" for each in subcommands]
    return filled(
        _SCRIPT,
        models=" ".join(models),
        depkit=" \\\n".join(" " * 8 + _option(each) for each in depkit.options),
        commands="\n".join(" " * 16 + _quoted(each) for each in described),
        subcommands="\n".join(map(_subcommand, subcommands)),
    )


def _subcommand(command: Command) -> str:
    specifications = list(map(_option, command.options))
    for place, argument in enumerate(command.arguments, start=1):
        where = "*" if argument.repeatable else str(place)
        specifications.append(_quoted(f"{where}{_action(argument)}"))
    lines = "".join(f" \\\n{' ' * 20}{each}" for each in specifications)
    return f"{' ' * 12}{command.name})\n{' ' * 16}_arguments -S{lines}\n{' ' * 20};;"


def _option(option: Parameter) -> str:
    """A specification of `_arguments`: which others it excludes, its names, help and value."""
    front = "*" if option.repeatable else f"({' '.join(option.names)})"
    signs = {True: "=", False: "+"}  # --output=x or --output x; -ox or -o x
    names = [name + (signs[name.startswith("--")] if option.value else "") for name in option.names]
    rest = f"[{_escaped(option.help)}]{_action(option)}"
    if len(names) == 1:
        return _quoted(f"{front if option.repeatable else ''}{names[0]}{rest}")
    return f"{_quoted(front)}{{{','.join(names)}}}{_quoted(rest)}"


def _escaped(text: str) -> str:
    """Text inside a specification, whose own signs are colons and brackets."""
    return re.sub(r"[][:\\]", r"\\\g<0>", text)


def _action(parameter: Parameter) -> str:
    value = parameter.value
    if not value:
        return ""
    action = {
        "file": "_files",
        "directory": "_files -/",
        "model": "_depkit_model",
        "words": _one_of(value.words),
        "free": " ",
    }[value.kind]
    return f":{_escaped(value.label)}:{action}"


def _one_of(words: Sequence[str]) -> str:
    """An action that completes one of some words; no space is added after KEY=, but the value."""
    offered = " ".join(words)
    return f'compadd -S "" - {offered}' if offered.endswith("=") else f"({offered})"


def _quoted(text: str) -> str:
    """A word in single quotes, for a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"
