"""What man pages and the pages of the site say in the same words about commands."""

from collections.abc import Callable, Sequence

from depkit.cli.pages.inventory import Command, Parameter

SESSION = (
    ("Parse English text:", "depkit parse < in.txt > out.conllu"),
    ("Look at the trees:", "depkit show out.conllu"),
    ("Train a parser:", "depkit train train.conllu --dev dev.conllu -o en.model --max-time 90m"),
    ("Parse with the new parser:", "depkit parse --model en.model dev.conllu -o parsed.conllu"),
    ("Evaluate the parser:", "depkit eval dev.conllu parsed.conllu"),
)
FILES = (
    "The file name - means standard input or standard output. Files whose names end in .gz or .xz"
    " are read and written in compressed form. Missing directories of output files are created."
    " Only data is written to standard output; all messages go to standard error."
)
STATUS = (
    ("0", "The command was successful."),
    ("1", "The data has errors, or the command has failed; a message says why."),
    ("2", "The command line is wrong."),
    ("130", "The command was interrupted."),
)
PRECEDENCE = "An option on the command line takes precedence over its environment variable."


def page_name(command: Command) -> str:
    """Return the name of a command's page: depkit-parse, or depkit."""
    return f"depkit-{command.name}".removesuffix("-")


def parameter_text(parameter: Parameter) -> str:
    """Return the help of an argument or an option, with its limits, default and variable."""
    label = parameter.value.label if parameter.value else ""
    kind = "option" if parameter.names else "argument"
    sentences = [
        _sentence(parameter.help),
        f"This {kind} is required." if parameter.required else "",
        f"{label} must be {parameter.limits}." if parameter.limits else "",
        f"Default: {parameter.default}." if parameter.default else "",
        f"Environment variable: {parameter.variable}." if parameter.variable else "",
    ]
    return " ".join(filter(None, sentences))


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def synopsis(
    command: Command, literal: Callable[[str], str] = str, label: Callable[[str], str] = str
) -> str:
    """Return the short form of the command line: [OPTION]..., required options, arguments.

    literal, label: format what is typed as it is, and what stands for something else.
    """
    if not command.name:
        return f"{literal('depkit')} {label('COMMAND')} [{label('ARGUMENT')}]..."
    parts = [literal(f"depkit {command.name}"), f"[{label('OPTION')}]..."]
    for option in command.options:
        if option.required and option.value:
            parts.append(f"{literal(max(option.names, key=len))} {label(option.value.label)}")
    for argument in command.arguments:
        if argument.value:
            name = label(argument.value.label)
            name = name if argument.required else f"[{name}]"
            parts.append(name + "..." * argument.repeatable)
    return " ".join(parts)


def has_variables(commands: Sequence[Command]) -> bool:
    """Whether some option of the commands has an environment variable."""
    return any(option.variable for command in commands for option in command.options)


def environment(commands: Sequence[Command]) -> list[tuple[str, str]]:
    """Return the environment variables that commands read, with their meanings."""
    options = [option for command in commands for option in command.options]
    meanings = {
        option.variable: f"This sets {max(option.names, key=len)} if the option is not given."
        + " Separate several values by colons." * option.repeatable
        for option in options
        if option.variable
    }
    if any("--encoding" in option.names for option in options):
        meanings["DEPKIT_MAX_SENTENCE"] = (
            "The largest size of a sentence, a tree or a line of text that is read, in bytes; each"
            " line of a sentence counts as 64 bytes more. By default, it is 16777216 (16 MiB). The"
            " limit keeps a broken or hostile file, such as an archive of zeros, from filling the"
            " memory."
        )
    if any(name in ("--recipe", "--recipes") for option in options for name in option.names):
        meanings["DEPKIT_CACHE"] = (
            "The directory in which the outputs of frozen transformers are cached for the next"
            " training. You can delete the files at any time. By default, it is the directory"
            " depkit in XDG_CACHE_HOME or ~/.cache."
        )
    meanings["NO_COLOR"] = (
        "If this is set, the output has no colours unless an option asks for them."
    )
    return sorted(meanings.items())
