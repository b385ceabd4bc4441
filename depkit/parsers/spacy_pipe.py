"""The component "depkit" of spaCy pipelines, which spaCy finds by an entry point."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.spacy_documents import FEATS
from depkit.corpus.text import find_sentence_starts
from depkit.corpus.universal import UPOS

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

    from depkit.parsers.base import Parser


SETTINGS = {"model": "en-ewt", "device": "auto", "threads": 1}


def __getattr__(name: str) -> Any:
    """Return the factory to which the entry point refers; spaCy is imported only for it."""
    if name != "factory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spacy.language import Language

    def make_pipe(nlp: Language, name: str, *, model: str, device: str, threads: int) -> Pipe:
        from depkit.parsers.loading import load

        return Pipe(load(model, device, threads=threads))

    return Language.factory("depkit", default_config=SETTINGS)(make_pipe)


class Pipe:
    """A component that sets heads, relations, tags, FEATS and lemmas of the tokens of a `Doc`.

    The words are the tokens of spaCy. If they have sentence boundaries, these stay; otherwise the
    tokenizer of the parser finds them in each paragraph. What the parser does not predict stays as
    it is.
    """

    def __init__(self, parser: "Parser") -> None:
        self.parser = parser

    def __call__(self, doc: "Doc") -> "Doc":
        if not len(doc):
            return doc
        if not doc.has_annotation("SENT_START"):
            starts = self._find_starts(doc)
            for token in doc:
                token.is_sent_start = token.i in starts
        spans = list(doc.sents)
        sentences = [new_sentence([token.text for token in words(span)] or ["_"]) for span in spans]
        tags: Any = "predict" if self.parser.config.predicted_tags else "missing"
        heads, relations = list(range(len(doc))), ["dep"] * len(doc)
        for span, sentence in zip(spans, self.parser(sentences, tags), strict=True):
            tokens = list(words(span))
            for token, word in zip(tokens, sentence, strict=False):
                heads[token.i] = tokens[word.head_id - 1].i if word.head_id else token.i
                relations[token.i] = "ROOT" if word.deprel == "root" else word.deprel
            _attach_spaces(span, tokens, heads)
            _set_columns(tokens, sentence)
        _set_tree(doc, heads, relations)
        return doc

    def _find_starts(self, doc: "Doc") -> set[int]:
        """Return the indices of the tokens with which the sentences of the parser begin."""
        if not self.parser.tokenizer:
            return {0}
        starts, index = {0}, 0
        # The first sentence begins with the first token, which may be white space.
        for start in islice(find_sentence_starts(doc.text, self.parser.tokenizer.segment), 1, None):
            while index < len(doc) and doc[index].idx < start:
                index += 1
            if index < len(doc):
                starts.add(index)
        return starts


def words(span: "Span") -> Iterator[Any]:
    """Yield the tokens of a span that are not white space."""
    return (token for token in span if not token.is_space)


def _attach_spaces(span: "Span", tokens: list[Any], heads: list[int]) -> None:
    """Make the root of a sentence the head of its tokens of white space."""
    root = next((token.i for token in tokens if heads[token.i] == token.i), span.start)
    for token in span:
        if token.is_space:
            heads[token.i] = root


def _set_columns(tokens: list[Any], sentence: Sentence) -> None:
    for token, word in zip(tokens, sentence, strict=False):
        if word.lemma != "_":
            token.lemma_ = word.lemma
        if word.upos in UPOS:
            token.pos_ = word.upos
        if word.xpos != "_":
            token.tag_ = word.xpos
        if FEATS.fullmatch(word.feats):
            token.set_morph(word.feats)


def _set_tree(doc: "Doc", heads: list[int], relations: list[str]) -> None:
    """Set the heads, given as indices, and the relations of all tokens."""
    import numpy as np
    from spacy.attrs import DEP, HEAD

    # spaCy stores the distance to the head, modulo 2^64.
    rows = [
        [(head - index) % (1 << 64), doc.vocab.strings.add(relation)]
        for index, (head, relation) in enumerate(zip(heads, relations, strict=True))
    ]
    values: Any = np.array(rows, dtype=np.uint64)
    doc.from_array([HEAD, DEP], values)
