"""What State Transformer keeps of the transitions so far (Mohammadshahi and Henderson 2020).

The history (section 4.1.2) and the composition of heads and dependents (appendix B) were proposed
by Dyer et al. (2015).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.lstm import must_leave_autocast
from depkit.parsers.engine.device import send
from depkit.parsers.transition.examples import Oracle
from depkit.parsers.transition.states import Units, make_units
from depkit.trees.transitions import NOTHING, TRANSITIONS

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


class Composition(nn.Module):
    """Adds to a head's vector a function of it, of its new dependent and of the label (eq. 11).

    In the paper, the vectors of all other words change at every transition as well, by the same
    function of a vector for "no dependent"; here they do not.

    size: the size of the vectors; labels: the number of labels.
    """

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.labels = nn.Embedding(1 + labels, size, padding_idx=0)
        self.first = nn.Linear(3 * size, size)
        self.second = nn.Linear(size, size)

    def forward(self, words: Tensor, rows: Tensor, heads: Tensor, dependents: Tensor,
                labels: Tensor) -> Tensor:  # fmt: skip
        """Compose arcs, at most one for each sentence.

        Args:
            words: [sentence, position, size].
            rows: [arc], the sentences.
            heads: [arc], positions.
            dependents: [arc], positions.
            labels: [arc], 1 + the label.

        Returns:
            The words with new vectors of the heads.
        """
        head = words[rows, heads]
        x = torch.cat((head, words[rows, dependents], self.labels(labels)), dim=-1)
        new = head + self.second(torch.tanh(self.first(x)))
        return words.index_put((rows, heads), new.to(words.dtype))

    def compose_units(self, words: Tensor, oracles: Sequence[Oracle], units: Units) -> Tensor:
        """Compose the arcs of gold trees.

        words: [sentence, position, size]. Returns the vectors in each unit, [unit, position, size].
        """
        device = words.device
        every = make_units(oracles, "transition")
        is_arc = every.dependent != NOTHING
        row = every.row[every.unit][is_arc]
        dependents = every.dependent[is_arc]
        nodes = every.nodes[is_arc, :2]
        heads = nodes.sum(axis=1) - dependents  # of s2 and s1, the one that is not the dependent
        labels = np.maximum(labels_of_transitions(oracles, every)[is_arc], -1) + 1
        # The number of arcs of its sentence before each arc
        first = np.searchsorted(row, row)
        order = np.arange(len(row)) - first
        arcs_before = (units.states.heads >= 0).sum(axis=1)  # [unit]
        snapshots, unit_order = [], []
        for count in range(int(arcs_before.max()) + 1):
            chosen = np.flatnonzero(arcs_before == count)
            if len(chosen):
                snapshots.append(words[send(torch.from_numpy(units.row[chosen]), device)])
                unit_order.append(chosen)
            now = np.flatnonzero(order == count)
            if len(now):
                parts = (row[now], heads[now], dependents[now], labels[now])
                words = self(words, *(send(torch.from_numpy(part), device) for part in parts))
        back = np.argsort(np.concatenate(unit_order))
        return torch.cat(snapshots)[send(torch.from_numpy(back), device)]


def labels_of_transitions(oracles: Sequence[Oracle], units: Units) -> np.ndarray:
    """Return the label of the arc of each transition, [transition]; negative if there is none."""
    row = units.row[units.unit]
    labels = np.full(len(row), -1)
    for index in np.flatnonzero(units.dependent != NOTHING).tolist():
        labels[index] = oracles[row[index]].labels[units.dependent[index] - 1]
    return labels
