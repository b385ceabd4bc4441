"""The page of bundled models: the facts of `depkit info --models`, and the models' cards."""

from collections.abc import Callable
from html import escape

from depkit.cli.model_tables import COLUMNS, model_facts, model_rows
from depkit.cli.site.markdown import render_code, render_inline, render_table
from depkit.cli.site.page import Entry, Page
from depkit.parsers.model_directory import CARD, find_model

_INTRODUCTION = """\
These models come with depkit; `--model NAME` selects one. LAS is that on the dev part of the
treebank, which was not used in training, with gold words and on raw text, as in the CoNLL 2018
shared task. The speed is that from raw text to trees, in processor time of one core of a server
(AMD EPYC); it was measured on repeated text, other text takes 1.1 to 2.1 times as long.
`depkit info --models` prints the table, `depkit info MODEL` more about a model."""


def make_page(find_target: Callable[[str], str]) -> Page:
    """Return the page of all bundled models."""
    facts = model_facts()
    rows = [
        [f'<a href="#{row[0]}">{row[0]}</a>', *map(escape, row[1:])] for row in model_rows(facts)
    ]
    lines = [
        f'<h1>Bundled models</h1>\n<p class="lead">{render_inline(_INTRODUCTION, find_target)}</p>',
        render_table(map(escape, COLUMNS), rows),
    ]
    entries = []
    for each in facts:
        name, language = each["model"], each.get("language_name", "")
        treebanks = ", ".join(each.get("datasets", ()))
        lines.append(f'<h2 id="{name}">{name}: {escape(str(language))}</h2>')
        lines.append(
            f"<p>Trained on {escape(treebanks)}; licence {escape(str(each['license']))}.</p>"
        )
        lines.append(render_code(f"depkit parse --model {name} FILE"))
        text = (find_model(name) / CARD).read_text("utf-8").rpartition("\n---\n")[2].strip()
        card = f'<p class="card">{escape(text)}</p>'
        lines.append(f"<details><summary>Model card of {name}</summary>{card}</details>")
        entries.append(Entry(name, "model", name, f"{language}, {treebanks}"))
    return Page("models", "Bundled models", "\n".join(lines), "Reference", "", entries)
