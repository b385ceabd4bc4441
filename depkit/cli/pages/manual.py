"""The man pages: roff with the man macros, one page for depkit and one for each subcommand."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import chain

from depkit.cli.pages.inventory import Command, Parameter

_ESCAPES = str.maketrans(
    {
        "\\": "\\(rs",
        "-": "\\-",
        "'": "\\(aq",
        '"': "\\(dq",
        "`": "\\(ga",
        "^": "\\(ha",
        "~": "\\(ti",
    }
)

_SESSION = (
    ("Parse English text:", "depkit parse < in.txt > out.conllu"),
    ("Look at the trees:", "depkit show out.conllu"),
    ("Train a parser:", "depkit train train.conllu --dev dev.conllu -o en.model --max-time 90m"),
    ("Parse with it:", "depkit parse --model en.model dev.conllu -o parsed.conllu"),
    ("See how well it does:", "depkit eval dev.conllu parsed.conllu"),
)
_FILES = (
    "A file named - is standard input or standard output; files named .gz or .xz are"
    " compressed. Missing directories of output files are created. Standard output carries data"
    " only, all else goes to standard error."
)
_STATUS = (
    ("0", "All went well."),
    ("1", "Bad data, or another failure; one line on standard error says which."),
    ("2", "Bad usage."),
    ("130", "Interrupted."),
)


def page(command: Command, subcommands: Sequence[Command]) -> str:
    """The page of a subcommand; that of depkit itself lists them and shows a first session."""
    name = page_name(command)
    description, examples = list(command.description), _typed(command.examples)
    listed: list[tuple[str, str]] = []
    if not command.name:
        description += ["Every command has a page of its own and --help.", _FILES]
        listed = [(f"{_bold(page_name(each))}(1)", f"{each.summary}.") for each in subcommands]
        steps = [[".PP", *_lines(why), *_typed([what])] for why, what in _SESSION]
        examples = list(chain.from_iterable(steps))[1:]
    others = ["depkit", *map(page_name, subcommands)]
    also = [f"{_bold(other)}(1)" for other in others if other != name]
    sections = {
        "NAME": _lines(f"{name} - {_uncapitalised(command.summary)}"),
        "SYNOPSIS": [_synopsis(command)],
        "DESCRIPTION": _paragraphs(description),
        "COMMANDS": _tagged(listed),
        "ARGUMENTS": _tagged(map(_entry, command.arguments)),
        "OPTIONS": _tagged(map(_entry, command.options)),
        "EXAMPLES": examples,
        "ENVIRONMENT": _environment([command] if command.name else subcommands),
        "EXIT STATUS": _tagged(_STATUS),
        "SEE ALSO": [",\n".join(also)],
    }
    lines = [
        '.\\" Made by python -m depkit.cli.pages, not by hand.',
        f'.TH {_text(name.upper())} 1 "" depkit "User Commands"',
        ".nh",  # a variable's or option's name must not break at a line's end
        ".ad l",
        ".ss 12 0",  # a sentence's end is no wider than other spaces
    ]
    for title, body in sections.items():
        lines += [f".SH {title}", *body] if body else []
    return "\n".join(lines) + "\n"


def page_name(command: Command) -> str:
    """What the page of a command is called: depkit-parse, or depkit."""
    return f"depkit-{command.name}".removesuffix("-")


def _uncapitalised(text: str) -> str:
    """The text as it goes on after a dash; names such as CoNLL keep their capitals."""
    first, *rest = text.split(" ")
    return " ".join([first.lower() if first.istitle() else first, *rest])


def _text(text: str) -> str:
    """Text for the inside of a line: - as typed and not as a hyphen, quotes straight."""
    escaped = text.translate(_ESCAPES)
    return "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in escaped)


def _lines(text: str) -> list[str]:
    """Text as short lines; none of them a request, as a line with a dot in front would be."""
    lines = textwrap.wrap(_text(text), 76, break_long_words=False, break_on_hyphens=False)
    return [f"\\&{line}" if line.startswith(".") else line for line in lines]


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _italic(text: str) -> str:
    return f"\\fI{_text(text)}\\fR"


def _paragraphs(paragraphs: Iterable[str]) -> list[str]:
    return [line for each in paragraphs for line in (".PP", *_lines(each))][1:]


def _tagged(entries: Iterable[tuple[str, str]]) -> list[str]:
    """A list of tags, as they are, each with a text under it."""
    return [line for tag, text in entries for line in (".TP", tag, *_lines(text))]


def _typed(commands: Iterable[str]) -> list[str]:
    """Command lines to copy."""
    return [".RS 4", ".nf", *map(_bold, commands), ".fi", ".RE"]


def _entry(parameter: Parameter) -> tuple[str, str]:
    """An argument or option with all that is to be said of it."""
    value = _italic(parameter.value.label) if parameter.value else ""
    names = [_bold(name) for name in sorted(parameter.names, key=len)]
    tag = " ".join([", ".join(names), value]).strip()
    if parameter.repeatable and not parameter.names:
        tag += "..."
    said = [
        _sentence(parameter.help),
        "Required." if parameter.required else "",
        f"Takes {parameter.limits}." if parameter.limits else "",
        f"Default: {parameter.default}." if parameter.default else "",
        f"Environment: {parameter.variable}." if parameter.variable else "",
    ]
    return tag, " ".join(filter(None, said))


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _synopsis(command: Command) -> str:
    """The command line in short: options in general, required ones, arguments."""
    if not command.name:
        return f"{_bold('depkit')} {_italic('COMMAND')} [{_italic('ARGUMENT')}]..."
    parts = [_bold(f"depkit {command.name}"), f"[{_italic('OPTION')}]..."]
    for option in command.options:
        if option.required and option.value:
            parts.append(f"{_bold(max(option.names, key=len))} {_italic(option.value.label)}")
    for argument in command.arguments:
        if argument.value:
            shown = _italic(argument.value.label)
            parts.append(
                (shown if argument.required else f"[{shown}]")
                + ("..." if argument.repeatable else "")
            )
    return " ".join(parts)


def _environment(commands: Sequence[Command]) -> list[str]:
    """The environment variables that commands read: those that stand in for options, and others."""
    options = [option for command in commands for option in command.options]
    said = {
        option.variable: f"Stands in for {max(option.names, key=len)} where that is not given."
        for option in options
        if option.variable
    }
    order = ["An option on the command line takes precedence over its variable."] if said else []
    if any(name in ("--recipe", "--recipes") for option in options for name in option.names):
        said["DEPKIT_CACHE"] = (
            "Directory where the outputs of frozen transformers are kept from one training to the"
            " next. By default, it is depkit in XDG_CACHE_HOME or ~/.cache."
        )
    said["NO_COLOR"] = "If it is set, nothing is coloured unless asked for."
    entries = _tagged((_bold(variable), meaning) for variable, meaning in sorted(said.items()))
    return [*_paragraphs(order), *entries]
