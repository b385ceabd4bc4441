"""The pages whose texts are written by hand: the start, the tutorials, and the conventions."""

from collections.abc import Callable, Iterable
from html import escape
from importlib import resources

from depkit.cli.site.markdown import Block, heading_id, render_blocks, render_table, split_blocks
from depkit.cli.site.page import Entry, Page
from depkit.corpus.formats import FORMATS, NON_TABULAR, SUFFIXES
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.svg import draw_sentence
from depkit.score.punctuation import POLICIES, PTB_TAGS

# The tutorials in the order of the navigation, with the readers that each is for
TUTORIALS = {
    "language": "everyone",
    "researcher": "researchers",
    "engineer": "engineers",
    "annotator": "annotators",
    "teacher": "teachers",
}
_OTHER_FORMATS = {
    "ptb": "bracketed trees, as in the Penn Treebank",
    "parquet": "one row a sentence, with the columns of CoNLL-U as lists; needs the extra parquet",
}


def read_blocks(name: str) -> list[Block]:
    """Return the blocks of a text of the site."""
    path = resources.files("depkit.cli.site").joinpath("texts", f"{name}.md")
    return list(split_blocks(path.read_text("utf-8")))


def make_start(find_target: Callable[[str], str], tutorials: Iterable[Page]) -> Page:
    """Return the first page."""
    links = "".join(
        f'<li><a href="{page.file}">{escape(page.title)}</a>, {page.label.lower()}</li>'
        for page in tutorials
    )
    return _make_page("index", "", find_target, {"tutorials": f"<ul>{links}</ul>"})


def make_tutorials(find_target: Callable[[str], str]) -> list[Page]:
    """Return the pages of the tutorials."""
    return [_make_page(f"tutorial-{name}", "Tutorials", find_target, {}) for name in TUTORIALS]


def make_conventions(find_target: Callable[[str], str]) -> Page:
    """Return the page of formats, and of how scores are defined."""
    parts = {"formats": _render_formats(), "policies": _render_policies()}
    return _make_page("conventions", "Reference", find_target, parts)


def draw_tree() -> str:
    """Return the figure of the first page, as an SVG image."""
    words = ("She", "gave", "the", "dog", "a", "bone", ".")
    tree = Sentence.from_words(
        words,
        upos=["PRON", "VERB", "DET", "NOUN", "DET", "NOUN", "PUNCT"],
        head=[2, 0, 4, 2, 6, 2, 2],
        deprel=["nsubj", "root", "det", "iobj", "det", "obj", "punct"],
    )
    return draw_sentence(tree)


def _make_page(
    name: str, group: str, find_target: Callable[[str], str], parts: dict[str, str]
) -> Page:
    blocks = read_blocks(name)
    title = blocks[0].text
    headings = [block.text for block in blocks if block.kind in ("h2", "h3") and name != "index"]
    kind = "tutorial" if group == "Tutorials" else "text"
    entries = [Entry(title, kind), *(Entry(text, title, heading_id(text)) for text in headings)]
    label = "Start" if name == "index" else ""
    if kind == "tutorial":
        label = f"For {TUTORIALS[name.removeprefix('tutorial-')]}"
    body = render_blocks(blocks, parts, find_target)
    return Page(name, title, body, group, label, entries)


def _render_formats() -> str:
    suffixes: dict[str, list[str]] = {}
    for suffix, format in SUFFIXES.items():
        suffixes.setdefault(format.name, []).append(suffix)
    rows = [
        (name, ", ".join(suffixes[name]), " ".join(format.columns).upper())
        for name, format in FORMATS.items()
    ]
    rows += [(name, ", ".join(suffixes[name]), _OTHER_FORMATS[name]) for name in NON_TABULAR]
    return render_table(("format", "suffixes", "columns"), rows)


def _render_policies() -> str:
    meanings = {
        "keep": "no words",
        "ptb": f"words with the XPOS {' '.join(PTB_TAGS)}",
        "ptb7": "as ptb, and -LRB- and -RRB-",
        "ctb": "words with the XPOS PU",
        "unicode": "words of nothing but Unicode punctuation, as in eval07.pl and eval09.pl",
        "upos": "words with the UPOS PUNCT",
        "deprel": "words with the relation punct",
    }
    assert meanings.keys() == POLICIES.keys()
    rows = [(f"<code>{name}</code>", escape(meaning)) for name, meaning in meanings.items()]
    return render_table(("policy", "is left out"), rows)
