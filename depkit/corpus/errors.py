"""What the readers say when a file is not what it claims to be."""


class FormatError(ValueError):
    """A file breaks its format: `file:line: sent_id: message`.

    file: its name, "-" for standard input; line: 1-based, 0 if it has none;
    sent_id: the sentence's, "" if unknown; message: what is wrong, and what to do.
    """

    def __init__(self, file: str, line: int, sent_id: str, message: str) -> None:
        self.file = file
        self.line = line
        self.sent_id = sent_id
        self.message = message
        place = f"{file}:{line}" if line else file
        super().__init__(": ".join(part for part in (place, sent_id, message) if part))
