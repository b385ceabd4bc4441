"""The family of biaffine dependency parsers (Dozat and Manning 2017)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.family import CombinationError, DependencyFamily, Scoring
from depkit.parsers.graph.config import BiaffineConfig, Calibration
from depkit.parsers.graph.deps import (
    COLUMN,
    has_learned_deps,
    learned_relations,
    score_deps,
    targets,
)
from depkit.parsers.graph.findings import tree_findings
from depkit.parsers.settings import from_dict

if TYPE_CHECKING:
    from depkit.parsers.base import Parser
    from depkit.parsers.columns.mean_arrays import MeanArrays
    from depkit.parsers.columns.network import MeanNetwork
    from depkit.parsers.engine.onnx_engine import ArrayNetwork
    from depkit.parsers.inputs.vocabulary import Vocabulary
    from depkit.parsers.network import ParserNetwork


class Biaffine(DependencyFamily):
    """Biaffine dependency parsers, which can also predict tags, FEATS and lemmas."""

    name = "biaffine"
    config = BiaffineConfig
    corrects_parses = True
    can_distill = True

    def findings(
        self, config: Any, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> list[str]:
        return tree_findings(config.decoder, train, dev)

    def resolve_auto(self, config: Any, train: Sequence[Sentence]) -> Any:
        """Also leave out enhanced dependencies if the treebank has none."""
        if config.scorer.predicts_deps and not any(map(has_learned_deps, train)):
            scorer = replace(config.scorer, predict=config.scorer.tags)
            config = replace(config, scorer=scorer)
        return super().resolve_auto(config, train)

    def set_predicted_tags(self, config: Any, names: Sequence[str]) -> Any:
        deps = [COLUMN] if config.scorer.predicts_deps else []
        return super().set_predicted_tags(config, [*names, *deps])

    def ensemble_config(self, configs: Sequence[Any]) -> Any:
        """Leave out enhanced dependencies, which ensembles do not predict."""
        first = configs[0]
        without_deps = replace(first, scorer=replace(first.scorer, predict=first.scorer.tags))
        return super().ensemble_config([without_deps, *configs[1:]])

    def columns(self, config: Any) -> list[str]:
        """Add the table of the labels of enhanced dependencies, if they are predicted."""
        return [*super().columns(config), *([COLUMN] if config.scorer.predicts_deps else [])]

    def symbols(self, sentence: Sentence, column: str) -> Iterable[str | None]:
        if column == COLUMN:
            return [label for relations in learned_relations(sentence) for _, label in relations]
        return super().symbols(sentence, column)

    def describe(self, config: Any) -> list[str]:
        lines = super().describe(config)
        return [*lines, "Predicts: enhanced dependencies"] if config.scorer.predicts_deps else lines

    def set_calibration(self, config: Any, values: Mapping[str, Any]) -> Any:
        return replace(config, calibration=from_dict(Calibration, dict(values), "calibration."))

    def learns_partial_trees(self, config: Any) -> bool:
        return bool(config.scorer.partial != "refuse")

    def vocabulary_symbols(self, sentence: Sentence, column: str) -> Iterable[str | None]:
        """Leave out the relation _ of words without a head."""
        values = super().vocabulary_symbols(sentence, column)
        if column != "deprel" or -1 not in sentence.head:
            return values
        pairs = zip(values, sentence.head, strict=True)
        return [value for value, head in pairs if head >= 0 or value != "_"]

    def targets(self, sentence: Sentence, vocabulary: "Vocabulary") -> dict[str, list[int]]:
        """Add the target "head", IGNORED for words without a head."""
        from depkit.parsers.inputs.dataset import IGNORED

        heads = [head if head >= 0 else IGNORED for head in sentence.head]
        columns = dict(vocabulary.columns)
        labels = columns.pop(COLUMN, None)
        result = {"head": heads} | super().targets(sentence, replace(vocabulary, columns=columns))
        return result | targets(sentence, labels, IGNORED) if labels else result

    @property
    def network(self) -> "Callable[..., ParserNetwork]":
        from depkit.parsers.graph.network import BiaffineNetwork

        return BiaffineNetwork

    def label_graphs(self, config: Any) -> list[str]:
        """Add the graph of enhanced dependencies, if they are predicted."""
        return [*super().label_graphs(config), *(["deps"] if config.scorer.predicts_deps else [])]

    @property
    def is_standalone(self) -> bool:
        return True

    @property
    def array_network(self) -> "type[ArrayNetwork]":
        from depkit.parsers.graph.arrays import BiaffineArrays

        return BiaffineArrays

    @property
    def parser(self) -> "type[Parser]":
        from depkit.parsers.graph.parser import GraphParser

        return GraphParser

    @property
    def mean_network(self) -> "type[MeanNetwork]":
        from depkit.parsers.graph.network import BiaffineMean

        return BiaffineMean

    @property
    def mean_arrays(self) -> "type[MeanArrays]":
        from depkit.parsers.graph.arrays import BiaffineMeanArrays

        return BiaffineMeanArrays

    def check_combination(self, configs: Sequence[Any]) -> None:
        """Raise CombinationError if parsers have different decoder settings for the root."""
        rules = {(config.decoder.root, config.decoder.root_label) for config in configs}
        if len(rules) > 1:
            kinds = "; ".join(
                sorted(f"{root} root, {label or 'any label'}" for root, label in rules)
            )
            raise CombinationError(f"the models were trained on trees of different kinds: {kinds}")

    def dev_metrics(self, config: Any) -> tuple[str, ...]:
        return (*self.metrics, "ELAS") if config.scorer.predicts_deps else self.metrics

    def evaluate(
        self,
        config: Any,
        gold: Sequence[Sentence],
        predicted: Iterable[Sentence],
        scoring: Scoring = Scoring(),  # noqa: B008
    ) -> dict[str, float]:
        predicted = list(predicted)
        scores = super().evaluate(config, gold, predicted, scoring)
        if config.scorer.predicts_deps:
            scores["ELAS"] = score_deps(gold, predicted)
        return scores

    def calibrate(
        self, parser: Any, dev: Sequence[Sentence], context: Iterable[np.ndarray] | None
    ) -> tuple[dict[str, Any], str]:
        from depkit.parsers.graph.calibration import MIN_WORDS, calibrate
        from depkit.parsers.graph.temperatures import reset_harmful

        calibration, report = calibrate(parser, dev, context)
        if report.words < MIN_WORDS:
            return {}, (
                f"the model is not calibrated: dev has {report.words} words, and {MIN_WORDS} are"
                " needed"
            )
        return asdict(reset_harmful(calibration, report)), (
            f"calibration on {report.words:,} words of dev: expected calibration error of labelled"
            f" arcs {_describe_change(report.before.labelled, report.after.labelled)}; of marginals"
            f" {_describe_change(report.before.marginal, report.after.marginal)}"
        )


def _describe_change(before: float, after: float) -> str:
    """Describe an expected calibration error before and after calibration."""
    return f"{before:.1f} -> {after:.1f}" + ("" if after < before else ", not applied")
