"""The messages of usage errors."""

from typing import Any

import typer

from depkit.corpus.suggestion import unknown


def usage_message(error: Any) -> str:
    """The message for a usage error raised by Typer: one sentence without a full stop.

    Of Typer's error classes BadParameter alone is public; the others are recognised by their
    attributes.
    """
    if hasattr(error, "possibilities"):  # there is no such option
        known = [name for each in error.ctx.command.get_params(error.ctx) for name in each.opts]
        return unknown("option", error.option_name, known)
    message = " ".join(error.message.split())
    message = message if message.endswith("...") else message.removesuffix(".")
    if not isinstance(error, typer.BadParameter):
        return message
    parameter: Any = error.param
    cause: Any = error.__cause__
    context: Any = error.ctx
    name = error.param_hint or (_name(parameter) if parameter else "")
    if not message:
        return f"{name} is missing"
    if hasattr(cause, "errors"):  # Pydantic's error for a value of the wrong type
        value = str(cause.errors()[0]["input"])
        shown = value if value.strip() and value.isprintable() else repr(value)
        given = f"{name} {shown}"
        if context.get_parameter_source(parameter.name).name == "ENVIRONMENT":
            given = f"{parameter.envvar}={shown} in the environment"
        return f"{given}: {_wanted(parameter)}"
    return f"{name}: {message}" if name else message


def _name(parameter: Any) -> str:
    """The long name of an option; the metavar of an argument."""
    return max(parameter.opts, key=len) if parameter.opts[0][0] == "-" else parameter.metavar


def _wanted(parameter: Any) -> str:
    """Advice on what an option or argument takes: "choose text or json", "give a number"."""
    kind = parameter.type_descriptor
    if kind.choices:
        *most, last = map(str, kind.choices)
        return f"choose {', '.join(most)} or {last}"
    limits = number_limits(parameter.min, parameter.max)
    number = "a whole number" if kind.annotation is int else "a number"
    return f"give {number}" + (f", {limits}" if limits else "")


def number_limits(least: float | None, most: float | None) -> str:
    """The range of numbers that an option takes, in words; "" if there are no limits."""
    if least is None:
        return "" if most is None else f"at most {most}"
    return f"{least} or more" if most is None else f"{least} to {most}"
