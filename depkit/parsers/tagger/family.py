"""The family of taggers, which predict tags, FEATS and lemmas, but no trees."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.files.errors import DataError
from depkit.parsers.family import Family, Scoring, count_correct
from depkit.parsers.tagger.config import TaggerConfig

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.columns.mean_arrays import MeanArrays
    from depkit.parsers.columns.network import MeanNetwork
    from depkit.parsers.engine.onnx_engine import ArrayNetwork
    from depkit.parsers.network import ParserNetwork


class Tagger(Family):
    """Taggers: a classifier for each predicted column on top of the encoder."""

    name = "tagger"
    config = TaggerConfig
    metrics = ("tags",)
    hub_tag = "part-of-speech-tagging"
    noun = "tagger"
    command = "tag"

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Raise DataError if train has no column to learn."""
        resolved = super().resolve_auto(config, train)
        if not resolved.scorer.predict:
            columns = ", ".join(map(str.upper, config.scorer.predict))
            raise DataError(
                f"{train[0].file or 'train'}: there are no tags to learn: {columns} are all _"
            )
        return resolved

    def describe(self, config: Any) -> list[str]:
        return [
            f"Predicts: columns: {', '.join(config.scorer.predict)}",
            "A tagger: it predicts no trees",
        ]

    @property
    def network(self) -> "Callable[..., ParserNetwork]":
        from depkit.parsers.tagger.network import TaggerNetwork

        return TaggerNetwork

    @property
    def is_standalone(self) -> bool:
        return True

    @property
    def array_network(self) -> "type[ArrayNetwork]":
        from depkit.parsers.engine.onnx_engine import ArrayNetwork

        return ArrayNetwork

    @property
    def parser(self) -> "type[Parser]":
        from depkit.parsers.tagger.parser import TaggerParser

        return TaggerParser

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Do nothing: all taggers can be combined."""

    @property
    def mean_network(self) -> "type[MeanNetwork]":
        from depkit.parsers.columns.network import MeanNetwork

        return MeanNetwork

    @property
    def mean_arrays(self) -> "type[MeanArrays]":
        from depkit.parsers.columns.mean_arrays import MeanArrays

        return MeanArrays

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        scoring: Scoring = Scoring(),  # noqa: B008
    ) -> dict[str, float]:
        """Compute the score "tags": the mean accuracy of the predicted columns in percent."""
        correct = total = 0
        for sentence, tagged in zip(gold, predicted, strict=True):
            for name in config.scorer.predict:
                correct += count_correct(sentence, tagged, name)
                total += len(sentence)
        return {"tags": 100.0 * correct / total}
