"""The names of the options for the arguments that messages of the library name."""

import re
from collections.abc import Mapping

ENCODING = {"encoding": "--encoding"}  # the argument that messages about broken sentences name


def name_options(message: str, options: Mapping[str, str] | None = None) -> str:
    """Return a message of the library with `argument` replaced by the option for it.

    options: the options of the command by the names of the command's parameters. Without them, an
    option has the name of the argument.
    """

    def name_option(match: re.Match[str]) -> str:
        name = "elmo" if match[1] == "context" else match[1]  # --elmo names the files of vectors
        return f"--{name.replace('_', '-')}" if options is None else options.get(name, match[0])

    return re.sub(r"`(\w+)`", name_option, message)
