"""The codes of problems that `depkit check` can find, their severities, and findings.

An error prevents reading a file, training on it or evaluating with it: for example, its rows are
malformed, or its heads do not form a tree. A warning is any other violation of UD validation and
becomes an error with `--ud`. Advice is a warning that never becomes an error. A note is
information.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from depkit.files.errors import describe_location
from depkit.treebank.output import escape_unprintable

Severity = Literal["error", "warning", "note"]

ERRORS: dict[str, str] = {
    "unreadable": "the file cannot be opened, decoded or unpacked",
    "empty-file": "the file has no sentence",
    "encoding": "bytes that cannot be decoded in the file's encoding",
    "control-character": "NUL and other characters that are not text",
    "white-line": "a line that contains only white space",
    "comment-place": "a comment after the first word",
    "no-words": "comments that no words follow",
    "columns": "a row with too many or too few columns",
    "id": "an ID that is missing or out of sequence",
    "range": "a multiword range that does not fit the words",
    "empty-node": "an empty node out of sequence",
    "no-form": "a word without a FORM",
    "brackets": "a bracketed tree that is malformed or has no words",
    "line-end-cr": "lines that end in CR",
    "format": "any other reason why the sentence cannot be read",
    "head": "a HEAD that is not a number",
    "head-range": "a HEAD that is not a word of the sentence",
    "no-head": "a word without HEAD in a sentence in which others have one",
    "self-loop": "a word that is its own head",
    "cycle": "words whose heads form a cycle",
    "no-root": "a sentence without a word with HEAD 0",
}

WARNINGS: dict[str, str] = {
    "byte-order-mark": "a byte order mark at the beginning of a line",
    "line-end": "lines that end in CR LF",
    "extra-blank-line": "several blank lines after a sentence, or a blank line before the first",
    "final-blank-line": "a file that does not end with a blank line",
    "empty-cell": "an empty cell, which should contain _",
    "white-space": "white space where none is allowed",
    "replacement-character": "U+FFFD, which replaces text that could not be decoded",
    "unicode-nfc": "characters that are not composed (Unicode NFC)",
    "empty-node-place": "an empty node between a range and its first word",
    "range-cells": "a multiword range with values that belong to its words",
    "empty-node-cells": "an empty node with HEAD or DEPREL",
    "no-tree": "a sentence without any HEAD",
    "no-deprel": "a word with HEAD, but without DEPREL",
    "several-roots": "a sentence with several words with HEAD 0",
    "root-label": "HEAD 0 without the relation root, or the relation root without HEAD 0",
    "predicates": "CoNLL-09 without exactly one APRED column for each predicate",
    "upos-form": "a UPOS that is missing or not in capital letters",
    "deprel-form": "a relation in DEPREL or DEPS that is not in the form relation:subtype",
    "feats": "FEATS that are not in the form Name=Value|...",
    "feats-order": "FEATS that are not in alphabetical order",
    "feats-repeated": "FEATS that contain a feature twice, or the same value of a feature twice",
    "deps": "DEPS that are not in the form head:relation|..., or name an impossible head",
    "deps-order": "DEPS that are not sorted by their heads",
    "deps-repeated": "DEPS that contain the same head and relation twice",
    "deps-unreachable": "nodes that DEPS do not connect to the root",
    "deps-sometimes": "DEPS or empty nodes in only some sentences of the file",
    "space-after": "NoSpaceAfter=Yes, or SpaceAfter that is not No or not at a token of the text",
    "misc-repeated": "MISC that contains Gloss, Lang, Translit or a similar attribute twice",
    "sent-id": "a sent_id that is empty or badly formed",
    "no-sent-id": "a sentence without sent_id",
    "sent-id-again": "a sent_id that another sentence also has",
    "no-text": "a sentence without # text",
    "text-space": "white space at the end of # text",
    "text-mismatch": "a # text that differs from the words and their spaces",
    "parallel-id": "a parallel_id that is not in the form corpus/sentence",
    "comment-again": "a comment such as sent_id, text or newdoc that occurs twice in a sentence",
}

# These are found with `--ud` only, and are errors.
UD_ERRORS: dict[str, str] = {
    "upos": "a tag that is not one of the 17 of UD",
    "deprel": "a relation that is not one of the 37 of UD",
    "not-conllu": "a file in CoNLL-X or CoNLL-09, or with bracketed trees",
}

# These warnings never become errors.
ADVICE: dict[str, str] = {
    "misc": "an empty part in MISC",
    "range-of-one": "a multiword range of a single word",
    "train-overlap": "a sentence that the training file also contains",
    "unseen-tag": "a tag that does not occur in the training file",
    "unseen-relation": "a relation that does not occur in the training file",
}

NOTES: dict[str, str] = {
    "non-projective": "a sentence whose arcs cross",
    "long-sentence": "a sentence of more than 200 words",
    "long-word": "a word of more than 100 characters",
}

CODES = ERRORS | WARNINGS | UD_ERRORS | ADVICE | NOTES


def severity(code: str, ud: bool = False) -> Severity:
    """Return the severity of a code; ud: whether the treebank is checked with `--ud`."""
    if code in NOTES:
        return "note"
    if code in ERRORS or code in UD_ERRORS or (ud and code in WARNINGS):
        return "error"
    return "warning"


class Problem(NamedTuple):
    """A problem of a sentence, found by one of the checks."""

    line_index: int  # index into the sentence's `lines`
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with its file and line, as shown to users."""

    severity: Severity
    code: str
    file: str
    line: int  # 1-based; 0 for the file as a whole
    sent_id: str
    message: str

    def __str__(self) -> str:
        location = describe_location(self.file, self.line)
        parts = (location, self.severity, self.sent_id, f"{self.message} [{self.code}]")
        return escape_unprintable(": ".join(part for part in parts if part))


def quote(text: str, max_length: int = 40) -> str:
    """Quote text from a file for messages, shortened and with escapes."""
    return repr(text if len(text) <= max_length else text[: max_length - 3] + "...")
