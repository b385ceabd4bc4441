"""Conversion of sentences to spaCy's `Doc`s, for displaCy and other programs that use spaCy."""

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence, each_sentence, find_boundary
from depkit.corpus.surface import surface_tokens
from depkit.corpus.universal import UPOS

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

FEATS = re.compile(r"[^=|]+=[^=|]+(\|[^=|]+=[^=|]+)*")


def to_spacy(sentences: Sentence | Iterable[Sentence], vocab: "Vocab") -> "Iterator[Doc]":
    """Convert sentences to spaCy `Doc`s with their trees, tags, FEATS and lemmas.

    >>> import depkit, spacy  # doctest: +SKIP
    >>> docs = depkit.to_spacy(depkit.read("a.conllu"), spacy.blank("en").vocab)  # doctest: +SKIP

    To parse within a pipeline, use `nlp.add_pipe("depkit")`, see `parsers.spacy_pipe`.

    A new Doc begins at each comment `# newdoc` or `# newpar`, which a parser writes at the
    beginning of each paragraph of running text. Sentences without such comments make one Doc.

    As in spaCy's own conversion of CoNLL-U, the relation `root` is called ROOT, a token is a
    syntactic word, and there is no space inside a multiword token. White space of any kind becomes
    one space, except at the end of a Doc. An empty relation becomes `dep`. UPOS and FEATS that are
    not in the format of UD are omitted, and so is the tree of a Doc in which a word has no head.
    Because spaCy begins a sentence at each root, a sentence with several roots is split.

    The vocabulary is that of a spaCy pipeline, such as `nlp.vocab` or `spacy.blank("en").vocab`.
    Raises ModuleNotFoundError if spaCy is not installed, and the `problem` of a broken sentence.
    """
    try:
        from spacy.tokens import Doc
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "spacy":
            raise
        message = "to_spacy needs spaCy: pip install 'depkit-parser[spacy]'"
        raise ModuleNotFoundError(message, name="spacy") from None
    return (
        _make_document(Doc, paragraph, vocab)
        for paragraph in _split_paragraphs(each_sentence(sentences))
    )


def _split_paragraphs(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    paragraph: list[Sentence] = []
    for sentence in sentences:
        if sentence.problem:
            raise sentence.problem
        if paragraph and find_boundary(sentence.lines, "newdoc", "newpar"):
            yield paragraph
            paragraph = []
        paragraph.append(sentence)
    if paragraph:
        yield paragraph


def _make_document(Doc: "type[Doc]", sentences: list[Sentence], vocab: "Vocab") -> "Doc":
    def column(name: str) -> list[str]:
        values = chain.from_iterable(getattr(sentence, name) for sentence in sentences)
        return ["" if value == "_" else value for value in values]

    starts = list(accumulate(map(len, sentences), initial=0))
    spaces = [space for sentence in sentences for space in _spaces_after(sentence)][:-1] + [False]
    tree: Any = {"sent_starts": [False] * starts[-1]}
    for start in starts[:-1]:
        tree["sent_starts"][start] = True
    if all(min(sentence.head) >= 0 for sentence in sentences):
        heads = [
            start + (head - 1 if head else word)  # In spaCy, the head of a root is the root.
            for start, sentence in zip(starts, sentences, strict=False)
            for word, head in enumerate(sentence.head)
        ]
        # If all relations of a tree were empty, spaCy would ignore the tree; hence `dep`.
        deps = [{"root": "ROOT", "": "dep"}.get(deprel, deprel) for deprel in column("deprel")]
        tree = {"heads": heads, "deps": deps}
    return Doc(
        vocab,
        words=[form for sentence in sentences for form in sentence.form],
        spaces=spaces,
        tags=column("xpos"),
        pos=[tag if tag in UPOS else "" for tag in column("upos")],
        morphs=[feats if FEATS.fullmatch(feats) else "" for feats in column("feats")],
        lemmas=column("lemma"),
        **tree,
    )


def _spaces_after(sentence: Sentence) -> list[bool]:
    """Return for each word whether white space follows it."""
    spaces = [False] * len(sentence)
    for token in surface_tokens(sentence):
        spaces[token.last] = bool(token.after)
    return spaces
