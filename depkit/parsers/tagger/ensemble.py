"""Ensembles of taggers: the mean of the members' probabilities (Li et al. 2019, section 3.2).

The members can have different inputs and encoders; labels and tags are matched by name. The weights
of all members, and their scores of a batch, are in memory at the same time. The activations of an
encoder are freed before the next member is computed, except those that label scores need.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.chunks import Prepare
from depkit.parsers.config import Calibration, Mean
from depkit.parsers.engine.device import send
from depkit.parsers.inputs.batching import Batch, Batches
from depkit.parsers.inputs.layer import LayerCache
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Table, merge_lemmas
from depkit.parsers.tagger.parser import TaggerParser

MIN_PROBABILITY = 1e-10  # the probability of a value that a member does not know


@dataclass(frozen=True)
class MembersBatches:
    """The same sentences, as encoded by each member."""

    members: list[Batches]

    def batch(self, indices: np.ndarray) -> list[Batch]:
        """Make one batch for each member from the sentences with these indices."""
        return [member.batch(indices) for member in self.members]


@dataclass(repr=False)
class TaggerEnsemble(TaggerParser):
    """An ensemble of taggers on one device, with the tokenizer of the first member.

    A batch of an ensemble is a list of one batch for each member.
    """

    members: list[Any] = field(default_factory=list)
    # The mean of the members' probabilities. "geometric" is a renormalised product of experts
    # (Hinton 2002).
    mean: Mean = "arithmetic"

    def make_preparer(self) -> Prepare:
        """See `Parser.make_preparer`."""
        prepare_functions = [member.make_preparer() for member in self.members]

        def prepare(sentences: Sequence[Sentence], context: Sequence[np.ndarray]) -> MembersBatches:
            return MembersBatches([function(sentences, context) for function in prepare_functions])

        return prepare

    @property
    def workers(self) -> int:
        """See `Parser.workers`."""
        return min(member.workers for member in self.members)

    @property
    def corrects_parses(self) -> bool:
        """See `Parser.corrects_parses`."""
        return any(member.corrects_parses for member in self.members)

    def check(self, sentence: Sentence) -> None:
        """See `Parser.check`."""
        for member in self.members:
            member.check(sentence)

    def tag_scores(self, batch: list[Batch]) -> dict[str, Tensor]:
        """Compute the logarithms of the mean probabilities of each predicted column."""
        pairs = zip(self.members, batch, strict=True)
        return self.mean_columns(
            [member.tag_scores(member_batch) for member, member_batch in pairs]
        )

    def mean_columns(self, scores: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Average the scores of each column over the members that predict the column.

        scores: the scores of each member. Returns the logarithms of mean probabilities.
        """
        return {
            name: self.mean_column(name, [member_scores.get(name) for member_scores in scores])
            for name in self.config.predicted_tags
        }

    def mean_column(self, column: str, scores: Sequence[Tensor | None]) -> Tensor:
        """Average the scores of a column over the members that predict it.

        scores: the scores of each member, [batch, length, values of the member]; None for a member
        that does not predict the column. Returns the logarithms of mean probabilities, [batch,
        length, values of the ensemble].
        """
        table = self.vocabulary.columns[column]
        aligned = []
        for member, member_scores in zip(self.members, scores, strict=True):
            if member_scores is not None:
                symbols = member.vocabulary.columns[column].symbols
                indices = [table.indices[symbol] for symbol in symbols]
                aligned.append(align_values(member_scores, indices, len(table)))
        return log_mean(aligned, self.mean)


def log_mean(scores: Iterable[Tensor], mean: Mean) -> Tensor:
    """Compute the normalised logarithm of the mean of softmax(scores) over the last dimension.

    scores: the logits of each member, all [..., choice]; -inf is an impossible choice.
    """
    combined: Tensor | None = None
    count = 0
    for member_scores in scores:
        log_probabilities = member_scores.log_softmax(-1)
        if combined is None:
            combined = log_probabilities
        else:  # logaddexp, because probabilities can underflow to 0
            combined = (
                combined.logaddexp(log_probabilities)
                if mean == "arithmetic"
                else combined + log_probabilities
            )
        count += 1
    assert combined is not None
    return (combined if mean == "arithmetic" else combined / count).log_softmax(-1)


