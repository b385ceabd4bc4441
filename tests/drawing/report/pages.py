"""Small treebanks to report on, and the data of a written page."""

import json
import re
from pathlib import Path
from typing import Any

Word = tuple[str, str, int, str]  # form, UPOS, head, relation
TREES: list[list[Word]] = [
    [("The", "DET", 2, "det"), ("cats", "NOUN", 3, "nsubj"), ("sleep", "VERB", 0, "root"),
     ("here", "ADV", 3, "advmod"), (".", "PUNCT", 3, "punct")],
    [("Go", "VERB", 0, "root"), ("home", "NOUN", 1, "obj"), ("now", "ADV", 1, "advmod")],
    [("Birds", "NOUN", 2, "nsubj"), ("see", "VERB", 0, "root"), ("red", "ADJ", 4, "amod"),
     ("cats", "NOUN", 2, "obj")],
]  # fmt: skip
# The wrong words of two systems by sentence and word, with head, relation and tag.
FIRST = {(0, 1): (3, "obj", "NOUN"), (1, 1): (3, "obj", "PROPN"), (2, 2): (2, "obj", "ADJ")}
SECOND = {(0, 1): (3, "obj", "NOUN"), (0, 4): (2, "punct", "PUNCT"), (2, 0): (0, "root", "NOUN")}
# Text that would be markup, a script, a comment, the end of the data or a change of direction.
HOSTILE = [
    "</script><script>document.title='bad'</script>", "<img src=x onerror=alert(1)>",
    "<!--<script>", "&lt;b&gt;", "\u202eright\u2066", "]]>'\"\\", "\u0085\u2028",
    "x" * 5000, "@DATA@",
]  # fmt: skip


def write_trees(
    path: Path, trees: list[list[Word]], wrong: Any = (), probability: bool = False
) -> str:
    wrong = dict(wrong)
    misc = "ArcProb=0.9000|LabelProb=0.8000" if probability else "_"
    lines = []
    for s, tree in enumerate(trees):
        lines.append(f"# sent_id = s{s + 1}")
        for w, (form, tag, head, relation) in enumerate(tree):
            head, relation, tag = wrong.get((s, w), (head, relation, tag))
            number = "_" if head < 0 else head
            lines.append(f"{w + 1}\t{form}\t_\t{tag}\t_\t_\t{number}\t{relation}\t_\t{misc}")
        lines.append("")
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return str(path)


def read_page(page: str) -> Any:
    """Return the data in a page."""
    return json.loads(
        re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[0]
    )


def records(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
