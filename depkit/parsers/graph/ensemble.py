"""Graph parsers combined: the tree of their mean probabilities (Li et al. 2019, section 3.2).

The members may differ in all they read and in their encoders; labels and tags are matched by
name. All weights are in memory; of the activations, one member's at a time, but for arc scores and
what labels are scored from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser, Prepare
from depkit.parsers.config import Calibration, ParserConfig
from depkit.parsers.graph.network import Scores
from depkit.parsers.inputs.batches import send
from depkit.parsers.inputs.layer import LastLayers
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Table

Mean = Literal["arithmetic", "geometric"]
NOT_CALIBRATED = Calibration()
LEAST = 1e-10  # the probability of a value that a member does not know


class EnsembleError(ValueError):
    """Parsers that cannot be combined."""


@dataclass(frozen=True)
class EnsembleConfig:
    """ensemble.toml: the members' directories, in the ensemble's own, and how they are combined."""

    members: list[str]
    mean: Mean = "arithmetic"
    calibration: Calibration = NOT_CALIBRATED


@dataclass
class Ensemble(Parser):
    """A parser made of parsers on one device. Decoder and tokenizer are the first one's.

    mean: of the members' probabilities of arcs, labels and tags, "arithmetic", or "geometric"
    (the renormalised product of experts of Hinton 2002).
    """

    members: list[Parser] = field(default_factory=list)
    mean: Mean = "arithmetic"

    def preparer(self) -> Prepare:
        """See `Parser.preparer`; what it prepares is a member's each."""
        prepares = [member.preparer() for member in self.members]

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> list[Any]:
            return [each(sentences, context) for each in prepares]

        return prepare

    @property
    def workers(self) -> int:
        """See `Parser.workers`."""
        return min(member.workers for member in self.members)

    def check(self, sentence: Sentence) -> None:
        """See `Parser.check`."""
        for member in self.members:
            member.check(sentence)

    def scores_of(self, prepared: Any, numbers: np.ndarray) -> Scores:
        """The logarithms of mean probabilities."""
        scores = [
            member.scores_of(each, numbers)
            for member, each in zip(self.members, prepared, strict=True)
        ]
        label_at = [each.label_at for each in scores]

        def mean_label_at(heads: Tensor) -> Tensor:
            return self._mean("deprel", [each(heads) for each in label_at])

        arc = log_mean((each.arc for each in scores), self.mean)
        return Scores(arc, mean_label_at, self._columns([each.columns for each in scores]))

    def tag_scores_of(self, prepared: Any, numbers: np.ndarray) -> dict[str, Tensor]:
        """The logarithms of mean probabilities of tags."""
        pairs = zip(self.members, prepared, strict=True)
        return self._columns([member.tag_scores_of(each, numbers) for member, each in pairs])

    def _columns(self, members: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Of each column, the mean over the members that predict it."""
        return {
            name: self._mean(name, [each.get(name) for each in members])
            for name in self.config.scorer.predict
        }

    def _mean(self, column: str, scores: Sequence[Tensor | None]) -> Tensor:
        """scores: a member's each, [batch, length, its own values] -> [batch, length, values]."""
        table = self.vocabulary.columns[column]
        spread = []
        for member, each in zip(self.members, scores, strict=True):
            if each is not None:
                symbols = member.vocabulary.columns[column].symbols
                spread.append(
                    spread_out(each, [table.numbers[symbol] for symbol in symbols], len(table))
                )
        return log_mean(spread, self.mean)


def log_mean(scores: Iterable[Tensor], mean: Mean) -> Tensor:
    """The logarithm of the mean of softmax(scores) over the last dimension, normalised.

    scores: tensors of one shape, [..., choice]; -inf is no choice.
    """
    combined: Tensor | None = None
    count = 0
    for each in scores:
        logs = each.log_softmax(-1)
        if combined is None:
            combined = logs
        else:  # never the logarithm of a probability that has become 0
            combined = combined.logaddexp(logs) if mean == "arithmetic" else combined + logs
        count += 1
    assert combined is not None
    return (combined if mean == "arithmetic" else combined / count).log_softmax(-1)


def spread_out(scores: Tensor, places: list[int], size: int) -> Tensor:
    """Log-probabilities of some values at their places among `size`; the others have LEAST."""
    logs = scores.log_softmax(-1)
    out = torch.full((*logs.shape[:-1], size), float(np.log(LEAST)), device=logs.device)
    out[..., send(torch.as_tensor(places), logs.device)] = logs
    return out


def combine(
    members: Sequence[Parser],
    mean: Mean | None = None,
    calibration: Calibration = NOT_CALIBRATED,
) -> Parser:
    """One parser made of parsers; of one alone, that one.

    mean: by default arithmetic, or what a lone ensemble's own is; an ensemble among several is
    one member. calibration: the ensemble's own; the members' are of other probabilities.
    Raises EnsembleError for taggers among parsers, and for members with different rules of what
    the root's children are called.
    """
    first = members[0]
    check_combination([member.config for member in members])
    if len(members) == 1:
        if not isinstance(first, Ensemble) or mean in (None, first.mean):
            return first
        return replace(first, mean=mean, config=replace(first.config, calibration=calibration))
    _share_transformers(members)
    names = dict.fromkeys(name for each in members for name in each.config.scorer.predict)
    columns = {
        name: Table(_union([each.vocabulary.columns.get(name) for each in members]))
        for name in ["deprel"] * first.config.scorer.tree + list(names)
    }
    readers = [each for each in members if each.config.inputs.context.source != "none"]
    reader = (readers or [first])[0]
    scorer = replace(first.config.scorer, predict=list(names))
    config = replace(
        first.config, scorer=scorer, inputs=reader.config.inputs, calibration=calibration
    )
    return Ensemble(
        config, replace(first.vocabulary, columns=columns), first.network, first.device,
        first.precision, first.threads, first.tokenizer, list(members), mean or "arithmetic",
    )  # fmt: skip


def check_combination(configs: Sequence[ParserConfig]) -> None:
    """Raises EnsembleError for parsers that cannot be combined, by what they are made of."""
    if len({config.scorer.tree for config in configs}) > 1:
        raise EnsembleError("a tagger cannot be combined with a parser")
    rules = {(config.decoder.root, config.decoder.root_label) for config in configs}
    if len(rules) > 1:
        told = "; ".join(sorted(f"{root} root, {label or 'any label'}" for root, label in rules))
        raise EnsembleError(f"the models were trained on trees of different kinds: {told}")
    contexts = {config.inputs.context.source for config in configs}
    if "elmo" in contexts and len(contexts - {"none"}) > 1:
        raise EnsembleError("a parser of ELMo vectors cannot be combined with one of a transformer")
    features = {
        (context.layers, context.top, context.available, context.width)
        for context in (config.inputs.context for config in configs)
        if context.source == "elmo"
    }
    if len(features) > 1:
        raise EnsembleError("parsers of different layers of ELMo vectors cannot be combined")


def _share_transformers(members: Sequence[Parser]) -> None:
    """Members that read the same of a frozen transformer have one, which reads each batch once."""
    bodies: dict[object, Transformer | None] = {}
    readings: dict[object, LastLayers] = {}
    for member in members:
        vectors = member.network.inputs.context
        if vectors is None or vectors.body is not None or vectors.transformer is None:
            continue
        of = vectors.config
        vectors.transformer = bodies.setdefault(of.digest, vectors.transformer)
        read = (of.digest, of.layers, of.top, of.pooling, of.overlap)
        vectors.last = readings.setdefault(read, LastLayers())


def _union(tables: Sequence[Table | None]) -> list[str]:
    return list(dict.fromkeys(symbol for table in tables if table for symbol in table.symbols))
