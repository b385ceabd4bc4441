"""The family of biaffine dependency parsers (Dozat and Manning 2017)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.config import BiaffineConfig, Calibration, Mean
from depkit.parsers.family import CombinationError, Family
from depkit.parsers.tagger.family import remove_empty_columns
from depkit.score.evaluators import evaluate

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.transformer import Transformer
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Biaffine(Family):
    """Biaffine dependency parsers, which can also predict tags, FEATS and lemmas."""

    name = "biaffine"
    config = BiaffineConfig
    metrics = ("LAS", "UAS")
    corrects_parses = True

    def read(self, path: str, encoding: str = "utf-8") -> Iterator[Sentence]:
        """See `Family.read`; also raises FormatError at a word without HEAD."""
        return require_heads(super().read(path, encoding))

    def findings(
        self, config: Any, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> list[str]:
        """See `Family.findings`."""
        from depkit.parsers.graph.findings import tree_findings

        return tree_findings(config.decoder, train, dev)

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Derive the rules of the root from the trees, and remove columns that are empty."""
        decoder = config.decoder
        if decoder.root == "auto":
            single = all(sentence.head.count(0) == 1 for sentence in train)
            decoder = replace(decoder, root="single" if single else "multi")
        if decoder.root_label == "auto":
            decoder = replace(decoder, root_label=find_root_label(train))
        return replace(remove_empty_columns(config, train), decoder=decoder)

    def describe(self, config: Any) -> list[str]:
        """See `Family.describe`."""
        columns = ", ".join(config.scorer.predict) or "none"
        return [
            f"Predicts: heads, relations; columns: {columns}",
            f"Root: {config.decoder.root}",
        ]

    def columns(self, config: Any) -> list[str]:
        """See `Family.columns`."""
        return ["deprel", *config.scorer.predict]

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str]:
        """See `Family.symbols`."""
        from depkit.parsers.inputs.vocabulary import column_symbols

        return column_symbols(sentence, column)

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """See `Family.targets`; adds the target "head", IGNORED for words without a head."""
        from depkit.parsers.inputs.dataset import IGNORED

        heads = [head if head >= 0 else IGNORED for head in sentence.head]
        return {"head": heads} | super().targets(sentence, vocabulary)

    def network(
        self, config: Any, vocabulary: "Vocabulary", transformer: "Transformer | None" = None
    ) -> "ParserNetwork":
        """See `Family.network`."""
        from depkit.parsers.graph.network import BiaffineNetwork

        return BiaffineNetwork(config, vocabulary, transformer)

    def parser(self, config: Any, *parts: Any) -> "Parser":
        """See `Family.parser`."""
        from depkit.parsers.graph.parser import GraphParser

        return GraphParser(config, *parts)

    def combine(
        self, members: Sequence["Parser"], mean: Mean | None, calibration: Calibration
    ) -> "Parser":
        """See `Family.combine`."""
        from depkit.parsers.graph.ensemble import GraphEnsemble
        from depkit.parsers.tagger.ensemble import combine_members

        return combine_members(GraphEnsemble, members, mean, calibration, self.columns)

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Raise CombinationError if parsers have different decoder settings for the root."""
        rules = {(config.decoder.root, config.decoder.root_label) for config in configs}
        if len(rules) > 1:
            kinds = "; ".join(
                sorted(f"{root} root, {label or 'any label'}" for root, label in rules)
            )
            raise CombinationError(f"the models were trained on trees of different kinds: {kinds}")

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        punct: str = "keep",
    ) -> dict[str, float]:
        """Compute UAS and LAS in percent.

        Raises ValueError for an unknown policy, FormatError if it leaves no word to score.
        """
        scores = evaluate(gold, predicted, punct)
        return {"UAS": scores.UAS, "LAS": scores.LAS}

    def calibrate(
        self, parser: Any, dev: Sequence[Sentence], context: Iterable[np.ndarray] | None
    ) -> tuple[Calibration | None, str]:
        """See `Family.calibrate`."""
        from depkit.parsers.graph.calibration import MIN_WORDS, calibrate
        from depkit.parsers.graph.temperatures import reset_harmful

        calibration, report = calibrate(parser, dev, context)
        if report.words < MIN_WORDS:
            return None, (
                f"the model is not calibrated: dev has {report.words} words, and {MIN_WORDS} are"
                " needed"
            )
        return reset_harmful(calibration, report), (
            f"calibration on {report.words:,} words of dev: expected calibration error of labelled"
            f" arcs {_describe_change(report.before.labelled, report.after.labelled)}; of marginals"
            f" {_describe_change(report.before.marginal, report.after.marginal)}"
        )


def require_heads(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield sentences; raise FormatError at a word without HEAD."""
    for sentence in sentences:
        if -1 in sentence.head:
            word = sentence.head.index(-1)
            message = "the word has no HEAD; training and dev data need trees"
            raise FormatError(*sentence.location(word), message)
        yield sentence


def _describe_change(before: float, after: float) -> str:
    """Describe an expected calibration error before and after calibration."""
    return f"{before:.1f} -> {after:.1f}" + ("" if after < before else ", not applied")


def find_root_label(train: Sequence[Sentence]) -> str:
    """Find the relation that all children of the root have and no other word; "" for none."""
    at_root: set[str] = set()
    elsewhere: set[str] = set()
    for sentence in train:
        for head, deprel in zip(sentence.head, sentence.deprel, strict=True):
            (elsewhere if head else at_root).add(deprel)
    return at_root.pop() if len(at_root) == 1 and not at_root & elsewhere else ""
