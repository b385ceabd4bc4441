"""States of many sentences as arrays: of their oracles in training, and while they are parsed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depkit.parsers.transition.examples import Oracle
from depkit.trees import transitions
from depkit.trees.transitions import LEFT, NOTHING, RIGHT, SHIFT, SWAP, TRANSITIONS


@dataclass(frozen=True)
class States:
    """States, padded to the longest sentence; the arrays are those of `trees.transitions`.

    sizes: [state], the numbers of words; stacks: [state, n + 1]; buffers: [state, n]; counts:
    [state, 3]; heads: [state, n], -1 also at padding.
    """

    sizes: np.ndarray
    stacks: np.ndarray
    buffers: np.ndarray
    counts: np.ndarray
    heads: np.ndarray

    @classmethod
    def empty(cls, sizes: np.ndarray) -> "States":
        """Make arrays for states of sentences with these numbers of words."""
        longest = int(sizes.max())
        shapes = ((longest + 1,), (longest,), (3,))
        stacks, buffers, counts = (np.zeros((len(sizes), *shape), np.int32) for shape in shapes)
        return cls(sizes, stacks, buffers, counts, np.full((len(sizes), longest), -1, np.int32))

    @classmethod
    def first(cls, sizes: np.ndarray) -> "States":
        """Return the first states of sentences with these numbers of words."""
        states = cls.empty(sizes)
        for row in range(len(sizes)):
            transitions.start_state(*states.arrays(row))
        return states

    def arrays(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of one state, views without padding."""
        n = self.sizes[row]
        return (
            self.stacks[row, : n + 1], self.buffers[row, :n], self.counts[row], self.heads[row, :n]
        )  # fmt: skip

    def __getitem__(self, rows: np.ndarray) -> "States":
        return States(
            self.sizes[rows], self.stacks[rows], self.buffers[rows], self.counts[rows],
            self.heads[rows],
        )  # fmt: skip

    def first_nodes(self) -> np.ndarray:
        """Return s2, s1 and b1 of each state, [state, 3]; NOTHING where there is none."""
        row = np.arange(len(self.sizes))
        size, front = self.counts[:, 0], self.counts[:, 1]
        s2 = np.where(size > 1, self.stacks[row, np.maximum(size - 2, 0)], NOTHING)
        last = self.buffers.shape[1] - 1
        b1 = np.where(front < self.sizes, self.buffers[row, np.minimum(front, last)], NOTHING)
        return np.stack((s2, self.stacks[row, size - 1], b1), axis=1).astype(np.int64)


def legal_transitions(nodes: np.ndarray, single_root: bool) -> np.ndarray:
    """Return which transitions are legal, [state, TRANSITIONS] bool; see `trees.transitions`.

    nodes: [state, 3], the result of `States.first_nodes`, for states that are not the last one.
    """
    s2, s1, b1 = nodes.T
    legal = np.zeros((len(nodes), TRANSITIONS), dtype=bool)
    legal[:, SHIFT] = b1 != NOTHING
    legal[:, SWAP] = (s2 > 0) & (s2 < s1)
    legal[:, LEFT] = s2 > 0
    legal[:, RIGHT] = (s2 > 0) | ((s2 == 0) & ((b1 == NOTHING) | (not single_root)))
    return legal


@dataclass(frozen=True)
class Units:
    """What the encoder reads in training, and the transitions that are chosen from its output.

    Attributes:
        row: [unit], the sentence in the batch.
        states: The state of each unit.
        unit: [transition], the unit of each transition.
        step: [transition], its index among the transitions of its sentence.
        nodes: [transition, 3], the nodes s2, s1 and b1 before the transition.
        gold: [transition], the transition.
        dependent: [transition], the word that the transition attaches, NOTHING if it does not.
    """

    row: np.ndarray
    states: States
    unit: np.ndarray
    step: np.ndarray
    nodes: np.ndarray
    gold: np.ndarray
    dependent: np.ndarray


def make_units(
    oracles: Sequence[Oracle], kind: str, choices: Sequence[np.ndarray] | None = None
) -> Units:
    """Record the states that the encoder reads for a batch.

    Args:
        oracles: The oracles of the sentences.
        kind: What has a unit of its own: "sentence" (with all its transitions), "arc" (the
            transitions between two arcs, the second one included) or "transition".
        choices: For each sentence, in rising order, the indices of the units to record; None for
            all units.
    """
    rows, units_of_steps, steps_of_all = [], [], []
    parts: list[States] = []
    starts: list[np.ndarray] = []
    num_units = 0
    for row, oracle in enumerate(oracles):
        taken = oracle.transitions
        unit_of_step = number_units(taken, kind)
        chosen = np.arange(unit_of_step[-1] + 1) if choices is None else choices[row]
        new_index = np.full(unit_of_step[-1] + 1, -1)
        new_index[chosen] = np.arange(len(chosen))
        steps = np.flatnonzero(new_index[unit_of_step] >= 0)
        units = new_index[unit_of_step[steps]]
        n = len(oracle.labels)
        states = States.empty(np.full(len(steps), n))
        transitions.record_states(
            taken, steps, states.stacks, states.buffers, states.counts, states.heads
        )
        parts.append(states)
        starts.append(np.flatnonzero(np.diff(units, prepend=-1)))  # the first step of each unit
        rows.append(np.full(len(chosen), row))
        units_of_steps.append(num_units + units)
        steps_of_all.append(steps)
        num_units += len(chosen)
    nodes = np.concatenate([states.first_nodes() for states in parts])
    gold = np.concatenate(
        [oracle.transitions[steps] for oracle, steps in zip(oracles, steps_of_all, strict=True)]
    ).astype(np.int64)
    dependent = np.select([gold == LEFT, gold == RIGHT], [nodes[:, 0], nodes[:, 1]], NOTHING)
    first_states = [states[start] for states, start in zip(parts, starts, strict=True)]
    return Units(
        np.concatenate(rows), concatenate_states(first_states), np.concatenate(units_of_steps),
        np.concatenate(steps_of_all), nodes, gold, dependent,
    )  # fmt: skip


def number_units(taken: np.ndarray, kind: str) -> np.ndarray:
    """Return the unit of each transition of a sentence, [transitions]; kind: see `make_units`."""
    if kind == "sentence":
        return np.zeros(len(taken), np.int64)
    if kind == "transition":
        return np.arange(len(taken))
    is_arc = taken >= LEFT
    return is_arc.cumsum() - is_arc


def concatenate_states(parts: Sequence[States]) -> States:
    """Join states, with padding to the longest sentence."""
    sizes = np.concatenate([part.sizes for part in parts])
    joined = States.empty(sizes)
    start = 0
    for part in parts:
        rows = slice(start, start + len(part.sizes))
        longest = part.buffers.shape[1]
        joined.stacks[rows, : longest + 1] = part.stacks
        joined.buffers[rows, :longest] = part.buffers
        joined.counts[rows] = part.counts
        joined.heads[rows, :longest] = part.heads
        start += len(part.sizes)
    return joined
