"""Reading of the text of a pattern, piece by piece."""

import re
from typing import NoReturn

from depkit.treebank.search.conditions import Regex, RegexError
from depkit.treebank.search.pattern import PatternError

_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_'-]*[A-Za-z0-9_'])?")
_FEATURE = re.compile(r"[A-Za-z0-9_'-]*[A-Za-z0-9_']")
_LABEL = re.compile(r"[A-Za-z0-9_.'*:@-]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\[\s\S])*+)"')
_SLASHED = re.compile(r"/((?:[^/\\\n]|\\[^\n])*+)/(i?)")
_ESCAPE = re.compile(r'\\(["\\])')


class Scanner:
    """The text of a pattern, and the position up to which it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.notes: list[str] = []

    def skip_blanks(self) -> None:
        """Skip white space and comments: % to the end of the line, and /* ... */."""
        text = self.text
        while self.position < len(text):
            if text[self.position].isspace():
                self.position += 1
            elif text[self.position] == "%":
                end = text.find("\n", self.position)
                self.position = len(text) if end < 0 else end
            elif text.startswith("/*", self.position):
                end = text.find("*/", self.position)
                if end < 0:
                    self.fail("the comment that begins with /* has no */")
                self.position = end + 2
            else:
                break

    def sees(self, token: str) -> bool:
        """Return whether a token comes next."""
        self.skip_blanks()
        return self.text.startswith(token, self.position)

    def accept(self, *tokens: str) -> str:
        """Read the first of the tokens that comes next and return it; "" if none does."""
        for token in tokens:
            if self.sees(token):
                self.position += len(token)
                return token
        return ""

    def expect(self, token: str, after: str) -> None:
        """Read a token, or raise PatternError."""
        if not self.accept(token):
            self.fail(f"{token} is expected after {after}, not {self.describe_next()}")

    def read_name(self, what: str) -> str:
        """Read a name, or raise PatternError; what: what it would name."""
        return self._read(_NAME, what)

    def read_node(self) -> str:
        """Read the name of a node; $ after it means that it may be the same as another node."""
        name = self.read_name("the name of a node")
        if self.text.startswith("$", self.position):
            self.position += 1
            return name + "$"
        return name

    def read_feature(self, what: str) -> str:
        """Read the name of a feature."""
        return self._read(_FEATURE, what)

    def read_label(self) -> str:
        """Read the label of an edge, in quotes or without."""
        quoted = self.accept_quoted()
        return self._read(_LABEL, "a relation") if quoted is None else quoted

    def read_number(self, what: str) -> str:
        """Read a number."""
        return self._read(_NUMBER, what)

    def accept_number(self) -> str:
        """Read a number if it comes next, else return ""."""
        self.skip_blanks()
        match = _NUMBER.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return match[0] if match else ""

    def accept_quoted(self) -> str | None:
        """Read a text in quotes if one comes next, else return None."""
        if not self.sees('"'):
            return None
        match = _QUOTED.match(self.text, self.position)
        if not match:
            self.fail('the text that begins with " has no " at its end')
        self.position = match.end()
        return _ESCAPE.sub(r"\1", match[1])

    def accept_regex(self) -> Regex | None:
        """Read a regular expression, re"..." or /.../ or /.../i, if one comes next."""
        start = self.position
        try:
            if self.sees('re"'):
                start = self.position
                self.position += 2
                text = self.accept_quoted() or ""
                if re.search(r"(?<!\\)[|(]", re.sub(r"\[[^\]]*+(?:\]|\Z)", "", text)):
                    self.notes.append(
                        f'in re"{text}", the characters | ( ) stand for themselves; for'
                        r" alternatives and groups, write \| \( \), or /.../ instead of re"
                        '"..."'
                    )
                return Regex(text, "str")
            if self.sees("/") and not self.sees("/*"):
                start = self.position
                match = _SLASHED.match(self.text, self.position)
                if not match:
                    self.fail("the regular expression that begins with / has no / at its end")
                self.position = match.end()
                return Regex(match[1].replace(r"\/", "/"), "pcre-i" if match[2] else "pcre")
        except RegexError as error:
            self.fail(str(error), start)
        return None

    def _read(self, expression: re.Pattern[str], what: str) -> str:
        self.skip_blanks()
        match = expression.match(self.text, self.position)
        if not match:
            self.fail(f"{what} is expected here, not {self.describe_next()}")
        self.position = match.end()
        return match[0]

    def describe_next(self) -> str:
        """Describe the next character, for a message."""
        self.skip_blanks()
        character = self.text[self.position : self.position + 1]
        if not character:
            return "the end of the text"
        advice = "; a text with other letters than those of English must be in quotes"
        return f"{character!r}" + advice * (character.isalpha() and not character.isascii())

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise PatternError at a position, by default at the next character."""
        if position is None:
            position = self.position
        before = self.text[:position]
        column = position - (before.rfind("\n") + 1) + 1
        raise PatternError(before.count("\n") + 1, column, message)
