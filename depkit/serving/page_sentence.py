"""A sentence on the server's page: its drawing, the form that sets a head, and its texts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from depkit.corpus.probabilities import has_probabilities, read_probabilities
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.svg import draw_svg
from depkit.drawing.trees.tikz import draw_tikz

MAX_WORDS = 500  # of a sentence that is drawn

# The head (a number) and the relation that have been set, by words; "" if the parser finds it
Arcs = Mapping[int, tuple[str, str]]


def render_sentence(trees: Sequence[Sentence], fields: Mapping[str, str] | None, arcs: Arcs) -> str:
    """Return the element of a sentence.

    Args:
        trees: Its trees, the best one first. The others are drawn as alternatives.
        fields: The values that the form with which a head is set sends besides its own; None if
            the model accepts no heads.
        arcs: What has been set so far.
    """
    best = trees[0]
    text = best.text or " ".join(best.form)
    form = _hidden("sentence", str(best))  # also read by the script
    body = ""
    if len(best) > MAX_WORDS:
        body = f"<p>A sentence of more than {MAX_WORDS} words is not drawn.</p>\n"
    elif max(best.head, default=-1) >= 0:
        drawn = [DrawnSentence(0, best, others=trees[1:])]
        drawing = "".join(draw_svg(drawn))
        body = f'<div class="scroll" tabindex="0" role="group" aria-label="Tree">{drawing}</div>\n'
        if fields is not None:
            form += "".join(_hidden(*item) for item in {**fields, "text": text}.items())
            form = f'<form action="/" method="post">\n{form}{_render_fields(best, arcs)}</form>\n'
        form += _render_words(best) + _render_details("TikZ", "".join(draw_tikz(drawn)))
    return (
        f'<article>\n<h2 dir="auto">{_text(text)}</h2>\n{body}{form}'
        f"{_render_details('CoNLL-U', str(best))}</article>\n"
    )


def render_options(options: Iterable[tuple[str, str, bool]]) -> str:
    """Return the options of a field from their values, texts, and whether they are chosen."""
    return "".join(
        f'<option value="{escape(value)}"{" selected" if chosen else ""}>{_text(text)}</option>'
        for value, text, chosen in options
    )


def _render_fields(sentence: Sentence, arcs: Arcs) -> str:
    """Return the fields for a word, its head and its relation, and what has been set so far."""
    words = [f"{number} {form}" for number, form in enumerate(sentence.form, start=1)]
    texts = ["0 (the root)", *words]
    choices = "".join(
        f'<option value="{number}" data-head="{head}">{_text(texts[number])}</option>'
        for number, head in enumerate(sentence.head, start=1)
    )
    heads = [("", "the parser’s choice"), *((str(i), text) for i, text in enumerate(texts))]
    head_options = render_options((*option, False) for option in heads)
    fields = (
        _hidden("arcs", " ".join(f"{word}:{head}:{label}" for word, (head, label) in arcs.items()))
        + f'<label>Word <select name="word">{choices}</select></label>\n'
        f'<label>New head <select name="head">{head_options}</select></label>\n'
        '<label>Relation <input name="relation" autocomplete="off" autocapitalize="off"'
        ' spellcheck="false" placeholder="the parser’s choice"></label>\n<button>Set</button>\n'
    )
    if arcs:
        rows = (
            f"{words[word - 1]} ← {texts[int(head)] if head else '?'}{f' ({label})' * bool(label)}"
            for word, (head, label) in sorted(arcs.items())
        )
        fields += f'<p class="arcs">Set by hand: {_text("; ".join(rows))}</p>\n'
    return fields


def _render_words(sentence: Sentence) -> str:
    """Return a table of the words, with the probabilities of heads and relations if there are."""
    names = ["", "Word", "Lemma", "Tag", "Head", "Relation"]
    rows = [
        [str(i), word.form, word.lemma, word.upos, str(sentence.head[i - 1]), word.deprel]
        for i, word in enumerate(sentence, start=1)
    ]
    if has_probabilities(sentence):
        names += ["p(head)", "p(relation)"]
        for row, pair in zip(rows, read_probabilities(sentence), strict=True):
            row += [f"{probability:.3f}" for probability in pair]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    return (
        '<details><summary>Words</summary><div class="scroll" tabindex="0">'
        f"<table><tr>{head}</tr>\n{body}</table></div></details>\n"
    )


def _render_details(title: str, text: str) -> str:
    """Return a text with tabs and line ends that is shown on request."""
    lines = text.rstrip("\n").split("\n")
    rows = "\n".join("\t".join(map(make_visible, line.split("\t"))) for line in lines)
    return (
        f'<details class="{title.lower()}"><summary>{title}</summary>'
        f'<pre tabindex="0">{escape(rows)}</pre></details>\n'
    )


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">\n'


def _text(text: str) -> str:
    return escape(make_visible(text))
