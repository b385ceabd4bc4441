"""The family of transition parsers (Mohammadshahi and Henderson 2020)."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.family import DependencyFamily
from depkit.parsers.transition.config import TransitionConfig
from depkit.trees.shape import is_tree

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork
    from depkit.parsers.transition.examples import OracleExamples


class Transition(DependencyFamily):
    """Transition parsers, which predict heads and relations but no tags."""

    name = "transition"
    config = TransitionConfig

    def read(
        self, path: str, encoding: str = "utf-8", *, partial: bool = False
    ) -> Iterator[Sentence]:
        """Also raise FormatError if the heads of a sentence form no tree."""
        for sentence in super().read(path, encoding):
            if not is_tree(np.array(sentence.head, dtype=np.int32)):
                message = (
                    "the heads form a cycle, so no transitions build them; depkit check finds all"
                    " such sentences"
                )
                raise FormatError(*sentence.location(), message)
            yield sentence

    def describe(self, config: Any) -> list[str]:
        graph = ", with the arcs so far" if config.scorer.graph else ""
        return [
            f"Predicts: heads, relations; by transitions, from the {config.scorer.reads}{graph}",
            f"Root: {config.decoder.root}",
        ]

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """Return nothing: words have no targets, because examples have oracles."""
        return {}

    def examples(
        self, sentences: Sequence[Sentence], vocabulary: "Vocabulary", *arguments: Any, **named: Any
    ) -> "OracleExamples":
        from depkit.parsers.inputs.dataset import IGNORED
        from depkit.parsers.transition.examples import OracleExamples, make_oracles

        data = super().examples(sentences, vocabulary, *arguments, **named)
        labels = vocabulary.columns["deprel"]
        return OracleExamples(data.dataset, make_oracles(sentences, labels, IGNORED))

    @property
    def network(self) -> "Callable[..., ParserNetwork]":
        from depkit.parsers.transition.network import TransitionNetwork

        return TransitionNetwork

    @property
    def parser(self) -> "type[Parser]":
        from depkit.parsers.transition.parser import TransitionParser

        return TransitionParser
