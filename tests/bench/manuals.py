"""Collect running text of a language from the translated manuals in packages of Debian.

python -m tests.bench manuals CODE --packages DIR [--words N] -o FILE

DIR is a folder into which the packages of `[texts]` in languages.toml have been unpacked, each with
`dpkg-deb --extract PACKAGE DIR`. FILE gets one paragraph a line and an empty line after each, in a
random order, at most N words. Only text under the licences that languages.toml names is read. For
KDE, this means the manuals whose first page has the notice of the GNU Free Documentation License.
"""

import argparse
import html
import random
import re
from collections.abc import Iterator, Sequence
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
# The folders of a language beside that of its ISO code
NAMES = {"de": ["de-DE"], "fr": ["fr-FR"], "pt": ["pt_BR", "pt-BR"], "nb": ["nb_NO", "nb-NO", "no"]}
NO_TEXT = r"(?s)<!--.*?-->|<(script|style|pre|programlisting|screen|literallayout|title)\b.*?</\1>"
FREE_DOCUMENTATION = re.compile("&FDL(Notice|Issue)")
LETTERS = 0.7  # the least share of letters among the characters of a paragraph without its spaces
LENGTHS = range(5, 251)  # the words of a paragraph
NO_PROSE = re.compile(r"[{}<>\\|$=]|https?:|--|::|\(\)|/[a-z]+/")
ENGLISH = frozenset("the and of to you this that with from for are can your".split())
UNTRANSLATED = 0.08  # a paragraph with a larger share of these English words is left out
OTHER_SCRIPT = {"fa", "he", "ja", "ko", "ru", "uk"}  # not written with Latin letters
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
    texts = dict.fromkeys(read_manuals(arguments.packages, arguments.code))  # without repetitions
    kept = [text for text in texts if is_prose(text, arguments.code)]
    random.Random(1).shuffle(kept)
    ends = accumulate(len(text.split()) for text in kept)
    kept = [text for text, end in zip(kept, ends, strict=True) if end <= arguments.words]
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
            for path in sorted((packages / folder / name).rglob(files)):
                if path.suffix == ".docbook" and not is_free(path):
                    continue
                content = re.sub(NO_TEXT, " ", path.read_text("utf-8", "replace"))
                for match in paragraph.finditer(content):
                    yield plain(match[2])


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
    if sum(word in ENGLISH for word in words) > UNTRANSLATED * len(words):
        return False
    latin = sum(letter.isascii() for letter in letters)
    return code not in OTHER_SCRIPT or latin <= LATIN * len(letters)
