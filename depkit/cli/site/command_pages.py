"""The pages of commands, from what the man pages are made of."""

from collections.abc import Callable, Iterable, Sequence
from html import escape

from depkit.cli.pages.inventory import Command, Parameter, commands
from depkit.cli.pages.promises import REPRODUCIBILITY, SECURITY
from depkit.cli.pages.wording import (
    FILES,
    PRECEDENCE,
    SESSION,
    STATUS,
    environment,
    has_variables,
    parameter_text,
    synopsis,
)
from depkit.cli.site.markdown import render_code
from depkit.cli.site.page import Entry, Page

Link = Callable[[str], str]  # makes HTML of a text, in which names of commands are links


def make_pages(link: Link) -> list[Page]:
    """Return the page of depkit itself and one for each subcommand."""
    depkit, *subcommands = commands()
    overview = Page(
        "commands", "Commands", _render_overview(depkit, subcommands, link), "Commands",
        "All commands",
        (
            Entry("Environment variables", "section", "environment"),
            Entry("Exit status", "section", "exit-status"),
            Entry("Reproducibility", "section", "reproducibility", " ".join(REPRODUCIBILITY)),
            Entry("Security", "section", "security", " ".join(SECURITY)),
        ),
    )  # fmt: skip
    return [overview, *(_make_page(command, link) for command in subcommands)]


def _make_page(command: Command, link: Link) -> Page:
    name = f"depkit {command.name}"
    summary, *description = command.description
    parts = [
        f'<h1>{name}</h1>\n<p class="lead">{link(summary)}</p>',
        render_code(synopsis(command)),
        *(f"<p>{link(text)}</p>" for text in description),
        _render_parameters("Arguments", command.arguments, link),
        '<h2 id="examples">Examples</h2>' + render_code("\n".join(command.examples)),
        _render_parameters("Options", command.options, link),
        _render_environment([command]),
    ]
    entries = [Entry(name, "command", "", command.summary)]
    entries += [
        Entry(f"{name} {max(option.names, key=len)}", "option", option_id(option), option.help)
        for option in command.options
    ]
    body = "\n".join(filter(None, parts))
    return Page(f"command-{command.name}", name, body, "Commands", command.name, entries)


def option_id(option: Parameter) -> str:
    """Return the id of an option on the page of its command, which is its longest name."""
    return max(option.names, key=len)


def _render_parameters(title: str, parameters: Sequence[Parameter], link: Link) -> str:
    if not parameters:
        return ""
    lines = [f'<h2 id="{title.lower()}">{title}</h2>\n<dl>']
    for parameter in parameters:
        names = [f"<code>{escape(name)}</code>" for name in sorted(parameter.names, key=len)]
        label = escape(parameter.value.label) if parameter.value else ""
        more = "..." if parameter.repeatable and not parameter.names else ""
        tag = " ".join(filter(None, [", ".join(names), f"<var>{label}</var>{more}" * bool(label)]))
        mark = f' id="{option_id(parameter)}"' if parameter.names else ""
        lines.append(f"<dt{mark}>{tag}</dt>\n<dd>{link(parameter_text(parameter))}</dd>")
    return "\n".join([*lines, "</dl>"])


def _render_environment(some: Sequence[Command]) -> str:
    rule = f"<p>{PRECEDENCE}</p>\n" if has_variables(some) else ""
    variables = ((f"<code>{name}</code>", escape(text)) for name, text in environment(some))
    return f'<h2 id="environment">Environment</h2>\n{rule}{_render_list(variables)}'


def _render_list(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        ["<dl>", *(f"<dt>{tag}</dt>\n<dd>{text}</dd>" for tag, text in pairs), "</dl>"]
    )


def _render_overview(depkit: Command, subcommands: Sequence[Command], link: Link) -> str:
    table = (
        (
            f'<a href="command-{command.name}.html"><code>depkit {command.name}</code></a>',
            f"{escape(command.summary)}.",
        )
        for command in subcommands
    )
    status = ((f"<code>{number}</code>", escape(text)) for number, text in STATUS)
    session = "\n".join(f"<p>{escape(text)}</p>\n{render_code(line)}" for text, line in SESSION)
    promises = (("Reproducibility", REPRODUCIBILITY), ("Security", SECURITY))
    return "\n".join(
        [
            f'<h1>Commands</h1>\n<p class="lead">{escape(depkit.description[0])}</p>',
            render_code(synopsis(depkit)),
            _render_list(table),
            f'<h2 id="session">A session</h2>\n{session}\n<p>{link(FILES)}</p>',
            _render_parameters("Options", depkit.options, link),
            _render_environment(subcommands),
            f'<h2 id="exit-status">Exit status</h2>\n{_render_list(status)}',
            *(
                f'<h2 id="{title.lower()}">{title}</h2>\n'
                + "\n".join(f"<p>{link(text)}</p>" for text in texts)
                for title, texts in promises
            ),
        ]
    )
