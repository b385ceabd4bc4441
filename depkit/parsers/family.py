"""The interface of a family of parsers: training, loading and the command line use only this.

This module and the `family` modules of the families import torch only inside functions, so that
settings can be read and checked without it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Calibration, Mean, ParserConfig

if TYPE_CHECKING:
    import numpy as np

    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.dataset import Examples, Rows
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class CombinationError(ValueError):
    """The parsers cannot be combined into an ensemble."""


class Family(ABC):
    """A kind of parser: how it reads data, is trained, parses and is evaluated."""

    name: ClassVar[str]  # the value of `family` in its configuration
    config: ClassVar[type[ParserConfig]]  # the dataclass of its configuration
    # The scores on dev. By default, the first one selects the best epoch.
    metrics: ClassVar[tuple[str, ...]]
    noun: ClassVar[str] = "parser"  # the word for a model in its model card
    command: ClassVar[str] = "parse"  # the depkit command that applies a model
    corrects_parses: ClassVar[bool] = False  # whether inputs.draft can be set
    # The model whose tokenizer splits text for a model without one; "" for none
    default_tokenizer: ClassVar[str] = ""

    # Data

    def read(self, path: str, encoding: str = "utf-8") -> Iterator[Sentence]:
        """Yield the sentences of a file to train or evaluate on. Raises FormatError."""
        return read(path, encoding=encoding)

    def findings(
        self, config: Any, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> list[str]:
        """Return warnings about the treebanks, one line each, which do not prevent training."""
        return []

    # Settings

    def check(self, config: Any) -> None:  # noqa: B027, families without such settings inherit it
        """Raise ConfigError if settings contradict each other."""

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Replace "auto" settings by values that are derived from the training treebank."""
        return config

    def describe(self, config: Any) -> list[str]:
        """Return lines of the model card that say what the model predicts and how."""
        return []

    # Training

    @abstractmethod
    def columns(self, config: Any) -> list[str]:
        """Return the names of the predicted columns, which are those of the vocabulary's tables."""

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        """Return the gold symbols of a column of a sentence; by default its values."""
        values: list[str] = getattr(sentence, column)
        return values

    def vocabulary(self, sentences: Iterable[Sentence], config: Any) -> "Vocabulary":
        """Build the vocabulary of a training treebank."""
        from depkit.parsers.inputs.vocabulary import build_vocabulary

        return build_vocabulary(sentences, config.inputs, self.columns(config), self.symbols)

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """Return the training targets of each word by name; by default, the indices of its symbols.

        A symbol that the vocabulary does not have is IGNORED.
        """
        from depkit.parsers.inputs.dataset import IGNORED

        return {
            name: [table.indices.get(symbol, IGNORED) for symbol in self.symbols(sentence, name)]
            for name, table in vocabulary.columns.items()
        }

    def examples(
        self,
        sentences: Sequence[Sentence],
        vocabulary: "Vocabulary",
        config: Any,
        context: "Rows | None" = None,
        transformer: "Transformer | None" = None,
        num_gold: int | None = None,
    ) -> "Examples":
        """Encode sentences as training examples; by default, an example is a sentence.

        Args:
            sentences: Sentences with gold trees or tags.
            vocabulary: The vocabulary of the network.
            config: The configuration of the parser.
            context: Frozen contextual vectors of all words, [total, layers, width].
            transformer: The transformer whose pieces are encoded, if the parser has one.
            num_gold: The number of sentences with gold annotation, which come first; None if all
                have it.
        """
        from depkit.parsers.inputs.dataset import encode

        return encode(
            sentences, vocabulary, config.inputs,
            lambda sentence: self.targets(sentence, vocabulary),
            context=context, transformer=transformer, num_gold=num_gold,
        )  # fmt: skip

    @abstractmethod
    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """Make a network with initial weights; its `forward` maps a batch to the loss."""

    # Parsing

    @abstractmethod
    def parser(self, config: Any, *parts: Any) -> "Parser":
        """Make a parser; parts: the arguments of `base.Parser` after the configuration."""

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        """Make an ensemble; see `ensembles.combine` for arguments and errors."""
        raise CombinationError(f"parsers of the family {self.name} cannot be combined")

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Raise CombinationError if parsers of the family cannot be combined."""
        raise CombinationError(f"parsers of the family {self.name} cannot be combined")

    # Scores

    @abstractmethod
    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        punct: str = "keep",
    ) -> dict[str, float]:
        """Compute the scores in percent by the names in `metrics`.

        punct: the policy of `score.punctuation` that selects the scored words, for scores of trees.
        """

    def describe_scores(self, punct: str) -> str:
        """Say in the model card which words count in the scores; punct: as for `evaluate`."""
        return (
            "punctuation included" if punct == "keep" else f"without punctuation (--punct {punct})"
        )

    def calibrate(
        self, parser: Any, dev: Sequence[Sentence], context: "Iterable[np.ndarray] | None"
    ) -> tuple[Calibration | None, str]:
        """Fit temperatures on dev.

        Args:
            parser: A trained parser of the family.
            dev: Sentences with gold trees.
            context: The contextual vectors of the sentences, as `Parser.parse` takes them.

        Returns:
            The temperatures, and a line of text about their effect. If dev is too small, None and
            a line of text; for a family without probabilities, None and "".
        """
        return None, ""
