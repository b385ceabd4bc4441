"""Names of options: old ones that still work, and those of the arguments that messages name."""

import re
from collections.abc import Collection, Mapping, Sequence

# Old names of options, which no help shows
OLD_NAMES = {"--features": "--elmo", "--dev-features": "--dev-elmo"}
ENCODING = {"encoding": "--encoding"}  # the argument that messages about broken sentences name
# Arguments of the library whose options have other names
_ARGUMENTS = {"algorithm": "decode", "probabilities": "prob", "context": "elmo"}


def replace_old_names(arguments: Sequence[str], options: Collection[str]) -> list[str]:
    """Return a command line with the new names of the options that a command has renamed."""
    replaced = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        is_old = name not in options and OLD_NAMES.get(name) in options
        replaced.append(f"{OLD_NAMES[name]}{equals}{value}" if is_old else argument)
    return replaced


def name_options(message: str, options: Mapping[str, str] | None = None) -> str:
    """Return a message of the library with `argument` replaced by the option for it.

    options: the options of the command by the names of the command's parameters. Without them, an
    option has the name of the argument.
    """

    def name_option(match: re.Match[str]) -> str:
        name = _ARGUMENTS.get(match[1], match[1])
        return f"--{name.replace('_', '-')}" if options is None else options.get(name, match[0])

    return re.sub(r"`(\w+)`", name_option, message)
