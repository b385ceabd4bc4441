"""The page of the server for people: type a text, see its trees. It has no script."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from html import escape

from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.svg import draw_sentence
from depkit.serving.udpipe import Models, ServedModel

MAX_SENTENCES = 100  # that are shown
MAX_WORDS = 500  # of a sentence that is drawn

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 sans-serif; margin: 1em auto; max-width: 70em; padding: 0 1em; }
textarea { box-sizing: border-box; font: inherit; width: 100%; }
button, select { font: inherit; }
article { border-top: 1px solid #888; padding: 0.5em 0; }
article > div, pre { overflow-x: auto; }
h2 { font-size: 1em; }
"""
_DIGEST = b64encode(sha256(_STYLE.encode()).digest()).decode()
# As that of the pages of reports; besides, the form may be sent, to this server only.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)


def make_parameters(models: Models, values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of /process that stand for those of the page, `text` and `model`."""
    name = values.get("model", "")
    abilities = models.find(name).abilities
    parameters = dict.fromkeys(abilities, "") | {"data": values.get("text", ""), "model": name}
    # Without a tokenizer, there is one sentence a line, with spaces between the words.
    return parameters if "tokenizer" in abilities else parameters | {"input": "horizontal"}


def render_page(
    models: Models, chosen: ServedModel, text: str, results: Iterable[Sentence]
) -> Iterator[bytes]:
    """Yield the parts of the page with a text and its annotated sentences.

    All results are read, but only the first MAX_SENTENCES are shown.
    """
    options = "".join(
        f"<option{' selected' if model is chosen else ''}>{escape(name)}</option>"
        for name, model in models.models.items()
    )
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>depkit</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        '<h1>Parse a text</h1>\n<form action="/" method="get">\n'
        f'<p><label for="text">Text</label>\n<textarea id="text" name="text" rows="4" dir="auto"'
        # HTML ignores one line end after the tag, so that one of the text is kept.
        f' autofocus>\n{escape(text)}</textarea></p>\n<p><label>Model <select name="model">'
        f"{options}</select></label> <button>Parse</button></p>\n</form>\n"
    ).encode(errors="replace")
    number = 0
    for number, sentence in enumerate(results, start=1):
        if number <= MAX_SENTENCES:
            yield _render_sentence(sentence).encode(errors="replace")
    if number > MAX_SENTENCES:
        yield f"<p>The first {MAX_SENTENCES} of {number:,} sentences are shown.</p>\n".encode()
    yield b"</body>\n</html>\n"


def _render_sentence(sentence: Sentence) -> str:
    if max(sentence.head, default=-1) < 0:
        drawing = ""
    elif len(sentence) > MAX_WORDS:
        drawing = f"<p>A sentence of more than {MAX_WORDS} words is not drawn.</p>\n"
    else:
        drawing = f'<div tabindex="0">{draw_sentence(sentence)}</div>\n'
    title = _text(sentence.text or " ".join(sentence.form))
    rows = "\n".join(
        "\t".join(map(make_visible, line.split("\t"))) for line in str(sentence).split("\n")
    )
    return (
        f'<article>\n<h2 dir="auto">{title}</h2>\n{drawing}<details><summary>CoNLL-U</summary>'
        f"<pre>{escape(rows)}</pre></details>\n</article>\n"
    )


def _text(text: str) -> str:
    return escape(make_visible(text))
