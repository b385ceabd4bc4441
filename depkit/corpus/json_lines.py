"""Sentences as JSON Lines, one object per sentence, with character offsets into the text."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from depkit.corpus.cleaning import restore_wrapper
from depkit.corpus.enhanced import collapse, read_graph
from depkit.corpus.probabilities import ARC_PROB, LABEL_PROB, TREE_PROB, tree_rank
from depkit.corpus.sentence import Sentence, find_boundary
from depkit.corpus.surface import SurfaceToken, surface_tokens, word_texts
from depkit.files.errors import FormatError


def to_json_lines(
    sentences: Iterable[Sentence], prob: bool = False, start: int = 0
) -> Iterator[str]:
    """Convert each sentence to a line of JSON.

    The keys of a sentence are sent_id, text, start, end, words, and if present newdoc, newpar,
    multiword and tree, the text of the constituency tree. The keys of a word are id, form, lemma,
    upos, xpos, feats, head, deprel, start and end; `_` becomes null, and HEAD a number, 0 for the
    root. If prob is true, a word also has arc_prob and label_prob, read from MISC, where
    `add_probabilities` has written them. The keys of a multiword token are first and last (word
    ids), form, start and end. If the sentence has enhanced dependencies, a word also has deps, a
    list of objects with the keys head and deprel, without empty nodes: see `enhanced.collapse`.

    Offsets count characters (Unicode code points) from the beginning of the document. The document
    is the input if it was raw text, else the concatenation of the sentences' texts. start: the
    offset of the first sentence. Several trees of a sentence, see `add_tree_rank`, have the same
    offsets and the further keys rank, 1 for the best tree, and prob.
    """
    offset = begin = start
    for sentence in sentences:
        rank = tree_rank(sentence)
        if rank < 2:
            begin = 0 if find_boundary(sentence.lines, "newdoc") else offset
        record, offset = _make_record(sentence, begin)
        _add_deps(record, sentence)
        if rank:
            record |= {"rank": rank, "prob": float(sentence.comment(TREE_PROB))}
        if prob:
            for word, misc in zip(record["words"], sentence.column("misc"), strict=True):
                values = dict(part.partition("=")[::2] for part in misc.split("|"))
                word |= {
                    "arc_prob": float(values[ARC_PROB]),
                    "label_prob": float(values[LABEL_PROB]),
                }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _add_deps(record: dict[str, Any], sentence: Sentence) -> None:
    """Add the enhanced dependencies of a sentence to its words, unless DEPS is no graph."""
    if "deps" not in sentence.format.columns or set(sentence.column("deps")) == {"_"}:
        return
    with suppress(FormatError):
        relations = collapse(read_graph(sentence))
        for word, pairs in zip(record["words"], relations, strict=True):
            word["deps"] = [{"head": head, "deprel": label} for head, label in pairs]


def _make_record(sentence: Sentence, offset: int) -> tuple[dict[str, Any], int]:
    """Return the JSON object of a sentence, and the offset at which the next sentence begins.

    offset: where this sentence begins, white space before it included.
    """
    words: list[dict[str, Any]] = []
    multiword: list[dict[str, Any]] = []
    texts: list[str] = []
    sentence_start = sentence_end = offset
    for token in surface_tokens(sentence):
        start = offset + len(token.before)
        end = start + len(token.text)
        if not words:  # The sentence starts at its first token.
            sentence_start = start
        sentence_end = end
        if token.last > token.first:
            multiword.append(
                {"first": token.first + 1, "last": token.last + 1, "form": token.text,
                 "start": start, "end": end}
            )  # fmt: skip
        words += _make_words(sentence, token, start)
        texts += [token.before if texts else "", token.text, token.after]
        offset = end + len(token.after)
    record: dict[str, Any] = {"sent_id": sentence.sent_id or None}
    for key in ("newdoc", "newpar"):
        if find_boundary(sentence.lines, key):
            record[key] = sentence.comment(f"{key} id") or True
    text = "".join(texts[:-1])  # without the white space after the last token
    record |= {"text": text, "start": sentence_start, "end": sentence_end, "words": words}
    if multiword:
        record["multiword"] = multiword
    if sentence.constituents:
        record["tree"] = str(restore_wrapper(sentence.constituents))
    return record, offset


def _make_words(sentence: Sentence, token: SurfaceToken, start: int) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the words of a token, which begins at `start`; see `word_texts`."""
    first = token.first
    for number, text in word_texts(token, sentence.form[token.first : token.last + 1]):
        for i in range(first, first + number):
            yield {
                "id": i + 1, "form": sentence.form[i], "lemma": _none_if_blank(sentence.lemma[i]),
                "upos": _none_if_blank(sentence.upos[i]), "xpos": _none_if_blank(sentence.xpos[i]),
                "feats": _none_if_blank(sentence.feats[i]),
                "head": sentence.head[i] if sentence.head[i] >= 0 else None,
                "deprel": _none_if_blank(sentence.deprel[i]), "start": start,
                "end": start + len(text),
            }  # fmt: skip
        first += number
        start += len(text)


def _none_if_blank(cell: str) -> str | None:
    return None if cell == "_" else cell
