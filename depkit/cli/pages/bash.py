"""Completion for bash, which need not have the bash-completion package."""

from collections import defaultdict
from collections.abc import Sequence

from depkit.cli.pages.inventory import Command
from depkit.cli.pages.template import filled

_SCRIPT = """\
# depkit's completion for bash: made by python -m depkit.cli.pages, not by hand.
# Source it in ~/.bashrc, or put it at ~/.local/share/bash-completion/completions/depkit.

# Print what an option ($2) or the argument at a place ($2, from 0) of a subcommand ($1) takes.
_depkit_value() {
    case $1 in
@values@
    esac
}

# Print the options of a subcommand.
_depkit_options() {
    case $1 in
@options@
    esac
}

# Add to COMPREPLY what compgen makes of its options and the word; a file may have spaces.
_depkit_add() {
    local found
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(compgen "$@")
}

_depkit() {
    local word reply current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command="" option="" place=0 i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $option && $word == "=" ]]; then
            continue # --option=value comes as three words
        elif [[ $option ]]; then
            option=""
        elif [[ $word == -?* ]]; then
            [[ $(_depkit_value "$command" "$word") ]] && option=$word
        elif [[ ! $command ]]; then
            command=$word
        else
            place=$((place + 1))
        fi
    done
    [[ $option && $current == "=" ]] && current=""
    if [[ $previous == *[\\<\\>] ]]; then
        reply=file
    elif [[ $option ]]; then
        reply=$(_depkit_value "$command" "$option")
    elif [[ $current == -* ]]; then
        reply="words $(_depkit_options "$command")"
    elif [[ $command ]]; then
        reply=$(_depkit_value "$command" "$place")
    else
        reply="words @commands@"
    fi
    COMPREPLY=()
    case $reply in
        file | directory | model) compopt -o filenames 2> /dev/null ;;
    esac
    case $reply in
        file) _depkit_add -f -- "$current" ;;
        directory) _depkit_add -d -- "$current" ;;
        model) _depkit_add -d -W "@models@" -- "$current" ;;
        "words "*) _depkit_add -W "${reply#words }" -- "$current" ;;
    esac
    [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2> /dev/null # KEY=, whose value follows
    return 0
}

complete -F _depkit depkit
"""


def bash_script(commands: Sequence[Command], models: Sequence[str]) -> str:
    """completions/depkit.bash."""
    return filled(
        _SCRIPT,
        values="\n".join(line for command in commands for line in _values(command)),
        options="\n".join(
            f'        "{command.name}") echo "{" ".join(_long_names(command))}" ;;'
            for command in commands
        ),
        commands=" ".join(command.name for command in commands if command.name),
        models=" ".join(models),
    )


def _values(command: Command) -> list[str]:
    """The part of `_depkit_value` for a subcommand: a line for all that takes the same."""
    taking = [(option.names, option.value) for option in command.options]
    for place, argument in enumerate(command.arguments):
        taking.append(((f"[{place}-9]*" if argument.repeatable else f"{place}",), argument.value))
    patterns: defaultdict[str, list[str]] = defaultdict(list)
    for names, value in taking:
        if value:
            patterns[" ".join([value.kind, *value.words])] += names
    cases = [f'{" | ".join(names)}) echo "{reply}" ;;' for reply, names in patterns.items()]
    return [
        f'        "{command.name}")',
        "            case $2 in",
        *(f"                {case}" for case in cases),
        "            esac",
        "            ;;",
    ]


def _long_names(command: Command) -> list[str]:
    names = [name for option in command.options for name in option.names]
    return [name for name in names if name.startswith("--")]
