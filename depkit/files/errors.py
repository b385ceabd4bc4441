"""Errors of readers about files that do not have the expected format or content, and messages."""


class FormatError(ValueError):
    """A file breaks its format; as a string, `file:line: sent_id: message`.

    Attributes:
        file: The name of the file, "-" for standard input.
        line: The 1-based line number, 0 if there is none.
        sent_id: The id of the sentence, "" if unknown.
        message: What is wrong and what to do.
    """

    def __init__(self, file: str, line: int, sent_id: str, message: str) -> None:
        super().__init__(file, line, sent_id, message)  # Pickling needs all arguments in `args`.
        self.file = file
        self.line = line
        self.sent_id = sent_id
        self.message = message

    def __str__(self) -> str:
        location = describe_location(self.file, self.line)
        parts = (location, shorten_sent_id(self.sent_id), self.message)
        return ": ".join(part for part in parts if part)


def shorten_sent_id(sent_id: str) -> str:
    """Return a sent_id, quoted and shortened if it is long or has unprintable characters."""
    if sent_id.isprintable() and len(sent_id) < 200:
        return sent_id
    return repr(sent_id if len(sent_id) <= 200 else sent_id[:197] + "...")


def describe_location(file: str, line: int) -> str:
    """Return a location in a file as messages name it; line: 0 for the file as a whole."""
    return f"{file}:{line}" if line else file


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class DataError(ValueError):
    """A treebank cannot be used for training or evaluation."""


class ConfigError(ValueError):
    """A setting or an option is unknown, has a wrong value, or contradicts another one."""


class ArgumentError(ValueError):
    """An argument has a value that it cannot have; the command line names its option instead.

    argument: its name, or several names separated by commas; message: what is wrong, in which other
    arguments are written `name`.
    """

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(argument, message)
        self.argument = argument
        self.message = message

    def __str__(self) -> str:
        return f"{self.argument}: {self.message}"
