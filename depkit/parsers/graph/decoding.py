"""What a batch's scores come to: heads, labels, tags, probabilities.

In three steps, `launch`, `Pending.settle`, `Pending.finish`, none of which waits for more of a GPU
than it has to know: where several threads have a batch each, the GPU has others to do while the
host makes trees of this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.graph.network import Scores
from depkit.parsers.graph.probabilities import chosen_probabilities, head_marginals
from depkit.parsers.inputs.batches import send
from depkit.trees.decode import decode

if TYPE_CHECKING:
    from depkit.parsers.base import Parser


class Decoding(NamedTuple):
    """How trees are made of scores, and how sure the parser says it is of them."""

    algorithm: str
    single_root: bool
    probabilities: str = ""


def best_heads(
    scores: Tensor, lengths: Tensor, algorithm: str = "mst", single_root: bool = True
) -> tuple[Tensor, Tensor]:
    """Each word's best head, and where these are already what `trees.decode.decode` gives.

    scores: [batch, dependent, head], -inf at padding and at the diagonal; lengths: [batch], of
    words and w0. The rest as for decode(). Returns heads, [batch, length] int64, 0 for w0 and for
    padding, and [batch] bool, false where they are not the tree that is asked for, or where a
    score is NaN or +inf or every head of a word is forbidden.
    """
    is_word = _words(lengths, scores.shape[1])
    best, heads = scores.max(-1)  # the first of equals, and NaN before all
    heads = heads.masked_fill(~is_word, 0)
    settled = (best.isfinite() | ~is_word).all(1)
    if algorithm != "argmax":
        settled = settled & are_trees(heads, lengths, single_root)
    if algorithm == "eisner":
        settled = settled & ~are_crossing(heads, lengths)
    return heads, settled


def are_trees(heads: Tensor, lengths: Tensor, single_root: bool = False) -> Tensor:
    """As `trees.shape.is_tree`, of a batch: every word has the root among its ancestors.

    heads: [batch, length] int64 within it, 0 for w0 and for padding; lengths: [batch], of words
    and w0. Returns [batch] bool. Ancestors' ancestors are taken as often as the longest path can be
    halved ("pointer jumping", Wyllie 1979).
    """
    ancestor = heads
    for _ in range((heads.shape[1] - 1).bit_length()):
        ancestor = ancestor.gather(1, ancestor)
    rooted = (ancestor == 0).all(1)
    if not single_root:
        return rooted
    at_root = (heads == 0) & _words(lengths, heads.shape[1])
    return rooted & (at_root.sum(1) <= 1)


def are_crossing(heads: Tensor, lengths: Tensor) -> Tensor:
    """As `trees.shape.crossing`, of a batch; shapes as for `are_trees`."""
    is_word = _words(lengths, heads.shape[1])
    place = torch.arange(heads.shape[1], device=heads.device)
    # padding has an arc from 0 to 0, which crosses none
    low = torch.minimum(heads, place).masked_fill(~is_word, 0)
    high = torch.maximum(heads, place).masked_fill(~is_word, 0)
    left, right = low[:, None], high[:, None]
    low, high = low[..., None], high[..., None]
    return ((low < left) & (left < high) & (high < right)).flatten(1).any(1)


def _words(lengths: Tensor, longest: int) -> Tensor:
    """[batch, longest], true but at w0 and at padding."""
    place = torch.arange(longest, device=lengths.device)
    return (place > 0) & (place < lengths[:, None])


@dataclass(frozen=True)
class Arriving:
    """Tensors on their way to the host; event: when they are there, None where they are already."""

    tensors: dict[str, Tensor]
    event: torch.cuda.Event | None

    def arrays(self) -> dict[str, np.ndarray]:
        """All of them; waits for them."""
        if self.event is not None:
            self.event.synchronize()
        return {name: each.numpy() for name, each in self.tensors.items()}


def fetch(tensors: Mapping[str, Tensor]) -> Arriving:
    """Queue copies of tensors of one device to the host; a GPU is not waited for."""
    devices = {each.device for each in tensors.values() if each.is_cuda}
    if not devices:
        return Arriving({name: each.cpu() for name, each in tensors.items()}, None)
    copies = {
        # only into pinned memory is a copy not waited for
        name: torch.empty(each.shape, dtype=each.dtype, pin_memory=True).copy_(
            each, non_blocking=True
        )
        for name, each in tensors.items()
    }
    # of the tensors' device, which need not be the current one
    return Arriving(copies, torch.cuda.current_stream(devices.pop()).record_event())


@dataclass
class Pending:
    """A batch whose work is queued on a device.

    scores: on the device, None once nothing more is to be asked of them. arriving: of the results
    that are on their way, the last; found: what has arrived before.
    """

    parser: "Parser"
    words: np.ndarray
    decoding: Decoding | None
    scores: Scores | None
    arriving: Arriving
    found: dict[str, np.ndarray]

    @torch.inference_mode()
    def settle(self) -> None:
        """Make the trees, and queue what is known only with them: labels and probabilities.

        Waits for what `launch` queued. Raises ValueError as decode().
        """
        if self.scores is None or self.decoding is None:
            return
        scores, decoding = self.scores, self.decoding
        found = self.arriving.arrays()
        settled, logs = found.pop("settled"), found.pop("logs")
        heads = completed(
            found["head"], settled, logs, self.words, decoding, compile=scores.arc.is_cuda
        )
        at_heads = send(torch.from_numpy(heads.astype(np.int64)), scores.arc.device)
        label = self.parser.barred(scores.label_at(at_heads), at_heads)
        labels = best_values(label)
        results = {"deprel": labels}
        temperatures = self.parser.config.calibration
        if decoding.probabilities:
            results["label"] = chosen_probabilities(label, labels, temperatures.label)
        if decoding.probabilities == "local":
            results["arc"] = chosen_probabilities(scores.arc, at_heads, temperatures.arc)
        arriving = fetch(results)
        if decoding.probabilities == "marginal":  # while the labels are on their way
            found["arc"] = head_marginals(
                torch.from_numpy(found["arc"]), heads, self.words, decoding.single_root,
                temperatures.marginal,
            )  # fmt: skip
        self.scores, self.arriving, self.found = None, arriving, found | {"head": heads}

    def finish(self) -> dict[str, np.ndarray]:
        """Heads and the numbers of the best labels and tags, [batch, length] each, and the
        probabilities of heads and labels, "arc" and "label", where asked for.

        Waits for what is queued; raises as `settle`.
        """
        self.settle()
        return self.found | self.arriving.arrays()


@torch.inference_mode()
def launch(
    parser: "Parser",
    prepared: Any,
    sentences: np.ndarray,
    words: np.ndarray,
    decoding: Decoding | None,
) -> Pending:
    """Queue a batch's scores, best heads and tags on the parser's device, and wait for nothing.

    sentences, words: [batch], the numbers of sentences in what is prepared, and of their words;
    decoding: None for no trees. All batches are in one queue: a batch's labels come behind the
    scores of those that were launched before it was settled.
    """
    if decoding is None:
        columns = parser.tag_scores_of(prepared, sentences)
        return Pending(parser, words, None, None, fetch(_best(columns)), {})
    scores = parser.scores_of(prepared, sentences)
    logs = scores.arc.log_softmax(-1)
    lengths = send(torch.from_numpy(words.astype(np.int64) + 1), logs.device)
    heads, settled = best_heads(logs, lengths, decoding.algorithm, decoding.single_root)
    # All scores go along, though few are wanted: which, is not known here, and to ask for them
    # later is to wait for the batch behind.
    results = {"head": heads.to(torch.int32), "settled": settled, "logs": logs}
    if decoding.probabilities == "marginal":
        results["arc"] = scores.arc
    arriving = fetch(results | _best(scores.columns))
    return Pending(parser, words, decoding, scores, arriving, {})


def _best(columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: best_values(column) for name, column in columns.items()}


def best_values(scores: Tensor) -> Tensor:
    """The number of the best value, the first of equals: [..., value] -> [...].

    On a CPU torch's own argmax takes several times as long as numpy's.
    """
    if scores.device.type == "cpu":
        return torch.from_numpy(scores.numpy().argmax(-1))
    return scores.argmax(-1)


def completed(
    heads: np.ndarray,
    settled: np.ndarray,
    logs: np.ndarray,
    words: np.ndarray,
    decoding: Decoding,
    compile: bool = False,
) -> np.ndarray:
    """The best heads, and the decoded ones of the sentences that these do not settle.

    As `best_heads` gives them, on the host; logs: the scores, words: [batch]; compile: as for
    decode(), where a GPU is so fast that the interpreter would hold it up. Raises as decode().
    """
    rest = np.flatnonzero(~settled)
    if not rest.size:
        return heads
    choice = decoding.algorithm, decoding.single_root
    try:
        decoded = decode(logs[rest], words[rest], *choice, compile=compile)
    except ValueError:
        decode(logs, words, *choice)  # the same error, with the sentence's number in the batch
        raise
    heads = heads.copy()
    heads[rest] = decoded
    return heads
