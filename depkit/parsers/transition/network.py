"""The network of transition parsers: the Sentence Transformer and the State Transformer.

Both are from Mohammadshahi and Henderson (2020), sections 3 and 4.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.graph_attention import heads_of_positions
from depkit.nn.trees import mask_root_label
from depkit.parsers.engine.device import fetch, fetch_array, send
from depkit.parsers.engine.transfer import send_arrays
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.piece_inputs import INITIAL_STD, PieceSequences, small_embedding
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.root import index_root_label
from depkit.parsers.transition.config import TransitionConfig
from depkit.parsers.transition.examples import ORACLES
from depkit.parsers.transition.memory import Composed, Composition, History, LSTMState
from depkit.parsers.transition.states import States, legal_transitions, make_units
from depkit.trees import transitions
from depkit.trees.transitions import LEFT, NOTHING, RIGHT, TRANSITIONS

SEGMENTS = 3  # stack, buffer, attached words


Words = Tensor | PieceSequences  # the vectors of words, or of their pieces


class Encoded(NamedTuple):
    """The encoder's output for some states.

    vectors: [state, position, size]; position: [state, node], the position of each node on the
    host, or None if it is the node itself.
    """

    vectors: Tensor
    position: np.ndarray | None = None


class TransitionNetwork(ParserNetwork):
    """The input layer, the encoder, and the classifiers of transitions and of labels.

    With scorer.reads "sentence", the encoder reads the words of a sentence in their order (Sentence
    Transformer), with "state" those of a state (State Transformer).
    """

    def __init__(
        self,
        config: TransitionConfig,
        vocabulary: Vocabulary,
        transformer: Transformer | None = None,
    ) -> None:
        scorer = config.scorer
        super().__init__(config, vocabulary, transformer, scorer.dropout, reads_graph=scorer.graph)
        self.scorer = scorer
        self.single_root = config.decoder.root != "multi"
        labels = vocabulary.columns["deprel"]
        self.root_label = index_root_label(config.decoder.root_label, labels)
        num_labels = len(labels)
        size = self.encoder_input_size
        # Row 0 is for words without a head.
        self.label_vectors = nn.Embedding(1 + num_labels, size, padding_idx=0)
        self.root: nn.Parameter | None = None
        if scorer.reads == "state":
            self.special = nn.Parameter(torch.randn(2, size))  # the vectors of CLS and SEP
            self.segments = nn.Embedding(SEGMENTS, size)
        if self.pieces is not None:
            self.label_vectors = small_embedding(1 + num_labels, size)
            special = self.pieces.special_vectors()
            # The vector of CLS is a better start than a random one.
            self.root = nn.Parameter(special[0].clone()) if scorer.own_root else None
            if scorer.reads == "state":
                self.special.data = special
                self.segments.weight.data.mul_(INITIAL_STD)
        self.composition = Composition(scorer, size, num_labels) if scorer.composition else None
        self.history = History(scorer.history, num_labels) if scorer.history else None
        nodes = 1 if scorer.summary else 3
        self.transition = Classifier(
            nodes * self.size + scorer.history, scorer.hidden, TRANSITIONS, scorer.dropout
        )
        label_features = min(nodes, 2) * self.size + scorer.history
        # The labels of LEFT, then those of RIGHT
        self.label = Classifier(label_features, scorer.label_hidden, 2 * num_labels, scorer.dropout)

    def quantized_parts(self) -> list[nn.Module]:
        """Return the encoder only, because decoding reads the weights of the classifiers."""
        return [self.encoder]

    @property
    def unit_kind(self) -> str:
        """What the encoder reads anew: see `states.make_units`."""
        if self.scorer.reads == "state":
            return "transition"
        return "arc" if self.scorer.graph else "sentence"

    def word_vectors(self, batch: Batch) -> Words:
        """Compute the vectors of the artificial root and of the words, [batch, length, size].

        If a transformer reads sentences, they are the vectors of word pieces.
        """
        if self.pieces is not None:
            sequences: PieceSequences = self.pieces(batch)
            if self.root is not None:
                sequences = sequences.with_root(self.root)
            reads_words = self.scorer.reads == "state"
            return sequences.words(sequences.vectors) if reads_words else sequences
        vectors: Tensor = self.projection(self.inputs(batch))
        return vectors

    def start(self, batch: Batch) -> "Reader":
        """Compute the vectors of words of a batch, and return what encodes its states."""
        return Reader(self, self.word_vectors(batch))

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss: the mean cross-entropies of transitions and of the labels of arcs."""
        words = self.word_vectors(batch)
        kind = "sentence" if self._hides_arcs() else self.unit_kind
        choices = self._choose_units(batch, kind) if self.scorer.states else None
        units = make_units(batch.host[ORACLES], kind, choices)
        labels = np.zeros(units.states.heads.shape, np.int64)
        for unit, row in enumerate(units.row.tolist()):
            gold = batch.host[ORACLES][row].labels
            labels[unit, : len(gold)] = np.maximum(gold, -1) + 1
        if self.composition is not None:
            assert isinstance(words, Tensor)
            words = self.composition.compose_units(words, batch.host[ORACLES], units)
        else:
            words = select_rows(words, units.row)
        encoded = self.encode_states(words, units.states, labels)
        history = None
        if self.history is not None:
            history = self.history.read(batch.host[ORACLES], units, encoded.vectors.device)
        scores = self.score_transitions(encoded, units.unit, units.nodes, history)
        legal = legal_transitions(units.nodes, self.single_root)
        # The gold transition of a tree with several roots can be illegal with a single root.
        legal[np.arange(len(legal)), units.gold] = True
        arcs = np.flatnonzero(units.dependent != NOTHING)
        gold_label = labels[units.unit[arcs], units.dependent[arcs] - 1] - 1
        known = arcs[gold_label >= 0]
        arrays = {
            "illegal": ~legal, "gold": units.gold, "known": known,
            "label": gold_label[gold_label >= 0],
        }  # fmt: skip
        targets = send_arrays(arrays, scores.device)
        loss = functional.cross_entropy(
            scores.masked_fill(targets["illegal"], float("-inf")), targets["gold"]
        )
        if not len(known):
            return loss
        if history is not None:
            history = history[targets["known"]]
        label_scores = self.score_labels(
            encoded,
            units.unit[known],
            nodes=units.nodes[known],
            taken=units.gold[known],
            history=history,
        )
        return loss + functional.cross_entropy(label_scores, targets["label"])

    def _hides_arcs(self) -> bool:
        """Decide at random whether the encoder reads a batch without arcs (`graph_dropout`)."""
        rate = self.scorer.graph_dropout
        is_possible = self.training and self.unit_kind == "arc" and rate > 0
        return is_possible and bool(torch.rand(()) < rate)

    def _choose_units(self, batch: Batch, kind: str) -> list[np.ndarray]:
        """Choose scorer.states units of each sentence at random, all if there are not more."""
        choices = []
        for oracle in batch.host[ORACLES]:
            taken = oracle.transitions
            count = {
                "sentence": 1, "arc": len(oracle.labels), "transition": len(taken)
            }[kind]  # fmt: skip
            order = torch.randperm(count)[: self.scorer.states]
            choices.append(np.sort(order.numpy()))
        return choices

    def encode_states(self, words: Words, states: States, labels: np.ndarray) -> Encoded:
        """Run the encoder on states.

        Args:
            words: The result of `word_vectors` for the sentence of each state.
            states: The states.
            labels: [state, n], for each word 1 + the index of its label; only those of words that
                have a head in the state are read.
        """
        arrays = {
            "attached": np.where(states.heads >= 0, labels, 0), "heads": states.heads,
            "lengths": states.sizes + 1,
        }  # fmt: skip
        position = None
        if self.scorer.reads == "state":
            assert isinstance(words, Tensor)
            arranged, position = self._arrange(states, words.shape[1])
            arrays |= arranged
        on_device = send_arrays(arrays, words.device)
        attached, heads, graph = on_device["attached"], on_device["heads"], None
        if isinstance(words, PieceSequences):
            pieces = words.vectors
            if self.scorer.graph:
                pieces = words.add_to_words(self.label_vectors(attached))
                graph = words.graph(heads)
            on_device["lengths"] = words.lengths  # of pieces
            encoded = self._run_encoder(pieces, on_device, graph, words.host_lengths)
            return Encoded(words.words(encoded))
        vectors: Tensor = words
        if self.scorer.graph:
            longest = labels.shape[1]
            dependents = vectors[:, 1 : 1 + longest] + self.label_vectors(attached)
            vectors = torch.cat((vectors[:, :1], dependents, vectors[:, 1 + longest :]), dim=1)
        if self.scorer.reads == "state":
            # Nodes, then CLS and SEP
            table = torch.cat((vectors, self.special.expand(len(vectors), -1, -1)), dim=1)
            rows = on_device["rows"][..., None].expand(-1, -1, table.shape[-1])
            vectors = table.gather(1, rows) + self.segments(on_device["segment"])
        if self.scorer.graph:
            graph = heads_of_positions(heads, vectors.shape[1])
        return Encoded(self._run_encoder(vectors, on_device, graph, arrays["lengths"]), position)

    def _arrange(self, states: States, num_nodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Arrange the nodes of states as the encoder reads them, see `arrange_states`.

        num_nodes: that of the longest sentence. Returns arrays and the position of each node,
        [state, n + 1]. The arrays are "rows", the rows of the positions in a table of the nodes,
        CLS and SEP; "segment" and, with scorer.separate_positions, "positions", the number of each
        position in its segment, all [state, position]; "lengths", [state]; and with scorer.graph
        "heads", the head of the node at each position after the first one, -1 for none.
        """
        sequence, segment, position, lengths = arrange_states(states, self.scorer.graph)
        # CLS and SEP have the codes of `arrange_nodes` for a sentence of n words.
        first_special = states.sizes[:, None] + 1
        rows = np.where(sequence < first_special, sequence, sequence - first_special + num_nodes)
        arrays = {"rows": rows, "segment": segment, "lengths": lengths}
        if self.scorer.separate_positions:
            arrays["positions"] = number_segments(segment)
        if self.scorer.graph:
            state, word = np.nonzero(states.heads >= 0)
            heads = np.full((len(states.heads), sequence.shape[1] - 1), -1, np.int32)
            dependent = position[state, word + 1]
            heads[state, dependent - 1] = position[state, states.heads[state, word]]
            arrays["heads"] = heads
        return arrays, position

    def _run_encoder(
        self,
        vectors: Tensor,
        arrays: dict[str, Tensor],
        graph: Tensor | None,
        host_lengths: np.ndarray,
    ) -> Tensor:
        """Run the encoder.

        arrays: "lengths", and, with scorer.separate_positions, "positions", the number of each
        position in its segment; host_lengths: the lengths, on the host.
        """
        options: dict[str, Any] = {"graph": graph} if self.scorer.graph else {}
        if self.pieces is not None:
            options["host_lengths"] = host_lengths
        if "positions" in arrays:
            options["positions"] = arrays["positions"]
        encoded = self.encoder(self.input_dropout(vectors), arrays["lengths"], **options)
        dropped: Tensor = self.encoder_dropout(encoded)
        return dropped

    def score_transitions(
        self, encoded: Encoded, state: np.ndarray, nodes: np.ndarray, history: Tensor | None = None
    ) -> Tensor:
        """Score transitions, [transition, TRANSITIONS] float32.

        Args:
            encoded: The result of `encode_states`.
            state: [transition], indices of states.
            nodes: [transition, 3], s2, s1 and b1.
            history: [transition, scorer.history], the vectors of the transitions so far.
        """
        features = self._features(encoded, state, nodes)
        if history is not None:
            features = torch.cat((features, history.to(features.dtype)), dim=-1)
        return self.transition(features)

    def hidden_parts(self, encoded: Encoded) -> dict[str, Tensor]:
        """Compute what each node adds to the hidden layer of `score_transitions`.

        Returns for "s2", "s1" and "b1" [state, node + 1, hidden] float32; the last row is for
        NOTHING. The bias is in the part of s2.
        """
        first = self.transition.first
        vectors = functional.pad(encoded.vectors.float(), (0, 0, 0, 1))
        parts = first.weight.float().chunk(3, dim=1)
        s2, s1, b1 = ((vectors @ part.T).float() for part in parts)
        return {"s2": s2 + first.bias.float(), "s1": s1, "b1": b1}

    def score_labels(
        self,
        encoded: Encoded,
        state: np.ndarray,
        *,
        nodes: np.ndarray,
        taken: np.ndarray,
        history: Tensor | None = None,
    ) -> Tensor:
        """Score the labels of arcs, [arc, label] float32.

        Args:
            encoded: The result of `encode_states`.
            state: [arc], indices of states.
            nodes: [arc, 3 or 2], s2 and s1 before the transition, and maybe b1.
            taken: [arc], the transitions, LEFT or RIGHT.
            history: [arc, scorer.history], the vectors of the transitions before these.
        """
        features = self._features(encoded, state, nodes[:, :2])
        if history is not None:
            features = torch.cat((features, history.to(features.dtype)), dim=-1)
        scores = self.label(features).unflatten(-1, (2, -1))
        side = send(torch.from_numpy((taken == RIGHT).astype(np.int64)), scores.device)
        chosen: Tensor = scores[torch.arange(len(scores), device=scores.device), side]
        return chosen

    def _features(self, encoded: Encoded, state: np.ndarray, nodes: np.ndarray) -> Tensor:
        """Concatenate the vectors of nodes, zeros for NOTHING; or take the vectors of CLS."""
        vectors = encoded.vectors
        if self.scorer.summary:
            return vectors[send(torch.from_numpy(state), vectors.device), 0]
        position = np.maximum(nodes, 0)
        if encoded.position is not None:
            position = encoded.position[state[:, None], position]
        arrays = {
            "state": state[:, None], "position": position.astype(np.int64),
            "exists": (nodes != NOTHING)[..., None],
        }  # fmt: skip
        on_device = send_arrays(arrays, vectors.device)
        chosen = vectors[on_device["state"], on_device["position"]] * on_device["exists"]
        return chosen.flatten(1)


def number_segments(segment: np.ndarray) -> np.ndarray:
    """Number the positions of each segment from 0; both are [state, position]."""
    index = np.arange(segment.shape[1])
    is_start = np.diff(segment, axis=1, prepend=-1) != 0
    return index - np.maximum.accumulate(np.where(is_start, index, 0), axis=1)


def select_rows(words: Words, rows: np.ndarray) -> Words:
    """Return the vectors of some sentences, which may repeat."""
    if isinstance(words, PieceSequences):
        return words.select(rows)
    return words[send(torch.from_numpy(rows.astype(np.int64)), words.device)]


class Reader:
    """The vectors of a batch, and the encoder's output for its states, which are on the device.

    Arguments and results of the methods are arrays on the host. The sentences have the rows of the
    batch, or are selected by `rows`.
    """

    def __init__(self, network: TransitionNetwork, words: Words) -> None:
        self.network, self.words = network, words
        self.reads_states = network.scorer.reads == "state"
        self.reads_graph = network.scorer.graph
        self.encoded: Encoded | None = None
        self.history: Tensor | None = None  # the vectors of the transitions so far
        self.memory: LSTMState | None = None
        self.composed: Composed | None = None
        if network.composition is not None and isinstance(words, Tensor):
            self.composed = network.composition.start(words)
        if network.history is not None and isinstance(words, Tensor):
            self.history, self.memory = network.history.start(len(words), words.device)

    def read(self, rows: np.ndarray, states: States, labels: np.ndarray) -> None:
        """Run the encoder on a state of each of some sentences; labels: as for `encode_states`."""
        self.encoded = self.network.encode_states(select_rows(self.words, rows), states, labels)

    def output_layer(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights and biases of the last layer of the classifier of transitions."""
        layer = self.network.transition.second
        weights = {"weight": layer.weight.detach().float(), "bias": layer.bias.detach().float()}
        arrays = fetch(weights).wait()
        return arrays["weight"], arrays["bias"]

    def hidden_parts(self) -> dict[str, np.ndarray]:
        """Return the result of `TransitionNetwork.hidden_parts` for the states that were read."""
        assert self.encoded is not None
        return fetch(self.network.hidden_parts(self.encoded)).wait()

    def transition_scores(self, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Score the transitions in the states that were read, [state, TRANSITIONS].

        rows: [state], their sentences; nodes: [state, 3], s2, s1 and b1.
        """
        assert self.encoded is not None
        state = np.arange(len(rows))
        history = self._history(rows)
        return fetch_array(self.network.score_transitions(self.encoded, state, nodes, history))

    def best_labels(
        self, rows: np.ndarray, state: np.ndarray, nodes: np.ndarray, taken: np.ndarray
    ) -> np.ndarray:
        """Return the best labels of arcs, [arc].

        rows: [arc], their sentences; the other arguments are those of `score_labels`.
        """
        assert self.encoded is not None
        history = self._history(rows)
        scores = self.network.score_labels(
            self.encoded, state, nodes=nodes, taken=taken, history=history
        )
        head = np.where(taken == LEFT, nodes[:, 1], nodes[:, 0])
        on_device = send(torch.from_numpy(head), scores.device)
        return fetch_array(mask_root_label(scores, on_device, self.network.root_label).argmax(-1))

    def compose(self, arcs: np.ndarray) -> None:
        """Compose words after a transition, if the network does; arcs: as for `Composition`."""
        if self.network.composition is not None and self.composed is not None:
            self.composed = self.network.composition(self.composed, arcs)
            self.words = self.composed.vectors

    def _history(self, rows: np.ndarray) -> Tensor | None:
        return None if self.history is None else self.history[self._send(rows)]

    def remember(self, taken: np.ndarray, labels: np.ndarray) -> None:
        """Add a transition to each sentence of the batch, as for `History.add`."""
        if self.network.history is not None and self.memory is not None:
            on_device = self._send(np.stack((taken, labels)))
            self.history, self.memory = self.network.history.add(
                on_device[0], on_device[1], self.memory
            )

    def _send(self, array: np.ndarray) -> Tensor:
        assert isinstance(self.words, Tensor)
        return send(torch.from_numpy(array.astype(np.int64)), self.words.device)


class Classifier(nn.Module):
    """A network with one hidden layer.

    Args:
        input_size: The size of the input.
        hidden: The size of the hidden layer.
        classes: The number of classes.
        dropout: The dropout rate of the hidden layer.
    """

    def __init__(self, input_size: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(input_size, hidden)
        self.second = nn.Linear(hidden, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., input_size] to [..., classes] float32."""
        scores: Tensor = self.second(self.dropout(functional.relu(self.first(x)))).float()
        return scores


def arrange_states(
    states: States, with_attached: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Arrange the nodes of states; see `trees.transitions.arrange_nodes`.

    Returns sequence and segment, [state, position], the position of each node, [state, n + 1], and
    the lengths of the sequences, [state]. Padding is 0.
    """
    longest = states.buffers.shape[1]
    sequence = np.zeros((len(states.sizes), longest + 4), np.int64)
    segment = np.zeros_like(sequence)
    position = np.zeros((len(states.sizes), longest + 1), np.int64)
    lengths = np.zeros(len(states.sizes), np.int64)
    for row in range(len(states.sizes)):
        arrays = states.arrays(row)
        lengths[row] = transitions.arrange_nodes(
            *arrays, with_attached, sequence[row], segment[row], position[row, : len(arrays[0])]
        )
    longest_used = int(lengths.max())
    return sequence[:, :longest_used], segment[:, :longest_used], position, lengths
