"""The configuration of transition parsers."""

from dataclasses import dataclass, field
from typing import Literal

from depkit.files.bounds import setting
from depkit.parsers.config import UNTRAINED, ParserConfig
from depkit.parsers.encoders import graph_encoders


@dataclass(frozen=True)
class TransitionScorer:
    """Section scorer of a transition parser (Mohammadshahi and Henderson 2020)."""

    # what the encoder reads: "sentence", its words in order; or "state", the words of a state in
    # the order stack, buffer, attached words
    reads: Literal["sentence", "state"] = "sentence"
    graph: bool = True  # true: the encoder also reads the arcs so far (section 3.2)
    # with reads=state: true composes the vectors of heads and their dependents (appendix B)
    composition: bool = False
    # Which words a transition composes: "all" on the stack and in the buffer, each with its most
    # recent dependent, or with none; "head" only the word that gets a dependent, which was worse in
    # the paper (footnote 13)
    compose: Literal["all", "head"] = setting("all", needs="composition")
    # whether the result of the composition is added to the former vector (appendix A.A)
    compose_skip: bool = setting(True, needs="composition")
    history: int = 0  # size of an LSTM over the transitions so far; 0 for none
    # With reads=state: true numbers the positions of stack, buffer and attached words separately
    # (appendix A.B)
    separate_positions: bool = False
    # With a transformer as the encoder: true gives the root a vector of its own; otherwise it has
    # that of CLS.
    own_root: bool = True
    # with reads=state, true: the classifiers read the vector of the position CLS, instead of those
    # of the nodes that a transition concerns
    summary: bool = False
    hidden: int = 500  # size of the hidden layer of the classifier of transitions
    label_hidden: int = 100  # size of the hidden layer of the classifier of labels
    # dropout of the encoder's vectors and of the hidden layers
    dropout: float = setting(0.05, below=1)
    # in training, number of states of each sentence that the encoder reads in an epoch; 0 for all
    states: int = 4
    # with reads=sentence and graph=true, probability that the encoder reads a training batch
    # without arcs; it then reads each sentence only once, for all of its transitions
    graph_dropout: float = setting(0.0, below=1)

    def check(self) -> None:
        for key in ("composition", "history", "summary", "separate_positions"):
            if self.reads == "sentence" and getattr(self, key):
                raise ValueError(f"scorer.{key} needs scorer.reads=state")


@dataclass(frozen=True)
class TransitionDecoder:
    """Section decoder of a transition parser, which is always greedy."""

    # "single" allows one child of the root, "multi" any number; "auto" is "single" if every
    # training tree has one
    root: Literal["auto", "single", "multi"] = "auto"
    # the deprel that the parser gives to all children of the root and to no other word; "" allows
    # every deprel everywhere; "auto" uses such a deprel if the training trees have one
    root_label: str = "auto"


@dataclass(frozen=True)
class TransitionConfig(ParserConfig):
    """The configuration of a transition parser (family=transition)."""

    family: Literal["transition"] = field(default="transition", kw_only=True)
    scorer: TransitionScorer = field(default_factory=TransitionScorer)
    decoder: TransitionDecoder = field(default_factory=TransitionDecoder, metadata=UNTRAINED)

    def check(self) -> None:
        super().check()
        if self.scorer.graph and not self.encoder.reads_graph:
            raise ValueError(
                f"only an encoder with {graph_encoders()} can read a graph; choose one, or set"
                " scorer.graph=false"
            )
        if self.scorer.separate_positions and not self.encoder.takes_positions:
            raise ValueError(
                "scorer.separate_positions needs a transformer as the encoder: set"
                " encoder.kind=transformer"
            )
        if self.inputs.stop:
            raise ValueError("a transition parser has no use for inputs.stop; leave it out")
