"""Parsers combined by the mean of their probabilities (Li et al. 2019, section 3.2).

The members may differ in all they read and in their encoders; labels and tags are matched by
name. All members' weights and scores of a batch are in memory; activations of encoders are freed
after each member, except those that labels are scored from later.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration, Mean
from depkit.parsers.device import send
from depkit.parsers.inputs.batches import Batch, Batches
from depkit.parsers.inputs.layer import LastLayers
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Table, merged_lemmas
from depkit.parsers.tagger.parser import TaggerParser
from depkit.parsers.windows import Prepare

LEAST = 1e-10  # the probability of a value that a member does not know


@dataclass(frozen=True)
class MembersBatches:
    """The same sentences as each member reads them."""

    members: list[Batches]

    def batch(self, numbers: np.ndarray) -> list[Batch]:
        """A batch a member."""
        return [member.batch(numbers) for member in self.members]


@dataclass(repr=False)
class TaggerEnsemble(TaggerParser):
    """A tagger made of taggers on one device; the tokenizer is the first one's.

    Its batches are lists of a batch a member. mean: of the members' probabilities, "arithmetic",
    or "geometric" (the renormalised product of experts of Hinton 2002).
    """

    members: list[Any] = field(default_factory=list)
    mean: Mean = "arithmetic"

    def preparer(self) -> Prepare:
        """See `Parser.preparer`."""
        prepares = [member.preparer() for member in self.members]

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> MembersBatches:
            return MembersBatches([each(sentences, context) for each in prepares])

        return prepare

    @property
    def workers(self) -> int:
        """See `Parser.workers`."""
        return min(member.workers for member in self.members)

    def check(self, sentence: Sentence) -> None:
        """See `Parser.check`."""
        for member in self.members:
            member.check(sentence)

    def tag_scores(self, batch: list[Batch]) -> dict[str, Tensor]:
        """The logarithms of mean probabilities of tags."""
        pairs = zip(self.members, batch, strict=True)
        return self.mean_columns([member.tag_scores(each) for member, each in pairs])

    def mean_columns(self, members: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Of each column, the mean over the members that predict it."""
        return {
            name: self.mean_column(name, [each.get(name) for each in members])
            for name in self.config.predicted_tags
        }

    def mean_column(self, column: str, scores: Sequence[Tensor | None]) -> Tensor:
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


def with_calibration(config: Any, calibration: Calibration) -> Any:
    """A configuration with other temperatures, where its family has any."""
    return replace(config, calibration=calibration) if hasattr(config, "calibration") else config


def combine_members(
    kind: type[TaggerEnsemble],
    members: Sequence[Parser],
    mean: Mean | None,
    calibration: Calibration,
    columns: Callable[[Any], list[str]],
) -> Parser:
    """An ensemble of a class of parsers of one family, on the first one's device.

    Of a lone ensemble, that one with another mean. columns: what a parser of some configuration
    predicts. See `ensembles.combine`.
    """
    first = members[0]
    if len(members) == 1 and isinstance(first, TaggerEnsemble):
        config = with_calibration(first.config, calibration)
        return replace(first, mean=mean or first.mean, config=config)
    _share_transformers(members)
    names = dict.fromkeys(name for each in members for name in each.config.predicted_tags)
    readers = [each for each in members if each.config.inputs.context.source != "none"]
    reader = (readers or [first])[0]
    config = replace(
        first.config, scorer=replace(first.config.scorer, predict=list(names)),
        inputs=reader.config.inputs,
    )  # fmt: skip
    config = with_calibration(config, calibration)
    tables = {
        name: Table(_union([each.vocabulary.columns.get(name) for each in members]))
        for name in columns(config)
    }
    return kind(
        config,
        replace(
            first.vocabulary, columns=tables,
            lemmas=merged_lemmas(member.vocabulary for member in members),
        ),
        first.network, first.device, first.precision, first.threads, first.tokenizer,
        list(members), mean or "arithmetic",
    )  # fmt: skip


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
