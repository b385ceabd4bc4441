"""The settings of the encoders, one dataclass for each value of encoder.kind; no torch.

The comment beside a field documents the setting. Class variables say what an encoder can do.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from depkit.files.bounds import MAX_COUNT, Bounds, setting


class Encoder:
    """What the settings of all encoders have; section encoder."""

    kind: str  # which encoder computes the vector of a word in its sentence
    # Inputs are projected to `input_size`, and the module applies their dropout itself.
    projects_inputs: ClassVar[bool] = False
    is_identity: ClassVar[bool] = False  # it returns its inputs
    reads_stop: ClassVar[bool] = False  # the module must know whether there is a stop position
    reads_graph: ClassVar[bool] = False  # it can read the arcs of a graph
    has_halves: ClassVar[bool] = False  # its vectors consist of content and position
    takes_positions: ClassVar[bool] = False  # its inputs may come with their positions
    reads_pieces: ClassVar[bool] = False  # it reads word pieces, with the transformer of the inputs

    @property
    def concatenates_positions(self) -> bool:
        """Whether the second half of its inputs are position vectors."""
        return False

    @property
    def input_size(self) -> int:
        """The size that inputs are projected to; by default, the setting `size`."""
        return int(vars(self)["size"])

    @property
    def int8_obstacle(self) -> str:
        """The setting that prevents quantisation of linear layers and LSTMs; "" for none."""
        return f"encoder.kind={self.kind}"

    def describe(self) -> str:
        """Describe the encoder in model cards."""
        return self.kind


@dataclass(frozen=True)
class BiLSTM(Encoder):
    """Section encoder with kind=bilstm: a bidirectional LSTM."""

    kind: Literal["bilstm"] = "bilstm"
    layers: int = setting(3, minimum=1)  # number of layers
    size: int = setting(400, minimum=1)  # size of the hidden state in each direction
    dropout: float = setting(0.33, below=1)  # dropout between layers
    # dropout of the hidden state between two time steps
    recurrent_dropout: float = setting(0.0, below=1)

    @property
    def int8_obstacle(self) -> str:
        return ""

    def describe(self) -> str:
        return f"{self.kind}, {self.layers} layers"


@dataclass(frozen=True)
class AttentionEncoder(Encoder):
    """The settings that the encoders with self-attention share."""

    projects_inputs: ClassVar[bool] = True
    reads_stop: ClassVar[bool] = True
    layers: int = setting(3, minimum=1)  # number of layers of self-attention
    size: int = setting(400, minimum=1)  # size of the vectors between layers
    heads: int = setting(8, minimum=1)  # attention heads of a layer
    head_size: int = setting(25, minimum=1)  # size of the query, key and value vectors of a head
    # size of the hidden layer of the feed-forward networks
    feedforward: int = setting(800, minimum=1)
    attention_dropout: float = setting(0.1, below=1)  # dropout of attention weights
    # dropout of the hidden layer of the feed-forward networks
    feedforward_dropout: float = setting(0.1, below=1)
    residual_dropout: float = setting(0.2, below=1)  # dropout of the output of each sublayer
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"  # kind of position vectors
    # number of learned position vectors; all later positions share the last one
    max_positions: int = setting(
        512, minimum=1, maximum=MAX_COUNT, needs={"positions": ["learned"]}
    )
    # true normalises the input of each sublayer; false normalises its output, as Vaswani et al.
    # (2017) do
    norm_first: bool = False
    # a word attends to words at most this many positions away; 0 attends to the whole sentence
    window: int = setting(0, at_test_time=True)
    # with a window: the artificial root, the first and the last word attend to all words, and all
    # words attend to them (Kitaev and Klein 2018, section 4.2)
    relaxed: bool = setting(False, at_test_time=True)

    def describe(self) -> str:
        return f"{self.kind}, {self.layers} layers"

    def check(self) -> None:
        if self.relaxed and not self.window:
            raise ValueError("encoder.relaxed needs a window; set encoder.window to 1 or more")


@dataclass(frozen=True)
class SelfAttention(AttentionEncoder):
    """Section encoder with kind=selfatt: a transformer encoder that is trained from scratch."""

    reads_graph: ClassVar[bool] = True
    kind: Literal["selfatt"] = "selfatt"
    # "sinusoidal" and "learned" are kinds of position vectors; "rotary" has no vectors, but rotates
    # queries and keys by angles that grow with the position (RoFormer, Su et al. 2021)
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"  # type: ignore[assignment]
    # base of the frequencies of rotary positions
    rotary_base: float = setting(1000.0, above=1, needs={"positions": ["rotary"]})
    # "sum" adds position vectors to the inputs; "concat" concatenates inputs and position vectors
    # of the same size, so the vectors between layers have twice `size` (Kitaev and Klein 2018,
    # section 3)
    combine_positions: Literal["sum", "concat"] = "sum"
    # with position vectors that are added: true applies dropout to the sum, false to the inputs
    # alone. Its rate is inputs.dropout, or encoder.lstm_dropout with kind=stacked.
    drop_positions: bool = setting(
        True, needs={"positions": ["learned", "sinusoidal"], "combine_positions": ["sum"]}
    )
    # true computes queries and keys from the position vectors alone, in all layers (Kitaev and
    # Klein 2018, section 3)
    position_attention: bool = False
    input_norm: bool = False  # layer normalisation of the inputs with their position vectors
    # in each layer, a gated depthwise convolution over this many words before attention (Conformer,
    # Gulati et al. 2020); 0 for none. Its last weights are always initialised with zeros.
    convolution: int = 0
    activation: Literal["relu", "silu"] = "relu"  # activation of the feed-forward networks
    # true initialises the last weights of each sublayer with zeros, so that the sublayers add
    # nothing at first (Fixup, Zhang et al. 2019)
    zero_init: bool = False

    @property
    def concatenates_positions(self) -> bool:
        return self.combine_positions == "concat"

    @property
    def int8_obstacle(self) -> str:
        # Attention to positions reads a part of the weights of a linear layer.
        return "encoder.position_attention" if self.position_attention else ""

    def check(self) -> None:
        super().check()
        if self.positions != "rotary":
            return
        if self.head_size % 2:
            raise ValueError(
                f"encoder.head_size is {self.head_size}; encoder.positions=rotary needs an even"
                " number"
            )
        for name, is_set in (
            ("combine_positions=concat", self.combine_positions == "concat"),
            ("position_attention", self.position_attention),
        ):
            if is_set:
                raise ValueError(
                    f"encoder.{name} needs position vectors; set encoder.positions to learned or"
                    " sinusoidal"
                )


@dataclass(frozen=True)
class Stacked(SelfAttention):
    """Section encoder with kind=stacked: self-attention that reads the output of a BiLSTM.

    The settings of the self-attention are those of kind=selfatt.
    """

    projects_inputs: ClassVar[bool] = False
    reads_graph: ClassVar[bool] = False
    kind: Literal["stacked"] = "stacked"  # type: ignore[assignment]
    lstm_layers: int = setting(3, minimum=1)  # number of layers of the BiLSTM
    lstm_size: int = setting(400, minimum=1)  # size of the hidden state in each direction
    # dropout between the layers of the BiLSTM, and of the vectors that the self-attention reads
    lstm_dropout: float = setting(0.33, below=1)
    # dropout of the hidden state between two time steps
    recurrent_dropout: float = setting(0.0, below=1)

    @property
    def int8_obstacle(self) -> str:
        return f"encoder.kind={self.kind}"


@dataclass(frozen=True)
class Factored(AttentionEncoder):
    """Section encoder with kind=factored: content and positions are separate halves of a vector.

    `size`, `head_size` and `feedforward` are the sizes of each half.
    """

    has_halves: ClassVar[bool] = True
    kind: Literal["factored"] = "factored"
    # number of learned position vectors, START and STOP included; all later positions share the
    # last one. Kitaev and Klein (2018) have 300, and 1000 for Arabic.
    max_positions: int = setting(
        300, minimum=1, maximum=MAX_COUNT, needs={"positions": ["learned"]}
    )
    # "concat" makes the inputs the content half and position vectors the other half; "sum" adds
    # both in vectors of the whole size, and only the matrices are factored (the control of Kitaev
    # and Klein 2018, section 3)
    combine_positions: Literal["concat", "sum"] = "concat"
    # Which halves attention compares (Kitaev and Klein 2018, section 4.1): a list with one entry
    # for all layers, or with one entry for each layer; [] is ["both"]
    attend: list[Literal["both", "content", "position"]] = field(
        default_factory=list, metadata={"bounds": Bounds(at_test_time=True)}
    )

    @property
    def input_size(self) -> int:
        return 2 * self.size if self.combine_positions == "sum" else self.size

    def check(self) -> None:
        super().check()
        if len(self.attend) not in (0, 1, self.layers):
            raise ValueError(
                f"encoder.attend has {len(self.attend)} entries for {self.layers} layers; give one"
                " entry for all layers or one for each layer"
            )


@dataclass(frozen=True)
class NoEncoder(Encoder):
    """Section encoder with kind=none: the scorers read the input vectors directly.

    This suits contextual vectors.
    """

    is_identity: ClassVar[bool] = True
    kind: Literal["none"] = "none"


@dataclass(frozen=True)
class PretrainedEncoder(Encoder):
    """Section encoder with kind=transformer: the transformer of inputs.context is the encoder.

    It reads word pieces and the tags of words, with vectors of its own size. Other inputs are
    impossible, and inputs.context must have tune=true. The vector of a word is that of its first
    piece in the last layer.
    """

    reads_graph: ClassVar[bool] = True
    takes_positions: ClassVar[bool] = True
    reads_pieces: ClassVar[bool] = True
    kind: Literal["transformer"] = "transformer"
