"""The text of a treebank, as tokens and as labels of its characters."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depkit.corpus.sentence import Sentence, find_boundary
from depkit.corpus.surface import surface_tokens
from depkit.parsers.text.labels import INSIDE, LOOKUP, SENTENCE, SINGLE, SPLIT, TOKEN


@dataclass(frozen=True)
class TextToken:
    """A token of a text.

    words: its words, several in a multiword token. has_space: whether white space follows it.
    ends_sentence: whether it is the last token of a sentence. is_name: whether it is a proper noun.
    is_misspelled: whether a word has the feature Typo=Yes.
    """

    text: str
    words: tuple[str, ...]
    has_space: bool
    ends_sentence: bool = False
    is_name: bool = False
    is_misspelled: bool = False


Text = list[TextToken]


@dataclass(frozen=True)
class Passage:
    """A paragraph of a treebank with the labels of its characters."""

    text: str
    ends: np.ndarray  # [n], INSIDE, TOKEN or SENTENCE: what ends after a character
    multiword: np.ndarray  # [n], SINGLE, SPLIT or LOOKUP: how a token is split into words
    treebank: int = 0  # the index of its treebank


def read_paragraphs(sentences: Iterable[Sentence]) -> Iterator[Text]:
    """Yield the tokens of each paragraph of a treebank."""
    paragraph: Text = []
    for sentence in sentences:
        if paragraph and find_boundary(sentence.lines, "newdoc", "newpar"):
            yield paragraph
            paragraph = []
        paragraph += _read_tokens(sentence)
    if paragraph:
        yield paragraph


def _read_tokens(sentence: Sentence) -> Text:
    tokens = surface_tokens(sentence)
    return [
        TextToken(
            " ".join(token.text.split()) or "_",  # any white space becomes one space
            tuple(sentence.form[token.first : token.last + 1]),
            bool(token.after),
            token is tokens[-1],
            token.first == token.last and sentence.upos[token.first] == "PROPN",
            any("Typo=Yes" in feats for feats in sentence.feats[token.first : token.last + 1]),
        )
        for token in tokens
    ]


def make_passages(sentences: Sequence[Sentence]) -> list[Passage]:
    """Return the paragraphs of a treebank, with one space for any white space."""
    return list(map(make_passage, read_paragraphs(sentences)))


def make_passage(tokens: Text, treebank: int = 0) -> Passage:
    """Return the text and the labels of a paragraph. treebank: the index of its treebank."""
    texts: list[str] = []
    ends: list[int] = []
    multiword: list[int] = []
    for token in tokens:
        after = " " * token.has_space
        texts.append(token.text + after)
        end = SENTENCE if token.ends_sentence else TOKEN
        ends += [INSIDE] * (len(token.text) - 1) + [end] + [INSIDE] * len(after)
        multiword += _multiword_labels(token.text, token.words) + [SINGLE] * len(after)
    text = "".join(texts).rstrip()
    size = len(text)
    return Passage(text, np.array(ends[:size]), np.array(multiword[:size]), treebank)


def _multiword_labels(text: str, words: Sequence[str]) -> list[int]:
    """Return the `multiword` labels of the characters of a token that consists of these words."""
    labels = [SINGLE] * len(text)
    if len(words) > 1 and "".join(words) != text:
        labels[-1] = LOOKUP
    elif len(words) > 1:
        last = -1
        for word in words[:-1]:
            last += len(word)
            labels[last] = SPLIT
    return labels
