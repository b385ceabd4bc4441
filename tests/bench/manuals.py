"""Collect text of a language from translated manuals and user interfaces in packages of Debian.

python -m tests.bench manuals CODE --packages DIR [--words N] -o FILE

DIR is a folder into which the packages of `[texts]` in languages.toml have been unpacked, each with
`dpkg-deb --extract PACKAGE DIR`. FILE gets one paragraph a line and an empty line after each, in a
random order, at most N words. User interfaces, whose sentences are short, are read only for the
profiles of languages (see `languages`). Only text under the licences that languages.toml names is
read. For KDE, this means the manuals whose first page has the notice of the GNU Free Documentation
License.
"""

import argparse
import gettext
import html
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from depkit.files.atomic import atomic

# Folders of manuals in DIR, each with a folder for each language, and the elements of a paragraph
MANUALS = {
    "usr/share/doc/HTML": ("*.docbook", "para"),
    "usr/share/doc/debian-handbook/html": ("*.html", "p|li|td|dd"),
    "usr/share/gimp/2.0/help": ("*.html", "p|li|td|dd"),
    "usr/share/help": ("*.page", "p"),
    "usr/share/libreoffice/help": ("*.html", "p|li|td|dd"),
}
# The translations of the user interface of LibreOffice, with a folder for each language
INTERFACE = "usr/lib/libreoffice/program/resource"
# The folders of a language beside that of its ISO code
NAMES = {
    "de": ["de-DE"],
    "en": ["C", "en-US"],
    "fr": ["fr-FR"],
    "pt": ["pt_BR", "pt-BR"],
    "nb": ["nb_NO", "nb-NO", "no"],
}
NO_TEXT = r"(?s)<!--.*?-->|<(script|style|pre|programlisting|screen|literallayout|title)\b.*?</\1>"
FREE_DOCUMENTATION = re.compile("&FDL(Notice|Issue)")
LETTERS = 0.7  # the least share of letters among the characters of a paragraph without its spaces
LENGTHS = range(5, 251)  # the words of a paragraph
NO_PROSE = re.compile(r"[{}<>\\|$=]|https?:|--|::|\(\)|/[a-z]+/")
ENGLISH = frozenset("the and of to you this that with from for are can your".split())
UNTRANSLATED = 0.08  # a paragraph with a larger share of these English words is left out
OTHER_SCRIPT = frozenset("be bg fa he ja ko mk ru sr uk".split())  # no Latin letters
LATIN = 0.25  # the largest share of Latin letters in a paragraph in another script


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench manuals", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("code", metavar="CODE")
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--words", type=int, default=10**9)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    texts = read_manuals(arguments.packages, arguments.code)
    kept = choose_prose(texts, arguments.code, arguments.words)
    with atomic(arguments.output) as path:
        path.write_text("".join(f"{text}\n\n" for text in kept), "utf-8")
    print(
        f"{arguments.code}: {len(kept):,} paragraphs, {sum(len(x.split()) for x in kept):,} words"
    )


def read_manuals(packages: Path, code: str) -> Iterator[str]:
    """Yield the paragraphs of all manuals in a language, without markup."""
    for folder, (files, elements) in MANUALS.items():
        paragraph = re.compile(rf"(?s)<({elements})\b[^>]*>((?:(?!<({elements})\b).)*?)</\1>")
        for name in (code, *NAMES.get(code, [])):
            if (packages / folder / name).is_symlink():
                continue  # as that of Slovak, which has no manual of its own, to Czech
            for path in sorted((packages / folder / name).rglob(files)):
                if path.suffix == ".docbook" and not is_free(path):
                    continue
                content = re.sub(NO_TEXT, " ", path.read_text("utf-8", "replace"))
                for match in paragraph.finditer(content):
                    yield plain(match[2])


def read_interface(packages: Path, code: str) -> Iterator[str]:
    """Yield the messages of LibreOffice in a language."""
    for path in sorted((packages / INTERFACE / code).rglob("*.mo")):
        with path.open("rb") as file:
            messages = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        yield from (plain(x) for x in messages.values() if isinstance(x, str))


def choose_prose(texts: Iterable[str], code: str, words: int) -> list[str]:
    """Return different paragraphs of prose in a random order, at most as many words."""
    kept = [text for text in dict.fromkeys(texts) if is_prose(text, code)]
    random.Random(1).shuffle(kept)
    ends = accumulate(len(text.split()) for text in kept)
    return [text for text, end in zip(kept, ends, strict=True) if end <= words]


def is_free(docbook: Path) -> bool:
    """Whether the manual that a page belongs to is under the GNU Free Documentation License."""
    first = docbook.with_name("index.docbook")
    return first.exists() and bool(FREE_DOCUMENTATION.search(first.read_text("utf-8", "replace")))


def plain(markup: str) -> str:
    """Return the text of a paragraph.

    The entities of a manual are mostly names: &kate; is Kate. The items of a path of menus have
    nothing between them.
    """
    text = html.unescape(re.sub(r"<[^<>]*>", "", re.sub("(</gui[a-z]+>)(?=<gui)", " ", markup)))
    text = re.sub(r"&([A-Za-z0-9-]+);", lambda match: match[1].capitalize(), text)
    return " ".join(text.split())


def is_prose(text: str, code: str) -> bool:
    """Whether a paragraph consists of translated sentences, and not of code, keys or menus."""
    words = [word.lower().strip(".,;:!?()") for word in text.split()]
    letters = [letter for letter in text if letter.isalpha()]
    if len(words) not in LENGTHS or len(letters) < LETTERS * len("".join(text.split())):
        return False
    if text[-1] not in '.!?…»")“”。' or NO_PROSE.search(text):
        return False
    if code != "en" and sum(word in ENGLISH for word in words) > UNTRANSLATED * len(words):
        return False
    latin = sum(letter.isascii() for letter in letters)
    return code not in OTHER_SCRIPT or latin <= LATIN * len(letters)