def align_values(scores: Tensor, indices: list[int], size: int) -> Tensor:
    """Convert logits over the values of a member to log-probabilities over those of an ensemble.

    Args:
        scores: [..., values of the member].
        indices: The index that each value of the member has in the ensemble.
        size: The number of values of the ensemble.

    Returns:
        [..., size]; values that the member does not know have the logarithm of MIN_PROBABILITY.
    """
    log_probabilities = scores.log_softmax(-1)
    aligned = torch.full(
        (*log_probabilities.shape[:-1], size),
        float(np.log(MIN_PROBABILITY)),
        device=log_probabilities.device,
    )
    aligned[..., send(torch.as_tensor(indices), log_probabilities.device)] = log_probabilities
    return aligned


def replace_calibration(config: Any, calibration: Calibration) -> Any:
    """Return a configuration with other temperatures, or unchanged if its family has none."""
    return replace(config, calibration=calibration) if hasattr(config, "calibration") else config


def combine_members(
    kind: type[TaggerEnsemble],
    members: Sequence[Parser],
    mean: Mean | None,
    calibration: Calibration,
    columns: Callable[[Any], list[str]],
) -> Parser:
    """Make an ensemble, which is on the device of the first member; see `ensembles.combine`.

    Args:
        kind: The class of the ensemble.
        members: Parsers of one family. If there is only one, it must be an ensemble, and the
            result is this ensemble with another mean.
        mean: See `ensembles.combine`.
        calibration: See `ensembles.combine`.
        columns: The method `Family.columns`, which returns the predicted columns of a
            configuration.
    """
    first = members[0]
    if len(members) == 1 and isinstance(first, TaggerEnsemble):
        config = replace_calibration(first.config, calibration)
        return replace(first, mean=mean or first.mean, config=config)
    _share_transformers(members)
    names = dict.fromkeys(name for member in members for name in member.config.predicted_tags)
    # `parse` reads from the inputs of the ensemble whether contextual vectors are needed. They are
    # needed if one member needs them.
    contextual = [member for member in members if member.config.inputs.context.source != "none"]
    config = replace(
        first.config, scorer=replace(first.config.scorer, predict=list(names)),
        inputs=(contextual or [first])[0].config.inputs,
    )  # fmt: skip
    config = replace_calibration(config, calibration)
    tables = {
        name: Table(_merge_symbols([member.vocabulary.columns.get(name) for member in members]))
        for name in columns(config)
    }
    return kind(
        config,
        replace(
            first.vocabulary, columns=tables,
            lemmas=merge_lemmas(member.vocabulary for member in members),
        ),
        first.network, first.device, first.precision, first.threads, first.tokenizer,
        list(members), mean or "arithmetic",
    )  # fmt: skip


def _share_transformers(members: Sequence[Parser]) -> None:
    """Let members that read the same frozen transformer share it.

    Members that read the same layers also share the result of the last batch, so that the
    transformer computes it once.
    """
    transformers: dict[object, Transformer | None] = {}
    layer_caches: dict[object, LayerCache] = {}
    for member in members:
        vectors = member.network.inputs.context
        is_frozen = vectors is not None and vectors.body is None
        if not is_frozen or vectors.transformer is None:
            continue
        config = vectors.config
        vectors.transformer = transformers.setdefault(config.digest, vectors.transformer)
        key = (config.digest, config.layers, config.top, config.pooling, config.overlap)
        vectors.layer_cache = layer_caches.setdefault(key, LayerCache())


def _merge_symbols(tables: Sequence[Table | None]) -> list[str]:
    return list(dict.fromkeys(symbol for table in tables if table for symbol in table.symbols))
