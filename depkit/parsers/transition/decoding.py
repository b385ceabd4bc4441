"""Greedy decoding of many sentences at once: which transitions are taken, from a network's scores.

The functions change the first states of the sentences to the last ones, and return the labels of
the words, [sentence, n]. `reader` is what the network made of the batch.
"""

from typing import TYPE_CHECKING

import numpy as np

from depkit.parsers.transition.states import States
from depkit.trees import transitions
from depkit.trees.transitions import LEFT

if TYPE_CHECKING:
    from depkit.parsers.transition.network import Reader


def decode_by_arc(reader: "Reader", states: States, single_root: bool) -> np.ndarray:
    """Parse with an encoder that reads whole sentences.

    The encoder runs once; or, if it reads the graph, once for each arc. Between two runs, compiled
    code applies transitions: the first layer of the classifier is linear, so each node has a part
    of the hidden layer that is the same in all states.
    """
    labels = np.zeros(states.heads.shape, np.int64)
    taken = np.zeros(states.heads.shape, np.int8)
    arcs = 1 if reader.reads_graph else states.heads.shape[1]
    weight, bias = reader.output_layer()
    active = np.arange(len(states.sizes))
    while len(active):
        current = states[active]
        reader.read(active, current, labels[active] + 1)
        parts = reader.hidden_parts()
        for i, row in enumerate(active.tolist()):
            n = int(states.sizes[row])
            # The rows of the nodes, and the last row, which is that of NOTHING
            nodes = np.append(np.arange(n + 1), -1)
            s2, s1, b1 = (parts[name][i, nodes] for name in ("s2", "s1", "b1"))
            transitions.decode_to_arc(
                s2, s1, b1, weight, bias, single_root, arcs, *states.arrays(row), taken[row, :n]
            )
        index, word = np.nonzero(states.heads[active] != current.heads)
        rows = active[index]
        head, direction = states.heads[rows, word], taken[rows, word]
        is_left = direction == LEFT
        pair = np.stack((np.where(is_left, word + 1, head), np.where(is_left, head, word + 1)), 1)
        labels[rows, word] = reader.best_labels(rows, index, pair.astype(np.int64), direction)
        active = _unfinished(states, active)
    return labels


def decode_by_transition(reader: "Reader", states: States, single_root: bool) -> np.ndarray:
    """Parse with an encoder that reads a state before each transition."""
    labels = np.zeros(states.heads.shape, np.int64)
    active = np.arange(len(states.sizes))
    while len(active):
        current = states[active]
        reader.read(active, current, labels[active] + 1)
        nodes = current.first_nodes()
        scores = reader.transition_scores(active, nodes)
        taken = np.zeros(len(states.sizes), np.int64)
        for i, row in enumerate(active.tolist()):
            arrays = states.arrays(row)
            taken[row] = transitions.choose_transition(scores[i], *arrays[:3], single_root)
            transitions.apply_transition(int(taken[row]), *arrays)
        is_arc = taken[active] >= LEFT
        arcs = np.zeros((4, len(states.sizes)), np.int64)  # see `Composition.forward`
        arcs[2] = taken
        if is_arc.any():
            rows, pair = active[is_arc], nodes[is_arc, :2]
            direction = taken[rows]
            dependent = np.where(direction == LEFT, pair[:, 0], pair[:, 1])
            labels[rows, dependent - 1] = reader.best_labels(
                rows, np.flatnonzero(is_arc), pair, direction
            )
            new_labels = labels[rows, dependent - 1] + 1
            arcs[0, rows], arcs[1, rows] = pair.sum(axis=1) - dependent, dependent
            arcs[3, rows] = new_labels
        # Finished sentences are also updated, which has no effect.
        reader.compose(arcs)
        reader.remember(taken, arcs[3])
        active = _unfinished(states, active)
    return labels


def _unfinished(states: States, rows: np.ndarray) -> np.ndarray:
    """Return those of some rows whose state is not the last one."""
    is_final = [transitions.is_final(*states.arrays(row)[1:3]) for row in rows.tolist()]
    return rows[~np.array(is_final, dtype=bool)]
