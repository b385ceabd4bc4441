"""From scores of labelled spans to the best label of every span, in parts that fit in memory."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.engine.device import send

MAX_SPANS = 1 << 15  # spans whose labels are scored at once, which limits the memory

# Scores spans: from the sentence in the batch, the start and the end of each span, [spans] each, to
# the scores of its labels without the empty label, whose score is 0, [spans, label].
ScoreSpans: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


class Scores(NamedTuple):
    """The scores of a batch."""

    score_spans: ScoreSpans
    columns: dict[str, Tensor]  # the logits of each predicted column, [batch, length, value]


def find_best_labels(
    score_spans: ScoreSpans,
    words: np.ndarray,
    gold: np.ndarray | None = None,
    device: torch.device | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best label of every span of a batch.

    Args:
        score_spans: Scores spans.
        words: [batch], the numbers of words.
        gold: [batch, n + 1, n + 1] (start, end), the gold labels, 0 for the empty label. If they
            are given, the scores are augmented by the loss: see `chart.best_labels`.
        device: The device of the scores; None for a CPU.

    Returns:
        The score of the best label, and that label, [batch, n + 1, n + 1] (start, end) each. The
        empty label is forbidden for a whole sentence.
    """
    size = words.max() + 1
    scores = np.zeros((len(words), size, size), dtype=np.float32)
    labels = np.zeros((len(words), size, size), dtype=np.int64)
    for spans in _all_spans(words):
        gold_labels = None if gold is None else gold[tuple(spans)]
        is_root = (spans[1] == 0) & (spans[2] == words[spans[0]])
        scores[tuple(spans)], labels[tuple(spans)] = _best_labels(
            score_spans, spans, is_root, gold_labels, device or torch.device("cpu")
        )
    return scores, labels


def _best_labels(
    score_spans: ScoreSpans,
    spans: np.ndarray,
    is_root: np.ndarray,
    gold: np.ndarray | None,
    device: torch.device,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best labels of spans, and their scores.

    spans: [3, spans] sentence, start and end. is_root: [spans], whether a span is a whole sentence.
    gold: [spans], the gold labels.
    """
    on_host = np.vstack((spans, is_root, gold if gold is not None else is_root))
    row, start, end, root, target = send(torch.from_numpy(on_host), device)
    scores = score_spans(row, start, end)
    empty = scores.new_zeros(len(scores))
    if gold is not None:
        has_label = (target > 0).to(scores.dtype)
        scores = scores.scatter_add(1, (target - 1).clamp(min=0)[:, None], -has_label[:, None])
        empty = has_label - 1
    empty = empty.masked_fill(root > 0, float("-inf"))
    best, label = scores.max(dim=1)
    is_empty = empty >= best
    best, label = torch.where(is_empty, empty, best), (label + 1).masked_fill(is_empty, 0)
    return best.cpu().numpy(), label.cpu().numpy()


def _all_spans(words: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all spans of a batch in parts, [3, at most MAX_SPANS] (sentence, start, end)."""
    start, end = np.triu_indices(words.max() + 1, 1)
    row, index = np.nonzero(end <= words[:, None])
    for first in range(0, len(row), MAX_SPANS):
        part = slice(first, first + MAX_SPANS)
        yield np.stack((row[part], start[index[part]], end[index[part]]))
