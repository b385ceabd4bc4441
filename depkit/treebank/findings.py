"""What a check can find: codes, how severe each is, and findings with their places.

An error keeps a file from being read, trained on or scored against: its rows cannot be told, or
its heads make no tree. A warning is what else UD validation refuses, and of a UD release, `--ud`,
an error, too; or it is advice, which never is. A note is good to know.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from depkit.treebank.output import printable

Severity = Literal["error", "warning", "note"]

ERRORS: dict[str, str] = {
    "unreadable": "the file cannot be opened, decoded or unpacked at all",
    "empty-file": "no sentence in the file",
    "encoding": "bytes that are not of the file's encoding",
    "control-character": "NUL and other characters that are no text",
    "white-line": "a line of white space, not empty",
    "comment-place": "a comment after the first word",
    "no-words": "comments without a word",
    "columns": "a row with too many or too few columns",
    "id": "an ID out of sequence, or none",
    "range": "a multiword range that does not fit the words",
    "empty-node": "an empty node out of sequence",
    "no-form": "a word without a FORM",
    "format": "the reader refuses the sentence",
    "head": "a HEAD that is no number",
    "head-range": "a HEAD beyond the sentence",
    "no-head": "a word without HEAD among others that have one",
    "self-loop": "a word that is its own head",
    "cycle": "words that are their own ancestors",
    "no-root": "no word with HEAD 0",
}

WARNINGS: dict[str, str] = {
    "byte-order-mark": "a byte order mark",
    "line-end": "lines that end in CR LF",
    "extra-blank-line": "more than one blank line, or one at the beginning",
    "final-blank-line": "no blank line, or not even a newline, after the last sentence",
    "empty-cell": "an empty cell where _ should stand",
    "white-space": "white space where none is allowed",
    "unicode-nfc": "characters that are not composed (Unicode NFC)",
    "range-of-one": "a multiword range of a single word",
    "empty-node-place": "an empty node between a range and its first word",
    "range-cells": "a multiword range with an analysis of its own",
    "empty-node-cells": "an empty node in the basic tree",
    "no-tree": "a sentence without any HEAD",
    "no-deprel": "a word with HEAD but no DEPREL",
    "several-roots": "more than one word with HEAD 0",
    "root-label": "HEAD 0 without the relation root, or the reverse",
    "predicates": "CoNLL-09: not one APRED column for each predicate",
    "upos-form": "a UPOS that is not in capital letters, or that only other words have",
    "deprel-form": "a relation that is not in the form relation:subtype, in DEPS too",
    "feats": "FEATS that are not Name=Value|...",
    "feats-order": "FEATS not in alphabetical order",
    "feats-repeated": "a feature, or one of its values, twice",
    "deps": "DEPS that are not head:relation|..., or lead nowhere",
    "deps-order": "DEPS not in the order of their heads",
    "deps-repeated": "the same in DEPS twice",
    "deps-unreachable": "nodes that DEPS do not connect to the root",
    "deps-sometimes": "DEPS in some sentences of the file only",
    "space-after": "SpaceAfter that is not No, or stands where it means nothing",
    "sent-id": "a sent_id that is none",
    "no-sent-id": "a sentence without sent_id",
    "sent-id-again": "a sent_id that another sentence has",
    "no-text": "a sentence without # text",
    "text-space": "white space at the end of # text",
    "text-mismatch": "# text and the words differ",
    "comment-again": "sent_id, text, newdoc or newpar twice in a sentence",
}

# With `--ud` only, and errors there.
UD_ERRORS: dict[str, str] = {
    "upos": "a tag that is none of the 17 of UD",
    "deprel": "a relation that is none of the 37 of UD",
    "not-conllu": "a file in CoNLL-X or CoNLL-09",
}

# Never errors.
ADVICE: dict[str, str] = {
    "misc": "an empty piece in MISC",
    "train-overlap": "a sentence of the training file",
    "unseen-tag": "a tag that the training file does not have",
    "unseen-relation": "a relation that the training file does not have",
}

NOTES: dict[str, str] = {
    "non-projective": "a sentence with crossing arcs",
    "long-sentence": "a sentence of more than 200 words",
    "long-word": "a word of more than 100 characters",
}

CODES = ERRORS | WARNINGS | UD_ERRORS | ADVICE | NOTES


def severity(code: str, ud: bool = False) -> Severity:
    """How severe a finding is; ud: the file claims to be a release of Universal Dependencies."""
    if code in NOTES:
        return "note"
    if code in ERRORS or code in UD_ERRORS or (ud and code in WARNINGS):
        return "error"
    return "warning"


class Problem(NamedTuple):
    """Something in a sentence; place: the line, an index into its `lines`."""

    place: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, with its place in the files; line 0: the file as a whole."""

    severity: Severity
    code: str
    file: str
    line: int
    sent_id: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = (place, self.severity, self.sent_id, f"{self.message} [{self.code}]")
        return printable(": ".join(part for part in parts if part))


def quoted(text: str, longest: int = 40) -> str:
    """A piece of a file as messages show it: in quotes, short, and fit for a terminal."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")
