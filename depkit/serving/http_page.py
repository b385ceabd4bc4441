"""The page of the server for people: type a text, see its trees, and correct heads.

Its forms work without a script. The script replaces a corrected tree without loading the page
anew, lets words be chosen in the drawing, and copies and saves trees.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from itertools import islice

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest_inline
from depkit.serving.page_sentence import Arcs, render_options, render_sentence
from depkit.serving.udpipe import Models, ParameterError, Query, ServedModel

MAX_SENTENCES = 100  # that are shown
TREES = (1, 3, 5, 10)  # of a sentence, to choose from


def _read_file(name: str) -> str:
    return resources.files("depkit.serving").joinpath("web", name).read_text("utf-8")


_STYLE, _SCRIPT = _read_file("page.css"), _read_file("page.js")
# The content security policy, similar to that of the pages of reports: only this style and this
# script are allowed, which are identified by their digests. Forms and requests of the script may be
# sent to this server only.
POLICY = (
    f"default-src 'none'; style-src {digest_inline(_STYLE)};"
    f" script-src {digest_inline(_SCRIPT)};"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ARC = re.compile(r"([0-9]{1,9}):([0-9]{0,9}):(\S*)")


def make_query(models: Models, values: Mapping[str, str]) -> Query:
    """Return the query that stands for the values of one of the page's two forms.

    That for a text has model, text, trees (how many for each sentence) and prob (if not empty,
    probabilities are wanted). That of a tree has besides sentence, the tree in CoNLL-U, and the
    values of `read_arcs`. What the model cannot do is left out. Raises ValueError.
    """
    model = models.find(values.get("model", ""))
    known = model.parser.options
    options = ["prob"] if values.get("prob") and "probabilities" in known else []
    if values.get("trees", "") not in ("", "1") and "best" in known:
        options.append(f"best={values['trees']}")
    parameters = {"model": model.name}
    if "sentence" in values:
        parameters["data"] = str(_fix_arcs(values["sentence"], read_arcs(values)))
        return models.parse_query(parameters | {"parser": ";".join(["heads=keep", *options])})
    parameters |= dict.fromkeys(model.abilities, "") | {"data": values.get("text", "")}
    if "parser" in parameters:
        parameters["parser"] = ";".join(options)
    # Without a tokenizer, there is one sentence a line, with spaces between the words.
    return models.parse_query(
        parameters if "tokenizer" in parameters else parameters | {"input": "horizontal"}
    )


def read_arcs(values: Mapping[str, str]) -> Arcs:
    """Return the heads and relations that the user has set, by the numbers of their words.

    The value `arcs` has the earlier ones, such as `3:2:obj 5:0:`. The last one is made of the
    values word, head and relation. An empty head or relation is left to the parser. Raises
    ParameterError.
    """
    texts = values.get("arcs", "").split()
    if values.get("word"):
        new = (values.get(name, "").strip() for name in ("word", "head", "relation"))
        texts.append(":".join(new))
    arcs: dict[int, tuple[str, str]] = {}
    for text in texts:
        match = _ARC.fullmatch(text)
        if not match:
            raise ParameterError(
                f"{text[:100]!r} is not the number of a word, that of its head, and a relation"
                " without spaces"
            )
        word, head, relation = match.groups()
        arcs.pop(int(word), None)
        if head or relation:
            arcs[int(word)] = head, relation
    return arcs


def _fix_arcs(text: str, arcs: Arcs) -> Sentence:
    """Return the sentence of a text in CoNLL-U with only these arcs. Raises ValueError."""
    lines = io.StringIO(text.replace("\r\n", "\n"), newline="\n")
    sentences = list(islice(read(lines, "conllu"), 2))
    if len(sentences) != 1:
        raise ParameterError("the parameter sentence must have one sentence")
    (sentence,) = sentences
    reason = f"the sentence has {len(sentence)} word{'s' * (len(sentence) > 1)}"
    heads, deprels = [-1] * len(sentence), ["_"] * len(sentence)
    for word, (head, relation) in arcs.items():
        if not 1 <= word <= len(sentence):
            raise ParameterError(f"there is no word {word}, because {reason}")
        if int(head or 0) > len(sentence):
            raise ParameterError(f"word {word} cannot have the head {head}, because {reason}")
        heads[word - 1], deprels[word - 1] = int(head or -1), relation or "_"
    return sentence.with_tree(heads, deprels)


def render_page(
    models: Models,
    values: Mapping[str, str],
    query: Query,
    results: Iterable[Sentence | Sequence[Sentence]],
) -> Iterator[bytes]:
    """Yield the parts of the page that answers a form.

    All results are read, but only the first MAX_SENTENCES are shown.
    """
    yield _render_head(models, query.model, values).encode(errors="replace")
    names = ("trees", "prob")
    fields = {"model": query.model.name} | {name: values.get(name, "") for name in names}
    arcs = read_arcs(values) if "sentence" in values else {}
    has_heads = "heads" in query.model.parser.options
    number = 0
    for number, result in enumerate(results, start=1):
        if number == 1 and not has_heads and query.model.parser.trees:
            family = query.model.parser.config.family
            yield (
                f"<p>Models of the family {escape(family)} have one tree without probabilities,"
                " and do not accept heads that are set by hand.</p>\n"
            ).encode()
        if number <= MAX_SENTENCES:
            trees = [result] if isinstance(result, Sentence) else result
            article = render_sentence(trees, fields if has_heads else None, arcs)
            yield article.encode(errors="replace")
    if number > MAX_SENTENCES:
        yield f"<p>The first {MAX_SENTENCES} of {number:,} sentences are shown.</p>\n".encode()
    yield f"</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n".encode()


def _render_head(models: Models, chosen: ServedModel, values: Mapping[str, str]) -> str:
    """Return the page until its first sentence."""
    text = values.get("text", "")
    names = ((name, name, model is chosen) for name, model in models.models.items())
    controls = f'<label>Model <select name="model">{render_options(names)}</select></label>\n'
    if any("best" in model.parser.options for model in models.models.values()):
        trees = ((str(n), str(n), str(n) == values.get("trees", "1")) for n in TREES)
        checked = " checked" if values.get("prob") else ""
        controls += (
            f'<label>Trees of a sentence <select name="trees">{render_options(trees)}</select>'
            f'</label>\n<label><input type="checkbox" name="prob" value="1"{checked}>'
            " Probabilities</label>\n"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>depkit</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        '<h1>Parse a text</h1>\n<form action="/" method="get">\n'
        f'<label for="text">Text</label>\n<textarea id="text" name="text" rows="4" dir="auto"'
        # HTML ignores one line end after the tag, so that one of the text is kept.
        f"{' autofocus' if not text else ''}>\n{escape(text)}</textarea>\n{controls}"
        "<button>Parse</button>\n</form>\n"
    )
