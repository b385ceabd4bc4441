"""Transition parsers: trees that are built by transitions, each the best one in its state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.transition.decoding import decode_by_arc, decode_by_transition
from depkit.parsers.transition.states import States
from depkit.trees import transitions


@dataclass(repr=False)
class TransitionParser(Parser):
    """A parser that builds a tree by transitions."""

    options: ClassVar[Mapping[str, Sequence[str]]] = {"root": ("single", "multi")}

    def warm_up(self) -> None:
        states = States.first(np.array([1]))
        hidden, taken = np.zeros((3, 1), np.float32), np.zeros(1, np.int8)
        weight, bias = np.zeros((4, 1), np.float32), np.zeros(4, np.float32)
        transitions.decode_to_arc(
            hidden, hidden, hidden, weight, bias, True, 1, *states.arrays(0), taken
        )
        transitions.find_transitions(np.array([0], np.int32))

    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, root: str = "", **options: str
    ) -> list[Sentence]:
        states = States.first(np.array([len(sentence) for sentence in sentences]))
        reader = self.network.start(batch)
        decode = decode_by_transition if reader.reads_states else decode_by_arc
        labels = decode(reader, states, (root or self.config.decoder.root) == "single")
        names = self.vocabulary.columns["deprel"].symbols
        parsed = []
        for row, sentence in enumerate(sentences):
            n = len(sentence)
            deprels = [names[label] for label in labels[row, :n].tolist()]
            parsed.append(sentence.with_tree(states.heads[row, :n].tolist(), deprels))
        return parsed
