"""What training, model directories and the command line know of a kind of parser.

This module and the families' own import torch only inside functions, so that settings are read and
checked without it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from depkit.corpus.files import read
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Calibration, Mean, ParserConfig

if TYPE_CHECKING:
    import numpy as np
    import torch

    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.batches import Examples, Laid
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class CombinationError(ValueError):
    """Parsers that cannot be combined into an ensemble."""


class Family(ABC):
    """A kind of parser: how it reads, learns, parses and is scored.

    name: the value of `family` in its configuration; config: the dataclass of that; metrics: its
    dev scores, of which the first selects the best epoch by default. noun: what a model card calls
    a model; command: the depkit command that applies one.
    """

    name: ClassVar[str]
    config: ClassVar[type[ParserConfig]]
    metrics: ClassVar[tuple[str, ...]]
    noun: ClassVar[str] = "parser"
    command: ClassVar[str] = "parse"

    # Data

    def read(self, path: str, encoding: str = "utf-8") -> Iterator[Sentence]:
        """The sentences of a file to train or score on. Raises FormatError."""
        return read(path, encoding=encoding)

    def findings(
        self, config: Any, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> list[str]:
        """What is odd about the treebanks, a line each; nothing here stops a training."""
        return []

    # Settings

    def check(self, config: Any) -> None:  # noqa: B027, families without such settings inherit it
        """Raises ConfigError for settings that do not go together."""

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """The configuration with everything decided that depends on the training treebank."""
        return config

    def describe(self, config: Any) -> list[str]:
        """What a model predicts and how, as lines for its card."""
        return []

    # Learning

    @abstractmethod
    def columns(self, config: Any) -> list[str]:
        """The names of what is predicted; each has its table of symbols in the vocabulary."""

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        """The gold symbols of a column, by default the sentence's own values."""
        values: list[str] = getattr(sentence, column)
        return values

    def vocabulary(self, sentences: Iterable[Sentence], config: Any) -> "Vocabulary":
        """The vocabulary of a training treebank."""
        from depkit.parsers.inputs.vocabulary import build_vocabulary

        return build_vocabulary(sentences, config.inputs, self.columns(config), self.symbols)

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """What is learned of each word, by name; by default the numbers of its symbols."""
        from depkit.parsers.inputs.batches import IGNORED

        return {
            name: [table.numbers.get(symbol, IGNORED) for symbol in self.symbols(sentence, name)]
            for name, table in vocabulary.columns.items()
        }

    def examples(
        self,
        sentences: Sequence[Sentence],
        vocabulary: "Vocabulary",
        config: Any,
        device: "torch.device",
        context: "Laid | None" = None,
        transformer: "Transformer | None" = None,
    ) -> "Examples":
        """What batches of training are made of; by default whole sentences.

        context: the sentences' contextual vectors, [total, layers, width], where they are frozen.
        """
        from depkit.parsers.inputs.batches import encode

        return encode(
            sentences, vocabulary, config.inputs, device,
            lambda sentence: self.targets(sentence, vocabulary), context, transformer,
        )  # fmt: skip

    @abstractmethod
    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """The network, with initial weights; called with a batch, it gives the loss."""

    # Parsing

    @abstractmethod
    def parser(self, config: Any, *parts: Any) -> "Parser":
        """A parser of the network; parts: as `base.Parser` takes them."""

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        """The ensemble of several parsers of the family. Raises CombinationError."""
        raise CombinationError(f"parsers of the family {self.name} cannot be combined")

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Raises CombinationError for parsers of the family that cannot be combined."""
        raise CombinationError(f"parsers of the family {self.name} cannot be combined")

    # Scores

    @abstractmethod
    def evaluate(
        self, config: Any, gold: Sequence[Sentence], predicted: Iterable[Sentence]
    ) -> dict[str, float]:
        """The dev scores, in percent, by the names in `metrics`."""

    def calibrate(
        self, parser: Any, dev: Sequence[Sentence], context: "Iterable[np.ndarray] | None"
    ) -> tuple[Calibration | None, str]:
        """Fit temperatures on dev; returns them, and a line of text that tells their effect.

        Instead of the temperatures there is None if dev is too small. A family without
        probabilities returns None and "".
        """
        return None, ""
