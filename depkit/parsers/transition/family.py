"""The family of transition parsers (Mohammadshahi and Henderson 2020)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.config import TransitionConfig
from depkit.parsers.encoders import graph_encoders
from depkit.parsers.family import Family
from depkit.parsers.graph.family import require_heads
from depkit.parsers.settings import ConfigError
from depkit.score.evaluators import evaluate
from depkit.trees.shape import is_tree

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork
    from depkit.parsers.transition.examples import OracleExamples


class Transition(Family):
    """Transition parsers, which predict heads and relations but no tags."""

    name = "transition"
    config = TransitionConfig
    metrics = ("LAS", "UAS")

    def read(self, path: str, encoding: str = "utf-8") -> Iterator[Sentence]:
        """See `Family.read`; also raises FormatError if the heads of a sentence form no tree."""
        for sentence in require_heads(super().read(path, encoding)):
            if not is_tree(np.array(sentence.head, dtype=np.int32)):
                message = (
                    "the heads form a cycle, so no transitions build them; depkit check finds all"
                    " such sentences"
                )
                raise FormatError(*sentence.location(), message)
            yield sentence

    def check(self, config: Any) -> None:
        """See `Family.check`."""
        scorer = config.scorer
        if scorer.graph and not config.encoder.reads_graph:
            raise ConfigError(
                f"only an encoder with {graph_encoders()} can read a graph; choose one, or set"
                " scorer.graph=false"
            )
        if scorer.reads == "sentence":
            for key in ("composition", "history", "summary"):
                if getattr(scorer, key):
                    raise ConfigError(f"scorer.{key} needs scorer.reads=state")
        if config.inputs.stop:
            raise ConfigError("a transition parser has no use for inputs.stop; leave it out")

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Derive the rule of the root from the trees."""
        if config.decoder.root != "auto":
            return config
        single = all(sentence.head.count(0) == 1 for sentence in train)
        return replace(
            config, decoder=replace(config.decoder, root="single" if single else "multi")
        )

    def describe(self, config: Any) -> list[str]:
        """See `Family.describe`."""
        graph = ", with the arcs so far" if config.scorer.graph else ""
        return [
            f"Predicts: heads, relations; by transitions, from the {config.scorer.reads}{graph}",
            f"Root: {config.decoder.root}",
        ]

    def columns(self, config: Any) -> list[str]:
        """See `Family.columns`."""
        return ["deprel"]

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """See `Family.targets`; words have no targets, because examples have oracles."""
        return {}

    def examples(
        self, sentences: Sequence[Sentence], vocabulary: "Vocabulary", *arguments: Any, **named: Any
    ) -> "OracleExamples":
        """See `Family.examples`."""
        from depkit.parsers.inputs.dataset import IGNORED
        from depkit.parsers.transition.examples import OracleExamples, make_oracles

        data = super().examples(sentences, vocabulary, *arguments, **named)
        labels = vocabulary.columns["deprel"]
        return OracleExamples(data.dataset, make_oracles(sentences, labels, IGNORED))

    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """See `Family.network`."""
        from depkit.parsers.transition.network import TransitionNetwork

        return TransitionNetwork(config, vocabulary, transformer)

    def parser(self, config: Any, *parts: Any) -> "Parser":
        """See `Family.parser`."""
        from depkit.parsers.transition.parser import TransitionParser

        return TransitionParser(config, *parts)

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        punct: str = "keep",
    ) -> dict[str, float]:
        """See `Biaffine.evaluate`."""
        scores = evaluate(gold, predicted, punct)
        return {"UAS": scores.UAS, "LAS": scores.LAS}
