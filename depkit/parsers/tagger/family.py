"""The family of taggers: they predict tags, features and lemmas, and no tree."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.errors import DataError
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Calibration, Mean, TaggerConfig
from depkit.parsers.family import Family
from depkit.parsers.settings import ConfigError

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Tagger(Family):
    """A classifier a column over the encoder's vectors."""

    name = "tagger"
    config = TaggerConfig
    metrics = ("tags",)
    noun = "tagger"
    command = "tag"

    def check(self, config: Any) -> None:
        if not config.scorer.predict:
            raise ConfigError("nothing to predict: the family is tagger and scorer.predict empty")

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Columns that the treebank lacks are left out. Raises DataError if none is left."""
        left = filled_columns(config, train)
        if not left.scorer.predict:
            wanted = ", ".join(map(str.upper, config.scorer.predict))
            raise DataError(f"{train[0].file or 'train'}: no tags to learn, {wanted} are all _")
        return left

    def describe(self, config: Any) -> list[str]:
        return [
            f"Predicts: columns: {', '.join(config.scorer.predict)}",
            "A tagger: it predicts no trees",
        ]

    def columns(self, config: Any) -> list[str]:
        return list(config.scorer.predict)

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        from depkit.parsers.inputs.vocabulary import symbols_of

        return symbols_of(sentence, column)

    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        from depkit.parsers.tagger.network import TaggerNetwork

        return TaggerNetwork(config, vocabulary, transformer)

    def parser(self, config: Any, *parts: Any) -> "Parser":
        from depkit.parsers.tagger.parser import TaggerParser

        return TaggerParser(config, *parts)

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        from depkit.parsers.tagger.ensemble import TaggerEnsemble, combine_members

        return combine_members(TaggerEnsemble, members, mean, calibration, self.columns)

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Any taggers can be combined."""

    def evaluate(
        self, config: Any, gold: Sequence[Sentence], predicted: Iterable[Sentence]
    ) -> dict[str, float]:
        """tags: the mean accuracy of the predicted columns."""
        right = words = 0
        for sentence, tagged in zip(gold, predicted, strict=True):
            for name in config.scorer.predict:
                right += sum(map(str.__eq__, getattr(sentence, name), getattr(tagged, name)))
                words += len(sentence)
        return {"tags": 100.0 * right / words}


def filled_columns(config: Any, train: Sequence[Sentence]) -> Any:
    """The configuration without the columns that have no value in the treebank."""
    from dataclasses import replace

    filled = [
        name
        for name in config.scorer.predict
        if any(set(getattr(sentence, name)) != {"_"} for sentence in train)
    ]
    return replace(config, scorer=replace(config.scorer, predict=filled))
