"""The contents of the page of suspects, which `depkit.treebank.suspects` has found and ranked."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from depkit.corpus.sentence import Sentence
from depkit.drawing.report.contents import LIMIT, Texts, as_table, describe_page
from depkit.treebank.suspects import Suspect, describe_suspects

COLUMNS = (
    "rank", "source", "kind", "gold", "alternative", "probability", "gold_probability", "evidence",
    "file", "line", "sent_id", "word",
)  # fmt: skip


def make_contents(
    treebank: str, sentences: Sequence[Sentence], ranked: Sequence[Suspect], limit: int = LIMIT
) -> dict[str, Any]:
    """Compute everything that the page shows; ranked: all suspects, the most suspicious first.

    The page has at most `limit` suspects, the first ones.

    Returns:
        The contents, which can be written as JSON: those of `describe_page`, and
            treebank, total, words, found: The name of the treebank, and the numbers of its
                sentences, words and suspects.
            universal: Whether the treebank is in CoNLL-U, of which trees have one root.
            digest: A text that differs for pages with other suspects. A browser keeps the decisions
                about suspects under this name.
            counts: A table with the number of suspects of each kind and source.
            suspects: A table with COLUMNS of the records of `describe_suspects`, and the index of
                the sentence in the rows below.
            sentences: forms, tags, relations: the values that the numbers in the rows are indices
                into; rows: for each sentence its text, or "", and the lists of its forms, tags
                (UPOS), heads and relations. A head is the number of a word from 1, 0 for the root
                and -1 for no head.
    """
    forms, tags, relations = Texts(), Texts(), Texts()
    shown = ranked[:limit]
    numbers = sorted({suspect.sentence for suspect in shown})
    index = {number: i for i, number in enumerate(numbers)}  # of each sentence in the page
    rows = [
        [
            sentence.text,
            forms.pack(sentence.form),
            tags.pack(sentence.upos),
            list(sentence.head),
            relations.pack(sentence.deprel),
        ]
        for sentence in (sentences[number] for number in numbers)
    ]
    records = [
        {name: record[name] for name in COLUMNS} | {"sentence": index[suspect.sentence]}
        for suspect, record in zip(shown, describe_suspects(shown, sentences), strict=True)
    ]
    counts = Counter((suspect.kind, suspect.source) for suspect in ranked)
    shown_data = json.dumps([treebank, records, forms.used, rows])
    return describe_page("suspects") | {
        "treebank": treebank,
        "universal": all(sentence.format.has_ranges for sentence in sentences),
        "digest": sha256(shown_data.encode()).hexdigest()[:32],
        "total": len(sentences),
        "words": sum(map(len, sentences)),
        "found": len(ranked),
        "counts": as_table(
            [
                {"kind": kind, "source": source, "count": number}
                for (kind, source), number in counts.items()
            ]
        ),
        "suspects": as_table(records),
        "sentences": {
            "forms": forms.used,
            "tags": tags.used,
            "relations": relations.used,
            "rows": rows,
        },
    }
