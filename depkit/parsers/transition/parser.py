"""Transition parsers: greedy decoding of many sentences at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parsable, Parser
from depkit.parsers.engine.device import fetch, send
from depkit.parsers.transition.network import TransitionNetwork, Words, select_rows
from depkit.parsers.transition.states import States
from depkit.trees import transitions
from depkit.trees.transitions import LEFT


@dataclass(repr=False)
class TransitionParser(Parser):
    """A parser that builds a tree by transitions, each the best one in its state."""

    options: ClassVar[frozenset[str]] = frozenset({"root"})

    def parse(
        self,
        sentences: Parsable,
        tags: str = "missing",
        batch_tokens: int | None = None,
        root: str | None = None,
        context: Iterable[np.ndarray] | None = None,
    ) -> Iterator[Sentence]:
        """Yield the sentences with predicted trees, in input order and with bounded memory.

        Args:
            sentences: See `Parser.parse`.
            tags: "missing" or "keep", which are the same, because the parser predicts no tags.
            batch_tokens: See `Parser.map_batches`.
            root: "single" or "multi", see `config.TransitionDecoder`; by default, that of the
                model.
            context: See `Parser.map_batches`.

        Raises:
            ValueError: An argument is invalid, or tags are to be predicted.
            MemoryError: A single sentence does not fit in memory; the message names it.
        """
        if tags not in ("missing", "keep", "predict"):
            raise ValueError(f"tags can be missing, keep or predict, not {tags!r}")
        if tags == "predict":
            raise ValueError("this model predicts no tags")
        root = self.config.decoder.root if root in (None, "auto") else root
        if root not in ("single", "multi"):
            raise ValueError(f"the root can be auto, single or multi, not {root!r}")
        compute = partial(self.parse_batch, single_root=root == "single")
        yield from self.map_batches(sentences, compute, batch_tokens, context)

    def predict(
        self, sentences: Iterable[Sentence], context: Iterable[np.ndarray] | None = None
    ) -> Iterator[Sentence]:
        """See `Parser.predict`."""
        return self.parse(sentences, context=context)

    def warm_up(self) -> None:
        """See `Parser.warm_up`."""
        states = States.first(np.array([1]))
        hidden, taken = np.zeros((3, 1), np.float32), np.zeros(1, np.int8)
        weight, bias = np.zeros((4, 1), np.float32), np.zeros(4, np.float32)
        transitions.decode_to_arc(
            hidden, hidden, hidden, weight, bias, True, 1, *states.arrays(0), taken
        )
        transitions.find_transitions(np.array([0], np.int32))

    @torch.inference_mode()
    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], single_root: bool
    ) -> list[Sentence]:
        """Parse the sentences of a batch."""
        states = States.first(np.array([len(sentence) for sentence in sentences]))
        network: TransitionNetwork = self.network
        with self.autocast():
            words = network.word_vectors(batch)
            if network.scorer.reads == "state":
                assert isinstance(words, Tensor)
                labels = decode_by_transition(network, words, states, single_root)
            else:
                labels = decode_by_arc(network, words, states, single_root)
        names = self.vocabulary.columns["deprel"].symbols
        parsed = []
        for row, sentence in enumerate(sentences):
            n = len(sentence)
            deprels = [names[label] for label in labels[row, :n].tolist()]
            parsed.append(sentence.with_tree(states.heads[row, :n].tolist(), deprels))
        return parsed


def decode_by_arc(
    network: TransitionNetwork, words: Words, states: States, single_root: bool
) -> np.ndarray:
    """Parse with an encoder that reads whole sentences.

    The encoder runs once; or, if it reads the graph, once for each arc. Between two runs, compiled
    code applies transitions: the first layer of the classifier is linear, so each node has a part
    of the hidden layer that is the same in all states.

    Args:
        network: The network.
        words: The result of `word_vectors`.
        states: The first states; they become the last ones.
        single_root: As in the transition system.

    Returns:
        The labels of the words, [sentence, n].
    """
    labels = np.zeros(states.heads.shape, np.int64)
    taken = np.zeros(states.heads.shape, np.int8)
    arcs = 1 if network.scorer.graph else states.heads.shape[1]
    weight, bias = (
        x.detach().float().cpu().numpy() for x in network.transition.second.parameters()
    )
    active = np.arange(len(states.sizes))
    while len(active):
        current = states[active]
        encoded = network.encode_states(select_rows(words, active), current, labels[active] + 1)
        parts = fetch(network.hidden_parts(encoded)).wait()
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
        scores = network.score_labels(encoded, index, pair.astype(np.int64), direction)
        labels[rows, word] = scores.argmax(-1).cpu().numpy()
        active = _unfinished(states, active)
    return labels


def decode_by_transition(
    network: TransitionNetwork, words: Tensor, states: States, single_root: bool
) -> np.ndarray:
    """Parse with an encoder that reads a state before each transition; see `decode_by_arc`."""
    labels = np.zeros(states.heads.shape, np.int64)
    active = np.arange(len(states.sizes))
    history = memory = None
    if network.history is not None:
        history, memory = network.history.start(len(active), words.device)
    while len(active):
        current = states[active]
        on_device = _to(active, words)
        encoded = network.encode_states(words[on_device], current, labels[active] + 1)
        nodes = current.first_nodes()
        index = np.arange(len(active))
        scores = network.score_transitions(
            encoded, index, nodes, None if history is None else history[on_device]
        )
        host_scores = scores.cpu().numpy()
        taken = np.zeros(len(states.sizes), np.int64)
        for i, row in enumerate(active.tolist()):
            arrays = states.arrays(row)
            taken[row] = transitions.choose_transition(host_scores[i], *arrays[:3], single_root)
            transitions.apply_transition(int(taken[row]), *arrays)
        is_arc = taken[active] >= LEFT
        new_labels = np.zeros(len(states.sizes), np.int64)
        if is_arc.any():
            rows, pair = active[is_arc], nodes[is_arc, :2]
            direction = taken[rows]
            label_scores = network.score_labels(encoded, index[is_arc], pair, direction)
            dependent = np.where(direction == LEFT, pair[:, 0], pair[:, 1])
            labels[rows, dependent - 1] = label_scores.argmax(-1).cpu().numpy()
            new_labels[rows] = labels[rows, dependent - 1] + 1
            if network.composition is not None:
                parts = (rows, pair.sum(axis=1) - dependent, dependent, new_labels[rows])
                words = network.composition(words, *(_to(part, words) for part in parts))
        if network.history is not None and memory is not None:
            # Finished sentences are also updated, which has no effect.
            history, memory = network.history.add(_to(taken, words), _to(new_labels, words), memory)
        active = _unfinished(states, active)
    return labels


def _to(array: np.ndarray, like: Tensor) -> Tensor:
    """Send an array of integers to the device of a tensor."""
    return send(torch.from_numpy(array.astype(np.int64)), like.device)


def _unfinished(states: States, rows: np.ndarray) -> np.ndarray:
    """Return those of some rows whose state is not the last one."""
    is_final = [transitions.is_final(*states.arrays(row)[1:3]) for row in rows.tolist()]
    return rows[~np.array(is_final, dtype=bool)]
