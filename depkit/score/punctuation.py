"""Which gold words are punctuation, and so left out of the scores: the literature's conventions."""

import csv
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from depkit.corpus.universal import base

PTB_TAGS = ("``", "''", ":", ",", ".")


@dataclass(frozen=True)
class Policy:
    """A punctuation convention, decided on the gold words alone.

    name: as in the signature; column: the column of the words that it reads; is_punctuation:
    whether a word with that value in the column is left out.
    """

    name: str
    column: str
    is_punctuation: Callable[[str], bool]


def is_unicode_punctuation(form: str) -> bool:
    r"""Whether a form is all Unicode punctuation, `^\p{P}+$` of eval07.pl and eval09.pl.

    `_` is punctuation (category Pc), so the unnamed derivations of CoNLL-09 Turkish are too.
    """
    return bool(form) and all(unicodedata.category(character)[0] == "P" for character in form)


def is_punct_relation(deprel: str) -> bool:
    """Whether the base relation is `punct`, in any case (`punct`, `PUNCT`, `punct:sent`)."""
    return base(deprel).lower() == "punct"


def _tagged(name: str, tags: tuple[str, ...], column: str = "xpos") -> Policy:
    return Policy(name, column, frozenset(tags).__contains__)


POLICIES = {
    policy.name: policy
    for policy in (
        _tagged("keep", (), "deprel"),
        _tagged("ptb", PTB_TAGS),
        _tagged("ptb7", (*PTB_TAGS, "-LRB-", "-RRB-")),
        _tagged("ctb", ("PU",)),
        Policy("unicode", "form", is_unicode_punctuation),
        _tagged("upos", ("PUNCT",), "upos"),
        Policy("deprel", "deprel", is_punct_relation),
    )
}


def policy(name: str) -> Policy:
    """The policy of that name, or `tags:A,B,...`: gold XPOS tags of one's own.

    The list is a line of CSV: a comma among the tags is written `","`. Its order does not
    matter, and the policy's name has it sorted. Raises ValueError, saying what there is.
    """
    if name.startswith("tags:"):
        tags = _tags(name.removeprefix("tags:"))
        listed = ",".join('"' + tag.replace('"', '""') + '"' if set(tag) & set(',"') else tag
                          for tag in sorted(tags))  # fmt: skip
        return _tagged(f"tags:{listed}", tuple(tags))
    if name not in POLICIES:
        names = ", ".join(POLICIES)
        raise ValueError(f"no punctuation policy {name!r}; there are {names} and tags:A,B,...")
    return POLICIES[name]


def _tags(line: str) -> set[str]:
    try:
        (tags,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError):
        tags = []
    if not tags or not all(tags):
        raise ValueError(
            f"'tags:{line}' does not read as tags:A,B,...; a comma or a quote among the tags"
            ' is quoted as in CSV, like tags:.,",",:'
        )
    return set(tags)
