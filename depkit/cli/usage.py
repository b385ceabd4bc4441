"""The messages of usage errors."""

import os
from typing import Any

import typer

from depkit.files.suggestion import describe_unknown


def usage_message(error: Any) -> str:
    """Return the message for a usage error raised by Typer: one sentence without a full stop.

    BadParameter is Typer's only public error class; the other errors are recognised by their
    attributes.
    """
    if hasattr(error, "possibilities"):
        return _unknown_option_message(error)
    message = " ".join(error.message.split())
    message = message if message.endswith("...") else message.removesuffix(".")
    if not isinstance(error, typer.BadParameter):
        return message
    parameter: Any = error.param
    cause: Any = error.__cause__
    context: Any = error.ctx
    name = error.param_hint or (_parameter_name(parameter) if parameter else "")
    if not message:
        return f"{name} is missing"
    source = context.get_parameter_source(parameter.name) if context and parameter else None
    from_environment = source is not None and source.name == "ENVIRONMENT"
    if hasattr(cause, "errors"):  # Pydantic's error for a value of the wrong type
        value = str(cause.errors()[0]["input"])
        name, message = f"{name} {_make_printable(value)}", _advice(parameter)
    elif from_environment:
        value = os.environ[parameter.envvar]
    if from_environment:
        name = f"{parameter.envvar}={_make_printable(value)} in the environment"
    return f"{name}: {message}" if name else message


def _unknown_option_message(error: Any) -> str:
    command = error.ctx.command
    options = [name for parameter in command.get_params(error.ctx) for name in parameter.opts]
    message = describe_unknown("option", error.option_name, options)
    if error.ctx.parent is None and not message.endswith("?"):
        message += " of depkit itself; the options of a command follow its name, as in depkit"
        message += f" COMMAND {error.option_name}"
    return message


def _make_printable(value: str) -> str:
    return value if value.strip() and value.isprintable() else repr(value)


def _parameter_name(parameter: Any) -> str:
    """Return the long name of an option; the metavar of an argument."""
    return max(parameter.opts, key=len) if parameter.opts[0][0] == "-" else parameter.metavar


def _advice(parameter: Any) -> str:
    """Return advice on what an option or argument takes: "choose text or json", "give a number"."""
    kind = parameter.type_descriptor
    if kind.choices:
        *most, last = map(str, kind.choices)
        return f"choose {', '.join(most)} or {last}"
    limits = number_limits(parameter.min, parameter.max)
    number = "a whole number" if kind.annotation is int else "a number"
    return f"give {number}" + (f", {limits}" if limits else "")


def number_limits(minimum: float | None, maximum: float | None) -> str:
    """Return the range of numbers that an option takes, in words; "" if there are no limits."""
    if minimum is None:
        return "" if maximum is None else f"at most {maximum}"
    return f"{minimum} or more" if maximum is None else f"from {minimum} to {maximum}"
