"""What the readers say when a file is not what it claims to be."""


class FormatError(ValueError):
    """A file breaks its format: `file:line: sent_id: message`.

    file: its name, "-" for standard input; line: 1-based, 0 if it has none;
    sent_id: the sentence's, "" if unknown; message: what is wrong, and what to do.
    """

    def __init__(self, file: str, line: int, sent_id: str, message: str) -> None:
        super().__init__(file, line, sent_id, message)  # all of them, so that it can be pickled
        self.file = file
        self.line = line
        self.sent_id = sent_id
        self.message = message

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.sent_id, self.message) if part)


class DataError(ValueError):
    """A treebank that cannot be trained or scored on."""
