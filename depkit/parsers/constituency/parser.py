"""Constituency parsers: from the scores of spans to bracketed trees, and tags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, ClassVar

import numpy as np

from depkit.corpus.cleaning import find_wrapper
from depkit.corpus.penn import BRACKETS, penn_quotes
from depkit.corpus.sentence import Sentence
from depkit.corpus.spans import Span, spans_to_tree
from depkit.corpus.tree import Tree, escape_brackets, escape_form
from depkit.files.errors import FormatError
from depkit.parsers.base import MAX_CUBIC_WORDS, Parser, check_lengths
from depkit.parsers.chunks import Prepare
from depkit.parsers.constituency.decoding import find_best_labels
from depkit.parsers.constituency.examples import COLUMN
from depkit.trees.chart import decode_spans


@dataclass(repr=False)
class ConstituencyParser(Parser):
    """A parser that scores labelled spans, and finds the best constituency tree."""

    trees: ClassVar[str] = "constituents"

    def warm_up(self) -> None:
        decode_spans(np.zeros((1, 3, 3), dtype=np.float32), np.array([2]))

    def make_preparer(self) -> Prepare:
        """Make a function that encodes words as `penn_words` returns them."""
        prepare = super().make_preparer()
        if self.members:  # they do so themselves
            return prepare

        def prepare_words(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> Any:
            return prepare(list(map(self._with_penn_words, sentences)), context)

        return prepare_words

    def _with_penn_words(self, sentence: Sentence) -> Sentence:
        words = self.penn_words(sentence)
        return sentence if words == sentence.form else sentence.with_columns({"form": words})

    def penn_words(self, sentence: Sentence) -> list[str]:
        """Return the words of a sentence, written as in the Penn Treebank.

        Brackets and quotation marks are replaced, but the latter not if the training treebank had
        straight ones. The words of a sentence that was read from a bracketed tree do not change.
        """
        words = list(sentence.form)
        if sentence.constituents is not None:
            return words
        if '"' not in self.vocabulary.words.indices:
            words = penn_quotes(words, ["SpaceAfter=No" not in word.misc for word in sentence])
        return [BRACKETS.get(word, word) for word in words]

    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, **options: str
    ) -> list[Sentence]:
        check_lengths(sentences, MAX_CUBIC_WORDS)
        words = np.array([len(sentence) for sentence in sentences])
        scores = self.network.score(batch)
        unknown = self.tagging.unknown_words(sentences)
        pending = scores.columns.fetch_best(unknown)
        best_scores, labels = find_best_labels(scores.best_labels, words)
        trees, _ = decode_spans(best_scores, words)
        all_columns = self.tagging.columns(sentences, unknown, pending.wait(), tags)
        results = zip(sentences, trees, labels, all_columns, strict=True)
        return list(starmap(self._make_sentence, results))

    def _make_sentence(
        self,
        sentence: Sentence,
        nodes: np.ndarray,
        labels: np.ndarray,
        columns: Mapping[str, Sequence[str]],
    ) -> Sentence:
        """Make a sentence with its tree and tags.

        Args:
            sentence: A sentence.
            nodes: The spans of its binary tree, [spans, 2] (start, end), with padding.
            labels: The best label of each span, [n + 1, n + 1].
            columns: Its predicted columns.
        """
        tagged = sentence.with_columns(columns) if columns else sentence
        symbols = self.vocabulary.columns[COLUMN].symbols
        spans = []
        for start, end in nodes[: 2 * len(sentence) - 1].tolist():
            if label := labels[start, end]:
                spans.append(Span(start, end, tuple(symbols[label - 1].split(" "))))
        root = spans_to_tree(spans, make_leaves(tagged, self.penn_words(tagged)))
        wrapper = find_wrapper(sentence.constituents) if sentence.constituents else None
        tree = Tree(root.name, root.children, root.word, wrapper=wrapper)
        return tagged.with_constituents(tree)


def make_leaves(sentence: Sentence, forms: Sequence[str]) -> list[Tree]:
    """Return the words of a tree with their tags: XPOS, or UPOS if there is no XPOS.

    Words that were read from a tree are written as they were, all others as in `forms`. Raises
    FormatError for a sentence without tags.
    """
    tags = sentence.xpos if set(sentence.xpos) != {"_"} else sentence.upos
    if set(tags) == {"_"}:
        raise FormatError(
            *sentence.location(),
            "the sentence has no tags, which a tree needs, and the model predicts none; tag the"
            " file first, or train a parser that predicts XPOS",
        )
    tree = sentence.constituents
    words = [leaf.word for leaf in tree.leaves()] if tree else map(escape_form, forms)
    pairs = zip(map(escape_brackets, tags), words, strict=True)
    return [Tree(tag, (), word) for tag, word in pairs]
