"""The interface of a family of parsers: training, loading and the command line use only this.

This module and the `family` modules of the families import torch only inside functions, so that
settings can be read and checked without it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import normalize_features
from depkit.files.errors import FormatError
from depkit.parsers.config import ParserConfig
from depkit.parsers.inputs.vocabulary import Vocabulary, build_vocabulary, column_symbols
from depkit.parsers.root import find_root_label
from depkit.parsers.settings import ConfigError
from depkit.score.evaluators import evaluate
from depkit.score.punctuation import parse_policy

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.columns.mean_arrays import MeanArrays
    from depkit.parsers.columns.network import MeanNetwork
    from depkit.parsers.engine.onnx_engine import ArrayNetwork
    from depkit.parsers.inputs.dataset import Examples
    from depkit.parsers.inputs.part import Rows
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.network import ParserNetwork


class Scoring(NamedTuple):
    """How the trees of dev are scored.

    punct: a policy of `score.punctuation`, which selects the words that are left out; evalb: the
    parameters of EVALB, see `evalb_parameters.get_parameters`, or "auto", see `resolve_evalb`.
    """

    punct: str = "keep"
    evalb: str = "auto"


class CombinationError(ValueError):
    """The parsers cannot be combined into an ensemble."""


class Family(ABC):
    """A kind of parser: how it reads data, is trained, parses and is evaluated."""

    name: ClassVar[str]  # the value of `family` in its configuration
    config: ClassVar[type[ParserConfig]]  # the dataclass of its configuration
    metrics: ClassVar[tuple[str, ...]]  # the scores on dev; see `select`
    noun: ClassVar[str] = "parser"  # the word for a model in its model card
    command: ClassVar[str] = "parse"  # the depkit command that applies a model
    trees: ClassVar[str] = ""  # what is predicted besides columns, for people
    hub_tag: ClassVar[str] = ""  # the task of a model, as the Hugging Face hub tags it
    # The table of the vocabulary with the labels of trees; "" for none
    labels: ClassVar[str] = ""
    corrects_parses: ClassVar[bool] = False  # whether inputs.draft can be set
    averages_trees: ClassVar[bool] = False  # the loss of a batch is a mean over trees, not words
    # Whether its parsers can be teachers and students; they are instances of GraphParser then
    can_distill: ClassVar[bool] = False
    # The model whose tokenizer splits text for a model without one; "" for none
    default_tokenizer: ClassVar[str] = ""

    # Data

    def read(
        self, path: str, encoding: str = "utf-8", *, partial: bool = False
    ) -> Iterator[Sentence]:
        """Yield the sentences of a file to train or evaluate on. Raises FormatError.

        partial: whether words can lack what is learned, see `learns_partial_trees`.
        """
        return read(path, encoding=encoding)

    def learns_partial_trees(self, config: Any) -> bool:
        """Whether a parser is trained on sentences in which words can lack a head."""
        return False

    def findings(
        self, config: Any, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> list[str]:
        """Return warnings about the treebanks, one line each, which do not prevent training."""
        return []

    # Settings

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Replace "auto" settings by values that are derived from the training treebank.

        By default, columns that are all `_` are removed from the predicted ones.
        """
        if not config.predicted_tags:
            return config
        return self.set_predicted_tags(
            config,
            [
                name
                for name in config.predicted_tags
                if any(set(getattr(sentence, name)) != {"_"} for sentence in train)
            ],
        )

    def check_resolved(self, config: Any) -> None:  # noqa: B027
        """Raise ConfigError if the configuration of a model has an "auto" setting."""

    def set_predicted_tags(self, config: Any, names: Sequence[str]) -> Any:
        """Return the configuration of a parser that predicts tags with other predicted columns."""
        return replace(config, scorer=replace(config.scorer, predict=list(names)))

    def ensemble_config(self, configs: Sequence[Any]) -> Any:
        """Return the configuration of an ensemble of parsers with these configurations.

        It is that of the first parser, with the columns that any of the parsers predicts.
        """
        names = dict.fromkeys(name for config in configs for name in config.predicted_tags)
        return self.set_predicted_tags(configs[0], list(names)) if names else configs[0]

    def set_calibration(self, config: Any, values: Mapping[str, Any]) -> Any:
        """Return the configuration with other values in its section calibration, if it has one.

        values: what `calibrate` returned; {} for none. Raises ConfigError for other values.
        """
        return config

    def describe(self, config: Any) -> list[str]:
        """Return lines of the model card that say what the model predicts and how."""
        columns = ", ".join(config.predicted_tags) or "none"
        return [f"Predicts: {self.trees}; columns: {columns}"]

    def describe_predictions(self, sizes: Mapping[str, int]) -> list[str]:
        """Say what a model predicts; sizes: the number of values of each predicted column."""
        names = {"deprel": "relations", "lemma": "lemma rules"}
        return [f"{size:,} {names.get(column, column)}" for column, size in sizes.items()]

    def decoder(self, config: Any) -> dict[str, Any] | None:
        """Return the settings of the decoder; None if it has none."""
        return None

    def describe_decoder(self, settings: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} {value}" for name, value in settings.items())

    # Training

    def columns(self, config: Any) -> list[str]:
        """Return the names of the predicted columns, which are those of the vocabulary's tables."""
        return [*([self.labels] if self.labels else []), *config.predicted_tags]

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str | None]:
        """Return the gold symbols of a column of a sentence, None where there is none to learn."""
        return column_symbols(sentence, column)

    def vocabulary_symbols(self, sentence: Sentence, column: str) -> Iterable[str | None]:
        """Return those of the gold symbols that the vocabulary has; by default, all of them."""
        return self.symbols(sentence, column)

    def vocabulary(self, sentences: Iterable[Sentence], config: Any) -> Vocabulary:
        return build_vocabulary(
            sentences, config.inputs, self.columns(config), self.vocabulary_symbols,
            lemma_min_count=config.lemma_min_count,
        )  # fmt: skip

    def targets(self, sentence: Sentence, vocabulary: Vocabulary) -> dict[str, list[int]]:
        """Return the training targets of each word by name; by default, the indices of its symbols.

        A symbol that the vocabulary does not have is IGNORED, and so is a missing one.
        """
        from depkit.parsers.inputs.dataset import IGNORED

        return {
            name: [
                IGNORED if symbol is None else table.indices.get(symbol, IGNORED)
                for symbol in self.symbols(sentence, name)
            ]
            for name, table in vocabulary.columns.items()
        }

    def examples(
        self,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        config: Any,
        *,
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

    def loss_items(self, sizes: np.ndarray) -> int:
        """Return the number of trees or words that the loss of a batch is the mean of.

        sizes: those of the batch's examples, w0 included.
        """
        return len(sizes) if self.averages_trees else max(1, int(sizes.sum()) - len(sizes))

    @property
    @abstractmethod
    def network(self) -> "Callable[..., ParserNetwork]":
        """The class of networks; its arguments are configuration, vocabulary and transformer.

        `forward` maps a batch to the loss. The other methods are those that the parser calls.
        """

    @property
    def array_network(self) -> "type[ArrayNetwork] | None":
        """The class that runs exported graphs; None if models of the family are not exported."""
        return None

    def label_graphs(self, config: Any) -> list[str]:
        """Return the names of the exported graphs that score labels, see `engine.export`."""
        return ["labels"] if self.labels else []

    @property
    def is_standalone(self) -> bool:
        """Whether `engine.standalone` decodes what exported graphs of the family compute."""
        return False

    # Parsing

    @property
    @abstractmethod
    def parser(self) -> "type[Parser]":
        """The class of parsers."""

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Raise CombinationError if parsers of the family cannot be combined."""
        raise CombinationError(f"parsers of the family {self.name} cannot be combined")

    @property
    def mean_network(self) -> "type[MeanNetwork]":
        """The class of the networks of ensembles, for a family whose parsers can be combined."""
        raise NotImplementedError

    @property
    def mean_arrays(self) -> "type[MeanArrays]":
        """As `mean_network`, for exported graphs; for a family whose parsers can be exported."""
        raise NotImplementedError

    # Scores

    def dev_metrics(self, config: Any) -> tuple[str, ...]:
        """Return the names of the scores on dev of parsers with a configuration."""
        return self.metrics

    def select(self, metric: str, config: Any) -> str:
        """Return the dev score that selects the best epoch: `metric`, or the first one if it is "".

        Raises ConfigError if parsers with this configuration have no such score.
        """
        metrics = self.dev_metrics(config)
        if metric not in ("", *metrics):
            raise ConfigError(
                f"training.select is {metric!r}; with family={self.name} it can be"
                f" {', '.join(metrics)}"
            )
        return metric or metrics[0]

    def check_scoring(self, scoring: Scoring) -> None:
        """Raise ConfigError for a way of scoring that the family does not have."""
        if scoring.punct != "keep":
            raise ConfigError(
                f"training.punct is {scoring.punct}, but family={self.name} has no scores that"
                " leave out punctuation; set `punct` to keep"
            )
        self.check_evalb(scoring.evalb)

    def check_evalb(self, name: str) -> None:
        """Raise ConfigError for parameters of EVALB that the family cannot be scored with."""
        if name != "auto":
            raise ConfigError(
                f"training.evalb is {name}, but family={self.name} has no constituents to score;"
                " leave it out"
            )

    def resolve_evalb(self, name: str, train: Sequence[Sentence]) -> str:
        """Replace "auto" by the parameters of EVALB that suit a treebank of constituents."""
        return name

    @abstractmethod
    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        scoring: Scoring = Scoring(),  # noqa: B008
    ) -> dict[str, float]:
        """Compute the scores in percent by the names in `dev_metrics`; scoring: of trees."""

    def describe_scores(self, scoring: Scoring) -> str:
        """Say in the model card what counts in the scores."""
        if scoring.punct == "keep":
            return "punctuation included"
        return f"without punctuation (--punct {scoring.punct})"

    def calibrate(
        self, parser: Any, dev: Sequence[Sentence], context: "Iterable[np.ndarray] | None"
    ) -> tuple[dict[str, Any], str]:
        """Measure on dev how to compute better probabilities.

        Args:
            parser: A trained parser of the family.
            dev: Sentences with gold trees.
            context: The contextual vectors of the sentences, as `Parser.parse` takes them.

        Returns:
            The values of section calibration, and a line of text about their effect. If dev is too
            small, {} and a line of text; for a family without probabilities, {} and "".
        """
        return {}, ""


def count_correct(gold: Sentence, predicted: Sentence, column: str) -> int:
    """Count the words with the correct value of a column, as `attachment.correct_words` does."""
    values, others = getattr(gold, column), getattr(predicted, column)
    if column == "feats":
        values, others = map(normalize_features, values), map(normalize_features, others)
    return sum(
        value == other or (column == "lemma" and value == "_")
        for value, other in zip(values, others, strict=True)
    )


def check_heads(sentence: Sentence) -> None:
    """Raise FormatError at a word without HEAD."""
    if -1 in sentence.head:
        word = sentence.head.index(-1)
        message = "the word has no HEAD; training and dev data need trees"
        raise FormatError(*sentence.location(word), message)


class DependencyFamily(Family):
    """What all families of dependency parsers share: they predict heads and relations."""

    metrics = ("LAS", "UAS")
    trees = "heads, relations"
    hub_tag = "dependency-parsing"
    labels = "deprel"

    def read(
        self, path: str, encoding: str = "utf-8", *, partial: bool = False
    ) -> Iterator[Sentence]:
        """Also raise FormatError at a word without HEAD, unless trees can be partial."""
        for sentence in super().read(path, encoding):
            if not partial:
                check_heads(sentence)
            yield sentence

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Also derive the rule of the root and its label from the trees."""
        if config.decoder.root == "auto":
            # A partial tree may have no root yet.
            single = all(
                sentence.head.count(0) == 1 or (0 not in sentence.head and -1 in sentence.head)
                for sentence in train
            )
            decoder = replace(config.decoder, root="single" if single else "multi")
            config = replace(config, decoder=decoder)
        if config.decoder.root_label == "auto":
            decoder = replace(config.decoder, root_label=find_root_label(train))
            config = replace(config, decoder=decoder)
        return super().resolve_auto(config, train)

    def check_resolved(self, config: Any) -> None:
        """Raise ConfigError if the rule of the root is "auto"."""
        if config.decoder.root == "auto":
            raise ConfigError("decoder.root is missing or auto; in a model it is single or multi")

    def decoder(self, config: Any) -> dict[str, Any]:
        """Return the section decoder."""
        return asdict(config.decoder)

    def describe_predictions(self, sizes: Mapping[str, int]) -> list[str]:
        return ["heads", *super().describe_predictions(sizes)]

    def describe_decoder(self, settings: Mapping[str, Any]) -> str:
        algorithm = [settings["algorithm"]] if "algorithm" in settings else []
        return ", ".join([*algorithm, f"{settings['root']} root"])

    def describe(self, config: Any) -> list[str]:
        """Also name the rule of the root."""
        return [*super().describe(config), f"Root: {config.decoder.root}"]

    def check_scoring(self, scoring: Scoring) -> None:
        """Raise ConfigError for an unknown policy of punctuation, and for parameters of EVALB."""
        try:
            parse_policy(scoring.punct)
        except ValueError as error:
            raise ConfigError(f"training.punct: {error}") from None
        self.check_evalb(scoring.evalb)

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        scoring: Scoring = Scoring(),  # noqa: B008
    ) -> dict[str, float]:
        """Compute UAS and LAS in percent.

        Raises ValueError for an unknown policy, FormatError if it leaves no word to score.
        """
        scores = evaluate(gold, predicted, scoring.punct)
        return {"UAS": scores.UAS, "LAS": scores.LAS}
