"""The family of taggers, which predict tags, FEATS and lemmas, but no trees."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.files.errors import DataError
from depkit.parsers.config import Calibration, Mean, TaggerConfig
from depkit.parsers.family import Family
from depkit.parsers.settings import ConfigError

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Tagger(Family):
    """Taggers: a classifier for each predicted column on top of the encoder."""

    name = "tagger"
    config = TaggerConfig
    metrics = ("tags",)
    noun = "tagger"
    command = "tag"

    def check(self, config: Any) -> None:
        """See `Family.check`."""
        if not config.scorer.predict:
            raise ConfigError(
                "there is nothing to predict: scorer.predict is empty; a tagger needs at least one"
                " column"
            )

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Remove columns that are empty in train. Raises DataError if none remains."""
        resolved = remove_empty_columns(config, train)
        if not resolved.scorer.predict:
            columns = ", ".join(map(str.upper, config.scorer.predict))
            raise DataError(
                f"{train[0].file or 'train'}: there are no tags to learn: {columns} are all _"
            )
        return resolved

    def describe(self, config: Any) -> list[str]:
        """See `Family.describe`."""
        return [
            f"Predicts: columns: {', '.join(config.scorer.predict)}",
            "A tagger: it predicts no trees",
        ]

    def columns(self, config: Any) -> list[str]:
        """See `Family.columns`."""
        return list(config.scorer.predict)

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        """See `Family.symbols`."""
        from depkit.parsers.inputs.vocabulary import column_symbols

        return column_symbols(sentence, column)

    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """See `Family.network`."""
        from depkit.parsers.tagger.network import TaggerNetwork

        return TaggerNetwork(config, vocabulary, transformer)

    def parser(self, config: Any, *parts: Any) -> "Parser":
        """See `Family.parser`."""
        from depkit.parsers.tagger.parser import TaggerParser

        return TaggerParser(config, *parts)

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        """See `Family.combine`."""
        from depkit.parsers.tagger.ensemble import TaggerEnsemble, combine_members

        return combine_members(TaggerEnsemble, members, mean, calibration, self.columns)

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Do nothing: all taggers can be combined."""

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        punct: str = "keep",
    ) -> dict[str, float]:
        """Compute the score "tags": the mean accuracy of the predicted columns in percent.

        All words are scored, whatever `punct` is.
        """
        correct = total = 0
        for sentence, tagged in zip(gold, predicted, strict=True):
            for name in config.scorer.predict:
                correct += sum(map(str.__eq__, getattr(sentence, name), getattr(tagged, name)))
                total += len(sentence)
        return {"tags": 100.0 * correct / total}


def remove_empty_columns(config: Any, train: Sequence[Sentence]) -> Any:
    """Return the configuration without the predicted columns that are all `_` in the treebank."""
    from dataclasses import replace

    predict = [
        name
        for name in config.scorer.predict
        if any(set(getattr(sentence, name)) != {"_"} for sentence in train)
    ]
    return replace(config, scorer=replace(config.scorer, predict=predict))
