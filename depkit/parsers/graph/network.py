"""The network of the biaffine parser (Dozat and Manning 2017; Li et al. 2019)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer
from depkit.nn.dropout import SharedDropout
from depkit.nn.graph_scorer import GraphScorer
from depkit.nn.means import log_mean
from depkit.nn.tree_likelihood import partial_tree_loss
from depkit.nn.trees import best_heads, mask_root_label
from depkit.parsers.columns.network import (
    ColumnScores,
    MeanNetwork,
    TagClassifiers,
    cross_entropy,
    soft_column,
    tag_losses,
)
from depkit.parsers.columns.soft_targets import LABEL_HEAD
from depkit.parsers.engine.device import best_indices, fetch, fetch_array, send
from depkit.parsers.graph.config import BiaffineConfig, Calibration
from depkit.parsers.graph.deps import COLUMN, MOST_HEADS
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import LabelGraph, ParserNetwork

# The size of the MLPs under the label scorer of enhanced dependencies. It is small because there
# are many labels, and most relations only have the label that stands for that of the tree.
GRAPH_LABEL = 32

# rows, dependents, heads, [arcs] each -> [arcs, label]
ScoreArcs = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class GraphScores:
    """The scores of the enhanced dependencies of a batch, which stay on the device."""

    arc: Tensor  # [batch, dependent, head] logits, -inf where no arc is possible
    score_labels: ScoreArcs

    def fetch_arcs(self) -> np.ndarray:
        """Copy the logits of all arcs to the host."""
        return fetch_array(self.arc)

    def fetch_labels(
        self, rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray
    ) -> np.ndarray:
        """Find the best labels of some arcs, [arcs]; the arguments are those of `Scores`."""
        arrays = torch.from_numpy(np.stack((rows, dependents, heads)))
        scores = self.score_labels(*send(arrays, self.arc.device))
        return fetch_array(best_indices(scores))


@dataclass(frozen=True)
class Scores:
    """The scores of a batch, which stay on the device; arrays are on the host."""

    arc: Tensor  # [batch, dependent, head], -inf where no arc is possible
    score_labels: Callable[[Tensor], Tensor]  # heads, [batch, length] -> [batch, length, label]
    columns: ColumnScores  # the other predicted columns
    score_arcs: ScoreArcs

    graph: GraphScores | None = None  # of enhanced dependencies, if they are predicted

    def fetch_arcs(self) -> np.ndarray:
        """Copy the scores of all arcs to the host, [batch, dependent, head]."""
        return fetch_array(self.arc)

    def fetch_labels(
        self, rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray
    ) -> np.ndarray:
        """Score the labels of some arcs, and copy the scores to the host, [arcs, label].

        rows: the indices of the arcs' sentences in the batch. All arguments are [arcs].
        """
        arrays = torch.from_numpy(np.stack((rows, dependents, heads)))
        return fetch_array(self.score_arcs(*send(arrays, self.arc.device)))

    def fetch_columns(self, unknown: np.ndarray | None) -> dict[str, np.ndarray]:
        """Find the best values of all columns, see `ColumnScores.best`."""
        return self.columns.fetch_best(unknown).wait()

    def best_heads(
        self, num_words: np.ndarray, algorithm: str, single_root: bool
    ) -> dict[str, np.ndarray]:
        """Find the best head of each word, and which sentences `trees.decode` need not decode.

        num_words: [batch]. The other arguments are those of `trees.decode.decode`.

        Returns the results of `nn.trees.best_heads`, "heads" and "are_decoded", and
        "log_probabilities" of all heads, [batch, dependent, head].
        """
        log_probabilities = self.arc.log_softmax(-1)
        lengths = send(torch.from_numpy(num_words.astype(np.int64) + 1), self.arc.device)
        heads, are_decoded = best_heads(log_probabilities, lengths, algorithm, single_root)
        # Copy all scores now: which sentences need decoding is unknown until the GPU answers, and a
        # later copy would have to wait for the batches that other threads have queued.
        results = {
            "heads": heads.to(torch.int32),
            "are_decoded": are_decoded,
            "log_probabilities": log_probabilities,
        }
        return fetch(results).wait()

    def label_scores(self, heads: np.ndarray, root_label: int | None) -> tuple[Tensor, Tensor]:
        """Score the labels of arcs.

        Args:
            heads: [batch, length]; a word without a head (below 0) is scored as a child of the
                root.
            root_label: The index of the label that only children of the root have.

        Returns:
            The heads, [batch, length], and the label scores, [batch, length, label], with -inf at
            labels that `root_label` makes impossible.
        """
        on_device = send(torch.from_numpy(heads.astype(np.int64).clip(min=0)), self.arc.device)
        return on_device, mask_root_label(self.score_labels(on_device), on_device, root_label)

    def at_two_trees(
        self, first: np.ndarray, second: np.ndarray, root_label: int | None
    ) -> dict[str, np.ndarray]:
        """Return all scores of arcs, and those of labels at the arcs of two trees.

        The arguments are those of `label_scores`, with heads for each tree. Returns "arc", [batch,
        dependent, head], and "first_label" and "second_label", [batch, length, label].
        """
        (_, first_label), (_, second_label) = (
            self.label_scores(heads, root_label) for heads in (first, second)
        )
        results = {"arc": self.arc, "first_label": first_label, "second_label": second_label}
        return fetch(results).wait()

    def annotate(
        self,
        heads: np.ndarray,
        *,
        root_label: int | None,
        unknown: np.ndarray | None,
        probabilities: str,
        temperatures: Calibration,
    ) -> dict[str, np.ndarray]:
        """Label the arcs of decoded trees, and find the best values of all columns.

        Args:
            heads: As for `label_scores`.
            root_label: As for `label_scores`.
            unknown: As for `ColumnScores.best`.
            probabilities: "local" adds "label_probability" and "arc_probability", [batch, length].
                "marginal" adds "label_probability" and the arc scores, "arc".
            temperatures: Those of the probabilities.

        Returns:
            The result of `ColumnScores.best`; and "deprel", the best labels, [batch, length].
        """
        device_heads, label_scores = self.label_scores(heads, root_label)
        labels = best_indices(label_scores)
        results = self.columns.best(unknown) | {"deprel": labels}
        if probabilities:
            results["label_probability"] = chosen_probabilities(
                label_scores, labels, temperatures.label
            )
        if probabilities == "local":
            results["arc_probability"] = chosen_probabilities(
                self.arc, device_heads, temperatures.arc
            )
        if probabilities == "marginal":
            # Copy the scores together with the other results: a later copy would have to wait for
            # the batches that other threads have queued.
            results["arc"] = self.arc
        return fetch(results).wait()


def chosen_probabilities(scores: Tensor, indices: Tensor, temperature: float) -> Tensor:
    """Compute the probabilities of chosen heads or labels, softmax(scores / temperature).

    Args:
        scores: Arc or label scores, [batch, length, choice]; -inf for an impossible choice.
        indices: The indices of the chosen heads or labels, [batch, length].
        temperature: The temperature of the scores.

    Returns:
        The probabilities, [batch, length].
    """
    probabilities = (scores / temperature).softmax(-1)
    return probabilities.gather(-1, indices[..., None]).squeeze(-1)


class TagVectors(nn.ModuleDict):
    """The sum over the predicted tag columns of the expected vector of their value.

    The loss of the tree also trains the classifiers of the tags (stack-propagation, Zhang and Weiss
    2016; they pass on the hidden layer of the classifiers instead of these vectors).

    size: the size of the vectors; columns: the predicted columns; lemmas are not read.
    """

    def __init__(self, size: int, columns: Iterable[str], vocabulary: Vocabulary) -> None:
        super().__init__(
            {
                name: nn.Linear(len(vocabulary.columns[name]), size, bias=False)
                for name in columns
                if name != "lemma"
            }
        )

    def forward(self, logits: dict[str, Tensor]) -> Tensor:
        """Map logits, [batch, length, value] for each column, to [batch, length, size]."""
        return sum(table(logits[name].softmax(-1)) for name, table in self.items())


class BiaffineNetwork(ParserNetwork):
    """The input layer, the encoder, arc and label scorers, and a classifier for each column."""

    def __init__(
        self, config: BiaffineConfig, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        scorer = config.scorer
        super().__init__(config, vocabulary, transformer, scorer.dropout)
        reads_tags = bool(scorer.tag_vector and set(scorer.tags) - {"lemma"})
        size = self.size + scorer.tag_vector * reads_tags
        self.arc_dependent = MLP(size, scorer.arc, scorer.dropout)
        self.arc_head = MLP(size, scorer.arc, scorer.dropout)
        self.arc = ArcScorer(scorer.arc)
        self.label_dependent = MLP(size, scorer.label, scorer.dropout)
        self.label_head = MLP(size, scorer.label, scorer.dropout)
        self.label = LabelScorer(scorer.label, len(vocabulary.columns["deprel"]))
        self.columns = TagClassifiers(self.size, scorer, vocabulary)
        self.tag_vectors: TagVectors | None = None  # of predicted tags, if there are any
        if reads_tags:
            self.tag_vectors = TagVectors(scorer.tag_vector, scorer.tags, vocabulary)
        self.tag_dropout = SharedDropout(scorer.dropout)
        self.graph: GraphScorer | None = None  # of enhanced dependencies, if they are predicted
        if scorer.predicts_deps:
            self.graph = GraphScorer(
                size, arc=max(1, scorer.arc // 2), label=GRAPH_LABEL,
                labels=len(vocabulary.columns[COLUMN]), dropout=scorer.dropout,
            )  # fmt: skip
        self.learns_trees = scorer.partial == "marginal"
        self.single_root = config.decoder.root == "single"

    def word_vectors(self, encoded: Tensor, logits: dict[str, Tensor]) -> Tensor:
        """Append the vectors of predicted tags, if there are any, to the encoder's vectors."""
        if self.tag_vectors is None:
            return encoded
        tags = self.tag_dropout(self.tag_vectors(logits)).to(encoded.dtype)
        return torch.cat((encoded, tags), dim=-1)

    def arc_scores(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Score arcs, [batch, dependent, head] float32, -inf on the diagonal and at padding."""
        scores = self.arc(self.arc_dependent(words), self.arc_head(words)).float()
        position = torch.arange(scores.shape[1], device=scores.device)
        is_padding = (position >= lengths[:, None])[:, None, :]
        impossible = is_padding | (position[:, None] == position)
        return scores.masked_fill(impossible, float("-inf"))

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch.

        It is the sum of the mean cross-entropies of gold heads (Li et al. 2019, Eq. 5), of
        labels at gold heads, and of tags. With scorer.partial=marginal, the first is instead the
        negative log-likelihood of the trees that have the gold heads. If the batch has soft
        targets, the distributions of a teacher are mixed in.
        """
        encoded = self.encode(batch)
        logits = self.columns.scores(encoded)
        words = self.word_vectors(encoded, logits)
        loss = self._tree_loss(words, batch)
        if self.graph is not None:
            heads, labels = (
                torch.stack([batch[f"target.deps_{name}{i}"] for i in range(MOST_HEADS)], -1)
                for name in ("head", "label")
            )
            loss = loss + self.graph.loss(
                words, batch["lengths"], heads=heads, labels=labels, ignored=IGNORED
            )
        return sum(tag_losses(logits, batch), start=loss)

    def _tree_loss(self, words: Tensor, batch: Batch) -> Tensor:
        # In an invalid tree, a word can be its own head. Such an arc has no score.
        position = torch.arange(words.shape[1], device=words.device)
        gold = batch["target.head"]
        head = gold.masked_fill(gold == position, IGNORED)
        soft = soft_column(batch, "deprel")
        arc = self.arc_scores(words, batch["lengths"])
        soft_head = soft_column(batch, "head")
        if self.learns_trees and soft_head is None:
            loss = partial_tree_loss(arc, head, batch["lengths"], self.single_root)
        else:
            loss = cross_entropy(arc, head, soft_head)
        dependent_vectors, head_vectors = self.label_dependent(words), self.label_head(words)
        label_head = head.clamp(min=0)
        ignored = head == IGNORED
        if soft is not None:
            # Labels are scored at the teacher's heads. The gold label is a target only at the gold
            # head.
            label_head = torch.where(soft.known, batch[LABEL_HEAD].long(), label_head)
            ignored = head != label_head
        label = self.label(dependent_vectors, _gather_vectors(head_vectors, label_head))
        target = batch["target.deprel"].masked_fill(ignored, IGNORED)
        return loss + cross_entropy(label, target, soft)

    def tag_scores(self, batch: Batch) -> ColumnScores:
        """Compute the logits of each predicted column except DEPREL."""
        return self.columns.scores(self.encode(batch))

    def score(self, batch: Batch) -> Scores:
        """Score a batch; labels are scored when heads have been decoded."""
        encoded = self.encode(batch)
        logits = self.columns.scores(encoded)
        words = self.word_vectors(encoded, logits)
        dependent_vectors, head_vectors = self.label_dependent(words), self.label_head(words)

        def score_labels(heads: Tensor) -> Tensor:
            return self.label(dependent_vectors, _gather_vectors(head_vectors, heads)).float()

        score_arcs = _arc_scorer(self.label, dependent_vectors, head_vectors)
        arc = self.arc_scores(words, batch["lengths"])
        return Scores(
            arc, score_labels, logits, score_arcs, self._graph_scores(words, batch["lengths"])
        )

    def _graph_scores(self, words: Tensor, lengths: Tensor) -> GraphScores | None:
        """Score enhanced dependencies, if they are predicted."""
        scorer = self.graph
        if scorer is None:
            return None
        score_labels = _arc_scorer(
            scorer.label, scorer.label_dependent(words), scorer.label_head(words)
        )
        return GraphScores(scorer.arc_scores(words, lengths), score_labels)

    def score_graph(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Compute arc scores, what label scores are computed from, and logits of columns."""
        encoded = self.encode_vectors(vectors, lengths)[:, : vectors.shape[1]]
        logits = self.columns.scores(encoded)
        words = self.word_vectors(encoded, logits)
        results = {
            "arc": self.arc_scores(words, lengths),
            "dependents": self.label_dependent(words),
            "heads": self.label_head(words),
        } | {f"logits.{name}": scores for name, scores in logits.items()}
        if self.graph is not None:
            results |= {
                "deps.arc": self.graph.arc_scores(words, lengths),
                "deps.dependents": self.graph.label_dependent(words),
                "deps.heads": self.graph.label_head(words),
            }
        return results

    def label_graphs(self) -> dict[str, LabelGraph]:
        """Return functions from vectors of both words of arcs, [arcs, size], to [arcs, label]."""
        graphs = {"labels": _label_graph(self.label)}
        if self.graph is not None:
            graphs["deps"] = _label_graph(self.graph.label, "deps.")
        return graphs


def _arc_scorer(label: LabelScorer, dependent_vectors: Tensor, head_vectors: Tensor) -> ScoreArcs:
    """Return a function that scores the labels of arcs; the vectors are [batch, length, size]."""

    def score_arcs(rows: Tensor, dependents: Tensor, heads: Tensor) -> Tensor:
        pairs = dependent_vectors[rows, dependents], head_vectors[rows, heads]
        return label(*(vectors[None] for vectors in pairs))[0].float()

    return score_arcs


def _label_graph(scorer: LabelScorer, prefix: str = "") -> LabelGraph:
    """Make a function that scores the labels of arcs.

    prefix: the beginning of the names of its arguments in the results of `score_graph`.
    """

    def compute(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"labels": scorer(arrays["dependents"][None], arrays["heads"][None])[0]}

    def example(scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        heads = _gather_vectors(scores[f"{prefix}heads"], scores[f"{prefix}arc"].argmax(-1))
        dependents = scores[f"{prefix}dependents"]
        return {"dependents": dependents.flatten(0, 1), "heads": heads.flatten(0, 1)}

    return LabelGraph({"dependents": ("arcs",), "heads": ("arcs",)}, compute, example)


class BiaffineMean(MeanNetwork):
    """The networks of an ensemble of biaffine parsers."""

    def score(self, batch: Sequence[Batch]) -> Scores:
        """Compute the logarithms of the mean probabilities of arcs, labels and columns."""
        scores = self.scores_of(batch)

        def average(score: Callable[[Scores], Tensor]) -> Tensor:
            labels = []
            for engine, part in zip(self.engines, scores, strict=True):
                with engine.context():
                    labels.append(score(part))
            return self.mean_column("deprel", labels)

        def score_arcs(rows: Tensor, dependents: Tensor, heads: Tensor) -> Tensor:
            return average(lambda part: part.score_arcs(rows, dependents, heads))

        arc = log_mean((part.arc for part in scores), self.mean)
        columns = self.mean_columns([part.columns for part in scores])
        return Scores(
            arc, lambda heads: average(lambda part: part.score_labels(heads)), columns, score_arcs
        )


def _gather_vectors(x: Tensor, positions: Tensor) -> Tensor:
    """Gather the vectors of x, [batch, length, size], at positions, [batch, length]."""
    return x.gather(1, positions.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
