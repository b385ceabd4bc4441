"""The family of constituency parsers (Kitaev and Klein 2018)."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.brackets import with_tags
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.files.errors import FormatError
from depkit.parsers.constituency.config import ConstituencyConfig
from depkit.parsers.family import Family, Scoring
from depkit.parsers.settings import ConfigError
from depkit.score.evalb import COUNTS, METRICS, compare_trees
from depkit.score.evalb_parameters import get_parameters
from depkit.score.evaluation import f1_scores

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.columns.mean_arrays import MeanArrays
    from depkit.parsers.columns.network import MeanNetwork
    from depkit.parsers.constituency.examples import TreeExamples
    from depkit.parsers.engine.onnx_engine import ArrayNetwork
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Constituency(Family):
    """Constituency parsers, which can also predict tags."""

    name = "constituency"
    config = ConstituencyConfig
    metrics = ("LF1", "LP", "LR", "EM")
    trees = "constituents"
    hub_tag = "constituency-parsing"
    labels = "constituents"
    averages_trees = True
    # Treebanks of brackets have no text from which a tokenizer could be trained.
    default_tokenizer = "en-ewt"

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Also choose how the vectors of positions are split."""
        if config.scorer.split == "auto":
            encoder = config.encoder
            interleaves = encoder.has_halves or encoder.concatenates_positions
            split = "interleaved" if interleaves else "contiguous"
            config = replace(config, scorer=replace(config.scorer, split=split))
        return super().resolve_auto(config, train)

    def read(
        self, path: str, encoding: str = "utf-8", *, partial: bool = False
    ) -> Iterator[Sentence]:
        """Also raise FormatError for a file without bracketed trees."""
        for sentence in super().read(path, encoding):
            if sentence.constituents is None:
                message = (
                    "the sentence has no constituency tree; a constituency parser is trained on"
                    " bracketed trees such as (S (NP (NN rain)) (VP (VBZ falls)))"
                )
                raise FormatError(*sentence.location(), message)
            yield sentence

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str | None]:
        """Return labels as the symbols of constituents, see `labelled_spans`."""
        from depkit.parsers.constituency.examples import labelled_spans

        if column == self.labels:
            return [symbol for _, symbol in labelled_spans(sentence)]
        return super().symbols(sentence, column)

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """Leave out the labels of constituents, because they do not belong to single words."""
        columns = {k: table for k, table in vocabulary.columns.items() if k != self.labels}
        return super().targets(sentence, replace(vocabulary, columns=columns))

    def examples(
        self, sentences: Sequence[Sentence], vocabulary: "Vocabulary", *arguments: Any, **named: Any
    ) -> "TreeExamples":
        from depkit.parsers.constituency.examples import make_examples

        data = super().examples(sentences, vocabulary, *arguments, **named)
        return make_examples(data.dataset, sentences, vocabulary.columns[self.labels])

    @property
    def network(self) -> "Callable[..., ParserNetwork]":
        from depkit.parsers.constituency.network import ConstituencyNetwork

        return ConstituencyNetwork

    @property
    def array_network(self) -> "type[ArrayNetwork]":
        from depkit.parsers.constituency.arrays import ConstituencyArrays

        return ConstituencyArrays

    @property
    def parser(self) -> "type[Parser]":
        from depkit.parsers.constituency.parser import ConstituencyParser

        return ConstituencyParser

    @property
    def mean_network(self) -> "type[MeanNetwork]":
        from depkit.parsers.constituency.network import ConstituencyMean

        return ConstituencyMean

    @property
    def mean_arrays(self) -> "type[MeanArrays]":
        from depkit.parsers.constituency.arrays import ConstituencyMeanArrays

        return ConstituencyMeanArrays

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Do nothing: all constituency parsers can be combined."""

    def check_evalb(self, name: str) -> None:
        """Raise ConfigError for parameters of EVALB that do not exist or cannot be read."""
        try:
            get_parameters("collins" if name == "auto" else name)
        except (FormatError, OSError, ValueError) as error:
            raise ConfigError(f"training.evalb: {error}") from None

    def resolve_evalb(self, name: str, train: Sequence[Sentence]) -> str:
        """Choose spmrl for "auto" if labels carry features, as in NP##f=s##, otherwise collins."""
        if name != "auto":
            return os.path.abspath(name) if os.path.isfile(name) else name
        nodes = (node for tree in _trees(train) for node in tree.nodes())
        return "spmrl" if any("##" in node.name for node in nodes if node.children) else "collins"

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        scoring: Scoring = Scoring(),  # noqa: B008
    ) -> dict[str, float]:
        """Compute labelled F1, precision, recall and exact match as EVALB does.

        Which words are deleted follows from the gold tags: other predicted tags would make error
        sentences of trees over the same words.
        """
        trees, parses = list(_trees(gold)), _trees(predicted)
        retagged = (
            with_tags(parse, [leaf.name for leaf in tree.leaves()])
            for tree, parse in zip(trees, parses, strict=True)
        )
        parameters = get_parameters(self.resolve_evalb(scoring.evalb, gold))
        counts = [results[0].counts for _, results in compare_trees(trees, [retagged], parameters)]
        scores = f1_scores(np.array(counts).sum(axis=0), METRICS, COUNTS)
        return {name: float(scores[name]) for name in self.metrics}

    def describe_scores(self, scoring: Scoring) -> str:
        return f"with the parameters {scoring.evalb} of EVALB"


def _trees(sentences: Iterable[Sentence]) -> Iterator[Tree]:
    for sentence in sentences:
        assert sentence.constituents is not None
        yield sentence.constituents
