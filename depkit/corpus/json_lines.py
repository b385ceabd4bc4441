"""Sentences as JSON Lines, one object a sentence, with places in the text."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from depkit.corpus.probabilities import ARC, LABEL
from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import surface_tokens


def json_lines(sentences: Iterable[Sentence], prob: bool = False) -> Iterator[str]:
    """A line of JSON for each sentence.

    Keys: sent_id, text, start, end, newdoc and newpar where one begins, and words: id, form,
    lemma, upos, xpos, feats, head, deprel (`_` is null, HEAD a number, 0 the root's), start,
    end; multiword tokens: first, last (ids), form, start, end. Places count characters (Unicode
    code points) from the beginning of the document, which is the input text where it was raw
    text, else the sentences' texts one behind the other. prob: words have arc_prob and label_prob,
    too, as `with_probabilities` wrote them into MISC.
    """
    place = 0
    for sentence in sentences:
        if any(line.startswith("# newdoc") for line in sentence.lines):
            place = 0
        record, place = _record(sentence, place)
        if prob:
            for word, misc in zip(record["words"], sentence.column("misc"), strict=True):
                given = dict(part.partition("=")[::2] for part in misc.split("|"))
                word |= {"arc_prob": float(given[ARC]), "label_prob": float(given[LABEL])}
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _record(sentence: Sentence, place: int) -> tuple[dict[str, Any], int]:
    """The object of a sentence whose text begins at `place`, and where it ends."""
    words: list[dict[str, Any]] = []
    multiword: list[dict[str, Any]] = []
    texts: list[str] = []
    begin = end = place
    for token in surface_tokens(sentence):
        start = place + len(token.before)
        begin = begin if words else start
        end = start + len(token.text)
        if token.last > token.first:
            multiword.append(
                {"first": token.first + 1, "last": token.last + 1, "form": token.text,
                 "start": start, "end": end}
            )  # fmt: skip
        words += _words(sentence, token.first, token.last, token.text, start)
        texts += [token.before if texts else "", token.text, token.after]
        place = end + len(token.after)
    record: dict[str, Any] = {"sent_id": sentence.sent_id or None}
    for key in ("newdoc", "newpar"):
        if any(line.startswith(f"# {key}") for line in sentence.lines):
            record[key] = sentence.comment(f"{key} id") or True
    record |= {"text": "".join(texts[:-1]), "start": begin, "end": end, "words": words}
    if multiword:
        record["multiword"] = multiword
    return record, place


def _words(
    sentence: Sentence, first: int, last: int, text: str, start: int
) -> Iterator[dict[str, Any]]:
    """Words that are one token; pieces of it have places of their own, other words the token's."""
    forms = sentence.form[first : last + 1]
    whole = last > first and "".join(forms) != text
    for i in range(first, last + 1):
        end = start + len(text if whole or first == last else sentence.form[i])
        yield {
            "id": i + 1, "form": sentence.form[i], "lemma": _value(sentence.lemma[i]),
            "upos": _value(sentence.upos[i]), "xpos": _value(sentence.xpos[i]),
            "feats": _value(sentence.feats[i]),
            "head": sentence.head[i] if sentence.head[i] >= 0 else None,
            "deprel": _value(sentence.deprel[i]), "start": start, "end": end,
        }  # fmt: skip
        if not whole:
            start = end


def _value(cell: str) -> str | None:
    return None if cell == "_" else cell
