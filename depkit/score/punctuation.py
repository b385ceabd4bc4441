"""Punctuation policies: the conventions by which gold words are left out of the scores."""

import csv
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from depkit.corpus.universal import base_relation

PTB_TAGS = ("``", "''", ":", ",", ".")


@dataclass(frozen=True)
class Policy:
    """A punctuation convention, which depends on the gold words only.

    name: the name in the signature; column: the column that it reads; is_punctuation: whether
    words with a given value in the column are left out.
    """

    name: str
    column: str
    is_punctuation: Callable[[str], bool]


def is_unicode_punctuation(form: str) -> bool:
    r"""Whether all characters of a form are Unicode punctuation.

    This is `^\p{P}+$` of eval07.pl and eval09.pl. `_` is punctuation (category Pc), and therefore
    also the words with the form `_` in the Turkish data of CoNLL-09.
    """
    return bool(form) and all(unicodedata.category(character)[0] == "P" for character in form)


def is_punct_relation(deprel: str) -> bool:
    """Whether the relation without its subtype is `punct`, in upper or lower case."""
    return base_relation(deprel).lower() == "punct"


def _tag_policy(name: str, tags: tuple[str, ...], column: str = "xpos") -> Policy:
    return Policy(name, column, frozenset(tags).__contains__)


POLICIES = {
    policy.name: policy
    for policy in (
        _tag_policy("keep", (), "deprel"),
        _tag_policy("ptb", PTB_TAGS),
        _tag_policy("ptb7", (*PTB_TAGS, "-LRB-", "-RRB-")),
        _tag_policy("ctb", ("PU",)),
        Policy("unicode", "form", is_unicode_punctuation),
        _tag_policy("upos", ("PUNCT",), "upos"),
        Policy("deprel", "deprel", is_punct_relation),
    )
}


def parse_policy(name: str) -> Policy:
    """Return the policy of this name, or one that leaves out the gold XPOS tags of `tags:A,B,...`.

    The tags are a line of CSV, so the tag `,` is written `","`. Their order does not matter; in the
    name of the policy they are sorted. Raises ValueError for any other name.
    """
    if name.startswith("tags:"):
        tags = _parse_tags(name.removeprefix("tags:"))
        quoted = ",".join('"' + tag.replace('"', '""') + '"' if set(tag) & set(',"') else tag
                          for tag in sorted(tags))  # fmt: skip
        return _tag_policy(f"tags:{quoted}", tuple(tags))
    if name not in POLICIES:
        names = ", ".join(POLICIES)
        raise ValueError(
            f"there is no punctuation policy {name!r}; there are {names} and tags:A,B,..."
        )
    return POLICIES[name]


def _parse_tags(line: str) -> set[str]:
    try:
        (tags,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError):
        tags = []
    if not tags or not all(tags):
        raise ValueError(
            f"'tags:{line}' does not have the form tags:A,B,...; a comma or a quote among the tags"
            ' must be quoted as in CSV, like tags:.,",",:'
        )
    return set(tags)
