"""What State Transformer keeps of the transitions so far (Mohammadshahi and Henderson 2020).

The history (section 4.1.2) and the composition of heads and dependents (appendix B) were proposed
by Dyer et al. (2015).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.lstm import must_leave_autocast
from depkit.parsers.engine.device import send
from depkit.parsers.transition.config import TransitionScorer
from depkit.parsers.transition.examples import Oracle
from depkit.parsers.transition.states import Units, make_units
from depkit.trees.transitions import NOTHING, RIGHT, TRANSITIONS

LAYERS = 2  # of the history
LSTMState = tuple[Tensor, Tensor]


class History(nn.Module):
    """An LSTM over the vectors of the transitions so far, each with that of its label (eq. 8).

    size: the size of all vectors; labels: the number of labels.
    """

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.transitions = nn.Embedding(TRANSITIONS, size)
        self.labels = nn.Embedding(1 + labels, size, padding_idx=0)
        self.lstm = nn.LSTM(size, size, LAYERS, batch_first=True)

    def read(self, oracles: Sequence[Oracle], units: Units, device: torch.device) -> Tensor:
        """Compute the vectors before the transitions of units, [transition, size]."""
        every = make_units(oracles, "transition")
        lengths = [len(oracle.transitions) for oracle in oracles]
        taken = np.zeros((len(oracles), max(lengths)), np.int64)
        labels = np.zeros_like(taken)
        row = every.row[every.unit]
        taken[row, every.step] = every.gold
        labels[row, every.step] = np.maximum(labels_of_transitions(oracles, every), -1) + 1
        x = self.transitions(send(torch.from_numpy(taken), device))
        x = x + self.labels(send(torch.from_numpy(labels), device))
        outputs, _ = self._run(x)
        before = torch.cat((outputs.new_zeros(len(oracles), 1, outputs.shape[-1]), outputs), dim=1)
        rows = send(torch.from_numpy(units.row[units.unit]), device)
        return before[rows, send(torch.from_numpy(units.step), device)]

    def start(self, size: int, device: torch.device) -> tuple[Tensor, LSTMState]:
        """Return the first vectors of sentences, [size, vector], and the state of the LSTM."""
        hidden = self.lstm.hidden_size
        zeros = torch.zeros(LAYERS, size, hidden, device=device)
        return zeros[-1], (zeros, zeros)

    def add(self, taken: Tensor, labels: Tensor, state: LSTMState) -> tuple[Tensor, LSTMState]:
        """Add a transition to each sentence.

        Args:
            taken: [sentence], the transitions.
            labels: [sentence], 1 + the labels of arcs, 0 for other transitions.
            state: The state of the LSTM.

        Returns:
            The new vectors, [sentence, vector], and the new state.
        """
        x = self.transitions(taken) + self.labels(labels)
        outputs, state = self._run(x[:, None], state)
        return outputs[:, 0], state

    def _run(self, x: Tensor, state: LSTMState | None = None) -> tuple[Tensor, LSTMState]:
        """Run the LSTM on vectors, [sentence, transition, vector], from a state.

        None is the state before the first transition.
        """
        if not must_leave_autocast(x.device):
            return self.lstm(x, state)
        dtype = self.lstm.all_weights[0][0].dtype
        if state is not None:
            state = state[0].to(dtype), state[1].to(dtype)
        with torch.autocast(x.device.type, enabled=False):
            return self.lstm(x.to(dtype), state)


class Composed(NamedTuple):
    """The composed vectors of the words of sentences after some transitions.

    vectors: [sentence, position, size]; dependents: of the same shape, the vector that the most
    recent dependent of each word had; labels: [sentence, position], the row of its label, 0 if a
    word has no dependent; attached: [sentence, position] bool, whether a word has a head.
    """

    vectors: Tensor
    dependents: Tensor
    labels: Tensor
    attached: Tensor


class Composition(nn.Module):
    """Composes words with their most recent dependents and its labels (eqs. 11 and 12).

    With scorer.compose "all", a transition composes all words on the stack and in the buffer, with
    learned vectors for "no dependent" and its label where there is none; with "head", only the word
    that gets a dependent.

    scorer: the settings; size: the size of the vectors; num_labels: the number of labels.
    """

    def __init__(self, scorer: TransitionScorer, size: int, num_labels: int) -> None:
        super().__init__()
        self.composes_all = scorer.compose == "all"
        self.skips = scorer.compose_skip
        self.num_labels = num_labels
        rows = 1 + 2 * num_labels  # those of LEFT, then those of RIGHT
        self.labels = nn.Embedding(rows, size, padding_idx=None if self.composes_all else 0)
        self.no_dependent = nn.Parameter(torch.zeros(size)) if self.composes_all else None
        self.first = nn.Linear(3 * size, size)
        self.second = nn.Linear(size, size)
        if self.skips:
            # Composition starts as the identity: it is applied at each transition, and random
            # outputs would soon outweigh the vectors of the words.
            nn.init.zeros_(self.second.weight)
            nn.init.zeros_(self.second.bias)

    def start(self, words: Tensor) -> Composed:
        """Return the words before the first transition; words: [sentence, position, size]."""
        dependents = torch.zeros_like(words)
        if self.no_dependent is not None:
            dependents = self.no_dependent.to(words.dtype).expand_as(words)
        labels = torch.zeros(words.shape[:2], dtype=torch.int64, device=words.device)
        return Composed(words, dependents, labels, labels > 0)

    def forward(self, words: Composed, arcs: np.ndarray) -> Composed:
        """Compose the words of sentences after a transition of each.

        arcs: [4, sentence], the head, the dependent, the transition, and 1 + the label of the arc
        that it has added; head and dependent are 0 if it has added none.
        """
        has_arc = np.flatnonzero(arcs[1])
        if not (self.composes_all or len(has_arc)):
            return words
        vectors, dependents, labels, attached = words
        head, dependent, taken, label = arcs[:, has_arc]
        label = label + self.num_labels * (taken == RIGHT)
        on_host = np.stack((has_arc, head, dependent, label)).astype(np.int64)
        row, head, dependent, label = send(torch.from_numpy(on_host), vectors.device)
        dependents = dependents.index_put((row, head), vectors[row, dependent])
        labels = labels.index_put((row, head), label)
        attached = attached.index_put((row, dependent), torch.ones_like(row, dtype=torch.bool))
        if self.composes_all:
            new = self._compose(vectors, dependents, labels)
            vectors = torch.where(attached[..., None], vectors, new)
        else:
            new = self._compose(vectors[row, head], dependents[row, head], label)
            vectors = vectors.index_put((row, head), new)
        return Composed(vectors, dependents, labels, attached)

    def _compose(self, vectors: Tensor, dependents: Tensor, labels: Tensor) -> Tensor:
        """Compose vectors with those of dependents, and with labels, [..., size]."""
        x = torch.cat((vectors, dependents, self.labels(labels).to(vectors.dtype)), dim=-1)
        new = self.second(torch.tanh(self.first(x))).to(vectors.dtype)
        return vectors + new if self.skips else new

    def compose_units(self, words: Tensor, oracles: Sequence[Oracle], units: Units) -> Tensor:
        """Compose the arcs of gold trees.

        words: [sentence, position, size]. Returns the vectors in each unit, [unit, position, size].
        """
        every = make_units(oracles, "transition")
        row = every.row[every.unit]
        arcs = np.zeros((4, int(every.step.max()) + 1, len(oracles)), np.int64)
        is_arc = every.dependent != NOTHING
        dependents = np.where(is_arc, every.dependent, 0)
        # Of s2 and s1, the head is the one that is not the dependent.
        heads = np.where(is_arc, every.nodes[:, :2].sum(axis=1) - dependents, 0)
        labels = np.maximum(labels_of_transitions(oracles, every), -1) + 1
        arcs[:, every.step, row] = heads, dependents, every.gold, labels
        composed = self.start(words)
        snapshots, order = [], []
        for step in range(int(units.step.max()) + 1):
            chosen = np.flatnonzero(units.step == step)  # each unit has one transition
            if len(chosen):
                rows = send(torch.from_numpy(units.row[chosen].astype(np.int64)), words.device)
                snapshots.append(composed.vectors[rows])
                order.append(chosen)
            composed = self(composed, arcs[:, step])
        back = np.argsort(np.concatenate(order))
        return torch.cat(snapshots)[send(torch.from_numpy(back), words.device)]


def labels_of_transitions(oracles: Sequence[Oracle], units: Units) -> np.ndarray:
    """Return the label of the arc of each transition, [transition]; negative if there is none."""
    row = units.row[units.unit]
    labels = np.full(len(row), -1)
    for index in np.flatnonzero(units.dependent != NOTHING).tolist():
        labels[index] = oracles[row[index]].labels[units.dependent[index] - 1]
    return labels
